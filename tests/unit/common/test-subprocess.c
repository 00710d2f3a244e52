/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_run_tells_how_the_program_ended(void)
{
	const struct {
		const char *const *argv;
		double timeout_s;
		int code;             /* of SUBPROCESS_ERROR; 0: good */
		const char *expected; /* output, or what the message contains */
	} cases[] = {
		{ARGV("true"), 10, 0, ""},
		{ARGV("printf", "a%sb", "\n x;$(y)"), 10, 0, "a\n x;$(y)b"},
		{ARGV("sh", "-c", "cat; echo end"), 10, 0, "end\n"},
		{ARGV("sh", "-c", "echo $PPID >/dev/null; ls /proc/self/fd | wc -l"), 10, 0, "4\n"},
		{ARGV("sh", "-c", "kill -PIPE $$"), 10, SUBPROCESS_ERROR_STATUS, "signal 13"},
		{ARGV("false"), 10, SUBPROCESS_ERROR_STATUS, "\"false\" exited with status 1"},
		{ARGV("sh", "-c", "echo why >&2; exit 3"), 10, SUBPROCESS_ERROR_STATUS,
		 "\"sh\" exited with status 3: why"},
		{ARGV("/nonexistent"), 10, SUBPROCESS_ERROR_START, "/nonexistent"},
		{ARGV("no-such-program-xyz"), 10, SUBPROCESS_ERROR_START, "not found in PATH"},
		{ARGV("/etc/passwd"), 10, SUBPROCESS_ERROR_START, "/etc/passwd"},
		{ARGV("sleep", "60"), 0.2, SUBPROCESS_ERROR_TIMEOUT, "did not end within 0.2 s"},
		{ARGV("sh", "-c", "trap '' TERM; sleep 60"), 0.2, SUBPROCESS_ERROR_TIMEOUT, ""},
		{ARGV("yes"), 60, SUBPROCESS_ERROR_OUTPUT, "wrote more than 16777216 bytes"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autofree char *output = NULL;
		const bool good =
			subprocess_run(cases[i].argv, NULL, cases[i].timeout_s, &output, &error);

		g_assert_true(good == (cases[i].code == 0));
		if (good) {
			g_assert_no_error(error);
			g_assert_cmpstr(output, ==, cases[i].expected);
		} else {
			g_assert_error(error, SUBPROCESS_ERROR, cases[i].code);
			g_assert_nonnull(strstr(error->message, cases[i].expected));
			g_assert_null(output);
		}
	}
}

static void test_run_adds_to_the_environment(void)
{
	g_autofree char *output = NULL;
	const char *const additions[] = {"VIRTBED_A=1=2", "VIRTBED_B=", NULL};

	g_setenv("VIRTBED_B", "old", TRUE);
	g_assert_true(subprocess_run(ARGV("sh", "-c", "echo $VIRTBED_A,$VIRTBED_B,${HOME:+home}"),
				     additions, 10, &output, NULL));
	g_assert_cmpstr(output, ==, "1=2,,home\n");
}

static void test_run_passes_large_output_and_any_bytes(void)
{
	g_autofree char *output = NULL;

	g_assert_true(subprocess_run(ARGV("sh", "-c",
					  "head -c 8000000 /dev/zero | tr '\\0' x; "
					  "head -c 8000000 /dev/zero >&2"),
				     NULL, 60, &output, NULL));
	g_assert_cmpuint(strlen(output), ==, 8000000);
}

/* A daemon that a program leaves behind holds its pipes: that must not hold us. */
static void test_run_does_not_wait_for_what_a_program_leaves_behind(void)
{
	g_autofree char *output = NULL;
	const int64_t start_ns = clock_now_ns();

	g_assert_true(
		subprocess_run(ARGV("sh", "-c", "sleep 30 & echo $!"), NULL, 20, &output, NULL));
	g_assert_cmpfloat(clock_elapsed_s(start_ns, clock_now_ns()), <, 15);
	kill((pid_t)atoi(output), SIGKILL);
}

/* Waits until `pid`, which need not be our child, is gone. */
static bool await_gone(pid_t pid, int timeout_ms)
{
	const int pidfd = pidfd_open(pid, 0);
	struct pollfd polled = {.fd = pidfd, .events = POLLIN};
	bool gone = pidfd < 0 && errno == ESRCH;

	if (pidfd >= 0) {
		gone = poll(&polled, 1, timeout_ms) > 0;
		close(pidfd);
	}
	return gone;
}

static void test_run_kills_grandchildren_at_the_deadline(void)
{
	g_autofree char *path = g_strdup_printf("%s/virtbed-test-XXXXXX", g_get_tmp_dir());
	g_autofree char *script = NULL;
	g_autofree char *text = NULL;
	const int fd = g_mkstemp(path);

	close(fd);
	script = g_strdup_printf("sleep 60 & echo $! > %s; wait", path);
	g_assert_false(subprocess_run(ARGV("sh", "-c", script), NULL, 1, NULL, NULL));
	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_assert_true(await_gone((pid_t)atoi(text), 10000));
	unlink(path);
}

static void test_spawn_appends_to_its_log(void)
{
	g_autofree char *path = g_strdup_printf("%s/virtbed-test-XXXXXX", g_get_tmp_dir());
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;
	const int fd = g_mkstemp(path);

	close(fd);
	for (int i = 0; i < 2; i++) {
		const GPid pid = subprocess_spawn(ARGV("sh", "-c", "echo out; echo err >&2"), NULL,
						  path, &error);
		int status;

		g_assert_no_error(error);
		g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
		g_assert_cmpint(status, ==, 0);
	}
	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_assert_cmpstr(text, ==, "out\nerr\nout\nerr\n");
	unlink(path);
	g_assert_cmpint(subprocess_spawn(ARGV("true"), NULL, "/nonexistent/log", &error), ==, -1);
	g_assert_error(error, SUBPROCESS_ERROR, SUBPROCESS_ERROR_START);
}

static void test_spawn_keeps_one_descriptor(void)
{
	const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
	for (int i = 0; i < 2; i++) {
		const GPid pid = subprocess_spawn_keeping(ARGV("test", "-e", path), NULL, NULL, &fd,
							  i == 0 ? 1 : 0, NULL);
		int status;

		g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
		g_assert_true(WIFEXITED(status));
		g_assert_cmpint(WEXITSTATUS(status), ==, i);
	}
	g_assert_cmpint(fcntl(fd, F_GETFD), ==, FD_CLOEXEC); /* here it is as before */
	close(fd);
}

static void test_spawn_reports_a_program_that_cannot_run(void)
{
	g_autoptr(GError) error = NULL;

	g_assert_cmpint(subprocess_spawn(ARGV("/etc"), NULL, NULL, &error), ==, -1);
	g_assert_error(error, SUBPROCESS_ERROR, SUBPROCESS_ERROR_START);
	g_assert_cmpint(waitpid(-1, NULL, WNOHANG), ==, -1); /* no zombie either */
}

static void test_stop_ends_the_willing_and_the_unwilling(void)
{
	static const char *const scripts[] = {
		"exec sleep 60",
		"trap '' TERM; echo; while :; do sleep 60; done",
		"exit 0",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(scripts); i++) {
		int to, from;
		const GPid pid = subprocess_spawn_pipes(ARGV("sh", "-c", scripts[i]), NULL, true,
							&to, &from, NULL);
		struct pollfd polled = {.fd = from, .events = POLLIN};

		g_assert_cmpint(pid, >, 0);
		if (strstr(scripts[i], "trap")) /* wait until the trap is set */
			g_assert_cmpint(poll(&polled, 1, 10000), ==, 1);
		subprocess_stop(pid, 0.3);
		g_assert_cmpint(waitpid(pid, NULL, WNOHANG), ==, -1);
		close(to);
		close(from);
	}
	subprocess_stop(-1, 0.1);
	subprocess_stop(getppid(), 0.1); /* not our child: must survive */
	g_assert_cmpint(kill(getppid(), 0), ==, 0);
}

static void test_pipes_carry_both_ways(void)
{
	int to, from;
	char buffer[16] = "";
	const GPid pid = subprocess_spawn_pipes(ARGV("cat"), NULL, false, &to, &from, NULL);
	struct pollfd polled = {.fd = from, .events = POLLIN};

	g_assert_cmpint(pid, >, 0);
	g_assert_cmpint(write(to, "hello", 5), ==, 5);
	g_assert_cmpint(poll(&polled, 1, 10000), ==, 1);
	g_assert_cmpint(read(from, buffer, sizeof buffer), ==, 5);
	g_assert_cmpstr(buffer, ==, "hello");
	g_assert_cmpint(read(from, buffer, sizeof buffer), ==, -1);
	g_assert_cmpint(errno, ==, EAGAIN);
	close(to);
	g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
	close(from);
}

/* A parent that is killed outright takes its children along. */
static void test_children_die_with_their_parent(void)
{
	int report[2];
	pid_t parent, child = 0;

	g_assert_cmpint(pipe(report), ==, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* so that the orphan comes to us and is no zombie */
	parent = fork();
	if (parent == 0) {
		const GPid pid = subprocess_spawn(ARGV("sleep", "60"), NULL, NULL, NULL);

		if (write(report[1], &pid, sizeof pid) < 0)
			_exit(1);
		pause();
	}
	g_assert_cmpint(read(report[0], &child, sizeof child), ==, sizeof child);
	g_assert_cmpint(child, >, 0);
	kill(parent, SIGKILL);
	g_assert_cmpint(waitpid(parent, NULL, 0), ==, parent);
	g_assert_true(await_gone(child, 10000));
	waitpid(child, NULL, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	close(report[0]);
	close(report[1]);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	/* Not "/subprocess": GLib leaves out tests with that word in their path. */
	g_test_add_func("/child/run", test_run_tells_how_the_program_ended);
	g_test_add_func("/child/run-environment", test_run_adds_to_the_environment);
	g_test_add_func("/child/run-large", test_run_passes_large_output_and_any_bytes);
	g_test_add_func("/child/run-leftover",
			test_run_does_not_wait_for_what_a_program_leaves_behind);
	g_test_add_func("/child/run-grandchild", test_run_kills_grandchildren_at_the_deadline);
	g_test_add_func("/child/spawn-log", test_spawn_appends_to_its_log);
	g_test_add_func("/child/spawn-keep", test_spawn_keeps_one_descriptor);
	g_test_add_func("/child/spawn-bad", test_spawn_reports_a_program_that_cannot_run);
	g_test_add_func("/child/stop", test_stop_ends_the_willing_and_the_unwilling);
	g_test_add_func("/child/pipes", test_pipes_carry_both_ways);
	g_test_add_func("/child/die-with-parent", test_children_die_with_their_parent);
	return g_test_run();
}
