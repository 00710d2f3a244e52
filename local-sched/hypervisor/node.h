/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "local-sched/hypervisor/vm.h"
#include "local-sched/hypervisor/vm_host.h"

/*
 * A node: a slot of fixed cores and memory on a host, filled by one VM (vm.h) at a time. The node
 * takes a task. Which VM fills it may change (pool.h). Main loop only.
 */
struct node;

/* The events of a node for its owner. All are required. */
struct node_events {
	/* The node takes a task from now on. */
	void (*ready)(struct node *node, void *data);
	/* The node takes no task any more. Comes only after `ready`. */
	void (*down)(struct node *node, const char *reason, void *data);
	/* The node's VM is ready, or is gone: the wait for this node has ended. */
	void (*settled)(struct node *node, void *data);
};

/* Node number `index` of a cluster on `vm_host`, `name` for messages (copied). */
struct node *node_new(uint32_t index, const char *name, struct vm_host *vm_host,
		      const struct cpu_cap *cap, uint32_t cores, const struct node_events *events,
		      void *data);
/* NULL is allowed. */
void node_free(struct node *node);

/*
 * Puts a VM, or none (NULL), at the node, and returns the VM that was there before, or NULL. The
 * caller sets the place of the returned VM (vm_set_place()).
 */
struct vm *node_put(struct node *node, struct vm *vm);

/* The node's VM has become ready. */
void node_vm_ready(struct node *node);
/* The node's VM is not ready any more, for `reason`. */
void node_vm_down(struct node *node, const char *reason);

/* Its number, from 0. */
uint32_t node_index(const struct node *node);
/* Its name for messages, "c1-n0". */
const char *node_name(const struct node *node);
/* The host of the node (borrowed). */
struct vm_host *node_vm_host(const struct node *node);
/* The VM at the node, or NULL. */
struct vm *node_vm(const struct node *node);
/* The state of that VM; VM_DOWN without a VM. */
enum vm_state node_state(const struct node *node);
/*
 * The node's state in the API, consistent with the events: "ready" or "busy" from `ready` until
 * `down`, else "booting" or "down". A node is busy also while ranks are swept from it, or while
 * another VM comes in place of a suspended VM.
 */
const char *node_public_state(const struct node *node);
/* What is wrong with the node; NULL: nothing. Valid until its state changes. */
const char *node_reason(const struct node *node);
/* Whether its VM is ready, or has gone down since it came to the node. */
bool node_is_settled(const struct node *node);
