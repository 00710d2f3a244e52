/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "benchmarks/npb/npb_finalize.h"
#include "benchmarks/npb/npb_kernel.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "benchmarks/npb/npb_memory.h"
#include "benchmarks/npb/npb_options.h"
#include "benchmarks/npb/npb_report.h"

/* Kernels in one program; the composite has two. */
#define MAX_KERNELS 4

void *npb_alloc(size_t count, size_t size, const char *what)
{
	size_t bytes = count * size;
	void *memory = npb_memory_alloc(bytes);

	if (!memory) {
		fprintf(stderr,
			"ERROR: cannot allocate %zu bytes for %s: use a smaller class or "
			"more ranks\n",
			bytes, what);
		MPI_Abort(MPI_COMM_WORLD, 1);
		abort();
	}
	memset(memory, 0, bytes);
	return memory;
}

double npb_elapsed_max(const struct npb_context *context, double start_s)
{
	double mine = npb_time_s() - start_s;
	double longest = 0.0;

	MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, context->comm);
	return longest;
}

bool npb_all_true(const struct npb_context *context, bool mine)
{
	int value = mine;
	int all = 0;

	MPI_Allreduce(&value, &all, 1, MPI_INT, MPI_MIN, context->comm);
	return all != 0;
}

/* The rank that a launcher gave us; NULL: there is none, we are alone. */
static const char *launcher_rank(void)
{
	return getenv("PMI_RANK");
}

/* Before MPI_Init. */
static bool speaks_before_init(void)
{
	const char *rank = launcher_rank();

	return !rank || strcmp(rank, "0") == 0;
}

static int print_help(const char *program)
{
	char *usage = npb_options_usage(program);

	if (usage && speaks_before_init())
		fputs(usage, stdout);
	free(usage);
	return 0;
}

/* The largest power of two up to @n, which is at least 1. */
static int round_down(int n)
{
	int power = 1;

	while (power <= n / 2)
		power *= 2;
	return power;
}

/* How many of @processes @kernel runs on; 0 for none, and why is on stderr if @speaks. */
static int active_ranks(const struct npb_kernel *kernel, char class, int processes, bool speaks)
{
	int power = round_down(processes);
	int ranks = kernel->rank_rule == NPB_RANKS_ROUND_DOWN ? power : processes;
	int max = kernel->max_ranks(class);

	if (kernel->rank_rule == NPB_RANKS_POWER_OF_TWO && ranks != power) {
		if (speaks)
			fprintf(stderr,
				"ERROR: %d processes: the number of processes must be a "
				"power of two\n",
				processes);
		return 0;
	}
	if (ranks > max) {
		if (speaks)
			fprintf(stderr, "ERROR: %d processes: %s class %c runs on at most %d\n",
				processes, kernel->name, class, max);
		return 0;
	}
	return ranks;
}

/* How many processes run: as many as every one of the @kernels can use; 0 if one refuses. */
static int common_ranks(const struct npb_kernel *const *kernels, char class, int processes,
			bool speaks)
{
	int common = processes;

	for (int i = 0; kernels[i]; i++) {
		int ranks = active_ranks(kernels[i], class, processes, speaks);

		if (ranks < common)
			common = ranks;
	}
	return common;
}

static void print_repetition(const struct npb_kernel *kernel, int number, int of, double time_s,
			     bool verified)
{
	printf(" %s repetition %d of %d: %.9f s, %s\n", kernel->name, number, of, time_s,
	       verified ? "verified" : "NOT verified");
	fflush(stdout);
}

static int processes_of_world(void)
{
	int processes = 0;

	MPI_Comm_size(MPI_COMM_WORLD, &processes);
	return processes;
}

/* Run one kernel as often as asked; adds its seconds to @total_s.  True if all runs verified. */
static bool run_kernel(const struct npb_kernel *kernel, struct npb_problem *problem,
		       const struct npb_context *context, int repetitions, double *total_s)
{
	struct npb_shape shape = kernel->shape(context->class);
	struct npb_report report = {
		.name = kernel->name,
		.operation_type = kernel->operation_type,
		.class = context->class,
		.size = shape.size,
		.is_cube = shape.is_cube,
		.iterations = (int64_t)shape.iterations * repetitions,
		.processes = processes_of_world(),
		.ranks = context->ranks,
		.operations = shape.operations * repetitions,
		.verified = true,
	};

	for (int i = 1; i <= repetitions; i++) {
		double time_s = 0.0;
		bool verified = kernel->run(problem, &time_s);

		report.time_s += time_s;
		report.verified = report.verified && verified;
		if (repetitions > 1 && context->rank == 0)
			print_repetition(kernel, i, repetitions, time_s, verified);
	}
	if (context->rank == 0)
		npb_report_print(&report, stdout);
	*total_s += report.time_s;
	return report.verified;
}

/* Steps of all that is to be done. */
static int64_t steps_of(const struct npb_context *context, const struct npb_kernel *const *kernels,
			int repetitions)
{
	int64_t all = 0;

	for (int i = 0; kernels[i]; i++) {
		struct npb_steps steps = kernels[i]->steps(context->class, context->ranks);

		all += steps.create + repetitions * steps.run;
	}
	return all;
}

/* Every problem is created before the first runs and kept until the last has run. */
static bool run_all(const struct npb_context *context, const struct npb_kernel *const *kernels,
		    int repetitions)
{
	struct npb_problem *problems[MAX_KERNELS] = {NULL};
	bool verified = true;
	double total_s = 0.0;
	int count = 0;

	npb_progress_init(context->progress, steps_of(context, kernels, repetitions));
	for (; kernels[count]; count++)
		problems[count] = kernels[count]->create(context);
	for (int i = 0; i < count; i++)
		if (!run_kernel(kernels[i], problems[i], context, repetitions, &total_s))
			verified = false;
	for (int i = 0; i < count; i++)
		kernels[i]->destroy(problems[i]);
	if (count > 1 && context->rank == 0)
		printf(" Time in seconds, all kernels (full) = %.9f\n", total_s);
	return verified;
}

/* Part of the processes run, the others wait for the verdict.  Returns it, the same on all. */
static bool run_on_part(const struct npb_context *world, int ranks,
			const struct npb_kernel *const *kernels, int repetitions)
{
	struct npb_context context = *world;
	int verified = 0;

	if (world->rank == 0)
		fprintf(stderr,
			"WARNING: %d of %d processes take part, the largest power of two; "
			"the others are idle\n",
			ranks, world->ranks);
	context.ranks = ranks;
	MPI_Comm_split(world->comm, world->rank < ranks ? 0 : 1, world->rank, &context.comm);
	if (world->rank < ranks)
		verified = run_all(&context, kernels, repetitions);
	MPI_Comm_free(&context.comm);
	MPI_Bcast(&verified, 1, MPI_INT, 0, world->comm);
	return verified != 0;
}

/* Between MPI_Init() and the end; a communicator of its own is made only where one is needed. */
static bool run_on_world(const struct npb_options *options, const struct npb_kernel *const *kernels)
{
	struct npb_context world = {.class = options->class, .comm = MPI_COMM_WORLD};
	struct npb_progress progress;
	int ranks;

	MPI_Comm_rank(world.comm, &world.rank);
	world.progress = world.rank == 0 ? &progress : NULL;
	MPI_Comm_size(world.comm, &world.ranks);
	ranks = common_ranks(kernels, world.class, world.ranks, world.rank == 0);
	if (ranks == 0)
		return false;
	if (ranks < world.ranks)
		return run_on_part(&world, ranks, kernels, options->repetitions);
	return run_all(&world, kernels, options->repetitions);
}

/*
 * A launcher kills all ranks once one has failed, even a rank 0 that has not said yet what is wrong
 * (1 of 200 jobs on busy cores ended without a word). So none leaves before all have met.
 */
static int refuse(int argc, char **argv, const char *program, const char *message)
{
	if (speaks_before_init())
		fprintf(stderr, "%s: %s\n", program, message);
	if (launcher_rank()) {
		MPI_Init(&argc, &argv);
		npb_finalize();
	}
	return 2;
}

int npb_program_main(int argc, char **argv, const char *program,
		     const struct npb_kernel *const *kernels)
{
	char message[NPB_OPTIONS_MESSAGE_SIZE];
	struct npb_options options;
	bool good;

	switch (npb_options_parse(argc, argv, &options, message)) {
	case NPB_OPTIONS_HELP:
		return print_help(program);
	case NPB_OPTIONS_BAD:
		return refuse(argc, argv, program, message);
	case NPB_OPTIONS_RUN:
		break;
	}

	MPI_Init(&argc, &argv);
	good = run_on_world(&options, kernels);
	npb_finalize();
	return good ? 0 : 1;
}
