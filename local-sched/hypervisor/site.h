/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "local-sched/hypervisor/host_about.h"
#include "local-sched/hypervisor/image.h"
#include "local-sched/hypervisor/machine.h"
#include "local-sched/hypervisor/virt_type.h"

/*
 * One host of a cluster with the VMs on it: brings the image there, decides how its VMs are run,
 * prepares them, and passes on to them what the host tells. After every (re)connection it looks
 * whether the cluster is its own to serve there (claim.h), and then which of our VMs there are: those that are wanted
 * are adopted, others are removed, and so is what a predecessor saved to the host's disk. Main loop only.
 */
struct site;

/* What a site is; borrowed until it is freed. */
struct site_settings {
	const struct config_host *host;
	const struct config_cluster *cluster;
	uint32_t cluster_index;
	const struct image *image;
	const char *prefix; /* of the names of the cluster's VMs: "virtbed-NAME-CLUSTER-" */
	enum virt_type_choice virt_type;
	const char *keeper; /* id of this local scheduler's state directory: whom its VMs belong to */
	/*
	 * Another local scheduler serves the cluster on the host, as `reason` says, and did so from the start: nothing of
	 * it was touched. From the main loop; may be told again. NULL: it is waited for.
	 */
	void (*refused)(const char *reason, void *data);
	void *refused_data;
};

/* Connects in the background; places are to be added before the main loop runs. */
struct site *site_new(const struct site_settings *settings);

/* Frees the site and its host, not the VMs: they are to be freed after it. NULL is allowed. */
void site_free(struct site *site);

/* The host, for the VMs. */
struct host *site_host(const struct site *site);

/* Adds a place of a node (borrowed): which CPUs are its own is written there once it is known. */
void site_add_place(struct site *site, struct machine_place *place);

/* Adds a VM (borrowed), which is prepared when the host is. */
void site_add_machine(struct site *site, struct machine *machine);

/*
 * A VM of another site (borrowed) may be on this host as well, which is to remove it: `gone` tells,
 * once, that it has done so. A host that is out of reach, or fails to, is asked again. `gone` and
 * `data` are the same for all VMs.
 */
void site_await(struct site *site, struct machine *machine,
		void (*gone)(struct machine *machine, void *data), void *data);

/* Whether that is still to be told of a VM. */
bool site_awaits(const struct site *site, const struct machine *machine);

/*
 * Whether VMs can be moved from one host to another; false with `error` (VIRT_ERROR) that says what
 * to do.
 */
bool site_may_move(const struct site *from, const struct site *to, GError **error);

/*
 * Brings a stowed VM, in memory or `saved`, to another host (transfer_start()). Until
 * site_arrived() or site_stayed() both hosts know it.
 */
void site_send(struct site *from, struct site *to, struct machine *machine, bool saved,
	       host_done_f done, gpointer data);

/*
 * The same with a stowed VM that runs, and goes on running (transfer_start(), transfer_find()).
 */
void site_send_live(struct site *from, struct site *to, struct machine *machine, host_done_f done,
		    gpointer data);
void site_find_live(struct site *from, struct site *to, struct machine *machine, host_done_f done,
		    gpointer data);
/* Ends it while it is under way (transfer_abort()). */
void site_abort_live(struct site *from, struct site *to, struct machine *machine);

/*
 * A VM that is on its way is not wanted any more (transfer_cancel()): what site_send() or
 * site_find() tells comes soon.
 */
void site_interrupt(struct site *from, struct site *to, struct machine *machine, bool saved);

/* Where the VM is, if it was not saved and that failed (transfer_find()). */
void site_find(struct site *from, struct site *to, struct machine *machine, host_done_f done,
	       gpointer data);

/* The VM is on its new host; what it had on the disk of the old one is removed. */
void site_arrived(struct site *from, struct site *to, struct machine *machine);

/* It is not, and what came of it there is removed; with site_give_up() the VM itself as well. */
void site_stayed(struct site *to, struct machine *machine);
void site_give_up(struct site *to, struct machine *machine);

/* A VM that nobody wants, and that is not there, is one of another host from now on. */
void site_hand_over(struct site *from, struct site *to, struct machine *machine);

/*
 * A VM there failed: whether the image is still what it was is looked at again before the next one is created, and VMs that
 * do not run wait for it where it cannot be had.
 */
void site_suspect_image(struct site *site);

/* What the host is, or NULL: not known yet. */
const struct host_about *site_about(const struct site *site);

/* How its VMs are run, or NULL: not decided yet. */
const struct virt_type *site_virt_type(const struct site *site);

/* Whether the cores of its nodes are pinned to CPUs of their own. */
bool site_pinned(const struct site *site);

/*
 * Removes all VMs, saved VMs and swap disks of the cluster from the host; its VMs are stopped
 * before. `done` is told from the main loop.
 */
void site_clean(struct site *site, void (*done)(struct site *site, const GError *error, void *data),
		void *data);
