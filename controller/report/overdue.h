/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/store/store.h"

/*
 * Tasks that started later than their reservation: their number, delays and causes, from the events
 * "overdue" of measured runs (docs/reference/store.md). Simulated runs have no recorded events.
 */
struct overdue {
	uint64_t starts;
	double most_s;     /* the largest delay; NAN: none */
	GPtrArray *causes; /* struct overdue_cause, in order of first appearance; NULL: none */
};

/* A cause of late starts. A start may have several. */
struct overdue_cause {
	char *text; /* "a node of its place went" */
	uint64_t starts;
};

/*
 * Adds the late starts of a run. `overdue` begins as {.most_s = NAN}. False with `error`
 * (DATABASE_ERROR).
 */
bool overdue_add_run(struct overdue *overdue, struct store *store, int64_t run, GError **error);

/* Frees the contents. */
void overdue_clear(struct overdue *overdue);

/* The text for a heading, one line; NULL: no start was late. The caller frees. */
char *overdue_text(const struct overdue *overdue);
