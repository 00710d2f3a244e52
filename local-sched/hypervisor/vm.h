/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/cpu/cpu_cap.h"
#include "local-sched/hypervisor/boot_queue.h"
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/domain_xml.h"
#include "local-sched/hypervisor/host.h"
#include "local-sched/hypervisor/vm_state.h"

/*
 * A VM with an identity of its own: its number gives its name, its addresses and its ports, which
 * it keeps wherever it runs. A node (node.h) is a place for one; a VM is at a node, or is a spare,
 * or is held by a suspended task, or nobody wants it and it is not there. One that is wanted is
 * kept running, booted again when it fails (after 1, 2, 4, ... VM_BACKOFF_MAX_S seconds), and
 * adopted when it outlived its scheduler. The states are in vm_state.h. Main loop only.
 */
struct vm;

#define VM_BACKOFF_MAX_S 60

/* What a VM tells its owner. All are required. */
struct vm_events {
	/* Takes a task from now on (it has a place). */
	void (*ready)(struct vm *vm, void *data);
	/* There is none any more, or it is out of reach. */
	void (*down)(struct vm *vm, const char *reason, void *data);
	/* It is down, and stays so as long as it is barred (vm_inhibit_boot()); from the main loop. */
	void (*stuck)(struct vm *vm, void *data);
};

/* What a VM tells the task that has it. All are required. */
struct vm_user {
	/* Bytes from the PMI port of `core`. */
	void (*input)(struct vm *vm, uint32_t core, const char *bytes, size_t length,
		      void *data);
	/* The PMI port of `core` was cut off and is open again: bytes may have been lost. */
	void (*torn)(struct vm *vm, uint32_t core, void *data);
	/* The VM died or had to be removed: it is not the task's any more. */
	void (*lost)(struct vm *vm, const char *reason, void *data);
	/* After vm_release(): it is ready again, or down and told so. */
	void (*settled)(struct vm *vm, void *data);
	/* After vm_rewire(): all ports are open, or `error` says why not. */
	void (*wired)(struct vm *vm, const GError *error, void *data);
};

/* Who a VM is; borrowed until it is freed. */
struct vm_settings {
	uint32_t number;         /* within the cluster, from 0 */
	const char *name;        /* "c1-n0": the guest's host name, and for messages */
	const char *domain;      /* its name in libvirt */
	const char *keeper;      /* whom it belongs to there (domain_xml.h) */
	struct host *host;
	struct boot_queue *queue;
	double boot_timeout_s;   /* for one try */
};

/* Where a VM runs; borrowed while it is there. */
struct vm_place {
	uint32_t first_core;       /* number of its first core among those of the cluster */
	int32_t first_cpu;         /* the host's CPU for that core, the next one for the next; -1: any */
	const struct cpu_cap *cap;
};

/* A detached VM that nobody wants; vm_prepare() and vm_found() bring it to life. */
struct vm *vm_new(const struct vm_settings *settings, uint32_t cores,
			    const struct vm_events *events, void *data);

/* After host_free(). NULL is allowed. */
void vm_free(struct vm *vm);

/* Says what is to be booted; copied. To be called before the first vm_found(). */
void vm_prepare(struct vm *vm, const struct domain_spec *spec);

/*
 * The host was reached: it has this VM of this name, which may be another keeper's, or none (NULL). A paused one is adopted as a
 * spare only if it was one before the host went out of reach.
 */
void vm_found(struct vm *vm, const struct domain_info *info);

/* The host is out of reach. */
void vm_disconnect(struct vm *vm, const char *reason);

/* What the host tells of the VM. */
void vm_stopped(struct vm *vm, const char *reason);
/* The guest agent opened or closed its port. */
void vm_agent_changed(struct vm *vm, bool connected);
/* QEMU stopped the VM's processors, at a time of its host's wall clock, in microseconds. */
void vm_was_frozen(struct vm *vm, int64_t host_us);
/*
 * The VM was paused, or goes on. Where nobody here asked for that, it is somebody else's doing: a
 * VM that serves keeps its task, and what its guest does not say while it stands still is not held
 * against it. One that was stopped by a `failure` (pause.h) has failed.
 */
void vm_was_paused(struct vm *vm, bool paused, const char *failure);

/* Ends all activity for good: the owner removes the VM itself. */
void vm_stop(struct vm *vm);

/*
 * Says where the VM is, or NULL: nowhere. One that waits there as a spare is woken up, one that is
 * ready is paused; one that boots goes on with it.
 */
void vm_place(struct vm *vm, const struct vm_place *place);

/* Whether anybody wants the VM: one that is wanted is booted, one that is not is removed. */
void vm_want(struct vm *vm, bool wanted);

/*
 * While a VM is `barred` it is not booted where it is not: it may be on another host, which cannot
 * be asked. One that is there goes on.
 */
void vm_inhibit_boot(struct vm *vm, bool barred);
/* What was said with it. */
bool vm_boot_is_inhibited(const struct vm *vm);

/* Its number within the cluster. */
uint32_t vm_number(const struct vm *vm);
/* Its name for messages. */
const char *vm_name(const struct vm *vm);
/* Its name in libvirt. */
const char *vm_domain(const struct vm *vm);
/* Whom it belongs to there. */
const char *vm_keeper(const struct vm *vm);
/* The host it is on (borrowed). */
struct host *vm_current_host(const struct vm *vm);
/* Where it is in its life (vm_state.h). */
enum vm_state vm_state(const struct vm *vm);
/* Where it is, or NULL: nowhere. */
const struct vm_place *vm_where(const struct vm *vm);
/* Whether anybody wants it. */
bool vm_wanted(const struct vm *vm);
/* Why it is not ready, or that it was paused from outside, or NULL. */
const char *vm_reason(const struct vm *vm);
/* The task that has it, or NULL. */
const char *vm_task(const struct vm *vm);
/*
 * Whether its PMI ports were cut off for a while since it was assigned: the guest then reads an
 * end.
 */
bool vm_was_cut_off(const struct vm *vm);
/*
 * Whether what its guest says now would be heard: it serves a task, its PMI ports are open, and nobody has paused it.
 */
bool vm_is_heard(const struct vm *vm);
/* Seconds from the start of the VM to ready at the last boot; 0: none yet. */
double vm_boot_s(const struct vm *vm);

/* Whose a VM is, where it is nobody's uid. */
enum {
	VM_OWNER_ANY = -1,  /* it had processes, of the guest's own user or nobody knows whose */
	VM_OWNER_NONE = -2, /* no process since it was booted */
};

/*
 * Whether a task of `owner`, a uid or VM_OWNER_ANY, may have the VM as it is: a uid gets one that
 * nobody else has used. vm_recycle() boots a ready VM anew, as one that belongs to nobody.
 */
bool vm_usable_by(const struct vm *vm, int64_t owner);
void vm_recycle(struct vm *vm);

/*
 * Gives a ready VM to a task of `owner`; false if it is not ready. `user` is borrowed until the
 * release.
 */
bool vm_assign(struct vm *vm, const char *task, int64_t owner,
		    const struct vm_user *user, void *data);

/*
 * Which share, in (0, 1], of its node's CPU the VM of a task has: 1 until it is said, and again
 * after its release. It is in force once it was applied (vm_cap_at(), domain_apply_cap()).
 */
void vm_set_share(struct vm *vm, double share);

/*
 * Takes the VM back; `clean` says that all ranks on it ended and nothing is left on its ports. Ends
 * with `settled`, at once if clean. One that is held is removed.
 */
void vm_release(struct vm *vm, bool clean);

/* The VM cannot be trusted any more (a hung agent, a rank that does not die): boots a new one. */
void vm_fail(struct vm *vm, const char *reason);

/* Sends bytes to the PMI port of `core`. */
void vm_send(struct vm *vm, uint32_t core, const char *bytes, size_t length);

/*
 * For the suspension of the task that has the VM: from vm_hold() to vm_unhold() nobody
 * asks whether its guest is well. What becomes of it meanwhile is said with vm_set_detached().
 */
void vm_hold(struct vm *vm);
void vm_unhold(struct vm *vm);
/*
 * While a VM is `stowed`, it is on its way to a disk, or there: that it does not run is as it
 * should be.
 */
void vm_set_detached(struct vm *vm, bool stowed);
/* What was said with it. */
bool vm_is_detached(const struct vm *vm);
/*
 * A stowed VM, or one that nobody wants, is on another host from now on; its ports there stay as
 * they are.
 */
void vm_move(struct vm *vm, struct host *host);
/*
 * A stowed VM that runs comes to `host` from now on (NULL: it does not, or has come), and may have
 * been started there: its ports are then opened there as well, so that the guest sees no end of
 * them.
 */
void vm_expect(struct vm *vm, struct host *host);
void vm_was_started(struct vm *vm, struct host *host);
/*
 * A host that a stowed VM is on, or comes to, is out of reach: what was open there is not any more.
 */
void vm_cut_off(struct vm *vm, const struct host *host);
/* How the VM is to be capped at `place`, with its share. */
struct cpu_cap vm_cap_at(const struct vm *vm, const struct vm_place *place);
/* How its cores are to be bound at `place`, where it is about to be (domain_apply_cap()). */
struct domain_cores vm_cores_at(struct vm *vm, const struct vm_place *place);
/* Opens those PMI ports that are not open; ends with `wired`, perhaps before this returns. */
void vm_rewire(struct vm *vm);
/* When QEMU said that it was frozen since vm_hold(), as vm_was_frozen(); 0: not said. */
int64_t vm_frozen_us(const struct vm *vm);
