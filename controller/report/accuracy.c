/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/accuracy.h"

#include <math.h>

#include "common/json.h"
#include "controller/report/stats.h"
#include "controller/store/store.h"

/* A completed task. */
struct outcome {
	guint cluster;
	double start_s, end_s;
	double ratio; /* measured / ETC */
	double apart; /* `ratio` over the mean ratio of the tasks beside it; NAN: it ran alone */
};

/* The completed tasks of all runs, and the clusters by name in their order. */
struct outcomes {
	GPtrArray *clusters;  /* char *, owned */
	GArray *list;         /* struct outcome */
	const json_t *speeds; /* for summary_speed() */
};

static guint find_cluster(GPtrArray *clusters, const char *name)
{
	guint i;

	if (g_ptr_array_find_with_equal_func(clusters, name, g_str_equal, &i))
		return i;
	g_ptr_array_add(clusters, g_strdup(name));
	return clusters->len - 1;
}

/* Sets `apart` of the tasks from `first` on, which are those of one run. */
static void find_overlaps(GArray *list, guint first)
{
	struct outcome *outcomes = (struct outcome *)(void *)list->data;

	for (guint i = first; i < list->len; i++) {
		struct outcome *one = &outcomes[i];
		double weight = 0;
		double sum = 0;

		for (guint j = first; j < list->len; j++) {
			const struct outcome *other = &outcomes[j];
			const double beside_s =
				fmin(one->end_s, other->end_s) - fmax(one->start_s, other->start_s);

			if (other->cluster == one->cluster || beside_s <= 0)
				continue;
			weight += beside_s;
			sum += beside_s * other->ratio;
		}
		one->apart = weight > 0 ? one->ratio * weight / sum : NAN;
	}
}

static bool collect_run(struct outcomes *outcomes, struct store *store, int64_t run, GError **error)
{
	g_autoptr(GPtrArray) tasks = store_tasks(store, run, error);
	const guint first = outcomes->list->len;

	for (guint i = 0; tasks && i < tasks->len; i++) {
		const struct store_task *task = tasks->pdata[i];
		struct outcome outcome;

		if (!g_str_equal(task->state, "completed") || !task->cluster ||
		    !(task->etc_s > 0) || !(task->exec_s > 0) || !isfinite(task->exec_s))
			continue;
		outcome = (struct outcome){
			.cluster = find_cluster(outcomes->clusters, task->cluster),
			.start_s = task->started_s,
			.end_s = task->ended_s,
			.ratio = task->exec_s * summary_speed(outcomes->speeds, task->cluster) /
				 task->etc_s,
		};
		g_array_append_val(outcomes->list, outcome);
	}
	find_overlaps(outcomes->list, first);
	return tasks != NULL;
}

/* The accuracy over the tasks on cluster number `cluster`, or over all where `name` is NULL. */
static struct accuracy measure(const GArray *list, guint cluster, const char *name)
{
	g_autofree double *ratios = g_new(double, list->len + 1);
	g_autofree double *errors = g_new(double, list->len + 1);
	g_autofree double *aparts = g_new(double, list->len + 1);
	struct accuracy accuracy = {.cluster = g_strdup(name), .speed = 1};

	for (guint i = 0; i < list->len; i++) {
		const struct outcome *outcome = &g_array_index(list, struct outcome, i);

		if (name && outcome->cluster != cluster)
			continue;
		ratios[accuracy.n] = outcome->ratio;
		errors[accuracy.n++] = fabs(outcome->ratio - 1);
		if (isfinite(outcome->apart))
			aparts[accuracy.apart_n++] = fabs(outcome->apart - 1);
	}
	accuracy.median_ratio = stats_median(ratios, accuracy.n);
	accuracy.median_error = stats_median(errors, accuracy.n);
	accuracy.median_apart = stats_median(aparts, accuracy.apart_n);
	return accuracy;
}

static void clear_accuracy(gpointer data)
{
	g_free(((struct accuracy *)data)->cluster);
}

GArray *accuracy_measure(const struct summary *measured, GError **error)
{
	g_autoptr(GPtrArray) clusters = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(struct outcome));
	g_autoptr(GArray) accuracies = g_array_new(FALSE, FALSE, sizeof(struct accuracy));
	g_autoptr(json_t) speeds = store_get_document(measured->store, "capabilities");
	struct outcomes outcomes = {clusters, list, speeds};
	g_autofree char *order = store_get_meta(measured->store, "cluster_order");
	g_auto(GStrv) names = g_strsplit(order ? order : "", ",", -1);
	struct accuracy accuracy;

	g_array_set_clear_func(accuracies, clear_accuracy);
	for (gsize i = 0; names[i]; i++)
		find_cluster(clusters, names[i]);
	for (guint i = 0; i < measured->runs->len; i++) {
		const struct store_run *run = measured->runs->pdata[i];

		if (!collect_run(&outcomes, measured->store, run->run, error))
			return NULL;
	}
	for (guint i = 0; i < clusters->len; i++) {
		accuracy = measure(list, i, clusters->pdata[i]);
		accuracy.speed = summary_speed(speeds, clusters->pdata[i]);
		g_array_append_val(accuracies, accuracy);
	}
	accuracy = measure(list, 0, NULL);
	g_array_append_val(accuracies, accuracy);
	return g_steal_pointer(&accuracies);
}
