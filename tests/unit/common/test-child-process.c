/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs beside the main loop: those of this machine, and those of a virtual platform. */
#include "common/child_process.h"

#include <string.h>
#include <sys/wait.h>

#include "common/subprocess.h"
#include "tests/virtual/virtual_platform.h"

/* What was heard of a child. */
struct heard {
	GString *text;
	int status; /* as by waitpid(2) */
	bool ended;
};

static void on_heard(enum child_stream stream, const char *bytes, size_t length, void *data)
{
	struct heard *heard = data;

	if (stream == CHILD_OUTPUT)
		g_string_append_len(heard->text, bytes, (gssize)length);
}

static void on_ended(int status, void *data)
{
	struct heard *heard = data;

	heard->ended = true;
	heard->status = status;
}

/* Starts a program and hears it to its end. */
static void hear(const struct platform *platform, const char *const *argv, struct heard *ret_heard)
{
	g_autoptr(GError) error = NULL;
	const struct child_setup setup = {.argv = argv,
					  .kept_fd = -1,
					  .heard = on_heard,
					  .ended = on_ended,
					  .data = ret_heard};
	struct child_process *child;

	*ret_heard = (struct heard){.text = g_string_new(NULL)};
	child = child_start(platform, &setup, &error);
	g_assert_no_error(error);
	while (!ret_heard->ended)
		g_main_context_iteration(NULL, TRUE);
	child_dismiss(child, 0, 0);
}

static void test_machine(void)
{
	const char *const argv[] = {"sh", "-c", "echo 17; exit 3", NULL};
	struct heard heard;

	hear(&platform_machine, argv, &heard);
	g_assert_cmpstr(heard.text->str, ==, "17\n");
	g_assert_true(WIFEXITED(heard.status));
	g_assert_cmpint(WEXITSTATUS(heard.status), ==, 3);
	g_string_free(heard.text, TRUE);
}

/* A killed child ends as any other. */
static void test_killed(void)
{
	const char *const argv[] = {"sleep", "1000", NULL};
	struct heard heard = {.text = g_string_new(NULL)};
	const struct child_setup setup = {
		.argv = argv, .kept_fd = -1, .heard = on_heard, .ended = on_ended, .data = &heard};
	struct child_process *child = child_start(&platform_machine, &setup, NULL);

	child_kill(child);
	while (!heard.ended)
		g_main_context_iteration(NULL, TRUE);
	g_assert_true(WIFSIGNALED(heard.status));
	child_dismiss(child, 0, 0);
	g_string_free(heard.text, TRUE);
}

/* A dialogue whose end is waited for, for all that it has written, and another without an end. */
static void test_settled(void)
{
	static const char *const talks[] = {"sh", "-c",
					    "read word; yes | head -c 300000; exec true", NULL};
	static const char *const stays[] = {"sleep", "1000", NULL};
	struct heard heard = {.text = g_string_new(NULL)};
	struct child_setup setup = {
		.argv = talks, .dialogue = true, .kept_fd = -1, .heard = on_heard, .data = &heard};
	struct child_process *child = child_start(&platform_machine, &setup, NULL);

	g_assert_false(child_settle(child, 0));
	child_say(child, "exit\n");
	g_assert_true(child_settle(child, 60));
	g_assert_true(child_settle(child, 0));
	child_dismiss(child, 0, 0);
	setup.argv = stays;
	child = child_start(&platform_machine, &setup, NULL);
	g_assert_false(child_settle(child, 0.01));
	child_kill(child);
	g_assert_true(child_settle(child, 60));
	child_dismiss(child, 0, 0);
	g_string_free(heard.text, TRUE);
}

/* Under virtual time an hour's program is over at once. */
static void test_virtual(void)
{
	static const struct virtual_program programs[] = {{"meter", "120.5\n", .after_ms = 3600000,
							   .status = 1},
							  {NULL}};
	g_autoptr(virtual_platform_t) virtual = virtual_platform_new(1);
	const struct platform *platform = virtual_platform_of(virtual);
	const char *const argv[] = {"meter", NULL};
	const char *const other[] = {"sh", "-c", "exit 0", NULL};
	const struct child_setup setup = {.argv = other, .kept_fd = -1};
	g_autoptr(GError) error = NULL;
	struct heard heard;

	virtual_platform_programs(virtual, programs);
	hear(platform, argv, &heard);
	g_assert_cmpstr(heard.text->str, ==, "120.5\n");
	g_assert_cmpint(WEXITSTATUS(heard.status), ==, 1);
	g_assert_cmpfloat(virtual_platform_s(virtual), ==, 3600);
	g_assert_null(child_start(platform, &setup, &error));
	g_assert_error(error, SUBPROCESS_ERROR, SUBPROCESS_ERROR_START);
	g_string_free(heard.text, TRUE);
}

/* There a killed child ends as any other, too. */
static void test_virtual_killed(void)
{
	static const struct virtual_program programs[] = {{"meter", "120.5\n", .after_ms = 3600000},
							  {NULL}};
	g_autoptr(virtual_platform_t) virtual = virtual_platform_new(1);
	const char *const argv[] = {"meter", NULL};
	struct heard heard = {.text = g_string_new(NULL)};
	const struct child_setup setup = {
		.argv = argv, .kept_fd = -1, .heard = on_heard, .ended = on_ended, .data = &heard};
	struct child_process *child;

	virtual_platform_programs(virtual, programs);
	child = child_start(virtual_platform_of(virtual), &setup, NULL);
	child_kill(child);
	child_kill(child);
	while (!heard.ended)
		g_main_context_iteration(NULL, TRUE);
	g_assert_true(WIFSIGNALED(heard.status));
	g_assert_cmpuint(heard.text->len, ==, 0);
	g_assert_cmpfloat(virtual_platform_s(virtual), ==, 0);
	child_kill(child);
	child_dismiss(child, 0, 0);
	g_string_free(heard.text, TRUE);
}

/* Frees a child at the end of its output. */
static void on_heard_all(enum child_stream stream, const char *bytes, size_t length, void *data)
{
	struct child_process **child = data;

	if (length == 0)
		child_dismiss(g_steal_pointer(child), 0, 0);
}

/* The end of a child that is not asked for is that of its output. */
static void test_virtual_output_ends(void)
{
	static const struct virtual_program programs[] = {{"meter", "120.5\n"}, {NULL}};
	g_autoptr(virtual_platform_t) virtual = virtual_platform_new(1);
	const char *const argv[] = {"meter", NULL};
	struct child_process *child;
	const struct child_setup setup = {.argv = argv,
					  .kept_fd = -1,
					  .heard = on_heard_all,
					  .data = &child};

	virtual_platform_programs(virtual, programs);
	child = child_start(virtual_platform_of(virtual), &setup, NULL);
	while (child)
		g_main_context_iteration(NULL, TRUE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/child-process/machine", test_machine);
	g_test_add_func("/child-process/killed", test_killed);
	g_test_add_func("/child-process/settled", test_settled);
	g_test_add_func("/child-process/virtual", test_virtual);
	g_test_add_func("/child-process/virtual, killed", test_virtual_killed);
	g_test_add_func("/child-process/virtual, the end of the output", test_virtual_output_ends);
	return g_test_run();
}
