/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_SUBSYSTEM "test"
#include "common/log.h"

#include <string.h>

/* Runs in a process of its own per level, because the level is read once. */
static void write_one_line_of_each_level(void)
{
	log_error("failed on \"%s\"", "x");
	log_warning("two\nlines");
	log_info("\x1b[31mred \xff\xc2\x9b");
	log_debug("d\u00e9tail");
	log_error_of(LOG_TASK("x-1.2"), "lost");
	log_error_of(LOG_LOCAL_NODE("two-1", "c1-n0"), "paused: %d", 3);
	log_error_of(LOG_LOCAL("x-20260131T235959Z-1-7-2"), "lost");
	log_error_of(LOG_HOST("a \"b\"\n"), "down");
	log_error_of(LOG_NODE(NULL), "of no node");
	g_log_set_always_fatal(G_LOG_FATAL_MASK); /* as in a daemon */
	log_take_glib();
	g_critical("task 'a\nb' is %s", "odd");
	g_warning("w\xc3\xb6rd");
	g_log("lib", G_LOG_LEVEL_MESSAGE, "message");
	g_log("lib", G_LOG_LEVEL_INFO, "whispered");
}

static void test_level_chooses_the_lines(gconstpointer data)
{
	const char *level = data;
	static const struct {
		const char *level;
		const char *pattern; /* a glob on all that was written */
	} cases[] = {
		{"error", "* error test failed on \"x\"\n* error test task=x-1.2 lost\n"
			  "* error test task=two-1 node=c1-n0 paused: 3\n"
			  "* error test task=7 attempt=2 local=x-20260131T235959Z-1-7-2 lost\n"
			  "* error test host=\"a \\\"b\\\"\\n\" down\n"
			  "* error test of no node\n"
			  "* error virtbed task 'a\\nb' is odd\n"},
		{"warning", "* error test *\n* warning test two\\nlines\n*"
			    "* error virtbed *\n* warning virtbed w\xc3\xb6rd\n"},
		{"info", "* error *\n* warning *\n* info test \\x1b[31mred \xef\xbf\xbd\\x9b\n*"
			 "* warning virtbed *\n* info lib message\n"},
		{"debug", "* error *\n* warning *\n* info *\n* debug test d\u00e9tail\n*"
			  "* info lib message\n* debug lib whispered\n"},
		{"nonsense",
		 "VIRTBED_LOG: 'nonsense' is not one of error, warning, info, debug: info is used\n"
		 "* error *\n* warning *\n* info *\n"},
	};

	if (g_test_subprocess()) {
		write_one_line_of_each_level();
		return;
	}
	g_setenv("VIRTBED_LOG", level, TRUE);
	g_test_trap_subprocess(NULL, 0, 0);
	g_test_trap_assert_passed();
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
		if (strcmp(cases[i].level, level) == 0)
			g_test_trap_assert_stderr(cases[i].pattern);
	if (strcmp(level, "debug") != 0)
		g_test_trap_assert_stderr_unmatched("* debug *");
}

int main(int argc, char **argv)
{
	static const char *const levels[] = {"error", "warning", "info", "debug", "nonsense"};

	g_test_init(&argc, &argv, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(levels); i++) {
		g_autofree char *path = g_strconcat("/log/level-", levels[i], NULL);

		g_test_add_data_func(path, levels[i], test_level_chooses_the_lines);
	}
	return g_test_run();
}
