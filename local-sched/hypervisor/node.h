/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/cpu/cpu_cap.h"
#include "local-sched/hypervisor/boot_queue.h"
#include "local-sched/hypervisor/domain_xml.h"
#include "local-sched/hypervisor/host.h"
#include "local-sched/hypervisor/node_machine.h"

/*
 * A node: a place of fixed cores and memory on a host, filled by one VM that is kept ready for a
 * task, booted again when it fails (after 1, 2, 4, ... NODE_BACKOFF_MAX_S seconds), and adopted when
 * it outlived its scheduler. The states are in node_machine.h. Main loop only.
 */
struct node;

#define NODE_BACKOFF_MAX_S 60

/* What a node tells its owner. All are required. */
struct node_events {
	/* Takes a task from now on. */
	void (*ready)(struct node *node, void *data);
	/* Takes none any more. Told only after `ready`. */
	void (*down)(struct node *node, const char *reason, void *data);
};

/* What a node tells the task that has it. All are required. */
struct node_user {
	/* Bytes from the PMI port of `core`. */
	void (*input)(struct node *node, uint32_t core, const char *bytes, size_t length,
		      void *data);
	/* The VM died or had to be removed: the node is not the task's any more. */
	void (*lost)(struct node *node, const char *reason, void *data);
	/* After node_release(): the node is ready again, or down and told so. */
	void (*settled)(struct node *node, void *data);
};

/* What a node is; borrowed until it is freed. */
struct node_settings {
	uint32_t index;
	const char *name;        /* "c1-n0" */
	const char *domain;      /* the VM's name */
	struct host *host;
	struct boot_queue *queue;
	const struct cpu_cap *cap;
	double boot_timeout_s;   /* for one try */
};

/* A detached node; node_prepare() and node_found() bring it to life. */
struct node *node_new(const struct node_settings *settings, uint32_t cores,
		      const struct node_events *events, void *data);

/* After host_free(). NULL is allowed. */
void node_free(struct node *node);

/* Says which VM is to be booted; copied. To be called before the first node_found(). */
void node_prepare(struct node *node, const struct domain_spec *spec);

/* The host was reached: the VM of this node's name has this description, or NULL: there is none. */
void node_found(struct node *node, bool exists, const char *description);

/* The host is out of reach. */
void node_detach(struct node *node, const char *reason);

/* What the host tells of the node's VM. */
void node_vm_stopped(struct node *node, const char *reason);
/* The VM's guest agent opened or closed its port. */
void node_agent_changed(struct node *node, bool connected);

/* Ends all activity for good: the owner removes the VM itself. */
void node_freeze(struct node *node);

/* Its number within the cluster, from 0. */
uint32_t node_index(const struct node *node);
/* Its name for messages, "c1-n0". */
const char *node_name(const struct node *node);
/* The name of its VM. */
const char *node_domain(const struct node *node);
/* The host it is on (borrowed). */
struct host *node_host(const struct node *node);
/* Where it is in its machine (node_machine.h). */
enum node_state node_state(const struct node *node);
/* Why it is not ready, or NULL. */
const char *node_reason(const struct node *node);
/* The task that has it, or NULL. */
const char *node_task(const struct node *node);
/* Whether its PMI ports were cut off for a while since it was assigned: the guest then reads an end. */
bool node_was_cut_off(const struct node *node);
/* Seconds from the start of the VM to ready at the last boot; 0: none yet. */
double node_boot_s(const struct node *node);

/* Gives a ready node to a task; false if it is not ready. `user` is borrowed until the release. */
bool node_assign(struct node *node, const char *task, const struct node_user *user, void *data);

/*
 * Takes the node back; `clean` says that all ranks on it ended and nothing is left on its ports. Ends
 * with `settled`, at once if clean.
 */
void node_release(struct node *node, bool clean);

/* The VM cannot be trusted any more (a hung agent, a rank that does not die): boots a new one. */
void node_fail(struct node *node, const char *reason);

/* Sends a request to the VM's agent, as domain_agent(). */
void node_agent(struct node *node, const char *request, int timeout_s, host_done_f done,
		gpointer data);

/* Sends bytes to the PMI port of `core`. */
void node_send(struct node *node, uint32_t core, const char *bytes, size_t length);
