/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/backend/backend.h"

/*
 * The suspensions of a task as a local scheduler describes them (docs/reference/api.md, Suspending
 * and resuming), read from untrusted JSON, and what follows from them: the intervals in which the
 * task executed, and the duration of each step.
 */

/* One suspension with its resumption. Times are the local scheduler's; 0 stands for null. */
struct remote_suspension {
	uint32_t n; /* from 1, ascending */
	char *keep; /* "memory", "disk"; NULL: not known */
	int64_t requested_ns, frozen_ns, suspended_ns;
	int64_t resume_requested_ns, running_ns, resumed_ns;
	double skew_s;  /* from the first to the last VM frozen; NAN: not known */
	GArray *nodes;  /* uint32_t elements: the nodes that it left */
	GArray *resumed_nodes; /* uint32_t elements; empty: not resumed */
	/* struct backend_vm_overhead elements; `node` is the node that the VM left */
	GArray *vms;
};

/*
 * Reads the value of "suspensions"; NULL and null stand for none. Returns a GPtrArray of struct
 * remote_suspension, owned by the caller, or NULL with `error` (JSON_ERROR).
 */
GPtrArray *remote_suspensions_parse(const json_t *array, GError **error);

/* The suspension with number `n`, or NULL. `suspensions` may be NULL: there is none. */
const struct remote_suspension *remote_suspensions_find(const GPtrArray *suspensions, uint32_t n);

/*
 * How long the task was suspended before `until_ns`, in seconds: from frozen to running for every
 * suspension that succeeded. A suspension without a resumption lasts until `until_ns`.
 */
double remote_suspensions_paused_s(const GPtrArray *suspensions, int64_t until_ns);

/* An interval in which the task executed on the same nodes. */
struct remote_interval {
	int64_t from_ns, to_ns;
	const GArray *nodes; /* uint32_t elements, borrowed; NULL: not known */
};

/*
 * The intervals from `from_ns` to `to_ns`, in order: GArray of struct remote_interval, owned by the
 * caller. A task that was never suspended has a single one, with `nodes` NULL.
 */
GArray *remote_suspensions_intervals(const GPtrArray *suspensions, int64_t from_ns, int64_t to_ns);
