/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/task_script.h"

#include <string.h>

#include "common/error_fail.h"
#include "common/file_names.h"
#include "common/json.h"
#include "common/read_number.h"

G_DEFINE_QUARK(virtbed_task_script, task_script_error)

#define fail_script(error, ...)                                                                    \
	error_fail(error, TASK_SCRIPT_ERROR, TASK_SCRIPT_ERROR_INPUT, __VA_ARGS__)

static void file_free(gpointer data)
{
	struct task_file *file = data;

	if (file->bytes)
		g_bytes_unref(file->bytes);
	g_free(file->name);
	g_free(file);
}

void task_script_free(struct task_script *script)
{
	if (!script)
		return;
	g_free(script->program);
	g_strfreev(script->arguments);
	g_strfreev(script->results);
	g_ptr_array_unref(script->files);
	g_free(script);
}

/* Reading. */

static bool check_keys(const json_t *object, const char *const *known, GError **error)
{
	g_autofree char *all = g_strjoinv(", ", (char **)known);
	const char *key;
	const json_t *value;

	if (!json_is_object(object))
		return fail_script(error, "script: not an object");
	json_object_foreach ((json_t *)object, key, value)
		if (!g_strv_contains(known, key))
			return fail_script(error, "script: unknown key '%.64s'; known: %s", key,
					   all);
	return true;
}

/* A text without NUL, which C strings cannot represent, or NULL. */
static const char *text_of(const json_t *value)
{
	const char *text = json_string_value(value);

	return text && strlen(text) == json_string_length(value) ? text : NULL;
}

static bool parse_texts(const json_t *object, const char *key, size_t most, char ***ret_texts,
			GError **error)
{
	const json_t *array = json_object_get(object, key);
	g_autoptr(GStrvBuilder) texts = g_strv_builder_new();

	if (array && !json_is_array(array))
		return fail_script(error, "script.%s: not a list", key);
	if (json_array_size(array) > most)
		return fail_script(error, "script.%s: %zu entries; at most %zu", key,
				   json_array_size(array), most);
	for (size_t i = 0; i < json_array_size(array); i++) {
		const char *text = text_of(json_array_get(array, i));

		if (!text || strlen(text) > TASK_SCRIPT_ARGUMENT_MAX)
			return fail_script(error,
					   "script.%s: entry %zu is no text of up to %d bytes", key,
					   i, TASK_SCRIPT_ARGUMENT_MAX);
		g_strv_builder_add(texts, text);
	}
	*ret_texts = g_strv_builder_end(texts);
	return true;
}

/* GLib's decoder skips invalid characters: the text must equal the encoding of the bytes. */
static GBytes *decode(const char *text)
{
	gsize length;
	g_autofree guchar *bytes = g_base64_decode(text, &length);
	g_autofree char *again = g_base64_encode(bytes, length);

	return g_str_equal(again, text) ? g_bytes_new_take(g_steal_pointer(&bytes), length) : NULL;
}

static bool parse_file(struct task_script *script, const json_t *object, GError **error)
{
	static const char *const known[] = {"name", "mode", "data", "sha256", NULL};
	const char *name = text_of(json_object_get(object, "name"));
	const char *data = text_of(json_object_get(object, "data"));
	const json_t *mode = json_object_get(object, "mode");
	const json_t *sum = json_object_get(object, "sha256");
	g_autofree char *found = NULL;
	struct task_file *file;

	if (!check_keys(object, known, error))
		return false;
	if (!name || !file_name_ok(name))
		return fail_script(error,
				   "script.files: '%.64s' is no path below the task's directory",
				   name ?: "");
	if (mode && !(json_is_integer(mode) && json_integer_value(mode) >= 0 &&
		      json_integer_value(mode) <= 0777))
		return fail_script(error, "script.files: '%s': mode is not from 0 to 511", name);
	file = g_new0(struct task_file, 1);
	g_ptr_array_add(script->files, file);
	file->name = g_strdup(name);
	file->mode = mode ? (int)json_integer_value(mode) : 0644;
	file->bytes = data ? decode(data) : NULL;
	if (!file->bytes)
		return fail_script(error, "script.files: '%s': data is no base64", name);
	found = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, file->bytes);
	return !sum || g_strcmp0(json_string_value(sum), found) == 0 ||
	       fail_script(error, "script.files: '%s': the data has another sha256", name);
}

static bool name_is_taken(const struct task_script *script, const char *name, guint before)
{
	for (guint i = 0; i < before; i++)
		if (g_str_equal(((struct task_file *)script->files->pdata[i])->name, name))
			return true;
	return false;
}

static bool parse_files(struct task_script *script, const json_t *array, GError **error)
{
	gsize sum = 0;

	if (!json_is_array(array) || json_array_size(array) > TASK_SCRIPT_FILES_MAX)
		return fail_script(error, "script.files: not a list of up to %d files",
				   TASK_SCRIPT_FILES_MAX);
	for (size_t i = 0; i < json_array_size(array); i++) {
		const struct task_file *file;

		if (!parse_file(script, json_array_get(array, i), error))
			return false;
		file = script->files->pdata[i];
		if (name_is_taken(script, file->name, (guint)i))
			return fail_script(error, "script.files: '%s' appears twice", file->name);
		sum += g_bytes_get_size(file->bytes);
	}
	return sum <= TASK_SCRIPT_BYTES_MAX ||
	       fail_script(error, "script.files: they come to %zu bytes; at most %d", sum,
			   TASK_SCRIPT_BYTES_MAX);
}

static bool parse_names(struct task_script *script, const json_t *object, GError **error)
{
	const char *program = text_of(json_object_get(object, "program"));

	for (char **result = script->results; *result; result++)
		if (!file_name_ok(*result))
			return fail_script(error,
					   "script.results: '%.64s' is no path below the task's "
					   "directory",
					   *result);
	if (!program || !name_is_taken(script, program, script->files->len))
		return fail_script(error, "script.program: '%.64s' is none of the files",
				   program ?: "");
	script->program = g_strdup(program);
	return true;
}

struct task_script *task_script_parse(const json_t *object, GError **error)
{
	static const char *const known[] = {"program", "arguments", "results", "files", NULL};
	g_autoptr(task_script_t) script = g_new0(struct task_script, 1);

	script->files = g_ptr_array_new_with_free_func(file_free);
	if (!check_keys(object, known, error) ||
	    !parse_texts(object, "arguments", TASK_SCRIPT_ARGUMENTS_MAX, &script->arguments,
			 error) ||
	    !parse_texts(object, "results", TASK_SCRIPT_RESULTS_MAX, &script->results, error) ||
	    !parse_files(script, json_object_get(object, "files"), error) ||
	    !parse_names(script, object, error))
		return NULL;
	return g_steal_pointer(&script);
}

/* Writing. */

static json_t *texts_json(char *const *texts)
{
	json_t *array = json_array();

	for (; *texts; texts++)
		json_array_append_new(array, json_string(*texts));
	return array;
}

static json_t *file_json(const char *name, int mode, GBytes *bytes)
{
	g_autofree char *sum = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, bytes);

	return json_pack("{s:s, s:i, s:s}", "name", name, "mode", mode, "sha256", sum);
}

static void add_data(json_t *object, GBytes *bytes)
{
	gsize length;
	const guchar *data = g_bytes_get_data(bytes, &length);
	g_autofree char *text = g_base64_encode(data, length);

	json_object_set_new(object, "data", json_string(text));
}

static json_t *write_script(const struct task_script *script, bool data)
{
	json_t *files = json_array();

	for (guint i = 0; i < script->files->len; i++) {
		const struct task_file *file = script->files->pdata[i];
		json_t *object = file_json(file->name, file->mode, file->bytes);

		if (data)
			add_data(object, file->bytes);
		json_array_append_new(files, object);
	}
	return json_pack("{s:s, s:o, s:o, s:o}", "program", script->program, "arguments",
			 texts_json(script->arguments), "results", texts_json(script->results),
			 "files", files);
}

json_t *task_script_to_json(const struct task_script *script)
{
	return write_script(script, true);
}

char *task_script_summary(const struct task_script *script)
{
	g_autoptr(json_t) object = write_script(script, false);

	return json_text(object);
}

GBytes *task_script_bundle(const struct task_script *script)
{
	GByteArray *stream = g_byte_array_new();

	for (guint i = 0; i < script->files->len; i++) {
		const struct task_file *file = script->files->pdata[i];
		gsize length;
		const guint8 *data = g_bytes_get_data(file->bytes, &length);
		g_autofree char *line = g_strdup_printf("file %zu %o %s\n", length,
							(unsigned)file->mode, file->name);

		g_byte_array_append(stream, (const guint8 *)line, (guint)strlen(line));
		if (length > 0)
			g_byte_array_append(stream, data, (guint)length);
	}
	g_byte_array_append(stream, (const guint8 *)"end\n", 4);
	return g_byte_array_free_to_bytes(stream);
}

/* Results. */

#define CUT_OFF "what came after was cut off"
#define ODD_NAME "a file with an odd name"

/* An entry of a guest's stream: a file with its bytes, or what was left out. */
struct entry {
	const char *name;    /* of the file; NULL: it was left out */
	const char *skipped; /* words about what was left out */
	int mode;
	const char *bytes;
	gsize size;
};

/* Parses a line "file SIZE MODE NAME" or "skip WORDS"; false: malformed. */
static bool parse_line(const char *line, struct entry *ret_entry)
{
	uint64_t size;
	const char *at;
	int mode = 0;

	if (g_str_has_prefix(line, "skip ")) {
		*ret_entry = (struct entry){.skipped = line + strlen("skip ")};
		return true;
	}
	if (!g_str_has_prefix(line, "file "))
		return false;
	at = read_number_front_unsigned(line + strlen("file "), &size);
	if (!at || *at != ' ' || at[1] < '0' || at[1] > '7')
		return false;
	for (at++; *at >= '0' && *at <= '7' && mode <= 0777777; at++) /* octal */
		mode = 8 * mode + (*at - '0');
	*ret_entry = (struct entry){.name = at + 1, .mode = mode & 0777, .size = size};
	return *at == ' ';
}

/*
 * Calls `take` with all entries of a guest's stream in turn; a truncated or unknown line ends it.
 * Returns whether the stream was complete, or empty.
 */
static bool walk(GBytes *stream, void (*take)(const struct entry *entry, void *data), void *data)
{
	gsize length;
	const char *bytes = g_bytes_get_data(stream, &length);

	while (length > 0) {
		const char *end = memchr(bytes, '\n', length);
		g_autofree char *line = NULL;
		struct entry entry;

		if (!end)
			return false;
		line = g_strndup(bytes, (gsize)(end - bytes));
		if (g_str_equal(line, "end"))
			return true;
		length -= (gsize)(end + 1 - bytes);
		bytes = end + 1;
		if (!parse_line(line, &entry) || entry.size > length)
			return false;
		entry.bytes = bytes;
		if (entry.name && !file_name_ok(entry.name)) {
			entry.name = NULL;
			entry.skipped = ODD_NAME;
		}
		take(&entry, data);
		bytes += entry.size;
		length -= entry.size;
	}
	return g_bytes_get_size(stream) == 0;
}

struct results {
	json_t *files, *skipped;
};

static void skip(struct results *results, const char *words)
{
	g_autofree char *valid = g_utf8_make_valid(words, -1);

	json_array_append_new(results->skipped, json_string(valid));
}

static void take_entry(const struct entry *entry, void *data)
{
	struct results *results = data;
	g_autoptr(GBytes) bytes = NULL;
	json_t *object;

	if (!entry->name) {
		skip(results, entry->skipped);
		return;
	}
	bytes = g_bytes_new(entry->bytes, entry->size);
	object = file_json(entry->name, entry->mode, bytes);
	json_object_set_new(object, "bytes", json_integer((json_int_t)entry->size));
	add_data(object, bytes);
	json_array_append_new(results->files, object);
}

json_t *task_script_results(GBytes *stream)
{
	struct results results = {json_array(), json_array()};

	if (!walk(stream, take_entry, &results))
		skip(&results, CUT_OFF);
	return json_pack("{s:o, s:o}", "files", results.files, "skipped", results.skipped);
}

/* The joined results of several guests. */

struct joint {
	GByteArray *stream;
	char prefix[24]; /* of the present guest's names */
	gsize room;
};

static void G_GNUC_PRINTF(2, 3) add_line(struct joint *joint, const char *format, ...)
{
	g_autofree char *line = NULL;
	va_list arguments;

	va_start(arguments, format);
	line = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_byte_array_append(joint->stream, (const guint8 *)line, (guint)strlen(line));
	g_byte_array_append(joint->stream, (const guint8 *)"\n", 1);
}

static void join_entry(const struct entry *entry, void *data)
{
	struct joint *joint = data;
	g_autofree char *path = g_strconcat(joint->prefix, entry->name, NULL);

	if (!entry->name) {
		add_line(joint, "skip %s%s", joint->prefix, entry->skipped);
	} else if (!file_name_ok(path)) {
		add_line(joint, "skip %s" ODD_NAME, joint->prefix);
	} else if (entry->size > joint->room) {
		add_line(joint, "skip %s: too much comes from all nodes", path);
	} else {
		add_line(joint, "file %zu %o %s", entry->size, (unsigned)entry->mode, path);
		g_byte_array_append(joint->stream, (const guint8 *)entry->bytes,
				    (guint)entry->size);
		joint->room -= entry->size;
	}
}

GBytes *task_script_join(GBytes *const *streams, uint32_t count)
{
	struct joint joint = {.room = TASK_SCRIPT_JOINED_MAX};

	if (count == 1)
		return g_bytes_get_size(streams[0]) > 0 ? g_bytes_ref(streams[0]) : NULL;
	joint.stream = g_byte_array_new();
	for (uint32_t i = 0; i < count; i++) {
		if (i > 0)
			g_snprintf(joint.prefix, sizeof(joint.prefix), "node-%u/", i);
		if (!walk(streams[i], join_entry, &joint))
			add_line(&joint, "skip %s%s", joint.prefix, CUT_OFF);
	}
	if (joint.stream->len == 0) {
		g_byte_array_unref(joint.stream);
		return NULL;
	}
	add_line(&joint, "end");
	return g_byte_array_free_to_bytes(joint.stream);
}
