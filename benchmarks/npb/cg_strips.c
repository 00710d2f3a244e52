/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "benchmarks/npb/cg_strips.h"

#include <stdlib.h>

#include "benchmarks/npb/npb_clones.h"
#include "benchmarks/npb/npb_memory.h"

/* 28 KiB of the vector: leaves room in 32 KiB for what streams by. */
#define COLUMNS_WANTED 3584
/* What column numbers have room for. */
#define COLUMNS_MAX 65536
/* Entries of a row in a strip, at least, on the average: its end is a branch that none foresees. */
#define ENTRIES_WANTED 32

struct cg_strips {
	int32_t rows, strips;
	int32_t width;    /* columns of a strip */
	int32_t *start;   /* [strips * rows + 1] where row r of strip s begins: [s * rows + r] */
	uint16_t *column; /* from the strip's first */
	double *value;
};

static int32_t divide_up(int32_t a, int32_t b)
{
	return (a + b - 1) / b;
}

static int32_t count_strips(const struct cg_matrix *matrix, int32_t length)
{
	int32_t wanted = divide_up(length, COLUMNS_WANTED);
	int64_t most = matrix->start[matrix->rows] / ((int64_t)matrix->rows * ENTRIES_WANTED);
	int32_t least = divide_up(length, COLUMNS_MAX);

	if (wanted > most)
		wanted = (int32_t)most;
	return wanted > least ? wanted : least;
}

/* Once over the matrix for every strip: simple, and no more than a few passes. */
static void fill(struct cg_strips *strips, const struct cg_matrix *matrix)
{
	int64_t rows = strips->rows;
	int32_t to = 0;

	for (int32_t s = 0; s < strips->strips; s++) {
		int32_t first = s * strips->width;

		for (int32_t r = 0; r < rows; r++) {
			strips->start[s * rows + r] = to;
			for (int64_t e = matrix->start[r]; e < matrix->start[r + 1]; e++) {
				int32_t column = matrix->column[e] - first;

				if (column < 0 || column >= strips->width)
					continue;
				strips->column[to] = (uint16_t)column;
				strips->value[to++] = matrix->value[e];
			}
		}
	}
	strips->start[strips->strips * rows] = to;
}

struct cg_strips *cg_strips_create(const struct cg_matrix *matrix, int32_t length)
{
	struct cg_strips *strips = calloc(1, sizeof(*strips));
	size_t entries = (size_t)matrix->start[matrix->rows];
	size_t starts;

	if (!strips)
		return NULL;
	strips->rows = matrix->rows;
	strips->strips = count_strips(matrix, length);
	strips->width = divide_up(length, strips->strips);
	starts = (size_t)strips->strips * (size_t)strips->rows + 1;
	strips->start = npb_memory_alloc(starts * sizeof(*strips->start));
	strips->column = npb_memory_alloc(entries * sizeof(*strips->column));
	strips->value = npb_memory_alloc(entries * sizeof(*strips->value));
	if (!strips->start || !strips->column || !strips->value) {
		cg_strips_destroy(strips);
		return NULL;
	}
	fill(strips, matrix);
	return strips;
}

void cg_strips_destroy(struct cg_strips *strips)
{
	if (!strips)
		return;
	free(strips->start);
	free(strips->column);
	free(strips->value);
	free(strips);
}

/* Four sums side by side hide the latency of the additions. */
static inline __attribute__((always_inline)) double
row_sum(const double *restrict value, const uint16_t *restrict column, int32_t n, const double *x)
{
	double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
	int32_t e = 0;

	for (; e + 4 <= n; e += 4) {
		s0 += value[e] * x[column[e]];
		s1 += value[e + 1] * x[column[e + 1]];
		s2 += value[e + 2] * x[column[e + 2]];
		s3 += value[e + 3] * x[column[e + 3]];
	}
	for (; e < n; e++)
		s0 += value[e] * x[column[e]];
	return (s0 + s1) + (s2 + s3);
}

CLONES
void cg_strips_multiply(const struct cg_strips *strips, const double *x, double *ret_y)
{
	const double *value = strips->value;
	const uint16_t *column = strips->column;

	for (int32_t s = 0; s < strips->strips; s++) {
		const int32_t *start = strips->start + (int64_t)s * strips->rows;
		const double *part = x + (int64_t)s * strips->width;

		for (int32_t r = 0; r < strips->rows; r++) {
			double sum = row_sum(value + start[r], column + start[r],
					     start[r + 1] - start[r], part);

			ret_y[r] = s > 0 ? ret_y[r] + sum : sum;
		}
	}
}
