/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * One live migration of a task's VMs, from its request until the nodes that they left have other
 * VMs, as it is stored and told (docs/reference/api.md, Migrating), and the request that leads there. Pure.
 */

/* One VM of the task. */
struct task_migration_vm {
	uint32_t from; /* nodes; the same where it stays */
	uint32_t to;
	char *from_host;
	char *to_host;
	bool moved;          /* it is at `to`, else at `from` */
	int64_t total_ns;    /* -1: not known, or not brought to another host; likewise: */
	int64_t downtime_ns; /* it ran nowhere */
};

/* Times: clock_now_ns(), 0: not yet. */
struct task_migration {
	uint32_t n;       /* from 1 */
	int64_t attempt; /* from 1: "try" */
	uint32_t count;   /* of the VMs */
	struct task_migration_vm *vms;
	uint32_t *placed; /* the nodes where the VMs are after it, by VM */
	int64_t requested_ns;
	int64_t begun_ns;
	int64_t moved_ns;   /* its VMs are where they are after it */
	int64_t settled_ns; /* the nodes that they left have other VMs */
	char *reason;       /* why not all have moved; NULL: they have */
};
typedef struct task_migration task_migration_t;

/* The nth migration, requested at `now_ns`, of `count` VMs between nodes (copied). */
struct task_migration *task_migration_new(uint32_t n, const uint32_t *from, const uint32_t *to,
					  uint32_t count, int64_t now_ns);
/* NULL is allowed. */
void task_migration_free(struct task_migration *migration);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(task_migration_t, task_migration_free)

/* A VM is at the node that it was to go to, or not. */
void task_migration_set_moved(struct task_migration *migration, uint32_t vm, bool moved);

/* Whether its VMs are asked to go to just these `nodes`, `count` of them, in whatever order. */
bool task_migration_goes_to(const struct task_migration *migration, const uint32_t *nodes,
			    uint32_t count);

/* Whether a VM has moved. */
bool task_migration_came_about(const struct task_migration *migration);

/* As in the array `migrations` of a task object; a new reference. */
json_t *task_migration_to_json(const struct task_migration *migration);

/* The reverse; NULL: `object` is not one. */
struct task_migration *task_migration_restore(const json_t *object);
