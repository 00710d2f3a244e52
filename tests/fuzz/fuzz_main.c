/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a fuzzer over the files of directories, or over files: the kept corpus as a regression test,
 * in any build. What crashes is named by the line before it.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

static gint by_name(gconstpointer left, gconstpointer right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* All files of `directory`, by name; a path that is none stands for itself. */
static void add_files(GPtrArray *files, const char *directory)
{
	g_autoptr(GDir) dir = g_dir_open(directory, 0, NULL);
	const char *name;

	if (!dir) {
		g_ptr_array_add(files, g_strdup(directory));
		return;
	}
	while ((name = g_dir_read_name(dir)))
		g_ptr_array_add(files, g_build_filename(directory, name, NULL));
	g_ptr_array_sort(files, by_name);
}

static bool run(const char *path, guint number)
{
	g_autofree char *contents = NULL;
	g_autofree char *name = g_path_get_basename(path);
	g_autofree uint8_t *exact = NULL;
	gsize length = 0;

	printf("# %s\n", name);
	fflush(stdout);
	if (!g_file_get_contents(path, &contents, &length, NULL)) {
		printf("not ok %u - %s cannot be read\n", number, name);
		return false;
	}
	/* Without the 0 that GLib puts behind it, so that reading on is noticed. */
	exact = g_memdup2(contents, length);
	LLVMFuzzerTestOneInput(exact, length);
	printf("ok %u - %s\n", number, name);
	return true;
}

int main(int argc, char **argv)
{
	g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
	bool good = true;

	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++)
		add_files(files, argv[i]);
	printf("1..%u\n", files->len);
	for (guint i = 0; i < files->len; i++)
		good = run(files->pdata[i], i + 1) && good;
	return good && files->len > 0 ? 0 : 1;
}
