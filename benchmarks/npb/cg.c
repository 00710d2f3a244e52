/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * CG: the smallest eigenvalue of a sparse matrix by inverse power iteration, each step solved
 * with 25 steps of the conjugate gradient method.
 *
 * Layout: each rank holds a block of rows, and its block of z, r and q; p and x are kept whole on
 * every rank.  What is exchanged is r, once per step, from which every rank computes the whole of
 * p itself.  The partial sums that come with r (its share of r.r) travel in the same message, so
 * a step costs one allgather and one scalar allreduce: rounds, not bytes, are what these problems
 * pay for over a network.
 *
 * A vector of the whole problem is laid out as it travels: per rank a header of scalars, then the
 * rank's block, padded to the longest.  The matrix has its column numbers in that layout.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "benchmarks/npb/cg_matrix.h"
#include "benchmarks/npb/cg_strips.h"
#include "benchmarks/npb/cg_vector.h"
#include "benchmarks/npb/npb_kernel.h"

#define CG_STEPS 25
#define CG_TOLERANCE 1e-10
/* Scalars that travel in front of a block. */
#define HEADER 2

struct npb_problem {
	struct npb_context context;
	const struct cg_class *class;
	struct cg_strips *matrix;
	int32_t rows;   /* of this rank */
	int32_t stride; /* HEADER + the longest block: doubles per rank in a whole vector */
	int32_t length; /* stride * ranks */
	double *x, *p;  /* [length] whole vectors */
	double *r, *z;  /* [length] own block current, the rest as of the last exchange */
	double *q;      /* [rows] */
	double zeta, residual;
};

static struct npb_shape cg_shape(char class)
{
	const struct cg_class *figures = cg_class_find(class);
	double nonzeros = figures->nonzer * (figures->nonzer + 1.0);

	return (struct npb_shape){
		.size = figures->n,
		.iterations = figures->iterations,
		.operations = 2.0 * figures->iterations * figures->n *
			      (3.0 + nonzeros + CG_STEPS * (5.0 + nonzeros) + 3.0),
	};
}

static struct npb_steps cg_steps(char class, int ranks)
{
	const struct cg_class *figures = cg_class_find(class);

	return (struct npb_steps){
		.create = cg_matrix_steps(figures) + CG_STEPS,
		.run = (int64_t)CG_STEPS * figures->iterations,
	};
}

static int cg_max_ranks(char class)
{
	int32_t n = cg_class_find(class)->n;
	int ranks = 1;

	while (2 * ranks <= n)
		ranks *= 2;
	return ranks;
}

/* First row of rank @rank; the remainder of the division goes to the lower ranks. */
static int32_t first_row(int32_t n, int ranks, int rank)
{
	int32_t each = n / ranks;
	int32_t more = n % ranks;

	return rank * each + (rank < more ? rank : more);
}

/* This rank's block within a whole vector. */
static double *block(const struct npb_problem *p, double *vector)
{
	return vector + (size_t)p->context.rank * (size_t)p->stride + HEADER;
}

/* Give all ranks this rank's block of @vector, with two partial sums in its header. */
static void exchange(const struct npb_problem *p, double *vector, double first, double second)
{
	block(p, vector)[-2] = first;
	block(p, vector)[-1] = second;
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, vector, p->stride, MPI_DOUBLE,
		      p->context.comm);
}

/* Sum of the ranks' partial sums number @which (0 or 1) that came with @vector. */
static double header_sum(const struct npb_problem *p, const double *vector, int which)
{
	double sum = 0.0;

	for (int r = 0; r < p->context.ranks; r++)
		sum += vector[(size_t)r * (size_t)p->stride + (size_t)which];
	return sum;
}

static double sum_over_ranks(const struct npb_problem *p, double mine)
{
	double all = 0.0;

	MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, p->context.comm);
	return all;
}

static void clear_headers(const struct npb_problem *p, double *vector)
{
	for (int r = 0; r < p->context.ranks; r++)
		for (int h = 0; h < HEADER; h++)
			vector[(size_t)r * (size_t)p->stride + (size_t)h] = 0.0;
}

/* One step of the conjugate gradient; @rho is r.r before it. */
static void solve_step(struct npb_problem *p, double rho)
{
	double alpha;

	cg_strips_multiply(p->matrix, p->p, p->q);
	alpha = rho / sum_over_ranks(p, cg_dot(p->rows, block(p, p->p), p->q));
	cg_add(p->rows, alpha, block(p, p->p), block(p, p->z));
	cg_add(p->rows, -alpha, p->q, block(p, p->r));
	npb_progress_step(p->context.progress);
}

/* Solve (A - shift I) z = x; leaves this rank's block of z. */
static void solve(struct npb_problem *p)
{
	size_t bytes = (size_t)p->length * sizeof(double);
	double rho;

	memcpy(p->r, p->x, bytes);
	memcpy(p->p, p->x, bytes);
	memset(p->z, 0, bytes);
	rho = cg_dot(p->length, p->x, p->x);
	for (int step = 1; step < CG_STEPS; step++) {
		double before = rho;

		solve_step(p, rho);
		exchange(p, p->r, cg_dot(p->rows, block(p, p->r), block(p, p->r)), 0.0);
		rho = header_sum(p, p->r, 0);
		cg_scale_add(p->length, rho / before, p->r, p->p);
	}
	solve_step(p, rho);
}

/* |x - (A - shift I) z|, with one more product; z is whole. */
static double residual_norm(struct npb_problem *p)
{
	cg_strips_multiply(p->matrix, p->z, p->q);
	return sqrt(sum_over_ranks(p, cg_distance2(p->rows, block(p, p->x), p->q)));
}

/* One outer iteration: zeta from x and z, then x := z / |z|. */
static void iterate(struct npb_problem *p)
{
	const double *x = block(p, p->x);
	const double *z = block(p, p->z);
	double xz, zz;

	solve(p);
	exchange(p, p->z, cg_dot(p->rows, x, z), cg_dot(p->rows, z, z));
	xz = header_sum(p, p->z, 0);
	zz = header_sum(p, p->z, 1);
	p->residual = residual_norm(p);
	p->zeta = p->class->shift + 1.0 / xz;
	clear_headers(p, p->z);
	cg_copy_scaled(p->length, 1.0 / sqrt(zz), p->z, p->x);
}

/* x := (1, ..., 1), zero in headers and padding. */
static void start_vector(struct npb_problem *p)
{
	memset(p->x, 0, (size_t)p->length * sizeof(double));
	for (int rank = 0; rank < p->context.ranks; rank++) {
		int32_t first = first_row(p->class->n, p->context.ranks, rank);
		int32_t end = first_row(p->class->n, p->context.ranks, rank + 1);

		for (int32_t i = 0; i < end - first; i++)
			p->x[(size_t)rank * (size_t)p->stride + HEADER + (size_t)i] = 1.0;
	}
}

static void print_iteration(const struct npb_problem *p, int iteration)
{
	if (p->context.rank != 0)
		return;
	if (iteration == 1)
		printf("\n   iteration           ||r||                 zeta\n");
	printf("    %5d       %20.14E%20.13f\n", iteration, p->residual, p->zeta);
}

static bool cg_run(struct npb_problem *p, double *ret_time_s)
{
	double error, start_s;

	start_vector(p);
	MPI_Barrier(p->context.comm);
	start_s = npb_time_s();
	for (int i = 1; i <= p->class->iterations; i++) {
		iterate(p);
		print_iteration(p, i);
	}
	*ret_time_s = npb_elapsed_max(&p->context, start_s);
	error = fabs(p->zeta - p->class->zeta) / p->class->zeta;
	if (p->context.rank == 0) {
		printf(" Zeta is    %20.13E\n", p->zeta);
		printf(" Error is   %20.13E\n", error);
	}
	/* written so that a NaN fails; the ranks agree on zeta bit for bit, but ask anyway */
	return npb_all_true(&p->context, error <= CG_TOLERANCE);
}

/* Column numbers, from those of the matrix to those of the travelling layout. */
static void renumber_columns(const struct npb_problem *p, struct cg_matrix *matrix)
{
	int32_t n = p->class->n;
	int32_t *place = npb_alloc((size_t)n, sizeof(*place), "CG columns");

	for (int rank = 0; rank < p->context.ranks; rank++) {
		int32_t first = first_row(n, p->context.ranks, rank);

		for (int32_t c = first; c < first_row(n, p->context.ranks, rank + 1); c++)
			place[c] = rank * p->stride + HEADER + c - first;
	}
	for (int64_t e = 0; e < matrix->start[p->rows]; e++)
		matrix->column[e] = place[matrix->column[e]];
	free(place);
}

static void create_matrix(struct npb_problem *p)
{
	int32_t first = first_row(p->class->n, p->context.ranks, p->context.rank);
	struct cg_matrix *matrix = cg_matrix_create(p->class, first, p->rows, p->context.progress);

	if (matrix) {
		renumber_columns(p, matrix);
		p->matrix = cg_strips_create(matrix, p->length);
		cg_matrix_destroy(matrix);
	}
	if (!p->matrix) {
		fprintf(stderr, "ERROR: no memory for the CG matrix: use a smaller class or more "
				"ranks\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

static struct npb_problem *cg_create(const struct npb_context *context)
{
	struct npb_problem *p = npb_alloc(1, sizeof(*p), "CG");
	int ranks = context->ranks;
	int32_t n;

	p->context = *context;
	p->class = cg_class_find(context->class);
	n = p->class->n;
	p->rows = first_row(n, ranks, context->rank + 1) - first_row(n, ranks, context->rank);
	p->stride = HEADER + (n + ranks - 1) / ranks;
	p->length = p->stride * ranks;
	create_matrix(p);
	p->x = npb_alloc((size_t)p->length, sizeof(double), "CG vectors");
	p->p = npb_alloc((size_t)p->length, sizeof(double), "CG vectors");
	p->r = npb_alloc((size_t)p->length, sizeof(double), "CG vectors");
	p->z = npb_alloc((size_t)p->length, sizeof(double), "CG vectors");
	p->q = npb_alloc((size_t)p->rows, sizeof(double), "CG vectors");
	start_vector(p);
	iterate(p); /* untimed: touches all pages */
	return p;
}

static void cg_destroy(struct npb_problem *p)
{
	if (!p)
		return;
	cg_strips_destroy(p->matrix);
	free(p->x);
	free(p->p);
	free(p->r);
	free(p->z);
	free(p->q);
	free(p);
}

const struct npb_kernel npb_cg = {
	.name = "CG",
	.operation_type = "floating point",
	.shape = cg_shape,
	.max_ranks = cg_max_ranks,
	.steps = cg_steps,
	.create = cg_create,
	.run = cg_run,
	.destroy = cg_destroy,
};
