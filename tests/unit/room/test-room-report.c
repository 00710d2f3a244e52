/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was measured beside the room, and how both are shown and kept. */
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "common/random.h"
#include "controller/config/config_controller.h"
#include "controller/room/room_measured.h"
#include "controller/room/room_report.h"
#include "fixture.h"
#include "testbed_runs.h"

static const char *const policies[] = {"easy", "max-upr", NULL};
static const double limits[] = {0.7};

static struct config *testbed(void)
{
	const char *root = g_getenv("VIRTBED_SOURCE_ROOT");
	g_autofree char *path =
		g_build_filename(root ? root : ".", "configs", "testbed-hs22.yaml", NULL);
	g_autoptr(GError) error = NULL;
	struct config *config = config_controller_load(path, &error);

	g_assert_no_error(error);
	return config;
}

/* A measured directory whose execution times spread by `spread`, and its summary. */
static char *make(const struct config *config, double spread, struct summary **ret_summary)
{
	const struct testbed_runs what = {
		.config = config,
		.policies = policies,
		.limits = limits,
		.limits_count = G_N_ELEMENTS(limits),
		.measured = true,
		.runs = 3,
		.spread = spread,
		.seed = 4,
	};
	g_autoptr(GError) error = NULL;
	char *dir = testbed_runs_new(&what);

	*ret_summary = summary_load(dir, &error);
	g_assert_no_error(error);
	return dir;
}

static void add_ratio(GArray *ratios, uint32_t pair, double logarithm)
{
	const struct room_ratio ratio = {pair, logarithm};

	g_array_append_val(ratios, ratio);
}

static void test_variances(void)
{
	enum { PAIRS = 400, TASKS = 8 };
	g_autoptr(GArray) ratios = g_array_new(FALSE, FALSE, sizeof(struct room_ratio));
	struct random_stream random;
	double within, between;

	room_variances(ratios, &within, &between);
	g_assert_true(isnan(within) && isnan(between));
	random_stream_init(&random, 3, 0);
	for (uint32_t pair = 0; pair < PAIRS; pair++) {
		const double error = 0.2 * random_stream_normal(&random);

		/* Not as many tasks of each pair. */
		for (uint32_t i = 0; i < TASKS + pair % 5; i++)
			add_ratio(ratios, pair, error + 0.1 * random_stream_normal(&random));
	}
	room_variances(ratios, &within, &between);
	g_test_message("within %.4f, between %.4f", within, between);
	g_assert_cmpfloat_with_epsilon(within, 0.1, 0.005);
	g_assert_cmpfloat_with_epsilon(between, 0.2, 0.02);
}

/* Noise alone is not taken for an error of the estimates. */
static void test_measured(void)
{
	g_autoptr(config_t) config = testbed();
	g_autoptr(GError) error = NULL;
	g_autoptr(experiment_t) experiment = experiment_new(config, policies, &error);
	struct summary *summary;
	g_autofree char *dir = make(config, 0.1, &summary);
	double sizes[ROOM_KINDS];

	g_assert_no_error(error);
	g_assert_true(room_measured(summary, experiment, 100, sizes, &error));
	g_assert_no_error(error);
	for (uint32_t kind = 0; kind < ROOM_KINDS; kind++)
		g_test_message("%s: %.4f", room_kind_names[kind], sizes[kind]);
	g_assert_cmpfloat_with_epsilon(sizes[ROOM_NOISE], 0.1, 0.015);
	g_assert_cmpfloat(sizes[ROOM_ESTIMATES], <, 0.04);
	g_assert_cmpfloat(sizes[ROOM_MORE_LOAD] + sizes[ROOM_LESS_LOAD], <, 0.03);
	g_assert_cmpfloat(sizes[ROOM_OVERHEAD], ==, 0);
	summary_free(summary);
	fixture_remove(g_steal_pointer(&dir));
}

/* What suspensions took counts beyond what the simulation has of it. */
static void test_measured_overhead(void)
{
	g_autoptr(config_t) config = testbed();
	const struct config_overhead simulated = {.cluster = config->clusters[0].name,
						  .freeze_s = 1,
						  .save_s = 1,
						  .restore_s = 1,
						  .resume_s = 1};
	struct config with = *config;
	struct summary *summary;
	g_autofree char *dir = make(config, 0.1, &summary);
	const struct store_suspension suspension = {
		.run = 1,
		.task = 0,
		.attempt = 1,
		.n = 1,
		.cluster = (char *)"c1",
		.nodes = (char *)"0",
		.to_nodes = (char *)"0",
		.requested_s = 10,
		.suspended_s = 13,
		.exec_s = 5,
		.resume_requested_s = 20,
		.resumed_s = 27,
		.since_s = 27,
		.freeze_s = 1,
		.save_s = 2,
		.restore_s = 3,
		.resume_s = 4,
		.skew_s = NAN,
	};
	g_autoptr(GError) error = NULL;
	g_autoptr(store_t) store = store_open(dir, true, &error);
	g_autoptr(experiment_t) experiment = experiment_new(config, policies, &error);
	g_autoptr(experiment_t) experiment_with = NULL;
	double sizes[ROOM_KINDS], less[ROOM_KINDS], dropped[ROOM_KINDS];
	double starts;

	g_assert_no_error(error);
	g_assert_true(store_put_suspension(store, &suspension, &error));
	g_assert_true(room_measured(summary, experiment, 100, sizes, &error));
	/* 10 s over all starts and a resumption, in parts of 100 s. */
	starts = 10 / (100 * sizes[ROOM_OVERHEAD]);
	g_assert_cmpfloat_with_epsilon(starts, round(starts), 1e-6);
	g_assert_cmpfloat(starts, >, 100);
	with.overheads = (struct config_overhead *)&simulated;
	with.overheads_count = 1;
	experiment_with = experiment_new(&with, policies, &error);
	g_assert_no_error(error);
	g_assert_true(room_measured(summary, experiment_with, 100, less, &error));
	g_assert_cmpfloat_with_epsilon(less[ROOM_OVERHEAD] / sizes[ROOM_OVERHEAD], 0.6, 1e-9);
	/* `simulate --no-overheads`: the simulation has none of it. */
	experiment_drop_overheads(experiment_with);
	g_assert_true(room_measured(summary, experiment_with, 100, dropped, &error));
	g_assert_cmpfloat(dropped[ROOM_OVERHEAD], ==, sizes[ROOM_OVERHEAD]);
	summary_free(summary);
	fixture_remove(g_steal_pointer(&dir));
}

static bool has(const char *text, const char *words)
{
	return strstr(text, words) != NULL;
}

static void begin(uint64_t most_runs, uint32_t pairs, void *data)
{
	uint64_t *most = data;

	g_assert_cmpuint(pairs, ==, 1);
	*most = most_runs;
}

/* Shown, kept and read again. */
static void test_report(void)
{
	g_autoptr(config_t) config = testbed();
	g_autoptr(GError) error = NULL;
	struct summary *summary;
	g_autofree char *dir = make(config, 0.1, &summary);
	uint64_t most = 0;
	const struct room_request request = {
		.simulated = summary,
		.measured = summary,
		.trials = 4,
		.jobs = 2,
		.begin = begin,
		.data = &most,
	};
	g_autoptr(room_report_t) report = room_report_new(&request, &error);
	g_autoptr(room_report_t) again = NULL;
	g_autoptr(json_t) document = NULL;
	g_autoptr(json_t) document_again = NULL;
	g_autofree char *text = NULL;
	g_autofree char *html = NULL;
	const json_t *first;

	g_assert_no_error(error);
	g_assert_null(room_report_load(summary));
	text = room_report_text(report);
	html = room_report_html(report);
	document = room_report_json(report);
	g_test_message("%s", text);
	first = json_array_get(json_object_get(document, "pairs"), 0);
	g_assert_cmpuint(json_array_size(json_object_get(document, "pairs")), ==, ROOM_KINDS);
	g_assert_cmpint(json_integer_value(json_object_get(document, "simulated_runs")), <=,
			(json_int_t)most);
	g_assert_cmpstr(json_string_value(json_object_get(first, "winner")), ==, "max-upr");
	g_assert_cmpstr(json_string_value(json_object_get(first, "error")), ==, "estimates");
	g_assert_true(has(text, "easy - max-upr") && has(text, "measured"));
	g_assert_true(has(text, "At a limit of 70 %, max-upr beats easy in the simulation"));
	g_assert_true(has(html, "<table>") && has(html, "max-upr beats easy"));
	g_assert_true(room_report_save(report, summary, &error));
	again = room_report_load(summary);
	g_assert_nonnull(again);
	document_again = room_report_json(again);
	g_assert_true(json_equal(document, document_again));
	/* It is that of these runs. */
	g_ptr_array_set_size(summary->runs, (gint)summary->runs->len - 1);
	g_assert_null(room_report_load(summary));
	summary_free(summary);
	fixture_remove(g_steal_pointer(&dir));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/room/deviations within and between pairs are told apart", test_variances);
	g_test_add_func("/room/what was measured is noise where there is only noise",
			test_measured);
	g_test_add_func("/room/what suspensions took is an overhead", test_measured_overhead);
	g_test_add_func("/room/a report is shown, kept and read again", test_report);
	return g_test_run();
}
