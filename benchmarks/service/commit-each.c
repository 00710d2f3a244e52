/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Preloaded into a controller (LD_PRELOAD) by record-speed, to have something to compare with;
 * never installed.
 *
 *   VIRTBED_COMMIT=each  each commit waits for the disk where it is made, on the main loop, as
 *                        SQLite does it with PRAGMA synchronous = FULL; the thread that brings many
 *                        at once to the disk has nothing to do
 *   VIRTBED_DISK_US=N    the disk takes N microseconds longer for whatever is to be on it
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of store_sync.c: the name of its thread, and what it has SQLite leave to it. */
#define THREAD "store"
#define LEFT "wal_autocheckpoint = 0"

typedef int (*exec_f)(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **),
		      void *data, char **ret_message);

static bool is_controller(void)
{
	return strcmp(program_invocation_short_name, "virtbed-controller") == 0;
}

static bool commits_each(void)
{
	const char *way = getenv("VIRTBED_COMMIT");

	return is_controller() && way && strcmp(way, "each") == 0;
}

int sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **),
		 void *data, char **ret_message)
{
	exec_f real;

	*(void **)&real = dlsym(RTLD_NEXT, "sqlite3_exec");
	if (sql && strstr(sql, LEFT) && commits_each())
		sql = "PRAGMA synchronous = FULL";
	return real(db, sql, row, data, ret_message);
}

int fdatasync(int file)
{
	const char *us = getenv("VIRTBED_DISK_US");
	char name[16] = "";

	pthread_getname_np(pthread_self(), name, sizeof(name));
	if (commits_each() && strcmp(name, THREAD) == 0)
		return 0;
	if (is_controller() && us)
		usleep((useconds_t)atoi(us));
	return (int)syscall(SYS_fdatasync, file);
}
