/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/file_names.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <unistd.h>

enum { PIPE_BYTES = 1 << 20 }; /* more than a pipe holds */

static gpointer read_to_end(gpointer data)
{
	const int fd = GPOINTER_TO_INT(data);
	GString *text = g_string_new(NULL);
	char piece[4096];
	ssize_t got;

	while ((got = read(fd, piece, sizeof(piece))) > 0)
		g_string_append_len(text, piece, got);
	return text;
}

static void test_all_bytes_are_written(void)
{
	g_autofree char *bytes = g_strnfill(PIPE_BYTES, 'a');
	g_autoptr(GString) text = NULL;
	GThread *reader;
	int fds[2];

	g_assert_true(g_unix_open_pipe(fds, FD_CLOEXEC, NULL));
	reader = g_thread_new("reader", read_to_end, GINT_TO_POINTER(fds[0]));
	g_assert_true(file_write_all(fds[1], bytes, PIPE_BYTES));
	g_assert_true(file_write_all(fds[1], "", 0));
	close(fds[1]);
	text = g_thread_join(reader);
	close(fds[0]);
	g_assert_cmpuint(text->len, ==, PIPE_BYTES);
}

static void test_a_failure_is_told(void)
{
	const int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	g_assert_cmpint(fd, >=, 0);
	g_assert_false(file_write_all(fd, "x", 1));
	g_assert_cmpint(errno, ==, ENOSPC);
	close(fd);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/file-names/all", test_all_bytes_are_written);
	g_test_add_func("/file-names/failure", test_a_failure_is_told);
	return g_test_run();
}
