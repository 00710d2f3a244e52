/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What a figure was measured on, and with: shared by the benchmarks of virtbed itself. */

/* Processor time of all threads so far, seconds. */
static inline double host_cpu_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* "model name" of the first processor, or "unknown"; the caller frees it. */
static inline char *host_cpu_model(void)
{
	g_autofree char *text = NULL;
	const char *line;

	if (!g_file_get_contents("/proc/cpuinfo", &text, NULL, NULL))
		return g_strdup("unknown");
	line = strstr(text, "model name");
	line = line ? strchr(line, ':') : NULL;
	return line ? g_strstrip(g_strndup(line + 1, strcspn(line + 1, "\n")))
		    : g_strdup("unknown");
}

/* The load of the last minute; to be asked before measuring. */
static inline double host_load(void)
{
	double load = 0;

	return getloadavg(&load, 1) == 1 ? load : 0;
}

/* The host as a JSON object. Returns a new reference. */
static inline json_t *host_json(double load_before)
{
	g_autofree char *model = host_cpu_model();

	return json_pack("{s:s, s:i, s:f}", "cpu_model", model, "cores",
			 (int)g_get_num_processors(), "load_before", load_before);
}
