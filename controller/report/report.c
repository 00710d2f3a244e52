/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/report.h"

#include <math.h>

#include "common/json.h"
#include "controller/report/csv.h"
#include "controller/report/dropped.h"
#include "controller/report/migrations.h"
#include "controller/report/plugins.h"
#include "controller/report/shares.h"
#include "controller/report/suspensions.h"
#include "controller/store/store_energy.h"

const struct listing_part *const report_parts[] = {&suspensions_part, &migrations_part,
						   &shares_part,      &dropped_part,
						   &plugins_part,     NULL};

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

	table_columns(table, "limit %", "limit J", "<policy", "runs", "utility", "sd", "energy J",
		      "sd", "arrived", "completed", "failed", "dropped", "<ended by", "at s",
		      "gaps s", NULL);
	if (summary->shared)
		table_columns(table, "stretch", "largest", NULL);
	if (summary->deadlines)
		table_columns(table, "on time %", NULL);
	for (guint i = 0; i < policies * summary->limits->len; i++) {
		if (i && i % policies == 0)
			table_rule(table);
		if (summary->cells[i].runs)
			add_cell(table, &summary->cells[i], summary);
	}
	return table;
}

/* Appends the other recorded parts of the runs. */
static bool append_parts(GString *text, const struct summary *summary, GError **error)
{
	for (const struct listing_part *const *part = report_parts; *part; part++) {
		g_autoptr(GPtrArray) rows = listing_read(*part, summary, error);

		if (!rows)
			return false;
		listing_append_text(text, summary->measured, rows);
	}
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
	if (summary->verdict) {
		g_autofree char *verdict = anytime_verdict_text(summary->verdict);

		g_string_append(text, verdict);
	}
	return append_parts(text, summary, error) ? g_strdup(text->str) : NULL;
}

/* A run with the energy by its power samples. */
struct run_row {
	struct store_run run; /* its texts are borrowed from the summary */
	struct store_energy energy;
};

/* The variant of runs with power samples. */
#define RUN_ENERGY 1

#define RUN(field_) .name = #field_, .offset = offsetof(struct run_row, run.field_)
#define RUN_TEXT(field_)                                                                           \
	{                                                                                          \
		RUN(field_), .type = RECORD_BORROWED                                               \
	}
#define RUN_REAL(field_) RUN(field_), .type = RECORD_REAL, .null = RECORD_NULL_NAN
#define RUN_COUNT(field_)                                                                          \
	{                                                                                          \
		RUN(field_), .type = RECORD_U32                                                    \
	}
#define ENERGY(field_, type_)                                                                      \
	{                                                                                          \
		.name = "energy_" #field_, .offset = offsetof(struct run_row, energy.field_),      \
		.type = type_, .variants = RUN_ENERGY                                              \
	}
static const struct record_field run_fields[] = {
	{RUN(run), .type = RECORD_I64},
	RUN_TEXT(policy),
	{RUN_REAL(limit)},
	{RUN_REAL(limit_j)},
	RUN_COUNT(repeat),
	RUN_TEXT(ended_by),
	{RUN_REAL(ended_s)},
	{RUN_REAL(utility)},
	{RUN_REAL(energy_j)},
	{RUN_REAL(idle_w), .variants = LISTING_TABLE},
	{RUN_REAL(gap_s)},
	{RUN_REAL(host_load)},
	RUN_COUNT(tasks_arrived),
	RUN_COUNT(tasks_completed),
	RUN_COUNT(tasks_failed),
	RUN_COUNT(tasks_dropped),
	ENERGY(samples, RECORD_U32),
	ENERGY(gaps, RECORD_U32),
	ENERGY(mismatches, RECORD_U32),
	ENERGY(total_j, RECORD_REAL),
	ENERGY(difference_uj, RECORD_REAL),
	{NULL},
};
static const struct record run_record = {.size = sizeof(struct run_row), .fields = run_fields};

static const struct listing_column run_columns[] = {
	{"run", "run"},
	{"policy", "policy"},
	{"limit %", "limit", 0, 100},
	{"repeat", "repeat"},
	{"utility", "utility", 2},
	{"energy J", "energy_j", 0},
	{"limit J", "limit_j", 0},
	{"arrived", "tasks_arrived"},
	{"completed", "tasks_completed"},
	{"failed", "tasks_failed"},
	{"dropped", "tasks_dropped"},
	{"ended by", "ended_by"},
	{"at s", "ended_s", 1},
	{"idle W", "idle_w", 1},
	{"gaps s", "gap_s", 1},
	{"host load", "host_load", 2},
	{"samples", "energy_samples"},
	{"off by uJ", "energy_difference_uj", 2},
	{NULL},
};

/* The runs; those of a simulation have no power samples. */
static GArray *read_runs(const struct summary *summary, GError **error)
{
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(struct run_row));

	for (guint i = 0; i < summary->runs->len; i++) {
		struct run_row row = {.run = *(const struct store_run *)summary->runs->pdata[i]};

		if (summary->measured &&
		    !store_energy_check(summary->store, &row.run, &row.energy, error))
			return NULL;
		/* A service's energy is its account's, which continues between samples. */
		if (!row.energy.samples || summary->service)
			row.energy.difference_uj = (double)NAN;
		g_array_append_val(rows, row);
	}
	return g_steal_pointer(&rows);
}

struct table *report_runs_table(const struct summary *summary, GError **error)
{
	g_autoptr(GArray) rows = read_runs(summary, error);

	return rows ? listing_table(run_columns, &run_record, rows, G_MAXUINT) : NULL;
}

static json_t *directory_json(const struct summary *summary, GError **error)
{
	g_autoptr(GArray) rows = read_runs(summary, error);
	g_autoptr(json_t) document = summary_json(summary);
	json_t *runs = json_array();

	json_object_set_new(document, "runs", runs);
	for (guint i = 0; rows && i < rows->len; i++) {
		const struct run_row *row = &g_array_index(rows, struct run_row, i);

		json_array_append_new(runs,
				      record_write(&run_record, row,
						   row->energy.samples ? RUN_ENERGY : 0, NULL));
	}
	for (const struct listing_part *const *part = report_parts; rows && *part; part++) {
		g_autoptr(GPtrArray) part_rows = listing_read(*part, summary, error);

		if (!part_rows)
			return NULL;
		json_object_set_new(document, (*part)->key, listing_part_json(part_rows));
	}
	return rows ? g_steal_pointer(&document) : NULL;
}

json_t *report_json(struct summary *const *summaries, guint count, GError **error)
{
	g_autoptr(json_t) array = json_array();

	for (guint i = 0; i < count; i++) {
		json_t *document = directory_json(summaries[i], error);

		if (!document)
			return NULL;
		json_array_append_new(array, document);
	}
	return g_steal_pointer(&array);
}

/* The listing of a CSV table and its part; NULL for the table of policies. */
static const struct listing *find_listing(const char *csv, const struct listing_part **ret_part,
					  guint *ret_index)
{
	for (const struct listing_part *const *part = report_parts; *part; part++)
		for (guint i = 0; (*part)->listings[i]; i++)
			if (g_strcmp0((*part)->listings[i]->csv, csv) == 0) {
				*ret_part = *part;
				*ret_index = i;
				return (*part)->listings[i];
			}
	return NULL;
}

bool report_csv_known(const char *table)
{
	const struct listing_part *part;
	guint index;

	return g_str_equal(table, "policies") || find_listing(table, &part, &index);
}

char *report_csv(struct summary *const *summaries, guint count, const char *table, GError **error)
{
	const struct listing_part *part = NULL;
	guint index = 0;
	const struct listing *listing = find_listing(table, &part, &index);
	const struct record *record = listing ? listing->record : &summary_cell_record;
	g_autoptr(GString) csv = g_string_new("dir,kind");

	listing_csv_titles(csv, record);
	g_string_append_c(csv, '\n');
	for (guint i = 0; i < count; i++) {
		g_autoptr(GPtrArray) rows = part ? listing_read(part, summaries[i], error) : NULL;
		const GArray *array = rows ? listing_array(rows, index) : NULL;
		const guint len = array ? array->len : summaries[i]->cells_count;

		if (part && !rows)
			return NULL;
		for (guint j = 0; j < len; j++) {
			if (!array && summaries[i]->cells[j].runs == 0)
				continue;
			csv_text(csv, summaries[i]->dir);
			csv_text(csv, summaries[i]->measured ? "measured" : "simulated");
			listing_csv_fields(csv, record,
					   array ? (const void *)(array->data + j * record->size)
						 : &summaries[i]->cells[j]);
			csv_end(csv);
		}
	}
	return g_strdup(csv->str);
}
