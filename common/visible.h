/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * What people are shown: text from other sources, durations, and a program's standard output.
 *
 * Text from other sources (names, reasons, error messages) is shown safely. A steering character is
 * invisible and changes how the rest is read: the control characters of C0 and C1, line and
 * paragraph separators, and those that change the direction of text (Unicode's Bidi_Control and
 * U+206A to U+206F). With them a name can look like another one, or control a terminal. Stored text
 * and JSON keep them; shown text has them as "\x1b" or "\u202e".
 */

/*
 * Whether a text (NULL is allowed) is valid UTF-8 without steering characters, and so usable as a
 * name.
 */
bool visible_ok(const char *text);

/*
 * Appends a text (not NULL) so that it stays on its line: a line end becomes "\n", a steering
 * character its number, invalid UTF-8 U+FFFD.
 */
void visible_append(GString *line, const char *text);

/* As visible_append(), as a new text; the caller frees. */
char *visible_text(const char *text);

/* As visible_text(), but line ends and tabs stay. */
char *visible_lines(const char *text);

/*
 * As visible_text(), for a text to be shown on one line: runs of white space become one space, and
 * none is at an end.
 */
char *visible_line(const char *text);

/* As visible_text(), of the first `most` bytes, followed by "..." if there are more. */
char *visible_start(const char *text, size_t most);

/* Prints lines to standard output, as visible_lines(). */
void visible_print(const char *text);

/*
 * Prints a program's final error "NAME: MESSAGE" to standard error, the message as visible_line().
 */
void visible_complain(const char *name, const char *message);

/*
 * Seconds as "3:07", "1:02:10" or, from a day on, "2-01:02:10"; "-" if not finite. A negative
 * duration is shown as 0. The caller frees.
 */
char *visible_duration(double seconds);

/* Standard output. */

/*
 * Makes lost output an error: results that did not fit on a full disk are no results. Registers a
 * handler for exit() that closes standard output and, if anything could not be written, prints one
 * line on standard error and makes the exit status 1. To be called once, first thing in main(). It
 * works for every way out but _exit(), exec() and signals.
 */
void visible_check_at_exit(void);

/*
 * Makes g_print() write three points for an ellipsis. GLib's help has one in "[OPTION...]", and
 * prints "?" for it where the locale has none, as in cron jobs and containers.
 */
void visible_plain_help(void);
