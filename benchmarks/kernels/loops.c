/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "benchmarks/kernels/loops.h"

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "common/clock.h"

#if defined(__x86_64__) && defined(__gnu_linux__)
#define CLONES __attribute__((target_clones("default", "arch=x86-64-v3")))
#else
#define CLONES
#endif

#define ROUNDS 10
#define HUGE_PAGE ((size_t)2 << 20)
/* The order of CG's matrix in class A, and about as many entries as it has. */
#define GATHER_FROM 14000
#define GATHER_COUNT (2 << 20)

/* One thread's share of either loop. */
struct share {
	int64_t n;
	double *a, *b, *c;
	int32_t *index;
	double sum; /* kept, so that the loop is not optimized away */
};

typedef void (*share_f)(struct share *share);

struct worker {
	pthread_t thread;
	struct share *share;
	share_f loop;
	pthread_barrier_t *barrier;
	int64_t start_ns[ROUNDS], end_ns[ROUNDS];
};

CLONES
static void triad(struct share *share)
{
	double *restrict a = share->a;
	const double *restrict b = share->b;
	const double *restrict c = share->c;

	for (int64_t i = 0; i < share->n; i++)
		a[i] = b[i] + 3.0 * c[i];
}

/* Four sums side by side hide the latency of the additions. */
CLONES
static void gather(struct share *share)
{
	const double *restrict value = share->b;
	const double *restrict x = share->c;
	const int32_t *restrict index = share->index;
	double s0 = 0, s1 = 0, s2 = 0, s3 = 0;

	for (int64_t i = 0; i + 4 <= share->n; i += 4) {
		s0 += value[i] * x[index[i]];
		s1 += value[i + 1] * x[index[i + 1]];
		s2 += value[i + 2] * x[index[i + 2]];
		s3 += value[i + 3] * x[index[i + 3]];
	}
	share->sum += (s0 + s1) + (s2 + s3);
}

static void *work(void *data)
{
	struct worker *worker = data;

	for (int round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(worker->barrier);
		worker->start_ns[round] = clock_now_ns();
		worker->loop(worker->share);
		worker->end_ns[round] = clock_now_ns();
	}
	return NULL;
}

/* Seconds of the shortest round, from the first thread's start to the last one's end. */
static double shortest_round_s(const struct worker *workers, int threads)
{
	double best_s = G_MAXDOUBLE;

	for (int round = 0; round < ROUNDS; round++) {
		int64_t start_ns = workers[0].start_ns[round];
		int64_t end_ns = workers[0].end_ns[round];

		for (int t = 1; t < threads; t++) {
			start_ns = MIN(start_ns, workers[t].start_ns[round]);
			end_ns = MAX(end_ns, workers[t].end_ns[round]);
		}
		best_s = MIN(best_s, clock_elapsed_s(start_ns, end_ns));
	}
	return best_s;
}

static double time_rounds(struct share *shares, int threads, share_f loop)
{
	g_autofree struct worker *workers = g_new0(struct worker, threads);
	pthread_barrier_t barrier;

	pthread_barrier_init(&barrier, NULL, (unsigned int)threads);
	for (int t = 0; t < threads; t++) {
		workers[t].share = &shares[t];
		workers[t].loop = loop;
		workers[t].barrier = &barrier;
		if (pthread_create(&workers[t].thread, NULL, work, &workers[t]) != 0)
			g_error("cannot start thread %d of %d", t + 1, threads);
	}
	for (int t = 0; t < threads; t++)
		pthread_join(workers[t].thread, NULL);
	pthread_barrier_destroy(&barrier);
	return shortest_round_s(workers, threads);
}

/*
 * Uninitialised; NULL when memory runs out. On huge pages where there are any, as the kernels do.
 */
static void *allocate(size_t bytes)
{
	size_t rounded = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	void *memory = aligned_alloc(HUGE_PAGE, rounded);

	if (memory)
		madvise(memory, rounded, MADV_HUGEPAGE);
	return memory;
}

static double *filled(int64_t n)
{
	double *array = allocate((size_t)n * sizeof(*array));

	for (int64_t i = 0; array && i < n; i++)
		array[i] = (double)(i & 1023) * 0x1p-10;
	return array;
}

static void free_shares(struct share *shares, int threads)
{
	for (int t = 0; t < threads; t++) {
		free(shares[t].a);
		free(shares[t].b);
		free(shares[t].c);
		free(shares[t].index);
	}
	g_free(shares);
}

double loops_triad_gb_per_s(int threads, int64_t bytes)
{
	struct share *shares = g_new0(struct share, threads);
	int64_t n = bytes / (int64_t)sizeof(double) / threads;
	double rate = -1;
	bool good = true;

	for (int t = 0; t < threads; t++) {
		shares[t] = (struct share){n, filled(n), filled(n), filled(n), NULL, 0};
		good = good && shares[t].a && shares[t].b && shares[t].c;
	}
	if (good)
		rate = 24e-9 * (double)n * threads / time_rounds(shares, threads, triad);
	free_shares(shares, threads);
	return rate;
}

static int32_t *random_index(int64_t n)
{
	int32_t *index = allocate((size_t)n * sizeof(*index));
	g_autoptr(GRand) rand = g_rand_new_with_seed(1);

	for (int64_t i = 0; index && i < n; i++)
		index[i] = g_rand_int_range(rand, 0, GATHER_FROM);
	return index;
}

double loops_gather_m_per_s(int threads)
{
	struct share *shares = g_new0(struct share, threads);
	double rate = -1;
	bool good = true;

	for (int t = 0; t < threads; t++) {
		shares[t] = (struct share){GATHER_COUNT,
					   NULL,
					   filled(GATHER_COUNT),
					   filled(GATHER_FROM),
					   random_index(GATHER_COUNT),
					   0};
		good = good && shares[t].b && shares[t].c && shares[t].index;
	}
	if (good)
		rate = 1e-6 * GATHER_COUNT * threads / time_rounds(shares, threads, gather);
	free_shares(shares, threads);
	return rate;
}
