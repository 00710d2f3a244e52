/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/measure/run_profile_schedule.h"

#include "controller/workload/workload.h"

/* Streams of the seed without another use. */
#define SHUFFLE_STREAM 1000000

static bool fits(const struct run_profile_schedule *bench, uint32_t type)
{
	const struct config_type *one = &bench->config->types[type];

	return !config_type_is_script(one) && config_type_fits(one, bench->cluster);
}

static uint32_t width(const struct run_profile_schedule *bench, uint32_t type)
{
	return workload_nodes(&bench->config->types[type], bench->cluster);
}

static bool arrives(const struct run_profile_schedule *bench, uint32_t type)
{
	return bench->config->types[type].share > 0;
}

/* Fisher and Yates, for the items from `first` on. */
static void shuffle(GArray *list, guint first, struct random_stream *random)
{
	struct run_wanted *items = (struct run_wanted *)(void *)list->data + first;

	for (guint i = list->len - first; i > 1; i--) {
		guint j = (guint)random_stream_below(random, i);
		struct run_wanted kept = items[i - 1];

		items[i - 1] = items[j];
		items[j] = kept;
	}
}

/* Adds one measurement in this round of each type that does, or does not, arrive. */
static void add_round(struct run_profile_schedule *bench, uint32_t round, bool arriving)
{
	const guint first = bench->wanted->len;

	for (uint32_t type = 0; type < bench->config->types_count; type++) {
		struct run_wanted wanted = {type, round};

		if (fits(bench, type) && arrives(bench, type) == arriving)
			g_array_append_val(bench->wanted, wanted);
	}
	shuffle(bench->wanted, first, &bench->random);
}

void run_profile_schedule_init(struct run_profile_schedule *bench, const struct config *config,
			       uint32_t cluster, uint32_t repeats)
{
	*bench = (struct run_profile_schedule){
		.config = config,
		.cluster = &config->clusters[cluster],
		.index = cluster,
		.wanted = g_array_new(FALSE, FALSE, sizeof(struct run_wanted)),
	};
	bench->tasks = g_new(uint32_t, workload_cluster_nodes(bench->cluster));
	for (uint32_t i = 0; i < workload_cluster_nodes(bench->cluster); i++)
		bench->tasks[i] = RUN_NO_TASK;
	bench->made = g_new0(struct run_wanted, workload_cluster_nodes(bench->cluster));
	bench->cold = g_new0(bool, workload_cluster_nodes(bench->cluster));
	bench->down = g_new0(bool, workload_cluster_nodes(bench->cluster));
	bench->evicted = g_new0(bool, workload_cluster_nodes(bench->cluster));
	bench->warm = g_new0(bool, workload_cluster_nodes(bench->cluster) * config->types_count);
	bench->missing = g_new0(uint32_t, config->types_count);
	bench->given_up = g_new0(bool, config->types_count);
	random_stream_init(&bench->random, config->workload->seed, SHUFFLE_STREAM + cluster);
	for (uint32_t round = 0; round < repeats; round++) {
		add_round(bench, round, true);
		if (round == 0 || round == repeats / 2)
			add_round(bench, round, false);
	}
	bench->left = bench->wanted->len;
	for (guint i = 0; i < bench->wanted->len; i++)
		bench->missing[g_array_index(bench->wanted, struct run_wanted, i).type]++;
}

void run_profile_schedule_clear(struct run_profile_schedule *bench)
{
	g_array_unref(bench->wanted);
	g_free(bench->tasks);
	g_free(bench->made);
	g_free(bench->cold);
	g_free(bench->down);
	g_free(bench->evicted);
	g_free(bench->warm);
	g_free(bench->missing);
	g_free(bench->given_up);
}

static bool is_idle(const struct run_profile_schedule *bench, uint32_t node)
{
	return bench->tasks[node] == RUN_NO_TASK;
}

static uint32_t room(const struct run_profile_schedule *bench)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < workload_cluster_nodes(bench->cluster); i++)
		count += is_idle(bench, i) && !bench->down[i];
	return count;
}

/* Whether the node has completed a task of the type's benchmark since it booted. */
static bool *warm(const struct run_profile_schedule *bench, uint32_t node, uint32_t type)
{
	return &bench->warm[node * bench->config->types_count + type];
}

/*
 * Whether the type makes its VMs swap, so that the next task is slower, and no run has such a task.
 */
static bool evicts(const struct run_profile_schedule *bench, uint32_t type)
{
	const struct config_type *one = &bench->config->types[type];

	return !arrives(bench, type) &&
	       one->memory_mib > width(bench, type) * bench->cluster->memory_mib;
}

static bool is_cold(const struct run_profile_schedule *bench, uint32_t node, uint32_t type)
{
	return !*warm(bench, node, type) || (bench->evicted[node] && !evicts(bench, type));
}

/* Updates the state of a node after a task that completed. */
static void set_warm(struct run_profile_schedule *bench, uint32_t node, uint32_t type)
{
	const struct config_type *types = bench->config->types;

	bench->evicted[node] = evicts(bench, type);
	for (uint32_t i = 0; i < bench->config->types_count; i++)
		if (g_str_equal(types[i].benchmark, types[type].benchmark))
			*warm(bench, node, i) = true;
}

/* Starting. */

static uint32_t start(struct run_profile_schedule *bench, struct run_wanted what, uint32_t task,
		      uint32_t *ret_nodes)
{
	uint32_t count = 0;

	for (uint32_t i = 0; count < width(bench, what.type); i++) {
		if (!is_idle(bench, i) || bench->down[i])
			continue;
		bench->tasks[i] = task;
		bench->made[i] = what;
		bench->cold[i] = is_cold(bench, i, what.type);
		ret_nodes[count++] = i;
	}
	return count;
}

uint32_t run_profile_schedule_start(struct run_profile_schedule *bench, uint32_t task,
				    uint32_t *ret_nodes)
{
	const struct run_wanted *first = (const struct run_wanted *)(void *)bench->wanted->data;

	for (guint i = 0; i < bench->wanted->len && first[i].round == first->round; i++) {
		const struct run_wanted wanted = first[i];

		if (width(bench, wanted.type) > room(bench))
			continue;
		g_array_remove_index(bench->wanted, i);
		return start(bench, wanted, task, ret_nodes);
	}
	return 0;
}

uint32_t run_profile_schedule_fill(struct run_profile_schedule *bench, uint32_t task,
				   uint32_t *ret_nodes)
{
	struct run_wanted chosen = {.round = RUN_NO_ROUND};
	double sum = 0;

	if (bench->wanted->len)
		return 0;
	for (uint32_t type = 0; type < bench->config->types_count; type++) {
		double share = bench->config->types[type].share;

		if (!arrives(bench, type) || !fits(bench, type) || bench->given_up[type] ||
		    width(bench, type) > room(bench))
			continue;
		sum += share;
		if (random_stream_uniform(&bench->random) * sum < share)
			chosen.type = type;
	}
	return sum > 0 ? start(bench, chosen, task, ret_nodes) : 0;
}

/* Ends of tasks. */

static void count_made(struct run_profile_schedule *bench, uint32_t type)
{
	bench->missing[type]--;
	bench->left--;
}

/* Puts a measurement back, as the last of its round. */
static void put_back(struct run_profile_schedule *bench, struct run_wanted wanted)
{
	guint place = 0;

	while (place < bench->wanted->len &&
	       g_array_index(bench->wanted, struct run_wanted, place).round <= wanted.round)
		place++;
	g_array_insert_val(bench->wanted, place, wanted);
}

struct run_wanted run_profile_schedule_made(const struct run_profile_schedule *bench, uint32_t task)
{
	uint32_t node = 0;

	while (bench->tasks[node] != task)
		node++;
	return bench->made[node];
}

bool run_profile_schedule_end(struct run_profile_schedule *bench, uint32_t task, bool completed)
{
	const struct run_wanted made = run_profile_schedule_made(bench, task);
	bool counts = completed;

	for (uint32_t i = 0; i < workload_cluster_nodes(bench->cluster); i++) {
		if (bench->tasks[i] != task)
			continue;
		bench->tasks[i] = RUN_NO_TASK;
		counts = counts && !bench->cold[i];
		if (completed)
			set_warm(bench, i, made.type);
	}
	if (bench->given_up[made.type])
		return false;
	if (made.round != RUN_NO_ROUND && counts)
		count_made(bench, made.type);
	if (made.round != RUN_NO_ROUND && !counts)
		put_back(bench, made);
	return counts;
}

void run_profile_schedule_recall(struct run_profile_schedule *bench, uint32_t type, uint32_t round)
{
	for (guint i = 0; i < bench->wanted->len; i++) {
		const struct run_wanted *one = &g_array_index(bench->wanted, struct run_wanted, i);

		if (one->type != type || one->round != round)
			continue;
		g_array_remove_index(bench->wanted, i);
		count_made(bench, type);
		return;
	}
}

uint32_t run_profile_schedule_give_up(struct run_profile_schedule *bench, uint32_t type)
{
	const uint32_t count = bench->missing[type];

	bench->given_up[type] = true;
	bench->missing[type] = 0;
	bench->left -= count;
	for (guint i = bench->wanted->len; i > 0; i--)
		if (g_array_index(bench->wanted, struct run_wanted, i - 1).type == type)
			g_array_remove_index(bench->wanted, i - 1);
	return count;
}

bool run_profile_schedule_is_stuck(const struct run_profile_schedule *bench)
{
	const struct run_wanted *first = (const struct run_wanted *)(void *)bench->wanted->data;

	for (uint32_t i = 0; i < workload_cluster_nodes(bench->cluster); i++)
		if (!is_idle(bench, i))
			return false;
	for (guint i = 0; i < bench->wanted->len && first[i].round == first->round; i++)
		if (width(bench, first[i].type) <= room(bench))
			return false;
	return bench->left > 0;
}

bool run_profile_schedule_lacks_nodes(const struct run_profile_schedule *bench, uint32_t type)
{
	uint32_t up = 0;

	for (uint32_t i = 0; i < workload_cluster_nodes(bench->cluster); i++)
		up += !bench->down[i];
	return bench->missing[type] > 0 && width(bench, type) > up;
}

void run_profile_schedule_node_down(struct run_profile_schedule *bench, uint32_t node)
{
	bench->down[node] = true;
	for (uint32_t i = 0; i < bench->config->types_count; i++)
		*warm(bench, node, i) = false;
}

void run_profile_schedule_node_up(struct run_profile_schedule *bench, uint32_t node)
{
	bench->down[node] = false;
}
