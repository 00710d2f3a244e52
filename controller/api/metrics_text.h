/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/*
 * Writes Prometheus's text format (version 0.0.4): families of samples, each with its help and
 * type. Names must be valid; label values are escaped.
 */

/*
 * Begins a family; its samples must follow. `type` is "counter" (its name ends in _total), "gauge"
 * or "histogram".
 */
void metrics_text_family(GString *text, const char *name, const char *type, const char *help);

/*
 * Adds a sample of the family `name`, with alternating label names and values, NULL-terminated. An
 * unknown value (NAN) is left out.
 */
void metrics_text_sample(GString *text, const char *name, double value, ...) G_GNUC_NULL_TERMINATED;
