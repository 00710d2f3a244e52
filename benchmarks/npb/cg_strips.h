/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A block of rows as CG multiplies with it: cut into strips of columns, so that the part of the
 * vector that a strip picks from at random stays in the first-level cache, and column numbers
 * within the strip take two bytes.  Nothing is cut so fine that rows become too short to be worth
 * their start. Pure functions, no MPI.
 */
#ifndef NPB_CG_STRIPS_H
#define NPB_CG_STRIPS_H

#include <stdint.h>

#include "benchmarks/npb/cg_matrix.h"

struct cg_strips;

/*
 * Cut @matrix (borrowed), whose columns number the places of a vector of @length elements. Returns
 * NULL when memory runs out; the caller frees with cg_strips_destroy().
 */
struct cg_strips *cg_strips_create(const struct cg_matrix *matrix, int32_t length);

/* Free it; takes NULL. */
void cg_strips_destroy(struct cg_strips *strips);

/* @ret_y [rows of the matrix] := the block of rows times the whole vector @x [length]. */
void cg_strips_multiply(const struct cg_strips *strips, const double *x, double *ret_y);

#endif
