/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What of a file is checked before a service continues from it, and what beside it, however it was
 * left.
 */
#include <glib/gstdio.h>
#include <string.h>
#include <sys/resource.h>

#include "controller/store/store_check.h"
#include "controller/store/store_private.h"

#define ROWS 5000

/* A run directory as a service leaves it. */
struct fixture {
	char *dir;
	char *file;
};

static void fill(struct store *store)
{
	struct store_run run = {.policy = (char *)"easy", .limit = 1, .repeat = 1};

	g_assert_true(store_begin(store, NULL));
	g_assert_true(store_add_run(store, &run, NULL));
	for (int i = 0; i < ROWS; i++)
		g_assert_true(store_add_sample(store, run.run, "b1", i + 1, i, 9000, i * 9000,
					       false, NULL));
	g_assert_true(store_commit(store, NULL));
}

static void set_up(struct fixture *fixture, const void *data)
{
	g_autoptr(store_t) store = NULL;

	fixture->dir = g_dir_make_tmp("virtbed-store-XXXXXX", NULL);
	fixture->file = g_build_filename(fixture->dir, STORE_FILE, NULL);
	store = store_open_on(&platform_machine, fixture->dir, true, NULL);
	g_assert_nonnull(store);
	fill(store);
}

static void tear_down(struct fixture *fixture, const void *data)
{
	static const char *const suffixes[] = {"", "-wal", "-shm"};

	for (gsize i = 0; i < G_N_ELEMENTS(suffixes); i++) {
		g_autofree char *path = g_strconcat(fixture->file, suffixes[i], NULL);

		g_unlink(path);
	}
	g_rmdir(fixture->dir);
	g_free(fixture->file);
	g_free(fixture->dir);
}

/* Where the first page of a table is in the file. */
static gsize place_of(const struct fixture *fixture, const char *table)
{
	g_autofree char *sql =
		g_strdup_printf("SELECT (rootpage - 1) * page_size FROM sqlite_master, "
				"pragma_page_size WHERE name = '%s'",
				table);
	sqlite3_stmt *statement = NULL;
	sqlite3 *db = NULL;
	gsize place;

	g_assert_cmpint(sqlite3_open_v2(fixture->file, &db, SQLITE_OPEN_READONLY, NULL), ==,
			SQLITE_OK);
	g_assert_cmpint(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_step(statement), ==, SQLITE_ROW);
	place = (gsize)sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return place;
}

static void copy_to(const struct fixture *fixture, const char *suffix, char *content, gsize length)
{
	g_autofree char *path = g_strconcat(fixture->file, suffix, NULL);

	g_assert_true(g_file_set_contents(path, content, (gssize)length, NULL));
	g_free(content);
}

static char *copy_of(const struct fixture *fixture, const char *suffix, gsize *ret_length)
{
	g_autofree char *path = g_strconcat(fixture->file, suffix, NULL);
	char *content = NULL;

	g_assert_true(g_file_get_contents(path, &content, ret_length, NULL));
	return content;
}

static void damage(const struct fixture *fixture, const char *table)
{
	const gsize place = place_of(fixture, table);
	gsize length;
	char *content = copy_of(fixture, "", &length);

	g_assert_cmpuint(place + 100, <, length);
	memset(content + place, 0xff, 100);
	copy_to(fixture, "", content, length);
}

/*
 * What a `kill -9` leaves: the last commits are in the journal beside the file, which has the rest.
 */
static void die(const struct fixture *fixture)
{
	struct store *store = store_open_on(&platform_machine, fixture->dir, true, NULL);
	gsize length;
	gsize journal_length;
	char *content;
	char *journal;

	g_assert_nonnull(store);
	g_assert_true(store_set_meta(store, "last", "word", NULL));
	content = copy_of(fixture, "", &length);
	journal = copy_of(fixture, "-wal", &journal_length);
	g_assert_cmpuint(journal_length, >, 0);
	store_close(store);
	copy_to(fixture, "", content, length);
	copy_to(fixture, "-wal", journal, journal_length);
}

static void note(const GError *error, void *data)
{
	*(char **)data = g_strdup(error ? error->message : "sound");
}

/* What the check beside serving finds. The caller frees it. */
static char *look_beside(const struct fixture *fixture)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(store_t) store = store_open_on(&platform_machine, fixture->dir, true, &error);
	struct store_check *check;
	char *found = NULL;

	g_assert_no_error(error);
	check = store_check_new(store, note, &found);
	g_assert_null(found);
	while (!found)
		g_main_context_iteration(NULL, TRUE);
	store_check_free(check);
	return found;
}

static void test_history(struct fixture *fixture, const void *data)
{
	const bool dies = data != NULL;
	g_autofree char *found = NULL;

	if (dies) {
		damage(fixture, "sample");
		die(fixture);
	} else {
		g_autofree char *sound = look_beside(fixture);

		g_assert_cmpstr(sound, ==, "sound");
		damage(fixture, "sample");
	}
	found = look_beside(fixture);
	g_assert_nonnull(strstr(found, fixture->file));
	g_assert_nonnull(strstr(found, ": damaged or truncated: "));
	g_assert_nonnull(strstr(found, "docs/explanation/reliability.md"));
}

static void test_sound_after_death(struct fixture *fixture, const void *data)
{
	g_autofree char *found = NULL;

	die(fixture);
	found = look_beside(fixture);
	g_assert_cmpstr(found, ==, "sound");
}

/*
 * The records that a service continues from, and any table that is not known to be long: `data` is
 * the table.
 */
static void test_record(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;

	damage(fixture, data);
	g_assert_null(store_open_on(&platform_machine, fixture->dir, true, &error));
	g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_CORRUPT);
	g_assert_nonnull(strstr(error->message, fixture->file));
}

/* Readers of all of it get the damage first. */
static void test_reader(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;

	damage(fixture, "sample");
	g_assert_null(store_open(fixture->dir, false, &error));
	g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_CORRUPT);
}

static void never(const GError *error, void *data)
{
	g_assert_not_reached();
}

/* A program that ends does not wait for it, and gets no report any more. */
static void test_ends(struct fixture *fixture, const void *data)
{
	g_autoptr(store_t) store = store_open_on(&platform_machine, fixture->dir, true, NULL);

	for (gulong i = 0; i < 20; i++) {
		struct store_check *check = store_check_new(store, never, NULL);

		g_usleep(i * 100);
		store_check_free(check);
	}
	while (g_main_context_iteration(NULL, FALSE))
		;
}

#define TEST(path, data, function)                                                                 \
	g_test_add(path, struct fixture, data, set_up, function, tear_down)

/* A platform that starts no threads: what is needed is done by the caller. */
static bool is_doing;
static guint ended; /* source */

struct ending {
	platform_work_f done;
	void *data;
};

static gboolean end(gpointer data)
{
	const struct ending *ending = data;

	ended = 0;
	ending->done(ending->data);
	return G_SOURCE_REMOVE;
}

static struct platform_job *run_alone(const struct platform *platform, const char *name,
				      bool needed, platform_work_f work, platform_work_f done,
				      void *data)
{
	static struct ending ending;

	if (!is_doing)
		return NULL;
	work(data);
	ending = (struct ending){done, data};
	ended = g_idle_add(end, &ending);
	return (struct platform_job *)&ending;
}

static void wait_alone(struct platform_job *job)
{
	g_clear_handle_id(&ended, g_source_remove);
}

static struct platform platform_alone(void)
{
	static const struct platform_threads threads = {.run = run_alone, .wait = wait_alone};
	struct platform platform = platform_machine;

	platform.threads = &threads;
	return platform;
}

/* The main loop does not wait for minutes while the file is read. */
static void test_no_thread(struct fixture *fixture, const void *data)
{
	const struct platform alone = platform_alone();
	g_autoptr(store_t) store = store_open_on(&alone, fixture->dir, true, NULL);
	struct store_check *check;
	char *found = NULL;

	is_doing = false;
	check = store_check_new(store, note, &found);
	while (g_main_context_iteration(NULL, FALSE))
		;
	g_assert_null(found);
	store_check_free(check);
}

/* The thread of the main loop keeps its priority. */
static void test_only_thread(struct fixture *fixture, const void *data)
{
	const struct platform alone = platform_alone();
	const int before = getpriority(PRIO_PROCESS, 0);
	g_autoptr(store_t) store = store_open_on(&alone, fixture->dir, true, NULL);
	struct store_check *check;
	char *found = NULL;

	is_doing = true;
	check = store_check_new(store, note, &found);
	while (!found)
		g_main_context_iteration(NULL, TRUE);
	g_assert_cmpstr(found, ==, "sound");
	g_assert_cmpint(getpriority(PRIO_PROCESS, 0), ==, before);
	store_check_free(check);
	g_free(found);
}

int main(int argc, char **argv)
{
	static const char *const tables[] = {"meta",       "run",   "task",
					     "submission", "drain", "energy_task"};

	g_test_init(&argc, &argv, NULL);
	TEST("/store/damage to the history is found beside serving", NULL, test_history);
	TEST("/store/... also after a death", "", test_history);
	TEST("/store/a file is sound after a death", NULL, test_sound_after_death);
	TEST("/store/damage to the history is refused to readers of all", NULL, test_reader);
	TEST("/store/a check can be ended at any time", NULL, test_ends);
	TEST("/store/without a thread a file is not checked", NULL, test_no_thread);
	TEST("/store/a check keeps the priority of the only thread", NULL, test_only_thread);
	for (gsize i = 0; i < G_N_ELEMENTS(tables); i++) {
		g_autofree char *path = g_strdup_printf(
			"/store/a service does not continue from a damaged table/%s", tables[i]);

		TEST(path, tables[i], test_record);
	}
	return g_test_run();
}
