/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/supervise/run_results.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/config/config.h"
#include "common/json.h"
#include "controller/config/config_controller.h"
#include "controller/config/config_measured.h"
#include "controller/store/store.h"
#include "controller/store/store_records.h"

static void print_document(json_t *document)
{
	g_autofree char *text = json_pretty(document);

	puts(text);
	json_decref(document);
}

static json_t *run_json(const struct store_run *run)
{
	return json_pack(
		"{s:s, s:o, s:o, s:i, s:s?, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:i}",
		"policy", run->policy, "limit", json_number_or_null(run->limit), "limit_j",
		json_number_or_null(run->limit_j), "repeat", (int)run->repeat, "ended_by",
		run->ended_by, "ended_s", json_number_or_null(run->ended_s), "utility",
		json_number_or_null(run->utility), "energy_j", json_number_or_null(run->energy_j),
		"idle_w", json_number_or_null(run->idle_w), "gap_s",
		json_number_or_null(run->gap_s), "host_load", json_number_or_null(run->host_load),
		"tasks_arrived", (int)run->tasks_arrived, "tasks_completed",
		(int)run->tasks_completed, "tasks_failed", (int)run->tasks_failed, "tasks_dropped",
		(int)run->tasks_dropped);
}

json_t *run_results_json(const char *dir, GError **error)
{
	struct store *store = store_open(dir, false, error);
	g_autoptr(GPtrArray) runs = store ? store_runs(store, error) : NULL;
	json_t *list;

	store_close(store);
	if (!runs)
		return NULL;
	list = json_array();
	for (guint i = 0; i < runs->len; i++) {
		const struct store_run *run = g_ptr_array_index(runs, i);

		if (g_strcmp0(run->ended_by, "aborted") != 0)
			json_array_append_new(list, run_json(run));
	}
	return json_pack("{s:s, s:o}", "dir", dir, "runs", list);
}

static struct config *load(const char *dir, GError **error)
{
	g_autofree char *path = g_build_filename(dir, "config.yaml", NULL);

	return config_controller_load(path, error);
}

static double part(const struct config_overhead *one, int column)
{
	const double parts[] = {one->freeze_s, one->save_s, one->restore_s, one->resume_s,
				one->skew_s};

	return parts[column];
}

static int by_value(const void *a, const void *b)
{
	double one = *(const double *)a;
	double other = *(const double *)b;

	return one < other ? -1 : one > other;
}

/*
 * Median and maximum of one step over the samples of a cluster and a storage of VMs; returns their
 * number.
 */
static uint32_t distribution(const struct config *config, const char *cluster, const char *keep,
			     int column, double *ret_median, double *ret_max)
{
	g_autofree double *values = g_new(double, config->overheads_count + 1);
	uint32_t n = 0;

	for (uint32_t i = 0; i < config->overheads_count; i++)
		if (g_str_equal(config->overheads[i].cluster, cluster) &&
		    g_strcmp0(config->overheads[i].keep, keep) == 0)
			values[n++] = part(&config->overheads[i], column);
	if (!n)
		return 0;
	qsort(values, n, sizeof(*values), by_value);
	*ret_median = (values[(n - 1) / 2] + values[n / 2]) / 2;
	*ret_max = values[n - 1];
	return n;
}

/* Prints the overheads by cluster and storage of VMs: medians and maxima in ms. */
static void print_overheads(const struct config *config)
{
	static const char *const keeps[] = {"memory", "disk", NULL};

	if (!config->overheads_count)
		return;
	printf("\n%-10s %-7s %6s  %15s %15s %15s %15s %11s\n", "CLUSTER", "KEPT IN", "COUNT",
	       "FREEZE ms", "SAVE ms", "RESTORE ms", "RESUME ms", "SKEW ms");
	for (uint32_t i = 0; i < config->clusters_count; i++) {
		for (gsize k = 0; k < G_N_ELEMENTS(keeps); k++) {
			const char *name = config->clusters[i].name;
			double median = 0;
			double max = 0;
			uint32_t n = distribution(config, name, keeps[k], 0, &median, &max);

			if (!n)
				continue;
			printf("%-10s %-7s %6u ", name, keeps[k] ?: "-", n);
			for (int column = 0; column < 5; column++) {
				distribution(config, name, keeps[k], column, &median, &max);
				printf(" %*.1f (%.1f)", column < 4 ? 7 : 4, 1e3 * median,
				       1e3 * max);
			}
			putchar('\n');
		}
	}
	puts("  median (maximum) of suspending and resuming a task that runs, as the task sees it");
}

static void print_unmeasured(const struct config *config)
{
	for (uint32_t i = 0; i < config->unmeasured_count; i++)
		printf("%-12s %-10s not measured: %s\n", config->unmeasured[i].type,
		       config->unmeasured[i].cluster, config->unmeasured[i].reason);
}

static const struct record_field measured_fields[] = {
	{RECORD_FIELD_ARRAY(config, estimates, estimates_count, store_estimate_record)},
	{RECORD_FIELD_ARRAY(config, unmeasured, unmeasured_count, config_unmeasured_record)},
	{RECORD_FIELD_ARRAY(config, overheads, overheads_count, config_overhead_record)},
	{NULL},
};
static const struct record measured_record = {.size = sizeof(struct config),
					      .fields = measured_fields};

/* The repetitions that reach the target; 0: the estimate has no target. */
static uint32_t find_repetitions(const struct config *config,
				 const struct config_estimate *estimate,
				 const struct run_results_target *target)
{
	double wanted;

	if (!(target->target_s > 0) || !g_str_equal(estimate->cluster, target->cluster))
		return 0;
	wanted = config_type_find(config, estimate->type)->repetitions * target->target_s /
		 estimate->etc_s;
	return (uint32_t)fmin(fmax(round(wanted), 1), INT32_MAX);
}

static void print_repetitions(const struct config *config, const struct run_results_target *target)
{
	for (uint32_t i = 0; i < config->estimates_count; i++) {
		const struct config_estimate *one = &config->estimates[i];
		const uint32_t repetitions = find_repetitions(config, one, target);

		if (repetitions > 0)
			printf("%s takes %g s on %s with repetitions: %u (measured with %u)\n",
			       one->type, target->target_s, one->cluster, repetitions,
			       config_type_find(config, one->type)->repetitions);
	}
}

bool run_results_print_estimates(const char *dir, const struct run_results_target *target,
				 GError **error)
{
	g_autoptr(config_t) config = load(dir, error);

	if (!config)
		return false;
	printf("%-12s %-10s %10s %8s %12s %10s %6s\n", "TYPE", "CLUSTER", "ETC s", "+-", "EEC J",
	       "+-", "COUNT");
	for (uint32_t i = 0; i < config->estimates_count; i++) {
		const struct config_estimate *one = &config->estimates[i];

		printf("%-12s %-10s %10.2f %8.2f %12.1f %10.1f %6u\n", one->type, one->cluster,
		       one->etc_s, one->etc_sd_s, one->eec_j, one->eec_sd_j, one->count);
	}
	print_unmeasured(config);
	print_repetitions(config, target);
	print_overheads(config);
	return true;
}

bool run_results_print_estimates_json(const char *dir, const struct run_results_target *target,
				      GError **error)
{
	g_autoptr(config_t) config = load(dir, error);
	g_autoptr(json_t) measured = NULL;
	json_t *document;

	if (!config)
		return false;
	measured = record_to_json(&measured_record, config);
	document = json_pack("{s:s}", "dir", dir);
	json_object_update(document, measured);
	for (uint32_t i = 0; i < config->estimates_count; i++) {
		const uint32_t repetitions =
			find_repetitions(config, &config->estimates[i], target);

		if (repetitions > 0)
			json_object_set_new(json_array_get(json_object_get(document, "estimates"),
							   i),
					    "target_repetitions", json_integer(repetitions));
	}
	print_document(document);
	return true;
}
