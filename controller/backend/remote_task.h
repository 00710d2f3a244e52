/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wire_task.h"
#include "controller/backend/backend.h"
#include "controller/backend/remote_suspension.h"

/*
 * A task as a local scheduler describes it (docs/reference/api.md, Tasks), read from untrusted
 * JSON. Times are the local scheduler's; 0 stands for null.
 */
struct remote_task {
	char *id;
	enum task_state state;
	enum backend_outcome outcome; /* of an ended task */
	enum task_cause cause;        /* of an ended task */
	char *reason;                 /* NULL: no reason is known */
	/* benchmark steps, as its rank 0 reported last; 0 of 0: none are known */
	int64_t done, total;
	int64_t queued_ns; /* time of the request, if it had to wait for its turn */
	int64_t requested_ns, started_ns, ended_ns;
	double benchmark_time_s;  /* reported by the benchmark itself; NAN: none */
	double cpu_s, host_cpu_s; /* NAN: not known */
	double host_energy_uj;    /* NAN: not known */
	/* struct task_suspension elements, by n; NULL: never suspended */
	GPtrArray *suspensions;
	GPtrArray *migrations; /* struct task_migration elements, by n; NULL: none are known */
	/* the present nodes of its VMs; NULL: not reported */
	uint32_t *nodes;
	uint32_t nodes_count;
	struct task_share share;
	char *doubts; /* impossible values that were taken as not known; NULL: none */
};

/*
 * Reads a task object. Returns NULL with `error` (JSON_ERROR) naming what is wrong with it.
 * Impossible quantities are taken as not known and listed in `doubts`; for a task that has ended,
 * so is every impossible member but the id, the state and the outcome.
 */
struct remote_task *remote_task_parse(const json_t *object, GError **error);
/*
 * After the conversion to our clock: an instant in the future, or an end before the beginning, is
 * taken as not known as well.
 */
void remote_task_sanitize_times(struct remote_task *task, int64_t now_ns);
/* NULL is allowed. */
void remote_task_free(struct remote_task *task);
typedef struct remote_task remote_task_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(remote_task_t, remote_task_free)

/*
 * The energy in joules attributed to an ended task: what its hosts used in its intervals above
 * `idle_j`, their use when idle, times its fraction of the CPU time of all their VMs. NAN if the
 * local scheduler reported too little, as for hosts without a meter; never negative.
 */
double remote_task_energy_j(const struct remote_task *task, double idle_j);
