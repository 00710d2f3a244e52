/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Run directories made up for tests, written through the store's own functions: no binary files in
 * the repository, and the schema may change.
 */

/* One policy under one limit. Run r of it earns utility + spread x e(r), e standard normal. */
struct fixture_cell {
	const char *policy; /* NULL ends a list */
	double limit;
	double utility;
	double spread;
	double energy_j;
};

/* The runs to make. */
struct fixture {
	bool measured;
	uint32_t runs;            /* repeats or trials of every cell */
	uint32_t tasks;           /* per run; 0: no task rows. Their utilities sum to the run's */
	double ratio;             /* measured/ETC of the tasks is about this */
	const char *capabilities; /* of its clusters c1 and c2, JSON, or NULL */
	const char *unmeasured, *speed_changes; /* facts of these names, or NULL */
	uint64_t seed;
	const struct fixture_cell *cells;
};

/* Three pairs of experiments whose verdicts are known. */
extern const struct fixture_cell fixture_paper[];  /* as the paper found: EASY last */
extern const struct fixture_cell fixture_turned[]; /* EASY first where energy is short */
extern const struct fixture_cell fixture_noisy[];  /* differences that drown in the deviation */

/* Makes run directory `dir`. */
void fixture_write(const struct fixture *fixture, const char *dir);

/*
 * Makes a new temporary run directory; the caller frees the name and removes it with
 * fixture_remove().
 */
char *fixture_new(const struct fixture *fixture);

/* Removes the directory with all that is in it, and frees the name. */
void fixture_remove(char *dir);
