/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wire_task.h"
#include "controller/backend/backend.h"

/*
 * Reads the description of a task by a local scheduler (struct task of common/wire/wire_task.h;
 * docs/reference/api.md, Tasks) from untrusted JSON. Times are the local scheduler's.
 */

/*
 * Reads a task object. Returns NULL with `error` (JSON_ERROR) naming what is wrong with it.
 * Impossible quantities are taken as not known and listed in `doubts`; for a task that has ended,
 * so is every impossible member but the id, the state and the outcome.
 */
struct task *remote_task_parse(const json_t *object, GError **error);
/*
 * After the conversion to our clock: an instant in the future, or an end before the beginning, is
 * taken as not known as well.
 */
void remote_task_sanitize_times(struct task *task, int64_t now_ns);
/* How the task ended, in the words of the engine. */
enum backend_outcome remote_task_outcome(const struct task *task);

/*
 * The energy in joules attributed to an ended task: what its hosts used in its intervals above
 * `idle_j`, their use when idle, times its fraction of the CPU time of all their VMs. NAN if the
 * local scheduler reported too little, as for hosts without a meter; never negative.
 */
double remote_task_energy_j(const struct task *task, double idle_j);

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
