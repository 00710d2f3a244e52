/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/hypervisor/boot_watch.h"
#include "local-sched/hypervisor/channel.h"
#include "local-sched/hypervisor/vm.h"

/*
 * What the parts of a VM have in common:
 *
 *   vm.c           moving from state to state
 *   vm_actions.c   what is done in a state
 *   vm_told.c      what its vm_host tells it
 *   vm_ports.c     its PMI ports
 *   vm_requests.c  what its agent is asked
 *   vm_use.c       what tasks do with it
 */

struct vm {
	struct vm_settings settings;
	uint32_t cores;
	const struct vm_events *events;
	void *data;
	char *xml;
	char *fingerprint;
	const struct vm_place *place; /* NULL: nowhere */
	bool wanted;
	bool barred; /* not to be booted: it may be on another host as well */

	enum vm_state state;
	guint generation;  /* of the state: late answers to an earlier one do not count */
	gint boots;        /* how many VMs were created; atomic, for domain_agent() */
	GHashTable *asked; /* struct question that are under way, owned */
	GQueue requests;   /* struct request to its agent, owned; the first one is under way */
	int64_t heard_ns;  /* when its agent answered last; 0: never */
	char *reason;
	bool stopped;
	bool clean;       /* no task had it since its ranks were last swept: nothing to sweep */
	bool agent_up;
	bool doubtful;    /* a VM of its name was said to have stopped while it was created */
	bool cut_off;     /* a port was closed since the task has the VM */
	int64_t spread_core; /* the place for which its cores were bound to CPUs; -1: none yet */
	bool adopted;     /* it was found, and is not ready yet */
	bool was_parked;  /* when its host went out of reach */
	bool late_clock;  /* it was paused: its clock is behind */
	guint failures;   /* in a row */
	guint unhealthy;
	int64_t health_ns;   /* when its agent was asked whether it is well */
	int64_t paused_ns;   /* since when it is paused from outside; 0: it is not */
	int64_t went_on_ns;  /* when it went on after that; 0: never */
	int64_t boot_start_ns;
	struct boot_watch boot_watch;
	double boot_s;
	guint step_source;     /* of the state: try again, next step */
	guint deadline_source; /* of the boot */
	guint agent_source;    /* the agent is gone since */
	guint reopen_source;
	uint32_t sweep_core;
	int64_t sweep_pid;
	uint32_t wired;
	struct channel **channels; /* cores of them */
	/*
	 * As many at the host that it is on its way to while it runs, or that it has just left;
	 * NULL: it never went. They are open before it comes: a guest that sees nobody at its port
	 * reads an end.
	 */
	struct channel **landing;
	struct host *expected; /* the host that it is on its way to; NULL: none */

	int64_t owner; /* whose processes it has had since it was booted; VM_OWNER_... */
	char *task;
	const struct vm_user *user;
	void *user_data;
	double share; /* of its node's CPU that its task has, in (0, 1] */
	bool shared;  /* it may have a quota of another one */
	bool stowed;
	bool rewiring;
	int64_t frozen_us;
};

/* Moves the VM by an event; `reason` (NULL: none) is kept. */
void vm_fire(struct vm *vm, enum vm_event event, const char *reason);

/* Does what is to be done in the VM's state. */
void vm_enter(struct vm *vm);

/* Tells its user, if any, that it is settled, and forgets the user. */
void vm_settle_user(struct vm *vm);

/*
 * Takes an error in: true if there is one. Without a connection nothing is known: the state's
 * action is tried again until the VM is detached.
 */
bool vm_failed(struct vm *vm, const GError *error);

/* Whether a state is one of a boot. */
bool vm_is_booting(enum vm_state state);

/* A VM that was paused from outside runs again, or whether it does is not looked at any more. */
void vm_resumed(struct vm *vm);

/* Forgets all requests to its agent. */
void vm_free_requests(struct vm *vm);

/* Makes its ports, all closed; frees them, and those at another host. */
void vm_make_ports(struct vm *vm);
void vm_free_ports(struct vm *vm);

/* Closes its ports; opens those that are not open, at once or soon. */
void vm_close_ports(struct vm *vm);
void vm_reopen_ports(struct vm *vm);
void vm_reopen_soon(struct vm *vm);
