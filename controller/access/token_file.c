/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/access/token_file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error_fail.h"
#include "common/file_names.h"
#include "common/json.h"
#include "common/read_file.h"

/* Larger than a file of TOKENS_MAX tokens. */
#define FILE_MAX (8 << 20)

#define VERSION 1

#define fail_file(error, ...) error_fail(error, TOKEN_ERROR, TOKEN_ERROR_FILE, __VA_ARGS__)

/* The directory. */

int token_file_open_dir(const char *dir, bool lock, GError **error)
{
	g_auto(file_t) fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat status;
	int opened;

	if (fd < 0 || fstat(fd, &status) < 0) {
		fail_file(error, "cannot open directory '%s': %s", dir, g_strerror(errno));
		return -1;
	}
	if (status.st_mode & (S_IWGRP | S_IWOTH)) {
		fail_file(error,
			  "others can write to '%s', and so could make tokens; chmod go-w it", dir);
		return -1;
	}
	if (lock && TEMP_FAILURE_RETRY(flock(fd, LOCK_EX)) < 0) {
		fail_file(error, "cannot lock '%s': %s", dir, g_strerror(errno));
		return -1;
	}
	opened = fd;
	fd = -1;
	return opened;
}

/* Reading. */

static bool is_hex(const char *text, size_t length)
{
	return strlen(text) == length && strspn(text, "0123456789abcdef") == length;
}

static bool read_time(const char *text, int64_t *ret_s)
{
	g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
	g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(text, utc);

	if (time)
		*ret_s = g_date_time_to_unix(time);
	return time != NULL;
}

/* Fills in a token from an object. A missing or wrong field makes the whole file unusable. */
static bool parse_token(const json_t *object, const char *what, struct token *token, GError **error)
{
	const json_t *expires = json_object_get(object, "expires_utc");
	const char *id, *sha256, *role, *user, *created;

	if (!json_get_string(object, "id", what, &id, error) ||
	    !json_get_string(object, "sha256", what, &sha256, error) ||
	    !json_get_string(object, "role", what, &role, error) ||
	    !json_get_string(object, "user", what, &user, error) ||
	    !json_get_integer(object, "uid", what, 0, UINT32_MAX - 1, &token->uid, error) ||
	    !json_get_string(object, "created_utc", what, &created, error))
		return false;
	token->id = g_strdup(id);
	token->sha256 = g_strdup(sha256);
	token->role = token_role_parse(role);
	token->user = g_strdup(user);
	token->expires_s = INT64_MAX;
	if (!is_hex(id, 8) || !is_hex(sha256, 64) || token->role == HTTP_ROLE_NONE ||
	    !read_time(created, &token->created_s))
		return fail_file(error, "%s: id, sha256, role or created_utc is none", what);
	return json_is_null(expires) ||
	       (json_is_string(expires) &&
		read_time(json_string_value(expires), &token->expires_s)) ||
	       fail_file(error, "%s: expires_utc is neither a time nor null", what);
}

/* No text can denote the time INT64_MAX: null stands for "never expires". */
GPtrArray *token_file_parse(const char *text, size_t length, const char *what, GError **error)
{
	g_autoptr(GPtrArray) tokens = g_ptr_array_new_with_free_func((GDestroyNotify)token_free);
	g_autoptr(json_t) json = json_parse(text, length, what, error);
	int64_t version;
	json_t *list;

	if (!json || !json_get_integer(json, "version", what, VERSION, VERSION, &version, error) ||
	    !json_get_array(json, "tokens", what, &list, error))
		return NULL;
	if (json_array_size(list) > TOKENS_MAX) {
		fail_file(error, "%s: more than %d tokens", what, TOKENS_MAX);
		return NULL;
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct token *token = g_new0(struct token, 1);

		g_ptr_array_add(tokens, token);
		if (!parse_token(json_array_get(list, i), what, token, error))
			return NULL;
	}
	return g_steal_pointer(&tokens);
}

/* Checks that only the owner can read an opened file, and that a trusted user wrote it. */
static bool check_file(int fd, int dir_fd, const char *path, GError **error)
{
	struct stat file, dir;

	if (fstat(fd, &file) < 0 || fstat(dir_fd, &dir) < 0)
		return fail_file(error, "cannot look at '%s': %s", path, g_strerror(errno));
	if (!S_ISREG(file.st_mode) || file.st_size > FILE_MAX)
		return fail_file(error, "'%s' is no file of tokens; remove it", path);
	if (file.st_mode & 0077)
		return fail_file(error, "others can read '%s'; chmod 600 it", path);
	if (file.st_uid != 0 && file.st_uid != geteuid() && file.st_uid != dir.st_uid)
		return fail_file(error, "'%s' is another user's (%u); remove it", path,
				 (unsigned)file.st_uid);
	return true;
}

GPtrArray *token_file_read(int dir_fd, const char *dir, GError **error)
{
	g_auto(file_t) fd =
		openat(dir_fd, TOKENS_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	g_autofree char *path = g_build_filename(dir, TOKENS_FILE, NULL);
	g_autofree char *text = NULL;
	gsize length;

	if (dir_fd < 0)
		return NULL;
	if (fd < 0 && errno == ENOENT)
		return g_ptr_array_new_with_free_func((GDestroyNotify)token_free);
	if (fd < 0) {
		fail_file(error, "cannot open '%s': %s", path, g_strerror(errno));
		return NULL;
	}
	if (!check_file(fd, dir_fd, path, error))
		return NULL;
	text = read_file_from(fd, path, FILE_MAX, &length, NULL);
	if (text)
		return token_file_parse(text, length, path, error);
	fail_file(error, "cannot read '%s': %s", path, g_strerror(errno));
	return NULL;
}

/* Writing. */

static json_t *time_json(int64_t time_s)
{
	g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(time_s);
	g_autofree char *text = time ? g_date_time_format_iso8601(time) : NULL;

	return json_string_or_null(text);
}

static char *format(const GPtrArray *tokens)
{
	g_autoptr(json_t) json = json_pack("{s:i, s:[]}", "version", VERSION, "tokens");

	for (guint i = 0; i < tokens->len; i++) {
		const struct token *token = g_ptr_array_index(tokens, i);

		json_array_append_new(json_object_get(json, "tokens"),
				      json_pack("{s:s, s:s, s:s, s:s, s:I, s:o, s:o}", "id",
						token->id, "sha256", token->sha256, "role",
						token_role_name(token->role), "user", token->user,
						"uid", (json_int_t)token->uid, "created_utc",
						time_json(token->created_s), "expires_utc",
						time_json(token->expires_s)));
	}
	return json_pretty(json);
}

/* Gives the file to the directory's owner before it gets its name. */
static bool fill_file(int fd, int dir_fd, const char *text)
{
	struct stat dir;

	if (fstat(dir_fd, &dir) < 0)
		return false;
	if (geteuid() == 0 && dir.st_uid != 0 && fchown(fd, dir.st_uid, dir.st_gid) < 0)
		return false;
	return file_write_all(fd, text, strlen(text)) && fsync(fd) == 0;
}

bool token_file_write(int dir_fd, const char *dir, const GPtrArray *tokens, GError **error)
{
	g_autofree char *text = format(tokens);
	g_autofree char *name =
		g_strdup_printf("." TOKENS_FILE ".%ld-%08x", (long)getpid(), g_random_int());
	g_auto(file_t) fd =
		openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd >= 0 && fill_file(fd, dir_fd, text) &&
	    renameat(dir_fd, name, dir_fd, TOKENS_FILE) == 0 && fsync(dir_fd) == 0)
		return true;
	fail_file(error, "cannot write '%s/%s': %s", dir, TOKENS_FILE, g_strerror(errno));
	if (fd >= 0)
		unlinkat(dir_fd, name, 0);
	return false;
}
