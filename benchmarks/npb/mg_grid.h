/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One level of MG on one rank: a slab of whole planes of a periodic cube of n^3 points, or the
 * cube.
 *
 * Planes are numbered as in the cube, so that neighbours of planes are called by their numbers on
 * any slab: a slab has room for one more plane below (first - 1, also for -1) and above, copies of
 * what other ranks own; in a whole cube plane -1 is plane n-1 and plane n is plane 0.
 */
#ifndef NPB_MG_GRID_H
#define NPB_MG_GRID_H

#include <stdbool.h>
#include <stddef.h>

/* The largest n of all classes. */
#define MG_EDGE_MAX 512

struct mg_grid {
	int n;             /* points along each edge of the cube: a power of two */
	int first, planes; /* planes first .. first+planes-1 are this rank's */
	bool is_whole;     /* all planes are here, and none besides */
	size_t row;        /* doubles from a row to the next; not a power of two, which would make
			      neighbouring rows share a few places of the cache */
	size_t plane_size; /* doubles from a plane to the next: n * row */
	double *memory;
};

/* Storage for the slab, zeroed.  Returns 0, or -1 when memory runs out. */
int mg_grid_init(struct mg_grid *grid, int n, int first, int planes, bool is_whole);

/* Free the storage; may be called on a zeroed grid and twice. */
void mg_grid_finish(struct mg_grid *grid);

/* Zero everywhere, in the copies of other ranks' planes too. */
void mg_grid_clear(struct mg_grid *grid);

/* Plane @k: first-1 .. first+planes of a slab, -n .. 2n-1 of a whole cube. */
static inline double *mg_grid_plane(const struct mg_grid *grid, int k)
{
	int place = grid->is_whole ? k & (grid->n - 1) : k - grid->first + 1;

	return grid->memory + (size_t)place * grid->plane_size;
}

#endif
