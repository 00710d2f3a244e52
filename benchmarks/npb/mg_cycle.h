/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The V-cycle of MG on one rank's slab.  How slabs reach one another is a table of functions, so
 * that a rank on its own, and a test, need no MPI.
 *
 * The large levels are cut into slabs of planes, the same share for every rank.  Levels of 16^3
 * points and below, and those that would leave a rank less than two planes, are kept whole by
 * every rank, and every rank computes all of them: a message costs more than so few points.
 */
#ifndef NPB_MG_CYCLE_H
#define NPB_MG_CYCLE_H

#include "benchmarks/npb/mg_grid.h"
#include "benchmarks/npb/mg_source.h"
#include "benchmarks/npb/npb_progress.h"

/* What a rank with neighbours needs of them; collective over the ranks. */
struct mg_links {
	/*
	 * Fill the slab's copies of its neighbours' planes: the one above its last and, if @both,
	 * the one below its first.
	 */
	void (*exchange)(void *data, struct mg_grid *grid, bool both);

	/* Every rank has computed @planes planes of the whole @grid, in rank order: share them. */
	void (*gather)(void *data, struct mg_grid *grid, int planes);

	void *data;
};

struct mg_cycle;

/*
 * A problem of @class for rank @rank of @ranks, which must be a power of two of at most half the
 * class's n.  @links (borrowed) may be NULL for a single rank.  Returns NULL when memory runs
 * out; the caller frees with mg_cycle_destroy().  All pages have been touched.
 */
struct mg_cycle *mg_cycle_create(const struct mg_class *class, int rank, int ranks,
				 const struct mg_links *links);

/* Free it; takes NULL. */
void mg_cycle_destroy(struct mg_cycle *cycle);

/* The right-hand side on this rank's slab, zero at first; for the caller to fill. */
struct mg_grid *mg_cycle_source(struct mg_cycle *cycle);

/* u := 0 */
void mg_cycle_reset(struct mg_cycle *cycle);

/* r := v - A u, to be called once after mg_cycle_reset(). */
void mg_cycle_start(struct mg_cycle *cycle);

/*
 * One iteration: a V-cycle on the residual, the correction of u, and r := v - A u. @progress (NULL:
 * none) counts mg_cycle_steps() steps, those of rank 0 of @ranks.
 */
void mg_cycle_iterate(struct mg_cycle *cycle, struct npb_progress *progress);
int64_t mg_cycle_steps(const struct mg_class *class, int ranks);

/* The sum of the squares of r over this rank's planes. */
double mg_cycle_square_sum(const struct mg_cycle *cycle);

#endif
