/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "benchmarks/npb/npb_progress.h"

/* A connection to a launcher that takes reports every `interval_ms`; returns the launcher's end. */
static int connect_launcher(const char *interval_ms, int *ret_program)
{
	g_autofree char *fd = NULL;
	int ends[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), ==, 0);
	fd = g_strdup_printf("%d", ends[1]);
	g_setenv("PMI_FD", fd, TRUE);
	if (interval_ms)
		g_setenv("VIRTBED_PROGRESS_MS", interval_ms, TRUE);
	else
		g_unsetenv("VIRTBED_PROGRESS_MS");
	*ret_program = ends[1];
	return ends[0];
}

static void assert_told(int launcher, const char *expected)
{
	char text[4096];
	ssize_t length = read(launcher, text, sizeof(text) - 1);

	text[MAX(length, 0)] = '\0';
	g_assert_cmpstr(text, ==, expected);
}

static void test_tells_each_step_where_that_is_wanted(void)
{
	struct npb_progress progress;
	int program;
	int launcher = connect_launcher("0", &program);

	npb_progress_init(&progress, 2);
	npb_progress_step(&progress);
	npb_progress_step(&progress);
	npb_progress_step(&progress); /* beyond all: a slip that is not passed on */
	assert_told(launcher, "cmd=progress done=0 total=2\n"
			      "cmd=progress done=1 total=2\n"
			      "cmd=progress done=2 total=2\n");
	close(launcher);
	close(program);
}

static void test_leaves_out_what_comes_too_soon(void)
{
	struct npb_progress progress;
	int program;
	int launcher = connect_launcher("3600000", &program);

	npb_progress_init(&progress, 1000);
	for (int i = 0; i < 1000; i++)
		npb_progress_step(&progress);
	assert_told(launcher,
		    "cmd=progress done=0 total=1000\ncmd=progress done=1000 total=1000\n");
	close(launcher);
	close(program);
}

/* A launcher that speaks plain PMI-1 would fail the job for a message that it does not know. */
static void test_tells_nobody_who_did_not_ask(void)
{
	static const char *const intervals[] = {NULL, "", "soon", "-1", "1x", "3600001"};

	for (gsize i = 0; i < G_N_ELEMENTS(intervals); i++) {
		struct npb_progress progress;
		int program;
		int launcher = connect_launcher(intervals[i], &program);

		npb_progress_init(&progress, 1);
		npb_progress_step(&progress);
		assert_told(launcher, "");
		close(launcher);
		close(program);
	}
	npb_progress_init(NULL, 1);
	npb_progress_step(NULL);
}

/*
 * As a port whose far end does not read: the rank runs on, and reports the next time that it can.
 */
static void test_waits_for_nobody(void)
{
	static char bytes[65536];
	struct npb_progress progress;
	int program;
	int launcher = connect_launcher("0", &program);
	ssize_t length;

	while (write(program, bytes, sizeof(bytes)) > 0)
		;
	npb_progress_init(&progress, 3);
	npb_progress_step(&progress);
	while ((length = read(launcher, bytes, sizeof(bytes))) > 0)
		;
	npb_progress_step(&progress);
	assert_told(launcher, "cmd=progress done=2 total=3\n");
	close(launcher);
	close(program);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/npb-progress/tells-each-step", test_tells_each_step_where_that_is_wanted);
	g_test_add_func("/npb-progress/not-too-often", test_leaves_out_what_comes_too_soon);
	g_test_add_func("/npb-progress/only-where-asked", test_tells_nobody_who_did_not_ask);
	g_test_add_func("/npb-progress/waits-for-nobody", test_waits_for_nobody);
	return g_test_run();
}
