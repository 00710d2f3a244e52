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
 * A VM with an identity of its own. Its number gives its name, its addresses and its ports, which
 * it keeps wherever it runs. A node (node.h) is a slot for a VM. A VM is at a node, or is a spare,
 * or is held by a suspended task, or is unwanted and does not exist. A wanted VM is kept running,
 * is booted again when it fails (after 1, 2, 4, ... VM_BACKOFF_MAX_S seconds), and is adopted when
 * it has outlived its scheduler. The states are in vm_state.h. Main loop only.
 */
struct vm;

#define VM_BACKOFF_MAX_S 60

/* The events of a VM for its owner. All are required. */
struct vm_events {
	/* The VM takes a task from now on (it has a place). */
	void (*ready)(struct vm *vm, void *data);
	/* The VM is gone, or its host is out of reach. */
	void (*down)(struct vm *vm, const char *reason, void *data);
	/*
	 * The VM is down, and stays down as long as its boot is inhibited (vm_inhibit_boot()).
	 * Called from the main loop.
	 */
	void (*stuck)(struct vm *vm, void *data);
};

/* The events of a VM for the task that has it. All are required. */
struct vm_user {
	/* Bytes from the PMI port of `core`. */
	void (*input)(struct vm *vm, uint32_t core, const char *bytes, size_t length, void *data);
	/* The PMI port of `core` was cut off and is open again; bytes may have been lost. */
	void (*torn)(struct vm *vm, uint32_t core, void *data);
	/* The VM died or had to be removed; the task does not have it any more. */
	void (*lost)(struct vm *vm, const char *reason, void *data);
	/* The end of vm_release(): the VM is ready again, or is down and `down` was called. */
	void (*settled)(struct vm *vm, void *data);
	/* The end of vm_rewire(): all ports are open, or `error` says why not. */
	void (*wired)(struct vm *vm, const GError *error, void *data);
};

/* The identity of a VM; borrowed until the VM is freed. */
struct vm_settings {
	uint32_t number;    /* within the cluster, from 0 */
	const char *name;   /* "c1-n0": the guest's host name, and for messages */
	const char *domain; /* its name in libvirt */
	const char *keeper; /* id of the local scheduler that owns it (domain_xml.h) */
	struct host *host;
	struct boot_queue *queue;
	double boot_timeout_s; /* the limit of one boot */
};

/* The place where a VM runs; borrowed while the VM is there. */
struct vm_place {
	uint32_t first_core; /* number of its first core among the cores of the cluster */
	/* the host's CPU for that core, the next CPU for the next core; -1: any */
	int32_t first_cpu;
	const struct cpu_cap *cap;
};

/* An unwanted VM on a host that is out of reach. vm_prepare() and vm_found() bring it to life. */
struct vm *vm_new(const struct vm_settings *settings, uint32_t cores,
		  const struct vm_events *events, void *data);

/* After host_free(). NULL is allowed. */
void vm_free(struct vm *vm);

/* Sets the domain to boot; copied. Call it before the first vm_found(). */
void vm_prepare(struct vm *vm, const struct domain_spec *spec);

/*
 * The host was reached. `info` is the host's VM of this name, which may be another keeper's, or
 * NULL: there is none. A paused VM is adopted as a spare only if it was a spare before the host
 * went out of reach.
 */
void vm_found(struct vm *vm, const struct domain_info *info);

/* The host is out of reach. */
void vm_disconnect(struct vm *vm, const char *reason);

/* The host reports that the VM does not run any more. */
void vm_stopped(struct vm *vm, const char *reason);
/* The guest agent opened or closed its port. */
void vm_agent_changed(struct vm *vm, bool connected);
/* QEMU stopped the VM's processors, at a time of its host's wall clock, in microseconds. */
void vm_was_frozen(struct vm *vm, int64_t host_us);
/*
 * The VM was paused, or runs again. A pause that this local scheduler has not requested came from
 * outside: a VM that serves a task keeps it, and the silence of its guest is excused while it
 * stands still. A VM that was stopped by a `failure` (pause.h) has failed.
 */
void vm_was_paused(struct vm *vm, bool paused, const char *failure);

/* Ends all activity for good. The owner removes the VM itself. */
void vm_stop(struct vm *vm);

/*
 * Sets the VM's place; NULL: none. A spare that gets a place is woken. A ready VM that loses its
 * place is paused. A VM that boots continues to boot.
 */
void vm_set_place(struct vm *vm, const struct vm_place *place);

/* Sets whether the VM is wanted. A wanted VM is booted, an unwanted VM is removed. */
void vm_want(struct vm *vm, bool wanted);

/*
 * While its boot is inhibited, a VM that does not exist is not booted: it may exist on another host
 * that is out of reach. A VM that exists runs on.
 */
void vm_inhibit_boot(struct vm *vm, bool inhibited);
/* Whether vm_inhibit_boot() has inhibited its boot. */
bool vm_boot_is_inhibited(const struct vm *vm);

/* Its number within the cluster. */
uint32_t vm_number(const struct vm *vm);
/* Its name for messages. */
const char *vm_name(const struct vm *vm);
/* Its name in libvirt. */
const char *vm_domain(const struct vm *vm);
/* The id of the local scheduler that owns it. */
const char *vm_keeper(const struct vm *vm);
/* The host it is on (borrowed). */
struct host *vm_current_host(const struct vm *vm);
/* Its state (vm_state.h). */
enum vm_state vm_state(const struct vm *vm);
/* Its place, or NULL: none. */
const struct vm_place *vm_where(const struct vm *vm);
/* Whether it is wanted. */
bool vm_wanted(const struct vm *vm);
/* Why it is not ready, or that it was paused from outside, or NULL. */
const char *vm_reason(const struct vm *vm);
/* The task that has it, or NULL. */
const char *vm_task(const struct vm *vm);
/*
 * Whether its PMI ports were cut off for a while since it was assigned. The guest then reads an end
 * of file.
 */
bool vm_was_cut_off(const struct vm *vm);
/*
 * Whether output of its guest would arrive now: the VM serves a task, its PMI ports are open, and
 * it is not paused from outside.
 */
bool vm_is_heard(const struct vm *vm);
/* Seconds from the start of the VM to ready at the last boot; 0: none yet. */
double vm_boot_s(const struct vm *vm);

/* The users of a VM that are no uid. */
enum {
	VM_OWNER_ANY = -1,  /* it had processes of the guest's own user or of an unknown user */
	VM_OWNER_NONE = -2, /* it had no process since it was booted */
};

/*
 * Whether a task of `owner`, a uid or VM_OWNER_ANY, may have the VM as it is. A uid gets only a VM
 * that no other user has had. vm_recycle() replaces a ready VM by a freshly booted one without an
 * owner.
 */
bool vm_usable_by(const struct vm *vm, int64_t owner);
void vm_recycle(struct vm *vm);

/*
 * Gives a ready VM to a task of `owner`. False: it is not ready. `user` is borrowed until
 * vm_release().
 */
bool vm_assign(struct vm *vm, const char *task, int64_t owner, const struct vm_user *user,
	       void *data);

/*
 * Sets the CPU share, in (0, 1], of the VM of a task. It is 1 before the first call and after the
 * VM's release. It is in force once it is applied (vm_cap_at(), domain_apply_cap()).
 */
void vm_set_share(struct vm *vm, double share);

/*
 * Takes the VM back from its task. `clean` says that all its ranks have ended and nothing is left
 * on its ports. Ends with `settled`, at once if clean. A VM that is held is removed.
 */
void vm_release(struct vm *vm, bool clean);

/*
 * Reports that the VM cannot be trusted any more (a hung agent, a rank that does not die). It is
 * replaced by a freshly booted one.
 */
void vm_fail(struct vm *vm, const char *reason);

/* Sends bytes to the PMI port of `core`. */
void vm_send(struct vm *vm, uint32_t core, const char *bytes, size_t length);

/*
 * Frame a suspension of the task that has the VM: from vm_hold() to vm_unhold() the VM's health is
 * not checked. vm_allow_absence() says whether the VM may be missing meanwhile.
 */
void vm_hold(struct vm *vm);
void vm_unhold(struct vm *vm);
/*
 * Sets whether the VM may be missing on its host: it is saved to disk, or is on its way between
 * disk, memory and hosts. While `allowed`, a VM that does not run has not failed.
 */
void vm_allow_absence(struct vm *vm, bool allowed);
/* Whether vm_allow_absence() allows it. */
bool vm_may_be_absent(const struct vm *vm);
/*
 * Sets the host of a VM that may be absent, or that is unwanted. Its ports on that host stay as
 * they are.
 */
void vm_move(struct vm *vm, struct host *host);
/*
 * Sets the host that a running VM is migrated to (NULL: the migration has failed, or has ended), or
 * reports that the VM may have been started there. The VM must be allowed to be absent. Its ports
 * are then opened there as well, so that the guest reads no end of file.
 */
void vm_set_destination(struct vm *vm, struct host *host);
void vm_was_started(struct vm *vm, struct host *host);
/*
 * A host that an absent VM is on, or is migrated to, is out of reach: its ports there are closed.
 */
void vm_cut_off(struct vm *vm, const struct host *host);
/* The VM's cap at `place`, with its CPU share. */
struct cpu_cap vm_cap_at(const struct vm *vm, const struct vm_place *place);
/* The binding of its cores at `place`, to which it is about to go (domain_apply_cap()). */
struct domain_cores vm_cores_at(struct vm *vm, const struct vm_place *place);
/* Opens those PMI ports that are closed. Ends with `wired`, perhaps before this returns. */
void vm_rewire(struct vm *vm);
/* When QEMU reported that it froze the VM since vm_hold(), as in vm_was_frozen(); 0: it has not. */
int64_t vm_frozen_us(const struct vm *vm);
