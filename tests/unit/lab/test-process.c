/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_process.h"

#include <glib.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that does nothing until it is killed. */
static pid_t start_idle(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	g_assert_cmpint(pid, >, 0);
	return pid;
}

static void test_kill_waits_for_the_end_and_reaps(void)
{
	pid_t pid = start_idle();
	struct lab_state_process process = {pid, lab_state_start_ticks(pid)};

	g_assert_true(lab_process_kill(process, 30));
	g_assert_false(lab_state_process_alive(process));
	g_assert_cmpuint(lab_state_start_ticks(pid), ==, 0);
	g_assert_cmpint(waitpid(pid, NULL, 0), ==, -1);
	g_assert_true(lab_process_kill(process, 0)); /* again: it is gone */
}

static void test_a_recycled_pid_is_spared(void)
{
	pid_t pid = start_idle();
	struct lab_state_process earlier = {pid, lab_state_start_ticks(pid) - 1};
	int status;

	g_assert_true(lab_process_kill(earlier, 0));
	g_assert_cmpint(waitpid(pid, &status, WNOHANG), ==, 0);
	kill(pid, SIGKILL);
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
}

static void test_children_are_found_by_their_arguments(void)
{
	static const char *const sleeping[] = {"virtbed-lab", "600", NULL};
	static const char *const one[] = {"virtbed-lab", NULL};
	static const char *const other[] = {"virtbed-lab", "no such argument", NULL};
	pid_t pid = fork();

	if (pid == 0)
		execl("/bin/sleep", "virtbed-lab", "600", NULL);
	/* Until the exec the child has our own command line. */
	while (lab_process_find(getpid(), sleeping) == 0)
		g_assert_cmpint(waitpid(pid, NULL, WNOHANG), ==, 0);
	g_assert_cmpint(lab_process_find(getpid(), sleeping), ==, pid);
	g_assert_cmpint(lab_process_find(getpid(), sleeping + 1), ==, 0);
	g_assert_cmpint(lab_process_find(getpid(), one), ==, pid);
	g_assert_cmpint(lab_process_find(getpid(), other), ==, 0);
	g_assert_cmpint(lab_process_find(pid, sleeping), ==, 0);
	g_assert_cmpint(lab_process_in_role(0, "supervisor", "unit-test-no-such-lab", 0), ==, 0);
	kill(pid, SIGKILL);
	g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/lab/process/kill waits for the end and reaps",
			test_kill_waits_for_the_end_and_reaps);
	g_test_add_func("/lab/process/a recycled pid is spared", test_a_recycled_pid_is_spared);
	g_test_add_func("/lab/process/children are found by their arguments",
			test_children_are_found_by_their_arguments);
	return g_test_run();
}
