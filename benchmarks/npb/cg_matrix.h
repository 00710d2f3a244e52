/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sparse matrix of CG: class figures and the rows of one block.  Pure functions, no MPI.
 *
 *     A = sum over i of  w[i] * x[i] * x[i]^T  +  (rcond - shift) * I
 *
 * with random sparse vectors x[i] and weights w[i] = rcond^((i-1)/n).
 */
#ifndef NPB_CG_MATRIX_H
#define NPB_CG_MATRIX_H

#include <stdint.h>

#include "benchmarks/npb/npb_progress.h"

/* Condition figure of all classes. */
#define CG_RCOND 0.1

/* Figures of one class. */
struct cg_class {
	char name;
	int32_t n;      /* order of the matrix */
	int32_t nonzer; /* random entries per generating vector */
	int iterations; /* outer iterations, all timed */
	double shift;   /* lambda */
	double zeta;    /* what the last iteration must give, to 1e-10 relative */
};

/* The figures of class @name (S, W, A, B or C); never NULL for those. */
const struct cg_class *cg_class_find(char name);

/* Rows [first, first + rows) of a matrix, compressed by rows, columns ascending in each row. */
struct cg_matrix {
	int32_t first; /* number of the first row, from 0 */
	int32_t rows;
	int64_t *start;  /* [rows + 1] where each row begins in the arrays below */
	int32_t *column; /* [start[rows]] from 0 */
	double *value;   /* [start[rows]] */
};

/*
 * Build rows @first .. @first+@rows-1 (within 0 .. n-1, at least one) of the matrix of @class.
 * The whole random sequence is drawn whatever the block, since it cannot be cut.
 * @progress (NULL: none) counts cg_matrix_steps() steps, whatever the block.
 * Returns NULL when memory runs out; the caller frees with cg_matrix_destroy().
 */
struct cg_matrix *cg_matrix_create(const struct cg_class *class, int32_t first, int32_t rows,
				   struct npb_progress *progress);
int64_t cg_matrix_steps(const struct cg_class *class);

/* Free the matrix; takes NULL. */
void cg_matrix_destroy(struct cg_matrix *matrix);

#endif
