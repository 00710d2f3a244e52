/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/launch/job.h"
#include "local-sched/launch/job_output.h"
#include "local-sched/launch/migration.h"

/*
 * What job.c (a task's life), job_hold.c (suspending and resuming it), job_move.c (migrating it),
 * job_share.c (its share of the CPUs) and job_live.c (its output meanwhile) have in common.
 */

/* Where a job is in its life. */
enum phase {
	PHASE_STARTING = 0, /* guest-exec under way */
	PHASE_RUNNING,
	PHASE_KILLING,    /* something went wrong; ranks are being killed */
	PHASE_COLLECTING, /* all ranks ended; status and output are fetched */
	PHASE_SETTLING,   /* usage is read, nodes are given back */
	PHASE_ENDED,
};

struct rank {
	uint32_t index;
	struct job_node *place;
	uint32_t core;
	int64_t pid; /* 0: not started */
	bool exited;
	int status;
	bool collected;
	bool lost_output; /* the agent knows nothing of it any more */
	guint start_source; /* its VM was paused when it was to be started */
	guint collect_ms; /* until the next try */
	guint collect_source;
	guint grace_source;
	struct job_output output;
};

struct job_node {
	struct job *job;
	struct machine *machine;
	uint32_t first_rank;
	uint32_t ranks;
	bool lost;    /* not ours any more */
	bool settled;
	bool polling;
	bool sharing; /* its share is being set */
	uint32_t poll_next; /* core */
	guint poll_failures;
};

/* What the first rank has printed so far, as far as it was read. */
struct job_live {
	GString *text;     /* NULL: never looked at */
	int64_t file;      /* the agent's handle; 0: not open */
	size_t position;   /* in it */
	uint32_t looks;    /* that were answered */
	int64_t looked_ns; /* the last one */
	bool asking;
};

struct job {
	struct task *task;
	uint32_t per_node; /* processes, but perhaps on the last node */
	struct job_settings settings;
	const struct job_events *events; /* NULL: freed by its owner */
	void *data;
	enum phase phase;
	struct pmi_server *pmi;
	struct job_node *places; /* task->nodes_count of them */
	uint32_t processes;      /* task_processes() */
	struct rank *ranks;      /* as many */
	GBytes *results;         /* stream of the files that came out of a script; NULL: none */
	uint32_t execs_pending;
	uint32_t questions; /* calls to hosts under way */
	guint kill_tries;
	bool dirty; /* ranks were killed: nodes are to be swept */
	guint deadline_source;
	guint poll_source;
	guint kill_source;
	guint publish_source;
	int64_t collect_start_ns;
	struct job_live live;
	struct suspension *suspension; /* NULL: never suspended */
	struct migration *migration;   /* NULL: never moved */
	guint look_source;             /* while VMs move */
	uint32_t share_pending;        /* VMs for which the share is not set yet */
	char *share_trouble;           /* the first that could not be set; NULL: none */
	struct job_given *given;       /* by source; NULL: no share was ever set */
	int64_t given_n;               /* share that the last readings are of; 0: of none as a whole */
	uint32_t given_pending;
	guint given_source;
	bool doomed;        /* its VMs, which stood still, are being removed */
	int64_t sent_ns;    /* when something was sent to a rank last */
	int64_t stretch_ns; /* since when it runs: its request, or when it went on */
	double left_s;      /* of its deadline, then */
	struct job_usage *usage; /* of this stretch; NULL: it stands still */
	bool usage_closing;      /* the counters are being read for its end */
	struct usage used;       /* in earlier stretches */
	bool usage_known;
};

/* Goes on to the next phase when this one is complete; may end and free the job. */
void job_advance(struct job *job);

/* Ends the task as `outcome` because of `reason`, unless it ends already. */
void job_fail(struct job *job, enum task_outcome outcome, const char *reason);

/* A rank has ended, as far as that matters any more. */
void job_rank_ended(struct rank *rank, int status);

/* Sends what the PMI server has for the ranks, if they run. */
void job_send_answers(struct job *job);

/* Starts the timer of what is left of the deadline. */
void job_start_deadline(struct job *job);

/* Whether the task's VMs stand still. */
bool job_is_held(const struct job *job);

/* Whether some go from host to host: nothing is to be asked of them, or sent to them. */
bool job_is_moving(const struct job *job);

/* Whether nothing keeps the ranks from being asked how they are. */
bool job_is_at_rest(const struct job *job);

/* Nothing more is to be done about moving the VMs. */
void job_stop_moving(struct job *job);

/* A VM died while it was moved, perhaps. */
void job_moving_lost(struct job *job, const struct machine *machine);

/* A migration goes on where what it waits for has happened. */
void job_move_on(struct job *job);

/* For a new reading of the counters: also those of hosts that VMs are coming to. */
GArray *job_usage_parts(const struct job *job);

/*
 * A call to a host is under way; its answer has come: false if nobody wants it, and the job may be
 * gone then. Suspensions and migrations wait for all.
 */
void job_asks(struct job *job);
bool job_was_answered(struct job *job);

/* The VMs are lost, or will be: all that is left is to give them back. */
void job_give_up(struct job *job);

/* Kills the ranks until all have ended. */
void job_kill_ranks(struct job *job);

/* Nothing more is read of the file that the first rank's output is in. */
void job_live_close(struct job *job);

/* Begins to count what the task uses, from `t_ns` on; reads the counters for its end at `t_ns`. */
void job_open_stretch(struct job *job, int64_t t_ns);
void job_close_stretch(struct job *job, int64_t t_ns);
