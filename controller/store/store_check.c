/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_check.h"

#include <sys/resource.h>
#include <unistd.h>

#include "common/handoff.h"
#include "controller/store/store_private.h"

/* No writer holds a lock for longer than a reset of the journal takes (store_sync.c). */
#define BUSY_MS 5000

/* An interruption before the check has begun has no effect, so it is repeated after this time. */
#define INTERRUPT_AGAIN_US 10000

/*
 * The thread's low priority lets others use the CPU first. It must not starve for hours, since the
 * journal cannot be reset while it reads. On Linux the nice value belongs to the thread
 * (setpriority(2), "Thread-directed").
 */
#define NICE 10

struct store_check {
	char *path;
	int version;
	store_check_done_f done;
	void *data;
	GThread *thread;
	GError *error; /* of the thread, then passed to done() */
	GMutex mutex;
	GCond closed;
	struct store *store; /* under the mutex: the store while the thread reads it; else NULL */
	bool closing;        /* under the mutex: the owner wants the check to end */
};

/* On the owner's thread. */

static gboolean report_result(gpointer data)
{
	struct store_check *check = data;

	HANDOFF_TAKE(check);
	check->done(check->error, check->data);
	return G_SOURCE_REMOVE;
}

/* On the check's thread. */

/*
 * Publishes the store, so that the owner can interrupt the check. False: the owner wants the check
 * to end, and `store` was closed.
 */
static bool lend_store(struct store_check *check, struct store *store)
{
	bool wanted;

	handoff_lock(&check->mutex);
	wanted = !check->closing;
	if (wanted)
		check->store = store;
	handoff_unlock(&check->mutex);
	if (!wanted)
		store_close(store);
	return wanted;
}

static void take_back(struct store_check *check)
{
	handoff_lock(&check->mutex);
	g_clear_pointer(&check->store, store_close);
	g_cond_signal(&check->closed);
	handoff_unlock(&check->mutex);
}

static gpointer run_check(gpointer data)
{
	struct store_check *check = data;
	struct store *store;

	HANDOFF_TAKE(check);
	setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	store = store_open_beside(check->path, check->version, BUSY_MS, &check->error);
	if (store && !lend_store(check, store))
		return NULL;
	if (store)
		store_check_pages(store, true, &check->error);
	take_back(check);
	HANDOFF_GIVE(check);
	g_idle_add(report_result, check);
	return NULL;
}

/* Life. */

struct store_check *store_check_new(const struct store *store, store_check_done_f done, void *data)
{
	struct store_check *check = g_new0(struct store_check, 1);

	check->path = g_strdup(database_path(store->database));
	check->version = database_version(store->database);
	check->done = done;
	check->data = data;
	g_mutex_init(&check->mutex);
	g_cond_init(&check->closed);
	HANDOFF_GIVE(check);
	check->thread = g_thread_new("store-check", run_check, check);
	return check;
}

static void stop(struct store_check *check)
{
	handoff_lock(&check->mutex);
	check->closing = true;
	while (check->store) {
		sqlite3_interrupt(database_handle(check->store->database));
		handoff_wait_until(&check->closed, &check->mutex,
				   g_get_monotonic_time() + INTERRUPT_AGAIN_US);
	}
	handoff_unlock(&check->mutex);
}

void store_check_free(struct store_check *check)
{
	if (!check)
		return;
	stop(check);
	g_thread_join(check->thread);
	g_idle_remove_by_data(check);
	g_clear_error(&check->error);
	g_mutex_clear(&check->mutex);
	g_cond_clear(&check->closed);
	g_free(check->path);
	g_free(check);
}
