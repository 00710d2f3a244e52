/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/*
 * Writes the text format in which Prometheus reads metrics (version 0.0.4): families of samples, each
 * with its help and type. Names are ours and have to be right; label values are escaped.
 */

/* Begins a family: all of its samples follow. `type` is "counter" (its name ends in _total), "gauge" or "histogram". */
void metrics_text_family(GString *text, const char *name, const char *type, const char *help);

/*
 * Adds a sample of the family `name`, with label names and values in turn, NULL-terminated. A value
 * that is not known (NAN) is left out.
 */
void metrics_text_sample(GString *text, const char *name, double value, ...) G_GNUC_NULL_TERMINATED;
