/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "controller/report/table.h"

/*
 * Whose energy it was that the meters of a service counted: `virtbed energy` of one. `document` is that of
 * GET /v1/energy, in whole microjoules.
 */

/* What there are sums by. NULL-terminated. */
extern const char *const energy_account_keys[];

/* Joules as people read them: "12.345678", without a rounding error. The caller frees. */
char *energy_account_joules(json_int_t uj);

/*
 * Whether the parts of every host come to what its counter rose by, and the sums to those of all hosts,
 * exactly. *ret_text is the line that says so, or where it is not so and by how much; the caller frees.
 */
bool energy_account_check(const json_t *document, char **ret_text);

/* The document as a table, with all hosts' parts at its end. The caller frees. */
struct table *energy_account_table(const json_t *document);

/* What a person has to know to read the table, a line each, or NULL: nothing. The caller frees. */
char *energy_account_notes(const json_t *document);
