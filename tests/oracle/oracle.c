/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/oracle/oracle.h"

#include <math.h>
#include <string.h>

#include "common/random.h"
#include "tests/oracle/printed.h"

/* A mapping event in progress. */
struct oracle {
	const struct policy *policy;
	const struct sched_snapshot *snapshot;
	struct oracle_cluster *clusters;
	/* the same, and with +reserve-now what may not be started on */
	struct oracle_cluster *starts;
	GPtrArray *tasks; /* still to be mapped */
	GArray *actions;
	uint32_t *nodes;   /* of the last start found */
	uint32_t mappable; /* tasks that were not dropped, with the sums of their averages: */
	double mappable_j;
	double mappable_resources;
	double fixed_share; /* of +filter-once; NAN: not found yet */
};

static const struct sched_option *options_of(const struct oracle *oracle,
					     const struct sched_task *task, uint32_t *ret_count)
{
	return sched_system_options(oracle->snapshot->system, task->row, ret_count);
}

/* Energy that remains after all that runs, is reserved, or was placed. */
static double remaining_j(const struct oracle *oracle)
{
	const struct sched_snapshot *snapshot = oracle->snapshot;
	double committed_j = 0;
	double left_j;

	for (uint32_t i = 0; i < snapshot->running_count; i++)
		committed_j += sched_allocation_committed_j(snapshot->system, &snapshot->running[i],
							    snapshot->now_s);
	for (uint32_t i = 0; i < snapshot->reservations_count; i++)
		committed_j +=
			sched_allocation_energy_j(snapshot->system, &snapshot->reservations[i]);
	left_j = snapshot->budget_j - snapshot->consumed_j - committed_j;
	for (guint i = 0; i < oracle->actions->len; i++)
		left_j -= g_array_index(oracle->actions, struct sched_action, i).energy_j;
	return left_j;
}

/* Equation (6): every node's time until the end of the day in which nothing holds it. */
static double remaining_resources(const struct oracle *oracle)
{
	const struct sched_snapshot *snapshot = oracle->snapshot;
	double sum = 0;

	for (uint32_t c = 0; c < snapshot->system->clusters_count; c++)
		for (uint32_t n = 0; n < oracle->clusters[c].nodes; n++) {
			const GArray *busy = oracle->clusters[c].busy[n];
			double free_s = snapshot->end_s - snapshot->now_s;

			for (guint i = 0; i < busy->len; i++) {
				const struct oracle_interval *held =
					&g_array_index(busy, struct oracle_interval, i);

				free_s -= fmax(0, fmin(held->end_s, snapshot->end_s) -
							  fmax(held->start_s, snapshot->now_s));
			}
			sum += free_s * snapshot->system->clusters[c].cores;
		}
	return sum;
}

/* The fair share of energy, equations (7) to (9). */
static double share(const struct oracle *oracle)
{
	const struct policy *policy = oracle->policy;
	const struct sched_snapshot *snapshot = oracle->snapshot;
	const double left_j = remaining_j(oracle);
	const double resources = remaining_resources(oracle);
	double mean_j = oracle->mappable_j / oracle->mappable;
	double mean_resources = oracle->mappable_resources / oracle->mappable;

	if (printed_compare(snapshot->budget_j - left_j, snapshot->budget_j) >= 0)
		return 0;
	if (policy->filter == POLICY_FILTER_RESOURCE)
		return policy->leniency * (left_j / resources);
	if (snapshot->completed_count > 0) {
		mean_j = snapshot->completed_j / snapshot->completed_count;
		mean_resources = snapshot->completed_resources / snapshot->completed_count;
	}
	return policy->leniency * (left_j / fmin(resources / mean_resources, left_j / mean_j));
}

/* Whether energy allows an option, as things stand. */
static bool allowed(struct oracle *oracle, const struct sched_option *option)
{
	const struct policy *policy = oracle->policy;
	const double budget_j = oracle->snapshot->budget_j;
	double limit;

	if (isinf(oracle->snapshot->budget_j))
		return true;
	if (oracle->snapshot->gate &&
	    printed_compare(budget_j - remaining_j(oracle) + option->eec_j, budget_j) > 0)
		return false;
	if (policy->filter == POLICY_FILTER_NONE)
		return true;
	limit = policy->filter_once && !isnan(oracle->fixed_share) ? oracle->fixed_share
								   : share(oracle);
	return printed_compare(policy->filter == POLICY_FILTER_RESOURCE
				       ? option->eec_j / option->resources
				       : option->eec_j,
			       limit) <= 0;
}

static double start_of(struct oracle *oracle, const struct sched_option *option)
{
	return oracle_earliest(&oracle->starts[option->cluster], oracle->snapshot->now_s,
			       option->nodes, option->etc_s, oracle->nodes);
}

static void place(struct oracle *oracle, const struct sched_task *task,
		  const struct sched_option *option, double objective)
{
	const double start_s = start_of(oracle, option);
	const bool now = start_s == oracle->snapshot->now_s;
	const struct sched_action action = {
		.kind = now ? SCHED_ACTION_START
			: oracle->policy->future == POLICY_FUTURE_RESERVATIONS
				? SCHED_ACTION_RESERVE
				: SCHED_ACTION_PLACEHOLDER,
		.task = task->id,
		.cluster = option->cluster,
		.pstate = option->pstate,
		.nodes_count = option->nodes,
		.nodes = g_memdup2(oracle->nodes, option->nodes * sizeof(uint32_t)),
		.start_s = start_s,
		.end_s = start_s + option->etc_s,
		.energy_j = option->eec_j,
		.utility = sched_task_utility(task, start_s + option->etc_s),
		.objective = objective,
	};

	g_array_append_val(oracle->actions, action);
	oracle_take(&oracle->clusters[option->cluster], action.nodes, action.nodes_count, start_s,
		    action.end_s);
	oracle_take(&oracle->starts[option->cluster], action.nodes, action.nodes_count,
		    oracle->policy->reserve_now ? oracle->snapshot->now_s : start_s, action.end_s);
	g_ptr_array_remove(oracle->tasks, (gpointer)task);
}

/* The task's energy and resources at P-state 0, averaged over its clusters. */
static void count_mappable(struct oracle *oracle, const struct sched_option *options,
			   uint32_t count)
{
	double energy_j = 0;
	double resources = 0;
	uint32_t clusters = 0;

	for (uint32_t i = 0; i < count; i++)
		if (options[i].pstate == 0) {
			energy_j += options[i].eec_j;
			resources += options[i].resources;
			clusters++;
		}
	oracle->mappable++;
	oracle->mappable_j += energy_j / clusters;
	oracle->mappable_resources += resources / clusters;
}

static void drop(struct oracle *oracle)
{
	const struct sched_snapshot *snapshot = oracle->snapshot;

	for (uint32_t i = 0; i < snapshot->waiting_count; i++) {
		const struct sched_task *task = snapshot->waiting[i];
		double best = 0;
		uint32_t count;
		const struct sched_option *options =
			sched_system_options(snapshot->system, task->row, &count);

		for (uint32_t j = 0; j < count; j++)
			best = fmax(best,
				    sched_task_utility(task, snapshot->now_s + options[j].etc_s));
		if (oracle->policy->drop_given
			    ? printed_compare(best, oracle->policy->drop_threshold) >= 0
			    : best > 0) {
			g_ptr_array_add(oracle->tasks, (gpointer)task);
			count_mappable(oracle, options, count);
		} else {
			const struct sched_action action = {
				.kind = SCHED_ACTION_DROP,
				.task = task->id,
				.objective = best,
			};

			g_array_append_val(oracle->actions, action);
		}
	}
}

static double value(char measure, double utility, const struct sched_option *option)
{
	switch (measure) {
	case 'T':
		return utility / option->etc_s;
	case 'R':
		return utility / option->resources;
	case 'E':
		return utility / option->eec_j;
	default:
		return utility;
	}
}

/* Places the best option of all tasks. False when there is none. */
static bool greedy_step(struct oracle *oracle, char measure)
{
	const struct sched_snapshot *snapshot = oracle->snapshot;
	const struct sched_task *best_task = NULL;
	const struct sched_option *best_option = NULL;
	double best = 0;

	for (guint i = 0; i < oracle->tasks->len; i++) {
		const struct sched_task *task = g_ptr_array_index(oracle->tasks, i);
		uint32_t count;
		const struct sched_option *options = options_of(oracle, task, &count);

		for (uint32_t j = 0; j < count; j++) {
			const double start_s = start_of(oracle, &options[j]);
			const double utility = sched_task_utility(task, start_s + options[j].etc_s);
			const double v = value(measure, utility, &options[j]);

			if (!(start_s < snapshot->end_s) || utility <= 0 ||
			    printed_compare(v, best) <= 0 || !allowed(oracle, &options[j]))
				continue;
			best = v;
			best_task = task;
			best_option = &options[j];
		}
	}
	if (best_task)
		place(oracle, best_task, best_option, best);
	return best_task;
}

static void greedy(struct oracle *oracle, char measure)
{
	while (greedy_step(oracle, measure)) {
	}
}

/* The cluster where a task can start earliest at P-state 0, or NULL. */
static const struct sched_option *earliest(struct oracle *oracle, const struct sched_task *task,
					   double *ret_start_s)
{
	const struct sched_option *best = NULL;
	uint32_t count;
	const struct sched_option *options = options_of(oracle, task, &count);

	*ret_start_s = (double)INFINITY;
	for (uint32_t j = 0; j < count; j++) {
		const double start_s = start_of(oracle, &options[j]);

		if (options[j].pstate == 0 && printed_compare(start_s, *ret_start_s) < 0 &&
		    allowed(oracle, &options[j])) {
			best = &options[j];
			*ret_start_s = start_s;
		}
	}
	return best;
}

/* Takes one task in its turn. Returns whether it was placed. */
static bool fcfs_step(struct oracle *oracle, const struct sched_task *task, uint32_t *reservations)
{
	double start_s;
	const struct sched_option *best = earliest(oracle, task, &start_s);

	if (!best || start_s >= oracle->snapshot->end_s)
		return false;
	if (start_s > oracle->snapshot->now_s) {
		if (*reservations == 0)
			return false;
		--*reservations;
	}
	place(oracle, task, best, 0);
	return true;
}

static void backfill(struct oracle *oracle, uint32_t reservations)
{
	g_autoptr(GPtrArray) tasks = g_ptr_array_copy(oracle->tasks, NULL, NULL);

	for (guint i = 0; i < tasks->len; i++)
		fcfs_step(oracle, g_ptr_array_index(tasks, i), &reservations);
}

/* Nothing overtakes: up to and with the first task that does not start now. */
static void fcfs(struct oracle *oracle)
{
	g_autoptr(GPtrArray) tasks = g_ptr_array_copy(oracle->tasks, NULL, NULL);
	uint32_t one = 1;

	for (guint i = 0; oracle->snapshot->reservations_count == 0 && one == 1 && i < tasks->len;
	     i++)
		if (!fcfs_step(oracle, g_ptr_array_index(tasks, i), &one))
			return;
}

/* Average resources at P-state 0. */
static double size_of(const struct sched_system *system, uint32_t row)
{
	double sum = 0;
	uint32_t clusters = 0;
	uint32_t count;
	const struct sched_option *options = sched_system_options(system, row, &count);

	for (uint32_t i = 0; i < count; i++)
		if (options[i].pstate == 0) {
			sum += options[i].resources;
			clusters++;
		}
	return sum / clusters;
}

static void queues(struct oracle *oracle)
{
	static const guint turns[] = {8, 4, 1};
	const struct sched_system *system = oracle->snapshot->system;
	GQueue lists[3] = {G_QUEUE_INIT, G_QUEUE_INIT, G_QUEUE_INIT};
	uint32_t many = UINT32_MAX;
	double largest = 0;

	for (uint32_t row = 0; row < system->rows_count; row++)
		largest = fmax(largest, size_of(system, row));
	for (guint i = 0; i < oracle->tasks->len; i++) {
		struct sched_task *task = g_ptr_array_index(oracle->tasks, i);
		const double size = size_of(system, task->row);

		g_queue_push_tail(&lists[printed_compare(size, 0.3 * largest) < 0   ? 0
					 : printed_compare(size, 0.6 * largest) > 0 ? 2
										    : 1],
				  task);
	}
	while (lists[0].length + lists[1].length + lists[2].length > 0)
		for (int list = 2; list >= 0; list--)
			for (guint turn = 0; turn < turns[list] && lists[list].length > 0;)
				turn += fcfs_step(oracle, g_queue_pop_head(&lists[list]), &many);
}

static void dice(struct oracle *oracle)
{
	g_autoptr(GPtrArray) tasks = g_ptr_array_copy(oracle->tasks, NULL, NULL);
	struct random_stream random;

	random_stream_init(&random, oracle->snapshot->seed, oracle->snapshot->event);
	for (guint i = 0; i < tasks->len; i++) {
		const struct sched_task *task = g_ptr_array_index(tasks, i);
		g_autoptr(GPtrArray) left = g_ptr_array_new();
		uint32_t count;
		const struct sched_option *options = options_of(oracle, task, &count);
		const struct sched_option *option;

		for (uint32_t j = 0; j < count; j++)
			if (allowed(oracle, &options[j]))
				g_ptr_array_add(left, (gpointer)&options[j]);
		if (left->len == 0)
			continue;
		option = g_ptr_array_index(left, random_stream_below(&random, left->len));
		if (start_of(oracle, option) < oracle->snapshot->end_s)
			place(oracle, task, option, 0);
	}
}

/* Energy consumed and committed, without place-holders. */
static double committed_j(const struct sched_snapshot *snapshot)
{
	double sum_j = snapshot->consumed_j;

	for (uint32_t i = 0; i < snapshot->running_count; i++)
		sum_j += sched_allocation_committed_j(snapshot->system, &snapshot->running[i],
						      snapshot->now_s);
	for (uint32_t i = 0; i < snapshot->reservations_count; i++)
		sum_j += sched_allocation_energy_j(snapshot->system, &snapshot->reservations[i]);
	return sum_j;
}

static double goal_of(const struct sched_snapshot *snapshot)
{
	return snapshot->budget_j * (snapshot->now_s - snapshot->day_start_s) /
	       (snapshot->end_s - snapshot->day_start_s);
}

static bool above_goal(const struct sched_snapshot *snapshot)
{
	double sum_j = committed_j(snapshot);

	for (uint32_t i = 0; i < snapshot->placeholders_count; i++)
		sum_j += sched_allocation_energy_j(snapshot->system, &snapshot->placeholders[i]);
	return isfinite(snapshot->budget_j) && printed_compare(sum_j, goal_of(snapshot)) > 0;
}

static void task_based(struct oracle *oracle)
{
	const struct sched_snapshot *snapshot = oracle->snapshot;
	bool above = above_goal(snapshot);
	double sum_j = committed_j(snapshot);

	while (greedy_step(oracle, above ? 'E' : 'R')) {
		sum_j += g_array_index(oracle->actions, struct sched_action,
				       oracle->actions->len - 1)
				 .energy_j;
		above |= isfinite(snapshot->budget_j) &&
			 printed_compare(sum_j, goal_of(snapshot)) >= 0;
	}
}

static void easy(struct oracle *oracle)
{
	backfill(oracle, oracle->snapshot->reservations_count > 0 ? 0 : 1);
}

static void conservative(struct oracle *oracle)
{
	backfill(oracle, UINT32_MAX);
}

static void max_util(struct oracle *oracle)
{
	greedy(oracle, 'U');
}

static void max_upt(struct oracle *oracle)
{
	greedy(oracle, 'T');
}

static void max_upr(struct oracle *oracle)
{
	greedy(oracle, 'R');
}

static void max_upe(struct oracle *oracle)
{
	greedy(oracle, 'E');
}

static void event_based(struct oracle *oracle)
{
	greedy(oracle, above_goal(oracle->snapshot) ? 'E' : 'R');
}

/* What the oracle knows. */
static const struct known {
	const char *name;
	void (*decide)(struct oracle *oracle);
} known[] = {
	{"fcfs", fcfs},
	{"easy", easy},
	{"conservative", conservative},
	{"fcfs-multi-queue", queues},
	{"random", dice},
	{"max-util", max_util},
	{"max-upt", max_upt},
	{"max-upr", max_upr},
	{"max-upe", max_upe},
	{"event-based", event_based},
	{"task-based", task_based},
};

static const struct known *find_known(const struct policy_ops *ops)
{
	for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
		if (strcmp(ops->name, known[i].name) == 0)
			return &known[i];
	return NULL;
}

bool oracle_knows(const struct policy_ops *ops)
{
	return find_known(ops);
}

static void decide(struct oracle *oracle)
{
	const struct known *policy = find_known(oracle->policy->ops);

	if (!policy)
		g_error("the oracle does not know policy \"%s\"", oracle->policy->ops->name);
	policy->decide(oracle);
}

static void clear_action(gpointer data)
{
	g_free((gpointer)((struct sched_action *)data)->nodes);
}

GArray *oracle_decide(const struct policy *policy, const struct sched_snapshot *snapshot)
{
	struct oracle oracle = {
		.policy = policy,
		.snapshot = snapshot,
		.clusters = oracle_clusters_new(snapshot),
		.starts = oracle_clusters_new(snapshot),
		.tasks = g_ptr_array_new(),
		.actions = g_array_new(FALSE, FALSE, sizeof(struct sched_action)),
		.fixed_share = (double)NAN,
	};
	uint32_t widest = 0;

	g_array_set_clear_func(oracle.actions, clear_action);
	for (uint32_t c = 0; c < snapshot->system->clusters_count; c++)
		widest = MAX(widest, snapshot->system->clusters[c].nodes);
	oracle.nodes = g_new(uint32_t, widest);
	for (uint32_t i = 0; policy->reserve_now && i < snapshot->reservations_count; i++) {
		const struct sched_allocation *p = &snapshot->reservations[i];

		oracle_take(&oracle.starts[p->cluster], p->nodes, p->nodes_count, snapshot->now_s,
			    p->start_s);
	}
	drop(&oracle);
	if (policy->filter_once)
		oracle.fixed_share = share(&oracle);
	decide(&oracle);
	oracle_clusters_free(oracle.clusters, snapshot->system);
	oracle_clusters_free(oracle.starts, snapshot->system);
	g_ptr_array_unref(oracle.tasks);
	g_free(oracle.nodes);
	return oracle.actions;
}
