/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The inner loops of MG, a plane at a time, on one rank.  All operators look at the 27 points
 * around a point and weigh them by how many of the three offsets are non-zero (0, 1, 2, 3); they
 * need planes k-1 and k+1 of what they read.  The result is owned by the caller's grid; nothing is
 * allocated.  Each is compiled for several processors (npb_clones.h).
 */
#ifndef NPB_MG_STENCIL_H
#define NPB_MG_STENCIL_H

#include "benchmarks/npb/mg_grid.h"

/* Weights of the smoother S; its corner weight is 0. */
struct mg_smoother {
	double c0, c1, c2;
};

/* Plane @k of @r := @v - A @u, the Laplacian A being (-8/3, 0, 1/6, 1/12).  @r may be @v. */
void mg_residual(const struct mg_grid *u, const struct mg_grid *v, struct mg_grid *r, int k);

/* Plane @k of @u += S @r. */
void mg_smooth(const struct mg_smoother *s, const struct mg_grid *r, struct mg_grid *u, int k);

/*
 * Plane @k of the @coarse grid := P @fine, weights (1/2, 1/4, 1/8, 1/16): coarse point j lies on
 * fine point 2j+1 along each axis.  Reads fine planes 2k .. 2k+2.
 */
void mg_restrict(const struct mg_grid *fine, struct mg_grid *coarse, int k);

/*
 * Plane @k of @fine += Q @coarse, or := if not @add; Q is trilinear interpolation.  Reads coarse
 * plane (k-1)/2 if k is odd, else k/2-1 and k/2.
 */
void mg_prolong(const struct mg_grid *coarse, struct mg_grid *fine, int k, bool add);

/* The sum of the squares of plane @k, of a grid whose n is 8 or more. */
double mg_square_sum(const struct mg_grid *grid, int k);

#endif
