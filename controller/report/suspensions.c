/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/suspensions.h"

#include <math.h>

#include "controller/report/stats.h"

static const struct record_field count_fields[] = {
	{RECORD_AT(standstills, policy), .type = RECORD_BORROWED},
	{RECORD_FIELD_REAL(standstills, limit)},
	{RECORD_FIELD_TEXT(standstills, type)},
	{RECORD_FIELD_U32(standstills, tasks)},
	{RECORD_FIELD_U32(standstills, suspended)},
	{RECORD_FIELD_U32(standstills, resumed)},
	{RECORD_AT(standstills, stills_s), .type = RECORD_REALS,
	 .count_offset = offsetof(struct standstills, resumed), .variants = LISTING_TABLE},
	{RECORD_FIELD_REAL(standstills, still_s)},
	{RECORD_FIELD_REAL(standstills, still_median_s)},
	{RECORD_FIELD_REAL(standstills, still_max_s)},
	{NULL},
};
static const struct record count_record = {.size = sizeof(struct standstills),
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
	{RECORD_FIELD_TEXT(step_times, type)},
	{RECORD_FIELD_TEXT(step_times, cluster)},
	{RECORD_AT(step_times, step), .type = RECORD_BORROWED},
	{RECORD_FIELD_U32(step_times, n)},
	{RECORD_AT(step_times, values_s), .type = RECORD_REALS,
	 .count_offset = offsetof(struct step_times, n), .variants = LISTING_TABLE},
	{RECORD_FIELD_REAL(step_times, median_s)},
	{RECORD_FIELD_REAL(step_times, p90_s)},
	{RECORD_FIELD_REAL(step_times, max_s)},
	{NULL},
};
static const struct record step_record = {.size = sizeof(struct step_times), .fields = step_fields};

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

/* The row of a type in a cell, added if missing. */
static struct standstills *find_standstills(GArray *rows, const struct summary_cell *cell,
					    const char *type)
{
	struct standstills added = {.policy = cell->policy, .limit = cell->limit};

	for (guint i = 0; i < rows->len; i++) {
		struct standstills *row = &g_array_index(rows, struct standstills, i);

		if (row->policy == cell->policy && row->limit == cell->limit &&
		    g_str_equal(row->type, type))
			return row;
	}
	added.type = g_strdup(type);
	g_array_append_val(rows, added);
	return &g_array_index(rows, struct standstills, rows->len - 1);
}

/* Adds the time of a step, unless it is unknown, to the row of the step; added if missing. */
static void add_time(GArray *rows, const char *type, const char *cluster, const char *step,
		     double value_s)
{
	struct step_times added = {.step = step};
	struct step_times *row = NULL;
	guint i = 0;

	for (; i < rows->len; i++) {
		row = &g_array_index(rows, struct step_times, i);
		if (g_str_equal(row->step, step) && g_str_equal(row->type, type) &&
		    g_strcmp0(row->cluster, cluster) == 0)
			break;
	}
	if (i == rows->len) {
		added.type = g_strdup(type);
		added.cluster = g_strdup(cluster);
		g_array_append_val(rows, added);
		row = &g_array_index(rows, struct step_times, i);
	}
	if (isfinite(value_s))
		listing_add_real(&row->values_s, &row->n, value_s);
}

static void add_still(struct standstills *row, const struct store_suspension *one)
{
	const double save_s = isfinite(one->save_s) ? one->save_s : 0;
	const double still_s = one->since_s - (one->suspended_s - save_s);

	if (!isfinite(one->since_s))
		return;
	listing_add_real(&row->stills_s, &row->resumed, still_s);
	row->still_s += still_s;
}

/* Adds the suspensions of a run, which are ordered by task. */
static bool add_run(const struct summary *summary, const struct summary_cell *cell,
		    const struct store_run *run, void *data, GError **error)
{
	GArray **arrays = data;
	g_autoptr(GPtrArray) list = store_suspensions(summary->store, run->run, error);
	g_autoptr(GHashTable) types = NULL;
	const struct store_suspension *last = NULL;

	if (!list || list->len == 0)
		return list != NULL;
	types = summary_task_types(summary, run, error);
	for (guint i = 0; types && i < list->len; i++) {
		const struct store_suspension *one = list->pdata[i];
		const char *type = g_hash_table_lookup(types, GUINT_TO_POINTER(one->task));
		struct standstills *row;

		if (!type || !isfinite(one->suspended_s))
			continue;
		row = find_standstills(arrays[0], cell, type);
		row->suspended++;
		row->tasks += !last || last->task != one->task || last->attempt != one->attempt;
		last = one;
		add_still(row, one);
		add_time(arrays[1], type, one->cluster, "freeze", one->freeze_s);
		add_time(arrays[1], type, one->cluster, "save", one->save_s);
		add_time(arrays[1], type, one->cluster, "restore", one->restore_s);
		add_time(arrays[1], type, one->cluster, "resume", one->resume_s);
		add_time(arrays[1], type, one->cluster, "skew", one->skew_s);
	}
	return types != NULL;
}

static int by_type_and_cluster(const void *a, const void *b)
{
	const struct step_times *x = a;
	const struct step_times *y = b;
	const int types = g_strcmp0(x->type, y->type);

	return types ? types : g_strcmp0(x->cluster, y->cluster);
}

static bool read_suspensions(const struct summary *summary, GArray **arrays, GError **error)
{
	if (!summary_each_run(summary, add_run, arrays, error))
		return false;
	for (guint i = 0; i < arrays[0]->len; i++) {
		struct standstills *row = &g_array_index(arrays[0], struct standstills, i);

		row->still_median_s = stats_median(row->stills_s, row->resumed);
		row->still_max_s = stats_quantile(row->stills_s, row->resumed, 1);
	}
	for (guint i = arrays[1]->len; i-- > 0;) {
		struct step_times *row = &g_array_index(arrays[1], struct step_times, i);

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
