/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/output.h"

#include <errno.h>
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <unistd.h>

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

void output_plain_help(void)
{
	g_set_print_handler(print_plain);
}

void output_check_at_exit(void)
{
	if (atexit(close_output) != 0)
		g_error("out of memory");
}
