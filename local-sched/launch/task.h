/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/task_cause.h"
#include "common/task_script.h"
#include "local-sched/launch/task_migration.h"
#include "local-sched/launch/task_suspension.h"

/*
 * A task as the local scheduler knows it: what was asked for and what became of it (docs/reference/api.md,
 * Tasks). Pure but for the age of its progress: parsing, writing and restoring; acting on it is job.h.
 */

/* Where a task is in its life. */
enum task_state {
	TASK_STARTING = 0, /* stored; its ranks are being started */
	TASK_RUNNING,      /* all ranks were started */
	TASK_SUSPENDING,   /* stored; its VMs are being taken off their nodes */
	TASK_SUSPENDED,
	TASK_RESUMING,     /* stored; its VMs are being put on nodes */
	TASK_ENDED,        /* has an outcome */
	TASK_QUEUED,       /* stored; waits for its turn on its nodes (task_queue.h) */
};

/* How a task ended. */
enum task_outcome {
	TASK_OUTCOME_NONE = 0,
	TASK_OUTCOME_COMPLETED, /* all ranks exited 0 and rank 0's results verified */
	TASK_OUTCOME_FAILED,    /* the task's own fault */
	TASK_OUTCOME_KILLED,    /* as asked by DELETE */
	TASK_OUTCOME_DEADLINE,  /* killed when its deadline came */
	TASK_OUTCOME_LOST,      /* a VM, its agent, the host or this scheduler: not its fault */
};

/* How far a task has come, as its rank 0 tells: `done` of `total` steps; `total` 0: it told nothing. */
struct task_progress {
	int64_t done, total;
	int64_t t_ns; /* of the last report */
};

struct task {
	/* What was asked for. */
	char *id;
	char *type;
	char *benchmark; /* one of common/benchmark.h */
	char class_;     /* S W A B C */
	uint32_t ranks;
	uint32_t repetitions;
	uint32_t *nodes; /* nodes_count indices, all different */
	uint32_t nodes_count;
	double deadline_s; /* from requested_ns, suspended stretches left out; > 0 */
	bool queue;        /* its nodes need not be ready: it waits for its turn */
	double start_within_s; /* of queued_ns, or its turn does not come any more; 0: whenever */
	int64_t user;      /* whose uid it runs with, and nobody else uses its VMs; -1: the guest's own */
	char *script_summary; /* of a script (task_script_summary()); NULL: a benchmark */
	struct task_script *script; /* NULL: none, it has ended, or it was restored */
	uint32_t index, count; /* which one of how many that came together; 0, 1 where not said */
	/* What became of it. Times: clock_now_ns(), 0: not yet. */
	enum task_state state;
	enum task_outcome outcome;
	enum task_cause cause; /* NONE: none is known; task_end_cause() */
	char *reason; /* NULL: nothing to say */
	struct task_progress progress;
	int64_t queued_ns;    /* when it was asked for, if it is to wait for its turn */
	int64_t requested_ns; /* when it was asked for, or its turn came */
	int64_t started_ns;
	int64_t ended_ns;
	double benchmark_time_s; /* the kernel's own time; NAN: not known, as below */
	double cpu_s;            /* of the task's VMs, from request to end but for suspended stretches */
	double host_cpu_s;       /* of all VMs on the hosts concerned */
	double host_energy_uj;   /* of the hosts concerned */
	double host_gap_ns;      /* time of that which the meters did not cover */
	GPtrArray *suspensions;  /* of struct task_suspension, owned; oldest first */
	uint32_t refused_n;      /* the last suspension that failed, not stored; 0: none */
	int64_t refused_attempt;
	GPtrArray *migrations;   /* of struct task_migration, owned; oldest first */
	struct task_migration *unmoved; /* the last that failed for all VMs, not stored; NULL: none */
	int64_t share_n;         /* which share it was given last; 0: none */
	double share;            /* of its nodes' CPUs, in (0, 1] */
	int64_t share_requested_ns;
	int64_t share_set_ns;
	double asked_cores;      /* what its VMs may use together with it; NAN: not known */
	double given_cores;      /* what they used over the last interval; NAN: not known */
};
typedef struct task task_t;

#define TASK_ERROR (task_error_quark())
GQuark task_error_quark(void);
enum task_error { TASK_ERROR_REQUEST = 1 /* a request that makes no sense */ };

enum { TASK_ID_MAX = 64 };

/* Whether `id` may name a task: 1 to 64 of [A-Za-z0-9._-], the first not a dot or dash. */
bool task_id_ok(const char *id);

/*
 * Reads the body of a PUT for a cluster of `nodes` nodes with `cores` cores each. Returns a new
 * task without times, or NULL with `error` (TASK_ERROR, JSON_ERROR): bad input of the caller.
 */
struct task *task_parse_request(const char *id, const json_t *body, uint32_t nodes, uint32_t cores,
				GError **error);

/*
 * Reads the number of the path and the body of a PUT that gives a task a share. False with `error`
 * (TASK_ERROR, JSON_ERROR), and nothing is written: bad input of the caller.
 */
bool task_share_request_parse(const char *n, const json_t *body, int64_t *ret_n,
			      double *ret_share, GError **error);

/* NULL is allowed. */
void task_free(struct task *task);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(task_t, task_free)

/* How many processes it has: its ranks, or one on each node of a script. */
uint32_t task_processes(const struct task *task);

/* The request in a canonical form: equal requests give equal texts. The caller frees it. */
char *task_request_text(const struct task *task);

/* Why it ended: as is known, or as its outcome says. */
enum task_cause task_end_cause(const struct task *task);

/* The task object of docs/reference/api.md without output and now_ns; a new reference. */
json_t *task_to_json(const struct task *task);

/* A task from task_request_text() and the text of task_to_json(), as they were stored. */
struct task *task_restore(const char *id, const char *request, const char *record, GError **error);

/* The last suspension, or NULL: never suspended. */
struct task_suspension *task_last_suspension(const struct task *task);

/* The last migration, or NULL: never migrated; whether it is under way. */
struct task_migration *task_last_migration(const struct task *task);
bool task_is_migrating(const struct task *task);

/* The nodes that it was put on last, nodes_count of them; borrowed. */
const uint32_t *task_placed(const struct task *task);

/* "starting", "running", ..., as in docs/reference/api.md. */
const char *task_state_name(enum task_state state);
/* NULL for TASK_OUTCOME_NONE. */
const char *task_outcome_name(enum task_outcome outcome);
