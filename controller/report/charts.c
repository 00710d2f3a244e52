/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/charts.h"

#include "common/error_fail.h"

G_DEFINE_QUARK(virtbed_charts, charts_error)

const char *const chart_kinds[] = {"utility", "estimates", "utility-time", "energy-time", "gantt",
				   "power",   NULL};

/* The charts of one run, by kind. */
static const struct {
	const char *kind;
	struct chart *(*draw)(const struct summary *summary, const struct run_trace *trace,
			      const char *prefix);
} run_charts[] = {
	{"gantt", chart_gantt},
	{"power", chart_power},
};

/* The charts of all runs of a directory that need only their traces. */
static const struct {
	const char *kind;
	struct chart *(*draw)(const struct summary *summary, GPtrArray *traces, const char *prefix);
} whole_charts[] = {
	{"utility-time", chart_utility_time},
	{"energy-time", chart_energy_time},
};

char *chart_kinds_known(void)
{
	return g_strjoinv(" ", (char **)chart_kinds);
}

/* Choices. */

static bool wants_kind(const struct charts_choice *choice, const char *kind)
{
	return !choice || !choice->kinds ||
	       g_strv_contains((const char *const *)choice->kinds, kind);
}

/* The most run numbers in an error. */
#define RUNS_NAMED 20

/* Whether a run is chosen; by default the first recorded run of every policy and limit. */
static bool wants_run(const struct charts_choice *choice, const struct summary *summary,
		      const struct store_run *run)
{
	g_autoptr(GPtrArray) cell = NULL;

	for (guint i = 0; choice && i < choice->runs_count; i++)
		if (choice->runs[i] == run->run)
			return true;
	if (choice && choice->runs_count)
		return false;
	cell = summary_cell_runs(summary, run->policy, run->limit);
	return cell->len && cell->pdata[0] == run;
}

static bool has_run(struct summary *const *summaries, guint count, gint64 id)
{
	for (guint i = 0; i < count; i++)
		for (guint j = 0; j < summaries[i]->runs->len; j++)
			if (((struct store_run *)summaries[i]->runs->pdata[j])->run == id)
				return true;
	return false;
}

/* The numbers of ended runs, at most RUNS_NAMED of them; the caller frees. */
static char *runs_known(struct summary *const *summaries, guint count)
{
	g_autoptr(GString) text = g_string_new(NULL);
	guint named = 0;

	for (guint i = 0; i < count; i++) {
		for (guint j = 0; j < summaries[i]->runs->len; j++) {
			const struct store_run *run = summaries[i]->runs->pdata[j];

			if (named++ < RUNS_NAMED)
				g_string_append_printf(text, " %" G_GINT64_FORMAT, run->run);
		}
	}
	return g_strconcat(named ? text->str : " none", named > RUNS_NAMED ? " ..." : NULL, NULL);
}

bool charts_choice_check(const struct charts_choice *choice, struct summary *const *summaries,
			 guint count, GError **error)
{
	static const char *const none[] = {"", NULL};
	const char *const *kinds = (const char *const *)choice->kinds;

	for (const char *const *kind = kinds && !*kinds ? none : kinds; kind && *kind; kind++) {
		g_autofree char *known = chart_kinds_known();

		if (g_strv_contains(chart_kinds, *kind))
			continue;
		return error_fail(error, CHARTS_ERROR, CHARTS_ERROR_KIND,
				  "unknown chart \"%s\"; known: %s", *kind, known);
	}
	for (guint i = 0; i < choice->runs_count; i++) {
		g_autofree char *known = NULL;

		if (has_run(summaries, count, choice->runs[i]))
			continue;
		known = runs_known(summaries, count);
		return error_fail(error, CHARTS_ERROR, CHARTS_ERROR_RUN,
				  "--run: there is no run %" G_GINT64_FORMAT
				  " that ended; known:%s",
				  choice->runs[i], known);
	}
	return true;
}

/* Making the charts. */

static void free_run(gpointer data)
{
	struct charts_run *run = data;

	g_ptr_array_unref(run->charts);
	g_free(run);
}

static void free_section(gpointer data)
{
	struct charts_section *section = data;

	g_ptr_array_unref(section->whole);
	g_ptr_array_unref(section->runs);
	g_free(section);
}

static void add_chart(GPtrArray *charts, struct chart *chart)
{
	if (chart)
		g_ptr_array_add(charts, chart);
}

/* Loads the traces; only the first trial of a simulation has recorded tasks. */
static GPtrArray *load_traces(const struct summary *summary, GError **error)
{
	g_autoptr(GPtrArray) traces =
		g_ptr_array_new_with_free_func((GDestroyNotify)run_trace_free);

	for (guint i = 0; i < summary->runs->len; i++) {
		const struct store_run *run = summary->runs->pdata[i];
		struct run_trace *trace;

		if (!summary->measured && run->repeat > 1)
			continue;
		trace = run_trace_load(summary, run, error);
		if (!trace)
			return NULL;
		g_ptr_array_add(traces, trace);
	}
	return g_steal_pointer(&traces);
}

static void add_run(struct charts_section *section, const struct run_trace *trace,
		    const struct charts_choice *choice, const char *prefix)
{
	struct charts_run *run = g_new0(struct charts_run, 1);

	run->run = trace->run;
	run->charts = g_ptr_array_new_with_free_func((GDestroyNotify)chart_free);
	for (gsize i = 0; i < G_N_ELEMENTS(run_charts); i++)
		if (wants_kind(choice, run_charts[i].kind))
			add_chart(run->charts, run_charts[i].draw(section->summary, trace, prefix));
	if (run->charts->len)
		g_ptr_array_add(section->runs, run);
	else
		free_run(run);
}

static bool fill_section(struct charts_section *section, const struct charts_choice *choice,
			 const char *prefix, GError **error)
{
	const struct summary *summary = section->summary;
	g_autoptr(GPtrArray) traces = load_traces(summary, error);
	GError *why = NULL;

	if (!traces)
		return false;
	if (wants_kind(choice, "estimates"))
		add_chart(section->whole, chart_estimates(summary, traces, prefix, &why));
	if (why) {
		g_propagate_error(error, why);
		return false;
	}
	for (gsize i = 0; i < G_N_ELEMENTS(whole_charts); i++)
		if (wants_kind(choice, whole_charts[i].kind))
			add_chart(section->whole, whole_charts[i].draw(summary, traces, prefix));
	for (guint i = 0; i < traces->len; i++) {
		const struct run_trace *trace = traces->pdata[i];

		if (wants_run(choice, summary, trace->run))
			add_run(section, trace, choice, prefix);
	}
	return true;
}

/*
 * The prefix of a directory's file names: empty for a single directory, its kind where kinds
 * differ, else number and name.
 */
static char *prefix_of(struct summary *const *summaries, guint count, guint index)
{
	const struct summary *summary = summaries[index];

	if (count == 1)
		return g_strdup("");
	for (guint i = 0; i < count; i++) {
		if (i != index && summaries[i]->measured == summary->measured) {
			g_autofree char *name = g_path_get_basename(summary->dir);

			return g_strdup_printf("%u-%s-", index + 1, name);
		}
	}
	return g_strdup(summary->measured ? "measured-" : "simulated-");
}

struct charts *charts_new(struct summary *const *summaries, guint count,
			  const struct charts_choice *choice, GError **error)
{
	g_autoptr(charts_t) charts = g_new0(struct charts, 1);

	charts->sections = g_ptr_array_new_with_free_func(free_section);
	if (wants_kind(choice, "utility"))
		charts->utility = chart_utility(summaries, count);
	for (guint i = 0; i < count; i++) {
		struct charts_section *section = g_new0(struct charts_section, 1);
		g_autofree char *prefix = prefix_of(summaries, count, i);

		section->summary = summaries[i];
		section->whole = g_ptr_array_new_with_free_func((GDestroyNotify)chart_free);
		section->runs = g_ptr_array_new_with_free_func(free_run);
		g_ptr_array_add(charts->sections, section);
		if (!fill_section(section, choice, prefix, error))
			return NULL;
	}
	return g_steal_pointer(&charts);
}

void charts_free(struct charts *charts)
{
	if (!charts)
		return;
	chart_free(charts->utility);
	g_ptr_array_unref(charts->sections);
	g_free(charts);
}

GPtrArray *charts_list(const struct charts *charts)
{
	GPtrArray *list = g_ptr_array_new();

	if (charts->utility)
		g_ptr_array_add(list, charts->utility);
	for (guint i = 0; i < charts->sections->len; i++) {
		const struct charts_section *section = charts->sections->pdata[i];

		g_ptr_array_extend(list, section->whole, NULL, NULL);
		for (guint j = 0; j < section->runs->len; j++)
			g_ptr_array_extend(list,
					   ((struct charts_run *)section->runs->pdata[j])->charts,
					   NULL, NULL);
	}
	return list;
}
