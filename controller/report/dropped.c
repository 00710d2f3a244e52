/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/dropped.h"

#include <math.h>

#include "common/json.h"
#include "controller/report/table.h"

static void clear(void *data)
{
	g_free(((struct dropped *)data)->reason);
}

static struct dropped *row(GArray *rows, guint i)
{
	return &g_array_index(rows, struct dropped, i);
}

/* The row of a reason from `first` on; added if missing. */
static struct dropped *find(GArray *rows, guint first, const struct summary_cell *cell,
			    const char *reason)
{
	struct dropped added = {
		.policy = cell->policy, .limit = cell->limit, .chance_max = (double)NAN
	};

	for (guint i = first; i < rows->len; i++)
		if (g_str_equal(row(rows, i)->reason, reason))
			return row(rows, i);
	added.reason = g_strdup(reason);
	g_array_append_val(rows, added);
	return row(rows, rows->len - 1);
}

static bool add_run(const struct summary *summary, const struct summary_cell *cell,
		    const struct store_run *run, GArray *rows, guint first, GError **error)
{
	g_autoptr(GPtrArray) tasks = store_tasks(summary->store, run->run, error);

	for (guint i = 0; tasks && i < tasks->len; i++) {
		const struct store_task *task = tasks->pdata[i];
		struct dropped *one;

		if (g_strcmp0(task->state, "dropped") != 0)
			continue;
		one = find(rows, first, cell, task->reason ?: "no reason recorded");
		one->tasks++;
		one->chance_mean += task->chance; /* the sum until the end */
		one->chance_max = fmax(one->chance_max, task->chance);
	}
	return tasks != NULL;
}

static int by_reason(const void *a, const void *b)
{
	return g_strcmp0(((const struct dropped *)a)->reason, ((const struct dropped *)b)->reason);
}

GArray *dropped_new(const struct summary *summary, GError **error)
{
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(struct dropped));
	const guint cells = summary->policies->len * summary->limits->len;

	g_array_set_clear_func(rows, clear);
	for (guint i = 0; i < cells; i++) {
		const struct summary_cell *cell = &summary->cells[i];
		g_autoptr(GPtrArray) runs = NULL;
		const guint first = rows->len;

		if (!cell->runs)
			continue;
		runs = summary_cell_runs(summary, cell->policy, cell->limit);
		for (guint j = 0; j < runs->len; j++)
			if (!add_run(summary, cell, runs->pdata[j], rows, first, error))
				return NULL;
		if (rows->len > first)
			qsort(row(rows, first), rows->len - first, sizeof(struct dropped),
			      by_reason);
		for (guint j = first; j < rows->len; j++)
			row(rows, j)->chance_mean /= row(rows, j)->tasks;
	}
	return g_steal_pointer(&rows);
}

char *dropped_text(const GArray *dropped)
{
	g_autoptr(table_t) table = table_new();
	g_autofree char *body = NULL;

	if (dropped->len == 0)
		return NULL;
	table_column(table, "limit %", TABLE_RIGHT);
	table_column(table, "policy", TABLE_LEFT);
	table_column(table, "dropped", TABLE_RIGHT);
	table_column(table, "mean chance", TABLE_RIGHT);
	table_column(table, "largest", TABLE_RIGHT);
	table_column(table, "why", TABLE_LEFT);
	for (guint i = 0; i < dropped->len; i++) {
		const struct dropped *one = &g_array_index(dropped, struct dropped, i);

		table_row(table);
		table_number(table, 100 * one->limit, 0);
		table_text(table, one->policy);
		table_integer(table, one->tasks);
		table_number(table, one->chance_mean, 4);
		table_number(table, one->chance_max, 4);
		table_text(table, one->reason);
	}
	body = table_format(table, 2);
	return g_strdup_printf("Dropped tasks, by reason\n\n%s", body);
}

json_t *dropped_json(const GArray *dropped)
{
	json_t *list = json_array();

	for (guint i = 0; i < dropped->len; i++) {
		const struct dropped *one = &g_array_index(dropped, struct dropped, i);

		json_array_append_new(list,
				      json_pack("{s:s, s:f, s:s, s:I, s:o, s:o}", "policy",
						one->policy, "limit", one->limit, "reason",
						one->reason, "tasks", (json_int_t)one->tasks,
						"chance_mean",
						json_number_or_null(one->chance_mean),
						"chance_max",
						json_number_or_null(one->chance_max)));
	}
	return list;
}
