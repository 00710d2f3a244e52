/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/backend/backend.h"

/*
 * The suspensions of a task as a local scheduler describes them (docs/reference/api.md, Suspending and
 * resuming), read from untrusted JSON, and what follows from them: the stretches in which the task
 * executed, and what each step took.
 */

/* One suspension with what followed. Times are the local scheduler's; 0 stands for null. */
struct remote_suspension {
	uint32_t n; /* from 1, ascending */
	char *keep; /* "memory", "disk"; NULL: not known */
	int64_t requested_ns, frozen_ns, suspended_ns;
	int64_t resume_requested_ns, running_ns, resumed_ns;
	double skew_s;  /* from the first to the last VM frozen; NAN: not known */
	GArray *nodes;  /* of uint32_t: those it left */
	GArray *resumed_nodes; /* of uint32_t; empty: not resumed */
	GArray *vms;    /* of struct backend_vm_overhead; `node`: that it left */
};

/*
 * Reads the value of "suspensions"; NULL and null stand for none. Returns a GPtrArray of struct
 * remote_suspension, owned by the caller, or NULL with `error` (JSON_ERROR).
 */
GPtrArray *remote_suspensions_parse(const json_t *array, GError **error);

/* The suspension of that number, or NULL. `suspensions` NULL: there is none. */
const struct remote_suspension *remote_suspensions_find(const GPtrArray *suspensions, uint32_t n);

/*
 * How long the task stood still before `until_ns`, in seconds: from frozen to running for every
 * suspension that succeeded. One that it was not resumed from goes on until `until_ns`.
 */
double remote_suspensions_paused_s(const GPtrArray *suspensions, int64_t until_ns);

/* A stretch of execution on the same nodes. */
struct remote_stretch {
	int64_t from_ns, to_ns;
	const GArray *nodes; /* of uint32_t, borrowed; NULL: not known */
};

/*
 * The stretches from `from_ns` to `to_ns`, in order: GArray of struct remote_stretch, owned by the
 * caller. A single one, on nodes that are not known here, if nothing was suspended.
 */
GArray *remote_suspensions_stretches(const GPtrArray *suspensions, int64_t from_ns, int64_t to_ns);
