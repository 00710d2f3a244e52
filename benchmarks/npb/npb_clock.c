/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "benchmarks/npb/npb_clock.h"

#include <time.h>

double npb_time_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}
