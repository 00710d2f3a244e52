/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every operator goes row by row in two steps.  The first adds up across rows and planes, point by
 * point; the second joins neighbours along the row.  So each step is a plain loop over contiguous
 * rows, and what a row's points have in common is added up once.
 */
#include "benchmarks/npb/mg_stencil.h"

#include "benchmarks/npb/npb_clones.h"

#define INLINE static inline __attribute__((always_inline))

/* Room in front of a line for the point before its first, on a cache line. */
#define FRONT 8
/* A row with a point more at either end. */
#define LINE (FRONT + MG_EDGE_MAX + FRONT)

/* The nine rows around and of one row: planes k-1, k, k+1 and in each rows j-1, j, j+1. */
struct rows {
	const double *below[3], *here[3], *above[3];
};

INLINE struct rows rows_around(const struct mg_grid *grid, int k, int j)
{
	const double *planes[3] = {mg_grid_plane(grid, k - 1), mg_grid_plane(grid, k),
				   mg_grid_plane(grid, k + 1)};
	struct rows rows;

	for (int d = 0; d < 3; d++) {
		size_t start = (size_t)((j + d - 1) & (grid->n - 1)) * grid->row;

		rows.below[d] = planes[0] + start;
		rows.here[d] = planes[1] + start;
		rows.above[d] = planes[2] + start;
	}
	return rows;
}

/*
 * @out := @base + the 27-point operator (c0, c1, c2, c3) on the middle row of @rows.  For a point
 * of the row, `edges` are the four points around it in the plane across the row that differ in one
 * offset, `corners` those that differ in two.
 */
INLINE void apply_row(int n, double c0, double c1, double c2, double c3, const struct rows *rows,
		      const double *base, double *out)
{
	const double *restrict bm = rows->below[0], *restrict b = rows->below[1];
	const double *restrict bp = rows->below[2], *restrict hm = rows->here[0];
	const double *restrict h = rows->here[1], *restrict hp = rows->here[2];
	const double *restrict am = rows->above[0], *restrict a = rows->above[1];
	const double *restrict ap = rows->above[2];
	double own_line[LINE] __attribute__((aligned(64)));
	double side_line[LINE] __attribute__((aligned(64)));
	double *restrict own = own_line + FRONT;   /* what a point gives to itself */
	double *restrict side = side_line + FRONT; /* what it gives to both neighbours */

	for (int i = 0; i < n; i++) {
		double edges = (hm[i] + hp[i]) + (b[i] + a[i]);
		double corners = (bm[i] + bp[i]) + (am[i] + ap[i]);

		/* the compiler knows which weights are zero */
		own[i] = c1 != 0.0 ? c0 * h[i] + c1 * edges + c2 * corners
				   : c0 * h[i] + c2 * corners;
		side[i] = c1 != 0.0 ? c1 * h[i] + c2 * edges : c2 * edges;
		if (c3 != 0.0)
			side[i] += c3 * corners;
	}
	side[-1] = side[n - 1];
	side[n] = side[0];
	/* base may be out: a point is read and then written, nothing else depends on it */
#pragma GCC ivdep
	for (int i = 0; i < n; i++)
		out[i] = base[i] + (own[i] + (side[i - 1] + side[i + 1]));
}

CLONES
void mg_residual(const struct mg_grid *u, const struct mg_grid *v, struct mg_grid *r, int k)
{
	const double *base = mg_grid_plane(v, k);
	double *out = mg_grid_plane(r, k);

	for (int j = 0; j < u->n; j++) {
		struct rows rows = rows_around(u, k, j);

		apply_row(u->n, 8.0 / 3.0, 0.0, -1.0 / 6.0, -1.0 / 12.0, &rows,
			  base + (size_t)j * v->row, out + (size_t)j * r->row);
	}
}

CLONES
void mg_smooth(const struct mg_smoother *s, const struct mg_grid *r, struct mg_grid *u, int k)
{
	double *out = mg_grid_plane(u, k);

	for (int j = 0; j < u->n; j++) {
		struct rows rows = rows_around(r, k, j);

		apply_row(u->n, s->c0, s->c1, s->c2, 0.0, &rows, out + (size_t)j * u->row,
			  out + (size_t)j * u->row);
	}
}

/* P is half the product of the weights 1/2, 1, 1/2 along each axis. */
INLINE void restrict_row(int n, const struct rows *rows, double *restrict out)
{
	double line[LINE] __attribute__((aligned(64)));

	for (int i = 0; i < n; i++) {
		double corners = (rows->below[0][i] + rows->below[2][i]) +
				 (rows->above[0][i] + rows->above[2][i]);
		double edges = (rows->here[0][i] + rows->here[2][i]) +
			       (rows->below[1][i] + rows->above[1][i]);

		line[i] = rows->here[1][i] + 0.5 * edges + 0.25 * corners;
	}
	line[n] = line[0];
	for (int i = 0; i < n / 2; i++)
		out[i] = 0.5 * line[2 * i + 1] + 0.25 * (line[2 * i] + line[2 * i + 2]);
}

CLONES
void mg_restrict(const struct mg_grid *fine, struct mg_grid *coarse, int k)
{
	double *out = mg_grid_plane(coarse, k);

	for (int j = 0; j < coarse->n; j++) {
		struct rows rows = rows_around(fine, 2 * k + 1, 2 * j + 1);

		restrict_row(fine->n, &rows, out + (size_t)j * coarse->row);
	}
}

/* @n points of a fine row from the coarse @line, whose point i lies on fine point 2i+1. */
INLINE void spread_row(int n, double *restrict line, double *restrict out, bool add)
{
	line[-1] = line[n / 2 - 1];
	for (int i = 0; i < n / 2; i++) {
		double between = 0.5 * (line[i - 1] + line[i]);

		out[2 * i] = add ? out[2 * i] + between : between;
		out[2 * i + 1] = add ? out[2 * i + 1] + line[i] : line[i];
	}
}

/* The mean of four rows, which may be the same. */
INLINE void mean_row(int n, const double *a, const double *b, const double *c, const double *d,
		     double *restrict ret_line)
{
	for (int i = 0; i < n; i++)
		ret_line[i] = 0.25 * ((a[i] + b[i]) + (c[i] + d[i]));
}

/* Numbers of the two coarse neighbours of fine point @i, twice the same if it lies on one. */
INLINE int lower(int i)
{
	return (i - 1) >> 1;
}

INLINE int upper(int i)
{
	return i >> 1;
}

CLONES
void mg_prolong(const struct mg_grid *coarse, struct mg_grid *fine, int k, bool add)
{
	const double *below = mg_grid_plane(coarse, lower(k));
	const double *above = mg_grid_plane(coarse, upper(k));
	double memory[LINE] __attribute__((aligned(64)));
	double *line = memory + FRONT;
	double *out = mg_grid_plane(fine, k);

	for (int j = 0; j < fine->n; j++) {
		size_t left = (size_t)(lower(j) & (coarse->n - 1)) * coarse->row;
		size_t right = (size_t)upper(j) * coarse->row;
		double *row = out + (size_t)j * fine->row;

		mean_row(coarse->n, below + left, below + right, above + left, above + right, line);
		if (add)
			spread_row(fine->n, line, row, true);
		else
			spread_row(fine->n, line, row, false);
	}
}

/* Sums side by side hide the latency of the additions. */
#define SUMS 8

CLONES
double mg_square_sum(const struct mg_grid *grid, int k)
{
	const double *row = mg_grid_plane(grid, k);
	double sums[SUMS] = {0.0};
	double sum = 0.0;

	for (int j = 0; j < grid->n; j++, row += grid->row)
		for (int i = 0; i < grid->n; i += SUMS)
			for (int s = 0; s < SUMS; s++)
				sums[s] += row[i + s] * row[i + s];
	for (int s = 0; s < SUMS; s++)
		sum += sums[s];
	return sum;
}
