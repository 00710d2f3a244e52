/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/script_files.h"

#include <errno.h>
#include <sys/stat.h>

#include "common/error_fail.h"
#include "common/file_names.h"
#include "common/json.h"
#include "common/read_file.h"
#include "common/task_script.h"
#include "controller/cli/fields.h"

#define refuse(error_, ...)                                                                        \
	error_fail(error_, TASK_SCRIPT_ERROR, TASK_SCRIPT_ERROR_INPUT, __VA_ARGS__)

/* A name or argument as JSON; NULL with `error` where it is not UTF-8, as JSON requires. */
static json_t *text_json(const char *text, GError **error)
{
	g_autofree char *shown = g_utf8_make_valid(text, -1);
	json_t *json = json_string(text);

	if (!json)
		refuse(error, "'%s' is not UTF-8, and cannot go with a task", shown);
	return json;
}

/* Adds a file with its permissions; a program becomes executable in any case. */
static bool add_file(json_t *files, const char *path, bool program, GError **error)
{
	g_autofree char *name = g_path_get_basename(path);
	g_autofree char *bytes = NULL;
	g_autofree char *data = NULL;
	struct stat about;
	json_t *name_json;
	gsize length;

	bytes = read_file(path, TASK_SCRIPT_BYTES_MAX, &length, error);
	if (!bytes)
		return false;
	if (stat(path, &about) < 0)
		return refuse(error, "'%s' cannot be read: %s", path, g_strerror(errno));
	name_json = text_json(name, error);
	if (!name_json)
		return false;
	data = g_base64_encode((const guchar *)bytes, length);
	json_array_append_new(files, json_pack("{s:o, s:i, s:s}", "name", name_json, "mode",
					       program ? 0700 : (int)(about.st_mode & 0700), "data",
					       data));
	return true;
}

static json_t *texts_json(char *const *texts, GError **error)
{
	g_autoptr(json_t) array = json_array();

	for (; texts && *texts; texts++) {
		json_t *text = text_json(*texts, error);

		if (!text)
			return NULL;
		json_array_append_new(array, text);
	}
	return g_steal_pointer(&array);
}

json_t *script_files_read(const char *path, char *const *arguments, char *const *stage_in,
			  char *const *stage_out, GError **error)
{
	g_autofree char *program = g_path_get_basename(path);
	g_autoptr(json_t) words = texts_json(arguments, error);
	g_autoptr(json_t) results = words ? texts_json(stage_out, error) : NULL;
	g_autoptr(json_t) files = json_array();
	g_autoptr(json_t) object = NULL;
	g_autoptr(task_script_t) script = NULL;

	if (!results || !add_file(files, path, true, error))
		return NULL;
	for (; stage_in && *stage_in; stage_in++)
		if (!add_file(files, *stage_in, false, error))
			return NULL;
	object = json_pack("{s:s, s:O, s:O, s:O}", "program", program, "arguments", words,
			   "results", results, "files", files);
	script = task_script_parse(object, error);
	return script ? task_script_to_json(script) : NULL;
}

bool script_files_write(const char *directory, const json_t *file, GError **error)
{
	const char *name = field_text(file, "name") ?: "";
	gsize length;
	guchar *data = g_base64_decode(field_text(file, "data") ?: "", &length);
	g_autoptr(GBytes) bytes = g_bytes_new_take(data, length);
	g_autofree char *sum = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, bytes);

	if (!file_name_ok(name))
		return refuse(error, "a file's name leads out of '%s', or is none", directory);
	if (g_strcmp0(field_text(file, "sha256"), sum) != 0)
		return refuse(error, "'%s' came with another checksum", name);
	return file_name_write(directory, name, bytes, (int)field_integer(file, "mode"), error);
}
