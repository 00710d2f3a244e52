/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "controller/report/table.h"

/*
 * The energy account of a service, for `virtbed energy`. `document` is that of GET /v1/energy, in
 * whole microjoules.
 */

/* The keys that the account can be summed by. NULL-terminated. */
extern const char *const energy_account_keys[];

/* Joules for people: "12.345678", without a rounding error. The caller frees. */
char *energy_account_joules(json_int_t uj);

/*
 * Whether the parts of every host add up exactly to its counter's increase, and the sums to those
 * of all hosts. *ret_text is a line that says so, or names the difference; the caller frees.
 */
bool energy_account_check(const json_t *document, char **ret_text);

/* The document as a table, with all hosts' parts at its end. The caller frees. */
struct table *energy_account_table(const json_t *document);

/* The notes that the table needs, a line each, or NULL. The caller frees. */
char *energy_account_notes(const json_t *document);
