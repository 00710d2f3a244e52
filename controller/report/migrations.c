/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/migrations.h"

#include <math.h>

#include "common/json.h"
#include "controller/report/stats.h"
#include "controller/store/store.h"

struct migrations {
	bool measured;
	GArray *list;     /* of struct migrations_one */
	GArray *policies; /* of struct migrations_policy */
};

static void clear_one(gpointer data)
{
	struct migrations_one *one = data;

	g_free(one->type);
	g_free(one->cluster);
	g_free(one->nodes);
	g_free(one->to_nodes);
	g_free(one->reason);
	g_array_unref(one->downtimes_s);
}

void migrations_free(struct migrations *migrations)
{
	if (!migrations)
		return;
	g_array_unref(migrations->list);
	g_array_unref(migrations->policies);
	g_free(migrations);
}

/* Reading. */

/* The downtimes of a migration's VMs; `vms` are those of the run, in order. */
static GArray *downtimes_of(const struct store_migration *migration, const GPtrArray *vms)
{
	GArray *downtimes_s = g_array_new(FALSE, FALSE, sizeof(double));

	for (guint i = 0; i < vms->len; i++) {
		const struct store_migration_vm *vm = vms->pdata[i];

		if (vm->task == migration->task && vm->attempt == migration->attempt &&
		    vm->n == migration->n && isfinite(vm->downtime_s))
			g_array_append_val(downtimes_s, vm->downtime_s);
	}
	return downtimes_s;
}

/* The type of a task; the tasks of a run are ordered by number. */
static const char *type_of(const GPtrArray *tasks, uint32_t number)
{
	for (guint i = 0; i < tasks->len; i++) {
		const struct store_task *task = tasks->pdata[i];

		if (task->task == number)
			return task->type;
	}
	return NULL;
}

static void add_one(GArray *list, const struct summary_cell *cell, uint32_t repeat,
		    const struct store_migration *migration, const GPtrArray *vms,
		    const GPtrArray *tasks)
{
	const struct migrations_one one = {
		.cell = cell,
		.repeat = repeat,
		.task = migration->task,
		.attempt = migration->attempt,
		.type = g_strdup(type_of(tasks, migration->task)),
		.by_person = migration->by_person,
		.cluster = g_strdup(migration->cluster),
		.nodes = g_strdup(migration->nodes),
		.to_nodes = g_strdup(migration->to_nodes),
		.requested_s = migration->requested_s,
		.total_s = migration->ended_s - migration->requested_s,
		.downtimes_s = downtimes_of(migration, vms),
		.reason = g_strdup(migration->reason),
	};

	g_array_append_val(list, one);
}

static bool add_run(const struct summary *summary, const struct summary_cell *cell,
		    const struct store_run *run, GArray *list, GError **error)
{
	g_autoptr(GPtrArray) found = store_migrations(summary->store, run->run, error);
	g_autoptr(GPtrArray) vms = NULL;
	g_autoptr(GPtrArray) tasks = NULL;

	if (!found || found->len == 0)
		return found != NULL;
	vms = store_migration_vms(summary->store, run->run, error);
	tasks = vms ? store_tasks(summary->store, run->run, error) : NULL;
	for (guint i = 0; tasks && i < found->len; i++)
		add_one(list, cell, run->repeat, found->pdata[i], vms, tasks);
	return tasks != NULL;
}

static bool add_cell(const struct summary *summary, const struct summary_cell *cell, GArray *list,
		     GError **error)
{
	g_autoptr(GPtrArray) runs = summary_cell_runs(summary, cell->policy, cell->limit);

	for (guint i = 0; i < runs->len; i++)
		if (!add_run(summary, cell, runs->pdata[i], list, error))
			return false;
	return true;
}

/* Sums. */

static const struct migrations_one *one_at(const struct migrations *migrations, guint i)
{
	return &g_array_index(migrations->list, struct migrations_one, i);
}

static const double *values(const GArray *array)
{
	return (const double *)(const void *)array->data;
}

/* Adds the sums of the migrations from `first` on, which are those of a cell. */
static void add_policy(struct migrations *migrations, const struct summary_cell *cell, guint first)
{
	g_autoptr(GArray) totals_s = g_array_new(FALSE, FALSE, sizeof(double));
	g_autoptr(GArray) downtimes_s = g_array_new(FALSE, FALSE, sizeof(double));
	struct migrations_policy row = {.cell = cell, .asked = migrations->list->len - first};

	if (row.asked == 0)
		return;
	for (guint i = first; i < migrations->list->len; i++) {
		const struct migrations_one *one = one_at(migrations, i);

		row.by_person += one->by_person;
		row.failed += one->reason != NULL;
		g_array_append_vals(downtimes_s, one->downtimes_s->data, one->downtimes_s->len);
		if (!one->reason && isfinite(one->total_s))
			g_array_append_val(totals_s, one->total_s);
	}
	row.moved = totals_s->len;
	row.total_median_s = stats_median(values(totals_s), totals_s->len);
	row.total_max_s = stats_quantile(values(totals_s), totals_s->len, 1);
	row.vms = downtimes_s->len;
	row.downtime_median_s = stats_median(values(downtimes_s), downtimes_s->len);
	row.downtime_max_s = stats_quantile(values(downtimes_s), downtimes_s->len, 1);
	g_array_append_val(migrations->policies, row);
}

struct migrations *migrations_new(const struct summary *summary, GError **error)
{
	g_autoptr(migrations_t) migrations = g_new0(struct migrations, 1);
	const guint cells = summary->policies->len * summary->limits->len;

	migrations->measured = summary->measured;
	migrations->list = g_array_new(FALSE, FALSE, sizeof(struct migrations_one));
	g_array_set_clear_func(migrations->list, clear_one);
	migrations->policies = g_array_new(FALSE, FALSE, sizeof(struct migrations_policy));
	for (guint i = 0; i < cells; i++) {
		const struct summary_cell *cell = &summary->cells[i];
		const guint first = migrations->list->len;

		if (cell->runs && !add_cell(summary, cell, migrations->list, error))
			return NULL;
		add_policy(migrations, cell, first);
	}
	return g_steal_pointer(&migrations);
}

const GArray *migrations_list(const struct migrations *migrations)
{
	return migrations->list;
}

const GArray *migrations_policies(const struct migrations *migrations)
{
	return migrations->policies;
}

/* Output. */

static const struct migrations_policy *policy_at(const struct migrations *migrations, guint i)
{
	return &g_array_index(migrations->policies, struct migrations_policy, i);
}

static const char *by_whom(const struct migrations_one *one)
{
	return one->by_person ? "person" : "policy";
}

/* The downtimes in seconds, "0.31 0.28", or NULL. */
static char *downtimes_text(const struct migrations_one *one)
{
	GString *text;

	if (one->downtimes_s->len == 0)
		return NULL;
	text = g_string_new(NULL);
	for (guint i = 0; i < one->downtimes_s->len; i++)
		g_string_append_printf(text, "%s%.2f", i ? " " : "", values(one->downtimes_s)[i]);
	return g_string_free(text, FALSE);
}

static void add_columns(struct table *table, const char *const *titles, gsize count)
{
	for (gsize i = 0; i < count; i++) {
		const bool text = titles[i][0] == '<';

		table_column(table, titles[i] + text, text ? TABLE_LEFT : TABLE_RIGHT);
	}
}

struct table *migrations_list_table(const struct migrations *migrations, guint most)
{
	/* A "<" marks text columns. */
	static const char *const titles[] = {
		"limit %", "<policy", "repeat", "at s",   "task", "<type",
		"<by",     "<from",   "<to",    "total s", "<VMs down s", "<not moved",
	};
	struct table *table = table_new();

	add_columns(table, titles, G_N_ELEMENTS(titles));
	for (guint i = 0; i < MIN(most, migrations->list->len); i++) {
		const struct migrations_one *one = one_at(migrations, i);
		g_autofree char *down = downtimes_text(one);

		table_row(table);
		table_number(table, 100 * one->cell->limit, 0);
		table_text(table, one->cell->policy);
		table_integer(table, one->repeat);
		table_number(table, one->requested_s, 1);
		table_integer(table, one->task);
		table_text(table, one->type);
		table_text(table, by_whom(one));
		table_text(table, one->nodes);
		table_text(table, one->to_nodes);
		table_number(table, one->total_s, 2);
		table_text(table, down);
		table_text(table, one->reason);
	}
	return table;
}

struct table *migrations_policies_table(const struct migrations *migrations)
{
	static const char *const titles[] = {
		"limit %",  "<policy", "asked",        "by people", "moved", "failed",
		"median s", "max s",   "VMs", "down median s", "down max s",
	};
	struct table *table = table_new();

	add_columns(table, titles, G_N_ELEMENTS(titles));
	for (guint i = 0; i < migrations->policies->len; i++) {
		const struct migrations_policy *row = policy_at(migrations, i);

		table_row(table);
		table_number(table, 100 * row->cell->limit, 0);
		table_text(table, row->cell->policy);
		table_integer(table, row->asked);
		table_integer(table, row->by_person);
		table_integer(table, row->moved);
		table_integer(table, row->failed);
		table_number(table, row->total_median_s, 2);
		table_number(table, row->total_max_s, 2);
		table_integer(table, row->vms);
		table_number(table, row->downtime_median_s, 2);
		table_number(table, row->downtime_max_s, 2);
	}
	return table;
}

char *migrations_text(const struct migrations *migrations)
{
	g_autoptr(table_t) policies = migrations_policies_table(migrations);
	g_autoptr(table_t) list = migrations_list_table(migrations, MIGRATIONS_SHOWN);
	g_autofree char *policies_text = table_format(policies, 2);
	g_autofree char *list_text = table_format(list, 2);
	GString *text;

	if (migrations->list->len == 0)
		return NULL;
	text = g_string_new(NULL);
	g_string_append_printf(
		text,
		MIGRATIONS_POLICIES_TITLE
		"\n%s  %s; median and max: from the request until all VMs "
		"had moved; down: while a VM ran nowhere\n\n" MIGRATIONS_LIST_TITLE "\n%s",
		policies_text,
		migrations->measured ? "sums over all runs of the policy"
				     : "of the first trial, whose tasks are on record",
		list_text);
	if (migrations->list->len > MIGRATIONS_SHOWN)
		g_string_append_printf(text,
				       "  the first %d of %u; all: --format csv --table "
				       "migrations\n",
				       MIGRATIONS_SHOWN, migrations->list->len);
	return g_string_free(text, FALSE);
}

static json_t *one_json(const struct migrations_one *one)
{
	json_t *downtimes_s = json_array();

	for (guint i = 0; i < one->downtimes_s->len; i++)
		json_array_append_new(downtimes_s, json_real(values(one->downtimes_s)[i]));
	return json_pack(
		"{s:s, s:o, s:i, s:i, s:s?, s:i, s:s, s:s?, s:s?, s:s?, s:o, s:o, s:o, s:s?}",
		"policy", one->cell->policy, "limit", json_number_or_null(one->cell->limit),
		"repeat", (int)one->repeat, "task", (int)one->task, "type", one->type, "attempt",
		(int)one->attempt, "by", by_whom(one), "cluster", one->cluster, "nodes", one->nodes,
		"to_nodes", one->to_nodes, "requested_s", json_number_or_null(one->requested_s),
		"total_s", json_number_or_null(one->total_s), "downtimes_s", downtimes_s, "reason",
		one->reason);
}

static json_t *policy_json(const struct migrations_policy *row)
{
	return json_pack("{s:s, s:o, s:i, s:i, s:i, s:i, s:o, s:o, s:i, s:o, s:o}", "policy",
			 row->cell->policy, "limit", json_number_or_null(row->cell->limit), "asked",
			 (int)row->asked, "by_person", (int)row->by_person, "moved",
			 (int)row->moved, "failed", (int)row->failed, "total_median_s",
			 json_number_or_null(row->total_median_s), "total_max_s",
			 json_number_or_null(row->total_max_s), "vms", (int)row->vms,
			 "downtime_median_s", json_number_or_null(row->downtime_median_s),
			 "downtime_max_s", json_number_or_null(row->downtime_max_s));
}

json_t *migrations_json(const struct migrations *migrations)
{
	json_t *policies = json_array();
	json_t *list = json_array();

	for (guint i = 0; i < migrations->policies->len; i++)
		json_array_append_new(policies, policy_json(policy_at(migrations, i)));
	for (guint i = 0; i < migrations->list->len; i++)
		json_array_append_new(list, one_json(one_at(migrations, i)));
	return json_pack("{s:o, s:o}", "policies", policies, "migrations", list);
}
