/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/dropped.h"

#include <math.h>
#include <string.h>

static const struct record_field fields[] = {
	{RECORD_AT(dropped, policy), .type = RECORD_BORROWED},
	{RECORD_FIELD_REAL(dropped, limit)},
	{RECORD_FIELD_TEXT(dropped, reason)},
	{RECORD_FIELD_U32(dropped, tasks)},
	{RECORD_FIELD_REAL(dropped, chance_mean)},
	{RECORD_FIELD_REAL(dropped, chance_max)},
	{NULL},
};
static const struct record record = {.size = sizeof(struct dropped), .fields = fields};

static const struct listing_column columns[] = {
	{"limit %", "limit", 0, 100},
	{"policy", "policy"},
	{"dropped", "tasks"},
	{"mean chance", "chance_mean", 4},
	{"largest", "chance_max", 4},
	{"why", "reason"},
	{NULL},
};

static const struct listing listing = {
	.title = "Dropped tasks, by reason\n",
	.record = &record,
	.columns = columns,
	.text_only = true,
};

/* The row of a reason, added if missing. Rows of the present cell are the last ones. */
static struct dropped *find(GArray *rows, const struct summary_cell *cell, const char *reason)
{
	struct dropped added = {.policy = cell->policy,
				.limit = cell->limit,
				.chance_max = (double)NAN};
	guint i = 0;

	for (; i < rows->len; i++) {
		struct dropped *row = &g_array_index(rows, struct dropped, i);
		const bool here = row->policy == cell->policy && row->limit == cell->limit;
		const int order = here ? strcmp(row->reason, reason) : -1;

		if (order == 0)
			return row;
		if (order > 0)
			break;
	}
	added.reason = g_strdup(reason);
	g_array_insert_val(rows, i, added);
	return &g_array_index(rows, struct dropped, i);
}

static bool add_run(const struct summary *summary, const struct summary_cell *cell,
		    const struct store_run *run, void *data, GError **error)
{
	g_autoptr(GPtrArray) tasks = store_tasks(summary->store, run->run, error);

	for (guint i = 0; tasks && i < tasks->len; i++) {
		const struct store_task *task = tasks->pdata[i];
		struct dropped *one;

		if (g_strcmp0(task->state, "dropped") != 0)
			continue;
		one = find(*(GArray **)data, cell, task->reason ?: "no reason recorded");
		one->tasks++;
		one->chance_mean += task->chance; /* the sum until the end */
		one->chance_max = fmax(one->chance_max, task->chance);
	}
	return tasks != NULL;
}

static bool read_dropped(const struct summary *summary, GArray **arrays, GError **error)
{
	const bool good = summary_each_run(summary, add_run, arrays, error);

	for (guint i = 0; i < arrays[0]->len; i++) {
		struct dropped *row = &g_array_index(arrays[0], struct dropped, i);

		row->chance_mean /= row->tasks;
	}
	return good;
}

const struct listing_part dropped_part = {"dropped", {&listing}, read_dropped};
