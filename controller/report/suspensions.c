/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/suspensions.h"

#include <math.h>

#include "controller/report/stats.h"

static const struct record_field count_fields[] = {
	{RECORD_AT(suspensions_count, policy), .type = RECORD_BORROWED},
	{RECORD_FIELD_REAL(suspensions_count, limit)},
	{RECORD_FIELD_TEXT(suspensions_count, type)},
	{RECORD_FIELD_U32(suspensions_count, tasks)},
	{RECORD_FIELD_U32(suspensions_count, suspended)},
	{RECORD_FIELD_U32(suspensions_count, resumed)},
	{RECORD_AT(suspensions_count, stills_s), .type = RECORD_REALS,
	 .count_offset = offsetof(struct suspensions_count, resumed), .variants = LISTING_TABLE},
	{RECORD_FIELD_REAL(suspensions_count, still_s)},
	{RECORD_FIELD_REAL(suspensions_count, still_median_s)},
	{RECORD_FIELD_REAL(suspensions_count, still_max_s)},
	{NULL},
};
static const struct record count_record = {.size = sizeof(struct suspensions_count),
					   .fields = count_fields};

static const struct listing_column count_columns[] = {
	{"limit %", "limit", 0, 100},
	{"policy", "policy"},
	{"type", "type"},
	{"tasks", "tasks"},
	{"suspended", "suspended"},
	{"resumed", "resumed"},
	{"still s", "still_s", 1},
	{"median s", "still_median_s", 2},
	{"max s", "still_max_s", 2},
	{NULL},
};

static const struct listing counts = {
	.title = SUSPENSIONS_COUNTS_TITLE,
	.key = "types",
	.csv = "suspensions",
	.record = &count_record,
	.columns = count_columns,
	.note = "still: from frozen until resumed, of those that were",
	.scoped = true,
};

static const struct record_field step_fields[] = {
	{RECORD_FIELD_TEXT(suspensions_step, type)},
	{RECORD_FIELD_TEXT(suspensions_step, cluster)},
	{RECORD_AT(suspensions_step, step), .type = RECORD_BORROWED},
	{RECORD_FIELD_U32(suspensions_step, n)},
	{RECORD_AT(suspensions_step, values_s), .type = RECORD_REALS,
	 .count_offset = offsetof(struct suspensions_step, n), .variants = LISTING_TABLE},
	{RECORD_FIELD_REAL(suspensions_step, median_s)},
	{RECORD_FIELD_REAL(suspensions_step, p90_s)},
	{RECORD_FIELD_REAL(suspensions_step, max_s)},
	{NULL},
};
static const struct record step_record = {.size = sizeof(struct suspensions_step),
					  .fields = step_fields};

static const struct listing_column step_columns[] = {
	{"type", "type"},
	{"cluster", "cluster"},
	{"step", "step"},
	{"n", "n"},
	{"median", "median_s", 1, 1e3},
	{"90 %", "p90_s", 1, 1e3},
	{"max", "max_s", 1, 1e3},
	{NULL},
};

static const struct listing steps = {
	.title = SUSPENSIONS_STEPS_TITLE,
	.key = "steps",
	.csv = "suspension-steps",
	.record = &step_record,
	.columns = step_columns,
};

/* The count of a type in a cell, added if missing. */
static struct suspensions_count *find_count(GArray *rows, const struct summary_cell *cell,
					    const char *type)
{
	struct suspensions_count added = {.policy = cell->policy, .limit = cell->limit};

	for (guint i = 0; i < rows->len; i++) {
		struct suspensions_count *row = &g_array_index(rows, struct suspensions_count, i);

		if (row->policy == cell->policy && row->limit == cell->limit &&
		    g_str_equal(row->type, type))
			return row;
	}
	added.type = g_strdup(type);
	g_array_append_val(rows, added);
	return &g_array_index(rows, struct suspensions_count, rows->len - 1);
}

/* Adds the times of a suspension; the steps of a type on a cluster are neighbouring rows. */
static void add_times(GArray *rows, const char *type, const struct store_suspension *one)
{
	const struct {
		const char *step;
		double value_s;
	} times[] = {{"freeze", one->freeze_s},
		     {"save", one->save_s},
		     {"restore", one->restore_s},
		     {"resume", one->resume_s},
		     {"skew", one->skew_s}};
	guint first = 0;

	for (; first < rows->len; first += G_N_ELEMENTS(times)) {
		const struct suspensions_step *row =
			&g_array_index(rows, struct suspensions_step, first);

		if (g_str_equal(row->type, type) && g_strcmp0(row->cluster, one->cluster) == 0)
			break;
	}
	for (guint i = 0; i < G_N_ELEMENTS(times); i++) {
		struct suspensions_step added = {.step = times[i].step};
		struct suspensions_step *row;

		if (first + i == rows->len) {
			added.type = g_strdup(type);
			added.cluster = g_strdup(one->cluster);
			g_array_append_val(rows, added);
		}
		row = &g_array_index(rows, struct suspensions_step, first + i);
		if (isfinite(times[i].value_s))
			listing_add_real(&row->values_s, &row->n, times[i].value_s);
	}
}

static void add_still(struct suspensions_count *count, const struct store_suspension *one)
{
	const double save_s = isfinite(one->save_s) ? one->save_s : 0;

	if (isfinite(one->since_s))
		listing_add_real(&count->stills_s, &count->resumed,
				 one->since_s - (one->suspended_s - save_s));
}

/* Adds the suspensions of a run, which are ordered by task. */
static bool add_run(const struct summary *summary, const struct summary_cell *cell,
		    const struct store_run *run, void *data, GError **error)
{
	GArray **arrays = data;
	g_autoptr(GPtrArray) list = store_suspensions(summary->store, run->run, error);
	g_autoptr(GHashTable) types = NULL; /* of tasks by number */
	g_autoptr(GPtrArray) tasks = NULL;
	const struct store_suspension *last = NULL;

	if (!list || list->len == 0)
		return list != NULL;
	tasks = store_tasks(summary->store, run->run, error);
	if (!tasks)
		return false;
	types = g_hash_table_new(NULL, NULL);
	for (guint i = 0; i < tasks->len; i++) {
		const struct store_task *task = tasks->pdata[i];

		g_hash_table_insert(types, GUINT_TO_POINTER(task->task), task->type);
	}
	for (guint i = 0; i < list->len; i++) {
		const struct store_suspension *one = list->pdata[i];
		const char *type = g_hash_table_lookup(types, GUINT_TO_POINTER(one->task));
		struct suspensions_count *count;

		if (!type || !isfinite(one->suspended_s))
			continue;
		count = find_count(arrays[0], cell, type);
		count->suspended++;
		count->tasks += !last || last->task != one->task || last->attempt != one->attempt;
		last = one;
		add_still(count, one);
		add_times(arrays[1], type, one);
	}
	return true;
}

static int by_type_and_cluster(const void *a, const void *b)
{
	const struct suspensions_step *x = a;
	const struct suspensions_step *y = b;
	const int types = g_strcmp0(x->type, y->type);

	return types ? types : g_strcmp0(x->cluster, y->cluster);
}

static bool read_suspensions(const struct summary *summary, GArray **arrays, GError **error)
{
	if (!summary_each_run(summary, add_run, arrays, error))
		return false;
	for (guint i = 0; i < arrays[0]->len; i++) {
		struct suspensions_count *row =
			&g_array_index(arrays[0], struct suspensions_count, i);

		for (uint32_t j = 0; j < row->resumed; j++)
			row->still_s += row->stills_s[j];
		row->still_median_s = stats_median(row->stills_s, row->resumed);
		row->still_max_s = stats_quantile(row->stills_s, row->resumed, 1);
	}
	for (guint i = arrays[1]->len; i-- > 0;) {
		struct suspensions_step *row =
			&g_array_index(arrays[1], struct suspensions_step, i);

		row->median_s = stats_median(row->values_s, row->n);
		row->p90_s = stats_quantile(row->values_s, row->n, 0.9);
		row->max_s = stats_quantile(row->values_s, row->n, 1);
		if (!(row->max_s > 0)) {
			record_clear(&step_record, row);
			g_array_remove_index(arrays[1], i);
		}
	}
	g_array_sort(arrays[1], by_type_and_cluster);
	return true;
}

const struct listing_part suspensions_part = {"suspensions", {&counts, &steps}, read_suspensions};
