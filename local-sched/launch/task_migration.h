/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A live migration of a task's VMs, from its request until the nodes that they left have other VMs,
 * as it is stored and reported (docs/reference/api.md, Migrating). Pure.
 */

/* One VM of the task. */
struct task_migration_vm {
	uint32_t from; /* nodes; equal where the VM stays */
	uint32_t to;
	char *from_host;
	char *to_host;
	bool moved;          /* it is at `to`, else at `from` */
	int64_t total_ns;    /* -1: not known, or not moved to another host; so is downtime_ns */
	int64_t downtime_ns; /* the VM ran on neither host */
};

/* Times: clock_now_ns(), 0: not yet. */
struct task_migration {
	uint32_t n;       /* from 1 */
	int64_t attempt; /* from 1: "try" */
	uint32_t count;   /* how many VMs */
	struct task_migration_vm *vms;
	uint32_t *placed; /* by VM, the node where it is after the migration */
	int64_t requested_ns;
	int64_t begun_ns;
	int64_t moved_ns;   /* the VMs are where they are after the migration */
	int64_t settled_ns; /* the nodes that they left have other VMs */
	char *reason;       /* why not all VMs have moved; NULL: they have */
};
typedef struct task_migration task_migration_t;

/* Migration number `n`, requested at `now_ns`, of `count` VMs between nodes (copied). */
struct task_migration *task_migration_new(uint32_t n, const uint32_t *from, const uint32_t *to,
					  uint32_t count, int64_t now_ns);
/* NULL is allowed. */
void task_migration_free(struct task_migration *migration);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(task_migration_t, task_migration_free)

/* Records whether a VM is at its target node. */
void task_migration_set_moved(struct task_migration *migration, uint32_t vm, bool moved);

/* Whether the targets of the migration are exactly these `nodes`, `count` of them, in any order. */
bool task_migration_goes_to(const struct task_migration *migration, const uint32_t *nodes,
			    uint32_t count);

/* Whether any VM has moved. */
bool task_migration_came_about(const struct task_migration *migration);

/* The migration as in the array `migrations` of a task object; a new reference. */
json_t *task_migration_to_json(const struct task_migration *migration);

/* Restores it from such an object; NULL: `object` is not valid. */
struct task_migration *task_migration_restore(const json_t *object);
