/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/summary.h"

#include <math.h>

#include "common/config/config.h"
#include "common/error_fail.h"
#include "common/json.h"
#include "controller/config/config_controller.h"
#include "controller/config/config_environment.h"
#include "controller/report/listing.h"
#include "controller/report/provenance.h"
#include "controller/report/service_run.h"
#include "controller/report/stats.h"
#include "controller/report/stretch.h"

/* Fractions of the budget closer than this are the same limit. */
#define SAME_LIMIT 1e-9

/* The facts that go into JSON (docs/reference/store.md, "meta"). */
static const char *const fact_keys[] = {
	"version",
	"config_name",
	"started_utc",
	"ended_utc",
	"seed",
	"trials",
	"repeats",
	"budget_j",
	"cluster_order",
	"estimates",
	"virt_type",
	"cpu_cap",
	"meter",
	"modelled_watts",
	"host_name",
	"host_cpu",
	"host_cores",
	"host_kernel",
	"libvirt",
	"qemu",
	"profile_host_load",
	"host_microcode",
	"host_governor",
	"daemons",
	"meter_mean_s",
	"meter_mean_unknown",
	"tasks_sha256",
	"users_sha256",
};

G_DEFINE_QUARK(virtbed_summary, summary_error)

bool summary_same_limit(double a, double b)
{
	return fabs(a - b) <= SAME_LIMIT;
}

static gint by_limit_descending(gconstpointer a, gconstpointer b)
{
	const double x = *(const double *)a;
	const double y = *(const double *)b;

	return (x < y) - (x > y);
}

void summary_note_name(GPtrArray *names, const char *name)
{
	if (!g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL))
		g_ptr_array_add(names, (char *)name);
}

void summary_note_limit(GArray *limits, double limit)
{
	for (guint i = 0; i < limits->len; i++)
		if (summary_same_limit(g_array_index(limits, double, i), limit))
			return;
	g_array_append_val(limits, limit);
}

/* Keeps the runs that count, and collects their policies and limits. */
static bool keep_runs(struct summary *summary, GPtrArray *all, GError **error)
{
	for (guint i = 0; i < all->len; i++) {
		struct store_run *run = all->pdata[i];
		bool service;

		if (!service_run_fill(summary->store, run, &service, error))
			return false;
		summary->service |= service;
		if (!run->ended_by || g_str_equal(run->ended_by, "aborted")) {
			summary->left_out++;
			continue;
		}
		g_ptr_array_add(summary->runs, run);
		all->pdata[i] = NULL;
		summary_note_name(summary->policies, run->policy);
		summary_note_limit(summary->limits, run->limit);
	}
	g_array_sort(summary->limits, by_limit_descending);
	return true;
}

static gint by_repeat(gconstpointer a, gconstpointer b)
{
	const struct store_run *x = *(const struct store_run *const *)a;
	const struct store_run *y = *(const struct store_run *const *)b;

	return (x->repeat > y->repeat) - (x->repeat < y->repeat);
}

GPtrArray *summary_cell_runs(const struct summary *summary, const char *policy, double limit)
{
	GPtrArray *runs = g_ptr_array_new();

	for (guint i = 0; i < summary->runs->len; i++) {
		struct store_run *run = summary->runs->pdata[i];

		if (summary_same_limit(run->limit, limit) && g_str_equal(run->policy, policy))
			g_ptr_array_add(runs, run);
	}
	g_ptr_array_sort(runs, by_repeat);
	return runs;
}

bool summary_each_run(const struct summary *summary, summary_run_f each, void *data, GError **error)
{
	for (guint i = 0; i < summary->cells_count; i++) {
		const struct summary_cell *cell = &summary->cells[i];
		g_autoptr(GPtrArray) runs = summary_cell_runs(summary, cell->policy, cell->limit);

		for (guint j = 0; j < runs->len; j++)
			if (!each(summary, cell, runs->pdata[j], data, error))
				return false;
	}
	return true;
}

GHashTable *summary_task_types(const struct summary *summary, const struct store_run *run,
			       GError **error)
{
	g_autoptr(GPtrArray) tasks = store_tasks(summary->store, run->run, error);
	GHashTable *types = tasks ? g_hash_table_new_full(NULL, NULL, NULL, g_free) : NULL;

	for (guint i = 0; tasks && i < tasks->len; i++) {
		const struct store_task *task = tasks->pdata[i];

		g_hash_table_insert(types, GUINT_TO_POINTER(task->task), g_strdup(task->type));
	}
	return types;
}

static void add_run(struct summary_cell *cell, const struct store_run *run)
{
	cell->limit_j = run->limit_j;
	cell->arrived_mean += run->tasks_arrived;
	cell->completed_mean += run->tasks_completed;
	cell->failed_mean += run->tasks_failed;
	cell->dropped_mean += run->tasks_dropped;
	cell->ended_s_mean += run->ended_s;
	if (run->gap_s > 0)
		cell->gap_s += run->gap_s;
	cell->ended_limit += g_str_equal(run->ended_by, "limit");
	cell->ended_time += g_str_equal(run->ended_by, "time");
	cell->ended_done += g_str_equal(run->ended_by, "done");
	cell->open += g_str_equal(run->ended_by, SERVICE_RUN_OPEN);
}

static const struct stretch *stretch_of(const struct summary *summary, const struct store_run *run)
{
	return summary->stretches ? g_hash_table_lookup(summary->stretches, run) : NULL;
}

double summary_stretch(const struct summary *summary, const struct store_run *run)
{
	const struct stretch *stretch = stretch_of(summary, run);

	return stretch ? stretch->mean : (double)NAN;
}

/* The stretches of the cell's runs, as far as known. */
static void fill_stretches(const struct summary *summary, const GPtrArray *runs,
			   struct summary_cell *cell)
{
	g_autofree double *means = g_new(double, runs->len + 1);
	g_autofree double *largest = g_new(double, runs->len + 1);
	guint count = 0;

	for (guint i = 0; i < runs->len; i++) {
		const struct stretch *stretch = stretch_of(summary, runs->pdata[i]);

		if (!stretch || !isfinite(stretch->mean))
			continue;
		cell->unfinished += stretch->unfinished;
		means[count] = stretch->mean;
		largest[count++] = stretch->max;
	}
	cell->stretch_mean = stats_mean(means, count);
	cell->stretch_sd = stats_sd(means, count);
	cell->stretch_max = stats_mean(largest, count);
}

static void fill_cell(const struct summary *summary, struct summary_cell *cell)
{
	g_autoptr(GPtrArray) runs = summary_cell_runs(summary, cell->policy, cell->limit);
	g_autofree double *utility = g_new(double, runs->len + 1);
	g_autofree double *energy_j = g_new(double, runs->len + 1);
	/* 0 / 0 is NAN: unknown without runs. */
	const double n = runs->len;

	for (guint i = 0; i < runs->len; i++) {
		const struct store_run *run = runs->pdata[i];

		add_run(cell, run);
		utility[i] = run->utility;
		energy_j[i] = run->energy_j;
	}
	cell->runs = runs->len;
	cell->utility_mean = stats_mean(utility, runs->len);
	cell->utility_sd = stats_sd(utility, runs->len);
	cell->energy_j_mean = stats_mean(energy_j, runs->len);
	cell->energy_j_sd = stats_sd(energy_j, runs->len);
	cell->arrived_mean /= n;
	cell->completed_mean /= n;
	cell->failed_mean /= n;
	cell->dropped_mean /= n;
	cell->ended_s_mean /= n;
	fill_stretches(summary, runs, cell);
	cell->robustness_percent =
		summary->deadlines ? 100 * cell->utility_mean / cell->arrived_mean : (double)NAN;
}

static void fill_cells(struct summary *summary)
{
	guint policies = summary->policies->len;

	summary->cells_count = policies * summary->limits->len;
	summary->cells = g_new0(struct summary_cell, summary->cells_count);
	for (guint i = 0; i < summary->cells_count; i++) {
		struct summary_cell *cell = &summary->cells[i];

		cell->policy = summary->policies->pdata[i % policies];
		cell->limit = g_array_index(summary->limits, double, i / policies);
		fill_cell(summary, cell);
		summary->repeats = MAX(summary->repeats, cell->runs);
	}
}

static void sum_host(struct summary *summary)
{
	guint known = 0;
	double sum = 0;

	for (guint i = 0; i < summary->runs->len; i++) {
		const struct store_run *run = summary->runs->pdata[i];

		if (run->gap_s > 0)
			summary->gap_s += run->gap_s;
		if (!run->measured || !isfinite(run->host_load))
			continue;
		sum += run->host_load;
		known++;
	}
	summary->host_load = known ? sum / known : NAN;
}

struct config *summary_config(const struct summary *summary, GError **error)
{
	g_autofree char *path = g_build_filename(summary->path, "config.yaml", NULL);

	return config_controller_load(path, error);
}

double summary_speed(const json_t *capabilities, const char *cluster)
{
	const json_t *speed = json_object_get(json_object_get(capabilities, cluster), "speed");

	return json_is_number(speed) ? json_number_value(speed) : 1;
}

/* Reads facts from the configuration; nothing where the file is gone, or cannot be read. */
static void read_config(struct summary *summary)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = summary_config(summary, &error);
	g_autofree char *path = g_build_filename(summary->path, "config.yaml", NULL);

	if (!config && g_file_test(path, G_FILE_TEST_EXISTS))
		summary->unread = g_strdup(error->message);
	if (!config)
		return;
	summary->deadlines = config_environment(config) && config_environment(config)->pruning;
	summary->shared = config->clusters_count == 1 && config->clusters[0].shared;
}

/* Reads what the runs recorded of late starts, and on shared hosts their stretches. */
static bool read_runs(struct summary *summary, GError **error)
{
	if (summary->shared)
		summary->stretches = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	for (guint i = 0; i < summary->runs->len; i++) {
		struct store_run *run = summary->runs->pdata[i];
		struct stretch *stretch;

		if (!overdue_add_run(&summary->overdue, summary->store, run->run, error))
			return false;
		if (!summary->shared)
			continue;
		stretch = g_new(struct stretch, 1);
		g_hash_table_insert(summary->stretches, run, stretch);
		if (!stretch_of_run(summary->store, run, stretch, error))
			return false;
	}
	return true;
}

static bool is_measured(const struct summary *summary)
{
	g_autofree char *kind = store_get_meta(summary->store, "kind");

	if (kind)
		return g_str_equal(kind, "measured");
	return ((const struct store_run *)summary->runs->pdata[0])->measured;
}

struct summary *summary_load(const char *dir, GError **error)
{
	g_autoptr(summary_t) summary = g_new0(struct summary, 1);
	g_autoptr(GPtrArray) all = NULL;
	g_autoptr(GError) reason = NULL;

	summary->path = g_strdup(dir);
	summary->dir = g_filename_display_name(dir);
	summary->runs = g_ptr_array_new_with_free_func((GDestroyNotify)store_run_free);
	summary->policies = g_ptr_array_new();
	summary->limits = g_array_new(FALSE, FALSE, sizeof(double));
	summary->store = store_open(dir, false, error);
	if (!summary->store)
		return NULL;
	all = store_runs(summary->store, error);
	if (!all || !keep_runs(summary, all, error))
		return NULL;
	if (summary->runs->len == 0)
		return error_null(error, SUMMARY_ERROR, SUMMARY_ERROR_EMPTY,
				  "%s: no run in it has come to its end (%u begun)", dir,
				  summary->left_out);
	summary->measured = is_measured(summary);
	summary->overdue.most_s = NAN;
	read_config(summary);
	if (!read_runs(summary, error))
		return NULL;
	fill_cells(summary);
	sum_host(summary);
	summary->verdict = anytime_verdict_load(summary->store, &reason);
	if (reason) {
		g_propagate_prefixed_error(error, g_steal_pointer(&reason), "%s: ", summary->dir);
		return NULL;
	}
	return g_steal_pointer(&summary);
}

void summary_free(struct summary *summary)
{
	if (!summary)
		return;
	anytime_verdict_free(summary->verdict);
	store_close(summary->store);
	g_ptr_array_unref(summary->runs);
	g_ptr_array_unref(summary->policies);
	g_array_unref(summary->limits);
	g_clear_pointer(&summary->stretches, g_hash_table_unref);
	overdue_clear(&summary->overdue);
	g_free(summary->cells);
	g_free(summary->unread);
	g_free(summary->dir);
	g_free(summary->path);
	g_free(summary);
}

const struct summary_cell *summary_cell(const struct summary *summary, const char *policy,
					double limit)
{
	for (guint i = 0; i < summary->cells_count; i++) {
		const struct summary_cell *cell = &summary->cells[i];

		if (cell->runs && summary_same_limit(cell->limit, limit) &&
		    g_str_equal(cell->policy, policy))
			return cell;
	}
	return NULL;
}

char *summary_ended_by(const struct summary_cell *cell)
{
	const struct {
		const char *name;
		uint32_t runs;
	} ends[] = {{"limit", cell->ended_limit},
		    {"time", cell->ended_time},
		    {"done", cell->ended_done},
		    {SERVICE_RUN_OPEN, cell->open}};
	GString *text = g_string_new(NULL);

	for (gsize i = 0; i < G_N_ELEMENTS(ends); i++) {
		if (ends[i].runs == 0)
			continue;
		g_string_append_printf(text, "%s%s", text->len ? ", " : "", ends[i].name);
		if (ends[i].runs != cell->runs)
			g_string_append_printf(text, " %u", ends[i].runs);
	}
	return g_string_free(text, FALSE);
}

char *summary_over(const struct summary *summary)
{
	if (summary->service)
		return g_strdup("the tasks that people submitted");
	if (summary->measured)
		return g_strdup_printf("%u repeat%s of one workload", summary->repeats,
				       summary->repeats == 1 ? "" : "s");
	if (summary->repeats == 1)
		return g_strdup("1 trial");
	return g_strdup_printf("%u trials, a workload each", summary->repeats);
}

void summary_add_line(GPtrArray *lines, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	g_ptr_array_add(lines, g_strdup_vprintf(format, arguments));
	va_end(arguments);
}

static void add_title(const struct summary *summary, GPtrArray *lines)
{
	g_autofree char *name = store_get_meta(summary->store, "config_name");
	g_autofree char *started = store_get_meta(summary->store, "started_utc");
	g_autofree char *version = store_get_meta(summary->store, "version");
	g_autofree char *order = store_get_meta(summary->store, "cluster_order");
	g_autofree char *over = summary_over(summary);
	GString *text = g_string_new(summary->measured ? "measured" : "simulated");

	if (name)
		g_string_append_printf(text, ": %s", name);
	g_string_append_printf(text, ", over %s", over);
	if (started)
		g_string_append_printf(text, ", %s", started);
	if (version)
		g_string_append_printf(text, ", virtbed %s", version);
	if (order) {
		g_auto(GStrv) names = g_strsplit(order, ",", -1);
		g_autofree char *spaced = g_strjoinv(", ", names);

		g_string_append_printf(text, "; clusters in the order %s", spaced);
	}
	g_ptr_array_add(lines, g_string_free(text, FALSE));
}

/* Appends "TITLE VALUE" for a known fact. */
static void add_fact(const struct summary *summary, GString *text, const char *title,
		     const char *key)
{
	g_autofree char *value = store_get_meta(summary->store, key);

	if (value)
		g_string_append_printf(text, "%s%s%s", text->len ? ", " : "", title, value);
}

char *summary_machine(const struct summary *summary)
{
	GString *text = g_string_new(NULL);

	if (summary->measured) {
		add_fact(summary, text, "", "host_cpu");
		add_fact(summary, text, "cores: ", "host_cores");
		add_fact(summary, text, "microcode ", "host_microcode");
		add_fact(summary, text, "governor: ", "host_governor");
		add_fact(summary, text, "Linux ", "host_kernel");
		add_fact(summary, text, "libvirt ", "libvirt");
		add_fact(summary, text, "QEMU ", "qemu");
	}
	return g_string_free(text, text->len == 0);
}

GPtrArray *summary_heading(const struct summary *summary)
{
	GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *ended = store_get_meta(summary->store, "ended_utc");
	g_autofree char *policies =
		summary->service ? service_run_policies_text(summary->store) : NULL;
	g_autoptr(provenance_t) origin = provenance_of_store(summary->store);
	char *overdue = overdue_text(&summary->overdue);

	add_title(summary, lines);
	g_ptr_array_extend_and_steal(lines, provenance_notes(origin, summary->measured, false));
	if (summary->unread)
		summary_add_line(lines,
				 "this build cannot read its configuration, so neither stretches "
				 "nor deadlines are known: %s",
				 summary->unread);
	if (summary->gap_s > 0)
		summary_add_line(
			lines,
			"metering gaps of %.1f s, summed over hosts: energy over them is estimated",
			summary->gap_s);
	if (overdue)
		g_ptr_array_add(lines, overdue);
	if (isfinite(summary->host_load))
		summary_add_line(
			lines,
			"this machine's own load during the runs: %.2f busy cores on average",
			summary->host_load);
	if (summary->service)
		summary_add_line(lines, "a service, which has no end: as far as it is on record");
	else if (!ended)
		summary_add_line(lines,
				 "NOT COMPLETE: this was interrupted, or is still under way");
	if (policies)
		g_ptr_array_add(lines, g_steal_pointer(&policies));
	if (summary->left_out)
		summary_add_line(lines, "%u run%s left out that did not end or %s aborted",
				 summary->left_out, summary->left_out == 1 ? "" : "s",
				 summary->left_out == 1 ? "was" : "were");
	return lines;
}

static json_t *ended_by_json(const struct record_field *field, const void *data,
			     const void *context)
{
	g_autofree char *ended_by = summary_ended_by(data);

	return json_string(ended_by);
}

/* The variants of cells with stretches, and of cells whose tasks have deadlines. */
enum { CELL_STRETCH = 1, CELL_DEADLINES = 2 };

#define CELL_REAL(name_, field_)                                                                   \
	.name = name_, .offset = offsetof(struct summary_cell, field_), .type = RECORD_REAL,       \
	.null = RECORD_NULL_NAN
static const struct record_field cell_fields[] = {
	{RECORD_AT(summary_cell, policy), .type = RECORD_BORROWED},
	{RECORD_FIELD_REAL(summary_cell, limit)},
	{RECORD_FIELD_REAL(summary_cell, limit_j)},
	{RECORD_FIELD_U32(summary_cell, runs)},
	{RECORD_FIELD_REAL(summary_cell, utility_mean)},
	{RECORD_FIELD_REAL(summary_cell, utility_sd)},
	{RECORD_FIELD_REAL(summary_cell, energy_j_mean)},
	{RECORD_FIELD_REAL(summary_cell, energy_j_sd)},
	{CELL_REAL("tasks_arrived_mean", arrived_mean)},
	{CELL_REAL("tasks_completed_mean", completed_mean)},
	{CELL_REAL("tasks_failed_mean", failed_mean)},
	{CELL_REAL("tasks_dropped_mean", dropped_mean)},
	{.name = "ended_by", .type = RECORD_BORROWED, .write = ended_by_json},
	{RECORD_FIELD_REAL(summary_cell, ended_s_mean)},
	{RECORD_FIELD_REAL(summary_cell, gap_s)},
	{RECORD_FIELD_REAL(summary_cell, stretch_mean), .variants = CELL_STRETCH | LISTING_CSV},
	{RECORD_FIELD_REAL(summary_cell, stretch_sd), .variants = CELL_STRETCH},
	{CELL_REAL("stretch_max_mean", stretch_max), .variants = CELL_STRETCH | LISTING_CSV},
	{.name = "tasks_unfinished",
	 .offset = offsetof(struct summary_cell, unfinished),
	 .type = RECORD_U32,
	 .variants = CELL_STRETCH},
	{RECORD_FIELD_REAL(summary_cell, robustness_percent), .variants = CELL_DEADLINES},
	{NULL},
};
const struct record summary_cell_record = {.size = sizeof(struct summary_cell),
					   .fields = cell_fields};

static json_t *facts_json(const struct summary *summary)
{
	json_t *facts = json_object();

	for (gsize i = 0; i < G_N_ELEMENTS(fact_keys); i++) {
		g_autofree char *value = store_get_meta(summary->store, fact_keys[i]);

		if (value)
			json_object_set_new(facts, fact_keys[i], json_string(value));
	}
	return facts;
}

json_t *summary_texts_json(const GPtrArray *texts)
{
	json_t *list = json_array();

	for (guint i = 0; i < texts->len; i++)
		json_array_append_new(list, json_string(texts->pdata[i]));
	return list;
}

static json_t *cell_json(const struct summary_cell *cell)
{
	const unsigned variants = (isfinite(cell->stretch_mean) ? CELL_STRETCH : 0) |
				  (isfinite(cell->robustness_percent) ? CELL_DEADLINES : 0);

	return record_write(&summary_cell_record, cell, variants, NULL);
}

json_t *summary_json(const struct summary *summary)
{
	g_autoptr(GPtrArray) heading = summary_heading(summary);
	g_autofree char *over = summary_over(summary);
	json_t *cells = json_array();
	json_t *object;

	for (guint i = 0; i < summary->cells_count; i++)
		if (summary->cells[i].runs)
			json_array_append_new(cells, cell_json(&summary->cells[i]));
	object = json_pack("{s:s, s:s, s:o, s:s, s:o, s:o, s:o}", "dir", summary->dir, "kind",
			   summary->measured ? "measured" : "simulated", "facts",
			   facts_json(summary), "over", over, "host_load",
			   json_number_or_null(summary->host_load), "notes",
			   summary_texts_json(heading), "cells", cells);
	json_object_set_new(object, "overdue",
			    summary->measured ? json_integer((json_int_t)summary->overdue.starts)
					      : json_null());
	if (summary->verdict)
		json_object_set_new(object, "verdict", anytime_verdict_json(summary->verdict));
	if (summary->service)
		json_object_set_new(object, "policies", service_run_policies_json(summary->store));
	return object;
}
