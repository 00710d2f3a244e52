/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/log.h"

#include <string.h>
#include <unistd.h>

#include "common/clock.h"

static const char *const level_names[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARNING] = "warning",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};

/* The level that VIRTBED_LOG asks for, read once: the environment does not change under us. */
static enum log_level threshold(void)
{
	static gsize once;

	if (g_once_init_enter(&once)) {
		const char *wanted = g_getenv("VIRTBED_LOG");
		gsize level = LOG_LEVEL_INFO;

		for (gsize i = 0; wanted && i < G_N_ELEMENTS(level_names); i++)
			if (strcmp(wanted, level_names[i]) == 0)
				level = i;
		g_once_init_leave(&once, level + 1);
	}
	return (enum log_level)(once - 1);
}

/* Appends `message` such that it stays on its line and cannot drive a terminal. */
static void append_escaped(GString *line, const char *message)
{
	g_autofree char *valid = g_utf8_make_valid(message, -1);

	for (const char *p = valid; *p; p = g_utf8_next_char(p)) {
		const gunichar c = g_utf8_get_char(p);

		if (c == '\n')
			g_string_append(line, "\\n");
		else if (c < 0x20 || (c >= 0x7f && c < 0xa0))
			g_string_append_printf(line, "\\x%02x", c);
		else
			g_string_append_unichar(line, c);
	}
}

void log_line(enum log_level level, const char *subsystem, const char *format, ...)
{
	if (level > threshold())
		return;

	g_autofree char *utc = clock_utc();
	g_autofree char *message = NULL;
	g_autoptr(GString) line = g_string_new(NULL);
	va_list arguments;

	va_start(arguments, format);
	message = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_string_append_printf(line, "%s %s %s ", utc, level_names[level], subsystem);
	append_escaped(line, message);
	g_string_append_c(line, '\n');
	/* One write, so that lines of several threads and processes do not mix. */
	if (write(STDERR_FILENO, line->str, line->len) < 0)
		return; /* nowhere to say so */
}
