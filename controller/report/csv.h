/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/*
 * Rows of CSV (RFC 4180, newlines as "\n"), appended field by field to a text that the caller owns.
 * A row is begun by the first field after a newline; csv_end() ends it.
 */

/*
 * A text, quoted where it must be. NULL: an empty field. Newlines become blanks: many readers,
 * gnuplot too, take a line for a row.
 */
void csv_text(GString *csv, const char *text);
/* A number in ten digits, with a point whatever the locale; empty where it is not finite. */
void csv_number(GString *csv, double value);
/* A whole number. */
void csv_integer(GString *csv, gint64 value);
/* Ends the row. */
void csv_end(GString *csv);
