/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/visible.h"

#include <errno.h>
#include <glib.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longer durations are not shown: 1000 years. */
#define LONGEST_S (1000.0 * 366 * 86400)

static bool is_control(gunichar c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

static bool is_steering(gunichar c)
{
	return is_control(c) || c == 0x061c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x206f);
}

/* Most texts are ASCII, which is a fast path. */
static bool is_ascii(const char *text)
{
	for (; *text; text++)
		if (*text < 0x20 || *text > 0x7e)
			return false;
	return true;
}

bool visible_ok(const char *text)
{
	if (!text || is_ascii(text))
		return true;
	if (!g_utf8_validate(text, -1, NULL))
		return false;
	for (; *text; text = g_utf8_next_char(text))
		if (is_steering(g_utf8_get_char(text)))
			return false;
	return true;
}

/* Control characters in `kept` stay as they are. */
static void append(GString *line, const char *text, const char *kept)
{
	g_autofree char *valid = is_ascii(text) ? NULL : g_utf8_make_valid(text, -1);

	if (!valid) {
		g_string_append(line, text);
		return;
	}
	for (const char *p = valid; *p; p = g_utf8_next_char(p)) {
		const gunichar c = g_utf8_get_char(p);

		if (!is_steering(c) || (c < 0x80 && strchr(kept, (int)c)))
			g_string_append_unichar(line, c);
		else if (c == '\n')
			g_string_append(line, "\\n");
		else
			g_string_append_printf(line, is_control(c) ? "\\x%02x" : "\\u%04x", c);
	}
}

void visible_append(GString *line, const char *text)
{
	append(line, text, "");
}

char *visible_text(const char *text)
{
	GString *line = g_string_new(NULL);

	append(line, text, "");
	return g_string_free(line, FALSE);
}

char *visible_lines(const char *text)
{
	GString *lines = g_string_new(NULL);

	append(lines, text, "\n\t");
	return g_string_free(lines, FALSE);
}

char *visible_line(const char *text)
{
	g_autoptr(GString) line = g_string_new(NULL);

	for (; *text; text++)
		if (!g_ascii_isspace(*text))
			g_string_append_c(line, *text);
		else if (line->len > 0 && line->str[line->len - 1] != ' ')
			g_string_append_c(line, ' ');
	return visible_text(g_strchomp(line->str));
}

char *visible_start(const char *text, size_t most)
{
	const size_t length = strnlen(text, most + 1);
	g_autofree char *start = NULL;
	g_autofree char *line = NULL;

	if (length <= most)
		return visible_line(text);
	while (most > 0 && ((guchar)text[most] & 0xc0) == 0x80) /* within a UTF-8 character */
		most--;
	start = g_strndup(text, most);
	line = visible_line(start);
	return g_strconcat(line, "...", NULL);
}

void visible_print(const char *text)
{
	g_autofree char *lines = visible_lines(text);

	fputs(lines, stdout);
}

void visible_complain(const char *name, const char *message)
{
	g_autofree char *line = visible_line(message);

	fprintf(stderr, "%s: %s\n", name, line);
}

char *visible_duration(double seconds)
{
	long s;

	if (!isfinite(seconds))
		return g_strdup("-");
	s = lround(CLAMP(seconds, 0, LONGEST_S));
	if (s >= 86400)
		return g_strdup_printf("%ld-%02ld:%02ld:%02ld", s / 86400, s / 3600 % 24,
				       s / 60 % 60, s % 60);
	if (s >= 3600)
		return g_strdup_printf("%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
	return g_strdup_printf("%ld:%02ld", s / 60, s % 60);
}

/* Standard output. */

static void close_output(void)
{
	/*
	 * A standard output that was closed from the start is no error for a program without
	 * output.
	 */
	const bool pending = __fpending(stdout) > 0;
	const bool failed = ferror(stdout) != 0;
	const char *name = g_get_prgname();

	errno = 0;
	if (fclose(stdout) == 0 || (!pending && errno == EBADF))
		errno = 0;
	if (!failed && errno == 0)
		return;
	fprintf(stderr, "%s: cannot write to standard output: %s\n", name ? name : "virtbed",
		errno ? g_strerror(errno) : "an earlier write failed");
	_exit(EXIT_FAILURE);
}

static void print_plain(const char *text)
{
	static const char ellipsis[] = "\342\200\246"; /* U+2026 */
	g_auto(GStrv) parts = g_strsplit(text, ellipsis, -1);
	g_autofree char *plain = g_strjoinv("...", parts);

	fputs(plain, stdout);
}

void visible_plain_help(void)
{
	g_set_print_handler(print_plain);
}

void visible_check_at_exit(void)
{
	if (atexit(close_output) != 0)
		g_error("out of memory");
}
