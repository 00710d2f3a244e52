/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

#include "local-sched/hypervisor/claim.h"
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/vm_host.h"

/*
 * What the parts of a vm_host have in common:
 *
 *   vm_host.c          the vm_host, and what its host tells
 *   vm_host_claim.c    that the cluster's VMs there are ours
 *   vm_host_spec.c     what its VMs are like
 *   vm_host_prepare.c  what is done before they can be booted
 *   vm_host_find.c     which of them are there
 *   vm_host_move.c     those that go to another vm_host
 *   vm_host_clean.c    leaving nothing behind
 */

#define RETRY_S CLAIM_LOOK_S
#define PROBE_SUFFIX "probe" /* of the name of the VM that shows how VMs can be run */
#define CLAIM_SUFFIX "claim" /* of the name of the volume that says who serves the cluster on the host */

/* What must be done once before VMs can be booted, in this order. */
enum step {
	STEP_ABOUT = 0, /* ask what the host is */
	STEP_IMAGE,    /* upload the image */
	STEP_SWAP,     /* make the swap disks */
	STEP_TYPE,     /* decide between KVM and the emulator */
	STEP_READY,
};

struct vm_host {
	struct vm_host_settings settings;
	struct host *host;
	GPtrArray *places;   /* of struct vm_place, borrowed */
	GPtrArray *vms; /* of struct vm, borrowed */
	GPtrArray *awaiting; /* ..., of other vm_hosts: this one may have them too, and removes them */
	guint await_source;
	void (*gone)(struct vm *vm, void *data); /* one of these */
	void *gone_data;
	enum step step;
	bool stepping; /* a step is under way */
	bool reached;  /* was connected at least once */
	guint removing; /* VMs that nobody wants, and that are being removed before it is tidied */
	guint cleaning; /* VMs that are being removed because all are */
	bool tidied;   /* what a predecessor saved was removed */
	struct claim *claim; /* as it was written last */
	char *claim_name;    /* its volume */
	bool claimed;        /* it is held, as was found out since the host was connected */
	bool was_claimed;    /* it was held once */
	bool told_refused;
	bool renewing;       /* that is under way */
	guint renew_source;
	struct claim_watch watch; /* of another's claim */
	bool checking;          /* whether the image is there is being looked at again */
	struct host_info *about; /* NULL: not known yet */
	struct image_paths *paths;
	GHashTable *swap;   /* paths of swap disks by name of the VM, both owned */
	GHashTable *coming; /* GCancellable by name of VMs on their way here, both owned */
	GHashTable *stops;  /* struct stop whose room is being looked at, borrowed, by name of the VM, owned */
	char *probe_name;
	struct virt_type_decision *decision;
	struct virt_type type;
	guint retry_source;
	bool frozen;
	void (*cleaned)(struct vm_host *vm_host, const GError *error, void *data);
	void *cleaned_data;
};

/* What a VM is to be like. */

/* Strings that a specification borrows. */
struct vm_host_names {
	char *mac;
	char *address;
	char *console;
};

void vm_host_names_clear(struct vm_host_names *names);

/*
 * A VM of the name `domain`, called `guest` inside, with a number of its own, at `place` (NULL:
 * nowhere yet). What is returned borrows *ret_names, which the caller clears after it.
 */
struct domain_spec vm_host_specify(const struct vm_host *vm_host, const char *domain, const char *guest,
				uint32_t number, const struct vm_place *place,
				struct vm_host_names *ret_names);

/* Whether VMs have swap disks; the names of those of all VMs, NULL-terminated. */
bool vm_host_has_swap(const struct vm_host *vm_host);
char **vm_host_swap_names(const struct vm_host *vm_host);

/* Whether all is there that a VM needs to be booted. */
bool vm_host_can_boot(const struct vm_host *vm_host, const struct vm *vm);

/* Tells a VM, or all and the places, what they are to be like. */
void vm_host_prepare(struct vm_host *vm_host, struct vm *vm);
void vm_host_prepare_all(struct vm_host *vm_host);

/* Takes the cluster's claim on the host, and goes on with the step that it is at once it is held. */
void vm_host_claim(struct vm_host *vm_host);

/* Preparing the host. */

/* Goes on after RETRY_S. */
void vm_host_retry_later(struct vm_host *vm_host);

/* Begins or goes on with the step it is at, if it can. */
void vm_host_step(struct vm_host *vm_host);

/* The end of a step; true if it went well and the vm_host still wants to go on. */
bool vm_host_stepped(struct vm_host *vm_host, const GError *error);

/* A VM that came when the host was prepared already is told so, with a swap disk of its own. */
void vm_host_add_late(struct vm_host *vm_host, struct vm *vm);

/* The host is out of reach, or not ready, as `reason` says. */
void vm_host_detach_all(struct vm_host *vm_host, const char *reason);

/* Finding VMs. */

/* Whether a VM is named like one of the cluster with that prefix that has a number, or like any of its. Pure. */
bool vm_host_is_numbered(const char *prefix, const char *name);
bool vm_host_is_ours(const char *prefix, const char *name);

/* The VM of that name, or NULL: it is not of this vm_host. */
struct vm *vm_host_vm(const struct vm_host *vm_host, const char *domain);

/* The last step, and what is done again after each connection: adopts or removes what is there. */
void vm_host_list(struct vm_host *vm_host);
