/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/client_token.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error_fail.h"

/* More than any token and the newline after it. */
#define FILE_MAX 256

#define fail_token(error_, ...) error_fail(error_, G_FILE_ERROR, G_FILE_ERROR_FAILED, __VA_ARGS__)

/* Reads at most `size` - 1 bytes; false with `error`: the file is not private, or too long. */
static bool read_private(int fd, const char *path, char *buffer, size_t size, GError **error)
{
	struct stat status;
	ssize_t length;

	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return fail_token(error, "'%s' is no file", path);
	if (status.st_mode & 0077)
		return fail_token(error,
				  "others can read the token in '%s'; chmod 600 it, and have the "
				  "token replaced if they did",
				  path);
	length = read(fd, buffer, size - 1);
	if (length < 0)
		return fail_token(error, "cannot read '%s': %s", path, g_strerror(errno));
	buffer[length] = '\0';
	return true;
}

static bool read_token(const char *path, bool needed, char **ret_token, GError **error)
{
	char text[FILE_MAX];
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool good;

	if (fd < 0 && errno == ENOENT && !needed)
		return true;
	if (fd < 0)
		return fail_token(error, "cannot open the file '%s' of the token: %s", path,
				  g_strerror(errno));
	good = read_private(fd, path, text, sizeof(text), error);
	close(fd);
	if (!good)
		return false;
	g_strstrip(text);
	good = *text &&
	       strspn(text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_.~+/=") == strlen(text);
	if (good)
		*ret_token = g_strdup(text);
	explicit_bzero(text, sizeof(text));
	return good || fail_token(error,
				  "'%s' holds no token: one line, as `virtbed token create` prints "
				  "it",
				  path);
}

bool client_token_read(const char *address, char **ret_token, GError **error)
{
	const char *given = g_getenv("VIRTBED_TOKEN_FILE");
	const bool needed = given && *given;
	g_autofree char *path =
		needed ? g_strdup(given)
		       : g_build_filename(g_get_user_config_dir(), "virtbed", "token", NULL);

	*ret_token = NULL;
	return g_str_has_prefix(address, "unix:") || read_token(path, needed, ret_token, error);
}
