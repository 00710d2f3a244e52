/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/replay/trace_read.h"

#include <string.h>
#include <unistd.h>

#include "common/read_file.h"
#include "controller/replay/batsim_workload.h"

/* Bytes in which the first character of a file is looked for, behind blanks. */
#define LOOKED_AT 4096

/* Whether the file begins as a JSON object does. A file that cannot be read does not. */
static bool is_object(const char *path)
{
	const int fd = read_file_open(path, NULL);
	char bytes[LOOKED_AT + 1];
	const char *at = bytes;
	ssize_t length = 0;

	if (fd >= 0) {
		length = read(fd, bytes, LOOKED_AT);
		close(fd);
	}
	bytes[MAX(length, 0)] = '\0';
	if (g_str_has_prefix(at, "\xef\xbb\xbf"))
		at += 3;
	return at[strspn(at, " \t\r\n")] == '{';
}

/* Whether the name is that of a table, of which a trace can be made (virtbed.tables). */
static bool is_table(const char *path)
{
	static const char *const ends[] = {".csv", ".csv.gz", ".parquet"};

	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
		if (g_str_has_suffix(path, ends[i]))
			return true;
	return false;
}

struct swf_trace *trace_read(const char *path, const struct swf_filter *filter, GError **error)
{
	GError *why = NULL;
	struct swf_trace *trace = is_object(path) ? batsim_workload_read(path, filter, &why)
						  : swf_read(path, filter, &why);

	if (!why)
		return trace;
	if (is_table(path) && g_error_matches(why, SWF_ERROR, SWF_ERROR_LINE))
		g_prefix_error(&why,
			       "this is no trace; `python3 -m virtbed.tables` makes traces of "
			       "public tables: ");
	g_propagate_error(error, why);
	return NULL;
}
