/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/cpu/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/error_fail.h"
#include "common/read_number.h"

enum { TEXT_MAX = 64 * 1024 };

static void set_error(GError **error, int code, const char *doing, const char *path)
{
	g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(code), "cannot %s \"%s\": %s",
		    doing, path, g_strerror(code));
}

char *sysfs_read(const char *path, GError **error)
{
	g_autofree char *text = g_malloc(TEXT_MAX + 1);
	gsize length = 0;
	ssize_t got = 1;
	/* Not blocking: a pipe in place of the file must not stop the program. */
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int code;

	while (fd >= 0 && got > 0 && length < TEXT_MAX) {
		got = read(fd, text + length, TEXT_MAX - length);
		length += got > 0 ? (gsize)got : 0;
	}
	code = errno;
	if (fd >= 0)
		close(fd);
	if (fd < 0 || got < 0) {
		set_error(error, code, "read", path);
		return NULL;
	}
	text[length] = '\0';
	g_strstrip(text);
	return g_strdup(text);
}

bool sysfs_read_number(const char *path, uint64_t *ret_value, GError **error)
{
	g_autofree char *text = sysfs_read(path, error);
	guint64 value;

	if (!text)
		return false;
	if (!read_number_unsigned(text, 0, G_MAXUINT64, &value)) {
		g_autofree char *start = g_strndup(text, 40);
		g_autofree char *valid = g_utf8_make_valid(start, -1);

		return error_fail(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
				  "\"%s\" holds \"%s\", not a whole number", path, valid);
	}
	*ret_value = value;
	return true;
}

bool sysfs_write(const char *path, const char *text, GError **error)
{
	const ssize_t length = (ssize_t)strlen(text);
	const int fd = open(path, O_WRONLY | O_CLOEXEC | O_TRUNC | O_NONBLOCK);
	ssize_t written = -1;
	int code;

	if (fd >= 0)
		written = write(fd, text, (size_t)length);
	/* the kernel accepts such a text as a whole or not at all */
	code = written >= 0 ? EIO : errno;
	if (fd >= 0)
		close(fd);
	if (written == length)
		return true;
	set_error(error, code, "write", path);
	return false;
}

/* Compares names by the number after their common beginning, if there is one. */
static gint compare(gconstpointer a, gconstpointer b)
{
	const char *one = *(const char *const *)a;
	const char *two = *(const char *const *)b;
	gsize same = 0;
	uint64_t x, y;

	while (one[same] && one[same] == two[same])
		same++;
	while (same > 0 && g_ascii_isdigit(one[same - 1]))
		same--;
	if (read_number_front_unsigned(one + same, &x) &&
	    read_number_front_unsigned(two + same, &y) && x != y)
		return x < y ? -1 : 1;
	return strcmp(one, two);
}

char **sysfs_list(const char *directory, const char *prefix)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	g_autoptr(GDir) dir = g_dir_open(directory, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir)))
		if (g_str_has_prefix(name, prefix))
			g_ptr_array_add(names, g_strdup(name));
	g_ptr_array_sort(names, compare);
	g_ptr_array_add(names, NULL);
	return (char **)g_ptr_array_free(g_steal_pointer(&names), FALSE);
}
