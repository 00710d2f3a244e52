/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Reads the result blocks that the MPI kernels print (benchmarks/npb/npb_report.c): each says
 * whether the result verified and how long the timed section took. Pure.
 */
struct npb_output {
	uint32_t blocks;     /* lines ` Verification    = ...` */
	uint32_t successful; /* those that say SUCCESSFUL */
	double time_s;       /* sum of ` Time in seconds (full) = ...`, else of the shorter lines */
};

/* Reads `text` (NUL-terminated, untrusted). */
void npb_output_parse(const char *text, struct npb_output *ret_output);

/*
 * The result blocks that `benchmark` prints (common/benchmark.h); 0 for one that is not known.
 */
uint32_t npb_output_blocks(const char *benchmark);

/* Whether all blocks of `benchmark` are there and verified. */
bool npb_output_verified(const struct npb_output *output, const char *benchmark);
