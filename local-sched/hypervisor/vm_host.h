/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "local-sched/hypervisor/host_info.h"
#include "local-sched/hypervisor/image.h"
#include "local-sched/hypervisor/vm.h"
#include "local-sched/hypervisor/virt_type.h"

/*
 * One host of a cluster with the VMs on it: brings the image there, decides how its VMs are run,
 * prepares them, and passes on to them what the host tells. After every (re)connection it looks
 * whether the cluster is its own to serve there (claim.h), and then which of our VMs there are: those that are wanted
 * are adopted, others are removed, and so is what a predecessor saved to the host's disk. Main loop only.
 */
struct vm_host;

/* What a vm_host is; borrowed until it is freed. */
struct vm_host_settings {
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
struct vm_host *vm_host_new(const struct vm_host_settings *settings);

/* Frees the vm_host and its host, not the VMs: they are to be freed after it. NULL is allowed. */
void vm_host_free(struct vm_host *vm_host);

/* The host, for the VMs. */
struct host *vm_host_host(const struct vm_host *vm_host);

/* Adds a place of a node (borrowed): which CPUs are its own is written there once it is known. */
void vm_host_add_place(struct vm_host *vm_host, struct vm_place *place);

/* Adds a VM (borrowed), which is prepared when the host is. */
void vm_host_add_vm(struct vm_host *vm_host, struct vm *vm);

/*
 * A VM of another vm_host (borrowed) may be on this host as well, which is to remove it: `gone` tells,
 * once, that it has done so. A host that is out of reach, or fails to, is asked again. `gone` and
 * `data` are the same for all VMs.
 */
void vm_host_await(struct vm_host *vm_host, struct vm *vm,
		void (*gone)(struct vm *vm, void *data), void *data);

/* Whether that is still to be told of a VM. */
bool vm_host_awaits(const struct vm_host *vm_host, const struct vm *vm);

/*
 * Whether VMs can be moved from one host to another; false with `error` (VIRT_ERROR) that says what
 * to do.
 */
bool vm_host_may_move(const struct vm_host *from, const struct vm_host *to, GError **error);

/*
 * Brings a stowed VM, in memory or `saved`, to another host (transfer_start()). Until
 * vm_host_arrived() or vm_host_stayed() both hosts know it.
 */
void vm_host_send(struct vm_host *from, struct vm_host *to, struct vm *vm, bool saved,
	       host_done_f done, gpointer data);

/*
 * The same with a stowed VM that runs, and goes on running (transfer_start(), transfer_find()).
 */
void vm_host_send_live(struct vm_host *from, struct vm_host *to, struct vm *vm, host_done_f done,
		    gpointer data);
void vm_host_find_live(struct vm_host *from, struct vm_host *to, struct vm *vm, host_done_f done,
		    gpointer data);
/* Ends it while it is under way (transfer_abort()). */
void vm_host_abort_live(struct vm_host *from, struct vm_host *to, struct vm *vm);

/*
 * A VM that is on its way is not wanted any more (transfer_cancel()): what vm_host_send() or
 * vm_host_find() tells comes soon.
 */
void vm_host_interrupt(struct vm_host *from, struct vm_host *to, struct vm *vm, bool saved);

/* Where the VM is, if it was not saved and that failed (transfer_find()). */
void vm_host_find(struct vm_host *from, struct vm_host *to, struct vm *vm, host_done_f done,
	       gpointer data);

/* The VM is on its new host; what it had on the disk of the old one is removed. */
void vm_host_arrived(struct vm_host *from, struct vm_host *to, struct vm *vm);

/* It is not, and what came of it there is removed; with vm_host_give_up() the VM itself as well. */
void vm_host_stayed(struct vm_host *to, struct vm *vm);
void vm_host_give_up(struct vm_host *to, struct vm *vm);

/* A VM that nobody wants, and that is not there, is one of another host from now on. */
void vm_host_hand_over(struct vm_host *from, struct vm_host *to, struct vm *vm);

/*
 * A VM there failed: whether the image is still what it was is looked at again before the next one is created, and VMs that
 * do not run wait for it where it cannot be had.
 */
void vm_host_suspect_image(struct vm_host *vm_host);

/* What the host is, or NULL: not known yet. */
const struct host_info *vm_host_about(const struct vm_host *vm_host);

/* How its VMs are run, or NULL: not decided yet. */
const struct virt_type *vm_host_virt_type(const struct vm_host *vm_host);

/* Whether the cores of its nodes are pinned to CPUs of their own. */
bool vm_host_pinned(const struct vm_host *vm_host);

/*
 * Removes all VMs, saved VMs and swap disks of the cluster from the host; its VMs are stopped
 * before. `done` is told from the main loop.
 */
void vm_host_clean(struct vm_host *vm_host, void (*done)(struct vm_host *vm_host, const GError *error, void *data),
		void *data);
