/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/noise.h"

#include <math.h>

#include "controller/backend/sim.h"
#include "controller/engine/experiment.h"
#include "controller/report/stats.h"

/* Which draws: any fixed number would do. */
#define NOISE_SEED 2

G_DEFINE_QUARK(virtbed-noise, noise_error)

/* The deviation of one policy under one limit, once it is known. */
struct noise_cell {
	char *policy;
	double limit;
	double sd;
};

struct noise {
	struct compare_noise base; /* first: compare's callback gets a pointer to it */
	const struct summary *measured;
	struct config *config;
	struct experiment *experiment;
	struct workload *workload;
	GPtrArray *ratios;     /* GArray of struct backend_sim_ratio, per cluster of the system */
	struct backend_sim_spread spread;
	GArray *cells;         /* struct noise_cell */
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
	 * Where energies are not known, times alone vary. A metered share below 0 is noise around
	 * 0.
	 */
	return (struct backend_sim_ratio){
		.time = task->exec_s / task->etc_s,
		.energy = isfinite(energy) ? fmax(0, energy) : 1,
	};
}

/* The index of a cluster of the system, or its count when there is none of that name. */
static uint32_t find_cluster(const struct sched_system *system, const char *name)
{
	uint32_t i = 0;

	while (i < system->clusters_count && !g_str_equal(system->clusters[i].name, name))
		i++;
	return i;
}

static bool collect_run(struct noise *noise, int64_t run, GArray *all, GError **error)
{
	g_autoptr(GPtrArray) tasks = store_tasks(noise->measured->store, run, error);

	for (guint i = 0; tasks && i < tasks->len; i++) {
		const struct store_task *task = tasks->pdata[i];
		struct backend_sim_ratio ratio;
		uint32_t cluster;

		if (!usable(task))
			continue;
		ratio = ratio_of(task);
		cluster = find_cluster(noise->experiment->system, task->cluster);
		if (cluster < noise->ratios->len)
			g_array_append_val((GArray *)noise->ratios->pdata[cluster], ratio);
		g_array_append_val(all, ratio);
	}
	return tasks != NULL;
}

static bool collect(struct noise *noise, GArray *all, GError **error)
{
	for (guint i = 0; i < noise->measured->runs->len; i++) {
		const struct store_run *run = noise->measured->runs->pdata[i];

		if (!collect_run(noise, run->run, all, error))
			return false;
	}
	if (all->len >= NOISE_RATIOS_MIN)
		return true;
	g_set_error(error, NOISE_ERROR, NOISE_ERROR_RATIOS,
		    "%s: only %u completed tasks tell how execution times deviate, %d are needed",
		    noise->measured->dir, all->len, NOISE_RATIOS_MIN);
	return false;
}

static GArray *new_ratios(void)
{
	return g_array_new(FALSE, FALSE, sizeof(struct backend_sim_ratio));
}

/* Fills the lists that are too short from all clusters, and points the spread at them. */
static bool prepare_spread(struct noise *noise, GError **error)
{
	uint32_t clusters = noise->experiment->system->clusters_count;
	g_autoptr(GArray) all = new_ratios();
	const struct backend_sim_ratio **lists = g_new0(const struct backend_sim_ratio *, clusters);
	uint32_t *counts = g_new0(uint32_t, clusters);

	noise->spread.ratios = lists;
	noise->spread.counts = counts;
	noise->spread.seed = NOISE_SEED;
	for (uint32_t i = 0; i < clusters; i++)
		g_ptr_array_add(noise->ratios, new_ratios());
	if (!collect(noise, all, error))
		return false;
	for (uint32_t i = 0; i < clusters; i++) {
		GArray *list = noise->ratios->pdata[i];

		if (list->len < NOISE_RATIOS_MIN)
			g_array_append_vals(list, all->data, all->len);
		lists[i] = (const struct backend_sim_ratio *)(void *)list->data;
		counts[i] = list->len;
	}
	return true;
}

/*
 * Utility of one simulated repeat. Every policy and limit draws anew: their runs were apart, too.
 */
static double simulate(const struct noise *noise, const struct policy *policy, double limit_j,
		       uint64_t stream)
{
	struct engine_setup setup =
		experiment_setup(noise->experiment, noise->workload, policy, limit_j);
	struct backend *backend =
		backend_sim_new(noise->experiment->system, noise->workload->tasks_count);
	g_autoptr(engine_t) engine = engine_new(&setup, backend);
	struct backend_sim_spread spread = noise->spread;
	struct engine_result result;

	spread.stream = stream;
	backend_sim_set_spread(backend, &spread);
	engine_run(engine, &result);
	backend_destroy(backend);
	return result.utility;
}

static bool simulate_cell(struct noise *noise, const char *name, double limit, double *ret_sd)
{
	const struct summary_cell *cell = summary_cell(noise->measured, name, limit);
	double utilities[NOISE_REPEATS];
	struct noise_cell known = {.limit = limit};
	struct policy policy;
	char message[256];

	if (!cell || policy_parse(name, &policy, message, sizeof(message)) < 0)
		return false;
	for (uint32_t i = 0; i < NOISE_REPEATS; i++)
		utilities[i] = simulate(noise, &policy, cell->limit_j,
					(uint64_t)noise->cells->len * NOISE_REPEATS + i);
	known.policy = g_strdup(name);
	known.sd = stats_sd(utilities, NOISE_REPEATS);
	g_array_append_val(noise->cells, known);
	*ret_sd = known.sd;
	return true;
}

static bool utility_sd(struct compare_noise *base, const char *policy, double limit,
		       double *ret_sd, uint32_t *ret_repeats)
{
	struct noise *noise = (struct noise *)base;

	*ret_repeats = NOISE_REPEATS;
	for (guint i = 0; i < noise->cells->len; i++) {
		const struct noise_cell *cell = &g_array_index(noise->cells, struct noise_cell, i);

		if (g_str_equal(cell->policy, policy) && summary_same_limit(cell->limit, limit)) {
			*ret_sd = cell->sd;
			return true;
		}
	}
	return simulate_cell(noise, policy, limit, ret_sd);
}

static bool prepare_experiment(struct noise *noise, GError **error)
{
	g_autofree char *path = g_build_filename(noise->measured->path, "config.yaml", NULL);
	const struct store_run *run = noise->measured->runs->pdata[0];
	g_autofree const char **policies = g_new0(const char *, noise->measured->policies->len + 1);

	for (guint i = 0; i < noise->measured->policies->len; i++)
		policies[i] = noise->measured->policies->pdata[i];
	noise->config = config_load(path, error);
	if (!noise->config)
		return false;
	noise->experiment = experiment_new(noise->config, policies, error);
	if (!noise->experiment)
		return false;
	noise->workload =
		workload_testbed_new(noise->config, noise->experiment->system, run->seed, 1, error);
	return noise->workload != NULL;
}

static void clear_cell(gpointer data)
{
	g_free(((struct noise_cell *)data)->policy);
}

struct noise *noise_new(const struct summary *measured, GError **error)
{
	g_autoptr(noise_t) noise = g_new0(struct noise, 1);

	noise->base.utility_sd = utility_sd;
	noise->measured = measured;
	noise->ratios = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	noise->cells = g_array_new(FALSE, FALSE, sizeof(struct noise_cell));
	g_array_set_clear_func(noise->cells, clear_cell);
	if (!prepare_experiment(noise, error) || !prepare_spread(noise, error))
		return NULL;
	return g_steal_pointer(&noise);
}

void noise_free(struct noise *noise)
{
	if (!noise)
		return;
	g_array_unref(noise->cells);
	g_ptr_array_unref(noise->ratios);
	g_free((void *)noise->spread.ratios);
	g_free((void *)noise->spread.counts);
	workload_free(noise->workload);
	experiment_free(noise->experiment);
	config_free(noise->config);
	g_free(noise);
}

struct compare_noise *noise_compare(struct noise *noise)
{
	return &noise->base;
}
