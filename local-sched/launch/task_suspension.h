/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/wire/wire_task.h"

/*
 * The course of a suspension of a task (struct task_suspension, common/wire/wire_task.h), and the
 * requests for it. In a local scheduler the duration of a step that had nothing to do is 0. Pure.
 */

/* Suspension number `n`, requested at `now_ns`, of `count` VMs at `nodes` (copied). */
struct task_suspension *task_suspension_new(uint32_t n, const uint32_t *nodes, uint32_t count,
					    int64_t now_ns);
/* Resets the suspension to its state before the request to resume, which failed. */
void task_suspension_undo(struct task_suspension *suspension);

/* Bodies of requests. */
struct task_suspend_request {
	uint32_t n;
	int64_t attempt;
	enum config_keep keep;
};
struct task_resume_request {
	uint32_t n;
	int64_t attempt;
	uint32_t *nodes; /* count of them */
	uint32_t count;
};

/*
 * Read the number in the path and the body of a PUT. False with `error` (TASK_ERROR, JSON_ERROR),
 * and *ret_request untouched: an invalid request. The caller frees the nodes of a resumption.
 */
bool task_suspend_request_parse(const char *n, const json_t *body,
				struct task_suspend_request *ret_request, GError **error);
bool task_resume_request_parse(const char *n, const json_t *body, uint32_t nodes,
			       struct task_resume_request *ret_request, GError **error);
