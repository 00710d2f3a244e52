/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The disk in memory of tests (tests/virtual): what it keeps over a kill and a crash. */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "tests/virtual/virtual_platform.h"

struct bed {
	struct virtual_disk *disk;
	struct virtual_platform *virtual;
	const struct platform *platform;
};

/* Another life of the daemons on the disk. */
static void live(struct bed *bed)
{
	virtual_platform_free(bed->virtual);
	bed->virtual = virtual_platform_new(1);
	bed->platform = virtual_platform_of(bed->virtual);
	virtual_platform_use_disk(bed->virtual, bed->disk);
}

static void set_up(struct bed *bed, gconstpointer data)
{
	bed->disk = virtual_disk_new();
	bed->virtual = NULL;
	live(bed);
}

static void tear_down(struct bed *bed, gconstpointer data)
{
	virtual_platform_free(bed->virtual);
	virtual_disk_free(bed->disk);
}

/* Files. */

static void put(const struct bed *bed, const char *path, const char *text, bool durable)
{
	g_assert_true(platform_write(bed->platform, path, text, strlen(text), durable, NULL));
}

/* `text` NULL: there is no such file. */
static void assert_file(const struct bed *bed, const char *path, const char *text)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *found = platform_read(bed->platform, path, 100, NULL, &error);

	g_assert_cmpstr(found, ==, text);
	if (!text)
		g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
}

static void write_all(const struct bed *bed)
{
	put(bed, "/a/kept", "old", true);
	put(bed, "/a/moved", "moved", true);
	put(bed, "/a/gone", "gone", true);
	put(bed, "/a/kept", "new", false);
	g_assert_true(platform_append(bed->platform, "/a/kept", "er", 2));
	g_assert_true(platform_rename(bed->platform, "/a/moved", "/a/here"));
	g_assert_true(platform_remove(bed->platform, "/a/gone"));
	put(bed, "/b/other", "other", false);
}

static void test_kill(struct bed *bed, gconstpointer data)
{
	write_all(bed);
	virtual_disk_kill(bed->disk);
	live(bed);
	assert_file(bed, "/a/kept", "newer");
	assert_file(bed, "/a/here", "moved");
	assert_file(bed, "/a/moved", NULL);
	assert_file(bed, "/a/gone", NULL);
	assert_file(bed, "/b/other", "other");
}

static void test_crash(struct bed *bed, gconstpointer data)
{
	write_all(bed);
	virtual_disk_crash(bed->disk);
	live(bed);
	assert_file(bed, "/a/kept", "old");
	assert_file(bed, "/a/moved", "moved");
	assert_file(bed, "/a/here", NULL);
	assert_file(bed, "/a/gone", "gone");
	assert_file(bed, "/b/other", NULL);
}

/* The names of a directory are synced together; what was appended is not. */
static void test_sync_name(struct bed *bed, gconstpointer data)
{
	write_all(bed);
	g_assert_true(platform_sync_name(bed->platform, "/a/here"));
	g_assert_false(platform_sync_name(bed->platform, "/a/moved"));
	g_assert_cmpint(errno, ==, ENOENT);
	virtual_disk_crash(bed->disk);
	live(bed);
	assert_file(bed, "/a/kept", "new");
	assert_file(bed, "/a/here", "moved");
	assert_file(bed, "/a/moved", NULL);
	assert_file(bed, "/a/gone", NULL);
	assert_file(bed, "/b/other", NULL);
}

/* A platform of a life that has ended changes nothing any more. */
static void test_dead(struct bed *bed, gconstpointer data)
{
	put(bed, "/a/kept", "old", true);
	virtual_disk_kill(bed->disk);
	g_assert_false(platform_write(bed->platform, "/a/kept", "new", 3, true, NULL));
	g_assert_false(platform_append(bed->platform, "/a/kept", "er", 2));
	g_assert_cmpint(errno, ==, EIO);
	g_assert_false(platform_remove(bed->platform, "/a/kept"));
	live(bed);
	assert_file(bed, "/a/kept", "old");
}

/* Databases. */

static sqlite3 *open_database(const struct bed *bed)
{
	sqlite3 *db = NULL;

	g_assert_cmpint(sqlite3_open_v2("/a/db", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
					virtual_disk_vfs(bed->disk)),
			==, SQLITE_OK);
	return db;
}

static int execute(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static void succeed(sqlite3 *db, const char *sql)
{
	g_assert_cmpint(execute(db, sql), ==, SQLITE_OK);
}

/* The first column of the first row. */
static char *ask(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement = NULL;
	char *text;

	g_assert_cmpint(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_step(statement), ==, SQLITE_ROW);
	text = g_strdup((const char *)sqlite3_column_text(statement, 0));
	sqlite3_finalize(statement);
	return text;
}

/* How many rows the table has. */
static int count(sqlite3 *db)
{
	g_autofree char *rows = ask(db, "SELECT count(*) FROM t");

	return atoi(rows);
}

static int count_again(const struct bed *bed)
{
	sqlite3 *db = open_database(bed);
	const int rows = count(db);
	g_autofree char *whole = ask(db, "PRAGMA integrity_check");

	g_assert_cmpstr(whole, ==, "ok");
	sqlite3_close(db);
	return rows;
}

/* Several connections of one life exclude one another, and see what is committed. */
static void test_connections(struct bed *bed, gconstpointer data)
{
	sqlite3 *one = open_database(bed);
	sqlite3 *other = open_database(bed);

	succeed(one, "PRAGMA journal_mode = WAL; CREATE TABLE t (n INTEGER)");
	succeed(one, "BEGIN IMMEDIATE; INSERT INTO t VALUES (1)");
	g_assert_cmpint(execute(other, "BEGIN IMMEDIATE"), ==, SQLITE_BUSY);
	g_assert_cmpint(count(other), ==, 0);
	succeed(other, "BEGIN; SELECT * FROM t");
	succeed(one, "COMMIT");
	g_assert_cmpint(count(other), ==, 0); /* as when its transaction began */
	succeed(other, "COMMIT");
	g_assert_cmpint(count(other), ==, 1);
	sqlite3_close(one);
	sqlite3_close(other);
	g_assert_cmpint(count_again(bed), ==, 1);
}

/*
 * Without WAL, the locks are those of the file. A commit is durable once the removal of its journal
 * is: with FULL the journal would come back in a crash, and undo the commit.
 */
static void test_rollback_journal(struct bed *bed, gconstpointer data)
{
	sqlite3 *one = open_database(bed);
	sqlite3 *other = open_database(bed);

	succeed(one, "PRAGMA synchronous = EXTRA; CREATE TABLE t (n INTEGER)");
	succeed(one, "BEGIN IMMEDIATE; INSERT INTO t VALUES (1)");
	g_assert_cmpint(execute(other, "BEGIN IMMEDIATE"), ==, SQLITE_BUSY);
	succeed(other, "BEGIN; SELECT * FROM t");
	g_assert_cmpint(execute(one, "COMMIT"), ==, SQLITE_BUSY);
	succeed(other, "COMMIT");
	succeed(one, "COMMIT");
	virtual_disk_crash(bed->disk);
	sqlite3_close(one);
	sqlite3_close(other);
	live(bed);
	g_assert_cmpint(count_again(bed), ==, 1);
}

static const struct {
	const char *name;
	const char *last; /* the last thing that is done with a row in the journal */
	bool crash;       /* or a kill */
	int rows;         /* that are there afterwards */
} lives[] = {
	{"a commit survives a kill", NULL, false, 2},
	{"a commit without a sync is lost in a crash", NULL, true, 1},
	{"a commit that is moved into the file survives a crash", "PRAGMA wal_checkpoint(FULL)",
	 true, 2},
	{"a commit with a sync survives a crash",
	 "PRAGMA synchronous = FULL; INSERT INTO t VALUES (3)", true, 3},
};

static void test_lives(struct bed *bed, gconstpointer data)
{
	const guint i = GPOINTER_TO_UINT(data);
	sqlite3 *db = open_database(bed);

	succeed(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
		    "CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1);"
		    "PRAGMA synchronous = NORMAL; INSERT INTO t VALUES (2)");
	if (lives[i].last)
		succeed(db, lives[i].last);
	if (lives[i].crash)
		virtual_disk_crash(bed->disk);
	else
		virtual_disk_kill(bed->disk);
	g_assert_cmpint(execute(db, "INSERT INTO t VALUES (4)"), ==, SQLITE_IOERR);
	sqlite3_close(db); /* the daemon may be freed after its life */
	live(bed);
	g_assert_cmpint(count_again(bed), ==, lives[i].rows);
}

/* Writes without a sync are there up to one of them, and that one in part. */
static void test_torn_file(struct bed *bed, gconstpointer data)
{
	static const char all[] = "syncedaaaabbbb";
	bool found[sizeof(all)] = {false};

	for (uint64_t seed = 0; seed < 200; seed++) {
		struct random_stream random;
		g_autofree char *text = NULL;

		random_stream_init(&random, seed, 0);
		put(bed, "/a/file", "synced", true);
		g_assert_true(platform_append(bed->platform, "/a/file", "aaaa", 4));
		g_assert_true(platform_append(bed->platform, "/a/file", "bbbb", 4));
		virtual_disk_tear(bed->disk, &random);
		live(bed);
		text = platform_read(bed->platform, "/a/file", 100, NULL, NULL);
		g_assert_true(text && g_str_has_prefix(all, text));
		found[strlen(text)] = true;
	}
	for (size_t length = 0; length < sizeof(all); length++)
		g_assert_cmpint(found[length], ==, length >= strlen("synced"));
}

/* Of commits without a sync, the first ones are there; the database is whole. */
static void test_torn_database(struct bed *bed, gconstpointer data)
{
	bool found[4] = {false};

	for (uint64_t seed = 0; seed < 50; seed++) {
		sqlite3 *db = open_database(bed);
		struct random_stream random;
		int rows;

		random_stream_init(&random, seed, 0);
		succeed(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
			    "CREATE TABLE IF NOT EXISTS t (n INTEGER); DELETE FROM t;"
			    "INSERT INTO t VALUES (1); PRAGMA synchronous = NORMAL;"
			    "INSERT INTO t VALUES (2); INSERT INTO t VALUES (3)");
		virtual_disk_tear(bed->disk, &random);
		sqlite3_close(db);
		live(bed);
		rows = count_again(bed);
		g_assert_cmpint(rows, >=, 1);
		g_assert_cmpint(rows, <=, 3);
		found[rows] = true;
	}
	g_assert_true(found[1] && found[2] && found[3]);
}

static void test_full(struct bed *bed, gconstpointer data)
{
	sqlite3 *db = open_database(bed);

	succeed(db, "PRAGMA journal_mode = WAL; CREATE TABLE t (n INTEGER)");
	put(bed, "/a/file", "old", true);
	virtual_disk_fail(bed->disk, ENOSPC, 1);
	g_assert_true(platform_append(bed->platform, "/a/file", "er", 2));
	g_assert_false(platform_append(bed->platform, "/a/file", "!", 1));
	g_assert_cmpint(errno, ==, ENOSPC);
	g_assert_false(platform_write(bed->platform, "/a/file", "new", 3, true, NULL));
	g_assert_cmpint(execute(db, "INSERT INTO t VALUES (1)"), ==, SQLITE_FULL);
	virtual_disk_fail(bed->disk, EIO, 0);
	g_assert_cmpint(execute(db, "INSERT INTO t VALUES (1)"), ==, SQLITE_IOERR);
	virtual_disk_fail(bed->disk, 0, 0);
	succeed(db, "INSERT INTO t VALUES (1)");
	sqlite3_close(db);
	assert_file(bed, "/a/file", "older");
	g_assert_cmpint(count_again(bed), ==, 1);
}

#define ADD(name, function)                                                                        \
	g_test_add("/virtual-disk/" name, struct bed, NULL, set_up, function, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("all that was written survives a kill", test_kill);
	ADD("what was not synced is lost in a crash", test_crash);
	ADD("a directory is synced as a whole", test_sync_name);
	ADD("a life that has ended writes nothing", test_dead);
	ADD("connections exclude one another", test_connections);
	ADD("connections exclude one another without WAL", test_rollback_journal);
	ADD("a torn write is there in part", test_torn_file);
	ADD("a database is whole after torn writes", test_torn_database);
	ADD("a full disk takes nothing", test_full);
	for (guint i = 0; i < G_N_ELEMENTS(lives); i++) {
		g_autofree char *path = g_strconcat("/virtual-disk/", lives[i].name, NULL);

		g_test_add(path, struct bed, GUINT_TO_POINTER(i), set_up, test_lives, tear_down);
	}
	return g_test_run();
}
