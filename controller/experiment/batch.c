/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/experiment/batch.h"

#include <gio/gio.h>

#include "common/handoff.h"

/* What the threads share. */
struct running {
	const struct batch *batch;
	gint next; /* the next piece that a thread takes */
	gint done;
	gint stop;
	GMutex mutex;
	GCond finished;
	uint32_t threads; /* running threads; under the mutex */
	GError *error;    /* the first; under the mutex */
};

static void lock(struct running *running)
{
	g_mutex_lock(&running->mutex);
	HANDOFF_TAKE(running);
}

static void unlock(struct running *running)
{
	HANDOFF_GIVE(running);
	g_mutex_unlock(&running->mutex);
}

static gpointer do_pieces(gpointer data)
{
	struct running *running = data;
	const struct batch *batch = running->batch;
	GError *error = NULL;

	HANDOFF_TAKE(running);
	while (!g_atomic_int_get(&running->stop)) {
		const gint piece = g_atomic_int_add(&running->next, 1);

		if (piece >= (gint)batch->count)
			break;
		if (!batch->work((uint32_t)piece, batch->data, &error)) {
			g_atomic_int_set(&running->stop, 1);
			break;
		}
		g_atomic_int_inc(&running->done);
	}
	lock(running);
	if (error && !running->error)
		running->error = g_steal_pointer(&error);
	running->threads--;
	g_cond_signal(&running->finished);
	unlock(running);
	g_clear_error(&error);
	return NULL;
}

/* Waits for the threads and calls progress() once a second. */
static void wait_for_threads(struct running *running)
{
	const struct batch *batch = running->batch;

	lock(running);
	while (running->threads > 0) {
		const gint64 deadline = g_get_monotonic_time() + G_TIME_SPAN_SECOND;
		bool signalled;

		HANDOFF_GIVE(running);
		signalled = g_cond_wait_until(&running->finished, &running->mutex, deadline);
		HANDOFF_TAKE(running);
		if (signalled || !batch->progress)
			continue;
		unlock(running);
		if (!batch->progress((uint32_t)g_atomic_int_get(&running->done), batch->count,
				     batch->progress_data))
			g_atomic_int_set(&running->stop, 1);
		lock(running);
	}
	unlock(running);
}

bool batch_run(const struct batch *batch, GError **error)
{
	struct running running = {.batch = batch, .threads = MIN(batch->jobs, batch->count)};
	const uint32_t count = running.threads;
	g_autofree GThread **threads = g_new(GThread *, count + 1);

	g_mutex_init(&running.mutex);
	g_cond_init(&running.finished);
	HANDOFF_GIVE(&running);
	for (uint32_t i = 0; i < count; i++)
		threads[i] = g_thread_new(batch->name, do_pieces, &running);
	wait_for_threads(&running);
	for (uint32_t i = 0; i < count; i++)
		g_thread_join(threads[i]);
	g_mutex_clear(&running.mutex);
	g_cond_clear(&running.finished);
	if (!running.error && g_atomic_int_get(&running.stop))
		running.error = g_error_new_literal(G_IO_ERROR, G_IO_ERROR_CANCELLED, "stopped");
	if (!running.error)
		return true;
	g_propagate_error(error, running.error);
	return false;
}
