/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What charts draw, as CSV, from a store of known rows; drawings are never compared. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "controller/report/charts.h"
#include "controller/report/csv.h"
#include "controller/report/page_svg.h"
#include "fixture.h"

struct directory {
	char *dir;
	struct store *store;
	struct summary *summary;
};

static void good(bool done, GError *error)
{
	g_assert_no_error(error);
	g_assert_true(done);
}

static void put_task(struct store *store, uint32_t number, const char *state, const char *cluster,
		     const char *nodes, double started_s, double ended_s, double utility)
{
	GError *error = NULL;
	const struct store_task task = {
		.run = 1,
		.task = number,
		.type = (char *)(number % 2 ? "CG.2" : "IS.2"),
		.arrival_s = number,
		.utility_max = 4,
		.state = (char *)state,
		.cluster = (char *)cluster,
		.nodes = (char *)nodes,
		.attempts = 1,
		.planned_start_s = NAN,
		.started_s = started_s,
		.ended_s = ended_s,
		.exec_s = strcmp(state, "completed") ? NAN : ended_s - started_s,
		.etc_s = 4,
		.energy_j = strcmp(state, "completed") ? NAN : 100,
		.eec_j = 80,
		.utility = utility,
	};

	good(store_put_task(store, &task, &error), error);
}

static void put_run(struct store *store, bool measured)
{
	GError *error = NULL;
	struct store_run run = {
		.policy = (char *)"max-upr",
		.limit = 0.6,
		.limit_j = 600,
		.repeat = 1,
		.seed = 1,
		.measured = measured,
		.ended_by = (char *)"time",
		.ended_s = 10,
		.utility = 5,
		.energy_j = 300,
		.idle_w = 100,
		.host_load = NAN,
	};

	good(store_add_run(store, &run, &error), error);
	put_task(store, 0, "completed", "c1", "0,1", 1, 5, 3);
	put_task(store, 1, "completed", "c2", "0", 2, 8, 2);
	put_task(store, 2, "dropped", "c1", "0", NAN, 6, 0);
	put_task(store, 3, "unfinished", "c2", "0", 8.5, NAN, 0);
	put_task(store, 4, "failed", "c1", "1", 6, 7, 0);
	put_task(store, 5, "waiting", NULL, NULL, NAN, NAN, 0);
}

/* Host a draws 50, 100, 100 W at -1, 4, 12 s; host b 60 W throughout, with a gap at the end. */
static void put_samples(struct store *store)
{
	GError *error = NULL;

	good(store_add_event(store, 1, 0, "baseline",
			     "{\"hosts\":[{\"host\":\"a\",\"idle_w\":45},"
			     "{\"host\":\"b\",\"idle_w\":55}]}",
			     &error),
	     error);
	good(store_add_event(store, 1, 7.5, "lost", "{\"task\":4,\"attempt\":1}", &error), error);
	good(store_add_sample(store, 1, "a", 1, -1, 50000, 0, false, &error), error);
	good(store_add_sample(store, 1, "a", 2, 4, 100000, 375000000, false, &error), error);
	good(store_add_sample(store, 1, "a", 3, 12, 100000, 1175000000, false, &error), error);
	good(store_add_sample(store, 1, "b", 1, -1, 60000, 0, false, &error), error);
	good(store_add_sample(store, 1, "b", 2, 11, 60000, 720000000, true, &error), error);
}

static void put_estimates(struct store *store)
{
	GError *error = NULL;
	const struct config_estimate estimates[] = {
		{(char *)"IS.2", (char *)"c1", 4, 1, 80, 10, 4},
		{(char *)"CG.2", (char *)"c2", 6, 0, 120, 0, 0},
	};

	good(store_put_estimates(store, estimates, 2, &error), error);
}

static void set_up(struct directory *directory, gconstpointer simulated)
{
	GError *error = NULL;

	directory->dir = g_dir_make_tmp("virtbed-charts-XXXXXX", NULL);
	directory->store = store_open(directory->dir, true, &error);
	g_assert_no_error(error);
	good(store_set_meta(directory->store, "kind", simulated ? "simulated" : "measured", &error),
	     error);
	put_run(directory->store, !simulated);
	put_estimates(directory->store);
	if (!simulated)
		put_samples(directory->store);
	directory->summary = summary_load(directory->dir, &error);
	g_assert_no_error(error);
}

static void tear_down(struct directory *directory, gconstpointer simulated)
{
	summary_free(directory->summary);
	store_close(directory->store);
	fixture_remove(directory->dir);
}

static struct charts *all_charts(struct directory *directory)
{
	GError *error = NULL;
	struct charts *charts = charts_new(&directory->summary, 1, NULL, &error);

	g_assert_no_error(error);
	return charts;
}

static const struct chart *find(const struct charts *charts, const char *name)
{
	g_autoptr(GPtrArray) list = charts_list(charts);

	for (guint i = 0; i < list->len; i++)
		if (g_str_equal(((struct chart *)list->pdata[i])->name, name))
			return list->pdata[i];
	return NULL;
}

static const char *data_of(const struct charts *charts, const char *name)
{
	const struct chart *chart = find(charts, name);

	g_assert_nonnull(chart);
	g_assert_true(*chart->title && *chart->caption && *chart->program);
	return chart->csv;
}

static void test_gantt(struct directory *directory, gconstpointer simulated)
{
	g_autoptr(charts_t) charts = all_charts(directory);

	g_assert_cmpstr(data_of(charts, "gantt-1-max-upr-60"), ==,
			"task,type,state,cluster,node,row,start_s,end_s,utility,utility_max\n"
			"0,IS.2,completed,c1,0,0,1,5,3,4\n"
			"0,IS.2,completed,c1,1,1,1,5,3,4\n"
			"1,CG.2,completed,c2,0,2.5,2,8,2,4\n"
			"2,IS.2,dropped,,,4,,6,0,4\n"
			"3,CG.2,unfinished,c2,0,2.5,8.5,10,0,4\n"
			"4,IS.2,failed,c1,1,1,6,7,0,4\n"
			"4,IS.2,lost,,,5,,7.5,0,4\n");
}

static void test_power(struct directory *directory, gconstpointer simulated)
{
	g_autoptr(charts_t) charts = all_charts(directory);

	/* At 0 s host a is on its way from 50 W at -1 s to 100 W at 4 s. */
	g_assert_cmpstr(data_of(charts, "power-1-max-upr-60"), ==,
			"host,time_s,watts,idle_w,gap\n"
			"all hosts,0,120,100,0\n"
			"all hosts,4,160,100,0\n"
			"all hosts,10,160,100,0\n"
			"a,-1,50,45,0\na,4,100,45,0\na,12,100,45,0\n"
			"b,-1,60,55,0\nb,11,60,55,1\n");
}

static void test_energy(struct directory *directory, gconstpointer simulated)
{
	g_autoptr(charts_t) charts = all_charts(directory);

	/* a: 75 J/s on the straight line to 4 s, then 100; b: 60; less 100 W of baseline. */
	g_assert_cmpstr(data_of(charts, "energy-time"), ==,
			"policy,limit,limit_j,run,repeat,time_s,energy_j\n"
			"max-upr,0.6,600,1,1,0,0\n"
			"max-upr,0.6,600,1,1,4,140\n"
			"max-upr,0.6,600,1,1,10,500\n");
}

/* Tasks 0, 1, 3 and 4 draw 25, 16.7, 20 and 20 W while they run; task 4 from 6 to 7 s. */
static void test_simulated_energy(struct directory *directory, gconstpointer simulated)
{
	g_autoptr(run_trace_t) trace =
		run_trace_load(directory->summary, directory->summary->runs->pdata[0], NULL);
	g_autoptr(GArray) points = run_trace_energy(trace);
	const struct run_point *last = &g_array_index(points, struct run_point, points->len - 1);
	g_autoptr(charts_t) charts = all_charts(directory);

	g_assert_cmpfloat(last->time_s, ==, 10);
	g_assert_cmpfloat_with_epsilon(last->value, 100 + 100 + 1.5 * 20 + 20, 1e-9);
	g_assert_nonnull(find(charts, "gantt-1-max-upr-60"));
	g_assert_null(find(charts, "power-1-max-upr-60"));
}

/* Tasks that use no energy, as those of pruning environments, have no chart without a curve. */
static void test_no_energy(struct directory *directory, gconstpointer simulated)
{
	g_autofree char *path = g_build_filename(directory->dir, STORE_FILE, NULL);
	g_autoptr(charts_t) charts = NULL;
	sqlite3 *db = NULL;

	g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_exec(db, "UPDATE task SET energy_j = 0, eec_j = 0", NULL, NULL,
				     NULL),
			==, SQLITE_OK);
	sqlite3_close(db);
	charts = all_charts(directory);
	g_assert_nonnull(find(charts, "utility-time"));
	g_assert_null(find(charts, "energy-time"));
}

static void test_utility(struct directory *directory, gconstpointer simulated)
{
	g_autoptr(charts_t) charts = all_charts(directory);

	g_assert_cmpstr(data_of(charts, "utility-time"), ==,
			"policy,limit,limit_j,run,repeat,time_s,utility\n"
			"max-upr,0.6,600,1,1,0,0\n"
			"max-upr,0.6,600,1,1,5,3\n"
			"max-upr,0.6,600,1,1,8,5\n"
			"max-upr,0.6,600,1,1,10,5\n");
	g_assert_cmpstr(data_of(charts, "utility"), ==,
			"policy,run,limit,x,utility_mean,utility_sd,energy_j_mean\n"
			"max-upr,measured,0.6,0,5,,300\n");
}

/* t(3) = 3.182446 at 97.5 %: 4 +- 3.182446 x 1 / 2. */
static void test_estimates(struct directory *directory, gconstpointer simulated)
{
	g_autoptr(charts_t) charts = all_charts(directory);

	g_assert_cmpstr(data_of(charts, "estimates"), ==,
			"type,cluster,x,count,etc_s,etc_low_s,etc_high_s,eec_j,eec_low_j,"
			"eec_high_j,tasks,exec_s,exec_low_s,exec_high_s,energy_j,energy_low_j,"
			"energy_high_j\n"
			"CG.2,c2,-0.2,0,6,,,120,,,1,6,,,100,,\n"
			"IS.2,c1,1.2,4,4,2.408776847,5.591223153,80,64.08776847,95.91223153,1,4,,,"
			"100,,\n");
}

static void test_estimates_are_of_simulated_seconds(struct directory *directory,
						    gconstpointer simulated)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(charts_t) charts = NULL;

	good(store_set_meta(directory->store, "capabilities",
			    "{\"c1\": {\"speed\": 10.0}, \"c2\": {}}", &error),
	     error);
	charts = all_charts(directory);
	g_assert_nonnull(
		strstr(data_of(charts, "estimates"), "\nCG.2,c2,-0.2,0,6,,,120,,,1,6,,,100,,\n"));
	g_assert_nonnull(strstr(data_of(charts, "estimates"), ",1,40,,,100,,\n"));
	g_assert_nonnull(strstr(find(charts, "estimates")->caption, "simulated"));
}

static void test_choice(struct directory *directory, gconstpointer simulated)
{
	g_autoptr(GError) error = NULL;
	char *const known[] = {(char *)"power", NULL};
	char *const unknown[] = {(char *)"pie", NULL};
	const gint64 runs[] = {1, 7};
	const struct charts_choice power = {.kinds = known, .runs = runs, .runs_count = 1};
	const struct charts_choice pie = {.kinds = unknown};
	const struct charts_choice seven = {.runs = runs, .runs_count = 2};
	g_autoptr(charts_t) charts = charts_new(&directory->summary, 1, &power, &error);
	g_autoptr(GPtrArray) list = charts_list(charts);

	g_assert_cmpuint(list->len, ==, 1);
	g_assert_true(charts_choice_check(&power, &directory->summary, 1, &error));
	g_assert_false(charts_choice_check(&pie, &directory->summary, 1, &error));
	g_assert_error(error, CHARTS_ERROR, CHARTS_ERROR_KIND);
	g_clear_error(&error);
	g_assert_false(charts_choice_check(&seven, &directory->summary, 1, &error));
	g_assert_error(error, CHARTS_ERROR, CHARTS_ERROR_RUN);
}

/* As many policies as make the names of a chart long. */
#define MANY 21

/* The run of another policy, which earns at 5 s. */
static void add_policy(struct store *store, guint number)
{
	GError *error = NULL;
	g_autofree char *policy = g_strdup_printf("policy-%u", number);
	struct store_run run = {
		.policy = policy,
		.limit = 0.6,
		.limit_j = 6e10,
		.repeat = 1,
		.seed = 1,
		.measured = true,
		.ended_by = (char *)"time",
		.ended_s = 20000,
		.utility = 5,
		.energy_j = 5e10,
		.idle_w = 100,
		.host_load = NAN,
	};
	struct store_task task = {
		.type = (char *)"IS.2",
		.utility_max = 4,
		.state = (char *)"completed",
		.cluster = (char *)"c1",
		.nodes = (char *)"0",
		.attempts = 1,
		.planned_start_s = NAN,
		.started_s = 1,
		.ended_s = 5,
		.exec_s = 4,
		.etc_s = 4,
		.energy_j = 100,
		.eec_j = 80,
		.utility = 3,
	};

	good(store_add_run(store, &run, &error), error);
	task.run = run.run;
	good(store_put_task(store, &task, &error), error);
}

/* The charts of many policies. */
static struct charts *many_charts(struct directory *directory)
{
	GError *error = NULL;

	for (guint i = 1; i < MANY; i++)
		add_policy(directory->store, i);
	summary_free(directory->summary);
	directory->summary = summary_load(directory->dir, &error);
	g_assert_no_error(error);
	return all_charts(directory);
}

/* The text of a chart's drawing. The caller frees. */
static char *drawing(struct directory *directory, const struct charts *charts, const char *name)
{
	const struct chart *chart = find(charts, name);
	GError *error = NULL;
	char *text;

	g_assert_nonnull(chart);
	good(chart_write(chart, directory->dir, &error), error);
	text = chart_draw_bare(chart, directory->dir, &error);
	g_assert_no_error(error);
	return text;
}

/* Whether a text stands in a drawing. */
static bool shows(const char *svg, const char *text)
{
	g_autofree char *element = g_strdup_printf(">%s</text>", text);

	return strstr(svg, element);
}

static void test_many(struct directory *directory, gconstpointer simulated)
{
	g_autoptr(charts_t) charts = many_charts(directory);
	g_autofree char *lines = drawing(directory, charts, "utility-time");
	g_autofree char *bars = drawing(directory, charts, "utility");

	for (guint i = 1; i < MANY; i++) {
		g_autofree char *policy = g_strdup_printf("policy-%u", i);
		g_autofree char *title = g_strdup_printf("%u  policy-%u, measured", i + 1, i);
		g_autofree char *number = g_strdup_printf("%u", i + 1);

		g_assert_true(shows(lines, policy));
		g_assert_true(shows(bars, title));
		g_assert_true(shows(bars, number));
	}
	/* In hours: 20,000 s. */
	g_assert_true(shows(lines, "since the start of the run, h"));
	g_assert_null(strstr(lines, "seconds"));
}

/* The lines that a program of `chart` prints. */
static char **printed(struct directory *directory, struct chart *chart, const char *program)
{
	g_autofree char *path = g_build_filename(directory->dir, "values.txt", NULL);
	g_autofree char *image = NULL;
	g_autofree char *text = NULL;
	GError *error = NULL;

	g_free(chart->program);
	chart->program = g_strdup_printf("set print 'values.txt'\n%s\n", program);
	chart->csv = g_strdup("x\n");
	chart->width = 100;
	chart->height = 100;
	good(chart_write(chart, directory->dir, &error), error);
	image = chart_draw(chart, directory->dir, CHART_SVG, &error);
	g_assert_no_error(error);
	good(g_file_get_contents(path, &text, NULL, &error), error);
	return g_strsplit(g_strchomp(text), "\n", -1);
}

/* The values of an expression with i from 1 to `count`, as a set. */
static GHashTable *values_of(struct directory *directory, const char *expression, guint count)
{
	GHashTable *values = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(chart_t) chart = chart_new("power", "values");
	g_autofree char *program =
		g_strdup_printf("do for [i=1:%u] { print %s }", count, expression);
	g_auto(GStrv) lines = printed(directory, chart, program);

	g_assert_cmpuint(g_strv_length(lines), ==, count);
	for (char **line = lines; *line; line++)
		g_hash_table_add(values, g_strdup(*line));
	return values;
}

static void test_styles(struct directory *directory, gconstpointer simulated)
{
	g_autoptr(GHashTable) lines =
		values_of(directory, "sprintf('%s %s', dash(i), mark(i))", 60);
	g_autoptr(GHashTable) fills =
		values_of(directory, "sprintf('%d %x', pattern(i), pale(i, 1))", 42);
	g_autoptr(GHashTable) patterns = values_of(directory, "pattern(i)", 42);
	g_autoptr(GHashTable) pale =
		values_of(directory, "sprintf('%06x', pale(2, 0.25 * (i - 1)))", 5);

	g_assert_cmpuint(g_hash_table_size(lines), ==, 60);
	g_assert_cmpuint(g_hash_table_size(fills), ==, 42);
	g_assert_cmpuint(g_hash_table_size(patterns), ==, CHART_PATTERNS);
	g_assert_true(g_hash_table_contains(pale, "ffffff"));
	g_assert_true(g_hash_table_contains(pale, "0072b2"));
}

/* What would be gnuplot's own outside of single quotes reaches a program as it is. */
static void test_texts_are_no_program(struct directory *directory, gconstpointer simulated)
{
	static const char name[] = "it's } { @units `touch pwned` \"@x\" #z $(y) %s ' \\";
	g_autofree char *pwned = g_build_filename(directory->dir, "pwned", NULL);
	g_autoptr(chart_t) chart = chart_new("power", "values");
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	g_auto(GStrv) lines = NULL;

	g_ptr_array_add(names, (char *)name);
	chart->title = g_strdup(name);
	chart->notes = g_ptr_array_ref(names);
	chart_set_text(chart, "text", name);
	chart_set_texts(chart, "texts", names);
	lines = printed(directory, chart,
			"print heading\nprint note[1]\nprint text\nprint texts[1]");
	g_assert_cmpuint(g_strv_length(lines), ==, 4);
	for (char **line = lines; *line; line++)
		g_assert_cmpstr(*line, ==, name);
	g_assert_false(g_file_test(pwned, G_FILE_TEST_EXISTS));
}

static void test_units(void)
{
	static const struct {
		const char *(*unit)(double max, double *ret_scale);
		double max;
		const char *name;
		double scaled;
	} cases[] = {
		{chart_energy_unit, 0, "J", 0},      {chart_energy_unit, 1e4, "J", 1e4},
		{chart_energy_unit, 1e5, "kJ", 100}, {chart_energy_unit, 1e7, "MJ", 10},
		{chart_energy_unit, 4e10, "GJ", 40}, {chart_energy_unit, 1e15, "TJ", 1000},
		{chart_time_unit, 600, "s", 600},    {chart_time_unit, 3600, "min", 60},
		{chart_time_unit, 86400, "h", 24},   {chart_time_unit, 864000, "days", 10},
		{chart_power_unit, 900, "W", 900},   {chart_power_unit, 5e4, "kW", 50},
		{chart_power_unit, 1e8, "MW", 100},
	};
	g_autofree char *text = chart_energy_text(2.8e9);

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		double scale;

		g_assert_cmpstr(cases[i].unit(cases[i].max, &scale), ==, cases[i].name);
		g_assert_cmpfloat_with_epsilon(scale * cases[i].max, cases[i].scaled, 1e-9);
	}
	g_assert_cmpstr(text, ==, "2.80 GJ");
}

/* One line above what is drawn; the caveats below it, each on a line. */
static void test_notes(struct directory *directory, gconstpointer simulated)
{
	g_autofree char *path = g_build_filename(directory->dir, "plots", "utility.gp", NULL);
	g_autofree char *dir = g_build_filename(directory->dir, "plots", NULL);
	g_autofree char *text = NULL;
	g_autofree char *image = NULL;
	GError *error = NULL;
	g_autoptr(charts_t) charts = NULL;
	guint lines = 0;

	good(store_set_meta(directory->store, "virt_type", "qemu", &error), error);
	good(store_set_meta(directory->store, "modelled_watts", "true", &error), error);
	charts = all_charts(directory);
	good(chart_write(charts->utility, dir, &error), error);
	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_assert_nonnull(strstr(text, "\nheading = 'Utility earned under each limit of energy'\n"));
	g_assert_nonnull(
		strstr(text, "'watts come from a model fed by CPU time, not from a meter'"));
	g_assert_nonnull(strstr(text, "set label 999 notes at screen"));
	for (const char *at = strstr(text, "set title"); at; at = strstr(at + 1, "set title"))
		lines++;
	g_assert_cmpuint(lines, ==, 1);
	for (int format = CHART_PNG; format <= CHART_PDF; format++) {
		image = chart_draw(charts->utility, dir, (enum chart_format)format, &error);
		g_assert_no_error(error);
		g_assert_true(g_file_test(image, G_FILE_TEST_EXISTS));
		g_clear_pointer(&image, g_free);
	}
}

static void test_csv(void)
{
	g_autoptr(GString) csv = g_string_new(NULL);

	csv_text(csv, "a,\"b\"\n");
	csv_text(csv, NULL);
	csv_number(csv, NAN);
	csv_number(csv, 0.1);
	csv_integer(csv, -3);
	csv_end(csv);
	csv_text(csv, "");
	csv_text(csv, "x");
	csv_end(csv);
	g_assert_cmpstr(csv->str, ==, "\"a,\"\"b\"\" \",,,0.1,-3\n\"\",x\n");
}

static void test_names(void)
{
	g_autoptr(chart_t) chart = chart_new("power", "%s-%d", "../a b'c", 1);

	chart_set_text(chart, "text", "it's\nso");
	g_assert_cmpstr(chart->name, ==, ".._a_b_c-1");
	g_assert_cmpstr(chart->variables->str, ==, "text = 'it''s so'\n");
}

/* A title is in a comment of the script, too, which people edit. */
static void test_title_is_visible(struct directory *directory, gconstpointer simulated)
{
	g_autoptr(chart_t) chart = chart_new("power", "turned");
	g_autofree char *path = g_build_filename(directory->dir, "turned.gp", NULL);
	g_autofree char *text = NULL;
	GError *error = NULL;

	chart->title = g_strdup("run of ea\u202esy\nall");
	chart->csv = g_strdup("x\n");
	good(chart_write(chart, directory->dir, &error), error);
	good(g_file_get_contents(path, &text, NULL, &error), error);
	g_assert_true(g_str_is_ascii(text));
	g_assert_true(g_str_has_prefix(text, "# run of ea\\u202esy all. Edit"));
}

static void test_svg(void)
{
	static const char drawing[] =
		"<?xml version=\"1.0\"?>\n<svg width=\"9\" viewBox=\"0 0 9 8\">\n<title>Gnuplot"
		"</title>\n<desc>x</desc><g id=\"plot_1\"><title>gnuplot_plot_1a</title>"
		"<title>easy</title><use xlink:href='#gpPt5' id='gpPt6'/>"
		"<path fill=\"url(#gpPat)\"/></g></svg>\n";
	g_autofree char *text = page_svg(drawing, "1-c", "A & B");

	g_assert_cmpstr(text, ==,
			"<svg viewBox=\"0 0 9 8\" role=\"img\" aria-labelledby=\"1-c-title\">"
			"<title id=\"1-c-title\">A &amp; B</title><g id=\"1-c-plot_1\">"
			"<title>easy</title><use xlink:href='#1-c-gpPt5' id='1-c-gpPt6'/>"
			"<path fill=\"url(#1-c-gpPat)\"/></g></svg>\n");
	g_assert_null(page_svg("<html>", "n", "t"));
}

#define TEST(path, simulated, function)                                                            \
	g_test_add(path, struct directory, simulated, set_up, function, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	TEST("/charts/gantt has a bar per task and node, and what never ran below", NULL,
	     test_gantt);
	TEST("/charts/power has the sum, each host and the baselines", NULL, test_power);
	TEST("/charts/energy follows from the counters", NULL, test_energy);
	TEST("/charts/energy of a simulation follows from its tasks", "simulated",
	     test_simulated_energy);
	TEST("/charts/no energy is no chart without a curve", "simulated", test_no_energy);
	TEST("/charts/utility steps up where tasks completed", NULL, test_utility);
	TEST("/charts/estimates have intervals where they were measured often", NULL,
	     test_estimates);
	TEST("/charts/estimates and what tasks took are in simulated seconds where time is", NULL,
	     test_estimates_are_of_simulated_seconds);
	TEST("/charts/kinds and runs can be chosen", NULL, test_choice);
	TEST("/charts/many policies differ without colour, too", NULL, test_many);
	TEST("/charts/texts never become a program", NULL, test_texts_are_no_program);
	TEST("/charts/lines and bars differ", NULL, test_styles);
	TEST("/charts/the title shows what would turn it", NULL, test_title_is_visible);
	TEST("/charts/the heading is one line, and caveats stand below", NULL, test_notes);
	g_test_add_func("/charts/units fit", test_units);
	g_test_add_func("/charts/csv is quoted where it must be", test_csv);
	g_test_add_func("/charts/names are good for files and for gnuplot", test_names);
	g_test_add_func("/charts/drawings are made fit for a page", test_svg);
	return g_test_run();
}
