/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * IS: rank integer keys by a bucket sort over all MPI processes.
 *
 * One ranking: count the keys per bucket, sum the counts over the ranks, give each rank a
 * contiguous run of buckets with about its share of the keys, send every key to the rank that
 * owns its bucket, count the keys there one by one and sum the counts up.  The rank of a key is
 * then the number of smaller keys: those in lower buckets plus those counted here.
 *
 * Keys that stay on their rank are not copied through MPI; they are counted where they lie.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "benchmarks/npb/is_keys.h"
#include "benchmarks/npb/npb_kernel.h"

/* Few enough that the write positions of the scatter stay in the first-level cache. */
#define MIN_BUCKETS_LOG2 8
/* Buckets per rank, at least: keeps the shares within some per cent of one another. */
#define BUCKETS_PER_RANK 16

/* Keys that are drawn in one step of progress. */
#define STEP_KEYS (1 << 18)
/* Steps of one ranking, each of them a pass over all keys; the verification is another one. */
#define RANKING_STEPS 4

struct npb_problem {
	struct npb_context context;
	const struct is_class *class;
	int shift;   /* bucket of key k: k >> shift */
	int buckets; /* number of buckets */

	int32_t n;                         /* keys of this rank before the exchange */
	int32_t *keys;                     /* [n] the input, in its order */
	int32_t first_keys[IS_CHANGED];    /* rank 0: the input as it was at the start */
	int32_t *sent;                     /* [n] the input in the order of buckets */
	int32_t *received;                 /* [received_size] from other ranks */
	int32_t received_n, received_size; /* keys received; room for so many */

	int32_t *local;    /* [buckets + IS_TESTS] counts of this rank; own test keys */
	int32_t *total;    /* the same, summed over the ranks */
	int32_t *position; /* [buckets] where the next key of a bucket goes in sent */
	int *send_count, *send_start, *receive_count, *receive_start; /* [ranks] */

	int32_t own_start, own_n;     /* the part of sent that stays here */
	int32_t first_key, key_range; /* this rank's buckets hold keys first_key.. + key_range */
	int32_t below;                /* keys in lower buckets, all ranks */
	int32_t *counts;              /* [key_range + 1] keys here that are <= first_key + i */
	int32_t counts_size;

	int passed; /* partial tests passed on this rank in this run */
};

static struct npb_shape is_shape(char class)
{
	const struct is_class *figures = is_class_find(class);
	double keys = (double)((int64_t)1 << figures->keys_log2);

	return (struct npb_shape){
		.size = (int64_t)1 << figures->keys_log2,
		.iterations = IS_ITERATIONS,
		.operations = IS_ITERATIONS * keys,
	};
}

static int32_t keys_per_rank(char class, int ranks)
{
	return (int32_t)((1 << is_class_find(class)->keys_log2) / ranks);
}

static struct npb_steps is_steps(char class, int ranks)
{
	return (struct npb_steps){
		.create = (keys_per_rank(class, ranks) + STEP_KEYS - 1) / STEP_KEYS + RANKING_STEPS,
		.run = IS_ITERATIONS * RANKING_STEPS + 1,
	};
}

static int is_max_ranks(char class)
{
	return is_class_find(class)->max_ranks;
}

/* Count keys per bucket; the tail of the array carries the test keys that this rank holds. */
static void count_buckets(struct npb_problem *p)
{
	const int32_t *restrict keys = p->keys;
	int32_t *restrict local = p->local;
	int64_t first = (int64_t)p->context.rank * p->n;
	int shift = p->shift;

	memset(local, 0, sizeof(*local) * (size_t)(p->buckets + IS_TESTS));
	for (int32_t i = 0; i < p->n; i++)
		local[keys[i] >> shift]++;
	for (int t = 0; t < IS_TESTS; t++) {
		int64_t i = p->class->test_index[t] - first;

		if (i >= 0 && i < p->n)
			local[p->buckets + t] = keys[i];
	}
}

/* Bring the keys into the order of their buckets. */
static void scatter_keys(struct npb_problem *p)
{
	const int32_t *restrict keys = p->keys;
	int32_t *restrict position = p->position;
	int32_t *restrict sent = p->sent;
	int shift = p->shift;
	int32_t sum = 0;

	for (int b = 0; b < p->buckets; b++) {
		position[b] = sum;
		sum += p->local[b];
	}
	for (int32_t i = 0; i < p->n; i++) {
		int32_t key = keys[i];

		sent[position[key >> shift]++] = key;
	}
}

/* Take note of the buckets [first, end) that this rank is to own. */
static void own_buckets(struct npb_problem *p, int first, int end, int32_t below)
{
	p->first_key = first << p->shift;
	p->key_range = (end - first) << p->shift;
	p->below = below;
}

/*
 * Deal the buckets out: rank r gets buckets until the keys so far reach (r+1)/P of all.  All
 * ranks compute the same from the same totals.
 */
static void share_buckets(struct npb_problem *p)
{
	int64_t all = (int64_t)1 << p->class->keys_log2;
	int64_t so_far = 0;
	int32_t mine_so_far = 0;
	int bucket = 0;

	for (int r = 0; r < p->context.ranks; r++) {
		int64_t goal = all / p->context.ranks * (r + 1);
		int64_t below = so_far;
		int first = bucket;

		p->send_start[r] = mine_so_far;
		while (bucket < p->buckets && (so_far < goal || r == p->context.ranks - 1)) {
			so_far += p->total[bucket];
			mine_so_far += p->local[bucket];
			bucket++;
		}
		p->send_count[r] = mine_so_far - p->send_start[r];
		if (r == p->context.rank)
			own_buckets(p, first, bucket, (int32_t)below);
	}
}

/* Make room for what the others send; the first, untimed ranking settles the size. */
static void reserve_received(struct npb_problem *p)
{
	if (p->received_n > p->received_size) {
		free(p->received);
		p->received_size = p->received_n;
		p->received = npb_alloc((size_t)p->received_size, sizeof(int32_t), "IS exchange");
	}
	if (p->key_range + 1 > p->counts_size) {
		free(p->counts);
		p->counts_size = p->key_range + 1;
		p->counts = npb_alloc((size_t)p->counts_size, sizeof(int32_t), "IS counts");
	}
}

static void exchange_keys(struct npb_problem *p)
{
	int rank = p->context.rank;

	p->own_start = p->send_start[rank];
	p->own_n = p->send_count[rank];
	p->send_count[rank] = 0;
	MPI_Alltoall(p->send_count, 1, MPI_INT, p->receive_count, 1, MPI_INT, p->context.comm);
	p->received_n = 0;
	for (int r = 0; r < p->context.ranks; r++) {
		p->receive_start[r] = p->received_n;
		p->received_n += p->receive_count[r];
	}
	reserve_received(p);
	MPI_Alltoallv(p->sent, p->send_count, p->send_start, MPI_INT, p->received, p->receive_count,
		      p->receive_start, MPI_INT, p->context.comm);
}

/* counts[k] becomes the number of keys here that are not above first_key + k. */
static void count_keys(struct npb_problem *p)
{
	const int32_t *restrict own = p->sent + p->own_start;
	const int32_t *restrict received = p->received;
	int32_t *restrict counts = p->counts;
	int32_t first_key = p->first_key;
	int32_t sum = 0;

	memset(counts, 0, sizeof(*counts) * (size_t)p->key_range);
	for (int32_t i = 0; i < p->own_n; i++)
		counts[own[i] - first_key]++;
	for (int32_t i = 0; i < p->received_n; i++)
		counts[received[i] - first_key]++;
	for (int32_t k = 0; k < p->key_range; k++) {
		sum += counts[k];
		counts[k] = sum;
	}
}

/* Check the ranks of those test keys whose buckets this rank owns. */
static void verify_partially(struct npb_problem *p, int it)
{
	for (int t = 0; t < IS_TESTS; t++) {
		int32_t k = p->total[p->buckets + t] - p->first_key;
		int32_t rank;

		if (k < 0 || k >= p->key_range)
			continue;
		rank = p->below + (k > 0 ? p->counts[k - 1] : 0);
		if (rank == is_expected_rank(p->class, t, it))
			p->passed++;
	}
}

/* One whole ranking, iteration @it of 1..IS_ITERATIONS. */
static void rank_keys(struct npb_problem *p, int it)
{
	if (p->context.rank == 0)
		is_keys_change(p->class, it, p->keys);
	count_buckets(p);
	MPI_Allreduce(p->local, p->total, p->buckets + IS_TESTS, MPI_INT, MPI_SUM, p->context.comm);
	npb_progress_step(p->context.progress);
	scatter_keys(p);
	npb_progress_step(p->context.progress);
	share_buckets(p);
	exchange_keys(p);
	npb_progress_step(p->context.progress);
	count_keys(p);
	verify_partially(p, it);
	npb_progress_step(p->context.progress);
}

/* Put the keys that this rank owns in order, by their ranks; the caller frees the result. */
static int32_t *sort_keys(const struct npb_problem *p)
{
	size_t n = (size_t)(p->own_n + p->received_n);
	size_t range = (size_t)p->key_range;
	int32_t *sorted = npb_alloc(n, sizeof(*sorted), "IS verification");
	int32_t *next = npb_alloc(range, sizeof(*next), "IS verification");

	memcpy(next, p->counts, range * sizeof(*next));
	for (int32_t i = 0; i < p->own_n; i++)
		sorted[--next[p->sent[p->own_start + i] - p->first_key]] =
			p->sent[p->own_start + i];
	for (int32_t i = 0; i < p->received_n; i++)
		sorted[--next[p->received[i] - p->first_key]] = p->received[i];
	free(next);
	return sorted;
}

/* A sum over the keys that tells different collections of keys apart, in any order. */
static uint64_t fingerprint(const int32_t *keys, int32_t n)
{
	uint64_t sum = 0;

	for (int32_t i = 0; i < n; i++) {
		uint64_t x = ((uint64_t)keys[i] + 1) * UINT64_C(0x9e3779b97f4a7c15);

		sum += (x ^ (x >> 31)) * UINT64_C(0xbf58476d1ce4e5b9);
	}
	return sum;
}

/* No rank has lost, gained or altered a key between the input and its sorted form. */
static bool is_permutation(const struct npb_problem *p, const int32_t *sorted, int32_t n)
{
	uint64_t mine[2] = {
		fingerprint(p->keys, p->n) - fingerprint(sorted, n),
		(uint64_t)p->n - (uint64_t)n,
	};
	uint64_t all[2] = {0, 0};

	MPI_Allreduce(mine, all, 2, MPI_UINT64_T, MPI_SUM, p->context.comm);
	return all[0] == 0 && all[1] == 0;
}

/* The last key of each rank is not above the first key of the next rank that has any. */
static bool are_blocks_ordered(const struct npb_problem *p, const int32_t *sorted, int32_t n)
{
	int32_t ends[3] = {n, n > 0 ? sorted[0] : 0, n > 0 ? sorted[n - 1] : 0};
	int32_t *all = npb_alloc((size_t)p->context.ranks * 3, sizeof(*all), "IS verification");
	int32_t last = -1;
	bool ordered = true;

	MPI_Allgather(ends, 3, MPI_INT, all, 3, MPI_INT, p->context.comm);
	for (int r = 0; r < p->context.ranks; r++) {
		if (all[3 * r] == 0)
			continue;
		ordered = ordered && last <= all[3 * r + 1];
		last = all[3 * r + 2];
	}
	free(all);
	return ordered;
}

static bool verify_fully(const struct npb_problem *p)
{
	int32_t n = p->own_n + p->received_n;
	int32_t *sorted = sort_keys(p);
	bool good = true;

	for (int32_t i = 1; i < n; i++)
		good = good && sorted[i - 1] <= sorted[i];
	good = are_blocks_ordered(p, sorted, n) && good;
	good = is_permutation(p, sorted, n) && good;
	free(sorted);
	return npb_all_true(&p->context, good);
}

/* All partial tests of all iterations passed, each on the rank that owned its key. */
static bool all_partial_passed(const struct npb_problem *p)
{
	int all = 0;

	MPI_Allreduce(&p->passed, &all, 1, MPI_INT, MPI_SUM, p->context.comm);
	return all == IS_TESTS * IS_ITERATIONS;
}

static bool is_run(struct npb_problem *p, double *ret_time_s)
{
	bool passed, sorted;
	double start_s;

	if (p->context.rank == 0)
		memcpy(p->keys, p->first_keys, sizeof(p->first_keys));
	p->passed = 0;
	MPI_Barrier(p->context.comm);
	start_s = npb_time_s();
	for (int it = 1; it <= IS_ITERATIONS; it++)
		rank_keys(p, it);
	*ret_time_s = npb_elapsed_max(&p->context, start_s);
	passed = all_partial_passed(p);
	sorted = verify_fully(p);
	npb_progress_step(p->context.progress);
	return sorted && passed;
}

static void allocate(struct npb_problem *p)
{
	size_t n = (size_t)p->n;
	size_t buckets = (size_t)p->buckets;
	size_t ranks = (size_t)p->context.ranks;

	p->keys = npb_alloc(n, sizeof(int32_t), "IS keys");
	p->sent = npb_alloc(n, sizeof(int32_t), "IS buckets");
	p->local = npb_alloc(buckets + IS_TESTS, sizeof(int32_t), "IS bucket counts");
	p->total = npb_alloc(buckets + IS_TESTS, sizeof(int32_t), "IS bucket counts");
	p->position = npb_alloc(buckets, sizeof(int32_t), "IS bucket counts");
	p->send_count = npb_alloc(ranks, sizeof(int), "IS exchange");
	p->send_start = npb_alloc(ranks, sizeof(int), "IS exchange");
	p->receive_count = npb_alloc(ranks, sizeof(int), "IS exchange");
	p->receive_start = npb_alloc(ranks, sizeof(int), "IS exchange");
}

static int buckets_log2(const struct npb_problem *p)
{
	int log2 = MIN_BUCKETS_LOG2;

	while ((1 << log2) < BUCKETS_PER_RANK * p->context.ranks)
		log2++;
	return log2 < p->class->max_log2 ? log2 : p->class->max_log2;
}

static void fill_keys(struct npb_problem *p)
{
	int64_t first = (int64_t)p->context.rank * p->n;

	for (int32_t done = 0; done < p->n; done += STEP_KEYS) {
		int32_t left = p->n - done;

		is_keys_fill(p->class, first + done, left < STEP_KEYS ? left : STEP_KEYS,
			     p->keys + done);
		npb_progress_step(p->context.progress);
	}
}

static struct npb_problem *is_create(const struct npb_context *context)
{
	struct npb_problem *p = npb_alloc(1, sizeof(*p), "IS");

	p->context = *context;
	p->class = is_class_find(context->class);
	p->buckets = 1 << buckets_log2(p);
	p->shift = p->class->max_log2 - buckets_log2(p);
	p->n = keys_per_rank(context->class, context->ranks);
	allocate(p);
	fill_keys(p);
	memcpy(p->first_keys, p->keys, sizeof(p->first_keys));
	rank_keys(p, 1); /* untimed: touches all pages */
	return p;
}

static void is_destroy(struct npb_problem *p)
{
	if (!p)
		return;
	free(p->keys);
	free(p->sent);
	free(p->received);
	free(p->local);
	free(p->total);
	free(p->position);
	free(p->send_count);
	free(p->send_start);
	free(p->receive_count);
	free(p->receive_start);
	free(p->counts);
	free(p);
}

const struct npb_kernel npb_is = {
	.name = "IS",
	.operation_type = "keys ranked",
	.shape = is_shape,
	.max_ranks = is_max_ranks,
	.steps = is_steps,
	.create = is_create,
	.run = is_run,
	.destroy = is_destroy,
};
