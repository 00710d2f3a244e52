/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wire_task.h"

/*
 * What follows from the suspensions of a task as a local scheduler describes them: the intervals in
 * which the task executed, and how long it was suspended.
 */

/* The suspension with number `n`, or NULL. `suspensions` may be NULL: there is none. */
const struct task_suspension *remote_suspensions_find(const GPtrArray *suspensions, uint32_t n);

/*
 * How long the task was suspended before `until_ns`, in seconds: from frozen to running for every
 * suspension that succeeded. A suspension without a resumption lasts until `until_ns`.
 */
double remote_suspensions_paused_s(const GPtrArray *suspensions, int64_t until_ns);

/* An interval in which the task executed on the same nodes. */
struct remote_interval {
	int64_t from_ns, to_ns;
	const uint32_t *nodes; /* borrowed; NULL: not known */
	uint32_t count;        /* of nodes */
};

/*
 * The intervals from `from_ns` to `to_ns`, in order: GArray of struct remote_interval, owned by the
 * caller. A task that was never suspended has a single one, with `nodes` NULL.
 */
GArray *remote_suspensions_intervals(const GPtrArray *suspensions, int64_t from_ns, int64_t to_ns);
