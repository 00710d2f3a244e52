/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

#include "local-sched/hypervisor/claim.h"
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/vm_host.h"

/*
 * What the files of a vm_host share:
 *
 *   vm_host_move.c     VMs that go to another vm_host
 *   vm_host_clean.c    the removal of everything
 *   vm_host.c          the vm_host, and its host's events
 *   vm_host_prepare.c  the steps before VMs can be booted
 *   vm_host_claim.c    whether the claim on the cluster's VMs there is held
 *   vm_host_find.c     finds the VMs that are there, and removes unwanted ones
 *   vm_host_spec.c     the domains of its VMs
 *
 * Each file names only functions of those below it.
 */

#define RETRY_S CLAIM_LOOK_S
#define PROBE_SUFFIX "probe" /* end of the name of the VM that probes how VMs can run */
#define CLAIM_SUFFIX "claim" /* end of the name of the volume that holds the claim */

/* The steps before VMs can be booted, in this order; each is done once. */
enum step {
	STEP_ABOUT = 0, /* read the host's facts */
	STEP_IMAGE,     /* upload the image */
	STEP_SWAP,      /* make the swap disks */
	STEP_TYPE,      /* decide between KVM and the emulator */
	STEP_READY,
};

struct vm_host {
	struct vm_host_settings settings;
	struct host *host;
	GPtrArray *places; /* of struct vm_place, borrowed */
	GPtrArray *vms;    /* of struct vm, borrowed */
	/*
	 * of struct vm of other vm_hosts, borrowed: this host may have them too, and removes them
	 */
	GPtrArray *awaiting;
	guint await_source;
	void (*gone)(struct vm *vm, void *data); /* called when a VM of `awaiting` is gone */
	void *gone_data;
	enum step step;
	bool stepping;       /* a step is under way */
	bool reached;        /* was connected at least once */
	guint removing;      /* unwanted VMs that are being removed before the host is tidied */
	guint again_source;  /* another search for VMs whose removal failed */
	guint cleaning;      /* VMs that vm_host_clean() is removing */
	bool tidied;         /* the saved VMs of a predecessor were removed */
	struct claim *claim; /* as written last */
	char *claim_name;    /* name of its volume */
	bool claimed;        /* the claim is held, as found out since the last connection */
	bool was_claimed;    /* the claim was held once */
	bool refusal_reported;
	bool renewing; /* a renewal is under way */
	guint renew_source;
	struct claim_watch watch; /* of another local scheduler's claim */
	bool checking;            /* a check whether the image is there is under way */
	struct host_info *about;  /* NULL: not known yet */
	struct image_paths *paths;
	GHashTable *swap;   /* paths of swap disks by name of the VM, both owned */
	GHashTable *coming; /* GCancellable by name, of VMs on their way here, both owned */
	/*
	 * struct stop (borrowed) by name of the VM (owned), while room for the VM is being checked
	 */
	GHashTable *stops;
	char *probe_name;
	struct virt_type_decision *decision;
	struct virt_type type;
	guint retry_source;
	bool frozen;
	void (*cleaned)(struct vm_host *vm_host, const GError *error, void *data);
	void *cleaned_data;
};

/* Strings that a specification borrows. */
struct vm_host_names {
	char *mac;
	char *address;
	char *console;
};

void vm_host_names_clear(struct vm_host_names *names);

/*
 * The domain of a VM: `domain` is its name, `guest` its host name, `number` its number, `place` its
 * place (NULL: none yet). The result borrows *ret_names, which the caller clears after it.
 */
struct domain_spec vm_host_specify(const struct vm_host *vm_host, const char *domain,
				   const char *guest, uint32_t number, const struct vm_place *place,
				   struct vm_host_names *ret_names);

/* Whether VMs have swap disks; and the names of those of all VMs, NULL-terminated. */
bool vm_host_has_swap(const struct vm_host *vm_host);
char **vm_host_swap_names(const struct vm_host *vm_host);

/* Whether everything is there that a VM needs to boot. */
bool vm_host_can_boot(const struct vm_host *vm_host, const struct vm *vm);

/* Gives a VM, or all VMs and the places, their domains and CPUs. */
void vm_host_prepare(struct vm_host *vm_host, struct vm *vm);
void vm_host_prepare_all(struct vm_host *vm_host);

/* Whether the cluster's claim on the host is held. */
enum vm_host_claim {
	VM_HOST_CLAIM_HELD = 0,
	VM_HOST_CLAIM_AWAITED, /* not yet, or not any more: to be taken again after a while */
	VM_HOST_CLAIM_REFUSED, /* another local scheduler holds it; `refused` was called */
};

/*
 * Judges the answer to claim_take(). If the claim is not held, all VMs are detached.
 * vm_host_lose_claim() is for an answer by which another local scheduler serves the cluster there.
 */
enum vm_host_claim vm_host_judge_claim(struct vm_host *vm_host, const struct claim_result *result);
enum vm_host_claim vm_host_lose_claim(struct vm_host *vm_host, const struct claim_result *result);

/* Begins or continues the current step, if it can. */
void vm_host_step(struct vm_host *vm_host);

/* Prepares a VM that was added after the host was prepared, with a swap disk of its own. */
void vm_host_add_late(struct vm_host *vm_host, struct vm *vm);

/* Detaches all VMs: the host is out of reach, or not ready, as `reason` says. */
void vm_host_detach_all(struct vm_host *vm_host, const char *reason);

/*
 * Whether a VM's name is that of a numbered VM of the cluster with that prefix, or of any VM of the
 * cluster. Pure.
 */
bool vm_host_is_numbered(const char *prefix, const char *name);
bool vm_host_is_ours(const char *prefix, const char *name);

/* The VM of that name, or NULL: this vm_host has none. */
struct vm *vm_host_vm(const struct vm_host *vm_host, const char *domain);

/*
 * Removes those of the cluster's VMs that were found on the host (of struct domain_info) and are
 * not wanted there.
 */
void vm_host_remove_leftovers(struct vm_host *vm_host, const GPtrArray *found);

/* Removes the awaited VMs; after a reconnection this is done once VMs were listed. */
void vm_host_remove_awaited(struct vm_host *vm_host);

/* Tidies up, after VMs that were being saved were removed. */
void vm_host_tidy(struct vm_host *vm_host);
