/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/launch/job.h"
#include "local-sched/launch/job_output.h"
#include "local-sched/launch/migration.h"
#include "local-sched/launch/suspension.h"

/*
 * What the files of a job share:
 *
 *   job.c           its life
 *   job_exec.c      the start of its ranks in the guests
 *   job_live.c      its output while it runs
 *   job_share.c     its share of the CPUs
 *   job_move.c      migrating it
 *   job_suspend.c   suspending and resuming it
 *   job_ports.c     messages from its VMs' ports
 *   job_progress.c  its progress, and whether it hangs
 *   job_interval.c  its intervals, which count for its deadline
 *   job_kill.c      failures, and polling and killing its ranks
 *   job_phase.c     its way from phase to phase, with what it uses and the output of its ranks
 *   job_network.c   whether its VMs reach one another, if it failed
 *   job_end.c       its outcome and output
 *   job_agent.c     requests to the agents about its ranks
 *   job_state.c     its state
 *
 * Each file names only functions of those below it.
 */

#define RANK_PROGRAM "/usr/bin/virtbed-rank" /* in the guests */

/* Where a job is in its life. */
enum phase {
	PHASE_STARTING = 0, /* guest-exec under way */
	PHASE_RUNNING,
	PHASE_KILLING,    /* the task has failed or was ended; ranks are being killed */
	PHASE_COLLECTING, /* all ranks have ended; status and output are being fetched */
	PHASE_TESTING,    /* the task failed; its VMs test whether they reach one another */
	PHASE_SETTLING,   /* usage is being read, nodes are being given back */
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
	bool lost_output;         /* the agent does not know the rank any more */
	bool killing;             /* the agent is asked to kill the rank */
	int64_t kill_answered_ns; /* when the agent first answered that request; 0: not yet */
	guint start_source;       /* timer: its VM was paused when it was to be started */
	guint collect_ms;         /* delay before the next try */
	guint collect_source;
	guint grace_source;
	struct job_output output;
};

struct job_node {
	struct job *job;
	struct vm *vm;
	uint32_t first_rank;
	uint32_t ranks;
	bool lost; /* its VM is not the task's any more */
	bool settled;
	bool polling;
	bool sharing;       /* its CPU share is being set */
	uint32_t poll_next; /* core to poll next */
	/* CPU time of its VM, at the first reading since rank 0 fell silent; 0: not read */
	uint64_t cpu_ns;
	uint64_t silent_cpu_ns; /* CPU time that its VM has used since that reading */
	guint poll_failures;
};

/* The output of rank 0 that was read while the task runs. */
struct job_live {
	GString *text;     /* NULL: never read */
	int64_t file;      /* the agent's handle; 0: not open */
	size_t position;   /* offset in the file */
	uint32_t looks;    /* reads that were answered */
	int64_t looked_ns; /* when the last read was made */
	bool asking;
};

/* How long rank 0 has been silent, in seconds of the CPU share that the task has of its nodes. */
struct job_silence {
	guint source;
	double silent_s;    /* since its last report */
	double pending_s;   /* seconds that count only if its VMs get CPU time again */
	double longest_s;   /* before the current silence; 0: rank 0 has not reported yet */
	int64_t counted_ns; /* the silence is counted up to this time */
	uint32_t asked;     /* hosts whose reading is pending */
	bool unknown;       /* a host's reading was incomplete */
	bool starved;       /* a VM got no CPU time */
};

struct job {
	struct task *task;
	uint32_t per_node; /* processes per node; the last node may have fewer */
	struct job_settings settings;
	const struct task_events *events; /* NULL: the owner has freed the job */
	void *data;
	enum phase phase;
	struct pmi_server *pmi;
	struct job_node *places; /* task->nodes_count of them */
	uint32_t processes;      /* task_processes() */
	struct rank *ranks;      /* processes of them */
	GBytes *results;         /* stream of the files that came out of a script; NULL: none */
	uint32_t execs_pending;
	uint32_t calls;        /* calls to hosts under way */
	int64_t kill_start_ns; /* 0: no rank is to be killed */
	bool dirty;            /* ranks were killed, so that nodes have to be swept */
	guint deadline_source;
	guint poll_source;
	guint kill_source;
	guint publish_source;
	int64_t collect_start_ns;
	struct job_network *network; /* NULL: no test under way */
	struct job_live live;
	struct job_silence silence;
	struct suspension *suspension; /* NULL: never suspended */
	struct migration *migration;   /* NULL: never migrated */
	guint look_source;             /* timer while VMs are migrated */
	uint32_t share_pending;        /* VMs for which the share is not set yet */
	char *share_failure;           /* the first failure to set it; NULL: none */
	struct job_given *given;       /* by source; NULL: no share was ever set */
	/* number of the share during the last readings; 0: it changed between them */
	int64_t given_n;
	uint32_t given_pending;
	guint given_source;
	bool vms_removed; /* its VMs, which stood still, are being removed */
	int64_t sent_ns;  /* when something was sent to a rank last */
	/* when the current interval began: the task's request, or its last resumption */
	int64_t interval_start_ns;
	double left_s;           /* seconds left of its deadline when the interval began */
	struct job_usage *usage; /* of the current interval; NULL: the task stands still */
	bool usage_closing;      /* the counters are being read for the interval's end */
	struct usage used;       /* in earlier intervals */
	bool usage_known;
};

/* Goes to the next phase if the current one is complete. May end and free the job. */
void job_advance(struct job *job);

/*
 * Read the counters of what the task uses, at the begin of an interval and at its end, `t_ns`. Once
 * the end is read, a task that settles may end, the suspension of a held task proceeds, and the
 * next interval of a running task begins.
 */
void job_open_usage(struct job *job, int64_t t_ns);
void job_close_usage(struct job *job, int64_t t_ns);

/* Records that a rank has ended, or that its end is not waited for any more. */
void job_rank_ended(struct rank *rank, int status);

/* Sends the PMI server's messages to the ranks, if they run. */
void job_send_answers(struct job *job);

/* The VMs of its nodes, in their order; the caller frees the array. */
struct vm **job_vms(const struct job *job);

/* Whether no call to a host is under way, and no rank waits for a message. */
bool job_is_quiet(const struct job *job);

/* Whether the task's VMs stand still. */
bool job_is_held(const struct job *job);

/*
 * Whether VMs are being moved between hosts, so that nothing may be asked of them or sent to them.
 */
bool job_is_moving(const struct job *job);

/* Whether ranks can be asked for their state: the VMs neither stand still nor move. */
bool job_is_at_rest(const struct job *job);

/* Ends the migration: the task ends, and its VMs are not moved any further. */
void job_stop_moving(struct job *job);

/*
 * Count the calls to hosts under way, for which suspensions and migrations wait. job_call_ended()
 * returns false if the answer is not wanted any more; the job may be freed then.
 */
void job_call_begins(struct job *job);
bool job_call_ended(struct job *job);

/* Frees the memory of a job whose parts are freed, unless a call is under way. */
void job_free_if_idle(struct job *job);

/* Assigns its VMs to the job, which gets their events from then on. */
void job_assign_vms(struct job *job);

/* Starts its ranks, and calls `started` when all run. */
void job_start_ranks(struct job *job);

/*
 * Sends a request to the agent of a rank's VM. `done` passes its data to job_rank_answered(), which
 * returns the rank, or NULL as job_call_ended() returns false.
 */
void job_ask_rank(struct rank *rank, const char *request, host_done_f done);
struct rank *job_rank_answered(gpointer data);
/*
 * Whether the answer is missing because the VM is paused from outside. Call it before
 * job_rank_answered().
 */
bool job_rank_is_excused(gpointer data, const GError *error);

/* Keeps the status of a rank that has exited: the agent reports it only once. */
void job_keep_status(struct rank *rank, struct agent_status *status);

/* Asks each agent for the state of one of its ranks, repeatedly while the task runs. */
void job_start_polling(struct job *job);

/* The end of job_test_network(). */
typedef void (*job_network_done_f)(struct job *job);

/*
 * Tests the network between the VMs of a task that has failed on several nodes, after its ranks'
 * output was collected; then decides whether the network caused the failure, and calls `done`.
 * False: nothing to test.
 */
bool job_test_network(struct job *job, job_network_done_f done);
/* Ends the test and frees its data. */
void job_free_network(struct job *job);

/* Decides the outcome of a task whose ranks all exited with 0. */
void job_decide_outcome(struct job *job);
/* Learns from a completed task how long a task may be silent. */
void job_learn_patience(struct job *job);

/*
 * Ends the job after its usage was read and its nodes were given back, and calls `ended`. The job
 * may be freed after that.
 */
void job_end(struct job *job);

/* Gives the VMs back: they are lost, or will be. */
void job_give_up(struct job *job);

/* Kills the ranks until all have ended. */
void job_kill_ranks(struct job *job);

/* Records the progress that rank 0 has reported. */
void job_note_progress(struct job *job);

/* End a task that makes no progress any more. */
void job_watch_progress(struct job *job);
void job_look_at_progress(struct job *job); /* from time to time */

/*
 * Begin an interval at `t_ns` if none is open, so that time counts for the deadline; end it at
 * `t_ns`; or end it now and begin the next one.
 */
void job_begin_interval(struct job *job, int64_t t_ns);
void job_end_interval(struct job *job, int64_t t_ns);
void job_next_interval(struct job *job);
