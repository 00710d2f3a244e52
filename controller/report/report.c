/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/report.h"

#include <math.h>

#include "common/json.h"
#include "controller/report/dropped.h"
#include "controller/report/migrations.h"
#include "controller/report/shares.h"
#include "controller/report/suspensions.h"
#include "controller/store/store_energy.h"

static void add_columns(struct table *table, const struct summary *summary)
{
	static const struct {
		const char *title;
		enum table_align align;
	} columns[] = {
		{"limit %", TABLE_RIGHT},  {"limit J", TABLE_RIGHT}, {"policy", TABLE_LEFT},
		{"runs", TABLE_RIGHT},     {"utility", TABLE_RIGHT}, {"sd", TABLE_RIGHT},
		{"energy J", TABLE_RIGHT}, {"sd", TABLE_RIGHT},      {"arrived", TABLE_RIGHT},
		{"completed", TABLE_RIGHT}, {"failed", TABLE_RIGHT}, {"dropped", TABLE_RIGHT},
		{"ended by", TABLE_LEFT},  {"at s", TABLE_RIGHT},    {"gaps s", TABLE_RIGHT},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(columns); i++)
		table_column(table, columns[i].title, columns[i].align);
	if (summary->shared) {
		table_column(table, "stretch", TABLE_RIGHT);
		table_column(table, "largest", TABLE_RIGHT);
	}
	if (summary->deadlines)
		table_column(table, "on time %", TABLE_RIGHT);
}

static void add_cell(struct table *table, const struct summary_cell *cell,
		     const struct summary *summary)
{
	g_autofree char *ended_by = summary_ended_by(cell);
	/* Counts are integers for a single run, means for several. */
	int decimals = cell->runs > 1;

	table_row(table);
	table_number(table, 100 * cell->limit, 0);
	table_number(table, cell->limit_j, 0);
	table_text(table, cell->policy);
	table_integer(table, cell->runs);
	table_number(table, cell->utility_mean, 2);
	table_number(table, cell->utility_sd, 2);
	table_number(table, cell->energy_j_mean, 0);
	table_number(table, cell->energy_j_sd, 0);
	table_number(table, cell->arrived_mean, decimals);
	table_number(table, cell->completed_mean, decimals);
	table_number(table, cell->failed_mean, decimals);
	table_number(table, cell->dropped_mean, decimals);
	table_text(table, ended_by);
	table_number(table, cell->ended_s_mean, 1);
	table_number(table, cell->gap_s, 1);
	if (summary->shared) {
		table_number(table, cell->stretch_mean, 2);
		table_number(table, cell->stretch_max, 2);
	}
	if (summary->deadlines)
		table_number(table, cell->robustness_percent, 1);
}

struct table *report_table(const struct summary *summary)
{
	struct table *table = table_new();
	guint policies = summary->policies->len;

	add_columns(table, summary);
	for (guint i = 0; i < policies * summary->limits->len; i++) {
		if (i && i % policies == 0)
			table_rule(table);
		if (summary->cells[i].runs)
			add_cell(table, &summary->cells[i], summary);
	}
	return table;
}

static void append_part(GString *text, char *part)
{
	if (part)
		g_string_append_printf(text, "\n%s", part);
	g_free(part);
}

/* Appends the other recorded parts of the runs. */
static bool append_parts(GString *text, const struct summary *summary, GError **error)
{
	g_autoptr(suspensions_t) suspensions = suspensions_new(summary, error);
	g_autoptr(migrations_t) migrations = suspensions ? migrations_new(summary, error) : NULL;
	g_autoptr(GArray) shares = migrations ? shares_new(summary, error) : NULL;
	g_autoptr(GArray) dropped = shares ? dropped_new(summary, error) : NULL;

	if (!dropped)
		return false;
	append_part(text, suspensions_text(suspensions));
	append_part(text, migrations_text(migrations));
	append_part(text, shares_text(shares));
	append_part(text, dropped_text(dropped));
	return true;
}

char *report_text(const struct summary *summary, GError **error)
{
	g_autoptr(GPtrArray) heading = summary_heading(summary);
	g_autoptr(table_t) table = report_table(summary);
	g_autofree char *body = table_format(table, 2);
	g_autofree char *over = summary_over(summary);
	g_autofree char *machine = summary_machine(summary);
	g_autoptr(GString) text = g_string_new(heading->pdata[0]);

	g_string_append_c(text, '\n');
	if (machine)
		g_string_append_printf(text, "  on %s\n", machine);
	for (guint i = 1; i < heading->len; i++)
		g_string_append_printf(text, "  ! %s\n", (char *)heading->pdata[i]);
	g_string_append_printf(text, "\n%s  means and standard deviations (sd) over %s\n", body,
			       over);
	if (summary->shared)
		g_string_append(text,
				"  stretch: max(turn-around, 30 s) / max(time alone, 30 s), less "
				"is better; the mean over tasks, and the largest\n");
	return append_parts(text, summary, error) ? g_strdup(text->str) : NULL;
}

static void add_run_columns(struct table *table)
{
	static const struct {
		const char *title;
		enum table_align align;
	} columns[] = {
		{"run", TABLE_RIGHT},      {"policy", TABLE_LEFT},     {"limit %", TABLE_RIGHT},
		{"repeat", TABLE_RIGHT},   {"utility", TABLE_RIGHT},   {"energy J", TABLE_RIGHT},
		{"limit J", TABLE_RIGHT},  {"arrived", TABLE_RIGHT},   {"completed", TABLE_RIGHT},
		{"failed", TABLE_RIGHT},   {"dropped", TABLE_RIGHT},   {"ended by", TABLE_LEFT},
		{"at s", TABLE_RIGHT},     {"idle W", TABLE_RIGHT},    {"gaps s", TABLE_RIGHT},
		{"host load", TABLE_RIGHT}, {"samples", TABLE_RIGHT},  {"off by uJ", TABLE_RIGHT},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(columns); i++)
		table_column(table, columns[i].title, columns[i].align);
}

static void add_run(struct table *table, const struct store_run *run,
		    const struct store_energy *energy, bool service)
{
	table_row(table);
	table_integer(table, run->run);
	table_text(table, run->policy);
	table_number(table, 100 * run->limit, 0);
	table_integer(table, run->repeat);
	table_number(table, run->utility, 2);
	table_number(table, run->energy_j, 0);
	table_number(table, run->limit_j, 0);
	table_integer(table, run->tasks_arrived);
	table_integer(table, run->tasks_completed);
	table_integer(table, run->tasks_failed);
	table_integer(table, run->tasks_dropped);
	table_text(table, run->ended_by);
	table_number(table, run->ended_s, 1);
	table_number(table, run->idle_w, 1);
	table_number(table, run->gap_s, 1);
	table_number(table, run->host_load, 2);
	table_integer(table, energy->samples);
	/* A service's energy is its account's, which continues between samples. */
	table_number(table, energy->samples && !service ? energy->difference_uj : (double)NAN, 2);
}

struct table *report_runs_table(const struct summary *summary, GError **error)
{
	g_autoptr(table_t) table = table_new();

	add_run_columns(table);
	for (guint i = 0; i < summary->runs->len; i++) {
		struct store_energy energy;

		if (!store_energy_check(summary->store, summary->runs->pdata[i], &energy, error))
			return NULL;
		add_run(table, summary->runs->pdata[i], &energy, summary->service);
	}
	return g_steal_pointer(&table);
}

static json_t *run_json(const struct store_run *run)
{
	return json_pack(
		"{s:I, s:s, s:o, s:o, s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:i}",
		"run", (json_int_t)run->run, "policy", run->policy, "limit",
		json_number_or_null(run->limit), "limit_j", json_number_or_null(run->limit_j),
		"repeat", (int)run->repeat, "ended_by", run->ended_by, "ended_s",
		json_number_or_null(run->ended_s), "utility", json_number_or_null(run->utility),
		"energy_j", json_number_or_null(run->energy_j), "gap_s",
		json_number_or_null(run->gap_s), "host_load", json_number_or_null(run->host_load),
		"tasks_arrived", (int)run->tasks_arrived, "tasks_completed",
		(int)run->tasks_completed, "tasks_failed", (int)run->tasks_failed, "tasks_dropped",
		(int)run->tasks_dropped);
}

/* Adds the energy by the run's power samples; nothing for a run without samples. */
static bool add_energy(const struct summary *summary, const struct store_run *run, json_t *object,
		       GError **error)
{
	struct store_energy energy;

	if (!store_energy_check(summary->store, run, &energy, error))
		return false;
	if (!energy.samples)
		return true;
	json_object_set_new(object, "energy_samples", json_integer(energy.samples));
	json_object_set_new(object, "energy_gaps", json_integer(energy.gaps));
	json_object_set_new(object, "energy_mismatches", json_integer(energy.mismatches));
	json_object_set_new(object, "energy_total_j", json_number_or_null(energy.total_j));
	json_object_set_new(
		object, "energy_difference_uj",
		json_number_or_null(summary->service ? (double)NAN : energy.difference_uj));
	return true;
}

static json_t *runs_json(const struct summary *summary, GError **error)
{
	json_t *runs = json_array();

	for (guint i = 0; i < summary->runs->len; i++) {
		const struct store_run *run = summary->runs->pdata[i];
		json_t *object = run_json(run);

		json_array_append_new(runs, object);
		if (summary->measured && !add_energy(summary, run, object, error)) {
			json_decref(runs);
			return NULL;
		}
	}
	return runs;
}

static json_t *summary_document(const struct summary *summary, GError **error)
{
	g_autoptr(suspensions_t) suspensions = suspensions_new(summary, error);
	g_autoptr(migrations_t) migrations = suspensions ? migrations_new(summary, error) : NULL;
	g_autoptr(GArray) shares = migrations ? shares_new(summary, error) : NULL;
	g_autoptr(GArray) dropped = shares ? dropped_new(summary, error) : NULL;
	json_t *runs = dropped ? runs_json(summary, error) : NULL;
	json_t *document;

	if (!runs)
		return NULL;
	document = summary_json(summary);
	json_object_set_new(document, "runs", runs);
	json_object_set_new(document, "suspensions", suspensions_json(suspensions));
	json_object_set_new(document, "migrations", migrations_json(migrations));
	json_object_set_new(document, "shares", shares_json(shares));
	json_object_set_new(document, "dropped", dropped_json(dropped));
	return document;
}

json_t *report_json(struct summary *const *summaries, guint count, GError **error)
{
	json_t *array = json_array();

	for (guint i = 0; i < count; i++) {
		json_t *document = summary_document(summaries[i], error);

		if (!document) {
			json_decref(array);
			return NULL;
		}
		json_array_append_new(array, document);
	}
	return array;
}
