/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/store/store.h"

/*
 * Tasks that started later than a reservation ever promised: how many, by how much and why, from the events "overdue"
 * of measured runs (docs/reference/store.md). Simulated runs have no events on record.
 */
struct overdue {
	uint64_t starts;
	double most_s;      /* the largest delay on record; NAN: none is */
	GPtrArray *causes;  /* struct overdue_cause, in order of first appearance; NULL: there is none */
};

/* A start may have several. */
struct overdue_cause {
	char *text;         /* "a node of its place went" */
	uint64_t starts;
};

/* Adds the starts of a run. `overdue` begins as {.most_s = NAN}. Returns false with `error` (STORE_ERROR) set. */
bool overdue_add_run(struct overdue *overdue, struct store *store, int64_t run, GError **error);

/* Frees what it holds. */
void overdue_clear(struct overdue *overdue);

/* In one line; NULL: none was overdue. The caller frees. */
char *overdue_text(const struct overdue *overdue);
