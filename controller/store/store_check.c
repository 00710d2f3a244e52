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
 * (setpriority(2), "Thread-directed"). A platform may have no thread but that of the main loop,
 * which keeps its priority.
 */
#define NICE 10

struct store_check {
	const struct platform *platform;
	char *path;
	int version;
	store_check_done_f done;
	void *data;
	struct platform_job *job; /* NULL: the check has ended, or no thread could be started */
	GError *error;            /* of the work, then passed to done() */
	GMutex mutex;
	GCond closed;
	struct store *store; /* under the mutex: the store while the thread reads it; else NULL */
	bool closing;        /* under the mutex: the owner wants the check to end */
};

/* On the owner's thread. */

static void report_result(void *data)
{
	struct store_check *check = data;

	check->job = NULL;
	check->done(check->error, check->data);
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

static void run_check(void *data)
{
	struct store_check *check = data;
	struct store *store;

	if (gettid() != getpid())
		setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	store = store_open_beside(check->platform, check->path, check->version, BUSY_MS,
				  &check->error);
	if (store && !lend_store(check, store))
		return;
	if (store)
		store_check_pages(store, true, &check->error);
	take_back(check);
}

/* Life. */

struct store_check *store_check_new(const struct store *store, store_check_done_f done, void *data)
{
	struct store_check *check = g_new0(struct store_check, 1);

	check->platform = store->platform;
	check->path = g_strdup(database_path(store->database));
	check->version = database_version(store->database);
	check->done = done;
	check->data = data;
	g_mutex_init(&check->mutex);
	g_cond_init(&check->closed);
	check->job =
		platform_try_run(check->platform, "store-check", run_check, report_result, check);
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
	if (check->job)
		platform_wait(check->platform, check->job);
	g_clear_error(&check->error);
	g_mutex_clear(&check->mutex);
	g_cond_clear(&check->closed);
	g_free(check->path);
	g_free(check);
}
