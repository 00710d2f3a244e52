/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config_cluster.h"
#include "common/record/record.h"
#include "common/task_script.h"

/*
 * Why a task did not complete, as a local scheduler reports it and a controller reads it
 * (docs/reference/api.md, Tasks). The outcome says whose fault an end was; the cause says what
 * ended the task.
 */
enum task_cause {
	TASK_CAUSE_NONE = 0, /* it has not ended, or has completed */
	TASK_CAUSE_DEADLINE, /* killed at its deadline */
	TASK_CAUSE_STALLED,  /* killed because it made no progress for its patience */
	TASK_CAUSE_KILLED,   /* killed on request */
	TASK_CAUSE_VM,       /* a VM of it was lost or rebooted, or could not be reached */
	TASK_CAUSE_EXIT,     /* one of its processes did not exit with status 0 */
	TASK_CAUSE_OTHER,
};

/* "deadline", "stalled", ...; NULL for TASK_CAUSE_NONE. */
const char *task_cause_name(enum task_cause cause);

/* The cause named `name`; TASK_CAUSE_NONE: there is no such name. NULL is allowed. */
enum task_cause task_cause_find(const char *name);

/*
 * What a local scheduler says about a task (docs/reference/api.md, Tasks): states, outcomes,
 * suspensions, migrations, the CPU share and the cause of an end. The local scheduler writes and
 * stores them, the controller reads them. Instants are nanoseconds of the local scheduler's clock,
 * 0: not yet. Durations are nanoseconds, -1: not known.
 */

/* The state of a task. */
enum task_state {
	TASK_STARTING = 0, /* its ranks are being started */
	TASK_RUNNING,      /* all ranks were started */
	TASK_SUSPENDING,   /* its VMs are being taken off their nodes */
	TASK_SUSPENDED,
	TASK_RESUMING, /* its VMs are being put on nodes */
	TASK_ENDED,    /* has an outcome */
	TASK_QUEUED,   /* waits for its turn on its nodes */
};
extern const char *const task_state_names[]; /* "starting", ...; NULL-terminated */
/* Words for states, also for those of the controller's tasks (controller/engine/engine.h). */
#define TASK_WORD_QUEUED "queued"
#define TASK_WORD_STARTING "starting"
#define TASK_WORD_RUNNING "running"
#define TASK_WORD_SUSPENDING "suspending"
#define TASK_WORD_SUSPENDED "suspended"
#define TASK_WORD_RESUMING "resuming"
/* With a claim, which only the controller knows. */
#define TASK_WORD_CLAIMED "claimed"
#define TASK_WORD_SUSPENDING_CLAIMED "suspending-claimed"
#define TASK_WORD_SUSPENDED_CLAIMED "suspended-claimed"

/* How a task ended. */
enum task_outcome {
	TASK_OUTCOME_NONE = 0,
	/* all ranks exited with 0, and the results of rank 0 are verified */
	TASK_OUTCOME_COMPLETED,
	TASK_OUTCOME_FAILED,   /* the task's own fault */
	TASK_OUTCOME_KILLED,   /* by DELETE */
	TASK_OUTCOME_DEADLINE, /* killed when its deadline came */
	/* through a VM, its agent, the host or the local scheduler; not the task's fault */
	TASK_OUTCOME_LOST,
};
extern const char *const task_outcome_names[]; /* "none", "completed", ...; NULL-terminated */

/* "auto", "memory", "disk" of enum config_keep; NULL-terminated. */
extern const char *const task_keep_names[];

/* The durations of one VM in a suspension. */
struct task_vm_durations {
	uint32_t node; /* that it left */
	int64_t freeze_ns;
	int64_t save_ns;
	int64_t move_ns; /* to another host */
	int64_t restore_ns;
	int64_t resume_ns;
};

/* A suspension with its resumption. */
struct task_suspension {
	uint32_t n;              /* from 1, ascending */
	int64_t attempt;         /* number of the attempt to suspend, from 1: "try" */
	int64_t resume_attempt;  /* number of the attempt to resume; 0: none yet */
	enum config_keep keep;   /* as requested; once the task is suspended, as it was done */
	enum config_keep asked;  /* as requested; the local scheduler's own */
	uint32_t count;          /* how many VMs; also the length of the following arrays */
	uint32_t *nodes;         /* that the VMs left */
	uint32_t *resumed_nodes; /* NULL: not resumed yet */
	struct task_vm_durations *vms;
	int64_t requested_ns;
	int64_t frozen_ns;
	int64_t suspended_ns;
	int64_t resume_requested_ns;
	int64_t running_ns;
	int64_t resumed_ns;
	int64_t skew_ns; /* from the first to the last VM frozen */
};
typedef struct task_suspension task_suspension_t;
extern const struct record task_suspension_record;
/* NULL is allowed, here and below. */
void task_suspension_free(struct task_suspension *suspension);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(task_suspension_t, task_suspension_free)

/* One VM of a migration. */
struct task_migration_vm {
	uint32_t from; /* nodes; equal where the VM stays */
	uint32_t to;
	char *from_host;
	char *to_host;
	bool moved;          /* it is at `to`, else at `from` */
	int64_t total_ns;    /* of the move; -1 too where it did not change its host */
	int64_t downtime_ns; /* the VM ran on neither host; -1 as above */
};

/*
 * A live migration of a task's VMs, from its request until the nodes that they left have other VMs.
 */
struct task_migration {
	uint32_t n;      /* from 1, ascending */
	int64_t attempt; /* from 1: "try" */
	uint32_t count;  /* how many VMs */
	struct task_migration_vm *vms;
	int64_t requested_ns;
	int64_t begun_ns;
	int64_t moved_ns;   /* the VMs are where they are after the migration */
	int64_t settled_ns; /* the nodes that they left have other VMs */
	char *reason;       /* why not all VMs have moved; NULL: they have */
	uint32_t *placed;   /* by VM, the node after the migration; the local scheduler's own */
};
typedef struct task_migration task_migration_t;
extern const struct record task_migration_record;
void task_migration_free(struct task_migration *migration);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(task_migration_t, task_migration_free)

/* The CPU share that the VMs of a task have of their nodes, and how much of it they use. */
struct task_share {
	int64_t n;       /* number of the last request; 0: none yet */
	double fraction; /* in (0, 1]: "share" */
	int64_t requested_ns;
	int64_t set_ns;     /* all VMs have it */
	double asked_cores; /* cores that its VMs may use with that share; NAN: not known */
	double given_cores; /* cores that they used over the last interval; NAN: not known */
};
extern const struct record task_share_record;

/*
 * The progress of a task, as its rank 0 reports it: `done` of `total` steps. `total` 0: no report.
 */
struct task_progress {
	int64_t done, total;
	int64_t t_ns; /* of the last report; the local scheduler's own */
};

/* A duration in seconds; NAN: not known. */
static inline double wire_seconds(int64_t ns)
{
	return ns < 0 ? (double)NAN : (double)ns * 1e-9;
}

/*
 * A task as its local scheduler knows it: the request, and what became of it. The local scheduler
 * writes it (local-sched/launch/task.h), the controller reads it from untrusted JSON
 * (controller/backend/remote_task.h). Both have the id, the nodes and what became of the task; the
 * rest of the request and the members at the end are one side's own, and 0 on the other.
 */
struct task {
	char *id;
	/*
	 * nodes_count indices, all different. In the local scheduler those of the request
	 * (task_placed() has the present ones); in the controller the present ones, NULL: not
	 * reported.
	 */
	uint32_t *nodes;
	uint32_t nodes_count;
	/* What became of it. Instants 0: not yet. Real numbers NAN: not known. */
	enum task_state state; /* in the local scheduler task_fsm_move() changes it */
	enum task_outcome outcome;
	enum task_cause cause; /* NONE: not known; see task_end_cause() */
	char *reason;          /* NULL: none */
	struct task_progress progress;
	int64_t queued_ns;    /* when it was requested, if it waits for its turn */
	int64_t requested_ns; /* when it was requested, or its turn came */
	int64_t started_ns;
	int64_t ended_ns;
	double benchmark_time_s; /* as the kernel measured it */
	double cpu_s;            /* of the task's VMs, from request to end except for suspensions */
	double host_cpu_s;       /* of all VMs on the task's hosts */
	double host_energy_uj;   /* of the task's hosts */
	double host_gap_ns;      /* time that the hosts' meters did not cover */
	GPtrArray *suspensions;  /* of struct task_suspension, owned; by n. NULL: not known */
	GPtrArray *migrations;   /* of struct task_migration, as above */
	struct task_share share;
	/* The local scheduler's own: the rest of the request. */
	char *type;
	char *benchmark; /* one of common/benchmark.h */
	char class_;     /* S W A B C */
	uint32_t ranks;
	uint32_t repetitions;
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
	/* The local scheduler's own: what is not stored. */
	uint32_t refused_n; /* number of the last suspension that failed; 0: none */
	int64_t refused_attempt;
	struct task_migration *unmoved; /* the last migration that failed for all VMs; NULL: none */
	/* The controller's own. */
	char *doubts; /* impossible values that were taken as not known; NULL: none */
};
typedef struct task task_t;
/* NULL is allowed. */
void task_free(struct task *task);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(task_t, task_free)

/* The cause of its end, if known; else what follows from its outcome. */
enum task_cause task_end_cause(const struct task *task);

/* Rows of what became of a task: its times, and what it used (NAN: not known). */
#define WIRE_TASK_TIMES                                                                            \
	{RECORD_FIELD_TIME(task, requested_ns)}, {RECORD_FIELD_TIME(task, started_ns)},            \
	{                                                                                          \
		RECORD_FIELD_TIME(task, ended_ns)                                                  \
	}
#define WIRE_TASK_USE                                                                              \
	{RECORD_FIELD_REAL(task, benchmark_time_s), .flags = RECORD_OPTIONAL},                     \
		{RECORD_FIELD_REAL(task, cpu_s), .flags = RECORD_OPTIONAL},                        \
	{                                                                                          \
		RECORD_FIELD_REAL(task, host_cpu_s), .flags = RECORD_OPTIONAL                      \
	}
