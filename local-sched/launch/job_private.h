/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/launch/job.h"
#include "local-sched/launch/job_output.h"
#include "local-sched/launch/migration.h"

/*
 * What the parts of a job have in common:
 *
 *   job.c          a task's life from phase to phase
 *   job_exec.c     what is started for it in the guests
 *   job_ports.c    what its VMs tell by themselves
 *   job_agent.c    what the agents are asked about its ranks
 *   job_kill.c     what goes wrong, and its ranks being killed
 *   job_network.c  whether its VMs reach one another, if it failed
 *   job_end.c      its outcome and output
 *   job_interval.c  its time and what it uses in it
 *   job_suspend.c     suspending and resuming it
 *   job_move.c     migrating it
 *   job_share.c    its share of the CPUs
 *   job_live.c     its output meanwhile
 *   job_progress.c how far it is, and that it hangs
 */

#define RANK_PROGRAM "/usr/bin/virtbed-rank" /* in the guests */

/* Where a job is in its life. */
enum phase {
	PHASE_STARTING = 0, /* guest-exec under way */
	PHASE_RUNNING,
	PHASE_KILLING,    /* something went wrong; ranks are being killed */
	PHASE_COLLECTING, /* all ranks ended; status and output are fetched */
	PHASE_TESTING,    /* it failed: its VMs are asked to reach one another */
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
	bool killing;     /* the agent is asked to kill it */
	int64_t told_ns;  /* when the agent first answered that; 0: not yet */
	guint start_source; /* its VM was paused when it was to be started */
	guint collect_ms; /* until the next try */
	guint collect_source;
	guint grace_source;
	struct job_output output;
};

struct job_node {
	struct job *job;
	struct vm *vm;
	uint32_t first_rank;
	uint32_t ranks;
	bool lost;    /* not ours any more */
	bool settled;
	bool polling;
	bool sharing; /* its share is being set */
	uint32_t poll_next; /* core */
	uint64_t cpu_ns; /* of its VM, when it was read last since rank 0 fell silent; 0: not read */
	uint64_t silent_cpu_ns; /* ... that it used since then */
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

/* How long rank 0 has been silent. Seconds of the share of its nodes' CPUs that the task has. */
struct job_silence {
	guint source;
	double silent_s;   /* since its last report */
	double pending_s;  /* part of that only if its VMs get CPU time again */
	double longest_s;  /* before that; 0: it has not reported yet */
	int64_t counted_ns; /* it is counted until then */
	uint32_t asked;    /* hosts whose answer is not there yet */
	bool unknown;      /* one of them did not say all */
	bool starved;      /* a VM got no CPU time */
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
	int64_t kill_start_ns; /* 0: no rank is to be killed */
	bool dirty; /* ranks were killed: nodes are to be swept */
	guint deadline_source;
	guint poll_source;
	guint kill_source;
	guint publish_source;
	int64_t collect_start_ns;
	struct job_network *network; /* NULL: it is not tested */
	struct job_live live;
	struct job_silence silence;
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

/* A rank has ended, as far as that matters any more. */
void job_rank_ended(struct rank *rank, int status);

/* Sends what the PMI server has for the ranks, if they run. */
void job_send_answers(struct job *job);

/* The VMs of its nodes, in their order; the caller frees the array. */
struct vm **job_vms(const struct job *job);

/* Whether nothing is asked of hosts, nor a word on a port waited for. */
bool job_is_quiet(const struct job *job);

/* Whether the task's VMs stand still. */
bool job_is_held(const struct job *job);

/* Whether some go from host to host: nothing is to be asked of them, or sent to them. */
bool job_is_moving(const struct job *job);

/* Whether nothing keeps the ranks from being asked how they are. */
bool job_is_at_rest(const struct job *job);

/* Nothing more is to be done about moving the VMs. */
void job_stop_moving(struct job *job);

/* A VM died while it was moved, perhaps. */
void job_moving_lost(struct job *job, const struct vm *vm);

/* A migration goes on where what it waits for has happened. */
void job_move_on(struct job *job);

/*
 * A call to a host is under way; its answer has come: false if nobody wants it, and the job may be
 * gone then. Suspensions and migrations wait for all.
 */
void job_asks(struct job *job);
bool job_was_answered(struct job *job);

/* Has its VMs tell it what happens to them. */
void job_assign_vms(struct job *job);

/* Starts its ranks, and tells when all are. */
void job_start_ranks(struct job *job);

/*
 * Asks the agent of a rank's VM; job_rank_answered() takes what `done` is given as its data, and
 * returns the rank, or NULL as job_was_answered().
 */
void job_ask_rank(struct rank *rank, const char *request, host_done_f done);
struct rank *job_rank_answered(gpointer data);

/* Asks each agent how one of its ranks is: once, or again and again while the task runs. */
void job_poll(struct job *job);
void job_start_polling(struct job *job);

/* All ranks ended: fetches their status and output. */
void job_collect(struct job *job);

/*
 * All of that is there: if the task has failed on several nodes, tests their network, decides whose fault it was, and goes
 * on to job_settle(). False: there is nothing to test.
 */
bool job_test_network(struct job *job);
/* Ends that, and frees what it has. */
void job_free_network(struct job *job);

/* All of that is there: decides the outcome, reads what was used, and gives the nodes back. */
void job_settle(struct job *job);

/* That is done as well: tells what came of it. The job may be gone after that. */
void job_end(struct job *job);

/* The VMs are lost, or will be: all that is left is to give them back. */
void job_give_up(struct job *job);

/* Kills the ranks until all have ended. */
void job_kill_ranks(struct job *job);

/* Takes what rank 0 has said of its progress. */
void job_note_progress(struct job *job);

/* Ends a task that runs and makes no progress any more; a task that has completed teaches how long that may take. */
void job_watch_progress(struct job *job);
void job_look_at_progress(struct job *job); /* every now and then */
void job_learn_patience(struct job *job);

/* Nothing more is read of the file that the first rank's output is in. */
void job_live_close(struct job *job);

/*
 * A stretch begins at `t_ns` if none is open, and the deadline's clock goes on; it ends there, and
 * that clock stands still; it ends now, and the next one begins with it.
 */
void job_begin_interval(struct job *job, int64_t t_ns);
void job_end_interval(struct job *job, int64_t t_ns);
void job_next_interval(struct job *job);

/* Reads what was used in the last stretch of a task that has ended, if one is open: usage_known then. */
void job_finish_usage(struct job *job);
