/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/hypervisor/boot_watch.h"
#include "local-sched/hypervisor/channel.h"
#include "local-sched/hypervisor/vm.h"

/*
 * What the files of a VM share:
 *
 *   vm.c           its life, and what its owner sets
 *   vm_task.c      what its task does with it
 *   vm_events.c    the events from its vm_host
 *   vm_ports.c     its PMI ports
 *   vm_actions.c   the transitions between states, and the actions of the states
 *   vm_call.c      calls to its host for a state
 *   vm_requests.c  requests to its agent
 *   vm_cap.c       its CPU cap
 *   vm_query.c     what it is and how it is
 *
 * Each file names only functions of those below it. vm_actions.c reports to the owner and to the
 * task by the events of vm.h.
 */

struct vm {
	struct vm_settings settings;
	uint32_t cores;
	const struct vm_events *events;
	void *data;
	char *xml;
	char *fingerprint;
	const struct vm_place *place; /* NULL: none */
	bool wanted;
	bool boot_inhibited; /* not to be booted: the VM may exist on another host as well */

	enum vm_state state;
	guint generation;  /* of the state: answers to calls of an earlier one do not count */
	gint boots;        /* how many VMs were created; atomic, for domain_agent() */
	GHashTable *asked; /* struct vm_call that are under way, owned */
	GQueue requests;   /* struct request to its agent, owned; the first is under way */
	int64_t heard_ns;  /* when its agent answered last; 0: never */
	char *reason;
	bool stopped;
	bool clean; /* no task had it since the last sweep: nothing to sweep */
	bool agent_up;
	/* the host reported the end of a VM of its name while it was being created */
	bool doubtful;
	bool cut_off; /* a port was closed since the task got the VM */
	/* first core of the place for which its cores were bound; -1: none yet */
	int64_t spread_core;
	bool adopted;    /* it was found on the host, and is not ready yet */
	bool was_parked; /* it was a spare when its host went out of reach */
	bool late_clock; /* it was paused, so that its clock is late */
	guint failures;  /* in a row */
	guint unhealthy;
	int64_t health_ns;   /* when its health was checked */
	int64_t paused_ns;   /* since when it is paused from outside; 0: it is not */
	int64_t unpaused_ns; /* when it ran again after a pause from outside; 0: never */
	int64_t boot_start_ns;
	struct boot_watch boot_watch;
	double boot_s;
	guint step_source;     /* timer of the state: the next try, the next step */
	guint deadline_source; /* of the boot */
	guint agent_source;    /* timer since its agent has been gone */
	guint reopen_source;
	uint32_t sweep_core;
	int64_t sweep_pid;
	uint32_t wired;
	struct channel **channels; /* as many as cores */
	/*
	 * As many channels at the host that it is migrated to while it runs, or that it has just
	 * left; NULL: it was never migrated. They are open before it arrives, because a guest reads
	 * an end of file at a port without a reader.
	 */
	struct channel **landing;
	struct host *destination; /* the host that it is migrated to; NULL: none */

	int64_t owner; /* the user whose processes it has had since it was booted; VM_OWNER_... */
	char *task;
	const struct vm_user *user;
	void *user_data;
	double share; /* the CPU share of its task, in (0, 1] */
	bool shared;  /* it may have a quota for another CPU share */
	bool may_be_absent;
	bool rewiring;
	int64_t frozen_us;
};

static inline const struct platform *vm_platform(const struct vm *vm)
{
	return host_platform(vm->settings.host);
}

/* The end of a call to the host: `result` is borrowed, NULL for HOST_DONE. */
typedef void (*vm_answer_f)(struct vm *vm, gpointer result, const GError *error);

/*
 * The data for a call to the host whose `done` is vm_call_answered(), for results that are texts or
 * none, or vm_call_listed(), for results that are lists (GPtrArray). `answer` is called unless the
 * VM has left its present state or was stopped.
 */
gpointer vm_call_new(struct vm *vm, vm_answer_f answer);
void vm_call_answered(gpointer result, const GError *error, gpointer vm_call);
void vm_call_listed(gpointer result, const GError *error, gpointer vm_call);

/* Applies an event to the VM's state; `reason` (NULL: none) is kept. */
void vm_fire(struct vm *vm, enum vm_event event, const char *reason);

/* Begins the action of the VM's state. */
void vm_enter(struct vm *vm);

/*
 * Handles an error; true if there is one. An error of the connection leaves the state open: its
 * action is tried again until the VM is detached.
 */
bool vm_failed(struct vm *vm, const GError *error);

/* Whether a state belongs to a boot. */
bool vm_is_booting(enum vm_state state);

/* Ends a pause from outside: the VM runs again, or its pauses do not matter any more. */
void vm_resumed(struct vm *vm);

/* Frees all requests to its agent. */
void vm_free_requests(struct vm *vm);

/* Closes its ports. */
void vm_close_ports(struct vm *vm);

/* Creates its ports, all closed; frees them, and those at another host. */
void vm_make_ports(struct vm *vm);
void vm_free_ports(struct vm *vm);

/* Open those ports that are closed, at once or soon. */
void vm_reopen_ports(struct vm *vm);
void vm_reopen_soon(struct vm *vm);
