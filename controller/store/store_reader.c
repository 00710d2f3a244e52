/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_reader.h"

#include "common/handoff.h"
#include "controller/store/store_private.h"

/* Nobody writes for longer than it takes to begin the journal anew (store_sync.c). */
#define BUSY_MS 5000

/* One question, and what came of it. */
struct store_reading {
	char *path;
	int version;
	store_read_f read;
	const void *question;
	store_read_done_f done;
	void *data;
	gint forgotten; /* atomic: nobody wants to know */
	void *answer;
	GError *error;
};

struct store_reader {
	gatomicrefcount count; /* the owner's, and one for each call of tell() under way */
	GThreadPool *pool;     /* of one thread */
	GAsyncQueue *answered; /* struct store_reading */
	gint closing;          /* atomic: nobody waits any longer */
};

static void reading_free(struct store_reading *reading)
{
	g_clear_error(&reading->error);
	g_free(reading->path);
	g_free(reading);
}

static void unref(gpointer data)
{
	struct store_reader *reader = data;

	if (!g_atomic_ref_count_dec(&reader->count))
		return;
	g_async_queue_unref(reader->answered);
	g_free(reader);
}

/* On the owner's thread. */

static void tell_all(struct store_reader *reader)
{
	struct store_reading *reading;

	while ((reading = g_async_queue_try_pop(reader->answered))) {
		HANDOFF_TAKE(reading);
		reading->done(reading->answer, reading->error, reading->data);
		reading_free(reading);
	}
}

static gboolean tell(gpointer data)
{
	tell_all(data);
	return G_SOURCE_REMOVE;
}

/* On the other. */

static void *answer(const struct store_reading *reading, GError **error)
{
	g_autoptr(store_t) store =
		store_open_beside(reading->path, reading->version, BUSY_MS, error);

	return store && store_exec(store, "PRAGMA query_only = ON; BEGIN", "begin to read", error) ?
		       reading->read(store, reading->question, error) :
		       NULL;
}

static void work(gpointer data, gpointer user_data)
{
	struct store_reading *reading = data;
	struct store_reader *reader = user_data;

	HANDOFF_TAKE(reading);
	if (g_atomic_int_get(&reader->closing))
		g_set_error(&reading->error, STORE_ERROR, STORE_ERROR_SQL,
			    "%s: it is being closed", reading->path);
	else if (g_atomic_int_get(&reading->forgotten))
		g_set_error(&reading->error, STORE_ERROR, STORE_ERROR_SQL,
			    "%s: nobody wants to know any more", reading->path);
	else
		reading->answer = answer(reading, &reading->error);
	HANDOFF_GIVE(reading);
	g_async_queue_push(reader->answered, reading);
	g_atomic_ref_count_inc(&reader->count);
	g_idle_add_full(G_PRIORITY_DEFAULT, tell, reader, unref);
}

/* Life. */

struct store_reader *store_reader_new(void)
{
	struct store_reader *reader = g_new0(struct store_reader, 1);

	g_atomic_ref_count_init(&reader->count);
	reader->answered = g_async_queue_new();
	reader->pool = g_thread_pool_new(work, reader, 1, TRUE, NULL);
	return reader;
}

struct store_reading *store_reader_ask(struct store_reader *reader, const struct store *store, store_read_f read,
				       const void *question, store_read_done_f done, void *data)
{
	struct store_reading *reading = g_new(struct store_reading, 1);

	*reading = (struct store_reading){
		.path = g_strdup(store->path),
		.version = store->version,
		.read = read,
		.question = question,
		.done = done,
		.data = data,
	};
	HANDOFF_GIVE(reading);
	g_thread_pool_push(reader->pool, reading, NULL);
	return reading;
}

void store_reader_forget(struct store_reading *reading)
{
	g_atomic_int_set(&reading->forgotten, 1);
}

void store_reader_free(struct store_reader *reader)
{
	if (!reader)
		return;
	g_atomic_int_set(&reader->closing, 1);
	g_thread_pool_free(reader->pool, FALSE, TRUE);
	tell_all(reader);
	unref(reader);
}
