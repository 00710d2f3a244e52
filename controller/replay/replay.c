/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/replay/replay_sim.h"

#include <math.h>
#include <string.h>

/* Passes between two calls of progress(): a few milliseconds, unless queues are very long. */
#define PASSES_PER_PROGRESS 256

G_DEFINE_QUARK(replay_error_quark, replay_error)

#define BOTH(i) &replay_orders[2 * (i)], &replay_orders[2 * (i) + 1]

static const struct replay_policy *const policies[] = {
	&replay_fcfs, &replay_easy, &replay_conservative,
	BOTH(0),      BOTH(1),      BOTH(2),
	BOTH(3),      BOTH(4),      BOTH(5),
	BOTH(6),      BOTH(7),      BOTH(8),
	BOTH(9),
};
G_STATIC_ASSERT(G_N_ELEMENTS(policies) == 3 + REPLAY_ORDERS_COUNT);

const struct replay_policy *const *replay_policies(uint32_t *ret_count)
{
	*ret_count = G_N_ELEMENTS(policies);
	return policies;
}

bool replay_policy_ordered(const struct replay_policy *policy)
{
	return policy->pass_rlscheduler;
}

bool replay_policy_is_order(const struct replay_policy *policy)
{
	return policy->order && policy->order != &replay_arrivals;
}

const char *replay_policy_name(const struct replay_policy *policy)
{
	return policy->name;
}

bool replay_policy_reserves(const struct replay_policy *policy)
{
	return policy->reserves;
}

bool replay_policy_compresses(const struct replay_policy *policy)
{
	return policy->compresses;
}

const struct replay_policy *replay_policy_find(const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(policies); i++)
		if (strcmp(policies[i]->name, name) == 0)
			return policies[i];
	return NULL;
}

static bool before(const struct replay_running *a, const struct replay_running *b)
{
	return a->time_s != b->time_s ? a->time_s < b->time_s : a->job < b->job;
}

static void push_end(struct replay *replay, const struct replay_running *running)
{
	struct replay_running *heap = replay->ends;
	uint32_t i = replay->ends_count++;

	for (; i > 0 && before(running, &heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = *running;
}

static void pop_end(struct replay *replay)
{
	struct replay_running *heap = replay->ends;
	const struct replay_running last = heap[--replay->ends_count];
	uint32_t i = 0;

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= replay->ends_count)
			break;
		if (child + 1 < replay->ends_count && before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], &last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
}

/* The index of an expected end, or the index where it belongs. */
static uint32_t find_expected(const struct replay *replay, const struct replay_running *running)
{
	uint32_t low = 0;
	uint32_t high = replay->expected_count;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (before(&replay->expected[middle], running))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void add_expected(struct replay *replay, const struct replay_running *running)
{
	const uint32_t at = find_expected(replay, running);

	memmove(replay->expected + at + 1, replay->expected + at,
		(replay->expected_count - at) * sizeof(*replay->expected));
	replay->expected[at] = *running;
	replay->expected_count++;
}

static double estimate_s(const struct replay *replay, const struct swf_job *job)
{
	return replay->setup->estimates == REPLAY_ESTIMATES_PERFECT ? job->run_s : job->estimate_s;
}

double replay_key(const struct replay *replay, const struct replay_waiting *waiting)
{
	const double submit_s = replay->result->submit_s[waiting->job];
	const struct job_order_facts facts = {
		.waited_s = replay->now_s - submit_s,
		.requested_s = waiting->estimate_s,
		.processors = waiting->procs,
		.submitted_s = submit_s,
	};

	return replay->setup->policy->order->key(&facts);
}

void replay_start(struct replay *replay, const struct replay_waiting *waiting)
{
	const struct swf_job *job = &replay->setup->trace->jobs[waiting->job];
	struct replay_result *result = replay->result;
	struct replay_running running = {.job = waiting->job, .procs = waiting->procs};
	double run_s = job->run_s;

	if (!replay->setup->overrun && run_s > waiting->estimate_s) {
		run_s = waiting->estimate_s;
		result->killed++;
	}
	result->start_s[waiting->job] = replay->now_s;
	result->end_s[waiting->job] = replay->now_s + run_s;
	if (waiting->least_s < replay->now_s) {
		result->slip_s[waiting->job] = replay->now_s - waiting->least_s;
		result->slipped++;
	}
	result->used_s += run_s * waiting->procs;
	replay->free -= waiting->procs;
	running.time_s = replay->now_s + run_s;
	push_end(replay, &running);
	running.time_s = replay->now_s + waiting->estimate_s;
	add_expected(replay, &running);
}

void replay_unqueue(struct replay *replay, uint32_t place)
{
	struct replay_waiting *queue = replay->queue + replay->queue_first;

	replay->queue_count--;
	if (place == 0)
		replay->queue_first++;
	else
		memmove(queue + place, queue + place + 1,
			(replay->queue_count - place) * sizeof(*queue));
}

void replay_start_heads(struct replay *replay)
{
	while (replay->queue_count > 0 && replay_waiting(replay, 0)->procs <= replay->free) {
		replay_start(replay, replay_waiting(replay, 0));
		replay_unqueue(replay, 0);
	}
}

/* Ends the job whose end is next, at now_s. */
static void complete(struct replay *replay)
{
	const struct replay_running ended = replay->ends[0];
	const struct swf_job *job = &replay->setup->trace->jobs[ended.job];
	const struct replay_running expected = {
		.time_s = replay->result->start_s[ended.job] + estimate_s(replay, job),
		.job = ended.job,
		.procs = ended.procs,
	};
	const uint32_t at = find_expected(replay, &expected);

	pop_end(replay);
	replay_arrivals_ended(replay->arrivals, ended.job, replay->now_s);
	replay->free += ended.procs;
	replay->completed = true;
	replay->surprised |= replay->now_s != expected.time_s;
	replay->early |= replay->now_s < expected.time_s;
	replay->expected_count--;
	memmove(replay->expected + at, replay->expected + at + 1,
		(replay->expected_count - at) * sizeof(*replay->expected));
	if (replay->setup->policy->ended)
		replay->setup->policy->ended(replay, &expected);
}

/* Puts the next job at the end of the queue. */
static void submit(struct replay *replay)
{
	const uint32_t index = replay_arrivals_take(replay->arrivals);
	const struct swf_job *job = &replay->setup->trace->jobs[index];
	const struct replay_waiting waiting = {
		.estimate_s = estimate_s(replay, job),
		.start_s = INFINITY,
		.least_s = INFINITY,
		.job = index,
		.procs = job->procs,
		.number = replay->submitted++,
	};

	replay->result->submit_s[index] = replay->now_s;
	if (replay->queue_first + replay->queue_count == replay->queue_capacity) {
		if (replay->queue_first <= replay->queue_capacity / 2) {
			replay->queue_capacity = 2 * replay->queue_capacity + 64;
			replay->queue = g_renew(struct replay_waiting, replay->queue,
						replay->queue_capacity);
		}
		memmove(replay->queue, replay->queue + replay->queue_first,
			replay->queue_count * sizeof(*replay->queue));
		replay->queue_first = 0;
	}
	replay->queue[replay->queue_first + replay->queue_count++] = waiting;
	replay->arrived++;
}

/* Handles one event of this instant, a submission if there is one. */
static void happen_once(struct replay *replay)
{
	if (replay_arrivals_next_s(replay->arrivals) <= replay->now_s)
		submit(replay);
	else
		complete(replay);
}

/*
 * Handles all events of the next instant; with rlscheduler one of them. Returns false if there is
 * none.
 */
static bool step(struct replay *replay)
{
	const struct replay_policy *policy = replay->setup->policy;
	double next_s = replay_arrivals_next_s(replay->arrivals);

	if (replay->ends_count > 0)
		next_s = fmin(next_s, replay->ends[0].time_s);
	if (policy->next_s && !replay->setup->rlscheduler)
		next_s = fmin(next_s, policy->next_s(replay));
	if (isinf(next_s))
		return false;
	replay->now_s = next_s;
	if (replay->setup->rlscheduler) {
		happen_once(replay);
	} else {
		while (replay->ends_count > 0 && replay->ends[0].time_s <= next_s)
			complete(replay);
		while (replay_arrivals_next_s(replay->arrivals) <= next_s)
			submit(replay);
	}
	if (replay->queue_count > 0) {
		if (replay->setup->rlscheduler)
			policy->pass_rlscheduler(replay);
		else
			policy->pass(replay);
		replay->result->passes++;
	}
	replay->arrived = 0;
	replay->completed = replay->surprised = replay->early = false;
	return true;
}

/* Allocates the arrays of a result. */
static void begin_result(const struct swf_trace *trace, struct replay_result *ret_result)
{
	*ret_result = (struct replay_result){
		.submit_s = g_new(double, trace->jobs_count),
		.start_s = g_new(double, trace->jobs_count),
		.end_s = g_new(double, trace->jobs_count),
		.promised_s = g_new(double, trace->jobs_count),
		.slip_s = g_new0(double, trace->jobs_count),
		.jobs_count = trace->jobs_count,
		.begin_s = trace->jobs_count > 0 ? trace->jobs[0].submit_s : 0,
	};
	for (uint32_t i = 0; i < trace->jobs_count; i++) {
		ret_result->submit_s[i] = ret_result->start_s[i] = ret_result->end_s[i] = NAN;
		ret_result->promised_s[i] = INFINITY;
	}
}

void replay_run(const struct replay_setup *setup, struct replay_result *ret_result)
{
	const struct swf_trace *trace = setup->trace;
	const uint32_t most = MIN(setup->procs, trace->jobs_count);
	struct replay replay = {
		.setup = setup,
		.arrivals = setup->semi_open ? replay_arrivals_semi_open(trace, setup->think_most_s)
					     : replay_arrivals_open(trace),
		.result = ret_result,
		.now_s = -INFINITY,
		.free = setup->procs,
		.ends = g_new(struct replay_running, most + 1),
		.expected = g_new(struct replay_running, most + 1),
	};
	double last_s = 0;

	begin_result(trace, ret_result);
	if (setup->semi_open) {
		ret_result->sessions = replay_arrivals_sessions(replay.arrivals);
		ret_result->followed = replay_arrivals_followers(replay.arrivals);
	}
	if (setup->policy->begin)
		setup->policy->begin(&replay);
	while (step(&replay))
		if (setup->progress && ret_result->passes % PASSES_PER_PROGRESS == 0)
			setup->progress(replay.submitted, trace->jobs_count, setup->data);
	for (uint32_t i = 0; i < trace->jobs_count; i++)
		last_s = fmax(last_s, ret_result->end_s[i]);
	ret_result->makespan_s = trace->jobs_count > 0 ? last_s - ret_result->begin_s : 0;
	if (setup->policy->finish)
		setup->policy->finish(&replay);
	replay_arrivals_free(replay.arrivals);
	g_free(replay.ends);
	g_free(replay.expected);
	g_free(replay.queue);
	g_free(replay.steps);
	g_free(replay.order);
}

bool replay_check(const struct replay_setup *setup, const struct replay_result *result,
		  GError **error)
{
	uint32_t first = result->jobs_count;
	uint32_t count = 0;

	for (uint32_t i = result->jobs_count; i-- > 0;)
		if (isnan(result->start_s[i])) {
			first = i;
			count++;
		}
	if (count == 0)
		return true;
	g_set_error(error, REPLAY_ERROR, REPLAY_ERROR_UNSTARTED,
		    "--policy %s: job %" G_GINT64_FORMAT " never started, and %u of %u jobs did "
		    "not: the policy left it waiting when nothing ran; choose another policy",
		    replay_policy_name(setup->policy), setup->trace->jobs[first].id, count,
		    result->jobs_count);
	return false;
}

void replay_finish(struct replay_result *result)
{
	g_free(result->submit_s);
	g_free(result->start_s);
	g_free(result->end_s);
	g_free(result->promised_s);
	g_free(result->slip_s);
	*result = (struct replay_result){0};
}
