/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The meter that is a program, by programs of this machine. */
#include <glib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/platform.h"
#include "local-sched/power/power_meter.h"

/* One read of a meter. */
struct outcome {
	bool ended;
	int64_t mw;
	int code;
	char *message;
};

static void on_read(const struct power_reading *reading, const GError *error, void *data)
{
	struct outcome *outcome = data;

	outcome->ended = true;
	outcome->mw = reading ? reading->mw : -1;
	outcome->code = error ? error->code : 0;
	outcome->message = error ? g_strdup(error->message) : NULL;
	g_test_message("%s", error ? error->message : "a reading");
}

static struct outcome read_once(struct power_meter *meter)
{
	struct outcome outcome = {.mw = -1};

	power_meter_read(meter, on_read, &outcome);
	g_assert_false(outcome.ended);
	while (!outcome.ended)
		g_main_context_iteration(NULL, TRUE);
	return outcome;
}

/* The configuration of `argv` (at most 4), with a deadline of 2 s. */
static struct config_meter config_of(char **argv)
{
	return (struct config_meter){.kind = CONFIG_METER_COMMAND,
				     .command = argv,
				     .command_count = g_strv_length(argv),
				     .timeout_s = 2,
				     .interval_s = 1};
}

static void test_what_a_program_prints(void)
{
	static const struct {
		const char *argv[4];
		int64_t mw; /* -1: none */
		int code;
		const char *words;
	} cases[] = {
		{{"echo", "245 W"}, 245000, 0, NULL},
		{{"printf", "245.5"}, 245500, 0, NULL},
		/* No shell: what looks like one is a text. */
		{{"echo", "$(echo 245)"}, -1, POWER_METER_ERROR_GARBAGE, "\"$(echo 245)\" is not"},
		{{"sh", "-c", "echo a word >&2; echo 245"}, 245000, 0, NULL},
		{{"sh", "-c", "echo 245; echo no >&2; echo 'gone: \033[31m' >&2; exit 3"},
		 -1,
		 POWER_METER_ERROR_REJECTED,
		 "command \"sh\": it exited with status 3: gone: \\x1b[31m"},
		{{"sh", "-c", "kill -9 $$"}, -1, POWER_METER_ERROR_REJECTED, "ended by signal 9"},
		{{"true"}, -1, POWER_METER_ERROR_NOT_ACTIVE, "it says nothing"},
		{{"echo", "0"}, -1, POWER_METER_ERROR_NOT_ACTIVE, "0 W, which no machine draws"},
		{{"echo", "0.0001"},
		 -1,
		 POWER_METER_ERROR_NOT_ACTIVE,
		 "0.0001 W, which no machine"},
		{{"echo", "-1"}, -1, POWER_METER_ERROR_GARBAGE, "-1 W, which no machine draws"},
		{{"echo", "2000000"}, -1, POWER_METER_ERROR_GARBAGE, "2e+06 W"},
		{{"printf", "245\\0001"}, -1, POWER_METER_ERROR_GARBAGE, "a zero byte"},
		{{"yes"}, -1, POWER_METER_ERROR_GARBAGE, "more than 64 KiB"},
		{{"sh", "-c", "yes >&2"}, -1, POWER_METER_ERROR_GARBAGE, "more than 64 KiB"},
		{{"sleep", "1000"}, -1, POWER_METER_ERROR_NO_ANSWER, "did not end in time"},
		/* What it leaves behind may hold its output. */
		{{"sh", "-c", "setsid sleep 3 & echo 245"}, 245000, 0, NULL},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct config_meter config = config_of((char **)cases[i].argv);
		g_autoptr(GError) error = NULL;
		g_autoptr(power_meter_t) meter =
			power_meter_open(&platform_machine, &config, "h1", NULL, &error);
		struct outcome outcome;

		g_assert_no_error(error);
		g_test_message("case %zu", i);
		outcome = read_once(meter);
		g_assert_cmpint(outcome.mw, ==, cases[i].mw);
		g_assert_cmpint(outcome.code, ==, cases[i].code);
		g_assert_true(!cases[i].words || strstr(outcome.message, cases[i].words));
		g_free(outcome.message);
	}
}

/* Whether a process executes its program: it has a command line then, which a zombie has not. */
static bool executes(int64_t pid)
{
	g_autofree char *path = g_strdup_printf("/proc/%" G_GINT64_FORMAT "/cmdline", pid);
	g_autofree char *line = NULL;
	gsize length = 0;

	return g_file_get_contents(path, &line, &length, NULL) && length > 0;
}

/* The milliwatts are the pid of what it leaves behind. */
static void test_what_a_program_leaves_behind_ends(void)
{
	static const char *const argv[] = {"sh", "-c", "sleep 1000 & echo $!", NULL};
	struct config_meter config = config_of((char **)argv);
	const int64_t deadline_ns = clock_now_ns() + INT64_C(60000000000);
	g_autoptr(power_meter_t) meter = NULL;
	struct outcome outcome;

	config.value = CONFIG_METER_MILLIWATTS;
	meter = power_meter_open(&platform_machine, &config, "h1", NULL, NULL);
	outcome = read_once(meter);
	g_assert_cmpint(outcome.code, ==, 0);
	while (executes(outcome.mw) && clock_now_ns() < deadline_ns)
		g_usleep(1000);
	g_assert_false(executes(outcome.mw));
}

/* A counter that a program prints: the clock, at so many joules a second. */
static void test_a_counter_of_a_program(void)
{
	static const char *const argv[] = {"date", "+%s.%N", NULL};
	struct config_meter config = config_of((char **)argv);
	g_autoptr(power_meter_t) meter = NULL;

	config.value = CONFIG_METER_JOULES;
	config.scale = 250;
	meter = power_meter_open(&platform_machine, &config, "h1", NULL, NULL);
	for (int i = 0; i < 2; i++) {
		const struct outcome outcome = read_once(meter);

		/*
		 * A busy machine is late to hear of what a program printed, by any part of the time
		 * between two readings; a wrong unit is a factor of 1000.
		 */
		g_assert_cmpint(outcome.code, ==, 0);
		g_assert_cmpint(outcome.mw, >, 250000 / 30);
		g_assert_cmpint(outcome.mw, <, 250000 * 30);
	}
}

static void test_a_counter_that_stands_still(void)
{
	static const char *const argv[] = {"echo", "77", NULL};
	struct config_meter config = config_of((char **)argv);
	g_autoptr(power_meter_t) meter = NULL;
	struct outcome outcome;

	config.value = CONFIG_METER_WATT_HOURS;
	meter = power_meter_open(&platform_machine, &config, "h1", NULL, NULL);
	outcome = read_once(meter);
	g_assert_cmpint(outcome.code, ==, POWER_METER_ERROR_NOT_YET);
	g_assert_nonnull(strstr(outcome.message, "stands still"));
	g_free(outcome.message);
}

static void test_the_user_is_another(void)
{
	static const char *const argv[] = {"id", "-u", NULL};
	struct config_meter config = config_of((char **)argv);
	g_autoptr(GError) error = NULL;
	g_autoptr(power_meter_t) meter =
		power_meter_open(&platform_machine, &config, "h1", NULL, &error);
	g_autoptr(power_meter_t) none = NULL;
	struct outcome outcome;

	config.run_as = (char *)"no-such-user";
	none = power_meter_open(&platform_machine, &config, "h1", NULL, &error);
	g_assert_error(error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP);
	g_assert_nonnull(strstr(error->message, "there is no user \"no-such-user\""));
	if (geteuid() != 0) {
		g_test_skip("only root can be another user");
		return;
	}
	/* The number is that of `nobody`. */
	config.run_as = NULL;
	outcome = read_once(meter);
	g_assert_cmpint(outcome.mw, ==, 65534000);
}

/* Closing kills the program, and what it has started in its process group. */
static void test_closing_ends_the_program(void)
{
	g_autofree char *directory = g_dir_make_tmp("virtbed-test-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(directory, "pid", NULL);
	g_autofree char *script = g_strdup_printf("sleep 1000 & echo $! >%s; wait", path);
	const char *const argv[] = {"sh", "-c", script, NULL};
	struct config_meter config = config_of((char **)argv);
	struct outcome outcome = {.mw = -1};
	g_autofree char *text = NULL;
	power_meter_t *meter;
	char *user = (char *)(geteuid() == 0 ? "root" : NULL);
	GPid pid;

	config.run_as = user;
	meter = power_meter_open(&platform_machine, &config, "h1", NULL, NULL);
	power_meter_read(meter, on_read, &outcome);
	while (!text || !strchr(text, '\n')) {
		g_clear_pointer(&text, g_free);
		g_file_get_contents(path, &text, NULL, NULL);
		g_main_context_iteration(NULL, FALSE);
		g_assert_false(outcome.ended);
	}
	pid = atoi(text);
	g_assert_cmpint(kill(pid, 0), ==, 0);
	power_meter_close(meter);
	/* The orphan is reaped by another process: gone, or a zombie. */
	for (;;) {
		g_autofree char *state_path = g_strdup_printf("/proc/%d/stat", pid);
		g_autofree char *state = NULL;

		if (!g_file_get_contents(state_path, &state, NULL, NULL) || strstr(state, ") Z "))
			break;
		g_main_context_iteration(NULL, FALSE);
	}
	g_assert_false(outcome.ended);
	unlink(path);
	rmdir(directory);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/meter-command/what a program prints", test_what_a_program_prints);
	g_test_add_func("/meter-command/what a program leaves behind ends",
			test_what_a_program_leaves_behind_ends);
	g_test_add_func("/meter-command/a counter of a program", test_a_counter_of_a_program);
	g_test_add_func("/meter-command/a counter that stands still",
			test_a_counter_that_stands_still);
	g_test_add_func("/meter-command/the user is another", test_the_user_is_another);
	g_test_add_func("/meter-command/closing ends the program", test_closing_ends_the_program);
	return g_test_run();
}
