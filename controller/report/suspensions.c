/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/suspensions.h"

#include <math.h>

#include "common/json.h"
#include "controller/report/stats.h"
#include "controller/store/store.h"

enum step { STEP_FREEZE, STEP_SAVE, STEP_RESTORE, STEP_RESUME, STEP_SKEW, STEPS };

static const char *const step_names[STEPS] = {"freeze", "save", "restore", "resume", "skew"};

/* A count while suspensions are added. */
struct count {
	struct suspensions_count row;
	GArray *still_s; /* of double */
};

/* The times of a type on a cluster. */
struct times {
	char *type, *cluster;
	GArray *values_s[STEPS]; /* of double */
};

struct suspensions {
	bool measured;
	GArray *counts; /* of struct suspensions_count */
	GArray *steps;  /* of struct suspensions_step */
};

static void clear_count(gpointer data)
{
	g_free(((struct suspensions_count *)data)->type);
}

static void clear_step(gpointer data)
{
	struct suspensions_step *step = data;

	g_free(step->type);
	g_free(step->cluster);
}

static void clear_growing(gpointer data)
{
	struct count *count = data;

	g_free(count->row.type);
	g_array_unref(count->still_s);
}

static void clear_times(gpointer data)
{
	struct times *times = data;

	g_free(times->type);
	g_free(times->cluster);
	for (int i = 0; i < STEPS; i++)
		g_array_unref(times->values_s[i]);
}

void suspensions_free(struct suspensions *suspensions)
{
	if (!suspensions)
		return;
	g_array_unref(suspensions->counts);
	g_array_unref(suspensions->steps);
	g_free(suspensions);
}

/* Reading. */

static GArray *doubles_new(void)
{
	return g_array_new(FALSE, FALSE, sizeof(double));
}

/* The count of a type; those of the present cell begin at `first`. */
static struct count *find_count(GArray *counts, guint first, const struct summary_cell *cell,
				const char *type)
{
	struct count added = {.row = {.policy = cell->policy, .limit = cell->limit}};

	for (guint i = first; i < counts->len; i++) {
		struct count *count = &g_array_index(counts, struct count, i);

		if (g_str_equal(count->row.type, type))
			return count;
	}
	added.row.type = g_strdup(type);
	added.still_s = doubles_new();
	g_array_append_val(counts, added);
	return &g_array_index(counts, struct count, counts->len - 1);
}

static struct times *find_times(GArray *all, const char *type, const char *cluster)
{
	struct times added = {0};

	for (guint i = 0; i < all->len; i++) {
		struct times *times = &g_array_index(all, struct times, i);

		if (g_str_equal(times->type, type) && g_strcmp0(times->cluster, cluster) == 0)
			return times;
	}
	added.type = g_strdup(type);
	added.cluster = g_strdup(cluster);
	for (int i = 0; i < STEPS; i++)
		added.values_s[i] = doubles_new();
	g_array_append_val(all, added);
	return &g_array_index(all, struct times, all->len - 1);
}

static void add_times(struct times *times, const struct store_suspension *one)
{
	const double values_s[STEPS] = {one->freeze_s, one->save_s, one->restore_s, one->resume_s,
					one->skew_s};

	for (int i = 0; i < STEPS; i++)
		if (isfinite(values_s[i]))
			g_array_append_val(times->values_s[i], values_s[i]);
}

static void add_still(struct count *count, const struct store_suspension *one)
{
	const double save_s = isfinite(one->save_s) ? one->save_s : 0;
	const double still_s = one->since_s - (one->suspended_s - save_s);

	if (!isfinite(one->since_s))
		return;
	count->row.resumed++;
	g_array_append_val(count->still_s, still_s);
}

/* The type of each task of a run, by its number. */
static GHashTable *types_of(const GPtrArray *tasks)
{
	GHashTable *types = g_hash_table_new(NULL, NULL);

	for (guint i = 0; i < tasks->len; i++) {
		const struct store_task *task = tasks->pdata[i];

		g_hash_table_insert(types, GUINT_TO_POINTER(task->task), task->type);
	}
	return types;
}

/* Adds the suspensions of a run, which are ordered by task. */
static bool add_run(const struct summary *summary, const struct summary_cell *cell,
		    const struct store_run *run, GArray *counts, guint first, GArray *times,
		    GError **error)
{
	g_autoptr(GPtrArray) list = store_suspensions(summary->store, run->run, error);
	g_autoptr(GPtrArray) tasks = NULL;
	g_autoptr(GHashTable) types = NULL;
	const struct store_suspension *last = NULL;

	if (!list || list->len == 0)
		return list != NULL;
	tasks = store_tasks(summary->store, run->run, error);
	if (!tasks)
		return false;
	types = types_of(tasks);
	for (guint i = 0; i < list->len; i++) {
		const struct store_suspension *one = list->pdata[i];
		const char *type = g_hash_table_lookup(types, GUINT_TO_POINTER(one->task));
		struct count *count;

		if (!type || !isfinite(one->suspended_s))
			continue;
		count = find_count(counts, first, cell, type);
		count->row.suspended++;
		count->row.tasks +=
			!last || last->task != one->task || last->attempt != one->attempt;
		last = one;
		add_still(count, one);
		add_times(find_times(times, type, one->cluster), one);
	}
	return true;
}

static bool gather(const struct summary *summary, GArray *counts, GArray *times, GError **error)
{
	const guint cells = summary->policies->len * summary->limits->len;

	for (guint i = 0; i < cells; i++) {
		const struct summary_cell *cell = &summary->cells[i];
		g_autoptr(GPtrArray) runs = NULL;
		const guint first = counts->len;

		if (!cell->runs)
			continue;
		runs = summary_cell_runs(summary, cell->policy, cell->limit);
		for (guint j = 0; j < runs->len; j++)
			if (!add_run(summary, cell, runs->pdata[j], counts, first, times, error))
				return false;
	}
	return true;
}

/* Sums. */

static const double *values(const GArray *array)
{
	return (const double *)(const void *)array->data;
}

static void put_counts(struct suspensions *suspensions, GArray *counts)
{
	for (guint i = 0; i < counts->len; i++) {
		struct count *count = &g_array_index(counts, struct count, i);
		const GArray *still_s = count->still_s;
		struct suspensions_count row = count->row;

		row.type = g_strdup(row.type);
		for (guint j = 0; j < still_s->len; j++)
			row.still_s += values(still_s)[j];
		row.still_median_s = stats_median(values(still_s), still_s->len);
		row.still_max_s = stats_quantile(values(still_s), still_s->len, 1);
		g_array_append_val(suspensions->counts, row);
	}
}

static void put_step(struct suspensions *suspensions, const struct times *times, enum step which)
{
	const GArray *of_step = times->values_s[which];
	struct suspensions_step row = {
		.step = step_names[which],
		.n = of_step->len,
		.median_s = stats_median(values(of_step), of_step->len),
		.p90_s = stats_quantile(values(of_step), of_step->len, 0.9),
		.max_s = stats_quantile(values(of_step), of_step->len, 1),
	};

	if (!(row.max_s > 0))
		return;
	row.type = g_strdup(times->type);
	row.cluster = g_strdup(times->cluster);
	g_array_append_val(suspensions->steps, row);
}

static int by_type_and_cluster(const void *a, const void *b)
{
	const struct times *x = a;
	const struct times *y = b;
	const int types = g_strcmp0(x->type, y->type);

	return types ? types : g_strcmp0(x->cluster, y->cluster);
}

static GArray *array_new(gsize size, GDestroyNotify clear)
{
	GArray *array = g_array_new(FALSE, FALSE, (guint)size);

	g_array_set_clear_func(array, clear);
	return array;
}

struct suspensions *suspensions_new(const struct summary *summary, GError **error)
{
	g_autoptr(suspensions_t) suspensions = g_new0(struct suspensions, 1);
	g_autoptr(GArray) counts = array_new(sizeof(struct count), clear_growing);
	g_autoptr(GArray) times = array_new(sizeof(struct times), clear_times);

	suspensions->measured = summary->measured;
	suspensions->counts = array_new(sizeof(struct suspensions_count), clear_count);
	suspensions->steps = array_new(sizeof(struct suspensions_step), clear_step);
	if (!gather(summary, counts, times, error))
		return NULL;
	put_counts(suspensions, counts);
	g_array_sort(times, by_type_and_cluster);
	for (guint i = 0; i < times->len; i++)
		for (int step = 0; step < STEPS; step++)
			put_step(suspensions, &g_array_index(times, struct times, i),
				 (enum step)step);
	return g_steal_pointer(&suspensions);
}

const GArray *suspensions_counts(const struct suspensions *suspensions)
{
	return suspensions->counts;
}

const GArray *suspensions_steps(const struct suspensions *suspensions)
{
	return suspensions->steps;
}

/* Output. */

static const struct suspensions_count *count_at(const struct suspensions *suspensions, guint i)
{
	return &g_array_index(suspensions->counts, struct suspensions_count, i);
}

static const struct suspensions_step *step_at(const struct suspensions *suspensions, guint i)
{
	return &g_array_index(suspensions->steps, struct suspensions_step, i);
}

struct table *suspensions_counts_table(const struct suspensions *suspensions)
{
	static const char *const numbers[] = {"tasks",   "suspended", "resumed",
					      "still s", "median s",  "max s"};
	struct table *table = table_new();

	table_column(table, "limit %", TABLE_RIGHT);
	table_column(table, "policy", TABLE_LEFT);
	table_column(table, "type", TABLE_LEFT);
	for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
		table_column(table, numbers[i], TABLE_RIGHT);
	for (guint i = 0; i < suspensions->counts->len; i++) {
		const struct suspensions_count *row = count_at(suspensions, i);

		table_row(table);
		table_number(table, 100 * row->limit, 0);
		table_text(table, row->policy);
		table_text(table, row->type);
		table_integer(table, row->tasks);
		table_integer(table, row->suspended);
		table_integer(table, row->resumed);
		table_number(table, row->still_s, 1);
		table_number(table, row->still_median_s, 2);
		table_number(table, row->still_max_s, 2);
	}
	return table;
}

struct table *suspensions_steps_table(const struct suspensions *suspensions)
{
	static const char *const texts[] = {"type", "cluster", "step"};
	static const char *const numbers[] = {"n", "median", "90 %", "max"};
	struct table *table = table_new();

	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
		table_column(table, texts[i], TABLE_LEFT);
	for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
		table_column(table, numbers[i], TABLE_RIGHT);
	for (guint i = 0; i < suspensions->steps->len; i++) {
		const struct suspensions_step *row = step_at(suspensions, i);

		table_row(table);
		table_text(table, row->type);
		table_text(table, row->cluster);
		table_text(table, row->step);
		table_integer(table, row->n);
		table_number(table, 1e3 * row->median_s, 1);
		table_number(table, 1e3 * row->p90_s, 1);
		table_number(table, 1e3 * row->max_s, 1);
	}
	return table;
}

char *suspensions_text(const struct suspensions *suspensions)
{
	g_autoptr(table_t) counts = suspensions_counts_table(suspensions);
	g_autoptr(table_t) steps = suspensions_steps_table(suspensions);
	g_autofree char *counts_text = NULL;
	g_autofree char *steps_text = NULL;
	GString *text;

	if (!suspensions->counts->len)
		return NULL;
	counts_text = table_format(counts, 2);
	steps_text = table_format(steps, 2);
	text = g_string_new(SUSPENSIONS_COUNTS_TITLE "\n");
	g_string_append_printf(
		text, "%s  %s; still: from frozen until resumed, of those that were\n", counts_text,
		suspensions->measured ? "sums over all runs of the policy"
				      : "of the first trial, whose tasks are on record");
	if (suspensions->steps->len)
		g_string_append_printf(text, "\n" SUSPENSIONS_STEPS_TITLE "\n%s", steps_text);
	return g_string_free(text, FALSE);
}

json_t *suspensions_json(const struct suspensions *suspensions)
{
	json_t *counts = json_array();
	json_t *steps = json_array();

	for (guint i = 0; i < suspensions->counts->len; i++) {
		const struct suspensions_count *row = count_at(suspensions, i);

		json_array_append_new(
			counts,
			json_pack("{s:s, s:o, s:s, s:i, s:i, s:i, s:f, s:o, s:o}", "policy",
				  row->policy, "limit", json_number_or_null(row->limit), "type",
				  row->type, "tasks", (int)row->tasks, "suspended",
				  (int)row->suspended, "resumed", (int)row->resumed, "still_s",
				  row->still_s, "still_median_s",
				  json_number_or_null(row->still_median_s), "still_max_s",
				  json_number_or_null(row->still_max_s)));
	}
	for (guint i = 0; i < suspensions->steps->len; i++) {
		const struct suspensions_step *row = step_at(suspensions, i);

		json_array_append_new(
			steps, json_pack("{s:s, s:s?, s:s, s:i, s:f, s:f, s:f}", "type", row->type,
					 "cluster", row->cluster, "step", row->step, "n",
					 (int)row->n, "median_s", row->median_s, "p90_s",
					 row->p90_s, "max_s", row->max_s));
	}
	return json_pack("{s:o, s:o}", "types", counts, "steps", steps);
}
