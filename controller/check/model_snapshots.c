/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/check/model_snapshots.h"

#include "controller/check/preempt_snapshots.h"
#include "controller/check/queueing_snapshots.h"
#include "controller/check/sharing_snapshots.h"
#include "controller/check/snapshots.h"

/* So that two seeds have no snapshots in common. */
#define SEED_STRIDE UINT64_C(1000003)

static void free_nodes(void *made)
{
	random_snapshot_free(made);
}

static struct model_snapshot make_nodes(uint64_t seed, uint32_t number)
{
	struct random_snapshot *made = random_snapshot_new(seed);

	return (struct model_snapshot){&made->snapshot, made, free_nodes};
}

static void free_immediate(void *made)
{
	preempt_snapshot_free(made);
}

static struct model_snapshot make_immediate(uint64_t seed, uint32_t number)
{
	struct preempt_snapshot *made =
		preempt_snapshot_new(seed, number % 4 == 0, number % 3 * 50);

	return (struct model_snapshot){&made->snapshot, made, free_immediate};
}

static void free_shared(void *made)
{
	sharing_snapshot_free(made);
}

static struct model_snapshot make_shared(uint64_t seed, uint32_t number)
{
	static const struct sharing_size sizes[] = {{4, 6, 4}, {12, 16, 10}};
	struct sharing_snapshot *made = sharing_snapshot_new(seed, &sizes[number % 2]);

	return (struct model_snapshot){&made->snapshot, made, free_shared};
}

static void free_queues(void *made)
{
	queueing_random_free(made);
}

static struct model_snapshot make_queues(uint64_t seed, uint32_t number)
{
	static const struct sched_node down = {.cluster = 0, .node = 0};
	struct queueing_random *made = queueing_random_new(seed);

	if (number % 4 == 0 && !made->snapshot.queues[0].executes) {
		made->snapshot.down = &down;
		made->snapshot.down_count = 1;
	}
	return (struct model_snapshot){&made->snapshot, made, free_queues};
}

const struct snapshot_model snapshot_models[] = {
	{"nodes", make_nodes},
	{"immediate", make_immediate},
	{"shared", make_shared},
	{"queues", make_queues},
	{NULL, NULL},
};

struct model_snapshot model_snapshot_make(const struct snapshot_model *model, uint64_t seed,
					  uint32_t number)
{
	return model->make(seed * SEED_STRIDE + number, number);
}

void model_snapshot_clear(struct model_snapshot *snapshot)
{
	if (snapshot->made)
		snapshot->free(snapshot->made);
	*snapshot = (struct model_snapshot){0};
}
