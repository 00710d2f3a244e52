/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Scripts as people submit them, and as a local scheduler is sent them. Input: the JSON of a
 * script. An accepted script reads back from its stored form, and its files come out of the stream
 * for the guest as they went in.
 */
#include "common/json.h"
#include "common/task_script.h"
#include "tests/fuzz/fuzz.h"

static void check_again(const struct task_script *script)
{
	g_autoptr(json_t) object = task_script_to_json(script);
	g_autoptr(GError) error = NULL;
	g_autoptr(task_script_t) again = task_script_parse(object, &error);

	g_assert_no_error(error);

	g_autofree char *summary = task_script_summary(script);
	g_autofree char *same = task_script_summary(again);

	g_assert_cmpstr(summary, ==, same);
}

static void check_stream(const struct task_script *script)
{
	g_autoptr(GBytes) stream = task_script_bundle(script);
	g_autoptr(json_t) results = task_script_results(stream);
	const json_t *files = json_object_get(results, "files");

	fuzz_check(json_array_size(files) == script->files->len);
	for (guint i = 0; i < script->files->len; i++) {
		const struct task_file *file = g_ptr_array_index(script->files, i);
		const json_t *out = json_array_get(files, i);

		g_assert_cmpstr(json_string_value(json_object_get(out, "name")), ==, file->name);
		fuzz_check((gsize)json_integer_value(json_object_get(out, "bytes")) ==
			   g_bytes_get_size(file->bytes));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = fuzz_text(data, size);
	g_autoptr(json_t) object = json_parse(text, size, "script", NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(task_script_t) script = object ? task_script_parse(object, &error) : NULL;

	if (!object)
		return 0;
	fuzz_check_error(script, error);
	if (!script)
		return 0;
	check_again(script);
	check_stream(script);
	return 0;
}
