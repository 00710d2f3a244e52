/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The problem that MG solves: class figures, and the right-hand side, which is zero but for ten
 * points of +1 and ten of -1.  Pure functions, no MPI.
 *
 * Point (i, j, k) of the cube has deviate number 1 + i + n j + n^2 k of the stream; the points of
 * the ten largest deviates get +1, those of the ten smallest -1.
 */
#ifndef NPB_MG_SOURCE_H
#define NPB_MG_SOURCE_H

#include <stdint.h>

#include "benchmarks/npb/mg_grid.h"
#include "benchmarks/npb/mg_stencil.h"

/* Points of either sign. */
#define MG_CHARGES 10

/* Figures of one class. */
struct mg_class {
	char name;
	int n; /* points along each edge of the cube */
	int iterations;
	struct mg_smoother smoother;
	double norm; /* what the last residual's norm must be, to 1e-8 relative */
};

/* The figures of class @name (S, W, A, B or C); never NULL for those. */
const struct mg_class *mg_class_find(char name);

/* A point and its deviate x[k], see npb_random.h; no two points of a cube have the same. */
struct mg_charge {
	uint64_t x;
	int64_t point; /* i + n j + n^2 k */
};

/* The extremes of some part of the cube, in order: the largest first, the smallest first. */
struct mg_charges {
	struct mg_charge largest[MG_CHARGES], smallest[MG_CHARGES];
};

/* The extremes of planes @first .. @first+@planes-1 (at least one) of a cube of edge @n >= 4. */
void mg_charges_find(int n, int first, int planes, struct mg_charges *ret_charges);

/* @charges becomes the extremes of both parts. */
void mg_charges_merge(struct mg_charges *charges, const struct mg_charges *other);

/* Store +1 and -1 at those points of @v that it has as its own; the rest stays. */
void mg_charges_place(const struct mg_charges *charges, struct mg_grid *v);

#endif
