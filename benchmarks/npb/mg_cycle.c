/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * On the way up each level does three to four things one after the other: interpolate the
 * correction z from below, take its effect off the residual r, smooth z and, on the finest level,
 * compute the residual again.  Done as sweeps over the cube each would fetch all points from
 * memory again.  So one sweep does them all, each some planes behind the one before, where what it
 * needs is still in the cache:
 *
 *     interpolate plane p;  residual of p-1;  smooth p-2;  new residual of p-3
 *
 * A slab's end planes wait for the neighbours' planes and come last.  In a whole cube, whose ends
 * meet, they come last too.
 */
#include "benchmarks/npb/mg_cycle.h"

#include <stdlib.h>

/* Every rank has a level whole from this n on. */
#define WHOLE_EDGE 16
#define LEVELS_MAX 9

struct level {
	struct mg_grid z;  /* correction; on the finest level the solution u */
	struct mg_grid r;  /* residual */
	int first, planes; /* the planes that this rank computes on the way down */
};

struct mg_cycle {
	const struct mg_class *class;
	const struct mg_links *links;
	struct mg_grid v; /* right-hand side */
	int levels;
	struct level level[LEVELS_MAX]; /* the finest first */
};

static void exchange(const struct mg_cycle *cycle, struct mg_grid *grid, bool both)
{
	if (!grid->is_whole)
		cycle->links->exchange(cycle->links->data, grid, both);
}

static int create_level(struct level *level, int n, int rank, int ranks)
{
	bool is_whole = ranks == 1 || n <= WHOLE_EDGE || n / ranks < 2;
	int share = n / ranks;

	level->first = share > 0 ? rank * share : 0;
	level->planes = share > 0 ? share : n;
	if (mg_grid_init(&level->z, n, is_whole ? 0 : level->first, is_whole ? n : share, is_whole))
		return -1;
	return mg_grid_init(&level->r, n, level->z.first, level->z.planes, is_whole);
}

struct mg_cycle *mg_cycle_create(const struct mg_class *class, int rank, int ranks,
				 const struct mg_links *links)
{
	struct mg_cycle *cycle = calloc(1, sizeof(*cycle));
	int failed = 0;

	if (!cycle)
		return NULL;
	cycle->class = class;
	cycle->links = links;
	for (int n = class->n; n >= 2 && failed == 0; n /= 2)
		failed = create_level(&cycle->level[cycle->levels++], n, rank, ranks);
	if (failed == 0) {
		const struct mg_grid *u = &cycle->level[0].z;

		failed = mg_grid_init(&cycle->v, u->n, u->first, u->planes, u->is_whole);
	}
	if (failed != 0) {
		mg_cycle_destroy(cycle);
		return NULL;
	}
	return cycle;
}

void mg_cycle_destroy(struct mg_cycle *cycle)
{
	if (!cycle)
		return;
	for (int i = 0; i < cycle->levels; i++) {
		mg_grid_finish(&cycle->level[i].z);
		mg_grid_finish(&cycle->level[i].r);
	}
	mg_grid_finish(&cycle->v);
	free(cycle);
}

struct mg_grid *mg_cycle_source(struct mg_cycle *cycle)
{
	return &cycle->v;
}

void mg_cycle_reset(struct mg_cycle *cycle)
{
	mg_grid_clear(&cycle->level[0].z);
}

void mg_cycle_start(struct mg_cycle *cycle)
{
	struct level *top = &cycle->level[0];

	for (int k = top->r.first; k < top->r.first + top->r.planes; k++)
		mg_residual(&top->z, &cycle->v, &top->r, k);
}

/* r of the level below from r of @fine. */
static void go_down(const struct mg_cycle *cycle, struct level *fine, struct level *coarse)
{
	exchange(cycle, &fine->r, false);
	if (fine->r.is_whole) {
		for (int k = 0; k < coarse->r.n; k++)
			mg_restrict(&fine->r, &coarse->r, k);
		return;
	}
	for (int k = coarse->first; k < coarse->first + coarse->planes; k++)
		mg_restrict(&fine->r, &coarse->r, k);
	if (coarse->r.is_whole)
		cycle->links->gather(cycle->links->data, &coarse->r, coarse->planes);
}

/* One sweep on the way up, and what it needs to know. */
struct sweep {
	const struct mg_smoother *smoother;
	const struct mg_grid *coarse; /* z of the level below */
	const struct mg_grid *v;      /* the finest level's right-hand side, NULL on others */
	struct mg_grid *z, *r;
	int first, last; /* planes */
};

static void interpolate(const struct sweep *s, int k)
{
	mg_prolong(s->coarse, s->z, k, s->v != NULL);
}

static void take_off(const struct sweep *s, int k)
{
	mg_residual(s->z, s->v ? s->v : s->r, s->r, k);
}

static void smooth(const struct sweep *s, int k)
{
	mg_smooth(s->smoother, s->r, s->z, k);
}

static void renew(const struct sweep *s, int k)
{
	if (s->v)
		mg_residual(s->z, s->v, s->r, k);
}

/* Do for @p and the planes behind it what can be done without the neighbours' planes. */
static void sweep_to(const struct sweep *s, int p)
{
	/*
	 * the planes beyond both ends are copies that are kept up to date, or the ends themselves
	 */
	if (p < s->last || (p == s->last && !s->z->is_whole))
		interpolate(s, p);
	if (p - 1 >= s->first && p - 1 <= s->last)
		take_off(s, p - 1);
	if (p - 2 > s->first && p - 2 < s->last)
		smooth(s, p - 2);
	if (p - 3 > s->first + 1 && p - 3 < s->last - 1)
		renew(s, p - 3);
}

static void go_up(const struct mg_cycle *cycle, const struct level *coarse, struct level *fine,
		  struct npb_progress *progress)
{
	const struct sweep s = {
		.smoother = &cycle->class->smoother,
		.coarse = &coarse->z,
		.v = fine == &cycle->level[0] ? &cycle->v : NULL,
		.z = &fine->z,
		.r = &fine->r,
		.first = fine->z.first,
		.last = fine->z.first + fine->z.planes - 1,
	};

	interpolate(&s, s.first - 1);
	if (!s.z->is_whole)
		interpolate(&s, s.last + 1);
	for (int p = s.first; p <= s.last + 3; p++) {
		sweep_to(&s, p);
		if (p <= s.last)
			npb_progress_step(progress);
	}
	exchange(cycle, s.r, true);
	smooth(&s, s.first);
	smooth(&s, s.last);
	exchange(cycle, s.z, true);
	for (int k = s.first; k <= s.last; k++)
		if (k <= s.first + 1 || k >= s.last - 1)
			renew(&s, k);
}

/* A plane of the finest level each on the way up, and one for all that comes before. */
int64_t mg_cycle_steps(const struct mg_class *class, int ranks)
{
	return 1 + class->n / ranks;
}

void mg_cycle_iterate(struct mg_cycle *cycle, struct npb_progress *progress)
{
	struct level *coarsest = &cycle->level[cycle->levels - 1];

	for (int i = 0; i + 1 < cycle->levels; i++)
		go_down(cycle, &cycle->level[i], &cycle->level[i + 1]);
	mg_grid_clear(&coarsest->z);
	for (int k = 0; k < coarsest->z.n; k++)
		mg_smooth(&cycle->class->smoother, &coarsest->r, &coarsest->z, k);
	for (int i = cycle->levels - 1; i > 1; i--)
		go_up(cycle, &cycle->level[i], &cycle->level[i - 1], NULL);
	npb_progress_step(progress);
	go_up(cycle, &cycle->level[1], &cycle->level[0], progress);
}

double mg_cycle_square_sum(const struct mg_cycle *cycle)
{
	const struct mg_grid *r = &cycle->level[0].r;
	double sum = 0.0;

	for (int k = r->first; k < r->first + r->planes; k++)
		sum += mg_square_sum(r, k);
	return sum;
}
