/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * EP: pairs of Gaussian deviates, each rank its own contiguous part of the stream.  The ranks meet
 * once, to add up their sums.
 */
#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "benchmarks/npb/ep_pairs.h"
#include "benchmarks/npb/npb_kernel.h"

#define EP_TOLERANCE 1e-8

struct npb_problem {
	struct npb_context context;
	const struct ep_class *class;
	int64_t first, count; /* this rank's batches */
	struct ep_sums sums;  /* of the last run, over all ranks */
};

static struct npb_shape ep_shape(char class)
{
	const struct ep_class *figures = ep_class_find(class);

	return (struct npb_shape){
		.size = (int64_t)1 << (figures->pairs_log2 + 1),
		.iterations = 0, /* as the reference has it: nothing is iterated */
		.operations = ldexp(1.0, figures->pairs_log2 + 1),
	};
}

static int ep_max_ranks(char class)
{
	return 1 << (ep_class_find(class)->pairs_log2 - EP_BATCH_LOG2);
}

static struct npb_steps ep_steps(char class, int ranks)
{
	return (struct npb_steps){.create = 1, .run = ep_max_ranks(class) / ranks};
}

static void add_over_ranks(const struct npb_problem *p, const struct ep_sums *mine,
			   struct ep_sums *ret_all)
{
	const double sums[2] = {mine->x, mine->y};
	double all[2];

	MPI_Allreduce(sums, all, 2, MPI_DOUBLE, MPI_SUM, p->context.comm);
	MPI_Allreduce(mine->counts, ret_all->counts, EP_ANNULI, MPI_INT64_T, MPI_SUM,
		      p->context.comm);
	ret_all->x = all[0];
	ret_all->y = all[1];
}

static void print_sums(const struct npb_problem *p)
{
	int64_t accepted = 0;

	for (int l = 0; l < EP_ANNULI; l++)
		accepted += p->sums.counts[l];
	printf("\n N = 2^%5d\n", p->class->pairs_log2);
	printf(" No. Gaussian Pairs = %15" PRId64 "\n", accepted);
	printf(" Sums = %25.15E%25.15E\n Counts:\n", p->sums.x, p->sums.y);
	for (int l = 0; l < EP_ANNULI; l++)
		printf("%3d%15" PRId64 "\n", l, p->sums.counts[l]);
}

static bool ep_run(struct npb_problem *p, double *ret_time_s)
{
	struct ep_sums mine;
	double start_s;

	MPI_Barrier(p->context.comm);
	start_s = npb_time_s();
	ep_pairs_add_up(p->first, p->count, p->context.progress, &mine);
	add_over_ranks(p, &mine, &p->sums);
	*ret_time_s = npb_elapsed_max(&p->context, start_s);
	if (p->context.rank == 0)
		print_sums(p);
	/* written so that a NaN fails */
	return npb_all_true(&p->context,
			    fabs((p->sums.x - p->class->sum_x) / p->class->sum_x) <= EP_TOLERANCE &&
				    fabs((p->sums.y - p->class->sum_y) / p->class->sum_y) <=
					    EP_TOLERANCE);
}

static struct npb_problem *ep_create(const struct npb_context *context)
{
	struct npb_problem *p = npb_alloc(1, sizeof(*p), "EP");
	int64_t batches = ep_max_ranks(context->class);
	struct ep_sums mine;

	p->context = *context;
	p->class = ep_class_find(context->class);
	p->first = batches * context->rank / context->ranks;
	p->count = batches * (context->rank + 1) / context->ranks - p->first;
	/* untimed: one batch, and a message */
	ep_pairs_add_up(p->first, 1, context->progress, &mine);
	add_over_ranks(p, &mine, &p->sums);
	return p;
}

static void ep_destroy(struct npb_problem *p)
{
	free(p);
}

const struct npb_kernel npb_ep = {
	.name = "EP",
	.operation_type = "Random numbers generated",
	.rank_rule = NPB_RANKS_ANY,
	.shape = ep_shape,
	.max_ranks = ep_max_ranks,
	.steps = ep_steps,
	.create = ep_create,
	.run = ep_run,
	.destroy = ep_destroy,
};
