/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_check.h"

#include <sys/resource.h>
#include <unistd.h>

#include "common/handoff.h"
#include "controller/store/store_private.h"

/* Nobody writes for longer than it takes to begin the journal anew (store_sync.c). */
#define BUSY_MS 5000

/* An interruption that comes before the check has begun is lost: it is interrupted again after that. */
#define INTERRUPT_AGAIN_US 10000

/* Behind whoever wants the CPU, but not for hours: while it reads, the journal is not begun anew. On Linux a thread
 * has that for itself (setpriority(2), "Thread-directed"). */
#define NICE 10

struct store_check {
	char *path;
	int version;
	store_check_done_f done;
	void *data;
	GThread *thread;
	GError *error; /* the thread's, then that of done() */
	GMutex mutex;
	GCond closed;
	struct store *store; /* under the mutex: while the thread reads it; else NULL */
	bool closing;        /* under the mutex: nobody waits any longer */
};

/* On the owner's thread. */

static gboolean tell(gpointer data)
{
	struct store_check *check = data;

	HANDOFF_TAKE(check);
	check->done(check->error, check->data);
	return G_SOURCE_REMOVE;
}

/* On the other. */

/* False: it is not wanted any more, and `store` is closed. */
static bool lend(struct store_check *check, struct store *store)
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

static gpointer work(gpointer data)
{
	struct store_check *check = data;
	struct store *store;

	HANDOFF_TAKE(check);
	setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	store = store_open_beside(check->path, check->version, BUSY_MS, &check->error);
	if (store && !lend(check, store))
		return NULL;
	if (store)
		store_check_pages(store, true, &check->error);
	take_back(check);
	HANDOFF_GIVE(check);
	g_idle_add(tell, check);
	return NULL;
}

/* Life. */

struct store_check *store_check_new(const struct store *store, store_check_done_f done, void *data)
{
	struct store_check *check = g_new0(struct store_check, 1);

	check->path = g_strdup(store->path);
	check->version = store->version;
	check->done = done;
	check->data = data;
	g_mutex_init(&check->mutex);
	g_cond_init(&check->closed);
	HANDOFF_GIVE(check);
	check->thread = g_thread_new("store-check", work, check);
	return check;
}

static void stop(struct store_check *check)
{
	handoff_lock(&check->mutex);
	check->closing = true;
	while (check->store) {
		sqlite3_interrupt(check->store->db);
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
