/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/file_names.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error_fail.h"
#include "common/visible.h"

bool file_name_ok(const char *name)
{
	g_auto(GStrv) parts = NULL;

	if (!*name || strlen(name) > FILE_NAME_MAX || !visible_ok(name))
		return false;
	parts = g_strsplit(name, "/", -1);
	for (char **part = parts; *part; part++)
		if (!**part || strlen(*part) > NAME_MAX || g_str_equal(*part, ".") ||
		    g_str_equal(*part, ".."))
			return false;
	return true;
}

static bool fail_write(GError **error, const char *top, const char *name)
{
	int code = errno;

	return error_fail(error, G_IO_ERROR, (gint)g_io_error_from_errno(code),
			  "cannot write '%s/%s': %s", top, name, g_strerror(code));
}

/* The directory that the last part of `parts` is in, or -1. */
static int open_parent(const char *top, char **parts)
{
	int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (; fd >= 0 && parts[1]; parts++) {
		int inner;

		mkdirat(fd, *parts, 0777);
		inner = openat(fd, *parts, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(fd);
		fd = inner;
	}
	return fd;
}

bool file_write_all(int fd, const char *bytes, size_t length)
{
	while (length > 0) {
		const ssize_t written = TEMP_FAILURE_RETRY(write(fd, bytes, length));

		if (written < 0)
			return false;
		bytes += written;
		length -= (size_t)written;
	}
	return true;
}

bool file_name_write(const char *top, const char *name, GBytes *bytes, int mode, GError **error)
{
	g_auto(GStrv) parts = g_strsplit(name, "/", -1);
	int parent = open_parent(top, parts);
	gsize length;
	const char *data = g_bytes_get_data(bytes, &length);
	bool good;
	int fd;

	if (parent < 0)
		return fail_write(error, top, name);
	fd = openat(parent, parts[g_strv_length(parts) - 1],
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode & 0777);
	close(parent);
	if (fd < 0)
		return fail_write(error, top, name);
	good = file_write_all(fd, data, length);
	if (close(fd) < 0 || !good)
		return fail_write(error, top, name);
	return true;
}
