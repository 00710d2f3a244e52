/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

#include "local-sched/hypervisor/claim.h"
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/site.h"

/*
 * What the parts of a site have in common:
 *
 *   site.c          the site, and what its host tells
 *   site_claim.c    that the cluster's VMs there are ours
 *   site_spec.c     what its VMs are like
 *   site_prepare.c  what is done before they can be booted
 *   site_find.c     which of them are there
 *   site_move.c     those that go to another site
 *   site_clean.c    leaving nothing behind
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

struct site {
	struct site_settings settings;
	struct host *host;
	GPtrArray *places;   /* of struct machine_place, borrowed */
	GPtrArray *machines; /* of struct machine, borrowed */
	GPtrArray *awaiting; /* ..., of other sites: this one may have them too, and removes them */
	guint await_source;
	void (*gone)(struct machine *machine, void *data); /* one of these */
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
	struct host_about *about; /* NULL: not known yet */
	struct image_paths *paths;
	GHashTable *swap;   /* paths of swap disks by name of the VM, both owned */
	GHashTable *coming; /* GCancellable by name of VMs on their way here, both owned */
	GHashTable *stops;  /* struct stop whose room is being looked at, borrowed, by name of the VM, owned */
	char *probe_name;
	struct virt_type_decision *decision;
	struct virt_type type;
	guint retry_source;
	bool frozen;
	void (*cleaned)(struct site *site, const GError *error, void *data);
	void *cleaned_data;
};

/* What a VM is to be like. */

/* Strings that a specification borrows. */
struct site_names {
	char *mac;
	char *address;
	char *console;
};

void site_names_clear(struct site_names *names);

/*
 * A VM of the name `domain`, called `guest` inside, with a number of its own, at `place` (NULL:
 * nowhere yet). What is returned borrows *ret_names, which the caller clears after it.
 */
struct domain_spec site_specify(const struct site *site, const char *domain, const char *guest,
				uint32_t number, const struct machine_place *place,
				struct site_names *ret_names);

/* Whether VMs have swap disks; the names of those of all VMs, NULL-terminated. */
bool site_has_swap(const struct site *site);
char **site_swap_names(const struct site *site);

/* Whether all is there that a VM needs to be booted. */
bool site_can_boot(const struct site *site, const struct machine *machine);

/* Tells a VM, or all and the places, what they are to be like. */
void site_prepare(struct site *site, struct machine *machine);
void site_prepare_all(struct site *site);

/* Takes the cluster's claim on the host, and goes on with the step that it is at once it is held. */
void site_claim(struct site *site);

/* Preparing the host. */

/* Goes on after RETRY_S. */
void site_retry_later(struct site *site);

/* Begins or goes on with the step it is at, if it can. */
void site_step(struct site *site);

/* The end of a step; true if it went well and the site still wants to go on. */
bool site_stepped(struct site *site, const GError *error);

/* A VM that came when the host was prepared already is told so, with a swap disk of its own. */
void site_add_late(struct site *site, struct machine *machine);

/* The host is out of reach, or not ready, as `reason` says. */
void site_detach_all(struct site *site, const char *reason);

/* Finding VMs. */

/* Whether a VM is named like one of the cluster with that prefix that has a number, or like any of its. Pure. */
bool site_is_numbered(const char *prefix, const char *name);
bool site_is_ours(const char *prefix, const char *name);

/* The VM of that name, or NULL: it is not of this site. */
struct machine *site_machine(const struct site *site, const char *domain);

/* The last step, and what is done again after each connection: adopts or removes what is there. */
void site_list(struct site *site);
