/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/replay/replay_arrivals.h"

#include <math.h>

#define NONE UINT32_MAX

/* Jobs of a user that do not wait for one another. */
struct batch {
	uint32_t left;      /* jobs that have not ended */
	uint32_t first_job; /* then by next_in_batch */
	uint32_t last_job;
	uint32_t follower; /* the batch that is submitted after it; NONE: there is none */
	double think_s;    /* from its end to the follower */
	double submit_s;   /* of its first job in the trace */
	double ended_s;    /* of its last end in the trace */
};

/* A submission that is known. */
struct arrival {
	double time_s;
	uint32_t job;
};

struct replay_arrivals {
	const struct swf_trace *trace;
	uint32_t next; /* open: the next job of the trace */
	/* Semi-open: */
	bool semi_open;
	double think_most_s;
	GArray *batches;         /* struct batch */
	uint32_t *batch_of;      /* per job */
	uint32_t *next_in_batch; /* per job; NONE: the last */
	uint32_t followers;
	uint32_t known_count;
	struct arrival *known; /* heap by time, then job */
};

static bool before(const struct arrival *a, const struct arrival *b)
{
	return a->time_s != b->time_s ? a->time_s < b->time_s : a->job < b->job;
}

static void push(struct replay_arrivals *arrivals, double time_s, uint32_t job)
{
	const struct arrival new = {.time_s = time_s, .job = job};
	struct arrival *heap = arrivals->known;
	uint32_t i = arrivals->known_count++;

	for (; i > 0 && before(&new, &heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = new;
}

static uint32_t pop(struct replay_arrivals *arrivals)
{
	struct arrival *heap = arrivals->known;
	const uint32_t job = heap[0].job;
	const struct arrival last = heap[--arrivals->known_count];
	uint32_t i = 0;

	for (uint32_t child; (child = 2 * i + 1) < arrivals->known_count; i = child) {
		if (child + 1 < arrivals->known_count && before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], &last))
			break;
		heap[i] = heap[child];
	}
	heap[i] = last;
	return job;
}

/* The jobs of a batch are submitted from `time_s` on, at the distances of the trace. */
static void submit_batch(struct replay_arrivals *arrivals, const struct batch *batch, double time_s)
{
	for (uint32_t job = batch->first_job; job != NONE; job = arrivals->next_in_batch[job])
		push(arrivals, time_s + (arrivals->trace->jobs[job].submit_s - batch->submit_s),
		     job);
}

/* Puts a job into a batch, which is the user's last. Returns the batch. */
static uint32_t add_job(struct replay_arrivals *arrivals, uint32_t job, uint32_t last)
{
	const struct swf_job *from = &arrivals->trace->jobs[job];
	const double ended_s = from->submit_s + fmax(from->wait_s, 0) + from->run_s;
	struct batch *batch =
		last == NONE ? NULL : &g_array_index(arrivals->batches, struct batch, last);
	uint32_t index = last;

	arrivals->next_in_batch[job] = NONE;
	if (!batch || from->submit_s >= batch->ended_s) {
		const struct batch new = {.first_job = job,
					  .last_job = job,
					  .follower = NONE,
					  .submit_s = from->submit_s,
					  .ended_s = -(double)INFINITY};

		index = arrivals->batches->len;
		if (batch && from->submit_s - batch->ended_s <= arrivals->think_most_s) {
			batch->follower = index;
			batch->think_s = from->submit_s - batch->ended_s;
			arrivals->followers++;
		}
		g_array_append_val(arrivals->batches, new);
		batch = &g_array_index(arrivals->batches, struct batch, index);
	} else {
		arrivals->next_in_batch[batch->last_job] = job;
		batch->last_job = job;
	}
	batch->left++;
	batch->ended_s = fmax(batch->ended_s, ended_s);
	arrivals->batch_of[job] = index;
	return index;
}

/* Finds the batches of all users. */
static void find_batches(struct replay_arrivals *arrivals)
{
	const struct swf_trace *trace = arrivals->trace;
	g_autoptr(GHashTable) last = g_hash_table_new(g_int64_hash, g_int64_equal);

	for (uint32_t i = 0; i < trace->jobs_count; i++) {
		const int64_t *user = &trace->jobs[i].user;
		gpointer found = *user >= 0 ? g_hash_table_lookup(last, user) : NULL;
		const uint32_t index =
			add_job(arrivals, i, found ? GPOINTER_TO_UINT(found) - 1 : NONE);

		if (*user >= 0)
			g_hash_table_insert(last, (gpointer)user, GUINT_TO_POINTER(index + 1));
	}
}

struct replay_arrivals *replay_arrivals_open(const struct swf_trace *trace)
{
	struct replay_arrivals *arrivals = g_new0(struct replay_arrivals, 1);

	arrivals->trace = trace;
	return arrivals;
}

struct replay_arrivals *replay_arrivals_semi_open(const struct swf_trace *trace,
						  double think_most_s)
{
	struct replay_arrivals *arrivals = replay_arrivals_open(trace);
	g_autofree bool *follows = NULL;

	arrivals->semi_open = true;
	arrivals->think_most_s = think_most_s;
	arrivals->batches = g_array_new(FALSE, FALSE, sizeof(struct batch));
	arrivals->batch_of = g_new(uint32_t, trace->jobs_count);
	arrivals->next_in_batch = g_new(uint32_t, trace->jobs_count);
	arrivals->known = g_new(struct arrival, trace->jobs_count);
	find_batches(arrivals);
	follows = g_new0(bool, arrivals->batches->len);
	for (guint i = 0; i < arrivals->batches->len; i++) {
		const struct batch *batch = &g_array_index(arrivals->batches, struct batch, i);

		if (batch->follower != NONE)
			follows[batch->follower] = true;
	}
	for (guint i = 0; i < arrivals->batches->len; i++) {
		const struct batch *batch = &g_array_index(arrivals->batches, struct batch, i);

		if (!follows[i])
			submit_batch(arrivals, batch, batch->submit_s);
	}
	return arrivals;
}

void replay_arrivals_free(struct replay_arrivals *arrivals)
{
	if (!arrivals)
		return;
	g_clear_pointer(&arrivals->batches, g_array_unref);
	g_free(arrivals->batch_of);
	g_free(arrivals->next_in_batch);
	g_free(arrivals->known);
	g_free(arrivals);
}

uint32_t replay_arrivals_sessions(const struct replay_arrivals *arrivals)
{
	return arrivals->semi_open ? arrivals->batches->len - arrivals->followers
				   : arrivals->trace->jobs_count;
}

uint32_t replay_arrivals_followers(const struct replay_arrivals *arrivals)
{
	return arrivals->followers;
}

double replay_arrivals_next_s(const struct replay_arrivals *arrivals)
{
	if (arrivals->semi_open)
		return arrivals->known_count > 0 ? arrivals->known[0].time_s : (double)INFINITY;
	return arrivals->next < arrivals->trace->jobs_count
		       ? arrivals->trace->jobs[arrivals->next].submit_s
		       : (double)INFINITY;
}

uint32_t replay_arrivals_take(struct replay_arrivals *arrivals)
{
	return arrivals->semi_open ? pop(arrivals) : arrivals->next++;
}

void replay_arrivals_ended(struct replay_arrivals *arrivals, uint32_t job, double now_s)
{
	struct batch *batch;

	if (!arrivals->semi_open)
		return;
	batch = &g_array_index(arrivals->batches, struct batch, arrivals->batch_of[job]);
	if (--batch->left == 0 && batch->follower != NONE)
		submit_batch(arrivals,
			     &g_array_index(arrivals->batches, struct batch, batch->follower),
			     now_s + batch->think_s);
}
