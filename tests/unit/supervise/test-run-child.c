/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Daemons that are started, started again and stopped. */
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>

#include "controller/supervise/run_child.h"

static char *temporary_dir(void)
{
	return g_dir_make_tmp("virtbed-test-XXXXXX", NULL);
}

struct deaths {
	guint count;
	int status;
	bool again;
};

static void died(struct run_child *child, int status, void *data)
{
	struct deaths *deaths = data;

	deaths->count++;
	deaths->status = status;
	deaths->again = run_child_restart_soon(child);
}

static struct run_child *shell(const char *script, struct deaths *deaths)
{
	const char *const argv[] = {"/bin/sh", "-c", script, NULL};

	return run_child_new("shell", argv, NULL, died, deaths);
}

static void a_child_that_dies_is_started_again(void)
{
	struct deaths deaths = {0};
	struct run_child *child = shell("kill -9 $$", &deaths);
	g_autofree char *text = NULL;

	g_assert_true(run_child_start(child, NULL));
	while (deaths.count < 2)
		g_main_context_iteration(NULL, TRUE);
	text = run_child_status_text(deaths.status);
	g_assert_cmpstr(text, ==, "signal 9 (Killed)");
	run_child_free(child);
}

/* Each busy for a moment; the running child counts as well as those that died. */
static void usage_is_that_of_all_incarnations(void)
{
	struct deaths deaths = {0};
	struct run_child *child =
		shell("i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done; exit 1", &deaths);
	double last_s = 0;

	g_assert_true(run_child_start(child, NULL));
	for (guint count = 1; count <= 3; count++) {
		while (deaths.count < count)
			g_main_context_iteration(NULL, TRUE);
		g_assert_cmpfloat(run_child_usage(child).cpu_s, >, last_s);
		last_s = run_child_usage(child).cpu_s;
	}
	g_assert_cmpfloat(run_child_usage(child).rss_mib, >, 0);
	run_child_free(child);
}

static void a_child_that_dies_again_and_again_is_let_be(void)
{
	struct deaths deaths = {.again = true};
	struct run_child *child = shell("exit 7", &deaths);
	g_autofree char *text = NULL;

	g_assert_true(run_child_start(child, NULL));
	while (deaths.again)
		g_main_context_iteration(NULL, TRUE);
	g_assert_cmpint(deaths.count, ==, RUN_CHILD_DEATHS);
	text = run_child_status_text(deaths.status);
	g_assert_cmpstr(text, ==, "exit status 7");
	run_child_free(child);
}

static void a_child_is_stopped(void)
{
	struct deaths deaths = {0};
	struct run_child *child = shell("exec sleep 100", &deaths);
	GPid pid;

	g_assert_true(run_child_start(child, NULL));
	pid = run_child_pid(child);
	run_child_stop(child, 5);
	g_assert_cmpint(kill(pid, 0), ==, -1);
	g_assert_cmpint(deaths.count, ==, 0);
	g_assert_false(run_child_running(child));
	run_child_free(child);
}

static void a_program_that_is_not_there_is_an_error(void)
{
	const char *const argv[] = {"/nowhere/at-all", NULL};
	struct deaths deaths = {0};
	struct run_child *child = run_child_new("nothing", argv, NULL, died, &deaths);
	g_autoptr(GError) error = NULL;

	g_assert_false(run_child_start(child, &error));
	g_assert_nonnull(error);
	run_child_free(child);
}

static void last_words_are_quoted(void)
{
	g_autofree char *dir = temporary_dir();
	g_autofree char *log = g_build_filename(dir, "log", NULL);
	const char *const argv[] = {"/bin/true", NULL};
	struct run_child *child = run_child_new("true", argv, log, died, NULL);
	g_autofree char *none = run_child_last_words(child);
	g_autofree char *words = NULL;

	g_assert_null(none);
	g_assert_true(g_file_set_contents(log, "first\nlast words\n\n", -1, NULL));
	words = run_child_last_words(child);
	g_assert_cmpstr(words, ==, "last words");
	run_child_free(child);
	g_unlink(log);
	g_rmdir(dir);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/child/again", a_child_that_dies_is_started_again);
	g_test_add_func("/child/usage", usage_is_that_of_all_incarnations);
	g_test_add_func("/child/let-be", a_child_that_dies_again_and_again_is_let_be);
	g_test_add_func("/child/stop", a_child_is_stopped);
	g_test_add_func("/child/not-there", a_program_that_is_not_there_is_an_error);
	g_test_add_func("/child/last-words", last_words_are_quoted);
	return g_test_run();
}
