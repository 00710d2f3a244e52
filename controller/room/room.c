/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/room/room.h"

#include <gio/gio.h>
#include <math.h>

const char *const room_kind_names[] = {"estimates", "noise",    "more load",
				       "less load", "overhead", NULL};

/* From one size to the next the difference should change its sign at most once. */
static const double sizes[] = {0.02, 0.04, 0.08, 0.12, 0.16, 0.2,
			       0.25, 0.3,  0.4,  0.5,  0.7,  ROOM_MOST};

#define TOLERANCE 0.05
#define LEVEL 0.95

/* Of the draws behind the errors; any will do, as long as it stays. */
#define ERROR_SEED UINT64_C(0x726f6f6d)

/* The measure of one policy at one size: limits x trials. */
struct column {
	double *values; /* NULL: not simulated */
};

/* What was simulated at a size. */
struct level {
	double size;
	struct column *columns; /* per policy */
};

/* A search. */
struct finding {
	const struct room_setup *setup;
	enum room_kind kind;
	double unit_s;
	GArray *levels; /* struct level, of this kind */
	const struct room_pair *pair;
	uint64_t runs;
};

static void clear_level(struct level *level, uint32_t policies)
{
	for (uint32_t i = 0; i < policies; i++)
		g_free(level->columns[i].values);
	g_free(level->columns);
}

/* Forgets what was simulated with an error; all kinds share what was simulated without. */
static void forget_errors(struct finding *finding)
{
	for (guint i = finding->levels->len; i-- > 0;) {
		struct level *level = &g_array_index(finding->levels, struct level, i);

		if (level->size == 0)
			continue;
		clear_level(level, finding->setup->experiment->policies_count);
		g_array_remove_index_fast(finding->levels, i);
	}
}

static struct level *level_at(struct finding *finding, double size)
{
	struct level level = {.size = size};

	for (guint i = 0; i < finding->levels->len; i++)
		if (g_array_index(finding->levels, struct level, i).size == size)
			return &g_array_index(finding->levels, struct level, i);
	level.columns = g_new0(struct column, finding->setup->experiment->policies_count);
	g_array_append_val(finding->levels, level);
	return &g_array_index(finding->levels, struct level, finding->levels->len - 1);
}

static struct experiment_change change_of(const struct finding *finding, double size)
{
	struct experiment_change change = {.error.seed = ERROR_SEED, .load = 1};

	switch (finding->kind) {
	case ROOM_ESTIMATES:
		change.error.estimate_sd = size;
		break;
	case ROOM_NOISE:
		change.error.noise_sd = size;
		break;
	case ROOM_MORE_LOAD:
		change.load = 1 + size;
		break;
	case ROOM_LESS_LOAD:
		change.load = 1 / (1 + size);
		break;
	case ROOM_OVERHEAD:
		change.error.overhead_s = size * finding->unit_s;
		break;
	}
	return change;
}

static bool show(uint32_t done, uint32_t trials, void *data)
{
	const struct finding *finding = data;
	const struct room_setup *setup = finding->setup;

	return !setup->progress ||
	       setup->progress(finding->runs + done, finding->kind, setup->data);
}

/* Fills the column of a policy at a size. */
static bool simulate(struct finding *finding, uint32_t policy, double size, struct column *column,
		     GError **error)
{
	const struct room_setup *setup = finding->setup;
	const struct experiment_change change = change_of(finding, size);
	struct experiment alone = *setup->experiment;
	const struct trials trials = {
		.experiment = &alone,
		.seed = setup->seed,
		.trials = setup->trials,
		.jobs = setup->jobs,
		.limits_j = setup->limits_j,
		.limits_count = setup->limits_count,
		.change = &change,
		.progress = show,
		.data = finding,
	};
	g_autofree struct engine_result *results = NULL;

	alone.policies = &setup->experiment->policies[policy];
	alone.policies_count = 1;
	results = trials_run(&trials, error);
	if (!results)
		return false;
	column->values = g_new(double, (size_t)setup->limits_count * setup->trials);
	for (uint32_t limit = 0; limit < setup->limits_count; limit++) {
		for (uint32_t trial = 0; trial < setup->trials; trial++) {
			const struct engine_result *result =
				trials_result(&trials, results, trial, 0, limit);

			column->values[(size_t)limit * setup->trials + trial] =
				!setup->by_stretch        ? result->utility
				: result->stretch_max > 0 ? -result->stretch_mean
							  : (double)NAN;
		}
	}
	finding->runs += setup->trials;
	if (show(0, 0, finding))
		return true;
	g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_CANCELLED, "stopped");
	return false;
}

/* The values of a policy at a size and the pair's limit, per trial; NULL with `error`. */
static const double *values_at(struct finding *finding, uint32_t policy, double size,
			       GError **error)
{
	struct column *column = &level_at(finding, size)->columns[policy];

	if (!column->values && !simulate(finding, policy, size, column, error))
		return NULL;
	return column->values + (size_t)finding->pair->limit * finding->setup->trials;
}

/* Positive: the first policy is better. */
static bool difference(void *data, double size, struct stats_interval *ret_difference,
		       GError **error)
{
	struct finding *finding = data;
	const uint32_t trials = finding->setup->trials;
	const double *first = values_at(finding, finding->pair->first, size, error);
	const double *second =
		first ? values_at(finding, finding->pair->second, size, error) : NULL;
	g_autofree double *differences = g_new(double, trials);
	uint32_t count = 0;

	if (!second)
		return false;
	for (uint32_t i = 0; i < trials; i++)
		if (isfinite(first[i] - second[i]))
			differences[count++] = first[i] - second[i];
	*ret_difference = stats_t_interval(differences, count, LEVEL);
	return true;
}

static struct flip_search search_of(struct finding *finding)
{
	return (struct flip_search){
		.sizes = sizes,
		.sizes_count = G_N_ELEMENTS(sizes),
		.tolerance = TOLERANCE,
		.difference = difference,
		.data = finding,
	};
}

double room_overhead_unit_s(const struct experiment *experiment)
{
	const struct sched_system *system = experiment->system;
	double sum_s = 0;
	uint32_t count = 0;

	for (uint32_t row = 0; row < system->rows_count; row++) {
		if (!isfinite(system->etc_min_s[row]))
			continue;
		sum_s += system->etc_min_s[row];
		count++;
	}
	return count > 0 ? sum_s / count : 0;
}

uint64_t room_most_runs(const struct room_setup *setup, uint32_t pairs)
{
	const struct flip_search search = search_of(NULL);
	const uint64_t policies = setup->experiment->policies_count;
	uint64_t grid = 0, within = 0, longest = 0;
	double lower = 0;

	for (uint32_t i = 0; i < search.sizes_count; i++) {
		const uint32_t halvings = flip_halvings(&search, lower, search.sizes[i]);

		lower = search.sizes[i];
		grid++;
		within += (UINT64_C(1) << halvings) - 1;
		longest = MAX(longest, halvings);
	}
	/* A pair is halved for three ends and simulates two policies; what all halve is finite. */
	within = MIN(within * policies, 3 * longest * 2 * pairs);
	return (policies + ROOM_KINDS * (grid * policies + within)) * setup->trials;
}

bool room_find(const struct room_setup *setup, struct room_pair *pairs, uint32_t count,
	       uint64_t *ret_runs, GError **error)
{
	struct finding finding = {
		.setup = setup,
		.unit_s = room_overhead_unit_s(setup->experiment),
		.levels = g_array_new(FALSE, FALSE, sizeof(struct level)),
	};
	bool good = true;

	for (uint32_t kind = 0; good && kind < ROOM_KINDS; kind++) {
		const struct flip_search search = search_of(&finding);

		finding.kind = (enum room_kind)kind;
		for (uint32_t i = 0; good && i < count; i++) {
			finding.pair = &pairs[i];
			good = flip_find(&search, &pairs[i].flips[kind], error);
		}
		forget_errors(&finding);
	}
	for (guint i = 0; i < finding.levels->len; i++)
		clear_level(&g_array_index(finding.levels, struct level, i),
			    setup->experiment->policies_count);
	g_array_unref(finding.levels);
	*ret_runs = finding.runs;
	return good;
}
