/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The benchmarks that a task type can name: the programs of the guest image (benchmarks/npb). All
 * programs use this one table, so that they accept the same names.
 */
struct benchmark {
	const char *name;
	uint32_t blocks;   /* number of result blocks that it prints, one per kernel in it */
	bool power_of_two; /* it requires a power of two as the number of ranks */
	/* no program of the guest image: tasks bring one along (task_script.h) */
	bool script;
};

/* The largest number of ranks of a task that the PMI server and the local scheduler support. */
#define BENCHMARK_RANKS_MAX 4096

/* The benchmark named `name`, or NULL. */
const struct benchmark *benchmark_find(const char *name);

/* Whether `name` is the benchmark of scripts. */
bool benchmark_is_script(const char *name);

/* All names as in "cg, ep, is", for messages; the caller frees. */
char *benchmark_names(void);
