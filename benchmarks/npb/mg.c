/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * MG: multigrid for the Poisson equation on a periodic cube.  Each rank holds a slab of planes, so
 * that what neighbours exchange are whole planes, sent from where they lie.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "benchmarks/npb/mg_cycle.h"
#include "benchmarks/npb/mg_source.h"
#include "benchmarks/npb/npb_kernel.h"

#define MG_TOLERANCE 1e-8
#define OPERATIONS_PER_POINT 58.0

/* Planes that are searched for charges in one step of progress. */
#define STEP_PLANES 8

/* Message tags: planes that go to the next lower and to the next higher slab. */
#define TAG_DOWN 1
#define TAG_UP 2

struct npb_problem {
	struct npb_context context;
	const struct mg_class *class;
	struct mg_links links;
	struct mg_cycle *cycle;
};

static struct npb_shape mg_shape(char class)
{
	const struct mg_class *figures = mg_class_find(class);

	return (struct npb_shape){
		.size = figures->n,
		.is_cube = true,
		.iterations = figures->iterations,
		.operations = OPERATIONS_PER_POINT * figures->iterations * pow(figures->n, 3),
	};
}

static struct npb_steps mg_steps(char class, int ranks)
{
	const struct mg_class *figures = mg_class_find(class);
	int planes = figures->n / ranks;

	return (struct npb_steps){
		.create = (planes + STEP_PLANES - 1) / STEP_PLANES + mg_cycle_steps(figures, ranks),
		.run = figures->iterations * mg_cycle_steps(figures, ranks),
	};
}

/* Two planes each. */
static int mg_max_ranks(char class)
{
	return mg_class_find(class)->n / 2;
}

static void exchange_planes(void *data, struct mg_grid *grid, bool both)
{
	const struct npb_context *context = data;
	int size = (int)grid->plane_size;
	int last = grid->first + grid->planes - 1;
	int lower = (context->rank + context->ranks - 1) % context->ranks;
	int upper = (context->rank + 1) % context->ranks;
	MPI_Request requests[4];
	MPI_Status statuses[4]; /* MPI_STATUSES_IGNORE is an overflow in gcc's eyes */
	int count = 0;

	MPI_Irecv(mg_grid_plane(grid, last + 1), size, MPI_DOUBLE, upper, TAG_DOWN, context->comm,
		  &requests[count++]);
	if (both)
		MPI_Irecv(mg_grid_plane(grid, grid->first - 1), size, MPI_DOUBLE, lower, TAG_UP,
			  context->comm, &requests[count++]);
	MPI_Isend(mg_grid_plane(grid, grid->first), size, MPI_DOUBLE, lower, TAG_DOWN,
		  context->comm, &requests[count++]);
	if (both)
		MPI_Isend(mg_grid_plane(grid, last), size, MPI_DOUBLE, upper, TAG_UP, context->comm,
			  &requests[count++]);
	MPI_Waitall(count, requests, statuses);
}

static void gather_planes(void *data, struct mg_grid *grid, int planes)
{
	const struct npb_context *context = data;

	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, grid->memory,
		      planes * (int)grid->plane_size, MPI_DOUBLE, context->comm);
}

/* Root mean square of the residual over the whole cube; the same on all ranks. */
static double residual_norm(const struct npb_problem *p)
{
	double mine = mg_cycle_square_sum(p->cycle);
	double all = 0.0;

	MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, p->context.comm);
	return sqrt(all / pow(p->class->n, 3));
}

static bool mg_run(struct npb_problem *p, double *ret_time_s)
{
	double start_s, first_norm, norm, error;

	mg_cycle_reset(p->cycle);
	MPI_Barrier(p->context.comm);
	start_s = npb_time_s();
	mg_cycle_start(p->cycle);
	first_norm = residual_norm(p);
	for (int i = 0; i < p->class->iterations; i++)
		mg_cycle_iterate(p->cycle, p->context.progress);
	norm = residual_norm(p);
	*ret_time_s = npb_elapsed_max(&p->context, start_s);
	error = fabs(norm - p->class->norm) / p->class->norm;
	if (p->context.rank == 0) {
		printf("\n L2 Norm at start is %20.13E\n", first_norm);
		printf(" L2 Norm is %20.13E\n", norm);
		printf(" Error is   %20.13E\n", error);
	}
	/* written so that a NaN fails; the ranks agree on the norm bit for bit, but ask anyway */
	return npb_all_true(&p->context, error <= MG_TOLERANCE);
}

/* Those of this rank's slab. */
static void find_own_charges(const struct npb_problem *p, struct mg_charges *ret_charges)
{
	const struct mg_grid *v = mg_cycle_source(p->cycle);

	for (int done = 0; done < v->planes; done += STEP_PLANES) {
		int left = v->planes - done;
		struct mg_charges some;

		mg_charges_find(v->n, v->first + done, left < STEP_PLANES ? left : STEP_PLANES,
				&some);
		if (done == 0)
			*ret_charges = some;
		else
			mg_charges_merge(ret_charges, &some);
		npb_progress_step(p->context.progress);
	}
}

/* The ten largest and smallest deviates of the cube, from those of each rank's slab. */
static void find_charges(const struct npb_problem *p, struct mg_charges *ret_charges)
{
	int ranks = p->context.ranks;
	struct mg_charges *all = npb_alloc((size_t)ranks, sizeof(*all), "MG charges");

	find_own_charges(p, &all[p->context.rank]);
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, (int)sizeof(*all), MPI_BYTE,
		      p->context.comm);
	*ret_charges = all[0];
	for (int r = 1; r < ranks; r++)
		mg_charges_merge(ret_charges, &all[r]);
	free(all);
}

static struct npb_problem *mg_create(const struct npb_context *context)
{
	struct npb_problem *p = npb_alloc(1, sizeof(*p), "MG");
	struct mg_charges charges;

	p->context = *context;
	p->class = mg_class_find(context->class);
	p->links = (struct mg_links){exchange_planes, gather_planes, &p->context};
	p->cycle = mg_cycle_create(p->class, context->rank, context->ranks, &p->links);
	if (!p->cycle) {
		fprintf(stderr, "ERROR: no memory for the MG grids: use a smaller class or more "
				"ranks\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
		abort();
	}
	find_charges(p, &charges);
	mg_charges_place(&charges, mg_cycle_source(p->cycle));
	mg_cycle_reset(p->cycle);
	mg_cycle_start(p->cycle);
	/* untimed: the first messages between neighbours */
	mg_cycle_iterate(p->cycle, context->progress);
	return p;
}

static void mg_destroy(struct npb_problem *p)
{
	if (!p)
		return;
	mg_cycle_destroy(p->cycle);
	free(p);
}

const struct npb_kernel npb_mg = {
	.name = "MG",
	.operation_type = "floating point",
	.rank_rule = NPB_RANKS_ROUND_DOWN,
	.shape = mg_shape,
	.max_ranks = mg_max_ranks,
	.steps = mg_steps,
	.create = mg_create,
	.run = mg_run,
	.destroy = mg_destroy,
};
