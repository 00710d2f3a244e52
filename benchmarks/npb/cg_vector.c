/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "benchmarks/npb/cg_vector.h"

#include "benchmarks/npb/npb_clones.h"

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
