/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Reads the result blocks that the MPI kernels print (benchmarks/npb/npb_report.c). A block says
 * whether the result is verified and how long the timed section took. Pure.
 */
struct npb_output {
	uint32_t blocks;     /* lines ` Verification    = ...` */
	uint32_t successful; /* blocks that say SUCCESSFUL */
	double time_s;       /* sum of ` Time in seconds (full) = ...`, else of the shorter lines */
};

/* Reads `text` (NUL-terminated, untrusted). */
void npb_output_parse(const char *text, struct npb_output *ret_output);

/* How many result blocks `benchmark` prints (common/benchmark.h); 0: unknown benchmark. */
uint32_t npb_output_blocks(const char *benchmark);

/* Whether all blocks of `benchmark` are there and are verified. */
bool npb_output_verified(const struct npb_output *output, const char *benchmark);
