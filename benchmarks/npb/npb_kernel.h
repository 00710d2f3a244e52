/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The seam between a kernel and the program around it.  A kernel is a constant table of
 * functions; npb_program_main() creates the problem of every kernel in its list, runs them one
 * after the other and prints the reports.  The composite is simply a list of two.
 */
#ifndef NPB_KERNEL_H
#define NPB_KERNEL_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "benchmarks/npb/npb_clock.h"
#include "benchmarks/npb/npb_progress.h"

/* Where a kernel runs: filled after MPI_Init, the same for its whole life. */
struct npb_context {
	char class;                    /* one of S, W, A, B, C */
	MPI_Comm comm;                 /* the processes that take part */
	int rank;                      /* this process in comm, 0..ranks-1 */
	int ranks;                     /* processes in comm */
	struct npb_progress *progress; /* rank 0 counts its steps with it; NULL on all others */
};

/* Figures of a class that the report wants. */
struct npb_shape {
	int64_t size;      /* the report's "Size" */
	bool is_cube;      /* size is that of a cube's edge */
	int iterations;    /* timed iterations of one repetition */
	double operations; /* counted operations of one repetition */
};

/* Steps that rank 0 counts (npb_progress.h). */
struct npb_steps {
	int64_t create; /* by create */
	int64_t run;    /* by each run */
};

/* Which numbers of processes a kernel takes, up to its max_ranks. */
enum npb_rank_rule {
	NPB_RANKS_POWER_OF_TWO = 0, /* others are refused */
	NPB_RANKS_ANY,
	NPB_RANKS_ROUND_DOWN, /* the largest power of two takes part, the rest look on */
};

/* Private to each kernel. */
struct npb_problem;

/* All functions are required.  create, run and destroy are collective over the context's comm. */
struct npb_kernel {
	const char *name; /* "IS", "CG", "MG", "EP" */
	const char *operation_type;

	enum npb_rank_rule rank_rule;

	/* The figures of @class; called on any rank, before or after create. */
	struct npb_shape (*shape)(char class);

	/* The most ranks that @class can be spread over. */
	int (*max_ranks)(char class);

	/* The steps of @class on @ranks ranks. */
	struct npb_steps (*steps)(char class, int ranks);

	/*
	 * Allocate and fill the problem, and run its untimed warm-up; every page that a run needs
	 * has been touched afterwards.  Ends all ranks with a message when memory runs out.
	 */
	struct npb_problem *(*create)(const struct npb_context *context);

	/*
	 * Run the timed section once and verify it.  Stores the wall seconds (maximum over the
	 * ranks) in @ret_time_s.  Returns the verdict.  Both are the same on all ranks.
	 */
	bool (*run)(struct npb_problem *problem, double *ret_time_s);

	/* Free the problem; takes NULL. */
	void (*destroy)(struct npb_problem *problem);
};

extern const struct npb_kernel npb_is;
extern const struct npb_kernel npb_cg;
extern const struct npb_kernel npb_ep;
extern const struct npb_kernel npb_mg;

/*
 * The main function of a program called @program that runs @kernels (NULL-terminated) in order.
 * Returns the exit status: 0 verified, 1 not verified or wrong number of ranks, 2 bad usage.
 */
int npb_program_main(int argc, char **argv, const char *program,
		     const struct npb_kernel *const *kernels);

/*
 * Zeroed memory for @count elements of @size bytes on a cache line.  On failure one line on
 * stderr names @what and all ranks end.  Freed with free().
 */
void *npb_alloc(size_t count, size_t size, const char *what);

/* The largest of the ranks' wall seconds since @start_s (an npb_time_s() value). */
double npb_elapsed_max(const struct npb_context *context, double start_s);

/* True on all ranks if @mine is true on all of them. */
bool npb_all_true(const struct npb_context *context, bool mine);

#endif
