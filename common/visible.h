/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * What others wrote (names, reasons, words of errors), where people read it. A steering character is one that shows
 * nothing and changes how the rest is read: the control characters of C0 and C1, line and paragraph separators, and
 * those that turn the direction of text (Unicode's Bidi_Control and U+206A to U+206F): with them a name can read as another,
 * or drive a terminal. What is stored and told as JSON keeps them; what is shown has them as "\x1b" or "\u202e".
 */

/* Whether a text, NULL too, is valid UTF-8 without a steering character: a name that can be given. */
bool visible_ok(const char *text);

/*
 * Appends a text (not NULL) such that it stays on its line: a line end becomes "\n", a steering character its number,
 * what is no UTF-8 U+FFFD.
 */
void visible_append(GString *line, const char *text);

/* The same as a text of its own; the caller frees. */
char *visible_text(const char *text);

/* The same of lines: line ends and tabs stay. */
char *visible_lines(const char *text);

/* The same of what is to be one line for people: runs of white space become one space, none is at an end. */
char *visible_line(const char *text);

/* The same of its first `most` bytes; "..." follows where there are more. */
char *visible_start(const char *text, size_t most);

/* Prints lines to standard output, as visible_lines() has them. */
void visible_print(const char *text);

/* Prints "NAME: MESSAGE" to standard error, the message as visible_line() has it: what a program ends with. */
void visible_complain(const char *name, const char *message);
