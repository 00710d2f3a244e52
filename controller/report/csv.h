/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/*
 * Rows of CSV (RFC 4180, newlines as "\n"), appended field by field to a text of the caller. The
 * first field after a newline begins a row; csv_end() ends it.
 */

/*
 * A text, quoted where necessary. NULL: an empty field. Newlines become blanks, since many readers,
 * such as gnuplot, take a line for a row.
 */
void csv_text(GString *csv, const char *text);
/* A number in ten digits with a decimal point in any locale; empty where it is not finite. */
void csv_number(GString *csv, double value);
/* A whole number. */
void csv_integer(GString *csv, gint64 value);
/* Ends the row. */
void csv_end(GString *csv);
