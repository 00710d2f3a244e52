/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/read_file.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BYTES_MAX 1024

static void make_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
	g_assert_cmpint(bind(fd, (const struct sockaddr *)(const void *)&address, sizeof(address)),
			==, 0);
	close(fd);
}

/* Each at once: a pipe without a writer, too. */
static void test_what_is_no_file_is_told(void)
{
	g_autofree char *dir = g_dir_make_tmp("virtbed-read-XXXXXX", NULL);
	g_autofree char *fifo = g_build_filename(dir, "fifo", NULL);
	g_autofree char *sock = g_build_filename(dir, "socket", NULL);
	g_autofree char *link = g_build_filename(dir, "link", NULL);
	g_autofree char *none = g_build_filename(dir, "none", NULL);
	const struct {
		const char *path;
		int code;
		const char *why;
	} cases[] = {
		{dir, G_FILE_ERROR_ISDIR, "cannot be read: it is a directory, not a regular file"},
		{fifo, G_FILE_ERROR_INVAL, "cannot be read: it is a pipe, not a regular file"},
		{link, G_FILE_ERROR_INVAL, "cannot be read: it is a pipe, not a regular file"},
		{sock, G_FILE_ERROR_INVAL, "cannot be read: it is a socket, not a regular file"},
		{"/dev/zero", G_FILE_ERROR_INVAL,
		 "'/dev/zero' cannot be read: it is a device, not a regular file"},
		{none, G_FILE_ERROR_NOENT, "cannot be read: No such file or directory"},
	};

	g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
	g_assert_cmpint(symlink(fifo, link), ==, 0);
	make_socket(sock);
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) opening = NULL;
		g_autoptr(GError) checking = NULL;
		g_autoptr(GError) error = NULL;

		g_assert_null(read_file(cases[i].path, BYTES_MAX, NULL, &error));
		g_assert_error(error, G_FILE_ERROR, cases[i].code);
		g_assert_nonnull(strstr(error->message, cases[i].why));
		g_assert_cmpint(read_file_open(cases[i].path, &opening), ==, -1);
		g_assert_cmpstr(opening->message, ==, error->message);
		g_assert_false(read_file_check(cases[i].path, BYTES_MAX, &checking));
		g_assert_cmpstr(checking->message, ==, error->message);
		g_assert_true(read_file_check_if_there(cases[i].path, BYTES_MAX, NULL) ==
			      (cases[i].path == none));
	}
	g_unlink(fifo);
	g_unlink(link);
	g_unlink(sock);
	g_rmdir(dir);
}

static void test_a_file_is_read_up_to_its_bound(void)
{
	g_autofree char *path = NULL;
	const int fd = g_file_open_tmp("virtbed-read-XXXXXX", &path, NULL);
	g_autofree char *contents = g_strnfill(BYTES_MAX, 'x');
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;
	size_t length = 0;

	contents[5] = '\0';
	g_assert_true(write(fd, contents, BYTES_MAX) == BYTES_MAX);
	text = read_file(path, BYTES_MAX, &length, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(length, ==, BYTES_MAX);
	g_assert_true(memcmp(text, contents, BYTES_MAX) == 0);
	g_assert_cmpint(text[BYTES_MAX], ==, '\0');
	g_assert_null(read_file(path, BYTES_MAX - 1, NULL, &error));
	g_assert_nonnull(strstr(error->message, "it has more than 1023 bytes"));
	g_assert_false(read_file_check(path, BYTES_MAX - 1, NULL));
	/* Larger than memory, and with nothing in it. */
	g_assert_cmpint(ftruncate(fd, (off_t)1 << 40), ==, 0);
	g_clear_error(&error);
	g_assert_null(read_file(path, READ_FILE_SMALL_MAX, NULL, &error));
	g_assert_nonnull(strstr(error->message, "it has more than 4 MiB"));
	g_assert_true(read_file_check(path, READ_FILE_ANY_SIZE, NULL));
	close(fd);
	g_unlink(path);
}

/* Their size is 0 by what the system says of it. */
static void test_files_of_the_kernel_are_read(void)
{
	size_t length = 0;
	g_autofree char *text = read_file("/proc/self/status", READ_FILE_SMALL_MAX, &length, NULL);

	g_assert_nonnull(text);
	g_assert_cmpuint(length, >, 0);
	g_assert_null(read_file("/proc/self/status", 3, NULL, NULL));
}

static void test_the_null_device_is_an_empty_file(void)
{
	size_t length = 1;
	g_autofree char *text = read_file("/dev/null", BYTES_MAX, &length, NULL);

	g_assert_cmpstr(text, ==, "");
	g_assert_cmpuint(length, ==, 0);
	g_assert_true(read_file_check("/dev/null", BYTES_MAX, NULL));
}

static void test_a_stream_ends_at_its_bound(void)
{
	const int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;
	size_t length = 0;
	int ends[2];

	g_assert_null(read_file_from(zero, "standard input", (size_t)1 << 20, NULL, &error));
	g_assert_cmpstr(error->message, ==,
			"'standard input' cannot be read: it has more than 1 MiB");
	close(zero);
	g_assert_cmpint(pipe(ends), ==, 0);
	g_assert_cmpint(write(ends[1], "abc", 3), ==, 3);
	close(ends[1]);
	text = read_file_from(ends[0], "standard input", BYTES_MAX, &length, NULL);
	g_assert_cmpstr(text, ==, "abc");
	g_assert_cmpuint(length, ==, 3);
	close(ends[0]);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/read-file/what is no file is told", test_what_is_no_file_is_told);
	g_test_add_func("/read-file/a file is read up to its bound",
			test_a_file_is_read_up_to_its_bound);
	g_test_add_func("/read-file/files of the kernel are read",
			test_files_of_the_kernel_are_read);
	g_test_add_func("/read-file/the null device is an empty file",
			test_the_null_device_is_an_empty_file);
	g_test_add_func("/read-file/a stream ends at its bound", test_a_stream_ends_at_its_bound);
	return g_test_run();
}
