/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/platform.h"
#include "local-sched/hypervisor/host_info.h"
#include "local-sched/hypervisor/image.h"
#include "local-sched/hypervisor/transfer.h"
#include "local-sched/hypervisor/vm.h"
#include "local-sched/hypervisor/virt_type.h"

/*
 * A host of a cluster with the VMs on it. It brings the image there, decides how VMs run, prepares
 * them, and passes the host's events on to them. After every connection it checks whether the
 * cluster there is its own to serve (claim.h), and then lists the cluster's VMs: wanted VMs are
 * adopted, others are removed, and so are the saved VMs of a predecessor on the host's disk. Main
 * loop only.
 */
struct vm_host;

/* The parts of a vm_host; borrowed until it is freed. */
struct vm_host_settings {
	const struct platform *platform;
	const struct config_host *host;
	const struct config_cluster *cluster;
	uint32_t cluster_index;
	const struct image *image;
	const char *prefix; /* of the names of the cluster's VMs: "virtbed-NAME-CLUSTER-" */
	enum virt_type_choice virt_type;
	const char *keeper; /* id of this local scheduler's state directory: the owner of its VMs */
	/*
	 * Another local scheduler serves the cluster on the host, as `reason` says, and has done so
	 * since before this one started. Nothing of the other's was touched. Called from the main
	 * loop, perhaps repeatedly. NULL: the vm_host waits for the other's end.
	 */
	void (*refused)(const char *reason, void *data);
	void *refused_data;
};

/* Connects in the background. Add the places before the main loop runs. */
struct vm_host *vm_host_new(const struct vm_host_settings *settings);

/* Frees the vm_host and its host. Free its VMs after it. NULL is allowed. */
void vm_host_free(struct vm_host *vm_host);

/* The host, for the VMs. */
struct host *vm_host_host(const struct vm_host *vm_host);

/*
 * Adds the place of a node (borrowed). The vm_host writes the place's CPUs there once they are
 * known.
 */
void vm_host_add_place(struct vm_host *vm_host, struct vm_place *place);

/* Adds a VM (borrowed). It is prepared when the host is. */
void vm_host_add_vm(struct vm_host *vm_host, struct vm *vm);

/*
 * Has a VM of another vm_host (borrowed) removed from this host, in case it is on both. `gone` is
 * called once, when it is not there. A host that is out of reach, or fails to remove it, is asked
 * again. `gone` and `data` are the same for all VMs.
 */
void vm_host_await(struct vm_host *vm_host, struct vm *vm, void (*gone)(struct vm *vm, void *data),
		   void *data);

/* Whether `gone` is still to come for a VM. */
bool vm_host_awaits(const struct vm_host *vm_host, const struct vm *vm);

/*
 * Whether VMs can be moved from one host to another; false with `error` (VIRT_ERROR) that says what
 * to do.
 */
bool vm_host_may_move(const struct vm_host *from, const struct vm_host *to, GError **error);

/*
 * Brings a VM to another host (transfer_start()). Unless it is live, it may be absent
 * (vm_allow_absence()). Until vm_host_arrived() or vm_host_stayed() both hosts know it.
 */
void vm_host_send(struct vm_host *from, struct vm_host *to, struct vm *vm,
		  enum transfer_manner manner, host_done_f done, gpointer data);

/*
 * Ends a transfer that is under way (transfer_cancel()): vm_host_send() or vm_host_find() ends
 * soon.
 */
void vm_host_interrupt(struct vm_host *from, struct vm_host *to, struct vm *vm,
		       enum transfer_manner manner);

/* Finds out where a VM in memory is after vm_host_send() failed (transfer_find()). */
void vm_host_find(struct vm_host *from, struct vm_host *to, struct vm *vm,
		  enum transfer_manner manner, host_done_f done, gpointer data);

/* The VM is on its new host. What it had on the old host's disk is removed. */
void vm_host_arrived(struct vm_host *from, struct vm_host *to, struct vm *vm);

/*
 * The VM is not on its new host, and what the transfer left there is removed. vm_host_give_up()
 * removes the VM itself from there as well.
 */
void vm_host_stayed(struct vm_host *to, struct vm *vm);
void vm_host_give_up(struct vm_host *to, struct vm *vm);

/* Hands an unwanted VM that does not exist over to another host. */
void vm_host_hand_over(struct vm_host *from, struct vm_host *to, struct vm *vm);

/*
 * A VM on this host failed. The image is checked again before the next VM is created; VMs that do
 * not run wait until the image is there.
 */
void vm_host_suspect_image(struct vm_host *vm_host);

/* The host's facts, or NULL: not known yet. */
const struct host_info *vm_host_about(const struct vm_host *vm_host);

/* How its VMs run, or NULL: not decided yet. */
const struct virt_type *vm_host_virt_type(const struct vm_host *vm_host);

/* Whether the cores of its nodes are pinned to CPUs of their own. */
bool vm_host_pinned(const struct vm_host *vm_host);

/*
 * Removes all VMs, saved VMs and swap disks of the cluster from the host, after its VMs were
 * stopped. `done` is called from the main loop.
 */
void vm_host_clean(struct vm_host *vm_host,
		   void (*done)(struct vm_host *vm_host, const GError *error, void *data),
		   void *data);
