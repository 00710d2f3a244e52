/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/sim_log.h"

#include <stdio.h>
#include <string.h>

struct sim_log {
	bool print;
	GPtrArray *lines;
	GChecksum *sum;
	char *hash;
	char *violation;
};

struct sim_log *sim_log_new(bool print)
{
	struct sim_log *log = g_new0(struct sim_log, 1);

	log->print = print;
	log->lines = g_ptr_array_new_with_free_func(g_free);
	log->sum = g_checksum_new(G_CHECKSUM_SHA256);
	return log;
}

void sim_log_free(struct sim_log *log)
{
	if (!log)
		return;
	g_ptr_array_unref(log->lines);
	g_checksum_free(log->sum);
	g_free(log->hash);
	g_free(log->violation);
	g_free(log);
}

static void add_line(struct sim_log *log, double time_s, const char *who, const char *text)
{
	char *line = g_strdup_printf("%11.3f  %-10s  %s", time_s, who, text);

	g_checksum_update(log->sum, (const guchar *)line, (gssize)strlen(line));
	g_checksum_update(log->sum, (const guchar *)"\n", 1);
	g_ptr_array_add(log->lines, line);
	if (log->print)
		puts(line);
}

void sim_log_add(struct sim_log *log, double time_s, const char *who, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	add_line(log, time_s, who, text);
}

guint sim_log_count(const struct sim_log *log)
{
	return log->lines->len;
}

const char *sim_log_hash(const struct sim_log *log)
{
	g_autoptr(GChecksum) sum = g_checksum_copy(log->sum);
	struct sim_log *changes = (struct sim_log *)log;

	g_free(changes->hash);
	changes->hash = g_strdup(g_checksum_get_string(sum));
	return log->hash;
}

void sim_log_story(const struct sim_log *log, guint most)
{
	const guint first = log->lines->len > most ? log->lines->len - most : 0;

	for (guint i = first; i < log->lines->len; i++)
		puts(log->lines->pdata[i]);
}

void sim_log_violate(struct sim_log *log, double time_s, const char *invariant, const char *format,
		     ...)
{
	g_autofree char *text = NULL;
	g_autofree char *line = NULL;
	va_list arguments;

	if (log->violation)
		return;
	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	log->violation = g_strdup_printf("%s: %s", invariant, text);
	line = g_strdup_printf("VIOLATION of '%s': %s", invariant, text);
	add_line(log, time_s, "invariants", line);
}

const char *sim_log_violation(const struct sim_log *log)
{
	return log->violation;
}
