/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/model.h"

#include <stdlib.h>
#include <string.h>

#define NAME(table, value)                                                                         \
	((size_t)(value) < sizeof(table) / sizeof((table)[0]) ? (table)[value] : NULL)

const char *const sched_action_kind_names[] = {
	[SCHED_ACTION_NONE] = "none",
	[SCHED_ACTION_START] = "start",
	[SCHED_ACTION_PLACEHOLDER] = "placeholder",
	[SCHED_ACTION_RESERVE] = "reserve",
	[SCHED_ACTION_DROP] = "drop",
	[SCHED_ACTION_SUSPEND] = "suspend",
	[SCHED_ACTION_RESUME] = "resume",
	[SCHED_ACTION_PLACE] = "place",
	[SCHED_ACTION_SHARE] = "share",
	[SCHED_ACTION_MIGRATE] = "migrate",
	[SCHED_ACTION_PAUSE] = "pause",
	[SCHED_ACTION_DEFER] = "defer",
	[SCHED_ACTION_ENQUEUE] = "enqueue",
	NULL,
};

const char *const sched_reason_names[] = {
	[SCHED_REASON_NONE] = "none",
	[SCHED_REASON_BEST_UTIL] = "best-util",
	[SCHED_REASON_BEST_UPT] = "best-upt",
	[SCHED_REASON_BEST_UPR] = "best-upr",
	[SCHED_REASON_BEST_UPE] = "best-upe",
	[SCHED_REASON_FIRST] = "first",
	[SCHED_REASON_BACKFILL] = "backfill",
	[SCHED_REASON_HEAD] = "head",
	[SCHED_REASON_EARLIEST] = "earliest",
	[SCHED_REASON_CHANCE] = "chance",
	[SCHED_REASON_WORTHLESS] = "worthless",
	[SCHED_REASON_THRESHOLD] = "threshold",
	[SCHED_REASON_PREEMPTS] = "preempts",
	[SCHED_REASON_GOES_FIRST] = "goes-first",
	[SCHED_REASON_GIVES_WAY] = "gives-way",
	[SCHED_REASON_LEAST_LOADED] = "least-loaded",
	[SCHED_REASON_PACKED] = "packed",
	[SCHED_REASON_YIELD] = "yield",
	[SCHED_REASON_PRIORITY] = "priority",
	[SCHED_REASON_NO_MEMORY] = "no-memory",
	[SCHED_REASON_LIKELIEST] = "likeliest",
	[SCHED_REASON_MIN_COMPLETION] = "min-completion",
	[SCHED_REASON_SOONEST_DEADLINE] = "soonest-deadline",
	[SCHED_REASON_MOST_URGENT] = "most-urgent",
	[SCHED_REASON_MOST_ON_TIME] = "most-on-time",
	[SCHED_REASON_DEADLINE] = "deadline",
	[SCHED_REASON_PRUNED] = "pruned",
	[SCHED_REASON_OUTSIDE] = "outside",
	NULL,
};

static const char *const reason_texts[] = {
	[SCHED_REASON_NONE] = "no reason",
	[SCHED_REASON_BEST_UTIL] = "highest utility of all options",
	[SCHED_REASON_BEST_UPT] = "highest utility per execution time of all options",
	[SCHED_REASON_BEST_UPR] = "highest utility per core-second of all options",
	[SCHED_REASON_BEST_UPE] = "highest utility per joule of all options",
	[SCHED_REASON_FIRST] = "next in order of arrival, and nodes are free",
	[SCHED_REASON_BACKFILL] = "fits now without delaying a reservation",
	[SCHED_REASON_HEAD] = "first task that has to wait: gets the one reservation",
	[SCHED_REASON_EARLIEST] = "earliest start over all clusters",
	[SCHED_REASON_CHANCE] = "cluster and P-state drawn at random",
	[SCHED_REASON_WORTHLESS] = "can earn nothing any more, even on its fastest cluster",
	[SCHED_REASON_THRESHOLD] = "can earn only less than the dropping threshold",
	[SCHED_REASON_PREEMPTS] = "worth more than the tasks on these nodes, which are suspended",
	[SCHED_REASON_GOES_FIRST] =
		"it and the tasks on these nodes earn no less, with +algorithm-3 more, if it goes "
		"first",
	[SCHED_REASON_GIVES_WAY] = "suspended: its nodes go to another task",
	[SCHED_REASON_LEAST_LOADED] = "hosts with the lowest CPU load that have the memory",
	[SCHED_REASON_PACKED] = "where the packing of all tasks puts it",
	[SCHED_REASON_YIELD] = "its share follows the load of the hosts",
	[SCHED_REASON_PRIORITY] = "the lowest priority, and no packing has room for it too",
	[SCHED_REASON_NO_MEMORY] = "the hosts have too little memory for all of its VMs",
	[SCHED_REASON_LIKELIEST] = "the first to end of the tasks that are likely to be on time",
	[SCHED_REASON_MIN_COMPLETION] = "the lowest expected completion time",
	[SCHED_REASON_SOONEST_DEADLINE] = "the soonest deadline of the tasks that end first here",
	[SCHED_REASON_MOST_URGENT] = "the most urgent of the tasks that end first here",
	[SCHED_REASON_MOST_ON_TIME] = "first in the order that has most tasks on time",
	[SCHED_REASON_DEADLINE] = "its deadline has passed",
	[SCHED_REASON_PRUNED] = "its chance to be on time is no higher than the threshold",
	[SCHED_REASON_OUTSIDE] = "as its program decided",
};

const char *const sched_refusal_names[] = {
	[SCHED_REFUSAL_TAKEN] = "taken",
	[SCHED_REFUSAL_LOWER] = "lower",
	[SCHED_REFUSAL_LATER] = "later",
	[SCHED_REFUSAL_NO_UTILITY] = "no-utility",
	[SCHED_REFUSAL_AFTER_END] = "after-end",
	[SCHED_REFUSAL_NO_NODES] = "no-nodes",
	[SCHED_REFUSAL_RESERVED] = "reserved",
	[SCHED_REFUSAL_NOT_DRAWN] = "not-drawn",
	[SCHED_REFUSAL_ENERGY] = "energy",
	[SCHED_REFUSAL_FILTERED] = "filtered",
	[SCHED_REFUSAL_OVERTAKES] = "overtakes",
	[SCHED_REFUSAL_BUSY] = "busy",
	[SCHED_REFUSAL_NOT_WORTH] = "not-worth",
	[SCHED_REFUSAL_GOES_SECOND] = "goes-second",
	[SCHED_REFUSAL_MEMORY] = "memory",
	[SCHED_REFUSAL_DEFERRED] = "deferred",
	[SCHED_REFUSAL_PERIOD] = "period",
	[SCHED_REFUSAL_PRIORITY] = "priority",
	[SCHED_REFUSAL_UNLIKELY] = "unlikely",
	[SCHED_REFUSAL_QUEUE_FULL] = "queue-full",
	NULL,
};

static const char *const refusal_texts[] = {
	[SCHED_REFUSAL_TAKEN] = "taken",
	[SCHED_REFUSAL_LOWER] = "a lower objective",
	[SCHED_REFUSAL_LATER] = "a later start, or as early in a later cluster",
	[SCHED_REFUSAL_NO_UTILITY] = "would earn nothing",
	[SCHED_REFUSAL_AFTER_END] = "would start after the end",
	[SCHED_REFUSAL_NO_NODES] = "too few nodes are up",
	[SCHED_REFUSAL_RESERVED] = "would have to wait, and the one reservation is taken",
	[SCHED_REFUSAL_NOT_DRAWN] = "another option was drawn",
	[SCHED_REFUSAL_ENERGY] = "needs more than the energy that remains",
	[SCHED_REFUSAL_FILTERED] = "above the fair share of energy",
	[SCHED_REFUSAL_OVERTAKES] = "would overtake an earlier task",
	[SCHED_REFUSAL_BUSY] = "too few nodes are idle or may be taken from other tasks",
	[SCHED_REFUSAL_NOT_WORTH] = "the tasks there are worth as much, or with Pair earn as much",
	[SCHED_REFUSAL_GOES_SECOND] =
		"it and the tasks there earn more, with +algorithm-3 no less, if those go first",
	[SCHED_REFUSAL_MEMORY] = "too little memory on the hosts",
	[SCHED_REFUSAL_DEFERRED] = "it is deferred, and its time has not come",
	[SCHED_REFUSAL_PERIOD] = "waits for the next periodic event",
	[SCHED_REFUSAL_PRIORITY] = "the lowest priority, and no packing has room for it too",
	[SCHED_REFUSAL_UNLIKELY] = "its chance to be on time is below the threshold",
	[SCHED_REFUSAL_QUEUE_FULL] = "the queue is full",
};

static const char *const fault_texts[] = {
	[SCHED_SYSTEM_OK] = "well formed",
	[SCHED_SYSTEM_MEMORY] = "out of memory",
	[SCHED_SYSTEM_CLUSTER] = "the cluster has no nodes, cores or P-states",
	[SCHED_SYSTEM_ESTIMATE] = "an estimate is not a finite number, its time not above 0 or its "
				  "energy below 0",
	[SCHED_SYSTEM_WIDTH] = "the type needs more nodes than the cluster has",
};

const char *sched_action_kind_name(enum sched_action_kind kind)
{
	return NAME(sched_action_kind_names, kind);
}

const char *sched_reason_text(enum sched_reason reason)
{
	return NAME(reason_texts, reason);
}

const char *sched_refusal_text(enum sched_refusal refusal)
{
	return NAME(refusal_texts, refusal);
}

const char *sched_system_fault_text(enum sched_system_fault fault)
{
	return NAME(fault_texts, fault);
}

static bool allocate(struct sched_system *system)
{
	const size_t rows = system->rows_count;
	const size_t cells = rows * system->columns_count;

	system->clusters = calloc(system->clusters_count + 1, sizeof(*system->clusters));
	system->row_names = calloc(rows + 1, sizeof(*system->row_names));
	system->etc_s = calloc(cells + 1, sizeof(*system->etc_s));
	system->eec_j = calloc(cells + 1, sizeof(*system->eec_j));
	system->nodes = calloc(rows * system->clusters_count + 1, sizeof(*system->nodes));
	if (!system->clusters || !system->row_names || !system->etc_s || !system->eec_j ||
	    !system->nodes)
		return false;
	for (size_t i = 0; i < cells; i++)
		system->etc_s[i] = NAN;
	return true;
}

struct sched_system *sched_system_new(const struct sched_cluster *clusters, uint32_t clusters_count,
				      uint32_t rows_count)
{
	struct sched_system *system = calloc(1, sizeof(*system));

	if (!system)
		return NULL;
	system->clusters_count = clusters_count;
	system->rows_count = rows_count;
	for (uint32_t c = 0; c < clusters_count; c++)
		system->columns_count += clusters[c].pstates;
	if (!allocate(system)) {
		sched_system_free(system);
		return NULL;
	}
	uint32_t column = 0;

	for (uint32_t c = 0; c < clusters_count; c++) {
		system->clusters[c] = clusters[c];
		system->clusters[c].column = column;
		column += clusters[c].pstates;
	}
	return system;
}

void sched_system_free(struct sched_system *system)
{
	if (!system)
		return;
	free(system->clusters);
	free(system->row_names);
	free(system->etc_s);
	free(system->eec_j);
	free(system->nodes);
	free(system->options);
	free(system->options_first);
	free(system->etc_min_s);
	free(system->rows);
	free(system->groups);
	free(system);
}

/* Appends the options of a row in one cluster to the `*count` options so far. */
static enum sched_system_fault add_options(struct sched_system *system, uint32_t row,
					   uint32_t cluster, uint32_t *count)
{
	const struct sched_cluster *c = &system->clusters[cluster];
	const uint32_t nodes = system->nodes[row * system->clusters_count + cluster];

	for (uint32_t pstate = 0; pstate < c->pstates; pstate++) {
		const size_t cell = (size_t)row * system->columns_count + c->column + pstate;
		const double etc_s = system->etc_s[cell];
		const double eec_j = system->eec_j[cell];

		if (isnan(etc_s) || nodes == 0)
			continue;
		if (!isfinite(etc_s) || etc_s <= 0 || !isfinite(eec_j) || eec_j < 0)
			return SCHED_SYSTEM_ESTIMATE;
		if (nodes > c->nodes)
			return SCHED_SYSTEM_WIDTH;
		system->options[(*count)++] = (struct sched_option){
			.cluster = cluster,
			.pstate = pstate,
			.nodes = nodes,
			.etc_s = etc_s,
			.eec_j = eec_j,
			.resources = etc_s * nodes * c->cores,
		};
		if (!(etc_s >= system->etc_min_s[row]))
			system->etc_min_s[row] = etc_s;
	}
	return SCHED_SYSTEM_OK;
}

/* Computes the ranges of the options of a row. */
static void find_span(struct sched_system *system, uint32_t row)
{
	struct sched_row *span = &system->rows[row];
	uint32_t clusters = 0;

	*span = (struct sched_row){.resources_min = INFINITY, .eec_min_j = INFINITY};
	for (uint32_t i = system->options_first[row]; i < system->options_first[row + 1]; i++) {
		const struct sched_option *option = &system->options[i];

		span->resources_min = fmin(span->resources_min, option->resources);
		span->eec_min_j = fmin(span->eec_min_j, option->eec_j);
		span->eec_max_j = fmax(span->eec_max_j, option->eec_j);
		if (option->pstate == 0) {
			span->resources_mean += option->resources;
			span->eec_mean_j += option->eec_j;
			clusters++;
		}
	}
	if (clusters > 0) {
		span->resources_mean /= clusters;
		span->eec_mean_j /= clusters;
	}
	system->resources_max = fmax(system->resources_max, span->resources_mean);
}

/* Joins the groups of all clusters that can run a row. */
static void join_groups(struct sched_system *system, uint32_t row)
{
	uint32_t count;
	const struct sched_option *options = sched_system_options(system, row, &count);

	for (uint32_t i = 1; i < count; i++) {
		const uint32_t from = system->groups[options[i].cluster];
		const uint32_t to = system->groups[options[0].cluster];

		for (uint32_t c = 0; from != to && c < system->clusters_count; c++)
			if (system->groups[c] == from)
				system->groups[c] = to;
	}
}

/* Numbers the groups from 0, in cluster order. */
static void number_groups(struct sched_system *system)
{
	for (uint32_t c = 0; c < system->clusters_count; c++) {
		const uint32_t old = system->groups[c];

		if (old < system->clusters_count)
			continue; /* the group was numbered with an earlier cluster */
		for (uint32_t d = c; d < system->clusters_count; d++)
			if (system->groups[d] == old)
				system->groups[d] = system->groups_count;
		system->groups_count++;
	}
}

static enum sched_system_fault finish_row(struct sched_system *system, uint32_t row,
					  uint32_t *count)
{
	system->options_first[row] = *count;
	system->etc_min_s[row] = INFINITY;
	for (uint32_t cluster = 0; cluster < system->clusters_count; cluster++) {
		const enum sched_system_fault fault = add_options(system, row, cluster, count);

		if (fault != SCHED_SYSTEM_OK)
			return fault;
	}
	system->options_first[row + 1] = *count;
	find_span(system, row);
	return SCHED_SYSTEM_OK;
}

enum sched_system_fault sched_system_finish(struct sched_system *system, uint32_t *ret_index)
{
	enum sched_system_fault fault = SCHED_SYSTEM_OK;
	uint32_t count = 0;
	uint32_t at = 0;

	for (uint32_t c = 0; fault == SCHED_SYSTEM_OK && c < system->clusters_count; c++) {
		const struct sched_cluster *cluster = &system->clusters[c];

		at = c;
		if (cluster->nodes == 0 || cluster->cores == 0 || cluster->pstates == 0)
			fault = SCHED_SYSTEM_CLUSTER;
	}
	if (fault == SCHED_SYSTEM_OK) {
		const size_t cells = (size_t)system->rows_count * system->columns_count;

		system->options = calloc(cells + 1, sizeof(*system->options));
		system->options_first =
			calloc(system->rows_count + 1, sizeof(*system->options_first));
		system->etc_min_s = calloc(system->rows_count + 1, sizeof(*system->etc_min_s));
		system->rows = calloc(system->rows_count + 1, sizeof(*system->rows));
		system->groups = calloc(system->clusters_count + 1, sizeof(*system->groups));
		if (!system->options || !system->options_first || !system->etc_min_s ||
		    !system->rows || !system->groups)
			fault = SCHED_SYSTEM_MEMORY;
		/* Start with group numbers above those that number_groups() assigns. */
		for (uint32_t c = 0; system->groups && c < system->clusters_count; c++)
			system->groups[c] = system->clusters_count + c;
	}
	for (uint32_t row = 0; fault == SCHED_SYSTEM_OK && row < system->rows_count; row++) {
		at = row;
		fault = finish_row(system, row, &count);
		if (fault == SCHED_SYSTEM_OK)
			join_groups(system, row);
	}
	if (fault == SCHED_SYSTEM_OK)
		number_groups(system);
	for (uint32_t row = 0; fault == SCHED_SYSTEM_OK && row < system->rows_count; row++) {
		const struct sched_option *options = sched_system_options(system, row, &count);

		if (count > 0)
			system->rows[row].group = system->groups[options->cluster];
	}
	if (ret_index && fault != SCHED_SYSTEM_OK)
		*ret_index = at;
	return fault;
}

uint32_t sched_system_cluster(const struct sched_system *system, const char *name)
{
	for (uint32_t c = 0; c < system->clusters_count; c++)
		if (strcmp(system->clusters[c].name, name) == 0)
			return c;
	return UINT32_MAX;
}

const struct sched_option *sched_system_option(const struct sched_system *system, uint32_t row,
					       uint32_t cluster, uint32_t pstate)
{
	uint32_t count;
	const struct sched_option *options = sched_system_options(system, row, &count);

	for (uint32_t i = 0; i < count; i++)
		if (options[i].cluster == cluster && options[i].pstate == pstate)
			return &options[i];
	return NULL;
}

double sched_allocation_committed_j(const struct sched_system *system,
				    const struct sched_allocation *running, double now_s)
{
	const struct sched_option *option =
		sched_system_option(system, running->task->row, running->cluster, running->pstate);

	if (!option)
		return 0;
	return option->eec_j *
	       fmax(0, 1 - (running->executed_s + (now_s - running->start_s)) / option->etc_s);
}

double sched_allocation_energy_j(const struct sched_system *system,
				 const struct sched_allocation *planned)
{
	const struct sched_option *option =
		sched_system_option(system, planned->task->row, planned->cluster, planned->pstate);

	return option ? option->eec_j : 0;
}
