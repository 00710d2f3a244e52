/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_reader.h"

#include "controller/store/store_private.h"

/* No writer holds a lock for longer than a reset of the journal takes (store_sync.c). */
#define BUSY_MS 5000

/* A question and its answer. */
struct store_reading {
	const struct platform *platform;
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
	GQueue waiting;                /* struct store_reading whose turn has not come */
	struct store_reading *current; /* NULL: none */
	struct platform_job *job;      /* that reads it */
	gint closing;                  /* atomic: questions that have not begun fail */
};

static void reading_free(struct store_reading *reading)
{
	g_clear_error(&reading->error);
	g_free(reading->path);
	g_free(reading);
}

/* On the reader's thread. */

static void *read_answer(const struct store_reading *reading, GError **error)
{
	g_autoptr(store_t) store = store_open_beside(reading->platform, reading->path,
						     reading->version, BUSY_MS, error);

	return store && database_exec(store->database, "PRAGMA query_only = ON; BEGIN",
				      "begin to read", error)
		       ? reading->read(store, reading->question, error)
		       : NULL;
}

static void answer_current(void *data)
{
	struct store_reader *reader = data;
	struct store_reading *reading = reader->current;

	if (g_atomic_int_get(&reader->closing))
		g_set_error(&reading->error, DATABASE_ERROR, DATABASE_ERROR_SQL,
			    "%s: it is being closed", reading->path);
	else if (g_atomic_int_get(&reading->forgotten))
		g_set_error(&reading->error, DATABASE_ERROR, DATABASE_ERROR_SQL,
			    "%s: the question was withdrawn", reading->path);
	else
		reading->answer = read_answer(reading, &reading->error);
}

/* On the owner's thread. */

static void begin_next(struct store_reader *reader);

static void report(struct store_reading *reading)
{
	reading->done(reading->answer, reading->error, reading->data);
	reading_free(reading);
}

static void current_is_answered(void *data)
{
	struct store_reader *reader = data;
	struct store_reading *reading = g_steal_pointer(&reader->current);

	reader->job = NULL;
	begin_next(reader);
	report(reading);
}

static void begin_next(struct store_reader *reader)
{
	if (reader->current || g_queue_is_empty(&reader->waiting))
		return;
	reader->current = g_queue_pop_head(&reader->waiting);
	reader->job = platform_run(reader->current->platform, "reader", answer_current,
				   current_is_answered, reader);
}

/* Life. */

struct store_reader *store_reader_new(void)
{
	struct store_reader *reader = g_new0(struct store_reader, 1);

	g_queue_init(&reader->waiting);
	return reader;
}

struct store_reading *store_reader_ask(struct store_reader *reader, const struct store *store,
				       store_read_f read, const void *question,
				       store_read_done_f done, void *data)
{
	struct store_reading *reading = g_new(struct store_reading, 1);

	*reading = (struct store_reading){
		.platform = store->platform,
		.path = g_strdup(database_path(store->database)),
		.version = database_version(store->database),
		.read = read,
		.question = question,
		.done = done,
		.data = data,
	};
	g_queue_push_tail(&reader->waiting, reading);
	begin_next(reader);
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
	if (reader->current) {
		platform_wait(reader->current->platform, reader->job);
		report(reader->current);
	}
	while ((reader->current = g_queue_pop_head(&reader->waiting))) {
		answer_current(reader);
		report(reader->current);
	}
	g_free(reader);
}
