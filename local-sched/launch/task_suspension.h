/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

#include "common/wire/wire_task.h"

/*
 * The course of a suspension of a task (struct task_suspension, common/wire/wire_task.h). In a
 * local scheduler the duration of a step that had nothing to do is 0. Pure.
 */

/* Suspension number `n`, requested at `now_ns`, of `count` VMs at `nodes` (copied). */
struct task_suspension *task_suspension_new(uint32_t n, const uint32_t *nodes, uint32_t count,
					    int64_t now_ns);
/* Resets the suspension to its state before the request to resume, which failed. */
void task_suspension_undo(struct task_suspension *suspension);
