/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How a block of rows is built without sorting: the entries of column c lie in the vectors that
 * contain c.  Walking the columns upwards and adding w*x[r]*x[c] into a dense accumulator over
 * our rows r, then appending what was touched to those rows, leaves each row sorted and its
 * duplicates summed.
 */
#include "benchmarks/npb/cg_matrix.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "benchmarks/npb/npb_memory.h"
#include "benchmarks/npb/npb_random.h"

/* Vectors, and columns, of one step of progress. */
#define STEP 1000

static const struct cg_class classes[] = {
	{'S', 1400, 7, 15, 10.0, 8.5971775078648},     {'W', 7000, 8, 15, 12.0, 10.362595087124},
	{'A', 14000, 11, 15, 20.0, 17.130235054029},   {'B', 75000, 13, 75, 60.0, 22.712745482631},
	{'C', 150000, 15, 75, 110.0, 28.973605592845},
};

const struct cg_class *cg_class_find(char name)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (classes[i].name == name)
			return &classes[i];
	return NULL;
}

int64_t cg_matrix_steps(const struct cg_class *class)
{
	return 2 * (int64_t)((class->n + STEP - 1) / STEP);
}

/* The generating vectors, each with room for nonzer + 1 entries; rows of our block come first. */
struct vectors {
	int32_t width;   /* nonzer + 1 */
	int32_t *length; /* [n] entries of each vector */
	int32_t *mine;   /* [n] how many of them lie in our rows */
	int32_t *index;  /* [n * width] positions, from 0 */
	double *value;   /* [n * width] */
};

/* For each column, the vectors that contain it. */
struct incidence {
	int32_t *start;  /* [n + 1] */
	int32_t *vector; /* [sum of lengths] */
	double *value;   /* weight of the vector times its entry in this column */
};

static void vectors_finish(struct vectors *v)
{
	free(v->length);
	free(v->mine);
	free(v->index);
	free(v->value);
}

static int vectors_init(struct vectors *v, int32_t n, int32_t nonzer)
{
	size_t entries;

	v->width = nonzer + 1;
	entries = (size_t)n * (size_t)v->width;
	v->length = calloc((size_t)n, sizeof(*v->length));
	v->mine = calloc((size_t)n, sizeof(*v->mine));
	v->index = malloc(entries * sizeof(*v->index));
	v->value = malloc(entries * sizeof(*v->value));
	if (!v->length || !v->mine || !v->index || !v->value) {
		vectors_finish(v);
		return -1;
	}
	return 0;
}

static int32_t find_index(const int32_t *index, int32_t length, int32_t wanted)
{
	for (int32_t k = 0; k < length; k++)
		if (index[k] == wanted)
			return k;
	return -1;
}

/* Draw vector @i: nonzer random entries, then entry i becomes one half.  Returns its length. */
static int32_t draw_vector(struct npb_random *random, int32_t i, int32_t n, int32_t nonzer,
			   int32_t *index, double *value)
{
	int32_t power = 1;
	int32_t length = 0;
	int32_t at;

	while (power < n)
		power *= 2;
	while (length < nonzer) {
		double v = npb_random_uniform(random);
		int32_t position = (int32_t)(power * npb_random_uniform(random));

		if (position >= n || find_index(index, length, position) >= 0)
			continue;
		index[length] = position;
		value[length++] = v;
	}
	at = find_index(index, length, i);
	if (at < 0)
		at = length++;
	index[at] = i;
	value[at] = 0.5;
	return length;
}

/* Bring the entries within [first, first + rows) to the front; returns how many there are. */
static int32_t partition(int32_t *index, double *value, int32_t length, int32_t first, int32_t rows)
{
	int32_t mine = 0;

	for (int32_t k = 0; k < length; k++) {
		int32_t i = index[k];
		double v = value[k];

		if (i < first || i >= first + rows)
			continue;
		index[k] = index[mine];
		value[k] = value[mine];
		index[mine] = i;
		value[mine++] = v;
	}
	return mine;
}

static void draw_vectors(struct vectors *v, const struct cg_class *class, int32_t first,
			 int32_t rows, struct npb_progress *progress)
{
	struct npb_random random;

	npb_random_init(&random, NPB_RANDOM_SEED);
	npb_random_next(&random); /* the first value of the sequence is not used */
	for (int32_t i = 0; i < class->n; i++) {
		int32_t *index = v->index + (size_t)i * (size_t)v->width;
		double *value = v->value + (size_t)i * (size_t)v->width;

		v->length[i] = draw_vector(&random, i, class->n, class->nonzer, index, value);
		v->mine[i] = partition(index, value, v->length[i], first, rows);
		if (i % STEP == 0)
			npb_progress_step(progress);
	}
}

static void incidence_finish(struct incidence *in)
{
	free(in->start);
	free(in->vector);
	free(in->value);
}

static int incidence_init(struct incidence *in, const struct vectors *v, int32_t n)
{
	size_t entries = 0;

	for (int32_t i = 0; i < n; i++)
		entries += (size_t)v->length[i];
	in->start = calloc((size_t)n + 2, sizeof(*in->start));
	in->vector = malloc(entries * sizeof(*in->vector));
	in->value = malloc(entries * sizeof(*in->value));
	if (!in->start || !in->vector || !in->value) {
		incidence_finish(in);
		return -1;
	}
	return 0;
}

/* Turn the vectors round; the start array is shifted by one while it is being filled. */
static void incidence_fill(struct incidence *in, const struct vectors *v, int32_t n)
{
	double ratio = pow(CG_RCOND, 1.0 / n);
	double weight = 1.0;

	for (int32_t i = 0; i < n; i++)
		for (int32_t k = 0; k < v->length[i]; k++)
			in->start[v->index[(size_t)i * (size_t)v->width + (size_t)k] + 2]++;
	for (int32_t c = 0; c < n; c++)
		in->start[c + 2] += in->start[c + 1];
	for (int32_t i = 0; i < n; i++) {
		for (int32_t k = 0; k < v->length[i]; k++) {
			size_t from = (size_t)i * (size_t)v->width + (size_t)k;
			int32_t to = in->start[v->index[from] + 1]++;

			in->vector[to] = i;
			in->value[to] = weight * v->value[from];
		}
		weight *= ratio;
	}
}

/* Upper bounds of the row lengths (duplicates not yet summed), as start positions. */
static void bound_rows(struct cg_matrix *m, const struct vectors *v, int32_t n)
{
	for (int32_t i = 0; i < n; i++)
		for (int32_t k = 0; k < v->mine[i]; k++) {
			int32_t row = v->index[(size_t)i * (size_t)v->width + (size_t)k] - m->first;

			m->start[row + 1] += v->length[i];
		}
	for (int32_t r = 0; r < m->rows; r++)
		m->start[r + 1] += m->start[r];
}

/* Dense accumulator over our rows and the list of rows that it holds something for. */
struct accumulator {
	double *sum;      /* [rows] */
	int32_t *touched; /* [rows] */
	bool *is_touched; /* [rows] */
	int64_t *row_end; /* [rows] where the next entry of the row goes */
	int32_t n_touched;
};

static void accumulator_finish(struct accumulator *a)
{
	free(a->sum);
	free(a->touched);
	free(a->is_touched);
	free(a->row_end);
}

static int accumulator_init(struct accumulator *a, const struct cg_matrix *m)
{
	size_t rows = (size_t)m->rows;

	a->n_touched = 0;
	a->sum = calloc(rows, sizeof(*a->sum));
	a->touched = malloc(rows * sizeof(*a->touched));
	a->is_touched = calloc(rows, sizeof(*a->is_touched));
	a->row_end = malloc(rows * sizeof(*a->row_end));
	if (!a->sum || !a->touched || !a->is_touched || !a->row_end) {
		accumulator_finish(a);
		return -1;
	}
	memcpy(a->row_end, m->start, rows * sizeof(*a->row_end));
	return 0;
}

static void accumulator_add(struct accumulator *a, int32_t row, double value)
{
	if (!a->is_touched[row]) {
		a->is_touched[row] = true;
		a->touched[a->n_touched++] = row;
	}
	a->sum[row] += value;
}

/* Append the accumulated column to the rows that it touched. */
static void accumulator_flush(struct accumulator *a, struct cg_matrix *m, int32_t column)
{
	for (int32_t k = 0; k < a->n_touched; k++) {
		int32_t row = a->touched[k];
		int64_t at = a->row_end[row]++;

		m->column[at] = column;
		m->value[at] = a->sum[row];
		a->sum[row] = 0.0;
		a->is_touched[row] = false;
	}
	a->n_touched = 0;
}

static void fill_column(struct cg_matrix *m, struct accumulator *a, const struct vectors *v,
			const struct incidence *in, int32_t column, double diagonal)
{
	for (int32_t e = in->start[column]; e < in->start[column + 1]; e++) {
		size_t from = (size_t)in->vector[e] * (size_t)v->width;

		for (int32_t k = 0; k < v->mine[in->vector[e]]; k++)
			accumulator_add(a, v->index[from + (size_t)k] - m->first,
					in->value[e] * v->value[from + (size_t)k]);
	}
	if (column >= m->first && column < m->first + m->rows)
		accumulator_add(a, column - m->first, diagonal);
	accumulator_flush(a, m, column);
}

/* Close the gaps that summed duplicates left between the rows. */
static void compact(struct cg_matrix *m, const int64_t *row_end)
{
	int64_t to = 0;

	for (int32_t r = 0; r < m->rows; r++) {
		int64_t from = m->start[r];
		int64_t length = row_end[r] - from;

		memmove(m->column + to, m->column + from, (size_t)length * sizeof(*m->column));
		memmove(m->value + to, m->value + from, (size_t)length * sizeof(*m->value));
		m->start[r] = to;
		to += length;
	}
	m->start[m->rows] = to;
}

/* Room for the entries; the diagonal is always among them, since x[i] contains i. */
static int allocate_entries(struct cg_matrix *m)
{
	size_t entries = (size_t)m->start[m->rows];

	m->column = npb_memory_alloc(entries * sizeof(*m->column));
	m->value = npb_memory_alloc(entries * sizeof(*m->value));
	return m->column && m->value ? 0 : -1;
}

static int fill(struct cg_matrix *m, const struct cg_class *class, const struct vectors *v,
		const struct incidence *in, struct npb_progress *progress)
{
	struct accumulator a;

	bound_rows(m, v, class->n);
	if (allocate_entries(m) < 0 || accumulator_init(&a, m) < 0)
		return -1;
	for (int32_t column = 0; column < class->n; column++) {
		fill_column(m, &a, v, in, column, CG_RCOND - class->shift);
		if (column % STEP == 0)
			npb_progress_step(progress);
	}
	compact(m, a.row_end);
	accumulator_finish(&a);
	return 0;
}

static int build(struct cg_matrix *m, const struct cg_class *class, struct npb_progress *progress)
{
	struct incidence in;
	struct vectors v;
	int result = -1;

	if (vectors_init(&v, class->n, class->nonzer) < 0)
		return -1;
	draw_vectors(&v, class, m->first, m->rows, progress);
	if (incidence_init(&in, &v, class->n) == 0) {
		incidence_fill(&in, &v, class->n);
		result = fill(m, class, &v, &in, progress);
		incidence_finish(&in);
	}
	vectors_finish(&v);
	return result;
}

struct cg_matrix *cg_matrix_create(const struct cg_class *class, int32_t first, int32_t rows,
				   struct npb_progress *progress)
{
	struct cg_matrix *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->first = first;
	m->rows = rows;
	m->start = calloc((size_t)rows + 1, sizeof(*m->start));
	if (!m->start || build(m, class, progress) < 0) {
		cg_matrix_destroy(m);
		return NULL;
	}
	return m;
}

void cg_matrix_destroy(struct cg_matrix *m)
{
	if (!m)
		return;
	free(m->start);
	free(m->column);
	free(m->value);
	free(m);
}
