/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/sched/utility.h"

/*
 * What a policy gets and what it answers: the system with its estimates, the snapshot of a mapping
 * event, and the actions of a plan (Machovec 2018, sections 2 and 3). All of it is plain data.
 * Times are seconds since the start of the run, energies joules. A snapshot borrows everything that
 * it points to and is read-only.
 *
 * The JSON form of a snapshot is documented in docs/reference/snapshot.md.
 */

/* A cluster of equal nodes; a node is the unit of allocation. */
struct sched_cluster {
	const char *name;
	uint32_t nodes;   /* > 0 */
	uint32_t cores;   /* per node, > 0 */
	uint32_t pstates; /* P-states of its nodes, > 0; 0 is the fastest */
	uint32_t column;  /* its first column in the estimates; set by sched_system_finish() */
};

/*
 * One way to run a task type: a cluster and a P-state, with the time, energy and nodes that it
 * takes.
 */
struct sched_option {
	uint32_t cluster;
	uint32_t pstate;
	uint32_t nodes;   /* whole nodes that the task occupies */
	double etc_s;     /* estimated time to compute, > 0 */
	double eec_j;     /* estimated energy to compute, >= 0 */
	double resources; /* execution time x cores of the occupied nodes, core-seconds (eq. 1) */
};

/* The ranges of the options of a row. */
struct sched_row {
	double resources_mean; /* at P-state 0, averaged over its clusters (3.4.5), core-seconds */
	double resources_min;  /* core-seconds */
	double eec_mean_j;     /* as resources_mean */
	double eec_min_j;
	double eec_max_j;
	uint32_t group; /* the group of its clusters */
};

struct pet;

/* How tasks are pruned (Gentry 2019, section V). Chances, thresholds and factors are in [0, 1]. */
struct sched_pruning {
	/* Base: a queued task with no higher chance is dropped (VII.C: 0.5). */
	double drop_threshold;
	/* A waiting task with a lower chance is not mapped yet (VII.C: 0.9). */
	double defer_threshold;
	double adjustment; /* p of eq. (7), which the paper does not define; 0: same for all */
	double recency;    /* lambda of eq. (8), weight of the last event (VII.B: 0.9) */
	double toggle;     /* oversubscription level that begins dropping, > 0 (VII.A: 1) */
	/* Dropping ends this fraction below `toggle`; 0: no Schmitt trigger (V.C: 0.2). */
	double separation;
	double fairness;         /* change of the sufferage with the end of a task (VII.D: 0.05) */
	double cull_threshold;   /* of MOC (VI.C.4: 0.3) */
	bool evicting_baselines; /* all policies evict executing tasks at their deadlines */
	uint32_t merge;          /* largest number of impulses of a completion time; 0: exact */
};

/*
 * Clusters with queues (the machines of Gentry 2019, section III): every cluster executes one task
 * at a time, in the order of its queue, and execution times are random with known distributions.
 */
struct sched_queueing {
	const struct pet *pet; /* rows x clusters, complete */
	double bin_s;          /* length of a time bin in seconds, > 0 */
	uint32_t length;       /* longest queue, > 0; the executing task counts */
	struct sched_pruning pruning;
};

/*
 * Clusters and estimates. A *row* is a task type (in an environment a type at a width), a *column*
 * a cluster at a P-state; columns run through the clusters in configured order and through the
 * P-states of each. A pair that cannot run has NAN in etc_s. No task may have a row without a
 * possible pair.
 *
 * Life cycle: sched_system_new(), fill in clusters, row names, etc_s, eec_j and nodes,
 * sched_system_finish(); from then on the system is read-only and may be shared between threads.
 */
struct sched_system {
	uint32_t clusters_count;
	uint32_t rows_count;
	uint32_t columns_count;
	struct sched_cluster *clusters; /* clusters_count */
	const char **row_names;         /* rows_count; borrowed strings */
	double *etc_s;                  /* rows x columns, row = task type; NAN: cannot run */
	double *eec_j;                  /* rows x columns */
	uint32_t *nodes;                /* rows x clusters: nodes occupied; 0: cannot run */
	/*
	 * Tasks start at a mapping event or wait for the next one, without reservations and
	 * place-holders: the environment of Machovec 2017. Policies that two papers define follow
	 * that paper here. False unless the caller sets it, at any time before the first decision.
	 */
	bool immediate;
	/*
	 * The nodes are hosts that tasks share in time, and execution times are not known
	 * (Stillwell 2010). The system has one cluster with one P-state, no rows and no estimates.
	 * Only policies that share hosts can decide there. Set by the caller, as `immediate`.
	 */
	bool shared;
	/*
	 * Settings of clusters with queues; NULL: they have none. Only policies that queue tasks
	 * can decide there. Set by the caller, as `immediate`, and borrowed.
	 */
	const struct sched_queueing *queueing;

	/* Set by sched_system_finish(): */
	struct sched_option *options; /* the possible options of all rows, in column order */
	uint32_t *options_first;      /* rows + 1: row r has [first[r], first[r + 1]) */
	double *etc_min_s;            /* per row: least etc_s over all options; INFINITY: none */
	struct sched_row *rows;       /* per row: what its options span */
	double resources_max;         /* the largest resources_mean of a row */
	uint32_t *groups;             /* per cluster: clusters that share a row share a group */
	uint32_t groups_count;
};

/*
 * Allocates a system for the `clusters` given (names are borrowed, columns are set) and
 * `rows_count` rows; etc_s is NAN throughout, everything else 0. Returns NULL if memory is short.
 */
struct sched_system *sched_system_new(const struct sched_cluster *clusters, uint32_t clusters_count,
				      uint32_t rows_count);

/* What sched_system_finish() found wrong. */
enum sched_system_fault {
	SCHED_SYSTEM_OK = 0,
	SCHED_SYSTEM_MEMORY,   /* out of memory */
	SCHED_SYSTEM_CLUSTER,  /* a cluster without nodes, cores or P-states */
	SCHED_SYSTEM_ESTIMATE, /* an etc_s or eec_j that is negative, zero time, or not finite */
	SCHED_SYSTEM_WIDTH,    /* a row is wider than a cluster that has an estimate for it */
};

/*
 * Verifies the system and computes its options. Returns SCHED_SYSTEM_OK, or the fault with the
 * cluster or row concerned in *ret_index (may be NULL).
 */
enum sched_system_fault sched_system_finish(struct sched_system *system, uint32_t *ret_index);

/* A sentence for a fault; never NULL. */
const char *sched_system_fault_text(enum sched_system_fault fault);

/* NULL is allowed. */
void sched_system_free(struct sched_system *system);

/* The index of the cluster with that name, or UINT32_MAX. O(clusters). */
uint32_t sched_system_cluster(const struct sched_system *system, const char *name);

/* The options of a row: *ret_count of them, in column order. */
static inline const struct sched_option *sched_system_options(const struct sched_system *system,
							      uint32_t row, uint32_t *ret_count)
{
	*ret_count = system->options_first[row + 1] - system->options_first[row];
	return system->options + system->options_first[row];
}

/* The option of a row in a cluster at a P-state, or NULL where it cannot run. */
const struct sched_option *sched_system_option(const struct sched_system *system, uint32_t row,
					       uint32_t cluster, uint32_t pstate);

/* The rest of an option after a task executed `executed_s` of it: time, energy and resources. */
static inline struct sched_option sched_option_rest(const struct sched_option *option,
						    double executed_s)
{
	struct sched_option rest = *option;

	if (executed_s > 0) {
		rest.etc_s = fmax(0, option->etc_s - executed_s);
		rest.eec_j = option->eec_j * (rest.etc_s / option->etc_s);
		rest.resources = option->resources * (rest.etc_s / option->etc_s);
	}
	return rest;
}

/*
 * The demand of a task in a shared system (Stillwell 2010, II.B): `vms` equal VMs, each with a CPU
 * need, which hosts may promise more than once, and a memory requirement, which they may not. Both
 * are parts of a host, above 0 and at most 1.
 */
struct sched_demand {
	uint32_t vms; /* 0: the task cannot share hosts */
	double cpu;
	double memory;
};

/* Tolerance of sums of CPU shares and memory: hosts are full at 1 + SCHED_SHARE_SLACK. */
#define SCHED_SHARE_SLACK 1e-9

/* A task as policies know it. */
struct sched_task {
	uint32_t id;  /* unique in the workload; its index there */
	uint32_t row; /* row of the estimates; unused in a shared system */
	double arrival_s;
	struct utility utility; /* a function of the time from arrival to completion */
	bool may_preempt; /* may take the nodes of preemptible tasks (Machovec 2017, section II) */
	bool preemptible; /* may be suspended so that another task runs on its nodes */
	struct sched_demand demand; /* in a shared system, where all tasks may be paused */
	/* With queues: a later completion is worth nothing; > arrival_s. */
	double deadline_s;
	/*
	 * Order among the waiting tasks: higher priorities come first. From -SCHED_PRIORITY_MAX to
	 * SCHED_PRIORITY_MAX. 0 unless a user submitted the task with another one; always 0 in a
	 * shared system.
	 */
	int32_t priority;
};

/* The utility of a task that completes at `end_s`. */
static inline double sched_task_utility(const struct sched_task *task, double end_s)
{
	return utility_at(&task->utility, task->arrival_s, end_s);
}

/* More than the number of tasks of a service, so that each task may have a priority of its own. */
#define SCHED_PRIORITY_MAX 1000000

/* Whether `a` comes before `b` where tasks are listed: by priority, then arrival, then id. */
static inline bool sched_task_before(const struct sched_task *a, const struct sched_task *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority;
	return a->arrival_s != b->arrival_s ? a->arrival_s < b->arrival_s : a->id < b->id;
}

/*
 * A task and the nodes that it has, had or is to have: an entry of one of five lists of a snapshot.
 * What a member is depends on the list; a dash: 0, or NULL.
 *
 *                    running       suspended     reservations,    deferred
 *                                                placeholders
 *   task             yes           yes           yes              yes
 *   cluster, pstate  yes           yes           yes              -
 *   nodes_count      yes           yes           yes              -
 *   nodes            its nodes     -             its nodes        -
 *   start_s          of its        -             planned start    when it is
 *                    interval                                     considered again
 *   end_s            expected end  -             start_s + ETC    -
 *   executed_s       before that   so far        -                -
 *   deferrals        -             -             -                so far, > 0
 * and in a shared system, where start_s, end_s and executed_s of the first two have no meaning:
 *   virtual_s        yes           yes           -                -
 *   yield, busy      yes           -             -                -
 *
 * A running task occupies its nodes now. In a shared system `nodes` has the host of each of its
 * VMs, in the order of the VMs, so that a host may occur several times.
 *
 * A suspended task occupies no nodes and keeps its progress. It can be resumed on any nodes_count
 * nodes of its cluster, at its P-state, and nowhere else (Machovec 2017, section II). In a shared
 * system it is resumed on any hosts that have the memory, one for each of nodes_count VMs.
 *
 * A reservation is permanent, a place-holder is not. A deferred task waits, since a policy has
 * deferred it (SCHED_ACTION_DEFER).
 *
 * Backends get the task that they are to start in this form, too (backend_start()).
 */
struct sched_allocation {
	const struct sched_task *task;
	uint32_t cluster;
	uint32_t pstate;
	uint32_t nodes_count;
	const uint32_t *nodes; /* indices in the cluster, ascending */
	/* Of an interval: the start of the task, or its last resumption. Deferred: may be past. */
	double start_s;
	double executed_s; /* execution time of its intervals; 0: never suspended */
	/*
	 * When the nodes of a running task are expected to be free: start_s + ETC - executed_s, or
	 * where it outlived its ETC the next mapping event. Never before now_s.
	 */
	double end_s;
	double yield; /* CPU share of a VM / its need, in (0, 1] */
	/* Its virtual time, the integral of the yield outside penalties (Stillwell 2010, III.A). */
	double virtual_s;
	/*
	 * It is being started or resumed, or migrates. Until that has ended it can neither be
	 * paused nor migrate; its yield may change.
	 */
	bool busy;
	uint32_t deferrals; /* how often it was deferred so far */
};

/* The queue of a cluster. A queued task stays on this cluster. */
struct sched_queue {
	uint32_t count;
	const struct sched_task *const *tasks; /* in the order of execution */
	/* The first task executes since start_s; otherwise it starts after the event. */
	bool executes;
	double start_s;
};

/* The state of pruning between mapping events (Gentry 2019, V.C and V.D.2). */
struct sched_pruner {
	double level;  /* oversubscription level (eq. 8), >= 0; initially 0 */
	bool dropping; /* whether tasks with a low chance are dropped */
};

/* A node that cannot take tasks. */
struct sched_node {
	uint32_t cluster;
	uint32_t node;
};

/*
 * Everything that a policy may know at a mapping event. `waiting` holds the mappable tasks in order
 * of priority, then arrival, then id (sched_task_before()). The tasks of `placeholders` are among
 * them, since place-holders are dropped at the event; they are listed only for their energy (the
 * goal of Event-Based, 3.6.2). Tasks with a reservation are not mappable. The tasks of `suspended`
 * are mappable, too, but only to their own cluster, and are not in `waiting`; they have the order
 * of `waiting`. The tasks of `deferred` are among the waiting and have their order.
 *
 * Mapping events are periodic. Policies that share hosts are asked between two of those as well,
 * when tasks have arrived or ended or the time of a deferred task has come. In a system with
 * queues, policies are asked when tasks have arrived or ended, or the deadline of an executing task
 * has come.
 */
struct sched_snapshot {
	const struct sched_system *system;
	uint64_t seed;  /* seed of the policy's random choices */
	uint64_t event; /* number of the mapping event, from 0 */
	double now_s;
	double next_event_s;        /* the next periodic mapping event; > now_s */
	bool between;               /* this event is none of the periodic ones */
	double day_start_s;         /* the budget's period: [day_start_s, end_s) */
	double end_s;               /* no task starts at or after it */
	double consumed_j;          /* dynamic energy since day_start_s */
	double budget_j;            /* for the period; INFINITY: no limit */
	bool gate;                  /* no option may need more energy than remains of the budget */
	uint32_t completed_count;   /* tasks completed since day_start_s, with what they used: */
	double completed_j;         /* dynamic energy */
	double completed_resources; /* execution time x cores of whole nodes, core-seconds */
	uint32_t waiting_count;
	const struct sched_task *const *waiting;
	uint32_t suspended_count;
	const struct sched_allocation *suspended;
	uint32_t running_count;
	const struct sched_allocation *running;
	uint32_t reservations_count;
	const struct sched_allocation *reservations;
	uint32_t placeholders_count;
	const struct sched_allocation *placeholders;
	uint32_t down_count;
	const struct sched_node *down;
	uint32_t deferred_count;
	const struct sched_allocation *deferred;
	/* With queues: */
	const struct sched_queue *queues; /* per cluster; their tasks are not in `waiting` */
	struct sched_pruner pruner;       /* state of pruning after the last mapping event */
	uint32_t missed;         /* tasks that completed after their deadlines since that event */
	const double *sufferage; /* per row, in [0, 1] (V.D.2); NULL: none */
};

/* The kinds of actions in a plan. */
enum sched_action_kind {
	SCHED_ACTION_NONE = 0,
	SCHED_ACTION_START,       /* start now on these nodes */
	SCHED_ACTION_PLACEHOLDER, /* start at start_s unless the next mapping event comes first */
	SCHED_ACTION_RESERVE,     /* start at start_s; permanent */
	SCHED_ACTION_DROP,        /* the task leaves */
	SCHED_ACTION_SUSPEND,     /* the task leaves its nodes and keeps its progress */
	SCHED_ACTION_RESUME,      /* resume a suspended task now, on these nodes of its cluster */
	SCHED_ACTION_PLACE,       /* shared: start now, each VM on a host, with this yield */
	SCHED_ACTION_SHARE,       /* shared: stay where it is, with this yield from now on */
	SCHED_ACTION_MIGRATE,     /* shared: move the VMs to these hosts now, with this yield */
	SCHED_ACTION_PAUSE,       /* shared: the task leaves its hosts and keeps its progress */
	SCHED_ACTION_DEFER,       /* a waiting task is deferred until start_s */
	SCHED_ACTION_ENQUEUE,     /* append the task to the queue of a cluster, where it stays */
};

/* Why an action was taken. */
enum sched_reason {
	SCHED_REASON_NONE = 0,
	SCHED_REASON_BEST_UTIL, /* highest utility of all options (eq. 2) */
	SCHED_REASON_BEST_UPT,  /* highest utility per time (eq. 3) */
	SCHED_REASON_BEST_UPR,  /* highest utility per resource (eq. 4) */
	SCHED_REASON_BEST_UPE,  /* highest utility per energy (eq. 5) */
	SCHED_REASON_FIRST,     /* first in the order of the policy, starts now */
	SCHED_REASON_BACKFILL,  /* starts now without delaying a planned start */
	SCHED_REASON_HEAD,      /* the one reservation of EASY */
	SCHED_REASON_EARLIEST,  /* earliest start over all clusters */
	SCHED_REASON_CHANCE,    /* drawn at random */
	/* Can earn nothing any more, even if started now where it is fastest. */
	SCHED_REASON_WORTHLESS,
	SCHED_REASON_THRESHOLD,  /* can earn only less than the dropping threshold */
	SCHED_REASON_PREEMPTS,   /* worth more than the tasks on these nodes, which are suspended */
	SCHED_REASON_GOES_FIRST, /* Pair: the net value is no lower if it goes first */
	SCHED_REASON_GIVES_WAY,  /* of a SUSPEND or PAUSE: its nodes go to another task */
	SCHED_REASON_LEAST_LOADED, /* the hosts with the lowest CPU load that have the memory */
	SCHED_REASON_PACKED,       /* where the packing of all tasks puts it (MCB8) */
	SCHED_REASON_YIELD,        /* its share follows the load of the hosts */
	SCHED_REASON_PRIORITY,     /* the lowest priority: no packing has room for it too */
	SCHED_REASON_NO_MEMORY,    /* the hosts have too little memory left for all of its VMs */
	SCHED_REASON_LIKELIEST,    /* the first to end of the tasks that are likely to be on time */
	SCHED_REASON_MIN_COMPLETION, /* the lowest expected completion time */
	SCHED_REASON_SOONEST_DEADLINE,
	SCHED_REASON_MOST_URGENT,
	SCHED_REASON_MOST_ON_TIME, /* in the order of three tasks that has most of them on time */
	SCHED_REASON_DEADLINE,     /* of a DROP: its deadline has passed */
	SCHED_REASON_PRUNED,  /* of a DROP: its chance to be on time is not above the threshold */
	SCHED_REASON_OUTSIDE, /* the program or shared object that decided gave no reason */
};

/*
 * One action. A DROP uses only kind, task, objective (the bound on its utility) and reason; a
 * SUSPEND uses kind, task, objective (the value that it would have had if left alone) and reason. A
 * SUSPEND stands before the START or RESUME that takes its nodes. A task that is suspended in a
 * plan may be resumed in the same plan.
 *
 * In a shared system `nodes` has a host for each VM; in a MIGRATE the VMs that stay keep their
 * positions in the list. start_s is the present, end_s is NAN, energy and utility are 0, and the
 * objective is the priority, which may be infinite. A PAUSE uses the fields of a SUSPEND, a DEFER
 * uses kind, task, start_s and reason. The actions of one event are to be carried out together:
 * hosts are not overcommitted after the last one, but may be between two of them.
 *
 * In a system with queues an ENQUEUE has the cluster and the expected start and end, and no nodes:
 * the task gets all nodes of the cluster. A DROP may be of any task that waits, is queued or
 * executes. Both have the chance of the task to be on time and the threshold that it was compared
 * with.
 */
struct sched_action {
	enum sched_action_kind kind;
	uint32_t task; /* id */
	uint32_t cluster;
	uint32_t pstate;
	uint32_t nodes_count;
	const uint32_t *nodes; /* ascending; belongs to the plan */
	double start_s;
	double end_s;    /* start_s + ETC; of a RESUME, less what was executed */
	double energy_j; /* EEC; of a RESUME, the part of it for the time that is left */
	double utility;  /* at end_s */
	/* Value of the policy's objective; 0 for policies without an objective. */
	double objective;
	double yield;     /* shared: of PLACE, RESUME, SHARE and MIGRATE; else 0 */
	double chance;    /* with queues, in [0, 1]; else 0 */
	double threshold; /* with queues; 0: no threshold applied */
	enum sched_reason reason;
};

/* Why an option of a task was not taken (`decide --explain`). */
enum sched_refusal {
	SCHED_REFUSAL_TAKEN = 0,   /* the option was taken */
	SCHED_REFUSAL_LOWER,       /* a lower objective */
	SCHED_REFUSAL_LATER,       /* a later start, or a later place in the configured order */
	SCHED_REFUSAL_NO_UTILITY,  /* would earn nothing */
	SCHED_REFUSAL_AFTER_END,   /* would start after the end of the day */
	SCHED_REFUSAL_NO_NODES,    /* too few nodes are up */
	SCHED_REFUSAL_RESERVED,    /* would have to wait, and EASY already holds a reservation */
	SCHED_REFUSAL_NOT_DRAWN,   /* another option was drawn */
	SCHED_REFUSAL_ENERGY,      /* needs more than the energy that remains */
	SCHED_REFUSAL_FILTERED,    /* above the fair share of energy (3.8) */
	SCHED_REFUSAL_OVERTAKES,   /* FCFS: an earlier task has not started */
	SCHED_REFUSAL_BUSY,        /* too few nodes are idle, or could be taken from others */
	SCHED_REFUSAL_NOT_WORTH,   /* the victims have as high a value; Pair: earn as much */
	SCHED_REFUSAL_GOES_SECOND, /* Pair: the task that runs there goes first */
	SCHED_REFUSAL_MEMORY,      /* shared: too little memory on the hosts */
	SCHED_REFUSAL_DEFERRED,    /* shared: the task is deferred, and its time has not come */
	SCHED_REFUSAL_PERIOD,      /* shared: waits for the next periodic event */
	SCHED_REFUSAL_PRIORITY,    /* shared: the lowest priority, and no packing for all */
	SCHED_REFUSAL_UNLIKELY,    /* queues: its chance is below the threshold */
	SCHED_REFUSAL_QUEUE_FULL,  /* queues: the queue is full */
};

/* One option that was considered, with its values when its task was decided. */
struct sched_considered {
	uint32_t task;
	/* Index of the action that followed; UINT32_MAX: the task got no action. */
	uint32_t action;
	uint32_t cluster;
	uint32_t pstate;
	double start_s; /* NAN: there is no start */
	double end_s;
	double utility;
	double objective;
	enum sched_refusal refusal;
};

/* The judgement of a policy on a task that was queued before the event. */
struct sched_judged {
	uint32_t task;
	uint32_t cluster;
	uint32_t position; /* position in the queue when it was judged; 0: head */
	/*
	 * Expected completion time of the cluster including this task, seconds since the run began.
	 */
	double mean_s;
	double skewness;  /* of that completion time, bounded to [-1, 1] */
	double chance;    /* chance to be on time */
	double threshold; /* while dropping is on, it is dropped if its chance is not higher */
	bool dropped;
};

/* The decision of a policy. The arrays belong to the memory arena in which it was made. */
struct sched_plan {
	uint32_t actions_count;
	const struct sched_action *actions; /* in the order of the decisions */
	/* Where each action was in the array that it was read from; NULL: at its own index. */
	const uint32_t *entries;
	uint32_t considered_count; /* 0 without POLICY_EXPLAIN */
	const struct sched_considered *considered;
	/* What the policy chose for this event, e.g. "max-upe"; NULL: no choice. */
	const char *note;
	/*
	 * The policy that made this plan in place of one from outside, and why that did not decide;
	 * NULL: it did.
	 */
	const char *fallback;
	const char *fallback_reason;
	/* With queues: */
	struct sched_pruner pruner;        /* for the next snapshot */
	uint32_t judged_count;             /* 0 without POLICY_EXPLAIN */
	const struct sched_judged *judged; /* by cluster, then in the order of the queue */
};

/* The names in JSON and tables ("start", "best-upr", "no-utility"), by value; NULL-terminated. */
extern const char *const sched_action_kind_names[];
extern const char *const sched_reason_names[];
extern const char *const sched_refusal_names[];
/* The name of a kind of action; NULL: unknown. */
const char *sched_action_kind_name(enum sched_action_kind kind);
/* A text for users. */
const char *sched_reason_text(enum sched_reason reason);
/* A text for users. */
const char *sched_refusal_text(enum sched_refusal refusal);

/* The energy that a running task will still consume: EEC x max(0, 1 - executed / ETC). */
double sched_allocation_committed_j(const struct sched_system *system,
				    const struct sched_allocation *running, double now_s);

/* The energy that a task with a planned start will consume: its EEC. */
double sched_allocation_energy_j(const struct sched_system *system,
				 const struct sched_allocation *planned);
