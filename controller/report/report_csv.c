/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "controller/report/csv.h"
#include "controller/report/migrations.h"
#include "controller/report/report.h"
#include "controller/report/shares.h"
#include "controller/report/suspensions.h"

/* Makes the JSON with the rows of a table. New reference, or NULL with `error`. */
typedef json_t *(*make_f)(const struct summary *summary, GError **error);

/* A table: its columns are the directory's own, then fields of the objects in its JSON. */
struct source {
	const char *name;
	make_f make;
	const char *key; /* of the array in that JSON; NULL: it is the array itself */
	const char *fields[17];
};

static json_t *make_cells(const struct summary *summary, GError **error)
{
	return summary_json(summary);
}

static json_t *make_suspensions(const struct summary *summary, GError **error)
{
	g_autoptr(suspensions_t) suspensions = suspensions_new(summary, error);

	return suspensions ? suspensions_json(suspensions) : NULL;
}

static json_t *make_migrations(const struct summary *summary, GError **error)
{
	g_autoptr(migrations_t) migrations = migrations_new(summary, error);

	return migrations ? migrations_json(migrations) : NULL;
}

static json_t *make_shares(const struct summary *summary, GError **error)
{
	g_autoptr(GArray) shares = shares_new(summary, error);

	return shares ? shares_json(shares) : NULL;
}

static const struct source sources[] = {
	{"policies", make_cells, "cells",
	 {"policy", "limit", "limit_j", "runs", "utility_mean", "utility_sd", "energy_j_mean",
	  "energy_j_sd", "tasks_arrived_mean", "tasks_completed_mean", "tasks_failed_mean",
	  "tasks_dropped_mean",
	  "ended_by", "ended_s_mean", "gap_s", "stretch_mean", "stretch_max_mean"}},
	{"suspensions", make_suspensions, "types",
	 {"policy", "limit", "type", "tasks", "suspended", "resumed", "still_s", "still_median_s",
	  "still_max_s"}},
	{"suspension-steps", make_suspensions, "steps",
	 {"type", "cluster", "step", "n", "median_s", "p90_s", "max_s"}},
	{"migrations", make_migrations, "migrations",
	 {"policy", "limit", "repeat", "task", "type", "attempt", "by", "cluster", "nodes",
	  "to_nodes", "requested_s", "total_s", "downtimes_s", "reason"}},
	{"migrations-by-policy", make_migrations, "policies",
	 {"policy", "limit", "asked", "by_person", "moved", "failed", "total_median_s",
	  "total_max_s", "vms", "downtime_median_s", "downtime_max_s"}},
	{"shares", make_shares, NULL,
	 {"policy", "limit", "yields", "intervals", "asked_cores", "given_cores",
	  "difference_mean_points", "difference_least_points", "difference_greatest_points"}},
};

static const struct source *find_source(const char *name)
{
	for (gsize i = 0; i < G_N_ELEMENTS(sources); i++)
		if (strcmp(sources[i].name, name) == 0)
			return &sources[i];
	return NULL;
}

bool report_csv_known(const char *table)
{
	return find_source(table) != NULL;
}

static void put_real(GString *text, double value)
{
	char number[G_ASCII_DTOSTR_BUF_SIZE];

	g_string_append(text, g_ascii_dtostr(number, sizeof(number), value));
}

/* A list of numbers becomes a field with blanks between them. */
static void put_list(GString *csv, const json_t *list)
{
	g_autoptr(GString) text = g_string_new(NULL);
	size_t i;
	json_t *value;

	json_array_foreach((json_t *)list, i, value) {
		if (i)
			g_string_append_c(text, ' ');
		put_real(text, json_number_value(value));
	}
	csv_text(csv, text->str);
}

static void put_field(GString *csv, const json_t *value)
{
	g_autoptr(GString) number = g_string_new(NULL);

	if (json_is_real(value)) {
		put_real(number, json_real_value(value));
		csv_text(csv, number->str);
	} else if (json_is_integer(value)) {
		csv_integer(csv, json_integer_value(value));
	} else if (json_is_array(value)) {
		put_list(csv, value);
	} else {
		csv_text(csv, json_string_value(value));
	}
}

static void put_rows(GString *csv, const struct source *source, const struct summary *summary,
		     const json_t *rows)
{
	size_t i;
	json_t *row;

	json_array_foreach((json_t *)rows, i, row) {
		csv_text(csv, summary->dir);
		csv_text(csv, summary->measured ? "measured" : "simulated");
		for (gsize j = 0; j < G_N_ELEMENTS(source->fields) && source->fields[j]; j++)
			put_field(csv, json_object_get(row, source->fields[j]));
		csv_end(csv);
	}
}

char *report_csv(struct summary *const *summaries, guint count, const char *table, GError **error)
{
	const struct source *source = find_source(table);
	g_autoptr(GString) csv = g_string_new("dir,kind");

	for (gsize i = 0; i < G_N_ELEMENTS(source->fields) && source->fields[i]; i++)
		g_string_append_printf(csv, ",%s", source->fields[i]);
	g_string_append_c(csv, '\n');
	for (guint i = 0; i < count; i++) {
		json_t *document = source->make(summaries[i], error);

		if (!document)
			return NULL;
		put_rows(csv, source, summaries[i],
			 source->key ? json_object_get(document, source->key) : document);
		json_decref(document);
	}
	return g_strdup(csv->str);
}
