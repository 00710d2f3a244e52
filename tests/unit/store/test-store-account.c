/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whose energy it was: intervals, what is summed up of them, and that they come all or not at all.
 */
#include <math.h>

#include "common/handoff.h"
#include "controller/store/store_account.h"
#include "controller/store/store_private.h"
#include "controller/store/store_reader.h"
#include "controller/store/store_service.h"
#include "tests/unit/store/run_dir.h"

static void set_up(struct run_dir *record, const void *data)
{
	run_dir_make(record);
}

static void tear_down(struct run_dir *record, const void *data)
{
	run_dir_remove(record);
}

/*
 * Interval `n` of a host, ten seconds and 100 uJ long: 40 idle, 30 of task 1, 20 of task 2, 9 and
 * 1. The parts of two intervals are summed up.
 */
static bool add(struct run_dir *record, const char *host, int64_t n, const char *mark,
		GError **error)
{
	const struct store_account_part parts[] = {{1, 1, 300, 30}, {2, 1, 200, 20}};
	const struct store_account_meter meter = {
		.run = record->run,
		.host = (char *)host,
		.cluster = g_str_equal(host, "b3") ? (char *)"c2" : (char *)"c1",
		.begin_uj = 1000,
		.at_uj = 1000 + 100 * n,
		.at_s = 10 * (double)n,
		.n = n,
		.stream = (char *)"x",
		.seq = n,
	};
	const struct store_account_interval interval = {
		.policy = n < 6 ? "easy" : "fcfs",
		.day = n <= 5 ? "2026-01-01" : "2026-01-02",
		.from_s = 10 * (double)(n - 1),
		.to_s = 10 * (double)n,
		.from_uj = meter.at_uj - 100,
		.to_uj = meter.at_uj,
		.idle_uj = 40,
		.tasks_uj = 50,
		.management_uj = 9,
		.unattributed_uj = 1,
		.mark = mark,
	};
	const struct store_account_parts sums = {
		.policy = interval.policy,
		.day = interval.day,
		.n = n - (n - 1) % 2,
		.to_s = 10 * (double)(n - (n - 1) % 2),
		.parts = parts,
		.count = 2,
	};

	return store_begin_account(record->store, error) &&
	       store_end_account(record->store,
				 store_add_account(record->store, &meter, &interval, error) &&
					 store_put_account_meter(record->store, &meter, error) &&
					 store_add_account_parts(record->store, &meter, &sums,
								 error),
				 error);
}

static void fill(struct run_dir *record)
{
	static const char *const hosts[] = {"b1", "b2", "b3"};

	for (gsize i = 0; i < G_N_ELEMENTS(hosts); i++)
		for (int64_t n = 1; n <= 10; n++)
			g_assert_true(add(record, hosts[i], n, n == 7 ? "unserved" : NULL, NULL));
}

/* All sums by `by`, as "key tasks tasks_uj idle management unattributed unserved meter|...". */
static char *sums(struct run_dir *record, const char *by)
{
	g_autoptr(GPtrArray) rows = store_account_sums(record->store, record->run, by, NULL);
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < rows->len; i++) {
		const struct store_account_sum *sum = g_ptr_array_index(rows, i);

		g_string_append_printf(text, "%s%s %d %d %d %d %d %d %d", i ? "|" : "", sum->key,
				       (int)sum->tasks, (int)sum->tasks_uj, (int)sum->idle_uj,
				       (int)sum->management_uj, (int)sum->unattributed_uj,
				       (int)sum->unserved_uj, (int)sum->meter_uj);
	}
	return g_string_free(text, FALSE);
}

static void assert_sums(struct run_dir *record, const char *by, const char *wanted)
{
	g_autofree char *text = sums(record, by);

	g_assert_cmpstr(text, ==, wanted);
}

static void put_task(struct run_dir *record, uint32_t number, const char *type, const char *user)
{
	const struct store_task task = {.run = record->run,
					.task = number,
					.type = (char *)type,
					.state = (char *)"completed",
					.deadline_s = NAN,
					.chance = NAN,
					.threshold = NAN};
	const struct store_submission submission = {
		.run = record->run,
		.task = number,
		.type = (char *)type,
		.user = (char *)user,
		.submitted_utc = (char *)"2026-01-01T00:00:00.000Z",
		.constant_s = NAN,
		.zero_s = NAN,
		.deadline_s = NAN,
	};

	g_assert_true(store_put_task(record->store, &task, NULL));
	g_assert_true(store_put_submission(record->store, &submission, NULL));
}

static void test_sums(struct run_dir *record, const void *data)
{
	fill(record);
	put_task(record, 1, "IS.2", "ada");
	put_task(record, 2, "CG.2", NULL);
	assert_sums(record, "host",
		    "b1 2 500 400 90 10 1 1000|b2 2 500 400 90 10 1 1000|"
		    "b3 2 500 400 90 10 1 1000");
	assert_sums(record, "cluster", "c1 2 1000 800 180 20 2 2000|c2 2 500 400 90 10 1 1000");
	assert_sums(record, "day",
		    "2026-01-01 2 750 600 135 15 0 1500|2026-01-02 2 750 600 135 15 3 1500");
	assert_sums(record, "policy", "easy 2 750 600 135 15 0 1500|fcfs 2 750 600 135 15 3 1500");
	assert_sums(record, "task", "1 1 900 0 0 0 0 0|2 1 600 0 0 0 0 0");
	assert_sums(record, "user", "ada 1 900 0 0 0 0 0|- 1 600 0 0 0 0 0");
	assert_sums(record, "type", "IS.2 1 900 0 0 0 0 0|CG.2 1 600 0 0 0 0 0");
	assert_sums(record, "rubbish", "");
}

static void test_since(struct run_dir *record, const void *data)
{
	int64_t uj = 7;

	fill(record);
	g_assert_true(store_account_dynamic_since(record->store, record->run, 0, &uj, NULL));
	g_assert_cmpint(uj, ==, 3 * 9 * 60);
	g_assert_true(store_account_dynamic_since(record->store, record->run, 60, &uj, NULL));
	g_assert_cmpint(uj, ==, 3 * 3 * 60);
	g_assert_true(store_account_dynamic_since(record->store, record->run, 75, &uj, NULL));
	g_assert_cmpint(uj, ==, 3 * (30 + 2 * 60));
	g_assert_true(store_account_dynamic_since(record->store, record->run, 101, &uj, NULL));
	g_assert_cmpint(uj, ==, 0);
}

static void test_meters(struct run_dir *record, const void *data)
{
	g_autoptr(GPtrArray) rows = NULL;
	const struct store_account_meter *meter;

	fill(record);
	rows = store_account_meters(record->store, record->run, NULL);
	g_assert_cmpuint(rows->len, ==, 3);
	meter = g_ptr_array_index(rows, 2);
	g_assert_cmpstr(meter->host, ==, "b3");
	g_assert_cmpstr(meter->cluster, ==, "c2");
	g_assert_cmpint(meter->at_uj, ==, 2000);
	g_assert_cmpint(meter->n, ==, 10);
	g_assert_cmpstr(meter->stream, ==, "x");
}

/*
 * The same interval again is none: nothing of it counts, inside a transaction of others or outside.
 */
static void test_whole(struct run_dir *record, const void *data)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(add(record, "b1", 1, NULL, NULL));
	g_assert_false(add(record, "b1", 1, NULL, &error));
	g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_SQL);
	assert_sums(record, "host", "b1 2 50 40 9 1 0 100");
	g_assert_true(store_begin(record->store, NULL));
	g_assert_true(add(record, "b1", 2, NULL, NULL));
	g_assert_false(add(record, "b1", 2, NULL, NULL));
	g_assert_true(store_commit(record->store, NULL));
	assert_sums(record, "host", "b1 2 100 80 18 2 0 200");
}

static int64_t count(struct run_dir *record, const char *sql)
{
	sqlite3_stmt *statement;
	int64_t value;

	g_assert_cmpint(sqlite3_prepare_v2(database_handle(record->store->database), sql, -1,
					   &statement, NULL),
			==, SQLITE_OK);
	g_assert_cmpint(sqlite3_step(statement), ==, SQLITE_ROW);
	value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return value;
}

/* Those of two intervals are one row of each task, and come to what the intervals' tasks had. */
static void test_parts(struct run_dir *record, const void *data)
{
	fill(record);
	g_assert_cmpint(count(record, "SELECT count(*) FROM energy_part"), ==, 30);
	g_assert_cmpint(count(record, "SELECT count(*) FROM energy_part WHERE (task, uj, cpu_ns) IN"
				      " (VALUES (1, 60, 600), (2, 40, 400))"),
			==, 30);
	g_assert_cmpint(count(record,
			      "SELECT count(*) FROM energy_interval AS i WHERE 2 * tasks_uj !="
			      " (SELECT sum(uj) FROM energy_part AS p WHERE p.host = i.host"
			      " AND p.n BETWEEN i.n - 1 AND i.n)"),
			==, 0);
}

/* CPU times are what others tell: their sum stays a number. */
static void test_parts_large(struct run_dir *record, const void *data)
{
	g_assert_true(add(record, "b1", 1, NULL, NULL));
	g_assert_true(database_exec(record->store->database,
				    "UPDATE energy_part SET cpu_ns = 9223372036854775807", "set",
				    NULL));
	g_assert_true(add(record, "b1", 2, NULL, NULL));
	g_assert_cmpint(count(record, "SELECT min(cpu_ns) FROM energy_part"), ==, INT64_MAX);
	g_assert_cmpint(count(record, "SELECT sum(typeof(cpu_ns) = 'integer') FROM energy_part"),
			==, 2);
}

static void test_prune(struct run_dir *record, const void *data)
{
	g_autofree char *before = NULL;
	bool more = true;

	fill(record);
	before = sums(record, "day");
	for (int round = 0; more; round++) {
		g_assert_cmpint(round, <, 20);
		g_assert_true(store_prune(record->store, record->run, 55, 7, &more, NULL));
	}
	g_assert_cmpint(count(record, "SELECT count(*) FROM energy_interval"), ==, 15);
	g_assert_cmpint(count(record, "SELECT count(*) FROM energy_part"), ==, 12);
	g_assert_cmpint(count(record, "SELECT min(n) FROM energy_interval"), ==, 6);
	assert_sums(record, "day", before);
}

/* Answers of a reader: how many came, and what the last one said. */
struct answers {
	guint count, failed;
	int64_t uj;
};

static void *read_tasks_uj(struct store *store, const void *question, GError **error)
{
	const struct run_dir *record = question;
	g_autoptr(GPtrArray) rows = store_account_sums(store, record->run, "task", error);
	int64_t *uj = g_new0(int64_t, 1);

	for (guint i = 0; rows && i < rows->len; i++)
		*uj += ((struct store_account_sum *)g_ptr_array_index(rows, i))->tasks_uj;
	return uj;
}

/* The reader's connection writes nothing. */
static void *read_by_writing(struct store *store, const void *question, GError **error)
{
	return store_set_meta(store, "x", "y", error) ? g_new0(int64_t, 1) : NULL;
}

static void note_answer(void *answer, const GError *error, void *data)
{
	struct answers *answers = data;

	answers->count++;
	answers->failed += error != NULL;
	if (answer)
		answers->uj = *(int64_t *)answer;
	g_free(answer);
}

static void wait_for(const struct answers *answers, guint count)
{
	while (answers->count < count)
		g_main_context_iteration(NULL, TRUE);
}

static void test_reader(struct run_dir *record, const void *data)
{
	struct store_reader *reader = store_reader_new();
	struct answers answers = {0};

	fill(record);
	store_reader_ask(reader, record->store, read_tasks_uj, record, note_answer, &answers);
	wait_for(&answers, 1);
	g_assert_cmpint(answers.uj, ==, 3 * 10 * 50);
	/* What is not committed is not there, and is not waited for. */
	g_assert_true(store_begin(record->store, NULL));
	g_assert_true(add(record, "b1", 11, NULL, NULL));
	store_reader_ask(reader, record->store, read_tasks_uj, record, note_answer, &answers);
	wait_for(&answers, 2);
	g_assert_cmpint(answers.uj, ==, 3 * 10 * 50);
	g_assert_true(store_commit(record->store, NULL));
	store_reader_ask(reader, record->store, read_tasks_uj, record, note_answer, &answers);
	wait_for(&answers, 3);
	g_assert_cmpint(answers.uj, ==, 3 * 10 * 50 + 50);
	store_reader_ask(reader, record->store, read_by_writing, record, note_answer, &answers);
	wait_for(&answers, 4);
	g_assert_cmpuint(answers.failed, ==, 1);
	/* At the end every request has an answer. */
	for (int i = 0; i < 50; i++)
		store_reader_ask(reader, record->store, read_tasks_uj, record, note_answer,
				 &answers);
	store_reader_free(reader);
	g_assert_cmpuint(answers.count, ==, 54);
	while (g_main_context_iteration(NULL, FALSE))
		;
}

/* Holds up readers. */
struct gate {
	GMutex mutex;
	GCond cond;
	bool open;
	guint passed;
};

static void *read_behind_gate(struct store *store, const void *question, GError **error)
{
	struct gate *gate = (struct gate *)question;

	handoff_lock(&gate->mutex);
	while (!gate->open)
		handoff_wait(&gate->cond, &gate->mutex);
	gate->passed++;
	handoff_unlock(&gate->mutex);
	return g_new0(int64_t, 1);
}

static void open_gate(struct gate *gate)
{
	handoff_lock(&gate->mutex);
	gate->open = true;
	g_cond_broadcast(&gate->cond);
	handoff_unlock(&gate->mutex);
}

/* However many requests were withdrawn: a request waits only for those that were not. */
static void test_reader_forgets(struct run_dir *record, const void *data)
{
	struct store_reader *reader = store_reader_new();
	struct answers answers = {0};
	struct gate gate = {0};

	store_reader_ask(reader, record->store, read_behind_gate, &gate, note_answer, &answers);
	for (int i = 0; i < 50; i++)
		store_reader_forget(store_reader_ask(reader, record->store, read_behind_gate, &gate,
						     note_answer, &answers));
	store_reader_ask(reader, record->store, read_behind_gate, &gate, note_answer, &answers);
	open_gate(&gate);
	wait_for(&answers, 52);
	g_assert_cmpuint(answers.failed, ==, 50);
	g_assert_cmpuint(gate.passed, ==, 2);
	store_reader_free(reader);
	while (g_main_context_iteration(NULL, FALSE))
		;
}

#define TEST(path, function) g_test_add(path, struct run_dir, NULL, set_up, function, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	TEST("/store-account/intervals are summed up by all that is known of them", test_sums);
	TEST("/store-account/what was used since a time leaves out times without a service",
	     test_since);
	TEST("/store-account/where each host's account stands is read back", test_meters);
	TEST("/store-account/an interval counts as a whole or not at all", test_whole);
	TEST("/store-account/parts of intervals are summed up", test_parts);
	TEST("/store-account/... and remain whole numbers", test_parts_large);
	TEST("/store-account/pruning removes intervals and keeps the sums", test_prune);
	TEST("/store-account/another thread reads what was committed", test_reader);
	TEST("/store-account/an answer does not wait for requests that were withdrawn",
	     test_reader_forgets);
	return g_test_run();
}
