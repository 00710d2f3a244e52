/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The input of the integer sort: class figures, the keys of any block, and the ranks that five
 * test keys must get.  Pure functions, no MPI.
 */
#ifndef NPB_IS_KEYS_H
#define NPB_IS_KEYS_H

#include <stdint.h>

/* Timed iterations of one run. */
#define IS_ITERATIONS 10
/* Test keys that the partial verification looks at in each iteration. */
#define IS_TESTS 5
/* Keys 1 .. IS_CHANGED-1 are overwritten in the course of the iterations. */
#define IS_CHANGED (2 * IS_ITERATIONS + 1)

/* Figures of one class. */
struct is_class {
	char name;
	int keys_log2; /* number of keys, log 2 */
	int max_log2;  /* keys are below 2^max_log2 */
	int max_ranks;
	int32_t test_index[IS_TESTS]; /* positions in the whole sequence of keys, from 0 */
	int32_t test_rank[IS_TESTS];  /* their ranks, but for the shift in each iteration */
};

/* The figures of class @name (S, W, A, B or C); never NULL for those. */
const struct is_class *is_class_find(char name);

/* Fill @ret_keys with keys @first .. @first+@count-1 of the sequence of @class. */
void is_keys_fill(const struct is_class *class, int64_t first, int64_t count, int32_t *ret_keys);

/* The changes at the start of iteration @it (1..10), to @keys that start at key 0. */
void is_keys_change(const struct is_class *class, int it, int32_t *keys);

/* The rank that test key @test (0..4) must have in iteration @it (1..10). */
int32_t is_expected_rank(const struct is_class *class, int test, int it);

#endif
