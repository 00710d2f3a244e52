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

struct swf_trace *trace_read(const char *path, const struct swf_filter *filter, GError **error)
{
	return is_object(path) ? batsim_workload_read(path, filter, error)
			       : swf_read(path, filter, error);
}
