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
#include "local-sched/hypervisor/machine_state.h"

/*
 * A VM with an identity of its own: its number gives its name, its addresses and its ports, which
 * it keeps wherever it runs. A node (node.h) is a place for one; a VM is at a node, or is a spare,
 * or is held by a suspended task, or nobody wants it and it is not there. One that is wanted is
 * kept running, booted again when it fails (after 1, 2, 4, ... MACHINE_BACKOFF_MAX_S seconds), and
 * adopted when it outlived its scheduler. The states are in machine_state.h. Main loop only.
 */
struct machine;

#define MACHINE_BACKOFF_MAX_S 60

/* What a VM tells its owner. All are required. */
struct machine_events {
	/* Takes a task from now on (it has a place). */
	void (*ready)(struct machine *machine, void *data);
	/* There is none any more, or it is out of reach. */
	void (*down)(struct machine *machine, const char *reason, void *data);
	/* It is down, and stays so as long as it is barred (machine_bar()); from the main loop. */
	void (*stuck)(struct machine *machine, void *data);
};

/* What a VM tells the task that has it. All are required. */
struct machine_user {
	/* Bytes from the PMI port of `core`. */
	void (*input)(struct machine *machine, uint32_t core, const char *bytes, size_t length,
		      void *data);
	/* The PMI port of `core` was cut off and is open again: bytes may have been lost. */
	void (*torn)(struct machine *machine, uint32_t core, void *data);
	/* The VM died or had to be removed: it is not the task's any more. */
	void (*lost)(struct machine *machine, const char *reason, void *data);
	/* After machine_release(): it is ready again, or down and told so. */
	void (*settled)(struct machine *machine, void *data);
	/* After machine_rewire(): all ports are open, or `error` says why not. */
	void (*wired)(struct machine *machine, const GError *error, void *data);
};

/* Who a VM is; borrowed until it is freed. */
struct machine_settings {
	uint32_t number;         /* within the cluster, from 0 */
	const char *name;        /* "c1-n0": the guest's host name, and for messages */
	const char *domain;      /* its name in libvirt */
	const char *keeper;      /* whom it belongs to there (domain_xml.h) */
	struct host *host;
	struct boot_queue *queue;
	double boot_timeout_s;   /* for one try */
};

/* Where a VM runs; borrowed while it is there. */
struct machine_place {
	uint32_t first_core;       /* number of its first core among those of the cluster */
	int32_t first_cpu;         /* the host's CPU for that core, the next one for the next; -1: any */
	const struct cpu_cap *cap;
};

/* A detached VM that nobody wants; machine_prepare() and machine_found() bring it to life. */
struct machine *machine_new(const struct machine_settings *settings, uint32_t cores,
			    const struct machine_events *events, void *data);

/* After host_free(). NULL is allowed. */
void machine_free(struct machine *machine);

/* Says what is to be booted; copied. To be called before the first machine_found(). */
void machine_prepare(struct machine *machine, const struct domain_spec *spec);

/*
 * The host was reached: it has this VM of this name, which may be another keeper's, or none (NULL). A paused one is adopted as a
 * spare only if it was one before the host went out of reach.
 */
void machine_found(struct machine *machine, const struct domain_info *info);

/* The host is out of reach. */
void machine_detach(struct machine *machine, const char *reason);

/* What the host tells of the VM. */
void machine_vm_stopped(struct machine *machine, const char *reason);
/* The guest agent opened or closed its port. */
void machine_agent_changed(struct machine *machine, bool connected);
/* QEMU stopped the VM's processors, at a time of its host's wall clock, in microseconds. */
void machine_vm_frozen(struct machine *machine, int64_t host_us);
/*
 * The VM was paused, or goes on. Where nobody here asked for that, it is somebody else's doing: a
 * VM that serves keeps its task, and what its guest does not say while it stands still is not held
 * against it. One that was stopped by a `failure` (pause.h) has failed.
 */
void machine_vm_paused(struct machine *machine, bool paused, const char *failure);

/* Ends all activity for good: the owner removes the VM itself. */
void machine_stop(struct machine *machine);

/*
 * Says where the VM is, or NULL: nowhere. One that waits there as a spare is woken up, one that is
 * ready is paused; one that boots goes on with it.
 */
void machine_place(struct machine *machine, const struct machine_place *place);

/* Whether anybody wants the VM: one that is wanted is booted, one that is not is removed. */
void machine_want(struct machine *machine, bool wanted);

/*
 * While a VM is `barred` it is not booted where it is not: it may be on another host, which cannot
 * be asked. One that is there goes on.
 */
void machine_bar(struct machine *machine, bool barred);
/* What was said with it. */
bool machine_is_barred(const struct machine *machine);

/* Its number within the cluster. */
uint32_t machine_number(const struct machine *machine);
/* Its name for messages. */
const char *machine_name(const struct machine *machine);
/* Its name in libvirt. */
const char *machine_domain(const struct machine *machine);
/* Whom it belongs to there. */
const char *machine_keeper(const struct machine *machine);
/* The host it is on (borrowed). */
struct host *machine_host(const struct machine *machine);
/* Where it is in its life (machine_state.h). */
enum machine_state machine_state(const struct machine *machine);
/* Where it is, or NULL: nowhere. */
const struct machine_place *machine_where(const struct machine *machine);
/* Whether anybody wants it. */
bool machine_wanted(const struct machine *machine);
/* Why it is not ready, or that it was paused from outside, or NULL. */
const char *machine_reason(const struct machine *machine);
/* The task that has it, or NULL. */
const char *machine_task(const struct machine *machine);
/*
 * Whether its PMI ports were cut off for a while since it was assigned: the guest then reads an
 * end.
 */
bool machine_was_cut_off(const struct machine *machine);
/*
 * Whether what its guest says now would be heard: it serves a task, its PMI ports are open, and nobody has paused it.
 */
bool machine_is_heard(const struct machine *machine);
/* Seconds from the start of the VM to ready at the last boot; 0: none yet. */
double machine_boot_s(const struct machine *machine);

/* Whose a VM is, where it is nobody's uid. */
enum {
	MACHINE_OWNER_ANY = -1,  /* it had processes, of the guest's own user or nobody knows whose */
	MACHINE_OWNER_NONE = -2, /* no process since it was booted */
};

/*
 * Whether a task of `owner`, a uid or MACHINE_OWNER_ANY, may have the VM as it is: a uid gets one that
 * nobody else has used. machine_renew() boots a ready VM anew, as one that belongs to nobody.
 */
bool machine_suits(const struct machine *machine, int64_t owner);
void machine_renew(struct machine *machine);

/*
 * Gives a ready VM to a task of `owner`; false if it is not ready. `user` is borrowed until the
 * release.
 */
bool machine_assign(struct machine *machine, const char *task, int64_t owner,
		    const struct machine_user *user, void *data);

/*
 * Which share, in (0, 1], of its node's CPU the VM of a task has: 1 until it is said, and again
 * after its release. It is in force once it was applied (machine_cap_at(), domain_apply_cap()).
 */
void machine_set_share(struct machine *machine, double share);

/*
 * Takes the VM back; `clean` says that all ranks on it ended and nothing is left on its ports. Ends
 * with `settled`, at once if clean. One that is held is removed.
 */
void machine_release(struct machine *machine, bool clean);

/* The VM cannot be trusted any more (a hung agent, a rank that does not die): boots a new one. */
void machine_fail(struct machine *machine, const char *reason);

/* Sends bytes to the PMI port of `core`. */
void machine_send(struct machine *machine, uint32_t core, const char *bytes, size_t length);

/*
 * For the suspension of the task that has the VM: from machine_hold() to machine_let_go() nobody
 * asks whether its guest is well. What becomes of it meanwhile is said with machine_stowed().
 */
void machine_hold(struct machine *machine);
void machine_let_go(struct machine *machine);
/*
 * While a VM is `stowed`, it is on its way to a disk, or there: that it does not run is as it
 * should be.
 */
void machine_stowed(struct machine *machine, bool stowed);
/* What was said with it. */
bool machine_is_stowed(const struct machine *machine);
/*
 * A stowed VM, or one that nobody wants, is on another host from now on; its ports there stay as
 * they are.
 */
void machine_move(struct machine *machine, struct host *host);
/*
 * A stowed VM that runs comes to `host` from now on (NULL: it does not, or has come), and may have
 * been started there: its ports are then opened there as well, so that the guest sees no end of
 * them.
 */
void machine_expect(struct machine *machine, struct host *host);
void machine_vm_started(struct machine *machine, struct host *host);
/*
 * A host that a stowed VM is on, or comes to, is out of reach: what was open there is not any more.
 */
void machine_cut_off(struct machine *machine, const struct host *host);
/* How the VM is to be capped at `place`, with its share. */
struct cpu_cap machine_cap_at(const struct machine *machine, const struct machine_place *place);
/* How its cores are to be bound at `place`, where it is about to be (domain_apply_cap()). */
struct domain_cores machine_cores_at(struct machine *machine, const struct machine_place *place);
/* Opens those PMI ports that are not open; ends with `wired`, perhaps before this returns. */
void machine_rewire(struct machine *machine);
/* When QEMU said that it was frozen since machine_hold(), as machine_vm_frozen(); 0: not said. */
int64_t machine_frozen_us(const struct machine *machine);
