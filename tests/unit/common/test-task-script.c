/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "common/file_names.h"
#include "common/json.h"
#include "common/task_script.h"

#define GOOD                                                                                       \
	"{\"program\":\"job.sh\",\"arguments\":[\"a b\"],\"results\":[\"out\"],\"files\":["        \
	"{\"name\":\"job.sh\",\"mode\":448,\"data\":\"aGkK\"},"                                    \
	"{\"name\":\"d/in\",\"data\":\"\"}]}"

static struct task_script *parse(const char *text, GError **error)
{
	g_autoptr(json_t) object = json_parse(text, strlen(text), "test", NULL);

	g_assert_nonnull(object);
	return task_script_parse(object, error);
}

static void test_names(void)
{
	static const char *const good[] = {"a", "a/b/c", "...", "a b", "-x", "\xc3\xa4"};
	static const char *const bad[] = {"",   "/a",   "a//b", "../a", "a/..", "a/./b",
					  "a/", "a\nb", ".",    "..",   "\xff", "a\x7f"};
	g_autofree char *part = g_strnfill(256, 'x');
	g_autofree char *whole = g_strnfill(FILE_NAME_MAX + 1, 'x');

	for (size_t i = 0; i < G_N_ELEMENTS(good); i++)
		g_assert_true(file_name_ok(good[i]));
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
		g_assert_false(file_name_ok(bad[i]));
	g_assert_false(file_name_ok(part));
	g_assert_false(file_name_ok(whole));
}

/* Links below the directory are not followed, and nothing is written over. */
static void test_writing(void)
{
	g_autofree char *top = g_dir_make_tmp("virtbed-files-XXXXXX", NULL);
	g_autofree char *file = g_build_filename(top, "d", "e", "f", NULL);
	g_autofree char *link = g_build_filename(top, "link", NULL);
	g_autofree char *d = g_build_filename(top, "d", NULL);
	g_autofree char *e = g_build_filename(top, "d", "e", NULL);
	g_autofree char *text = NULL;
	g_autoptr(GBytes) bytes = g_bytes_new_static("hi", 2);
	g_autoptr(GError) error = NULL;

	g_assert_true(file_name_write(top, "d/e/f", bytes, 0600, &error));
	g_assert_no_error(error);
	g_assert_true(g_file_get_contents(file, &text, NULL, NULL));
	g_assert_cmpstr(text, ==, "hi");
	g_assert_false(file_name_write(top, "d/e/f", bytes, 0600, NULL));
	g_assert_cmpint(symlink("/tmp", link), ==, 0);
	g_assert_false(file_name_write(top, "link/virtbed-must-not-be", bytes, 0600, NULL));
	g_assert_false(file_name_write(top, "link", bytes, 0600, NULL));
	g_unlink(file);
	g_unlink(link);
	g_rmdir(e);
	g_rmdir(d);
	g_rmdir(top);
}

static void test_good(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(task_script_t) script = parse(GOOD, &error);
	g_autoptr(task_script_t) again = NULL;
	g_autoptr(json_t) whole = NULL;
	g_autoptr(GBytes) bundle = NULL;
	g_autofree char *summary = NULL;
	g_autofree char *other = NULL;
	gsize length;
	const char *bytes;

	g_assert_no_error(error);
	whole = task_script_to_json(script);
	again = task_script_parse(whole, &error);
	g_assert_no_error(error);
	summary = task_script_summary(script);
	other = task_script_summary(again);
	g_assert_cmpstr(summary, ==, other);
	g_assert_null(strstr(summary, "aGkK"));
	bundle = task_script_bundle(script);
	bytes = g_bytes_get_data(bundle, &length);
	g_assert_cmpmem(bytes, (int)length, "file 3 700 job.sh\nhi\nfile 0 644 d/in\nend\n", 41);
}

static void test_wrong(void)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{"[]", "not an object"},
		{"{\"rubbish\":1}", "rubbish"},
		{"{\"program\":\"x\",\"files\":[]}", "none of the files"},
		{"{\"program\":\"x\",\"files\":{}}", "not a list"},
		{"{\"program\":\"x\",\"files\":[{\"name\":\"../x\",\"data\":\"\"}]}", "'../x'"},
		{"{\"program\":\"x\",\"files\":[{\"name\":\"x\"}]}", "base64"},
		{"{\"program\":\"x\",\"files\":[{\"name\":\"x\",\"data\":\"a*\"}]}", "base64"},
		{"{\"program\":\"x\",\"files\":[{\"name\":\"x\",\"data\":\"\",\"mode\":512}]}",
		 "mode"},
		{"{\"program\":\"x\",\"files\":[{\"name\":\"x\",\"data\":\"\"},"
		 "{\"name\":\"x\",\"data\":\"\"}]}",
		 "twice"},
		{"{\"program\":\"x\",\"files\":[{\"name\":\"x\",\"data\":\"\",\"sha256\":\"00\"}]}",
		 "sha256"},
		{"{\"program\":\"x\",\"files\":[{\"name\":\"x\",\"data\":\"\"}],\"results\":[\"/etc\"]}",
		 "'/etc'"},
		{"{\"program\":\"x\",\"files\":[{\"name\":\"x\",\"data\":\"\"}],\"arguments\":[7]}",
		 "arguments"},
		{"{\"program\":\"x\",\"files\":[{\"name\":\"x\",\"data\":\"\"}],\"arguments\":\"a\"}",
		 "arguments"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(parse(cases[i].text, &error));
		g_assert_error(error, TASK_SCRIPT_ERROR, TASK_SCRIPT_ERROR_INPUT);
		g_assert_nonnull(strstr(error->message, cases[i].words));
	}
}

static void test_too_much(void)
{
	g_autofree guchar *bytes = g_malloc0(TASK_SCRIPT_BYTES_MAX + 1);
	g_autofree char *data = g_base64_encode(bytes, TASK_SCRIPT_BYTES_MAX + 1);
	g_autoptr(json_t) object = json_pack("{s:s, s:[{s:s, s:s}]}", "program", "x", "files",
					     "name", "x", "data", data);
	g_autoptr(GError) error = NULL;

	g_assert_null(task_script_parse(object, &error));
	g_assert_nonnull(strstr(error->message, "at most"));
}

/* What a guest sends: good, cut off anywhere, and rubbish. */
static void test_results(void)
{
	static const char stream[] = "file 3 640 d/out\na\0bskip x: a symbolic link\n"
				     "file 1 644 ../y\nzend\n";
	g_autoptr(GBytes) whole = g_bytes_new_static(stream, sizeof(stream) - 1);
	g_autoptr(json_t) results = task_script_results(whole);
	const json_t *file = json_array_get(json_object_get(results, "files"), 0);

	g_assert_cmpuint(json_array_size(json_object_get(results, "files")), ==, 1);
	g_assert_cmpuint(json_array_size(json_object_get(results, "skipped")), ==, 2);
	g_assert_cmpstr(json_string_value(json_object_get(file, "name")), ==, "d/out");
	g_assert_cmpstr(json_string_value(json_object_get(file, "data")), ==, "YQBi");
	g_assert_cmpint(json_integer_value(json_object_get(file, "bytes")), ==, 3);
	for (gsize length = 0; length < sizeof(stream) - 1; length++) {
		g_autoptr(GBytes) part = g_bytes_new_static(stream, length);
		g_autoptr(json_t) some = task_script_results(part);

		g_assert_cmpuint(json_array_size(json_object_get(some, "files")), <=, 1);
		g_assert_true((length == 0) ==
			      (json_array_size(json_object_get(some, "skipped")) == 0));
	}
}

static GBytes *join(const char *first, const char *second, const char *third)
{
	GBytes *streams[] = {
		g_bytes_new_static(first, strlen(first)),
		g_bytes_new_static(second, strlen(second)),
		g_bytes_new_static(third, strlen(third)),
	};
	GBytes *joint = task_script_join(streams, 3);

	for (size_t i = 0; i < G_N_ELEMENTS(streams); i++)
		g_bytes_unref(streams[i]);
	return joint;
}

/* Of several guests: each but the first has a directory; one's nonsense is not another's. */
static void test_join(void)
{
	static const char expected[] =
		"file 3 640 out\nabcskip x: a symbolic link\n"
		"file 1 644 node-1/out\nzskip node-1/what came after was cut off\n"
		"skip node-2/a file with an odd name\nskip node-2/x: none\n"
		"file 0 600 node-2/d/out\nend\n";
	g_autoptr(GBytes) joint =
		join("file 3 640 out\nabcskip x: a symbolic link\nend\nfile 1 1 x\nx",
		     "file 1 644 out\nzfile 9 644 cut\nend\n",
		     "file 1 644 ../y\nzskip x: none\nfile 0 600 d/out\nend\n");

	g_autoptr(GBytes) wanted = g_bytes_new_static(expected, strlen(expected));

	g_assert_true(g_bytes_equal(joint, wanted));
	g_assert_null(join("", "", ""));
}

static void test_join_one(void)
{
	GBytes *odd = g_bytes_new_static("odd", 3);
	GBytes *none = g_bytes_new_static("", 0);
	GBytes *same = task_script_join(&odd, 1);

	g_assert_true(same == odd);
	g_assert_null(task_script_join(&none, 1));
	g_bytes_unref(same);
	g_bytes_unref(odd);
	g_bytes_unref(none);
}

static void test_join_too_much(void)
{
	const gsize size = TASK_SCRIPT_JOINED_MAX / 2 + 1;
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GBytes) joint = NULL;
	g_autoptr(json_t) results = NULL;

	g_string_append_printf(text, "file %zu 600 big\n", size);
	g_string_set_size(text, text->len + size);
	memset(text->str + text->len - size, 'x', size);
	g_string_append(text, "file 1 600 small\nxend\n");
	joint = join(text->str, text->str, "");
	results = task_script_results(joint);
	g_assert_cmpuint(json_array_size(json_object_get(results, "files")), ==, 3);
	g_assert_cmpstr(json_string_value(json_array_get(json_object_get(results, "skipped"), 0)),
			==, "node-1/big: too much comes from all nodes");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/task-script/names", test_names);
	g_test_add_func("/task-script/files-are-written-below-their-directory", test_writing);
	g_test_add_func("/task-script/good", test_good);
	g_test_add_func("/task-script/wrong", test_wrong);
	g_test_add_func("/task-script/too-much", test_too_much);
	g_test_add_func("/task-script/results", test_results);
	g_test_add_func("/task-script/results of several guests are one stream", test_join);
	g_test_add_func("/task-script/results of one guest stay as they are", test_join_one);
	g_test_add_func("/task-script/results of all guests are bounded", test_join_too_much);
	return g_test_run();
}
