/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The inner loops of CG, on one rank.  Each is compiled for several processors
 * (npb_clones.h), so that one binary serves hosts and emulated guests.
 * Sums run in a fixed order: the same input gives the same bits on the same kind of processor.
 */
#ifndef NPB_CG_VECTOR_H
#define NPB_CG_VECTOR_H

#include <stdint.h>

/* Inner product of @n elements. */
double cg_dot(int32_t n, const double *x, const double *y);

/* Sum of (x - y)^2 over @n elements. */
double cg_distance2(int32_t n, const double *x, const double *y);

/* @y := @y + @a * @x. */
void cg_add(int32_t n, double a, const double *x, double *y);

/* @y := @x + @a * @y. */
void cg_scale_add(int32_t n, double a, const double *x, double *y);

/* @ret_y := @a * @x. */
void cg_copy_scaled(int32_t n, double a, const double *x, double *ret_y);

#endif
