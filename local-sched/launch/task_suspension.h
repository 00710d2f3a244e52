/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"

/*
 * A suspension of a task, from its request until the task runs again, as it is stored and reported
 * (docs/reference/api.md, Suspending and resuming), and the requests for it. Pure.
 */

/* Durations for a VM of the task; 0: the step had nothing to do. */
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
	int64_t attempt;         /* number of the attempt to suspend, from 1: "try" */
	int64_t resume_attempt;  /* number of the attempt to resume; 0: none yet */
	enum config_keep keep;   /* as requested; once the task is suspended, as it was done */
	enum config_keep asked;
	uint32_t count;          /* how many VMs; also the length of the following arrays */
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

/* Suspension number `n`, requested at `now_ns`, of `count` VMs at `nodes` (copied). */
struct task_suspension *task_suspension_new(uint32_t n, const uint32_t *nodes, uint32_t count,
					    int64_t now_ns);
/* NULL is allowed. */
void task_suspension_free(struct task_suspension *suspension);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(task_suspension_t, task_suspension_free)

/* Resets the suspension to its state before the request to resume, which failed. */
void task_suspension_undo(struct task_suspension *suspension);

/* The suspension as in the array `suspensions` of a task object; a new reference. */
json_t *task_suspension_to_json(const struct task_suspension *suspension);

/* Restores it from such an object; NULL: `object` is not valid. */
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
 * Read the number in the path and the body of a PUT. False with `error` (TASK_ERROR, JSON_ERROR),
 * and *ret_request untouched: an invalid request. The caller frees the nodes of a resumption.
 */
bool task_suspend_request_parse(const char *n, const json_t *body,
				struct task_suspend_request *ret_request, GError **error);
bool task_resume_request_parse(const char *n, const json_t *body, uint32_t nodes,
			       struct task_resume_request *ret_request, GError **error);

/* "auto", "memory", "disk". */
const char *task_keep_name(enum config_keep keep);
