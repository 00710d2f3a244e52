/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/oracle/preempt_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/random.h"
#include "tests/oracle/printed.h"

#define NO_JOB UINT32_MAX

/* Where a task of the snapshot stands. */
enum state { MAPPABLE, ON_NODES, OUT_OF_THE_SET };

/* A task of the snapshot. */
struct job {
	const struct sched_task *task;
	enum state state;
	bool started;     /* bound to a cluster since before the event */
	uint32_t cluster; /* started jobs and jobs on nodes only */
	uint32_t pstate;
	uint32_t width;
	double executed_s;
	const uint32_t *first_nodes; /* jobs that ran at the beginning only */
	uint32_t *nodes;             /* jobs on nodes only */
	double ret_s;                /* jobs on nodes only; the job's value: */
	double value;
	bool executing; /* on nodes since before the event */
};

/* An assignment that a task could get. */
struct assignment {
	uint32_t job;
	const struct sched_option *option;
	double ret_s;
	double value; /* of the task */
	double objective;
	bool gain;     /* Diff: the objective is the value less what is beaten */
	double beaten; /* the victims' values */
	uint32_t victims_count;
	uint32_t victims[64];
	uint32_t nodes_count;
	uint32_t nodes[64]; /* that it would take */
	uint32_t core;      /* that decides ties */
	bool second;        /* Pair: does nothing */
	double alone;       /* Pair: the victims left alone */
};

/* One line of what happened. */
struct line {
	uint32_t job;
	bool suspend;
	struct sched_action action;
};

/* The event. */
struct event {
	const struct preempt_oracle *oracle;
	const struct sched_snapshot *snapshot;
	uint32_t jobs_count;
	struct job *jobs;
	uint32_t **occupant; /* per cluster and node: a job or NO_JOB */
	bool **blocked;      /* down or promised */
	GArray *lines;
	GArray *drops;
	double remaining_j; /* for the gate; INFINITY without one */
};

static double utility_of(const struct sched_task *task, double end_s)
{
	return sched_task_utility(task, end_s);
}

/* Equations (1) and (2). */
static double value_of(const struct event *event, const struct sched_task *task, double end_s,
		       double ret_s)
{
	const double util = utility_of(task, end_s);

	if (!event->oracle->upt || util == 0)
		return util;
	return ret_s > 0 ? util / ret_s : (double)INFINITY;
}

static double ret_of(const struct job *job, const struct sched_option *option)
{
	return job->executed_s > 0 ? fmax(0, option->etc_s - job->executed_s) : option->etc_s;
}

static double energy_of(const struct job *job, const struct sched_option *option)
{
	return job->executed_s > 0 ? option->eec_j * (ret_of(job, option) / option->etc_s)
				   : option->eec_j;
}

static const struct sched_option *option_of(const struct event *event, const struct job *job)
{
	return sched_system_option(event->snapshot->system, job->task->row, job->cluster,
				   job->pstate);
}

/* The options where a job could go: all of its type, or the one of its progress. */
static GPtrArray *options_of(const struct event *event, const struct job *job)
{
	GPtrArray *list = g_ptr_array_new();
	uint32_t count;
	const struct sched_option *options =
		sched_system_options(event->snapshot->system, job->task->row, &count);

	for (uint32_t i = 0; i < count; i++)
		if (!job->started ||
		    (options[i].cluster == job->cluster && options[i].pstate == job->pstate))
			g_ptr_array_add(list, (gpointer)&options[i]);
	return list;
}

static bool is_idle(const struct event *event, uint32_t cluster, uint32_t node)
{
	return event->occupant[cluster][node] == NO_JOB && !event->blocked[cluster][node];
}

static uint32_t nodes_of(const struct event *event, uint32_t cluster)
{
	return event->snapshot->system->clusters[cluster].nodes;
}

/* Nodes of a job that others can take. */
static uint32_t usable(const struct event *event, const struct job *job, uint32_t *ret_lowest)
{
	uint32_t count = 0;

	*ret_lowest = UINT32_MAX;
	for (uint32_t i = 0; i < job->width; i++)
		if (!event->blocked[job->cluster][job->nodes[i]] && count++ == 0)
			*ret_lowest = job->nodes[i];
	return count;
}

/*
 * Whether a job may give way; a complete one does not. For Pair r executes: what is assigned in
 * this event does not yet (the mapping is carried out when it is made, III.A).
 */
static bool gives_way(const struct event *event, uint32_t index, uint32_t cluster)
{
	const struct job *job = &event->jobs[index];
	uint32_t lowest;

	return job->state == ON_NODES && job->cluster == cluster && job->task->preemptible &&
	       (job->executing || event->oracle->preempt != ORACLE_PAIR) && job->ret_s > 0 &&
	       option_of(event, job) && usable(event, job, &lowest) > 0;
}

/* The preemptible jobs of a cluster by value, then lowest node. The caller frees the array. */
static GArray *victims_of(const struct event *event, uint32_t cluster)
{
	GArray *list = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	for (uint32_t i = 0; i < event->jobs_count; i++) {
		guint at = 0;
		uint32_t node;

		if (!gives_way(event, i, cluster))
			continue;
		usable(event, &event->jobs[i], &node);
		for (; at < list->len; at++) {
			const struct job *other = &event->jobs[g_array_index(list, uint32_t, at)];
			uint32_t other_node;

			usable(event, other, &other_node);

			const int order = printed_compare(event->jobs[i].value, other->value);

			if (order < 0 || (order == 0 && node < other_node))
				break;
		}
		g_array_insert_val(list, at, i);
	}
	return list;
}

static void add_idle(const struct event *event, struct assignment *a)
{
	for (uint32_t n = 0;
	     n < nodes_of(event, a->option->cluster) && a->nodes_count < a->option->nodes; n++)
		if (is_idle(event, a->option->cluster, n))
			a->nodes[a->nodes_count++] = n;
}

static void add_victim(const struct event *event, struct assignment *a, uint32_t victim)
{
	const struct job *job = &event->jobs[victim];

	a->victims[a->victims_count++] = victim;
	a->beaten += job->value;
	for (uint32_t i = 0; i < job->width && a->nodes_count < a->option->nodes; i++)
		if (!event->blocked[job->cluster][job->nodes[i]])
			a->nodes[a->nodes_count++] = job->nodes[i];
}

static bool energy_allows(const struct event *event, const struct job *job,
			  const struct sched_option *option)
{
	const double budget_j = event->snapshot->budget_j;

	return isinf(event->remaining_j) ||
	       printed_compare(budget_j - event->remaining_j + energy_of(job, option), budget_j) <=
		       0;
}

/* An assignment on nothing yet; false where the job would earn nothing. */
static bool start_assignment(const struct event *event, uint32_t index,
			     const struct sched_option *option, struct assignment *ret_a)
{
	const struct job *job = &event->jobs[index];

	*ret_a = (struct assignment){.job = index, .option = option};
	ret_a->ret_s = ret_of(job, option);
	ret_a->value =
		value_of(event, job->task, event->snapshot->now_s + ret_a->ret_s, ret_a->ret_s);
	return ret_a->value > 0 && energy_allows(event, job, option);
}

/* The gain is that of what is printed of both values. */
static double printed_gain(const struct assignment *a)
{
	return printed(printed(a->value) - printed(a->beaten));
}

static int compare_objectives(const struct assignment *a, const struct assignment *b)
{
	const double size = fabs(a->value) + fabs(b->value);
	double x, y;

	if (!a->gain || fabs(a->objective - b->objective) > 1e-6 * size)
		return printed_compare(a->objective, b->objective);
	x = printed_gain(a);
	y = printed_gain(b);
	return (x > y) - (x < y);
}

/* Whether `a` is better than `b` for one task: lines 5 to 10 of Algorithm 2. */
static bool better_for_task(const struct assignment *a, const struct assignment *b)
{
	const int order = compare_objectives(a, b);
	const int beaten = printed_compare(a->beaten, b->beaten);

	if (order != 0)
		return order > 0;
	if ((a->victims_count == 0) != (b->victims_count == 0))
		return a->victims_count == 0;
	if (beaten != 0)
		return beaten < 0;
	if (a->option->cluster != b->option->cluster)
		return a->option->cluster < b->option->cluster;
	if (a->core != b->core)
		return a->core < b->core;
	return a->option->pstate < b->option->pstate;
}

/* Whether `a` is decided before `b`: the second phase. */
static bool better_task(const struct event *event, const struct assignment *a,
			const struct assignment *b)
{
	const struct sched_task *x = event->jobs[a->job].task;
	const struct sched_task *y = event->jobs[b->job].task;
	const int order = compare_objectives(a, b);

	if (order != 0)
		return order > 0;
	return x->arrival_s != y->arrival_s ? x->arrival_s < y->arrival_s : x->id < y->id;
}

/* Keeps the better of two; `have` says whether there is one yet. */
static void keep(struct assignment *best, bool *have, const struct assignment *a)
{
	if (!*have || better_for_task(a, best))
		*best = *a;
	*have = true;
}

/* One core of a cluster for a task of one node; false when it is no valid assignment. */
static bool assign_core(const struct event *event, uint32_t node, bool preempts,
			struct assignment *a)
{
	const uint32_t cluster = a->option->cluster;
	const uint32_t r = event->occupant[cluster][node];

	a->core = node;
	if (is_idle(event, cluster, node)) {
		a->nodes[a->nodes_count++] = node;
		return true;
	}
	if (r == NO_JOB || !preempts || !gives_way(event, r, cluster) ||
	    printed_compare(a->value, event->jobs[r].value) <= 0)
		return false;
	add_victim(event, a, r);
	return true;
}

/* The rule for several nodes; false when it is no valid assignment. */
static bool assign_nodes(const struct event *event, bool preempts, struct assignment *a)
{
	g_autoptr(GArray) victims = victims_of(event, a->option->cluster);

	add_idle(event, a);
	for (guint i = 0; preempts && i < victims->len && a->nodes_count < a->option->nodes; i++)
		add_victim(event, a, g_array_index(victims, uint32_t, i));
	return a->nodes_count == a->option->nodes &&
	       (a->victims_count == 0 || printed_compare(a->value, a->beaten) > 0);
}

/* First phase of Algorithms 1 and 2 for one task. */
static bool find_best(const struct event *event, uint32_t index, bool preempts, bool diff,
		      struct assignment *ret_best)
{
	g_autoptr(GPtrArray) options = options_of(event, &event->jobs[index]);
	bool have = false;

	for (guint i = 0; i < options->len; i++) {
		const struct sched_option *option = g_ptr_array_index(options, i);
		const uint32_t tries = event->oracle->cores ? nodes_of(event, option->cluster) : 1;

		for (uint32_t node = 0; node < tries; node++) {
			struct assignment a;
			bool valid = start_assignment(event, index, option, &a);

			valid = valid &&
				(event->oracle->cores ? assign_core(event, node, preempts, &a)
						      : assign_nodes(event, preempts, &a));
			a.gain = diff;
			a.objective = diff ? a.value - a.beaten : a.value;
			if (valid)
				keep(ret_best, &have, &a);
		}
	}
	return have;
}

/*
 * The pair of t with r, and with what else has to give way (lines 5 and 6 of Algorithm 3); false:
 * none.
 */
static bool make_pair(const struct event *event, uint32_t r, struct assignment *a)
{
	const struct job *t = &event->jobs[a->job];
	const double now_s = event->snapshot->now_s;
	double first = a->value;
	double second = 0;
	double behind_s = 0;

	usable(event, &event->jobs[r], &a->core);
	add_victim(event, a, r);
	add_idle(event, a);
	if (a->nodes_count < a->option->nodes) {
		g_autoptr(GArray) others = victims_of(event, a->option->cluster);

		for (guint i = 0; i < others->len && a->nodes_count < a->option->nodes; i++)
			if (g_array_index(others, uint32_t, i) != r)
				add_victim(event, a, g_array_index(others, uint32_t, i));
	}
	if (a->nodes_count < a->option->nodes)
		return false;
	for (uint32_t i = 0; i < a->victims_count; i++) {
		const struct job *v = &event->jobs[a->victims[i]];

		first += value_of(event, v->task, now_s + a->ret_s + v->ret_s, v->ret_s);
		second += v->value;
		behind_s = fmax(behind_s, v->ret_s);
	}
	a->alone = second;

	const double value = value_of(event, t->task, now_s + behind_s + a->ret_s, a->ret_s);

	second += value;
	if (!event->oracle->algorithm_3 && printed_compare(second, first) > 0)
		return false;
	a->second = event->oracle->algorithm_3 && printed_compare(first, second) <= 0;
	a->objective = a->second ? second : first; /* the net value, for now */
	a->beaten = 0;
	if (a->second)
		a->value = value;
	return true;
}

/* Whether t earns more utility than the tasks that would be suspended for it (II.D). */
static bool earns_more(const struct event *event, const struct assignment *a)
{
	const double now_s = event->snapshot->now_s;
	double alone = 0;

	for (uint32_t i = 0; i < a->victims_count; i++) {
		const struct job *v = &event->jobs[a->victims[i]];

		alone += utility_of(v->task, now_s + v->ret_s);
	}
	return printed_compare(utility_of(event->jobs[a->job].task, now_s + a->ret_s), alone) > 0;
}

/* First phase of Algorithm 3 for one task. */
static bool find_best_pair(const struct event *event, uint32_t index, struct assignment *ret_best)
{
	g_autoptr(GPtrArray) options = options_of(event, &event->jobs[index]);
	struct assignment pair;
	struct assignment idle;
	const bool have_idle = find_best(event, index, false, false, &idle);
	bool have_pair = false;

	for (guint i = 0; event->jobs[index].task->may_preempt && i < options->len; i++) {
		const struct sched_option *option = g_ptr_array_index(options, i);

		for (uint32_t node = 0; node < nodes_of(event, option->cluster); node++) {
			const uint32_t r = event->occupant[option->cluster][node];
			struct assignment a;

			if (r != NO_JOB && gives_way(event, r, option->cluster) &&
			    start_assignment(event, index, option, &a) && make_pair(event, r, &a))
				keep(&pair, &have_pair, &a);
		}
	}
	if (have_pair && !event->oracle->algorithm_3 && !earns_more(event, &pair))
		have_pair = false;
	if (!have_pair && !have_idle)
		return false;
	if (have_pair &&
	    (!have_idle || printed_compare(pair.objective, idle.value + pair.alone) > 0))
		*ret_best = pair;
	else
		*ret_best = idle;
	ret_best->objective = ret_best->value;
	return true;
}

static void note(struct event *event, uint32_t job, bool suspend, struct sched_action action)
{
	const struct line line = {job, suspend, action};

	g_array_append_val(event->lines, line);
}

/* Line 16 of Algorithm 2: back into the set of mappable tasks. */
static void preempt(struct event *event, uint32_t index)
{
	struct job *job = &event->jobs[index];

	for (uint32_t i = 0; i < job->width; i++)
		event->occupant[job->cluster][job->nodes[i]] = NO_JOB;
	event->remaining_j += energy_of(job, option_of(event, job));
	job->state = MAPPABLE;
	job->executing = false;
	note(event, index, true,
	     (struct sched_action){
		     .kind = SCHED_ACTION_SUSPEND,
		     .task = job->task->id,
		     .objective = job->value,
		     .reason = SCHED_REASON_GIVES_WAY,
	     });
}

static int compare_nodes(gconstpointer a, gconstpointer b)
{
	const uint32_t *x = a;
	const uint32_t *y = b;

	return (*x > *y) - (*x < *y);
}

/* Lines 14 to 18 of Algorithm 2. */
static void assign(struct event *event, const struct assignment *a, enum sched_reason reason)
{
	struct job *job = &event->jobs[a->job];
	const double end_s = event->snapshot->now_s + a->ret_s;

	for (uint32_t i = 0; i < a->victims_count; i++)
		preempt(event, a->victims[i]);
	g_free(job->nodes);
	job->nodes = g_memdup2(a->nodes, a->nodes_count * sizeof(uint32_t));
	qsort(job->nodes, a->nodes_count, sizeof(uint32_t), compare_nodes);
	job->cluster = a->option->cluster;
	job->pstate = a->option->pstate;
	job->width = a->nodes_count;
	job->state = ON_NODES;
	job->ret_s = a->ret_s;
	job->value = a->value;
	for (uint32_t i = 0; i < a->nodes_count; i++) {
		g_assert_true(is_idle(event, job->cluster, a->nodes[i]));
		event->occupant[job->cluster][a->nodes[i]] = a->job;
	}
	event->remaining_j -= energy_of(job, a->option);
	note(event, a->job, false,
	     (struct sched_action){
		     .kind = job->started ? SCHED_ACTION_RESUME : SCHED_ACTION_START,
		     .task = job->task->id,
		     .cluster = job->cluster,
		     .pstate = job->pstate,
		     .nodes_count = job->width,
		     .nodes = g_memdup2(job->nodes, job->width * sizeof(uint32_t)),
		     .start_s = event->snapshot->now_s,
		     .end_s = end_s,
		     .energy_j = energy_of(job, a->option),
		     .utility = utility_of(job->task, end_s),
		     .objective = a->objective,
		     .reason = reason,
	     });
}

/* The while loop of Algorithms 1 to 3: one decision. */
static bool step(struct event *event)
{
	const enum oracle_preempt how = event->oracle->preempt;
	struct assignment best;
	bool have = false;

	for (uint32_t i = 0; i < event->jobs_count; i++) {
		const struct job *t = &event->jobs[i];
		const bool preempts = how != ORACLE_NEVER && t->task->may_preempt;
		struct assignment a;

		if (t->state != MAPPABLE)
			continue;
		if (how == ORACLE_PAIR ? !find_best_pair(event, i, &a)
				       : !find_best(event, i, preempts, how == ORACLE_DIFF, &a))
			continue;
		if (!have || better_task(event, &a, &best))
			best = a;
		have = true;
	}
	if (have && best.second)
		event->jobs[best.job].state = OUT_OF_THE_SET;
	else if (have)
		assign(event, &best,
		       best.victims_count == 0
			       ? event->oracle->upt ? SCHED_REASON_BEST_UPT : SCHED_REASON_BEST_UTIL
		       : how == ORACLE_PAIR ? SCHED_REASON_GOES_FIRST
					    : SCHED_REASON_PREEMPTS);
	return have;
}

/* The idle nodes of a cluster from the `first` on, or from the beginning. */
static void take_idle_from(const struct event *event, struct assignment *a, uint32_t first)
{
	uint32_t idle = 0;
	uint32_t at = 0;

	for (uint32_t n = 0; n < nodes_of(event, a->option->cluster); n++)
		idle += is_idle(event, a->option->cluster, n);
	if (first + a->option->nodes > idle)
		first = 0;
	for (uint32_t n = 0; n < nodes_of(event, a->option->cluster); n++)
		if (is_idle(event, a->option->cluster, n) && at++ >= first &&
		    a->nodes_count < a->option->nodes)
			a->nodes[a->nodes_count++] = n;
}

static uint32_t count_idle(const struct event *event, uint32_t cluster)
{
	uint32_t count = 0;

	for (uint32_t n = 0; n < nodes_of(event, cluster); n++)
		count += is_idle(event, cluster, n);
	return count;
}

/* III.C: where a task may go, and the idle cores there. */
static GPtrArray *choices_of(const struct event *event, uint32_t index)
{
	GPtrArray *options = options_of(event, &event->jobs[index]);

	for (guint i = options->len; i-- > 0;) {
		const struct sched_option *option = g_ptr_array_index(options, i);
		struct assignment a;

		if ((!event->jobs[index].started && option->pstate != 0) ||
		    !start_assignment(event, index, option, &a) ||
		    count_idle(event, option->cluster) < option->nodes)
			g_ptr_array_remove_index(options, i);
	}
	return options;
}

/* One task of FCFS (`random` NULL) or Random. */
static void take_task(struct event *event, uint32_t index, struct random_stream *random)
{
	g_autoptr(GPtrArray) choices = choices_of(event, index);
	struct assignment a;
	uint32_t total = 0;
	uint32_t drawn;
	guint i = 0;

	for (guint c = 0; c < choices->len; c++)
		total += count_idle(
			event,
			((const struct sched_option *)g_ptr_array_index(choices, c))->cluster);
	if (choices->len == 0)
		return;
	drawn = random ? (uint32_t)random_stream_below(random, total) : 0;
	for (;; i++) {
		const struct sched_option *option = g_ptr_array_index(choices, i);

		if (drawn < count_idle(event, option->cluster))
			break;
		drawn -= count_idle(event, option->cluster);
	}
	start_assignment(event, index, g_ptr_array_index(choices, i), &a);
	a.objective = 0;
	take_idle_from(event, &a, drawn);
	assign(event, &a, random ? SCHED_REASON_CHANCE : SCHED_REASON_FIRST);
}

/* The jobs in the order of arrival. */
static GArray *queue_of(const struct event *event)
{
	GArray *queue = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	for (uint32_t i = 0; i < event->jobs_count; i++) {
		const struct sched_task *task = event->jobs[i].task;
		guint at = 0;

		if (event->jobs[i].state != MAPPABLE)
			continue;
		for (; at < queue->len; at++) {
			const struct sched_task *other =
				event->jobs[g_array_index(queue, uint32_t, at)].task;

			if (task->arrival_s < other->arrival_s ||
			    (task->arrival_s == other->arrival_s && task->id < other->id))
				break;
		}
		g_array_insert_val(queue, at, i);
	}
	return queue;
}

static void take_in_order(struct event *event, bool shuffled)
{
	g_autoptr(GArray) queue = queue_of(event);
	struct random_stream random;

	random_stream_init(&random, event->snapshot->seed, event->snapshot->event);
	for (guint i = 0; i < queue->len; i++) {
		uint32_t idle = 0;

		for (uint32_t c = 0; c < event->snapshot->system->clusters_count; c++)
			idle += count_idle(event, c);
		if (shuffled) {
			const guint j = i + (guint)random_stream_below(&random, queue->len - i);
			const uint32_t job = g_array_index(queue, uint32_t, j);

			g_array_index(queue, uint32_t, j) = g_array_index(queue, uint32_t, i);
			g_array_index(queue, uint32_t, i) = job;
		}
		if (idle > 0)
			take_task(event, g_array_index(queue, uint32_t, i),
				  shuffled ? &random : NULL);
	}
}

/* III.B. */
static void drop(struct event *event)
{
	for (uint32_t i = 0; i < event->jobs_count; i++) {
		struct job *job = &event->jobs[i];
		g_autoptr(GPtrArray) options = NULL;
		struct sched_action action = {
			.kind = SCHED_ACTION_DROP,
			.task = job->task->id,
			.reason = SCHED_REASON_WORTHLESS,
		};

		if (job->state != MAPPABLE)
			continue;
		options = options_of(event, job);
		for (guint o = 0; o < options->len; o++)
			action.objective =
				fmax(action.objective,
				     utility_of(job->task,
						event->snapshot->now_s +
							ret_of(job,
							       g_ptr_array_index(options, o))));
		if (action.objective > 0)
			continue;
		job->state = OUT_OF_THE_SET;
		g_array_append_val(event->drops, action);
	}
}

static struct job *add_job(struct event *event, const struct sched_task *task)
{
	struct job *job = &event->jobs[event->jobs_count++];

	*job = (struct job){.task = task};
	return job;
}

static void add_jobs(struct event *event)
{
	const struct sched_snapshot *snapshot = event->snapshot;

	event->jobs = g_new0(struct job, snapshot->waiting_count + snapshot->suspended_count +
						 snapshot->running_count + 1);
	for (uint32_t i = 0; i < snapshot->waiting_count; i++)
		add_job(event, snapshot->waiting[i]);
	for (uint32_t i = 0; i < snapshot->suspended_count; i++) {
		const struct sched_allocation *s = &snapshot->suspended[i];
		struct job *job = add_job(event, s->task);

		job->started = true;
		job->cluster = s->cluster;
		job->pstate = s->pstate;
		job->executed_s = s->executed_s;
	}
	for (uint32_t i = 0; i < snapshot->running_count; i++) {
		const struct sched_allocation *r = &snapshot->running[i];
		struct job *job = add_job(event, r->task);

		job->state = ON_NODES;
		job->executing = true;
		job->started = true;
		job->cluster = r->cluster;
		job->pstate = r->pstate;
		job->width = r->nodes_count;
		job->executed_s = r->executed_s + (snapshot->now_s - r->start_s);
		job->first_nodes = r->nodes;
		job->nodes = g_memdup2(r->nodes, r->nodes_count * sizeof(uint32_t));
		job->ret_s = ret_of(job, option_of(event, job));
		job->value = value_of(event, r->task, snapshot->now_s + job->ret_s, job->ret_s);
		for (uint32_t n = 0; n < r->nodes_count; n++)
			event->occupant[r->cluster][r->nodes[n]] = event->jobs_count - 1;
	}
}

static void begin(struct event *event, const struct preempt_oracle *oracle)
{
	const struct sched_snapshot *snapshot = oracle->snapshot;
	const uint32_t clusters = snapshot->system->clusters_count;

	*event = (struct event){
		.oracle = oracle,
		.snapshot = snapshot,
		.occupant = g_new0(uint32_t *, clusters),
		.blocked = g_new0(bool *, clusters),
		.lines = g_array_new(FALSE, FALSE, sizeof(struct line)),
		.drops = g_array_new(FALSE, FALSE, sizeof(struct sched_action)),
		.remaining_j = (double)INFINITY,
	};
	for (uint32_t c = 0; c < clusters; c++) {
		event->occupant[c] = g_new(uint32_t, nodes_of(event, c));
		event->blocked[c] = g_new0(bool, nodes_of(event, c));
		for (uint32_t n = 0; n < nodes_of(event, c); n++)
			event->occupant[c][n] = NO_JOB;
	}
	for (uint32_t i = 0; i < snapshot->down_count; i++)
		event->blocked[snapshot->down[i].cluster][snapshot->down[i].node] = true;
	for (uint32_t i = 0; i < snapshot->reservations_count; i++)
		for (uint32_t n = 0; n < snapshot->reservations[i].nodes_count; n++)
			event->blocked[snapshot->reservations[i].cluster]
				      [snapshot->reservations[i].nodes[n]] = true;
	add_jobs(event);
	if (snapshot->gate && isfinite(snapshot->budget_j)) {
		double committed_j = 0;

		for (uint32_t i = 0; i < snapshot->running_count; i++)
			committed_j += sched_allocation_committed_j(snapshot->system,
								    &snapshot->running[i],
								    snapshot->now_s);
		for (uint32_t i = 0; i < snapshot->reservations_count; i++)
			committed_j += sched_allocation_energy_j(snapshot->system,
								 &snapshot->reservations[i]);
		event->remaining_j = snapshot->budget_j - snapshot->consumed_j - committed_j;
	}
}

/* Whether a job of the beginning is on the nodes that it had then. */
static bool on_first_nodes(const struct job *job)
{
	return job->state == ON_NODES && job->first_nodes &&
	       memcmp(job->nodes, job->first_nodes, job->width * sizeof(uint32_t)) == 0;
}

/* Whether line `at` is undone by a later one: what counts is where tasks are in the end. */
static bool undone(const struct event *event, guint at)
{
	const struct line *line = &g_array_index(event->lines, struct line, at);
	const struct job *job = &event->jobs[line->job];
	guint last = 0; /* line of the last time that it was back on its first nodes, + 1 */

	if (on_first_nodes(job) || (line->suspend && !job->first_nodes))
		return true;
	for (guint i = 0; line->suspend && i < event->lines->len; i++) {
		const struct line *other = &g_array_index(event->lines, struct line, i);

		if (other->job == line->job && !other->suspend &&
		    memcmp(other->action.nodes, job->first_nodes, job->width * sizeof(uint32_t)) ==
			    0)
			last = i + 1;
	}
	if (line->suspend && at < last)
		return true;
	/* Of its suspensions since then the first one stays, of its places the last one. */
	for (guint i = line->suspend ? last : at + 1; i < (line->suspend ? at : event->lines->len);
	     i++)
		if (g_array_index(event->lines, struct line, i).job == line->job)
			return true;
	return false;
}

/* The drops, then what is left of the lines. */
static GArray *finish(struct event *event)
{
	GArray *actions = g_steal_pointer(&event->drops);

	for (guint i = 0; i < event->lines->len; i++) {
		struct line *line = &g_array_index(event->lines, struct line, i);

		if (undone(event, i))
			continue;
		g_array_append_val(actions, line->action);
		line->action.nodes = NULL;
	}
	for (guint i = 0; i < event->lines->len; i++)
		g_free((gpointer)g_array_index(event->lines, struct line, i).action.nodes);
	g_array_unref(event->lines);
	for (uint32_t i = 0; i < event->jobs_count; i++)
		g_free(event->jobs[i].nodes);
	for (uint32_t c = 0; c < event->snapshot->system->clusters_count; c++) {
		g_free(event->occupant[c]);
		g_free(event->blocked[c]);
	}
	g_free(event->jobs);
	g_free(event->occupant);
	g_free(event->blocked);
	return actions;
}

GArray *preempt_oracle_decide(const struct preempt_oracle *oracle)
{
	struct event event;

	begin(&event, oracle);
	drop(&event);
	if (oracle->preempt >= ORACLE_FCFS)
		take_in_order(&event, oracle->preempt == ORACLE_RANDOM);
	else
		while (step(&event)) {
		}
	return finish(&event);
}

void preempt_oracle_free(GArray *actions)
{
	for (guint i = 0; i < actions->len; i++)
		g_free((gpointer)g_array_index(actions, struct sched_action, i).nodes);
	g_array_unref(actions);
}
