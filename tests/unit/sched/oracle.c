/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/sched/oracle.h"

#include <math.h>
#include <string.h>

#include "common/random.h"

bool oracle_take(struct oracle_cluster *cluster, const uint32_t *nodes, uint32_t count,
		 double start_s, double end_s)
{
	const struct oracle_interval taken = { start_s, end_s };
	bool free = true;

	for (uint32_t i = 0; i < count; i++) {
		GArray *busy = cluster->busy[nodes[i]];

		for (guint j = 0; j < busy->len; j++) {
			const struct oracle_interval *other =
				&g_array_index(busy, struct oracle_interval, j);

			free &= other->end_s <= start_s || other->start_s >= end_s;
		}
		g_array_append_val(busy, taken);
	}
	return free;
}

struct oracle_cluster *oracle_clusters_new(const struct sched_snapshot *snapshot)
{
	const struct sched_system *system = snapshot->system;
	struct oracle_cluster *clusters = g_new0(struct oracle_cluster, system->clusters_count);

	for (uint32_t c = 0; c < system->clusters_count; c++) {
		clusters[c].nodes = system->clusters[c].nodes;
		clusters[c].busy = g_new(GArray *, clusters[c].nodes);
		for (uint32_t n = 0; n < clusters[c].nodes; n++)
			clusters[c].busy[n] =
				g_array_new(FALSE, FALSE, sizeof(struct oracle_interval));
	}
	for (uint32_t i = 0; i < snapshot->running_count; i++) {
		const struct sched_running *r = &snapshot->running[i];

		oracle_take(&clusters[r->cluster], r->nodes, r->nodes_count, r->start_s, r->end_s);
	}
	for (uint32_t i = 0; i < snapshot->reservations_count; i++) {
		const struct sched_planned *p = &snapshot->reservations[i];

		oracle_take(&clusters[p->cluster], p->nodes, p->nodes_count, p->start_s, p->end_s);
	}
	for (uint32_t i = 0; i < snapshot->down_count; i++)
		oracle_take(&clusters[snapshot->down[i].cluster], &snapshot->down[i].node, 1,
			    snapshot->now_s, (double)INFINITY);
	return clusters;
}

void oracle_clusters_free(struct oracle_cluster *clusters, const struct sched_system *system)
{
	for (uint32_t c = 0; c < system->clusters_count; c++) {
		for (uint32_t n = 0; n < clusters[c].nodes; n++)
			g_array_unref(clusters[c].busy[n]);
		g_free(clusters[c].busy);
	}
	g_free(clusters);
}

/* A node as a candidate for [start_s, end_s). */
struct candidate {
	uint32_t node;
	int voids;
	double size_s;
};

/* False when the node is busy then. */
static bool judge(const struct oracle_cluster *cluster, uint32_t node, double now_s, double start_s,
		  double end_s, struct candidate *ret_candidate)
{
	const GArray *busy = cluster->busy[node];
	double last_s = now_s;
	double next_s = (double)INFINITY;

	for (guint i = 0; i < busy->len; i++) {
		const struct oracle_interval *other =
			&g_array_index(busy, struct oracle_interval, i);

		if (other->start_s < end_s && other->end_s > start_s)
			return false;
		if (other->end_s <= start_s)
			last_s = fmax(last_s, other->end_s);
		else
			next_s = fmin(next_s, other->start_s);
	}
	ret_candidate->node = node;
	ret_candidate->voids = (start_s > last_s) + (isfinite(next_s) && next_s > end_s);
	ret_candidate->size_s = (isfinite(next_s) ? next_s : start_s) - last_s;
	return true;
}

static bool is_better(const struct candidate *a, const struct candidate *b)
{
	if (a->voids != b->voids)
		return a->voids < b->voids;
	if (a->size_s != b->size_s)
		return a->size_s < b->size_s;
	return a->node < b->node;
}

static int compare_nodes(const void *left, const void *right)
{
	return *(const uint32_t *)left < *(const uint32_t *)right ? -1 : 1;
}

/* Chooses nodes for a given start by picking the best one `width` times. */
static bool choose(const struct oracle_cluster *cluster, double now_s, double start_s,
		   uint32_t width, double duration_s, uint32_t *ret_nodes)
{
	g_autofree struct candidate *candidates = g_new(struct candidate, cluster->nodes);
	uint32_t count = 0;

	for (uint32_t node = 0; node < cluster->nodes; node++)
		if (judge(cluster, node, now_s, start_s, start_s + duration_s, &candidates[count]))
			count++;
	if (count < width)
		return false;
	for (uint32_t i = 0; i < width; i++) {
		uint32_t best = i;

		for (uint32_t j = i + 1; j < count; j++)
			if (is_better(&candidates[j], &candidates[best]))
				best = j;

		const struct candidate chosen = candidates[best];

		candidates[best] = candidates[i];
		candidates[i] = chosen;
		ret_nodes[i] = chosen.node;
	}
	qsort(ret_nodes, width, sizeof(*ret_nodes), compare_nodes);
	return true;
}

double oracle_earliest(const struct oracle_cluster *cluster, double now_s, uint32_t width,
		       double duration_s, uint32_t *ret_nodes)
{
	double tried_s = -(double)INFINITY;

	for (double start_s = now_s; isfinite(start_s);) {
		if (choose(cluster, now_s, start_s, width, duration_s, ret_nodes))
			return start_s;
		tried_s = start_s;
		start_s = (double)INFINITY;
		for (uint32_t node = 0; node < cluster->nodes; node++) {
			const GArray *busy = cluster->busy[node];

			for (guint i = 0; i < busy->len; i++) {
				const double end_s =
					g_array_index(busy, struct oracle_interval, i).end_s;

				if (end_s > tried_s && end_s < start_s)
					start_s = end_s;
			}
		}
	}
	return (double)INFINITY;
}

/* A mapping event in progress. */
struct oracle {
	const struct policy *policy;
	const struct sched_snapshot *snapshot;
	struct oracle_cluster *clusters;
	GPtrArray *tasks; /* still to be mapped */
	GArray *actions;
	uint32_t *nodes;  /* of the last start found */
};

static double start_of(struct oracle *oracle, const struct sched_option *option)
{
	return oracle_earliest(&oracle->clusters[option->cluster], oracle->snapshot->now_s,
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
		.utility = utility_value(&task->utility, start_s + option->etc_s - task->arrival_s),
		.objective = objective,
	};

	g_array_append_val(oracle->actions, action);
	oracle_take(&oracle->clusters[option->cluster], action.nodes, action.nodes_count, start_s,
		    action.end_s);
	g_ptr_array_remove(oracle->tasks, (gpointer)task);
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
			best = fmax(best, utility_value(&task->utility, snapshot->now_s +
									 options[j].etc_s -
									 task->arrival_s));
		if (best > 0 && best >= oracle->policy->drop_threshold) {
			g_ptr_array_add(oracle->tasks, (gpointer)task);
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

static void greedy(struct oracle *oracle, char measure)
{
	const struct sched_snapshot *snapshot = oracle->snapshot;
	const struct sched_task *best_task;

	do {
		const struct sched_option *best_option = NULL;
		double best = 0;

		best_task = NULL;
		for (guint i = 0; i < oracle->tasks->len; i++) {
			const struct sched_task *task = g_ptr_array_index(oracle->tasks, i);
			uint32_t count;
			const struct sched_option *options =
				sched_system_options(snapshot->system, task->row, &count);

			for (uint32_t j = 0; j < count; j++) {
				const double start_s = start_of(oracle, &options[j]);
				const double utility = utility_value(
					&task->utility,
					start_s + options[j].etc_s - task->arrival_s);
				const double v = value(measure, utility, &options[j]);

				if (!(start_s < snapshot->end_s) || utility <= 0 || !(v > best))
					continue;
				best = v;
				best_task = task;
				best_option = &options[j];
			}
		}
		if (best_task)
			place(oracle, best_task, best_option, best);
	} while (best_task);
}

static void fcfs(struct oracle *oracle, uint32_t reservations)
{
	g_autoptr(GPtrArray) tasks = g_ptr_array_copy(oracle->tasks, NULL, NULL);

	for (guint i = 0; i < tasks->len; i++) {
		const struct sched_task *task = g_ptr_array_index(tasks, i);
		const struct sched_option *best = NULL;
		double best_s = (double)INFINITY;
		uint32_t count;
		const struct sched_option *options =
			sched_system_options(oracle->snapshot->system, task->row, &count);

		for (uint32_t j = 0; j < count; j++) {
			const double start_s = start_of(oracle, &options[j]);

			if (options[j].pstate == 0 && start_s < best_s) {
				best = &options[j];
				best_s = start_s;
			}
		}
		if (!best || best_s >= oracle->snapshot->end_s)
			continue;
		if (best_s > oracle->snapshot->now_s) {
			if (reservations == 0)
				continue;
			reservations--;
		}
		place(oracle, task, best, 0);
	}
}

static void dice(struct oracle *oracle)
{
	g_autoptr(GPtrArray) tasks = g_ptr_array_copy(oracle->tasks, NULL, NULL);
	struct random_stream random;

	random_stream_init(&random, oracle->snapshot->seed, oracle->snapshot->event);
	for (guint i = 0; i < tasks->len; i++) {
		const struct sched_task *task = g_ptr_array_index(tasks, i);
		uint32_t count;
		const struct sched_option *options =
			sched_system_options(oracle->snapshot->system, task->row, &count);
		const struct sched_option *option =
			&options[random_stream_below(&random, count)];

		if (start_of(oracle, option) < oracle->snapshot->end_s)
			place(oracle, task, option, 0);
	}
}

static bool above_goal(const struct sched_snapshot *snapshot)
{
	double sum_j = snapshot->consumed_j;

	if (isinf(snapshot->budget_j))
		return false;
	for (uint32_t i = 0; i < snapshot->running_count; i++)
		sum_j += sched_running_committed_j(snapshot->system, &snapshot->running[i],
						   snapshot->now_s);
	for (uint32_t i = 0; i < snapshot->reservations_count; i++)
		sum_j += sched_planned_energy_j(snapshot->system, &snapshot->reservations[i]);
	for (uint32_t i = 0; i < snapshot->placeholders_count; i++)
		sum_j += sched_planned_energy_j(snapshot->system, &snapshot->placeholders[i]);
	return sum_j > snapshot->budget_j * (snapshot->now_s - snapshot->day_start_s) /
			       (snapshot->end_s - snapshot->day_start_s);
}

static void decide(struct oracle *oracle)
{
	const char *name = oracle->policy->ops->name;

	if (strcmp(name, "easy") == 0)
		fcfs(oracle, oracle->snapshot->reservations_count > 0 ? 0 : 1);
	else if (strcmp(name, "conservative") == 0)
		fcfs(oracle, UINT32_MAX);
	else if (strcmp(name, "random") == 0)
		dice(oracle);
	else if (strcmp(name, "max-util") == 0)
		greedy(oracle, 'U');
	else if (strcmp(name, "max-upt") == 0)
		greedy(oracle, 'T');
	else if (strcmp(name, "max-upr") == 0)
		greedy(oracle, 'R');
	else if (strcmp(name, "max-upe") == 0)
		greedy(oracle, 'E');
	else if (strcmp(name, "event-based") == 0)
		greedy(oracle, above_goal(oracle->snapshot) ? 'E' : 'R');
	else
		g_error("the oracle does not know policy \"%s\"", name);
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
		.tasks = g_ptr_array_new(),
		.actions = g_array_new(FALSE, FALSE, sizeof(struct sched_action)),
	};
	uint32_t widest = 0;

	g_array_set_clear_func(oracle.actions, clear_action);
	for (uint32_t c = 0; c < snapshot->system->clusters_count; c++)
		widest = MAX(widest, snapshot->system->clusters[c].nodes);
	oracle.nodes = g_new(uint32_t, widest);
	drop(&oracle);
	decide(&oracle);
	oracle_clusters_free(oracle.clusters, snapshot->system);
	g_ptr_array_unref(oracle.tasks);
	g_free(oracle.nodes);
	return oracle.actions;
}
