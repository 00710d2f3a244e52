/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/attribution/attribution.h"

#include <math.h>
#include <string.h>

#include "common/error_fail.h"
#include "controller/attribution/because.h"
#include "controller/attribution/shapley.h"
#include "controller/experiment/batch.h"
#include "controller/report/arrivals.h"

#define LEVEL 0.95

/* Simulations for the parts, if the caller does not say. */
#define MOST 10000

/* Simulations for intervals, and the repeats of a single run that these are for. */
enum { MOST_FOR_INTERVALS = 20000, REPEATS_MIN = 10, REPEATS_MAX = 40 };

G_DEFINE_QUARK(attribution_error_quark, attribution_error)

const char *attribution_measure_key(int measure)
{
	return measure == ATTRIBUTION_RANK ? "rank" : measure_keys[measure];
}

const char *attribution_measure_title(int measure)
{
	return measure == ATTRIBUTION_RANK ? "rank" : measure_titles[measure];
}

/* The simulations of a cell with all sets of causes: of a run, or of a simulated repeat of it. */
struct piece {
	guint cell;
	guint run;       /* of the cell, from 0 */
	uint32_t repeat; /* 0: the run itself */
	bool noise;      /* a repeat with the noise of measuring alone */
	uint32_t simulations;
	double (*values)[MEASURES]; /* by set */
};

/* What is known of a cell beside its results. */
struct cell_work {
	struct policy policy;
	double simulated_j;
	GPtrArray *stored;   /* struct store_run: the measured runs, in order of their repeat */
	GPtrArray *observed; /* struct observed_run of these, borrowed */
	cause_set causes;    /* that matter to it */
	guint first;         /* its first piece */
	guint noise;         /* its first piece with noise alone; they come last */
};

struct work {
	const struct compare *compare;
	struct config *configs[2]; /* of the measured and of the simulated side */
	struct experiment *experiments[2];
	GArray *trials[2]; /* struct experiment_trial */
	struct observed *observed;
	struct replica replica;
	struct shapley_plan *plan;
	GArray *cells;    /* struct cell_work */
	GArray *pieces;   /* struct piece */
	GPtrArray *names; /* char *, borrowed: the policies */
	struct attribution *attribution;
};

static void work_clear(struct work *work)
{
	for (guint i = 0; work->pieces && i < work->pieces->len; i++)
		g_free(g_array_index(work->pieces, struct piece, i).values);
	for (guint i = 0; work->cells && i < work->cells->len; i++) {
		g_ptr_array_unref(g_array_index(work->cells, struct cell_work, i).stored);
		g_ptr_array_unref(g_array_index(work->cells, struct cell_work, i).observed);
	}
	g_clear_pointer(&work->pieces, g_array_unref);
	g_clear_pointer(&work->cells, g_array_unref);
	g_clear_pointer(&work->names, g_ptr_array_unref);
	g_clear_pointer(&work->plan, shapley_plan_free);
	observed_free(work->observed);
	for (int i = 0; i < 2; i++) {
		for (guint k = 0; work->trials[i] && k < work->trials[i]->len; k++)
			experiment_trial_clear(
				&g_array_index(work->trials[i], struct experiment_trial, k));
		g_clear_pointer(&work->trials[i], g_array_unref);
		experiment_free(work->experiments[i]);
		config_free(work->configs[i]);
	}
}

static const struct summary *summary_of(const struct work *work, int side)
{
	return work->compare->sides->side[side].summary;
}

/* Experiments and their trials. */

/* The policies that both sides ran and this build knows; the others are noted. */
static bool find_policies(struct work *work, GError **error)
{
	const GPtrArray *policies = summary_of(work, 0)->policies;

	work->names = g_ptr_array_new();
	for (guint i = 0; i < policies->len; i++) {
		char *name = policies->pdata[i];
		struct policy policy;
		bool common = false;

		for (guint k = 0; k < summary_of(work, 1)->policies->len; k++)
			common |= g_str_equal(summary_of(work, 1)->policies->pdata[k], name);
		if (common && policy_parse(name, &policy, NULL, 0) == 0)
			g_ptr_array_add(work->names, name);
		else if (common)
			g_ptr_array_add(work->attribution->left_out, g_strdup(name));
	}
	g_ptr_array_add(work->names, NULL);
	return work->names->len > 1 ||
	       error_fail(error, ATTRIBUTION_ERROR, ATTRIBUTION_ERROR_POLICIES,
			  "%s: this build knows none of the policies that both sides ran",
			  summary_of(work, 0)->dir);
}

static bool load_side(struct work *work, int side, GError **error)
{
	const struct summary *summary = summary_of(work, side);
	g_autofree char *overheads = store_get_meta(summary->store, "overheads");

	work->configs[side] = summary_config(summary, error);
	if (!work->configs[side])
		return false;
	work->experiments[side] =
		experiment_new(work->configs[side], (const char *const *)work->names->pdata, error);
	if (!work->experiments[side])
		return false;
	if (g_strcmp0(overheads, "0") == 0)
		experiment_drop_overheads(work->experiments[side]);
	return true;
}

static bool check_systems(const struct work *work, GError **error)
{
	const struct sched_system *a = work->experiments[0]->system;
	const struct sched_system *b = work->experiments[1]->system;
	bool same = a->clusters_count == b->clusters_count && a->rows_count == b->rows_count &&
		    a->columns_count == b->columns_count &&
		    !work->experiments[0]->shared == !work->experiments[1]->shared &&
		    !a->queueing == !b->queueing;

	for (uint32_t i = 0; same && i < a->clusters_count; i++)
		same = g_str_equal(a->clusters[i].name, b->clusters[i].name) &&
		       a->clusters[i].nodes == b->clusters[i].nodes;
	for (uint32_t i = 0; same && i < a->rows_count; i++)
		same = g_str_equal(a->row_names[i], b->row_names[i]);
	return same || error_fail(error, ATTRIBUTION_ERROR, ATTRIBUTION_ERROR_SYSTEM,
				  "%s and %s have other clusters or types of tasks, so that no "
				  "cause can be switched from one to the other",
				  summary_of(work, 0)->dir, summary_of(work, 1)->dir);
}

static bool add_trial(struct work *work, int side, uint64_t seed, uint32_t number, GError **error)
{
	struct experiment_trial trial;

	if (!experiment_trial_init(work->experiments[side], seed, number, &trial, error))
		return false;
	g_array_append_val(work->trials[side], trial);
	return true;
}

/* The trials by which the simulation is judged. */
static bool load_trials(struct work *work, GError **error)
{
	const struct summary *simulated = summary_of(work, 1);
	const struct store_run *first = simulated->runs->pdata[0];
	const struct store_run *measured = summary_of(work, 0)->runs->pdata[0];
	g_autoptr(GPtrArray) runs = NULL;

	for (int i = 0; i < 2; i++)
		work->trials[i] = g_array_new(FALSE, FALSE, sizeof(struct experiment_trial));
	if (!add_trial(work, 0, measured->seed, 1, error))
		return false;
	if (work->compare->same_arrivals)
		return add_trial(work, 1, first->seed, 1, error);
	runs = summary_cell_runs(simulated, first->policy, first->limit);
	for (guint i = 0; i < runs->len; i++) {
		const struct store_run *run = runs->pdata[i];

		if (!add_trial(work, 1, run->seed, run->repeat, error))
			return false;
	}
	return true;
}

static struct replica_side side_of(const struct work *work, int side)
{
	return (struct replica_side){
		.experiment = work->experiments[side],
		.trials = (const struct experiment_trial *)(const void *)work->trials[side]->data,
		.trials_count = work->trials[side]->len,
	};
}

/* Cells. */

static const struct observed_run *observed_of(const struct work *work,
					      const struct store_run *stored)
{
	for (guint i = 0; i < work->observed->runs->len; i++) {
		const struct observed_run *run = work->observed->runs->pdata[i];

		if (run->run == stored)
			return run;
	}
	return NULL;
}

static bool knows(const struct work *work, const char *policy)
{
	for (guint i = 0; i + 1 < work->names->len; i++)
		if (g_str_equal(work->names->pdata[i], policy))
			return true;
	return false;
}

static void add_cell(struct work *work, const struct summary_cell *measured,
		     const struct summary_cell *simulated)
{
	struct attribution_cell cell = {.policy = measured->policy,
					.limit = measured->limit,
					.runs = measured->runs};
	struct cell_work more = {
		.simulated_j = simulated->limit_j,
		.stored = summary_cell_runs(summary_of(work, 0), measured->policy, measured->limit),
		.observed = g_ptr_array_new(),
	};

	policy_parse(measured->policy, &more.policy, NULL, 0);
	for (guint i = 0; i < more.stored->len; i++) {
		const struct observed_run *run = observed_of(work, more.stored->pdata[i]);

		g_ptr_array_add(more.observed, (void *)run);
		work->attribution->has_moments |= run->has_moments;
	}
	g_array_append_val(work->attribution->cells, cell);
	g_array_append_val(work->cells, more);
}

static void add_cells(struct work *work)
{
	const struct summary *measured = summary_of(work, 0);

	for (guint i = 0; i < measured->cells_count; i++) {
		const struct summary_cell *cell = &measured->cells[i];
		const struct summary_cell *simulated =
			cell->runs ? summary_cell(summary_of(work, 1), cell->policy, cell->limit)
				   : NULL;

		if (simulated && knows(work, cell->policy))
			add_cell(work, cell, simulated);
	}
}

static struct cell_work *work_of(const struct work *work, guint cell)
{
	return &g_array_index(work->cells, struct cell_work, cell);
}

static struct attribution_cell *cell_of(const struct work *work, guint cell)
{
	return &g_array_index(work->attribution->cells, struct attribution_cell, cell);
}

static double limit_of(const struct cell_work *cell)
{
	return ((const struct store_run *)cell->stored->pdata[0])->limit_j;
}

/* The causes that matter to a cell: some policies never suspend, and few runs lose an attempt. */
static bool find_causes(const struct work *work, guint index, GError **error)
{
	struct cell_work *cell = work_of(work, index);
	const struct replica_run run = {
		.policy = &cell->policy,
		.observed = cell->observed->pdata[0],
		.measured_j = limit_of(cell),
		.simulated_j = cell->simulated_j,
	};
	double values[MEASURES];
	bool lost = false, suspended, also;

	cell->causes = work->replica.possible;
	if (!replica_simulate(&work->replica, &run, 0, values, &suspended, error) ||
	    !replica_simulate(&work->replica, &run, work->replica.possible, values, &also, error))
		return false;
	suspended |= also;
	for (guint i = 0; i < cell->observed->len; i++) {
		const struct observed_run *observed = cell->observed->pdata[i];

		lost |= observed->losses->len || observed->nodes->len;
		suspended |= observed->steps->len > 0;
	}
	if (!lost)
		cell->causes &= ~(1u << CAUSE_LOST);
	if (!suspended)
		cell->causes &= ~(1u << CAUSE_SUSPENSION);
	if (limit_of(cell) != cell->simulated_j)
		cell->causes |= 1u << CAUSE_METERING;
	return true;
}

/* The causes that matter to any cell. */
static bool find_all_causes(struct work *work, GError **error)
{
	for (guint i = 0; i < work->cells->len; i++) {
		if (!find_causes(work, i, error))
			return false;
		work->attribution->causes |= work_of(work, i)->causes;
	}
	return true;
}

/* Pieces. */

/* The runs to simulate for one set of causes; on average, where arrivals are a cause. */
static double runs_per_set(const struct work *work)
{
	const double worlds =
		work->replica.possible >> CAUSE_ARRIVALS & 1 ? (1.0 + work->trials[1]->len) / 2 : 1;
	double runs = 0;

	for (guint i = 0; i < work->cells->len; i++)
		runs += worlds * work_of(work, i)->stored->len;
	return runs;
}

/* Plans them; there is a cell at least (prepare()). */
static void plan_pieces(struct work *work, const struct attribution_options *options)
{
	const double most = options->most > 0 ? options->most : MOST;
	const double runs = runs_per_set(work);
	uint32_t sets, repeats;

	work->plan = shapley_plan_new(work->attribution->causes, (uint32_t)(most / runs));
	shapley_plan_sets(work->plan, &sets);
	work->attribution->orders = shapley_plan_orders(work->plan);
	repeats = (uint32_t)CLAMP(MOST_FOR_INTERVALS / (sets * runs), REPEATS_MIN, REPEATS_MAX);
	work->attribution->repeats = repeats;
	for (guint i = 0; i < work->cells->len; i++) {
		struct cell_work *cell = work_of(work, i);

		cell->first = work->pieces->len;
		for (guint r = 0; r < cell->stored->len; r++) {
			const struct piece piece = {.cell = i, .run = r};

			g_array_append_val(work->pieces, piece);
		}
		for (uint32_t b = 1; cell->stored->len == 1 && b <= repeats; b++) {
			const struct piece piece = {.cell = i, .repeat = b};

			g_array_append_val(work->pieces, piece);
		}
		cell->noise = work->pieces->len;
		for (uint32_t b = 1; b <= repeats; b++) {
			const struct piece piece = {.cell = i, .repeat = b, .noise = true};

			g_array_append_val(work->pieces, piece);
		}
	}
}

/* Simulates all sets of causes of the plan. */
static bool do_piece(uint32_t number, void *data, GError **error)
{
	const struct work *work = data;
	struct piece *piece = &g_array_index(work->pieces, struct piece, number);
	const struct cell_work *cell = work_of(work, piece->cell);
	const struct replica_run run = {
		.policy = &cell->policy,
		.observed = cell->observed->pdata[piece->run],
		.measured_j = limit_of(cell),
		.simulated_j = cell->simulated_j,
		.repeat = piece->repeat,
		.noise = piece->noise,
		.stream = piece->cell,
	};
	bool done[CAUSE_SETS] = {false};
	bool suspended;
	uint32_t count;
	const cause_set *sets = shapley_plan_sets(work->plan, &count);

	piece->values = g_malloc0(CAUSE_SETS * sizeof(*piece->values));
	for (uint32_t i = 0; i < count; i++) {
		const cause_set set =
			sets[i] & cell->causes & (piece->noise ? REPLICA_NOISY : CAUSE_SETS - 1);

		if (!done[set]) {
			if (!replica_simulate(&work->replica, &run, set, piece->values[set],
					      &suspended, error))
				return false;
			piece->simulations += set >> CAUSE_ARRIVALS & 1 ? 1 : work->trials[1]->len;
			done[set] = true;
		}
		memcpy(piece->values[sets[i]], piece->values[set], sizeof(*piece->values));
	}
	return true;
}

/* Values. */

static struct piece *piece_at(const struct work *work, guint cell, guint offset)
{
	return &g_array_index(work->pieces, struct piece, work_of(work, cell)->first + offset);
}

/* The pieces of a cell but for noise alone: its runs, then the repeats of a single one. */
static guint pieces_of(const struct work *work, guint cell)
{
	return work_of(work, cell)->noise - work_of(work, cell)->first;
}

static const enum compare_measure compared[] = {
	[MEASURE_UTILITY] = COMPARE_BY_UTILITY,
	[MEASURE_ENERGY] = COMPARE_ENERGY_J,
	[MEASURE_STRETCH] = COMPARE_BY_STRETCH,
};

static double measured_value(const struct work *work, const struct store_run *run, int measure)
{
	return measure == MEASURE_COMPLETED
		       ? run->tasks_completed
		       : compare_run_value(compared[measure], summary_of(work, 0), run);
}

/* What the simulated side has on record. */
static double simulated_value(const struct work *work, const struct attribution_cell *cell,
			      int measure)
{
	const struct compare *compare = work->compare;

	if (measure != MEASURE_COMPLETED)
		return compare_value(compare, 1, compared[measure], cell->policy, cell->limit);
	return compare->same_arrivals ? arrivals_run(summary_of(work, 0), summary_of(work, 1),
						     cell->policy, cell->limit)
						->tasks_completed
				      : summary_cell(summary_of(work, 1), cell->policy, cell->limit)
						->completed_mean;
}

/* A difference and its parts in one run, or of one simulated repeat. */
struct sample {
	double gap, parts[CAUSES], remains;
};

/* One table of values by set. */
static void take_values(const struct piece *piece, int measure, double ret_values[CAUSE_SETS])
{
	for (cause_set set = 0; set < CAUSE_SETS; set++)
		ret_values[set] = piece->values[set][measure];
}

static struct stats_interval bare(double value)
{
	return (struct stats_interval){
		.value = value, .low = NAN, .high = NAN, .n = 1, .se = NAN, .df = NAN};
}

/* The interval of a value that is the mean of samples, or of a single run by its repeats. */
static struct stats_interval interval_of(double value, const double *samples, guint count,
					 bool repeats)
{
	const struct stats_interval t = stats_t_interval(samples, count, LEVEL);

	if (count < 2)
		return bare(value);
	return stats_interval_from_se(value, repeats ? stats_sd(samples, count) : t.se, count - 1,
				      LEVEL, count);
}

/* Sets the intervals of a split by `count` samples. */
static void put_intervals(struct attribution_split *split, const struct sample *samples,
			  guint count, bool repeats)
{
	g_autofree double *values = g_new(double, count + 1);

	for (guint i = 0; i < count; i++)
		values[i] = samples[i].gap;
	split->gap = interval_of(split->gap.value, values, count, repeats);
	for (int c = 0; c < CAUSES; c++) {
		for (guint i = 0; i < count; i++)
			values[i] = samples[i].parts[c];
		split->parts[c] = interval_of(split->parts[c].value, values, count, repeats);
	}
	if (repeats)
		return;
	for (guint i = 0; i < count; i++)
		values[i] = samples[i].remains;
	split->remains = interval_of(split->remains.value, values, count, false);
}

/* Fills the values of a split by the mean values of all sets. */
static void put_values(const struct work *work, struct attribution_split *split,
		       const double values[CAUSE_SETS])
{
	double parts[CAUSES];
	double sum = 0;

	shapley_values(work->plan, values, parts, split->errors);
	split->gap = bare(split->measured - split->simulated);
	split->again = values[0] - split->simulated;
	/* A rounding is none. */
	if (fabs(split->again) <= 1e-9 * fmax(1, fabs(split->simulated)))
		split->again = 0;
	for (int c = 0; c < CAUSES; c++) {
		split->parts[c] = bare(parts[c]);
		split->noise[c] = bare(0);
		sum += parts[c];
		split->alone[c] = work->attribution->causes >> c & 1 ? values[1u << c] : values[0];
	}
	split->remains = bare(split->gap.value - split->again - sum);
}

static void add_mean(double sums[CAUSE_SETS], const double values[CAUSE_SETS], guint count)
{
	for (cause_set set = 0; set < CAUSE_SETS; set++)
		sums[set] += values[set] / count;
}

/* Sets what the parts come to by noise alone, in the mean over `runs` runs. */
static void put_noise(const struct work *work, guint index, int measure, guint runs)
{
	struct attribution_split *split = &cell_of(work, index)->splits[measure];
	const guint count = work->attribution->repeats;
	g_autofree double *parts = g_new(double, (size_t)CAUSES *count);
	double values[CAUSE_SETS];

	for (guint i = 0; i < count; i++) {
		double one[CAUSES];

		take_values(&g_array_index(work->pieces, struct piece,
					   work_of(work, index)->noise + i),
			    measure, values);
		shapley_values(work->plan, values, one, NULL);
		for (int c = 0; c < CAUSES; c++)
			parts[(size_t)c * count + i] = one[c];
	}
	for (int c = 0; c < CAUSES; c++) {
		const double *of = parts + (size_t)c * count;

		/* That of another draw: the mean is uncertain as well. */
		split->noise[c] =
			stats_interval_from_se(stats_mean(of, count),
					       stats_sd(of, count) * sqrt(1.0 / runs + 1.0 / count),
					       count - 1, LEVEL, count);
	}
}

static void split_measure(const struct work *work, guint index, int measure)
{
	const struct cell_work *more = work_of(work, index);
	struct attribution_cell *cell = cell_of(work, index);
	struct attribution_split *split = &cell->splits[measure];
	const cause_set all = work->attribution->causes;
	const guint runs = more->stored->len;
	const guint pieces = pieces_of(work, index);
	g_autofree struct sample *samples = g_new0(struct sample, pieces);
	double means[CAUSE_SETS] = {0};
	double values[CAUSE_SETS];

	split->simulated = simulated_value(work, cell, measure);
	for (guint i = 0; i < pieces; i++) {
		take_values(piece_at(work, index, i), measure, values);
		shapley_values(work->plan, values, samples[i].parts, NULL);
		samples[i].gap = values[all] - split->simulated;
		if (i >= runs)
			continue;
		add_mean(means, values, runs);
		samples[i].gap = measured_value(work, more->stored->pdata[i], measure);
		split->measured += samples[i].gap / runs;
		samples[i].gap -= split->simulated;
		samples[i].remains = samples[i].gap - (values[all] - split->simulated);
	}
	split->known = isfinite(split->measured) && isfinite(split->simulated) &&
		       isfinite(means[0]) && isfinite(means[all]);
	if (!split->known)
		return;
	put_values(work, split, means);
	put_noise(work, index, measure, runs);
	if (runs == 1)
		put_intervals(split, samples + 1, pieces - 1, true);
	else
		put_intervals(split, samples, runs, false);
}

/* Ranks. */

/* The cells of a limit. */
struct group {
	guint first, count;
	bool less; /* the least value is the best one */
	int measure;
};

/* The rank of a value: 1 + the number of better values + half the number of equal values. */
static double rank_of(const struct group *group, const double *values, guint index)
{
	double rank = 1;

	for (guint i = 0; i < group->count; i++) {
		if (i == index)
			continue;
		if (fabs(values[i] - values[index]) <= 1e-9 * fmax(1, fabs(values[index])))
			rank += 0.5;
		else
			rank += (values[i] < values[index]) == group->less;
	}
	return rank;
}

/*
 * The values of a piece of each cell by set, in the mean over `count` pieces from `offset` on, or
 * over all runs where `count` is 0: count of the group x CAUSE_SETS. The caller frees.
 */
static double *group_values(const struct work *work, const struct group *group, guint offset,
			    guint count)
{
	double *values = g_new0(double, (size_t)group->count *CAUSE_SETS);

	for (guint i = 0; i < group->count; i++) {
		const guint pieces = count ? count : work_of(work, group->first + i)->stored->len;

		for (guint k = 0; k < pieces; k++) {
			double one[CAUSE_SETS];

			take_values(piece_at(work, group->first + i, offset + k), group->measure,
				    one);
			add_mean(values + (size_t)i * CAUSE_SETS, one, pieces);
		}
	}
	return values;
}

/* The ranks of cell `index` of a group by set. */
static void rank_sets(const struct group *group, const double *values, guint index,
		      double ret_ranks[CAUSE_SETS])
{
	g_autofree double *one = g_new(double, group->count);

	for (cause_set set = 0; set < CAUSE_SETS; set++) {
		for (guint i = 0; i < group->count; i++)
			one[i] = values[(size_t)i * CAUSE_SETS + set];
		ret_ranks[set] = rank_of(group, one, index);
	}
}

/* The measured ranks in the mean over all runs, or by run `run` where it is not G_MAXUINT. */
static double measured_rank(const struct work *work, const struct group *group, guint index,
			    guint run)
{
	g_autofree double *values = g_new(double, group->count);

	for (guint i = 0; i < group->count; i++)
		values[i] =
			run == G_MAXUINT
				? cell_of(work, group->first + i)->splits[group->measure].measured
				: measured_value(
					  work, work_of(work, group->first + i)->stored->pdata[run],
					  group->measure);
	return rank_of(group, values, index);
}

static double simulated_rank(const struct work *work, const struct group *group, guint index)
{
	g_autofree double *values = g_new(double, group->count);

	for (guint i = 0; i < group->count; i++)
		values[i] = cell_of(work, group->first + i)->splits[group->measure].simulated;
	return rank_of(group, values, index);
}

/* The least number of runs of the cells of a group, and the most. */
static void count_runs(const struct work *work, const struct group *group, guint *ret_least,
		       guint *ret_most)
{
	*ret_least = G_MAXUINT;
	*ret_most = 0;
	for (guint i = 0; i < group->count; i++) {
		const guint runs = work_of(work, group->first + i)->stored->len;

		*ret_least = MIN(*ret_least, runs);
		*ret_most = MAX(*ret_most, runs);
	}
}

/* Sets the intervals of ranks: over repeats, or over the simulated repeats of single runs. */
static void put_rank_intervals(const struct work *work, const struct group *group)
{
	const cause_set all = work->attribution->causes;
	guint least, most, count;
	bool repeats;

	count_runs(work, group, &least, &most);
	repeats = most == 1;
	if (!repeats && least < 2)
		return;
	count = repeats ? pieces_of(work, group->first) - 1 : least;

	g_autofree struct sample *samples = g_new0(struct sample, (size_t)group->count * count);

	for (guint k = 0; k < count; k++) {
		g_autofree double *values = group_values(work, group, repeats ? k + 1 : k, 1);

		for (guint i = 0; i < group->count; i++) {
			struct sample *sample = &samples[(size_t)i * count + k];
			const double simulated = simulated_rank(work, group, i);
			double ranks[CAUSE_SETS];

			rank_sets(group, values, i, ranks);
			shapley_values(work->plan, ranks, sample->parts, NULL);
			sample->gap = (repeats ? ranks[all] : measured_rank(work, group, i, k)) -
				      simulated;
			sample->remains = sample->gap - (ranks[all] - simulated);
		}
	}
	for (guint i = 0; i < group->count; i++)
		put_intervals(&cell_of(work, group->first + i)->splits[ATTRIBUTION_RANK],
			      samples + (size_t)i * count, count, repeats);
}

static void split_ranks(const struct work *work, const struct group *group)
{
	g_autofree double *values = NULL;

	for (guint i = 0; i < group->count; i++)
		if (!cell_of(work, group->first + i)->splits[group->measure].known)
			return;
	values = group_values(work, group, 0, 0);
	for (guint i = 0; i < group->count; i++) {
		struct attribution_split *split =
			&cell_of(work, group->first + i)->splits[ATTRIBUTION_RANK];
		double ranks[CAUSE_SETS];

		rank_sets(group, values, i, ranks);
		split->known = true;
		split->measured = measured_rank(work, group, i, G_MAXUINT);
		split->simulated = simulated_rank(work, group, i);
		put_values(work, split, ranks);
	}
	put_rank_intervals(work, group);
}

static void split_all(const struct work *work)
{
	const struct attribution *attribution = work->attribution;
	struct group group = {
		.less = attribution->measure == MEASURE_STRETCH,
		.measure = attribution->measure,
	};

	for (guint i = 0; i < work->cells->len; i++)
		for (int m = 0; m < MEASURES; m++)
			split_measure(work, i, m);
	for (guint i = 0; i < work->cells->len; i += group.count) {
		group.first = i;
		group.count = 1;
		while (i + group.count < work->cells->len &&
		       cell_of(work, i + group.count)->limit == cell_of(work, i)->limit)
			group.count++;
		split_ranks(work, &group);
	}
}

/* Pairs. */

/* Whether a part leaves out 0, and is beyond what noise alone comes to. */
static bool stands_out(const struct stats_interval *part, const struct stats_interval *noise)
{
	return stats_interval_sign(part) != STATS_SIGN_UNCLEAR &&
	       !(part->value >= noise->low && part->value <= noise->high);
}

int attribution_first(double gap, const struct stats_interval parts[CAUSES],
		      const struct stats_interval noise[CAUSES])
{
	int first = -1;

	for (int c = 0; c < CAUSES; c++)
		if (parts[c].value * gap > 0 && stands_out(&parts[c], &noise[c]) &&
		    (first < 0 || fabs(parts[c].value) > fabs(parts[first].value)))
			first = c;
	return first;
}

static const struct attribution_split *split_of(const struct work *work, const char *policy,
						double limit)
{
	for (guint i = 0; i < work->cells->len; i++) {
		const struct attribution_cell *cell = cell_of(work, i);

		if (g_str_equal(cell->policy, policy) && summary_same_limit(cell->limit, limit))
			return &cell->splits[work->attribution->measure];
	}
	return NULL;
}

/* The difference of two parts; without an interval where either has none. */
static struct stats_interval less(const struct stats_interval *a, const struct stats_interval *b)
{
	if (isfinite(a->se) && isfinite(b->se) && a->se + b->se > 0)
		return stats_difference(a, b, LEVEL);

	struct stats_interval exact = bare(a->value - b->value);

	if (isfinite(a->se) && isfinite(b->se))
		exact.low = exact.high = exact.value;
	return exact;
}

static void add_pair(const struct work *work, const struct compare_pair *pair)
{
	const struct attribution_split *a = split_of(work, pair->first, pair->limit);
	const struct attribution_split *b = split_of(work, pair->second, pair->limit);
	struct attribution_pair made = {.pair = pair};

	if (!a || !b || !a->known || !b->known)
		return;
	made.gap = a->gap.value - b->gap.value;
	made.remains = a->remains.value + a->again - b->remains.value - b->again;
	for (int c = 0; c < CAUSES; c++) {
		struct compare_pair with = *pair;
		struct stats_interval *moved = &with.sides[1].interval;
		const double shift = a->alone[c] - b->alone[c] - moved->value;

		moved->value += shift;
		moved->low += shift;
		moved->high += shift;
		made.alone[c] = compare_pair_order(&with);
		made.parts[c] = less(&a->parts[c], &b->parts[c]);
		made.noise[c] = less(&a->noise[c], &b->noise[c]);
	}
	made.first = attribution_first(made.gap, made.parts, made.noise);
	g_array_append_val(work->attribution->pairs, made);
}

/* The whole. */

static void clear_cell(void *data)
{
	struct attribution_cell *cell = data;

	for (int c = 0; c < CAUSES; c++)
		g_free(cell->because[c]);
}

static struct attribution *new_empty(const struct compare *compare)
{
	struct attribution *attribution = g_new0(struct attribution, 1);

	attribution->compare = compare;
	attribution->measure =
		compare->measure == COMPARE_BY_STRETCH ? MEASURE_STRETCH : MEASURE_UTILITY;
	attribution->cells = g_array_new(FALSE, FALSE, sizeof(struct attribution_cell));
	g_array_set_clear_func(attribution->cells, clear_cell);
	attribution->pairs = g_array_new(FALSE, FALSE, sizeof(struct attribution_pair));
	attribution->left_out = g_ptr_array_new_with_free_func(g_free);
	return attribution;
}

/* What users submit depends on the run: a task's number is that of another one elsewhere. */
static bool check_users(const struct work *work, GError **error)
{
	for (int side = 0; side < 2; side++)
		if (g_array_index(work->trials[side], struct experiment_trial, 0).workload->users)
			return error_fail(
				error, ATTRIBUTION_ERROR, ATTRIBUTION_ERROR_USERS,
				"--attribute: %s has users who react (workload.users); "
				"their tasks are others in every run, so that no measured "
				"task can be simulated again; compare without it",
				summary_of(work, side)->dir);
	return true;
}

static bool prepare(struct work *work, GError **error)
{
	if (!find_policies(work, error) || !load_side(work, 0, error) ||
	    !load_side(work, 1, error) || !check_systems(work, error) ||
	    !load_trials(work, error) || !check_users(work, error) ||
	    !experiment_check_programs(work->experiments[0], error))
		return false;
	work->observed =
		observed_new(summary_of(work, 0), work->experiments[0],
			     &g_array_index(work->trials[0], struct experiment_trial, 0), error);
	if (!work->observed)
		return false;
	work->replica = (struct replica){.measured = side_of(work, 0),
					 .simulated = side_of(work, 1),
					 .observed = work->observed};
	replica_find_possible(&work->replica);
	work->cells = g_array_new(FALSE, FALSE, sizeof(struct cell_work));
	work->pieces = g_array_new(FALSE, TRUE, sizeof(struct piece));
	add_cells(work);
	return work->cells->len > 0 ||
	       error_fail(error, ATTRIBUTION_ERROR, ATTRIBUTION_ERROR_CELLS,
			  "--attribute: %s and %s have no limit at which the same policy ran; "
			  "simulate the limits that were measured",
			  summary_of(work, 0)->dir, summary_of(work, 1)->dir);
}

static void finish(const struct work *work)
{
	struct attribution *attribution = work->attribution;
	const GArray *pairs = work->compare->pairs;

	for (guint i = 0; i < work->pieces->len; i++)
		attribution->simulations +=
			g_array_index(work->pieces, struct piece, i).simulations;
	split_all(work);
	for (guint i = 0; i < work->cells->len; i++)
		for (enum cause c = 0; c < CAUSES; c++)
			if (work_of(work, i)->causes >> c & 1)
				cell_of(work, i)->because[c] =
					because_text(&work->replica, work_of(work, i)->observed, c,
						     work_of(work, i)->simulated_j);
	for (guint i = 0; i < pairs->len; i++)
		add_pair(work, &g_array_index(pairs, struct compare_pair, i));
}

struct attribution *attribution_new(const struct compare *compare,
				    const struct attribution_options *options, GError **error)
{
	g_autoptr(attribution_t) attribution = new_empty(compare);
	struct work work = {.compare = compare, .attribution = attribution};
	struct batch batch = {
		.name = "attribution",
		.jobs = options->jobs,
		.work = do_piece,
		.data = &work,
		.progress = options->progress,
		.progress_data = options->data,
	};
	bool good;

	if (!compare->sides->mixed)
		return error_null(error, ATTRIBUTION_ERROR, ATTRIBUTION_ERROR_SIDES,
				  "only the difference between a measured and a simulated "
				  "directory can be attributed to causes");
	good = prepare(&work, error) && find_all_causes(&work, error);
	if (good) {
		plan_pieces(&work, options);
		batch.count = work.pieces->len;
		good = batch_run(&batch, error);
	}
	if (good)
		finish(&work);
	work_clear(&work);
	return good ? g_steal_pointer(&attribution) : NULL;
}

void attribution_free(struct attribution *attribution)
{
	if (!attribution)
		return;
	g_array_unref(attribution->cells);
	g_array_unref(attribution->pairs);
	g_ptr_array_unref(attribution->left_out);
	g_free(attribution);
}
