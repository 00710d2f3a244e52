/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The benchmarks that a task type can name: the programs of the guest image (benchmarks/npb). One
 * table for everybody who has to know, so that none is accepted here and refused there.
 */
struct benchmark {
	const char *name;
	uint32_t blocks;   /* result blocks that it prints, one per kernel in it */
	bool power_of_two; /* it refuses any other number of ranks */
	bool script;       /* no program of ours: tasks bring one along (task_script.h) */
};

/* Most ranks of a task: what the PMI server and the local scheduler serve. */
#define BENCHMARK_RANKS_MAX 4096

/* The benchmark of that name, or NULL. */
const struct benchmark *benchmark_find(const char *name);

/* Whether `name` is that of the benchmark of scripts. */
bool benchmark_is_script(const char *name);

/* All names as in "cg, ep, is", for messages; the caller frees. */
char *benchmark_names(void);
