/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/resampling.h"

#include <jansson.h>
#include <math.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "common/record/record.h"
#include "controller/backend/sim.h"
#include "controller/experiment/experiment.h"
#include "controller/report/stats.h"

/* Selects the random draws: any fixed number would do. */
#define RESAMPLING_SEED 2

G_DEFINE_QUARK(virtbed_noise, resampling_error)

/* The deviation of a policy under a limit, once it was computed. */
struct resampling_cell {
	char *policy;
	double limit;
	double utility_sd;
	double stretch_sd; /* of the mean bounded stretch; NAN: hosts are not shared */
	uint32_t repeats;  /* that were simulated; a record has one number for all of its cells */
};

static const struct record_field cell_fields[] = {
	{RECORD_FIELD_TEXT(resampling_cell, policy)},
	{RECORD_FIELD_REAL(resampling_cell, limit)},
	{RECORD_FIELD_REAL(resampling_cell, utility_sd)},
	{RECORD_FIELD_REAL(resampling_cell, stretch_sd), .flags = RECORD_OPTIONAL},
	{NULL},
};
static const struct record cell_record = {.size = sizeof(struct resampling_cell),
					  .fields = cell_fields,
					  .open = true};

struct resampling {
	struct compare_resampling base; /* first: compare.c passes a pointer to it back */
	const struct summary *measured;
	struct config *config;
	struct experiment *experiment;
	struct experiment_trial trial; /* trial 1, the measured one */
	GPtrArray *ratios; /* GArray of struct backend_sim_ratio, per cluster of the system */
	/* struct backend_sim_ratio: per run, its mean ratio over that of all runs */
	GArray *paces;
	GArray *cells;      /* struct resampling_cell */
	GPtrArray *unknown; /* char *, borrowed: policies of unknown noise */
	bool recorded;      /* there is a record, of some cells at least */
	bool simulates;     /* cells that are not on record are simulated */
	GError *failure;    /* why the first simulation ended early; NULL: none did */
};

static bool usable(const struct store_task *task)
{
	return g_str_equal(task->state, "completed") && task->cluster && task->etc_s > 0 &&
	       task->exec_s > 0 && isfinite(task->exec_s) && isfinite(task->etc_s);
}

static struct backend_sim_ratio ratio_of(const struct store_task *task)
{
	double energy = task->energy_j / task->eec_j;

	/*
	 * Where energies are unknown, only times vary. A metered share below 0 is noise around 0.
	 */
	return (struct backend_sim_ratio){
		.time = task->exec_s / task->etc_s,
		.energy = isfinite(energy) ? fmax(0, energy) : 1,
	};
}

/* The ratio of a completed task. */
struct observation {
	guint run;        /* number of its run, from 0 */
	uint32_t cluster; /* of the system; UINT32_MAX: unknown */
	struct backend_sim_ratio ratio;
};

static bool observe_run(const struct resampling *noise, guint run, GArray *observations,
			GError **error)
{
	const struct store_run *record = noise->measured->runs->pdata[run];
	g_autoptr(GPtrArray) tasks = store_tasks(noise->measured->store, record->run, error);

	for (guint i = 0; tasks && i < tasks->len; i++) {
		const struct store_task *task = tasks->pdata[i];
		struct observation observation = {.run = run};

		if (!usable(task))
			continue;
		observation.cluster =
			sched_system_cluster(noise->experiment->system, task->cluster);
		observation.ratio = ratio_of(task);
		g_array_append_val(observations, observation);
	}
	return tasks != NULL;
}

/*
 * The mean ratio of the tasks of a run, or of all runs where `run` is G_MAXUINT; 1 without tasks.
 */
static struct backend_sim_ratio mean_ratio(const GArray *observations, guint run)
{
	struct backend_sim_ratio sum = {0};
	guint count = 0;

	for (guint i = 0; i < observations->len; i++) {
		const struct observation *one = &g_array_index(observations, struct observation, i);

		if (run != G_MAXUINT && one->run != run)
			continue;
		sum.time += one->ratio.time;
		sum.energy += one->ratio.energy;
		count++;
	}
	if (count == 0 || sum.energy <= 0)
		return (struct backend_sim_ratio){1, 1};
	return (struct backend_sim_ratio){sum.time / count, sum.energy / count};
}

/* Keeps the pace of each run with completed tasks. */
static void keep_paces(struct resampling *noise, const GArray *observations,
		       struct backend_sim_ratio *paces)
{
	const struct backend_sim_ratio mean = mean_ratio(observations, G_MAXUINT);

	for (guint i = 0; i < noise->measured->runs->len; i++) {
		const struct backend_sim_ratio of_run = mean_ratio(observations, i);

		paces[i] = (struct backend_sim_ratio){of_run.time / mean.time,
						      of_run.energy / mean.energy};
	}
	for (guint i = 0; i < observations->len; i++) {
		const guint run = g_array_index(observations, struct observation, i).run;

		if (i == 0 || run != g_array_index(observations, struct observation, i - 1).run)
			g_array_append_val(noise->paces, paces[run]);
	}
}

/*
 * Sorts the observations by cluster and divides them by the pace of their run; `all` gets all of
 * them.
 */
static void keep_ratios(struct resampling *noise, const GArray *observations,
			const struct backend_sim_ratio *paces, GArray *all)
{
	for (guint i = 0; i < observations->len; i++) {
		const struct observation *one = &g_array_index(observations, struct observation, i);
		const struct backend_sim_ratio ratio = {
			one->ratio.time / paces[one->run].time,
			one->ratio.energy / paces[one->run].energy,
		};

		if (one->cluster < noise->ratios->len)
			g_array_append_val((GArray *)noise->ratios->pdata[one->cluster], ratio);
		g_array_append_val(all, ratio);
	}
}

static bool collect(struct resampling *noise, GArray *all, GError **error)
{
	const guint runs = noise->measured->runs->len;
	g_autoptr(GArray) observations = g_array_new(FALSE, FALSE, sizeof(struct observation));
	g_autofree struct backend_sim_ratio *paces = g_new(struct backend_sim_ratio, runs + 1);

	for (guint i = 0; i < runs; i++)
		if (!observe_run(noise, i, observations, error))
			return false;
	if (observations->len < RESAMPLING_RATIOS_MIN)
		return error_fail(
			error, RESAMPLING_ERROR, RESAMPLING_ERROR_RATIOS,
			"%s: too few completed tasks tell how execution times deviate, %u; %d "
			"are needed",
			noise->measured->dir, observations->len, RESAMPLING_RATIOS_MIN);
	keep_paces(noise, observations, paces);
	keep_ratios(noise, observations, paces, all);
	return true;
}

/* Fills lists that are too short from all clusters. */
static bool prepare_ratios(struct resampling *noise, GError **error)
{
	g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(struct backend_sim_ratio));

	for (uint32_t i = 0; i < noise->experiment->system->clusters_count; i++)
		g_ptr_array_add(noise->ratios,
				g_array_new(FALSE, FALSE, sizeof(struct backend_sim_ratio)));
	if (!collect(noise, all, error))
		return false;
	for (guint i = 0; i < noise->ratios->len; i++) {
		GArray *list = noise->ratios->pdata[i];

		if (list->len < RESAMPLING_RATIOS_MIN)
			g_array_append_vals(list, all->data, all->len);
	}
	return true;
}

/*
 * The ratios of all clusters at a pace, one list after the other, and the setup for drawing from
 * them.
 */
struct paced {
	struct backend_sim_ratio *pool;
	const struct backend_sim_ratio **lists;
	uint32_t *counts;
	struct backend_sim_spread spread;
};

static void paced_init(struct paced *paced, const struct resampling *noise,
		       const struct backend_sim_ratio *pace, uint64_t stream)
{
	const guint clusters = noise->ratios->len;
	guint total = 0;

	for (guint i = 0; i < clusters; i++)
		total += ((GArray *)noise->ratios->pdata[i])->len;
	paced->pool = g_new(struct backend_sim_ratio, total + 1);
	paced->lists = g_new(const struct backend_sim_ratio *, clusters);
	paced->counts = g_new(uint32_t, clusters);
	total = 0;
	for (guint i = 0; i < clusters; i++) {
		const GArray *list = noise->ratios->pdata[i];

		paced->lists[i] = paced->pool + total;
		paced->counts[i] = list->len;
		for (guint j = 0; j < list->len; j++) {
			const struct backend_sim_ratio *ratio =
				&g_array_index(list, struct backend_sim_ratio, j);

			paced->pool[total++] =
				(struct backend_sim_ratio){ratio->time * pace->time,
							   ratio->energy * pace->energy};
		}
	}
	paced->spread = (struct backend_sim_spread){
		.ratios = paced->lists,
		.counts = paced->counts,
		.seed = RESAMPLING_SEED,
		.stream = stream,
	};
}

/*
 * Execution times of tasks with deadlines are drawn from their distributions, which are measured
 * too. Drawing from the runs' ratios as well would count the same noise twice. Only the pace
 * remains.
 */
static void paced_keep_pace(struct paced *paced, const struct resampling *noise,
			    const struct backend_sim_ratio *pace)
{
	for (guint i = 0; i < noise->ratios->len; i++) {
		paced->lists[i] = paced->pool;
		paced->counts[i] = 1;
	}
	paced->pool[0] = *pace;
}

static void paced_clear(struct paced *paced)
{
	g_free(paced->pool);
	g_free(paced->lists);
	g_free(paced->counts);
}

/*
 * A simulated repeat. Every policy and limit has its own draws, since their runs were separate too;
 * the paces take turns.
 */
static bool simulate(const struct resampling *noise, const struct policy *policy, double limit_j,
		     uint64_t stream, struct engine_result *ret_result, GError **error)
{
	const struct backend_sim_ratio *pace =
		&g_array_index(noise->paces, struct backend_sim_ratio, stream % noise->paces->len);
	struct engine_setup setup =
		experiment_trial_setup(noise->experiment, &noise->trial, policy, limit_j);
	struct paced paced;
	bool good;

	paced_init(&paced, noise, pace, stream);
	if (noise->trial.pruning)
		paced_keep_pace(&paced, noise, pace);
	good = experiment_simulate_spread(noise->experiment, &noise->trial, &setup, &paced.spread,
					  ret_result, error);
	paced_clear(&paced);
	return good;
}

/*
 * The first random stream of a cell. It depends neither on the order of the cells' first uses nor
 * on the policies of this build.
 */
static uint64_t first_stream(const struct resampling *noise, const char *policy, double limit)
{
	const struct summary *measured = noise->measured;
	guint p = 0;
	guint l = 0;

	while (p < measured->policies->len && !g_str_equal(measured->policies->pdata[p], policy))
		p++;
	while (l < measured->limits->len &&
	       !summary_same_limit(g_array_index(measured->limits, double, l), limit))
		l++;
	return ((uint64_t)l * measured->policies->len + p) * RESAMPLING_REPEATS;
}

/* Returns the cell, valid until the next call, or NULL: it cannot be simulated. */
static const struct resampling_cell *simulate_cell(struct resampling *noise, const char *name,
						   double limit)
{
	const struct summary_cell *cell = summary_cell(noise->measured, name, limit);
	double utilities[RESAMPLING_REPEATS];
	double stretches[RESAMPLING_REPEATS];
	struct resampling_cell known = {.limit = limit, .repeats = RESAMPLING_REPEATS};
	const uint64_t first = first_stream(noise, name, limit);
	struct policy policy;
	char message[256];

	if (!noise->simulates || !cell || policy_parse(name, &policy, message, sizeof(message)) < 0)
		return NULL;
	for (uint32_t i = 0; i < RESAMPLING_REPEATS; i++) {
		struct engine_result result;

		if (!simulate(noise, &policy, cell->limit_j, first + i, &result,
			      noise->failure ? NULL : &noise->failure))
			return NULL;
		utilities[i] = result.utility;
		stretches[i] = result.stretch_max > 0 ? result.stretch_mean : (double)NAN;
	}
	known.policy = g_strdup(name);
	known.utility_sd = stats_sd(utilities, RESAMPLING_REPEATS);
	known.stretch_sd = stats_sd(stretches, RESAMPLING_REPEATS);
	g_array_append_val(noise->cells, known);
	return &g_array_index(noise->cells, struct resampling_cell, noise->cells->len - 1);
}

/* The cell that is on record or was simulated; NULL: none. */
static const struct resampling_cell *known_cell(const struct resampling *noise, const char *policy,
						double limit)
{
	for (guint i = 0; i < noise->cells->len; i++) {
		const struct resampling_cell *cell =
			&g_array_index(noise->cells, struct resampling_cell, i);

		if (g_str_equal(cell->policy, policy) && summary_same_limit(cell->limit, limit))
			return cell;
	}
	return NULL;
}

static const struct resampling_cell *find_cell(struct resampling *noise, const char *policy,
					       double limit)
{
	return known_cell(noise, policy, limit) ?: simulate_cell(noise, policy, limit);
}

static bool find_sd(struct compare_resampling *base, enum compare_measure measure,
		    const char *policy, double limit, double *ret_sd, uint32_t *ret_repeats)
{
	struct resampling *noise = (struct resampling *)base;
	const struct resampling_cell *cell = find_cell(noise, policy, limit);

	if (!cell)
		return false;
	*ret_repeats = cell->repeats;
	*ret_sd = measure == COMPARE_BY_STRETCH ? cell->stretch_sd : cell->utility_sd;
	return isfinite(*ret_sd);
}

static bool is_known_policy(const char *name)
{
	struct policy policy;

	return policy_parse(name, &policy, NULL, 0) == 0;
}

/* The policies that can be simulated; the caller frees the array only. */
static const char **known_policies(const struct resampling *noise)
{
	const GPtrArray *names = noise->measured->policies;
	const char **known = g_new0(const char *, names->len + 1);
	guint count = 0;

	for (guint i = 0; i < names->len; i++)
		if (is_known_policy(names->pdata[i]))
			known[count++] = names->pdata[i];
	return known;
}

static bool prepare_experiment(struct resampling *noise, GError **error)
{
	const struct store_run *run = noise->measured->runs->pdata[0];
	g_autofree const char **policies = known_policies(noise);

	noise->config = summary_config(noise->measured, error);
	if (!noise->config)
		return false;
	if (!policies[0])
		return error_fail(error, RESAMPLING_ERROR, RESAMPLING_ERROR_POLICIES,
				  "%s: this build knows none of its policies",
				  noise->measured->dir);
	noise->experiment = experiment_new(noise->config, policies, error);
	return noise->experiment &&
	       experiment_trial_init(noise->experiment, run->seed, 1, &noise->trial, error);
}

/* The record. */

/* Notes the policies that lack a cell which is neither on record nor can be simulated. */
static void note_unknown(struct resampling *noise)
{
	const struct summary *measured = noise->measured;

	g_ptr_array_set_size(noise->unknown, 0);
	for (guint i = 0; i < measured->cells_count; i++) {
		const struct summary_cell *cell = &measured->cells[i];

		if (cell->runs && !known_cell(noise, cell->policy, cell->limit) &&
		    !(noise->simulates && is_known_policy(cell->policy)))
			summary_note_name(noise->unknown, cell->policy);
	}
}

/* Reads the recorded cells of these runs. Returns whether there are any. */
static bool read_record(struct resampling *noise)
{
	g_autofree char *text = store_get_meta(noise->measured->store, "noise");
	g_autoptr(json_t) record = text ? json_loads(text, 0, NULL) : NULL;
	const json_t *cells = json_object_get(record, "cells");
	const json_int_t repeats = json_integer_value(json_object_get(record, "repeats"));
	const json_t *cell;
	size_t i;

	if (json_integer_value(json_object_get(record, "runs")) != noise->measured->runs->len ||
	    repeats < 2 || repeats > UINT32_MAX)
		return false;
	json_array_foreach (cells, i, cell) {
		struct resampling_cell known;

		record_init(&cell_record, &known);
		known.repeats = (uint32_t)repeats;
		if (record_from_json(&cell_record, cell, &known, NULL))
			g_array_append_val(noise->cells, known);
	}
	return true;
}

/* Simulates all cells. Returns their record, which the caller frees. */
static char *make_record(struct resampling *noise)
{
	const struct summary *measured = noise->measured;
	g_autoptr(json_t) record = json_pack("{s:i, s:i, s:[]}", "runs", (int)measured->runs->len,
					     "repeats", RESAMPLING_REPEATS, "cells");

	for (guint i = 0; i < measured->cells_count; i++) {
		const struct summary_cell *cell = &measured->cells[i];
		const struct resampling_cell *known =
			cell->runs ? find_cell(noise, cell->policy, cell->limit) : NULL;

		if (known)
			json_array_append_new(json_object_get(record, "cells"),
					      record_to_json(&cell_record, known));
	}
	return json_dumps(record, JSON_COMPACT);
}

bool resampling_record(const char *dir, GError **error)
{
	g_autoptr(summary_t) measured = summary_load(dir, NULL);
	g_autoptr(resampling_t) noise = measured && measured->measured && !measured->service
						? resampling_new(measured, true, NULL)
						: NULL;
	g_autoptr(store_t) store = NULL;
	g_autofree char *record = NULL;

	if (!noise || noise->recorded)
		return true;
	record = make_record(noise);
	store = store_open(dir, false, error);
	return store && store_set_meta(store, "noise", record, error);
}

char *resampling_unknown(const struct resampling *noise)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < noise->unknown->len; i++)
		g_string_append_printf(text, "%s%s", i ? ", " : "",
				       (char *)noise->unknown->pdata[i]);
	return g_string_free(text, noise->unknown->len == 0);
}

static void clear_cell(gpointer data)
{
	record_clear(&cell_record, data);
}

struct resampling *resampling_new(const struct summary *measured, bool simulate, GError **error)
{
	g_autoptr(resampling_t) noise = g_new0(struct resampling, 1);
	g_autoptr(GError) trouble = NULL;

	noise->base.sd = find_sd;
	noise->measured = measured;
	noise->ratios = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	noise->paces = g_array_new(FALSE, FALSE, sizeof(struct backend_sim_ratio));
	noise->cells = g_array_new(FALSE, FALSE, sizeof(struct resampling_cell));
	g_array_set_clear_func(noise->cells, clear_cell);
	noise->unknown = g_ptr_array_new();
	noise->recorded = read_record(noise);
	if (!noise->recorded && !simulate)
		return error_null(error, RESAMPLING_ERROR, RESAMPLING_ERROR_RECORD,
				  "%s: the noise of measuring again is not on record",
				  measured->dir);
	note_unknown(noise);
	if (noise->unknown->len == 0 || !simulate)
		return g_steal_pointer(&noise);
	noise->simulates = prepare_experiment(noise, &trouble) && prepare_ratios(noise, &trouble);
	if (!noise->simulates && !noise->recorded) {
		g_propagate_error(error, g_steal_pointer(&trouble));
		return NULL;
	}
	note_unknown(noise);
	return g_steal_pointer(&noise);
}

void resampling_free(struct resampling *noise)
{
	if (!noise)
		return;
	g_array_unref(noise->cells);
	g_ptr_array_unref(noise->ratios);
	g_array_unref(noise->paces);
	g_ptr_array_unref(noise->unknown);
	experiment_trial_clear(&noise->trial);
	experiment_free(noise->experiment);
	config_free(noise->config);
	g_clear_error(&noise->failure);
	g_free(noise);
}

const GError *resampling_failure(const struct resampling *noise)
{
	return noise ? noise->failure : NULL;
}

struct compare_resampling *resampling_compare(struct resampling *noise)
{
	return noise ? &noise->base : NULL;
}
