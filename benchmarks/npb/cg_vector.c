/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "benchmarks/npb/cg_vector.h"

#if defined(__x86_64__) && defined(__gnu_linux__)
#define CLONES __attribute__((target_clones("default", "arch=x86-64-v3")))
#else
#define CLONES
#endif

/* Four sums side by side hide the latency of the additions. */
CLONES
void cg_multiply(const struct cg_matrix *matrix, const double *x, double *ret_y)
{
	const int32_t *restrict column = matrix->column;
	const double *restrict value = matrix->value;

	for (int32_t r = 0; r < matrix->rows; r++) {
		double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
		int64_t e = matrix->start[r];
		int64_t end = matrix->start[r + 1];

		for (; e + 4 <= end; e += 4) {
			s0 += value[e] * x[column[e]];
			s1 += value[e + 1] * x[column[e + 1]];
			s2 += value[e + 2] * x[column[e + 2]];
			s3 += value[e + 3] * x[column[e + 3]];
		}
		for (; e < end; e++)
			s0 += value[e] * x[column[e]];
		ret_y[r] = (s0 + s1) + (s2 + s3);
	}
}

CLONES
double cg_dot(int32_t n, const double *x, const double *y)
{
	double s[4] = {0.0, 0.0, 0.0, 0.0};
	int32_t i = 0;

	for (; i + 4 <= n; i += 4)
		for (int k = 0; k < 4; k++)
			s[k] += x[i + k] * y[i + k];
	for (; i < n; i++)
		s[0] += x[i] * y[i];
	return (s[0] + s[1]) + (s[2] + s[3]);
}

CLONES
double cg_distance2(int32_t n, const double *x, const double *y)
{
	double s[4] = {0.0, 0.0, 0.0, 0.0};
	int32_t i = 0;

	for (; i + 4 <= n; i += 4)
		for (int k = 0; k < 4; k++)
			s[k] += (x[i + k] - y[i + k]) * (x[i + k] - y[i + k]);
	for (; i < n; i++)
		s[0] += (x[i] - y[i]) * (x[i] - y[i]);
	return (s[0] + s[1]) + (s[2] + s[3]);
}

CLONES
void cg_add(int32_t n, double a, const double *restrict x, double *restrict y)
{
	for (int32_t i = 0; i < n; i++)
		y[i] += a * x[i];
}

CLONES
void cg_scale_add(int32_t n, double a, const double *restrict x, double *restrict y)
{
	for (int32_t i = 0; i < n; i++)
		y[i] = x[i] + a * y[i];
}

CLONES
void cg_copy_scaled(int32_t n, double a, const double *restrict x, double *restrict ret_y)
{
	for (int32_t i = 0; i < n; i++)
		ret_y[i] = a * x[i];
}
