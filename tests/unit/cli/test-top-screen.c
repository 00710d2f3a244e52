/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "controller/cli/top_screen.h"
#include "tests/unit/cli/document.h"

static const char status_text[] =
	"{\"phase\": \"run\", \"policy\": \"max-upr\", \"time_s\": 3730.0, \"energy_j\": 120.25,"
	" \"limit_j\": 400.0, \"utility\": 7.5, \"waiting\": 1, \"running\": 1, \"suspended\": 0,"
	" \"completed\": 5}";
static const char clusters_text[] =
	"{\"clusters\": [{\"cluster\": \"c1\", \"nodes\": 4, \"idle\": 1, \"busy\": 1, \"down\": 1,"
	" \"drained\": 1}]}";
static const char nodes_text[] =
	"{\"nodes\": [{\"cluster\": \"c1\", \"state\": \"busy\"},"
	" {\"cluster\": \"c1\", \"state\": \"idle\"}, {\"cluster\": \"c1\", \"state\": \"down\"},"
	" {\"cluster\": \"c1\", \"state\": \"drained\"}, {\"cluster\": \"c2\", \"state\": \"idle\"}]}";
static const char power_text[] =
	"{\"hosts\": [{\"host\": \"b1\", \"watts\": 15.0, \"idle_w\": 10.0, \"cap_w\": null}]}";
static const char tasks_text[] =
	"{\"now_s\": 3730.0, \"more\": 800, \"tasks\": ["
	"{\"task\": 1, \"type\": \"IS.2\", \"state\": \"waiting\", \"waited_s\": 0.0, \"waits_since_s\": 3700.0,"
	" \"why\": \"no idle nodes\"},"
	"{\"task\": 2, \"type\": \"IS.2\", \"state\": \"running\", \"waited_s\": 10.0, \"executed_s\": 0.0,"
	" \"started_s\": 3610.0, \"since_s\": 3610.0, \"cluster\": \"c1\", \"nodes\": [0]}]}";

static const char whole[] =
	"virtbed: run, policy max-upr, for 1:02:10; 15.0 W; dynamic energy 120.2 J of 400.0 J; "
	"utility 7.5\n"
	"tasks: 1 running, 1 waiting, 0 suspended, 5 completed\n"
	"q quits\n"
	"\n"
	"CLUSTER  NODES  IDLE  BUSY  DOWN  DRAINED  # busy  . idle  d drained  D draining  x down\n"
	"-------  -----  ----  ----  ----  -------  ---------------------------------------------\n"
	"c1           4     1     1     1        1  #.xd\n"
	"\n"
	"HOST  WATTS  IDLE W  CAP W  = idle  # above\n"
	"----  -----  ------  -----  ------------------------------\n"
	"b1     15.0    10.0      -  ====================##########\n"
	"\n"
	"TASK  NAME  TYPE  USER  STATE    WAITED  TIME  LEFT  NODES (WHY)\n"
	"----  ----  ----  ----  -------  ------  ----  ----  ---------------\n"
	"   2  -     IS.2  -     running    0:10  2:00     -  c1/0\n"
	"   1  -     IS.2  -     waiting    0:30     -     -  (no idle nodes)\n"
	"+ 800 more tasks; virtbed queue lists all\n";

static char *draw(int columns, int rows)
{
	g_autoptr(json_t) status = document(status_text);
	g_autoptr(json_t) clusters = document(clusters_text);
	g_autoptr(json_t) nodes = document(nodes_text);
	g_autoptr(json_t) power = document(power_text);
	g_autoptr(json_t) tasks = document(tasks_text);
	const struct top_screen screen = {status, clusters, nodes, power, tasks, "q quits"};

	return top_screen_text(&screen, columns, rows);
}

static void test_whole(void)
{
	g_autofree char *text = draw(0, 0);

	g_assert_cmpstr(text, ==, whole);
}

/* No line is longer than the screen is wide, nor are there more than it has. */
static void test_cut(void)
{
	for (int rows = 1; rows < 19; rows++) {
		g_autofree char *text = draw(20, rows);
		g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
		guint count = g_strv_length(lines) - 1;

		g_assert_cmpuint(count, ==, MIN(rows, 17));
		for (guint i = 0; i < count; i++)
			g_assert_cmpint(g_utf8_strlen(lines[i], -1), <=, 20);
		if (rows < 17)
			g_assert_nonnull(strstr(lines[count - 1], "more lines"));
	}
}

/* Each node has one column: what drains is neither busy nor drained. */
static void test_draining(void)
{
	g_autoptr(json_t) clusters = document(
		"{\"clusters\": [{\"cluster\": \"c1\", \"nodes\": 4, \"idle\": 0, \"busy\": 1, \"down\": 0,"
		" \"drained\": 1, \"draining\": 2}]}");
	g_autoptr(json_t) nodes = document(
		"{\"nodes\": [{\"cluster\": \"c1\", \"state\": \"busy\"},"
		" {\"cluster\": \"c1\", \"state\": \"draining\"}, {\"cluster\": \"c1\", \"state\": \"draining\"},"
		" {\"cluster\": \"c1\", \"state\": \"drained\"}]}");
	const struct top_screen screen = {.clusters = clusters, .nodes = nodes};
	g_autofree char *text = top_screen_text(&screen, 0, 0);

	g_assert_cmpstr(
		text, ==,
		"\n"
		"CLUSTER  NODES  IDLE  BUSY  DOWN  DRAINED  DRAINING  # busy  . idle  d drained  D draining  x down\n"
		"-------  -----  ----  ----  ----  -------  --------  ---------------------------------------------\n"
		"c1           4     0     1     0        1         2  #DDd\n");
}

static char *draw_program(const char *program)
{
	g_autofree char *text = g_strdup_printf(
		"{\"phase\": \"run\", \"policy\": \"exec:./mine.py\", \"time_s\": 10.0, \"waiting\": 0,"
		" \"running\": 0, \"suspended\": 0, \"completed\": 0, \"program\": %s}",
		program);
	g_autoptr(json_t) status = document(text);
	const struct top_screen screen = {.status = status};

	return top_screen_text(&screen, 0, 0);
}

/* A policy from outside has a line about its program. */
static void test_program(void)
{
	g_autofree char *failing = draw_program(
		"{\"name\": \"mine\", \"state\": \"disabled\", \"fallback\": \"easy\", \"events\": 45,"
		" \"used\": 40, \"failed\": {\"late\": 3, \"died\": 0, \"disabled\": 2},"
		" \"event_mean_s\": 0.0041, \"compute_mean_s\": 0.0012}");
	g_autofree char *beginning = draw_program(
		"{\"name\": null, \"state\": \"starting\", \"fallback\": \"easy\", \"events\": 0,"
		" \"used\": 0, \"failed\": {\"late\": 0}, \"event_mean_s\": null,"
		" \"compute_mean_s\": null}");
	g_autofree char *none = draw_program("null");

	g_assert_nonnull(strstr(failing,
				"\nprogram: mine, disabled until a reload; used in 40 of 45 "
				"events; easy decided 5: 3 late, 2 disabled; 4.1 ms an event, "
				"computing 1.2 ms\n"));
	g_assert_nonnull(strstr(beginning, "\nprogram: -, starting; used in 0 of 0 events\n"));
	g_assert_null(strstr(none, "program:"));
}

static void test_nothing_known(void)
{
	const struct top_screen screen = {.note = "no answer"};
	g_autofree char *text = top_screen_text(&screen, 80, 24);

	g_assert_cmpstr(text, ==, "no answer\n");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/top-screen/whole", test_whole);
	g_test_add_func("/top-screen/cut", test_cut);
	g_test_add_func("/top-screen/draining", test_draining);
	g_test_add_func("/top-screen/program", test_program);
	g_test_add_func("/top-screen/nothing-known", test_nothing_known);
	return g_test_run();
}
