/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wire_task.h"

/*
 * The course of a live migration of a task's VMs (struct task_migration,
 * common/wire/wire_task.h). Pure.
 */

/* Migration number `n`, requested at `now_ns`, of `count` VMs between nodes (copied). */
struct task_migration *task_migration_new(uint32_t n, const uint32_t *from, const uint32_t *to,
					  uint32_t count, int64_t now_ns);
/* Sets `placed` of a migration that was restored. */
void task_migration_place(struct task_migration *migration);

/* Records whether a VM is at its target node. */
void task_migration_set_moved(struct task_migration *migration, uint32_t vm, bool moved);

/* Whether the targets of the migration are exactly these `nodes`, `count` of them, in any order. */
bool task_migration_goes_to(const struct task_migration *migration, const uint32_t *nodes,
			    uint32_t count);

/* Whether any VM has moved. */
bool task_migration_came_about(const struct task_migration *migration);
