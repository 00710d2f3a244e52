/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_reader.h"

#include "common/handoff.h"
#include "controller/store/store_private.h"

/* No writer holds a lock for longer than a reset of the journal takes (store_sync.c). */
#define BUSY_MS 5000

/* A question and its answer. */
struct store_reading {
	char *path;
	int version;
	store_read_f read;
	const void *question;
	store_read_done_f done;
	void *data;
	gint forgotten; /* atomic: the caller withdrew the question */
	void *answer;
	GError *error;
};

struct store_reader {
	gatomicrefcount count; /* one of the owner, and one per pending call of report_answers() */
	GThreadPool *pool;     /* with a single thread */
	GAsyncQueue *answered; /* struct store_reading */
	gint closing;          /* atomic: questions that have not begun fail */
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

static void call_done_of_all(struct store_reader *reader)
{
	struct store_reading *reading;

	while ((reading = g_async_queue_try_pop(reader->answered))) {
		HANDOFF_TAKE(reading);
		reading->done(reading->answer, reading->error, reading->data);
		reading_free(reading);
	}
}

static gboolean report_answers(gpointer data)
{
	call_done_of_all(data);
	return G_SOURCE_REMOVE;
}

/* On the reader's thread. */

static void *read_answer(const struct store_reading *reading, GError **error)
{
	g_autoptr(store_t) store =
		store_open_beside(reading->path, reading->version, BUSY_MS, error);

	return store && database_exec(store->database, "PRAGMA query_only = ON; BEGIN",
				      "begin to read", error)
		       ? reading->read(store, reading->question, error)
		       : NULL;
}

static void answer_reading(gpointer data, gpointer user_data)
{
	struct store_reading *reading = data;
	struct store_reader *reader = user_data;

	HANDOFF_TAKE(reading);
	if (g_atomic_int_get(&reader->closing))
		g_set_error(&reading->error, DATABASE_ERROR, DATABASE_ERROR_SQL,
			    "%s: it is being closed", reading->path);
	else if (g_atomic_int_get(&reading->forgotten))
		g_set_error(&reading->error, DATABASE_ERROR, DATABASE_ERROR_SQL,
			    "%s: the question was withdrawn", reading->path);
	else
		reading->answer = read_answer(reading, &reading->error);
	HANDOFF_GIVE(reading);
	g_async_queue_push(reader->answered, reading);
	g_atomic_ref_count_inc(&reader->count);
	g_idle_add_full(G_PRIORITY_DEFAULT, report_answers, reader, unref);
}

/* Life. */

struct store_reader *store_reader_new(void)
{
	struct store_reader *reader = g_new0(struct store_reader, 1);

	g_atomic_ref_count_init(&reader->count);
	reader->answered = g_async_queue_new();
	reader->pool = g_thread_pool_new(answer_reading, reader, 1, TRUE, NULL);
	return reader;
}

struct store_reading *store_reader_ask(struct store_reader *reader, const struct store *store,
				       store_read_f read, const void *question,
				       store_read_done_f done, void *data)
{
	struct store_reading *reading = g_new(struct store_reading, 1);

	*reading = (struct store_reading){
		.path = g_strdup(database_path(store->database)),
		.version = database_version(store->database),
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
	call_done_of_all(reader);
	unref(reader);
}
