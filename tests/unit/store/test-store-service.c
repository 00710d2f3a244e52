/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "controller/store/store_private.h"
#include "controller/store/store_service.h"
#include "controller/store/store_sync.h"
#include "tests/unit/store/each_decision.h"

/* A run directory with one run for each test; removed at the end. */
struct fixture {
	char *dir;
	struct store *store;
	int64_t run;
};

static void reopen(struct fixture *fixture, bool create)
{
	g_autoptr(GError) error = NULL;

	g_clear_pointer(&fixture->store, store_close);
	fixture->store = store_open(fixture->dir, create, &error);
	g_assert_no_error(error);
}

static void set_up(struct fixture *fixture, const void *data)
{
	struct store_run run = {.policy = (char *)"easy",
				.limit = 1,
				.repeat = 1,
				.host_load = NAN};
	g_autoptr(GError) error = NULL;

	fixture->dir = g_dir_make_tmp("virtbed-store-XXXXXX", &error);
	g_assert_no_error(error);
	reopen(fixture, true);
	g_assert_true(store_add_run(fixture->store, &run, &error));
	fixture->run = run.run;
}

static void tear_down(struct fixture *fixture, const void *data)
{
	static const char *const files[] = {STORE_FILE, STORE_FILE "-wal", STORE_FILE "-shm"};

	store_close(fixture->store);
	for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = g_build_filename(fixture->dir, files[i], NULL);

		g_unlink(path);
	}
	g_rmdir(fixture->dir);
	g_free(fixture->dir);
}

static struct store_submission some_submission(const struct fixture *fixture, uint32_t task)
{
	return (struct store_submission){
		.run = fixture->run,
		.task = task,
		.type = (char *)"IS.2",
		.name = (char *)"night",
		.user = (char *)"ada",
		.uid = 1000,
		.submitted_utc = (char *)"2026-01-01T00:00:00.000Z",
		.arrival_s = 12.5,
		.key = (char *)"k-1",
		.first = 3,
		.count = 2,
		.utility_max = 2,
		.constant_s = 60,
		.zero_s = 120,
		.deadline_s = NAN,
		.held = true,
		.priority = -3,
	};
}

static void put_submission(struct fixture *fixture, const struct store_submission *row)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(store_put_submission(fixture->store, row, &error));
	g_assert_no_error(error);
}

static void test_submissions(struct fixture *fixture, const void *data)
{
	struct store_submission row = some_submission(fixture, 4);
	struct store_submission bare = {.run = fixture->run,
					.task = 3,
					.type = (char *)"CG.2",
					.uid = -1,
					.submitted_utc = (char *)"2026",
					.constant_s = NAN,
					.zero_s = NAN,
					.deadline_s = 9};
	g_autoptr(GPtrArray) rows = NULL;
	const struct store_submission *one;

	put_submission(fixture, &row);
	put_submission(fixture, &bare);
	row.held = false;
	row.cancelled = true;
	put_submission(fixture, &row);
	reopen(fixture, false);
	rows = store_submissions(fixture->store, fixture->run, NULL);
	g_assert_cmpuint(rows->len, ==, 2);
	one = g_ptr_array_index(rows, 0);
	g_assert_cmpuint(one->task, ==, 3);
	g_assert_null(one->name);
	g_assert_null(one->key);
	g_assert_cmpint(one->uid, ==, -1);
	g_assert_true(isnan(one->constant_s));
	g_assert_cmpfloat(one->deadline_s, ==, 9);
	g_assert_cmpint(one->priority, ==, 0);
	one = g_ptr_array_index(rows, 1);
	g_assert_cmpstr(one->type, ==, "IS.2");
	g_assert_cmpstr(one->name, ==, "night");
	g_assert_cmpstr(one->user, ==, "ada");
	g_assert_cmpint(one->uid, ==, 1000);
	g_assert_cmpstr(one->key, ==, "k-1");
	g_assert_cmpuint(one->first, ==, 3);
	g_assert_cmpuint(one->count, ==, 2);
	g_assert_cmpfloat(one->arrival_s, ==, 12.5);
	g_assert_cmpfloat(one->zero_s, ==, 120);
	g_assert_true(isnan(one->deadline_s));
	g_assert_false(one->held);
	g_assert_true(one->cancelled);
	g_assert_cmpint(one->priority, ==, -3);
}

static void test_drains(struct fixture *fixture, const void *data)
{
	struct store_drain row = {.run = fixture->run,
				  .cluster = (char *)"c1",
				  .node = 1,
				  .reason = (char *)"disk",
				  .since_utc = (char *)"2026"};
	g_autoptr(GPtrArray) rows = NULL;
	g_autoptr(GPtrArray) none = NULL;
	const struct store_drain *one;

	g_assert_true(store_put_drain(fixture->store, &row, NULL));
	g_assert_true(store_put_drain(fixture->store, &row, NULL));
	rows = store_drains(fixture->store, fixture->run, NULL);
	g_assert_cmpuint(rows->len, ==, 1);
	one = g_ptr_array_index(rows, 0);
	g_assert_cmpstr(one->cluster, ==, "c1");
	g_assert_cmpstr(one->reason, ==, "disk");
	g_assert_null(one->user);
	g_assert_true(store_drop_drain(fixture->store, fixture->run, "c1", 1, NULL));
	g_assert_true(store_drop_drain(fixture->store, fixture->run, "c1", 1, NULL));
	none = store_drains(fixture->store, fixture->run, NULL);
	g_assert_cmpuint(none->len, ==, 0);
}

static void fill(struct fixture *fixture)
{
	struct store *store = fixture->store;

	for (int i = 0; i < 100; i++) {
		g_autofree char *actions =
			g_strdup_printf("[{\"task\": %d, \"kind\": \"start\"}]", i % 2);

		g_assert_true(store_add_event(store, fixture->run, i, "late", NULL, NULL));
		g_assert_true(store_add_decision(store, fixture->run, i, "{}", actions, NULL));
		g_assert_true(store_add_sample(store, fixture->run, i % 2 ? "b1" : "b2", i + 1, i,
					       60000, i, false, NULL));
	}
}

static void test_task_actions(struct fixture *fixture, const void *data)
{
	g_autoptr(GPtrArray) rows = NULL;
	const struct store_action *one;

	fill(fixture);
	rows = store_task_actions(fixture->store, fixture->run, 1, 91, 1e9, 3, NULL);
	g_assert_cmpuint(rows->len, ==, 3);
	one = g_ptr_array_index(rows, 0);
	g_assert_cmpfloat(one->time_s, ==, 99);
	g_assert_cmpstr(one->action, ==, "{\"task\":1,\"kind\":\"start\"}");
	one = g_ptr_array_index(rows, 2);
	g_assert_cmpfloat(one->time_s, ==, 95);
}

static guint count_samples(struct fixture *fixture)
{
	g_autoptr(GPtrArray) rows = store_samples(fixture->store, fixture->run, NULL);

	return rows->len;
}

static bool count_decision(double time_s, const char *snapshot, const char *actions, void *data)
{
	++*(guint *)data;
	return time_s >= 0;
}

static void test_prune(struct fixture *fixture, const void *data)
{
	g_autoptr(GPtrArray) events = NULL;
	g_autoptr(GPtrArray) after = NULL;
	g_autoptr(GPtrArray) last = NULL;
	guint decisions = 0;
	bool more;

	fill(fixture);
	g_assert_true(store_prune(fixture->store, fixture->run, 60, 1000, &more, NULL));
	g_assert_false(more);
	g_assert_cmpuint(count_samples(fixture), ==, 40);
	each_decision(fixture->store, fixture->run, count_decision, &decisions, NULL);
	g_assert_cmpuint(decisions, ==, 40);
	events = store_events(fixture->store, fixture->run, NULL);
	g_assert_cmpuint(events->len, ==, 40);
	g_assert_cmpint(((struct store_event *)g_ptr_array_index(events, 0))->id, ==, 61);
	after = store_events_after(fixture->store, fixture->run, 70, 5, NULL);
	g_assert_cmpuint(after->len, ==, 5);
	g_assert_cmpint(((struct store_event *)g_ptr_array_index(after, 0))->id, ==, 71);
	/* The last event stays, and numbers continue behind it. */
	g_assert_true(store_prune(fixture->store, fixture->run, 1000, 1000, &more, NULL));
	g_assert_cmpuint(count_samples(fixture), ==, 0);
	g_assert_cmpint(store_last_decision(fixture->store, fixture->run), ==, 100);
	g_assert_true(store_add_event(fixture->store, fixture->run, 200, "late", NULL, NULL));
	last = store_events(fixture->store, fixture->run, NULL);
	g_assert_cmpuint(last->len, ==, 2);
	g_assert_cmpint(((struct store_event *)g_ptr_array_index(last, 1))->id, ==, 101);
}

static guint count_decisions(struct fixture *fixture)
{
	guint decisions = 0;

	each_decision(fixture->store, fixture->run, count_decision, &decisions, NULL);
	return decisions;
}

/* A little at a time, and never what is not old. */
static void test_prune_parts(struct fixture *fixture, const void *data)
{
	bool more;

	fill(fixture);
	g_assert_true(store_prune(fixture->store, fixture->run, 60, 25, &more, NULL));
	g_assert_true(more);
	g_assert_cmpuint(count_samples(fixture), ==, 75);
	g_assert_cmpuint(count_decisions(fixture), ==, 75);
	g_assert_true(store_prune(fixture->store, fixture->run, 60, 25, &more, NULL));
	g_assert_true(more);
	g_assert_true(store_prune(fixture->store, fixture->run, 60, 25, &more, NULL));
	g_assert_false(more);
	g_assert_cmpuint(count_samples(fixture), ==, 40);
	g_assert_cmpuint(count_decisions(fixture), ==, 40);
}

static guint count_inputs(struct fixture *fixture)
{
	g_autoptr(GPtrArray) rows =
		store_inputs_after(fixture->store, fixture->run, 0, UINT32_MAX, NULL);

	return rows->len;
}

/* The number of the first input; 0: there is none. */
static uint32_t first_input(struct fixture *fixture)
{
	g_autoptr(GPtrArray) inputs = store_inputs_after(fixture->store, fixture->run, 0, 1, NULL);

	return inputs->len > 0 ? ((struct store_input *)inputs->pdata[0])->n : 0;
}

/*
 * Older full states go, and a younger state keeps the inputs from there on, be they older.
 */
static void test_prune_states(struct fixture *fixture, const void *data)
{
	g_autoptr(GBytes) bytes = g_bytes_new_static("1 x", 3);
	bool more;

	for (uint32_t n = 1; n <= 40; n++) {
		const struct store_input input = {.run = fixture->run,
						  .n = n,
						  .time_s = 10 * n,
						  .task = -1,
						  .attempt = -1,
						  .snapshot_sum = -1,
						  .plan_sum = -1,
						  .request_sum = -1,
						  .cut = -1};
		const struct store_state state = {.run = fixture->run,
						  .n = n,
						  .time_s = 10 * n,
						  .start = n == 1,
						  .state = bytes};

		g_assert_true(store_put_input(fixture->store, &input, NULL));
		if (n % 10 == 1)
			g_assert_true(store_put_state(fixture->store, &state, NULL));
	}
	g_assert_true(store_prune(fixture->store, fixture->run, 100, 1000, &more, NULL));
	g_assert_cmpuint(first_input(fixture), ==, 11);
	g_assert_true(store_prune(fixture->store, fixture->run, 320, 1000, &more, NULL));
	g_assert_cmpuint(first_input(fixture), ==, 31);
	/* The newest one stays, and the decisions that follow on it, which may be 5 s before it. */
	for (int i = 300; i <= 390; i++)
		g_assert_true(
			store_add_decision(fixture->store, fixture->run, i, "{}", "[]", NULL));
	g_assert_true(store_prune(fixture->store, fixture->run, 1000, 1000, &more, NULL));
	g_assert_cmpuint(first_input(fixture), ==, 31);
	g_assert_cmpuint(count_inputs(fixture), ==, 10);
	g_assert_cmpuint(count_decisions(fixture), ==, 86);
}

static guint count_states(struct fixture *fixture)
{
	struct store_state *state;
	guint count = 0;

	for (uint32_t n = 0; (state = store_next_state(fixture->store, fixture->run, n, NULL));
	     count++) {
		n = state->n + 1;
		store_state_free(state);
	}
	return count;
}

/* So many full states stay at most, also while nothing is old. */
static void test_prune_many_states(struct fixture *fixture, const void *data)
{
	g_autoptr(GBytes) bytes = g_bytes_new_static("1 x", 3);
	struct store_state *first;
	bool more;

	fill(fixture);
	for (uint32_t n = 1; n <= 2003; n++) {
		const struct store_state state = {
			.run = fixture->run, .n = n, .time_s = n, .start = true, .state = bytes};

		g_assert_true(store_put_state(fixture->store, &state, NULL));
	}
	g_assert_true(store_prune(fixture->store, fixture->run, -INFINITY, 1000, &more, NULL));
	g_assert_cmpuint(count_states(fixture), ==, 2000);
	first = store_next_state(fixture->store, fixture->run, 0, NULL);
	g_assert_cmpuint(first->n, ==, 4);
	store_state_free(first);
	g_assert_cmpuint(count_samples(fixture), ==, 100);
	g_assert_cmpuint(count_decisions(fixture), ==, 100);
}

/* Inputs alone are old: as many as are removed at a time are more, and the last one stays. */
static void test_prune_inputs(struct fixture *fixture, const void *data)
{
	uint32_t last;
	bool more = true;
	guint calls;

	for (uint32_t n = 1; n <= 100; n++) {
		const struct store_input input = {.run = fixture->run,
						  .n = n,
						  .time_s = n,
						  .task = -1,
						  .attempt = -1,
						  .snapshot_sum = -1,
						  .plan_sum = -1,
						  .cut = -1};

		g_assert_true(store_put_input(fixture->store, &input, NULL));
	}
	for (calls = 0; more; calls++)
		g_assert_true(store_prune(fixture->store, fixture->run, 61, 25, &more, NULL));
	g_assert_cmpuint(calls, ==, 3);
	g_assert_cmpuint(count_inputs(fixture), ==, 40);
	g_assert_true(store_prune(fixture->store, fixture->run, 1000, 1000, &more, NULL));
	g_assert_false(more);
	g_assert_cmpuint(count_inputs(fixture), ==, 1);
	g_assert_true(store_last_input(fixture->store, fixture->run, &last, NULL));
	g_assert_cmpuint(last, ==, 100);
}

/* What came of what was asked for. */
struct answers {
	uint32_t safe;
	uint32_t failed;
	char *failure; /* the last one */
};

static void note_answer(const GError *error, void *data)
{
	struct answers *answers = data;

	answers->safe += !error;
	answers->failed += error != NULL;
	if (!error)
		return;
	g_free(answers->failure);
	answers->failure = g_strdup(error->message);
}

static void ask_and_wait(struct store_sync *sync, struct answers *answers)
{
	const uint32_t before = answers->safe + answers->failed;

	store_sync_ask(sync, note_answer, answers);
	g_assert_cmpuint(answers->safe + answers->failed, ==, before);
	while (answers->safe + answers->failed == before)
		g_main_context_iteration(NULL, TRUE);
}

/* The second answer comes after the thread has done what it does after the first. */
static void ask_and_settle(struct store_sync *sync, struct answers *answers)
{
	ask_and_wait(sync, answers);
	ask_and_wait(sync, answers);
}

/* Another one each time: pages that stay the same are not written. */
static void put_text(struct fixture *fixture, const char *key, gsize length)
{
	const int letter =
		'a' + sqlite3_total_changes(database_handle(fixture->store->database)) % 26;
	g_autofree char *text = g_strnfill(length, (char)letter);
	g_autoptr(GError) error = NULL;

	store_set_meta(fixture->store, key, text, &error);
	g_assert_no_error(error);
}

static goffset journal_size(const struct fixture *fixture)
{
	g_autofree char *path = g_build_filename(fixture->dir, STORE_FILE "-wal", NULL);
	GStatBuf status;

	g_assert_cmpint(g_stat(path, &status), ==, 0);
	return status.st_size;
}

/*
 * How often the journal was restarted: the fourth word of its header (sqlite.org/fileformat2.html,
 * 4.1).
 */
static uint32_t journal_begun(const struct fixture *fixture)
{
	g_autofree char *path = g_build_filename(fixture->dir, STORE_FILE "-wal", NULL);
	FILE *file = g_fopen(path, "rb");
	guint32 header[4];

	g_assert_nonnull(file);
	g_assert_cmpuint(fread(header, sizeof(header), 1, file), ==, 1);
	fclose(file);
	return GUINT32_FROM_BE(header[3]);
}

static struct store_sync *new_sync(struct fixture *fixture)
{
	g_autoptr(GError) error = NULL;
	struct store_sync *sync = store_sync_new(fixture->store, &error);

	g_assert_no_error(error);
	return sync;
}

/* Each request is answered once, also at the end; and the journal does not grow for ever. */
static void test_sync(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;
	struct store_sync *sync = new_sync(fixture);
	struct answers answers = {0};

	for (uint32_t i = 1; i <= 40; i++) {
		put_text(fixture, "long", 1 << 20);
		ask_and_settle(sync, &answers);
	}
	store_sync_ask(sync, note_answer, &answers);
	store_sync_ask(sync, note_answer, &answers);
	store_sync_free(sync, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(answers.safe, ==, 82);
	g_assert_cmpint(journal_size(fixture), <, 8 << 20);
	while (g_main_context_iteration(NULL, FALSE))
		;
	g_assert_cmpuint(answers.safe, ==, 82);
	g_assert_true(store_sync_free(NULL, NULL));
}

/*
 * Each time the journal is restarted a writer waits for the disk, so small commits do not bring
 * that about.
 */
static void test_sync_seldom(struct fixture *fixture, const void *data)
{
	struct store_sync *sync = new_sync(fixture);
	struct answers answers = {0};
	uint32_t begun;

	put_text(fixture, "long", 6 << 20);
	ask_and_settle(sync, &answers);
	begun = journal_begun(fixture);
	for (uint32_t i = 0; i < 20; i++) {
		put_text(fixture, "short", 10);
		ask_and_settle(sync, &answers);
	}
	g_assert_cmpuint(journal_begun(fixture), ==, begun + 1);
	g_assert_true(store_sync_free(sync, NULL));
}

/*
 * The journal is restarted even if a writer always has a transaction open, and what is not
 * committed yet is not lost.
 */
static void test_sync_open(struct fixture *fixture, const void *data)
{
	struct store_sync *sync = new_sync(fixture);
	struct answers answers = {0};
	g_autofree char *text = NULL;

	g_assert_true(store_begin(fixture->store, NULL));
	for (uint32_t i = 1; i <= 30; i++) {
		put_text(fixture, "long", 1 << 20);
		g_assert_true(store_commit(fixture->store, NULL));
		g_assert_true(store_begin(fixture->store, NULL));
		put_text(fixture, "short", i);
		ask_and_settle(sync, &answers);
	}
	g_assert_cmpint(journal_size(fixture), <, 20 << 20);
	g_assert_true(store_commit(fixture->store, NULL));
	g_assert_cmpuint(answers.failed, ==, 0);
	g_assert_true(store_sync_free(sync, NULL));
	reopen(fixture, false);
	text = store_get_meta(fixture->store, "short");
	g_assert_cmpuint(strlen(text), ==, 30);
}

/* While there is a reader the journal grows and writers continue; after that it is short again. */
static void test_sync_reader(struct fixture *fixture, const void *data)
{
	struct store_sync *sync = new_sync(fixture);
	struct store *reader = store_open(fixture->dir, false, NULL);
	struct answers answers = {0};

	g_assert_true(
		database_exec(reader->database, "BEGIN; SELECT count(*) FROM meta", "read", NULL));
	for (uint32_t i = 0; i < 20; i++) {
		put_text(fixture, "long", 1 << 20);
		ask_and_settle(sync, &answers);
	}
	g_assert_cmpint(journal_size(fixture), >, 18 << 20);
	store_close(reader);
	for (uint32_t i = 0; i < 2; i++) {
		put_text(fixture, "long", 6 << 20);
		ask_and_settle(sync, &answers);
	}
	g_assert_cmpint(journal_size(fixture), <=, 16 << 20);
	g_assert_cmpuint(answers.failed, ==, 0);
	g_assert_true(store_sync_free(sync, NULL));
}

/* No journal: nothing is on disk. */
static void test_sync_gone(struct fixture *fixture, const void *data)
{
	g_autofree char *path = g_build_filename(fixture->dir, STORE_FILE "-wal", NULL);
	g_autoptr(GError) error = NULL;
	struct store_sync *sync = new_sync(fixture);
	struct answers answers = {0};

	g_assert_cmpint(g_unlink(path), ==, 0);
	ask_and_wait(sync, &answers);
	g_assert_cmpuint(answers.failed, ==, 1);
	g_assert_nonnull(strstr(answers.failure, STORE_FILE "-wal: cannot open the journal"));
	g_assert_false(store_sync_free(sync, &error));
	g_assert_cmpstr(error->message, ==, answers.failure);
	g_free(answers.failure);
}

/* What is written to a journal that was removed later is not on disk either. */
static void test_sync_removed(struct fixture *fixture, const void *data)
{
	g_autofree char *path = g_build_filename(fixture->dir, STORE_FILE "-wal", NULL);
	struct store_sync *sync = new_sync(fixture);
	struct answers answers = {0};

	ask_and_wait(sync, &answers);
	put_text(fixture, "short", 10);
	ask_and_wait(sync, &answers);
	g_assert_cmpuint(answers.safe, ==, 2);
	g_assert_cmpint(g_unlink(path), ==, 0);
	put_text(fixture, "short", 11);
	ask_and_wait(sync, &answers);
	g_assert_cmpuint(answers.failed, ==, 1);
	g_assert_nonnull(strstr(answers.failure, STORE_FILE "-wal: cannot open the journal"));
	g_assert_false(store_sync_free(sync, NULL));
	g_free(answers.failure);
}

/* The file may be elsewhere: its journal is beside it, and not beside the link. */
static void test_sync_link(struct fixture *fixture, const void *data)
{
	g_autofree char *file = g_build_filename(fixture->dir, STORE_FILE, NULL);
	g_autofree char *target = g_build_filename(fixture->dir, "elsewhere", NULL);
	g_autofree char *journal = g_strconcat(target, "-wal", NULL);
	g_autofree char *index = g_strconcat(target, "-shm", NULL);
	struct store_sync *sync;
	struct answers answers = {0};

	g_clear_pointer(&fixture->store, store_close);
	g_assert_cmpint(g_rename(file, target), ==, 0);
	g_assert_cmpint(symlink("elsewhere", file), ==, 0);
	reopen(fixture, true);
	sync = new_sync(fixture);
	put_text(fixture, "short", 10);
	ask_and_wait(sync, &answers);
	g_assert_cmpuint(answers.safe, ==, 1);
	g_assert_true(g_file_test(journal, G_FILE_TEST_EXISTS));
	g_assert_true(store_sync_free(sync, NULL));
	g_clear_pointer(&fixture->store, store_close);
	g_unlink(journal);
	g_unlink(index);
	g_unlink(target);
}

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &limit), ==, 0);
	limit.rlim_cur = MIN(bytes, limit.rlim_max);
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &limit), ==, 0);
}

/*
 * The journal can be written, but the file cannot: people hear of it before the journal has filled
 * the disk.
 */
static void test_sync_full(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;
	struct answers answers = {0};
	struct store_sync *sync;

	for (char key[] = "a"; *key <= 't'; ++*key)
		put_text(fixture, key, 1 << 20);
	g_assert_cmpint(sqlite3_wal_checkpoint_v2(database_handle(fixture->store->database), NULL,
						  SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL),
			==, SQLITE_OK);
	sync = new_sync(fixture);
	signal(SIGXFSZ, SIG_IGN);
	limit_files(14 << 20);
	for (char key[] = "k"; *key <= 't' && answers.failed == 0; ++*key) {
		put_text(fixture, key, 1 << 20);
		ask_and_settle(sync, &answers);
	}
	store_sync_free(sync, &error);
	limit_files(RLIM_INFINITY);
	g_assert_cmpuint(answers.failed, >=, 1);
	g_assert_nonnull(strstr(answers.failure, "cannot move the journal into the file"));
	g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_SQL);
	g_free(answers.failure);
}

#define TEST(path, data, function)                                                                 \
	g_test_add(path, struct fixture, data, set_up, function, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	TEST("/store/what was submitted is read back, and replaced", NULL, test_submissions);
	TEST("/store/drained nodes come and go", NULL, test_drains);
	TEST("/store/the decisions of one task are found, the latest first", NULL,
	     test_task_actions);
	TEST("/store/what was committed is brought to disk by another thread", NULL, test_sync);
	TEST("/store/small commits do not restart the journal", NULL, test_sync_seldom);
	TEST("/store/a journal is restarted between two transactions", NULL, test_sync_open);
	TEST("/store/the journal is short again once there is no reader", NULL, test_sync_reader);
	TEST("/store/without a journal nothing is on disk", NULL, test_sync_gone);
	TEST("/store/... also if it is removed later", NULL, test_sync_removed);
	TEST("/store/a file that is a link has its journal elsewhere", NULL, test_sync_link);
	TEST("/store/a journal that cannot be moved is a failure", NULL, test_sync_full);
	TEST("/store/pruning removes what is old and nothing else", NULL, test_prune);
	TEST("/store/... a little at a time", NULL, test_prune_parts);
	TEST("/store/... inputs without end as well", NULL, test_prune_inputs);
	TEST("/store/... up to the earliest full state that is left", NULL, test_prune_states);
	TEST("/store/... and of the full states all but the newest 2,000", NULL,
	     test_prune_many_states);
	return g_test_run();
}
