/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"

/*
 * One suspension of a task, from its request to the task's going on, as it is stored and told
 * (docs/reference/api.md, Suspending and resuming), and the requests that lead there. Pure.
 */

/* What one VM of the task took; 0: nothing was to be done. */
struct task_suspension_vm {
	int64_t freeze_ns;
	int64_t save_ns;
	int64_t move_ns; /* to another host */
	int64_t restore_ns;
	int64_t resume_ns;
};

/* Times: clock_now_ns(), 0: not yet. */
struct task_suspension {
	uint32_t n;              /* from 1 */
	int64_t attempt;         /* to suspend it, from 1: "try" */
	int64_t resume_attempt;  /* to resume it; 0: none yet */
	enum config_keep keep;   /* as was asked for; what was done, once it is suspended */
	enum config_keep asked;
	uint32_t count;          /* of the VMs, and the following arrays */
	uint32_t *nodes;
	uint32_t *resumed_nodes; /* NULL: not resumed yet */
	struct task_suspension_vm *vms;
	int64_t requested_ns;
	int64_t frozen_ns;
	int64_t suspended_ns;
	int64_t resume_requested_ns;
	int64_t running_ns;
	int64_t resumed_ns;
	int64_t skew_ns; /* -1: not known */
};
typedef struct task_suspension task_suspension_t;

/* The nth suspension, requested at `now_ns`, of `count` VMs at `nodes` (copied). */
struct task_suspension *task_suspension_new(uint32_t n, const uint32_t *nodes, uint32_t count,
					    int64_t now_ns);
/* NULL is allowed. */
void task_suspension_free(struct task_suspension *suspension);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(task_suspension_t, task_suspension_free)

/* A resumption failed: the suspension is as it was before its request. */
void task_suspension_undo(struct task_suspension *suspension);

/* As in the array `suspensions` of a task object; a new reference. */
json_t *task_suspension_to_json(const struct task_suspension *suspension);

/* The reverse; NULL: `object` is not one. */
struct task_suspension *task_suspension_restore(const json_t *object);

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
 * Read the number N of the path and the body of a PUT. False with `error` (TASK_ERROR, JSON_ERROR):
 * bad input of the caller; *ret_request is then untouched. The nodes of a resumption are the
 * caller's to free.
 */
bool task_suspend_request_parse(const char *n, const json_t *body,
				struct task_suspend_request *ret_request, GError **error);
bool task_resume_request_parse(const char *n, const json_t *body, uint32_t nodes,
			       struct task_resume_request *ret_request, GError **error);

/* "auto", "memory", "disk". */
const char *task_keep_name(enum config_keep keep);
