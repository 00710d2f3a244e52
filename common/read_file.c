/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/error_fail.h"

#define PIECE ((size_t)64 << 10)

static bool fail_errno(const char *path, int number, GError **error)
{
	return error_fail(error, G_FILE_ERROR, g_file_error_from_errno(number),
			  "'%s' cannot be read: %s", path, g_strerror(number));
}

static bool fail_too_large(const char *name, size_t max, GError **error)
{
	const int shift = max >= (size_t)1 << 20 ? 20 : max >= (size_t)1 << 10 ? 10 : 0;

	return error_fail(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
			  "'%s' cannot be read: it has more than %zu %s", name, max >> shift,
			  shift == 20   ? "MiB"
			  : shift == 10 ? "KiB"
					: "bytes");
}

static bool is_too_large(const struct stat *about, size_t max)
{
	return about->st_size > 0 && (size_t)about->st_size > max;
}

static const char *kind_of(mode_t mode)
{
	return S_ISDIR(mode)    ? "a directory"
	       : S_ISFIFO(mode) ? "a pipe"
	       : S_ISSOCK(mode) ? "a socket"
				: "a device";
}

/* Linux: Documentation/admin-guide/devices.txt. Users name it as an empty file. */
static bool is_null_device(const struct stat *about)
{
	return S_ISCHR(about->st_mode) && about->st_rdev == makedev(1, 3);
}

static bool check_kind(const char *path, const struct stat *about, GError **error)
{
	const mode_t mode = about->st_mode;

	if (S_ISREG(mode) || is_null_device(about))
		return true;
	return error_fail(error, G_FILE_ERROR,
			  S_ISDIR(mode) ? G_FILE_ERROR_ISDIR : G_FILE_ERROR_INVAL,
			  "'%s' cannot be read: it is %s, not a regular file", path, kind_of(mode));
}

/*
 * Opening a device can have effects, so the kind is checked before, and again after, since the file
 * may have been replaced.
 */
int read_file_open(const char *path, GError **error)
{
	struct stat about;
	int fd;

	if (stat(path, &about) < 0) {
		fail_errno(path, errno, error);
		return -1;
	}
	if (!check_kind(path, &about, error))
		return -1;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &about) < 0)
		fail_errno(path, errno, error);
	else if (check_kind(path, &about, error))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

char *read_file_from(int fd, const char *name, size_t max, size_t *ret_length, GError **error)
{
	g_autofree char *piece = g_malloc(PIECE);
	g_autoptr(GString) text = g_string_new(NULL);
	ssize_t got;

	while ((got = TEMP_FAILURE_RETRY(read(fd, piece, PIECE))) > 0) {
		if ((size_t)got > max - text->len) {
			fail_too_large(name, max, error);
			return NULL;
		}
		g_string_append_len(text, piece, got);
	}
	if (got < 0) {
		fail_errno(name, errno, error);
		return NULL;
	}
	if (ret_length)
		*ret_length = text->len;
	return g_string_free(g_steal_pointer(&text), FALSE);
}

char *read_file(const char *path, size_t max, size_t *ret_length, GError **error)
{
	const int fd = read_file_open(path, error);
	struct stat about;
	char *text;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &about) == 0 && is_too_large(&about, max)) {
		fail_too_large(path, max, error);
		text = NULL;
	} else {
		text = read_file_from(fd, path, max, ret_length, error);
	}
	close(fd);
	return text;
}

/*
 * Does not open the file: closing a descriptor would drop the locks that this process has on the
 * file (fcntl(2)).
 */
bool read_file_check(const char *path, size_t max, GError **error)
{
	struct stat about;

	if (stat(path, &about) < 0)
		return fail_errno(path, errno, error);
	if (!check_kind(path, &about, error))
		return false;
	if (is_too_large(&about, max))
		return fail_too_large(path, max, error);
	return faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0 || fail_errno(path, errno, error);
}

bool read_file_check_if_there(const char *path, size_t max, GError **error)
{
	struct stat about;

	return (stat(path, &about) < 0 && errno == ENOENT) || read_file_check(path, max, error);
}
