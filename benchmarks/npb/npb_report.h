/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The block of results that a kernel prints when it is done, laid out as the NPB reference codes
 * do it, so that scripts written for those can read ours.
 */
#ifndef NPB_REPORT_H
#define NPB_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Outcome of one kernel over all its repetitions. */
struct npb_report {
	const char *name;           /* "IS", "CG", "MG", "EP" */
	const char *operation_type; /* "keys ranked", "floating point" */
	char class;
	int64_t size;       /* keys, deviates, order of the matrix, or points along an edge */
	bool is_cube;       /* size is that of a cube's edge */
	int64_t iterations; /* timed iterations, all repetitions together */
	int processes;      /* MPI processes */
	int ranks;          /* MPI processes that compute */
	double operations;  /* counted operations in all timed iterations */
	double time_s;      /* wall seconds of all timed sections, maximum over the ranks */
	bool verified;      /* every repetition verified */
};

/* Print @report to @out; one extra line carries the time with nine decimals. */
void npb_report_print(const struct npb_report *report, FILE *out);

#endif
