/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/study/study.h"

#include "common/read_file.h"
#include "controller/workload/environment.h"

static char *path_in(const char *dir)
{
	return g_build_filename(dir, STUDY_DAYS_FILE, NULL);
}

bool study_write_days(const struct study *study, const char *dir, GError **error)
{
	const struct experiment *experiment = study->experiments[0];
	g_autoptr(GString) text = g_string_new("trial,day\n");
	g_autofree char *path = path_in(dir);

	for (uint32_t trial = 1; trial <= study->trials; trial++) {
		const uint32_t day =
			environment_trace_day(experiment->config, experiment->trace, trial);

		if (day > 0)
			g_string_append_printf(text, "%u,%u\n", trial, day);
	}
	return g_file_set_contents(path, text->str, (gssize)text->len, error);
}

bool study_has_days(const char *dir)
{
	g_autofree char *path = path_in(dir);

	return g_file_test(path, G_FILE_TEST_EXISTS);
}

bool study_copy_days(const char *part, const char *dir, GError **error)
{
	g_autofree char *from = path_in(part);
	g_autofree char *to = path_in(dir);
	g_autofree char *text = NULL;
	gsize length;

	if (!study_has_days(part))
		return true;
	text = read_file(from, READ_FILE_SMALL_MAX * 8, &length, error);
	return text && g_file_set_contents(to, text, (gssize)length, error);
}
