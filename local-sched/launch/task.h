/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/task_script.h"
#include "common/wire/task_cause.h"
#include "common/wire/wire_task.h"
#include "local-sched/launch/task_migration.h"
#include "local-sched/launch/task_suspension.h"

/*
 * A task as the local scheduler knows it: the request, and its course (docs/reference/api.md,
 * Tasks). Parses, writes and restores tasks; job.h executes them. Pure, except that the age of the
 * progress depends on the clock.
 */

/*
 * The progress of a task, as its rank 0 reports it: `done` of `total` steps. `total` 0: no report.
 */
struct task_progress {
	int64_t done, total;
	int64_t t_ns; /* of the last report */
};

struct task {
	/* The request. */
	char *id;
	char *type;
	char *benchmark; /* one of common/benchmark.h */
	char class_;     /* S W A B C */
	uint32_t ranks;
	uint32_t repetitions;
	uint32_t *nodes; /* nodes_count indices, all different */
	uint32_t nodes_count;
	double deadline_s; /* from requested_ns, suspensions left out; > 0 */
	bool queue;        /* its nodes need not be ready; the task waits for its turn */
	/* counted from queued_ns; its turn does not come later; 0: at any time */
	double start_within_s;
	/* uid of its processes, whose VMs no other user uses; -1: the guest's own user */
	int64_t user;
	char *script_summary;       /* of a script (task_script_summary()); NULL: a benchmark */
	struct task_script *script; /* NULL: no script, the task has ended, or it was restored */
	/* number and size of the group of tasks that came together; 0, 1: not known */
	uint32_t index, count;
	/* What became of it. Times: platform_now_ns(), 0: not yet. */
	enum task_state state; /* task_fsm_move() changes it */
	enum task_outcome outcome;
	enum task_cause cause; /* NONE: not known; see task_end_cause() */
	char *reason;          /* NULL: none */
	struct task_progress progress;
	int64_t queued_ns;    /* when it was requested, if it waits for its turn */
	int64_t requested_ns; /* when it was requested, or its turn came */
	int64_t started_ns;
	int64_t ended_ns;
	double benchmark_time_s; /* as the kernel measured it; NAN: not known, as below */
	double cpu_s;            /* of the task's VMs, from request to end except for suspensions */
	double host_cpu_s;       /* of all VMs on the task's hosts */
	double host_energy_uj;   /* of the task's hosts */
	double host_gap_ns;      /* time that the hosts' meters did not cover */
	GPtrArray *suspensions;  /* of struct task_suspension, owned; oldest first */
	uint32_t refused_n; /* number of the last suspension that failed, not stored; 0: none */
	int64_t refused_attempt;
	GPtrArray *migrations; /* of struct task_migration, owned; oldest first */
	/* the last migration that failed for all VMs, not stored; NULL: none */
	struct task_migration *unmoved;
	struct task_share share;
};
typedef struct task task_t;

#define TASK_ERROR (task_error_quark())
GQuark task_error_quark(void);
enum task_error { TASK_ERROR_REQUEST = 1 /* an invalid request */ };

enum { TASK_ID_MAX = 64 };

/* Whether `id` may name a task: 1 to 64 of [A-Za-z0-9._-], the first not a dot or dash. */
bool task_id_ok(const char *id);

/*
 * Reads the body of a PUT for a cluster of `nodes` nodes with `cores` cores each. Returns a new
 * task without times, or NULL with `error` (TASK_ERROR, JSON_ERROR): an invalid request.
 */
struct task *task_parse_request(const char *id, const json_t *body, uint32_t nodes, uint32_t cores,
				GError **error);

/* Whether `node` is one of the `count` nodes. */
bool task_has_node(const uint32_t *nodes, uint32_t count, uint32_t node);

/*
 * Reads "nodes" of a request about `what`: different nodes below `most`, as *ret_count numbers that
 * the caller frees. False with `error` (TASK_ERROR, JSON_ERROR), and nothing is written.
 */
bool task_parse_nodes(const json_t *body, const char *what, uint32_t most, uint32_t **ret_nodes,
		      uint32_t *ret_count, GError **error);

/* NULL is allowed. */
void task_free(struct task *task);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(task_t, task_free)

/*
 * Ends a task: it has `outcome`, for `reason` (copied; NULL: none), since `now_ns`. An ended task
 * stays as it is; that is logged as a defect.
 */
void task_end(struct task *task, enum task_outcome outcome, const char *reason, int64_t now_ns);

/* How many processes the task has: its ranks, or one per node for a script. */
uint32_t task_processes(const struct task *task);

/* The request in a canonical form: equal requests give equal texts. The caller frees it. */
char *task_request_text(const struct task *task);

/* The cause of its end, if known; else what follows from its outcome. */
enum task_cause task_end_cause(const struct task *task);

/* The task object of docs/reference/api.md at `now_ns` without output; a new reference. */
json_t *task_to_json(const struct task *task, int64_t now_ns);

/* Restores a task at `now_ns` from the stored texts of task_request_text() and task_to_json(). */
struct task *task_restore(const char *id, const char *request, const char *record, int64_t now_ns,
			  GError **error);

/* The last suspension, or NULL: never suspended. */
struct task_suspension *task_last_suspension(const struct task *task);

/* The last migration, or NULL: never migrated; and whether it is under way. */
struct task_migration *task_last_migration(const struct task *task);
bool task_is_migrating(const struct task *task);

/* The nodes at which the task was placed last, nodes_count of them; borrowed. */
const uint32_t *task_placed(const struct task *task);

/* As task_outcome_names[]; NULL for TASK_OUTCOME_NONE. */
const char *task_outcome_name(enum task_outcome outcome);
