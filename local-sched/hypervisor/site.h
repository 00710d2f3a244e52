/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "local-sched/hypervisor/host_about.h"
#include "local-sched/hypervisor/image.h"
#include "local-sched/hypervisor/node.h"
#include "local-sched/hypervisor/virt_type.h"

/*
 * One host of a cluster with the nodes on it: brings the image there, decides how its VMs are run,
 * prepares the nodes, and passes on to them what the host tells. After every (re)connection it looks
 * which of our VMs there are: nodes adopt theirs, VMs of ours that belong to no node are removed.
 * Main loop only.
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
};

/* Connects in the background; nodes are to be added before the main loop runs. */
struct site *site_new(const struct site_settings *settings);

/* Frees the site and its host, not the nodes: they are to be freed after it. NULL is allowed. */
void site_free(struct site *site);

/* The host, for the nodes. */
struct host *site_host(const struct site *site);

/* Adds a node (borrowed). */
void site_add_node(struct site *site, struct node *node);

/* What the host is, or NULL: not known yet. */
const struct host_about *site_about(const struct site *site);

/* How its VMs are run, or NULL: not decided yet. */
const struct virt_type *site_virt_type(const struct site *site);

/* Whether the cores of its nodes are pinned to CPUs of their own. */
bool site_pinned(const struct site *site);

/*
 * Removes all VMs and swap disks of the cluster from the host; its nodes are frozen before. `done` is
 * told from the main loop.
 */
void site_clean(struct site *site, void (*done)(struct site *site, const GError *error, void *data),
		void *data);
