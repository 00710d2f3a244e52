/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "local-sched/hypervisor/vm.h"
#include "local-sched/hypervisor/vm_host.h"

/*
 * A node: a place of fixed cores and memory on a host, filled by one VM (vm.h) at a time,
 * which takes a task. Which VM that is may change (pool.h). Main loop only.
 */
struct node;

/* What a node tells its owner. All are required. */
struct node_events {
	/* Takes a task from now on. */
	void (*ready)(struct node *node, void *data);
	/* Takes none any more. Told only after `ready`. */
	void (*down)(struct node *node, const char *reason, void *data);
	/* Its VM is ready, or is not there: what was waited for at this node has come to an end. */
	void (*settled)(struct node *node, void *data);
};

/* Node number `index` of a cluster, `name` for messages (copied), with this place on `vm_host`. */
struct node *node_new(uint32_t index, const char *name, struct vm_host *vm_host,
		      const struct cpu_cap *cap, uint32_t cores, const struct node_events *events,
		      void *data);
/* NULL is allowed. */
void node_free(struct node *node);

/*
 * Puts a VM there, or none (NULL), and returns the one that was there or NULL; where that is now,
 * the caller tells it.
 */
struct vm *node_put(struct node *node, struct vm *vm);

/* What its VM tells. */
void node_machine_ready(struct node *node);
/* Likewise. */
void node_machine_down(struct node *node, const char *reason);

/* Its number, from 0. */
uint32_t node_index(const struct node *node);
/* Its name for messages, "c1-n0". */
const char *node_name(const struct node *node);
/* The host it is on, with all that is there (borrowed). */
struct vm_host *node_site(const struct node *node);
/* The VM that is there, or NULL. */
struct vm *node_vm(const struct node *node);
/* The state of that VM; VM_DOWN without one. */
enum vm_state node_state(const struct node *node);
/*
 * What the API calls the node, which agrees with what it told: "ready" or "busy" from `ready` until
 * `down`, busy too while its ranks are swept or another VM comes in place of one that was
 * suspended; else "booting" or "down".
 */
const char *node_public_state(const struct node *node);
/* What is wrong with it; NULL: nothing. Valid until its state changes. */
const char *node_reason(const struct node *node);
/* Whether its VM is ready, or has gone down since it came. */
bool node_is_settled(const struct node *node);
