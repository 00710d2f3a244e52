/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/backend/backend.h"
#include "controller/backend/remote_migration.h"
#include "controller/backend/remote_suspension.h"

/*
 * A task as a local scheduler describes it (docs/reference/api.md, Tasks), read from untrusted JSON. Times
 * are the local scheduler's; 0 stands for null.
 */
enum remote_task_state {
	REMOTE_TASK_STARTING = 0,
	REMOTE_TASK_RUNNING,
	REMOTE_TASK_SUSPENDING, /* still on its nodes, or on some of them */
	REMOTE_TASK_SUSPENDED,
	REMOTE_TASK_RESUMING,
	REMOTE_TASK_ENDED,
	REMOTE_TASK_QUEUED, /* waits for its turn on its nodes */
};

struct remote_task {
	char *id;
	enum remote_task_state state;
	enum backend_outcome outcome; /* of an ended task */
	enum task_cause cause;        /* of an ended task */
	char *reason;                 /* NULL: nothing to say */
	int64_t done, total;          /* steps, as its rank 0 told last; 0 of 0: none are known */
	int64_t queued_ns;            /* asked for, if it was to wait for its turn */
	int64_t requested_ns, started_ns, ended_ns;
	double benchmark_time_s;  /* the benchmark's own; NAN: none */
	double cpu_s, host_cpu_s; /* NAN: not known */
	double host_energy_uj;    /* NAN: not known */
	GPtrArray *suspensions;   /* of struct remote_suspension, by n; NULL: never suspended */
	GPtrArray *migrations;    /* of struct remote_migration, by n; NULL: none are known */
	GArray *nodes;            /* of uint32_t: where its VMs are; NULL: not said */
	struct remote_share share;
	char *doubts;             /* what was said that cannot be, and is not known; NULL: nothing */
};

/*
 * Reads a task object. Returns NULL with `error` (JSON_ERROR) naming what is wrong with it. Quantities that cannot be,
 * and all that cannot be but the id, the state and the outcome of a task that has ended, are not known (`doubts`).
 */
struct remote_task *remote_task_parse(const json_t *object, GError **error);
/* On our clock: an instant that has not come, or an end before the beginning, is not known either. */
void remote_task_resync_times(struct remote_task *task, int64_t now_ns);
/* NULL is allowed. */
void remote_task_free(struct remote_task *task);
typedef struct remote_task remote_task_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(remote_task_t, remote_task_free)

/*
 * The energy in joules that an ended task answers for: what its hosts used in its stretches beyond
 * `idle_j`, which is what they would have used idle, times its share of the CPU time of all their
 * VMs. NAN where the local scheduler did not say enough, as for hosts without a meter; never
 * negative.
 */
double remote_task_energy_j(const struct remote_task *task, double idle_j);
