/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct platform_transport;
struct platform_children;

/*
 * The platform is what a daemon stands on and cannot compute: clocks, timers, disk, threads,
 * transport, child processes and random numbers. A daemon's main object gets it at creation and
 * hands it down; nothing in a daemon reads a clock, sets a timer, starts a thread or a program, or
 * keeps a file in another way, but for what is named below, so that two daemons of one process may
 * have different ones. platform_machine is that of this machine; a simulation may have one of its
 * own, with virtual time.
 *
 * The lint tests/lint/platform names the files that belong to this machine.
 *
 * A platform outlives everything that was made with it. All is called from the thread of the
 * default main context but where it says so.
 */
struct platform {
	const struct platform_clock *clock;
	const struct platform_disk *disk;
	const struct platform_threads *threads;
	const struct platform_transport *transport; /* transport.h */
	const struct platform_random *random;
	const struct platform_children *children; /* child_process.h */
};

/*
 * Clocks and timers. All are required. An implementation that needs data of its own has the struct
 * platform as the first member of its own struct.
 */
struct platform_clock {
	/* Nanoseconds of the boot clock, above 0. It never goes back. */
	int64_t (*now_ns)(const struct platform *platform);
	/* Microseconds since 1970 in UTC. This clock may be set. From any thread. */
	int64_t (*utc_us)(const struct platform *platform);
	/*
	 * Which boot it is: times of now_ns() can be compared only under the same boot id. The
	 * caller frees.
	 */
	char *(*boot_id)(const struct platform *platform);
	/*
	 * Nanoseconds of processor time that the calling thread has used. As now_ns(), it may be
	 * called from any thread.
	 */
	int64_t (*thread_ns)(const struct platform *platform);
	/*
	 * Calls function(data) from the default main context with `priority` every `ms`
	 * milliseconds, 0: in the next turn of the main loop, until it returns G_SOURCE_REMOVE. The
	 * clock of timers may stand still where now_ns() does not. Returns the id of a source,
	 * which g_source_remove() removes, and which is due once g_source_set_ready_time() was
	 * called with 0. A timer of 0 ms may be set from any thread.
	 */
	guint (*timer)(const struct platform *platform, int priority, guint ms,
		       GSourceFunc function, void *data);
};

/*
 * The disk: the files that a daemon keeps, whose directories exist. What it only reads (its
 * configuration, /proc, /sys, files that users give) is not meant. All are required but `vfs`.
 *
 * Not on it, but on this machine's disk, are directories, which daemons make themselves; whether
 * the store's file exists, and the lock of a local scheduler's; a run directory's config.yaml and
 * its files of profiles, estimates and execution times; and the end of the file of original caps.
 */
struct platform_disk {
	const char *vfs; /* name of the sqlite3_vfs of databases; NULL: SQLite's default */
	/*
	 * The contents of a regular file of at most `max` bytes, with a 0 behind them; the caller
	 * frees. NULL with `error`, as by read_file().
	 */
	char *(*read)(const struct platform *platform, const char *path, size_t max,
		      size_t *ret_length, GError **error);
	/*
	 * Makes or replaces a file of mode 0600, as a whole: after a crash it is the old one or the
	 * new one. `durable`: it is on the disk when this returns.
	 */
	bool (*write)(const struct platform *platform, const char *path, const char *text,
		      size_t length, bool durable, GError **error);
	/* Appends to a file that is there, by one write. False with errno. */
	bool (*append)(const struct platform *platform, const char *path, const char *text,
		       size_t length);
	/* Gives a file another name, or removes it. False with errno. */
	bool (*rename)(const struct platform *platform, const char *from, const char *to);
	bool (*remove)(const struct platform *platform, const char *path);
	/*
	 * Brings the name of a file onto the disk, from any thread: after a crash the file is
	 * there. False with errno.
	 */
	bool (*sync_name)(const struct platform *platform, const char *path);
};

/* Randomness: what names something in the world (ids of a run of a program), and secrets. */
struct platform_random {
	/* Fills `bytes` with numbers that no other program can guess. */
	void (*fill)(const struct platform *platform, void *bytes, size_t length);
};

/* Work that may take long, under way beside the main loop. */
struct platform_job;
typedef void (*platform_work_f)(void *data);

/* A thread of its own for pieces of work, which it does one after another. */
struct platform_worker;

/*
 * Threads: "run this, then event". All are required. A simulation may run the work on its only
 * thread.
 */
struct platform_threads {
	/*
	 * Begins work(data) on a thread of its own, called `name` (at most 15 letters). Once it has
	 * ended, done(data) is called from the default main context, and the job is freed before
	 * that. What both share of `data` belongs to the work until then. If no thread can be
	 * started, the work is done before this returns if it is `needed`; else the result is NULL,
	 * and nothing is called.
	 */
	struct platform_job *(*run)(const struct platform *platform, const char *name, bool needed,
				    platform_work_f work, platform_work_f done, void *data);
	/* Waits for the end of the work, and frees the job; done() is not called. */
	void (*wait)(struct platform_job *job);
	/*
	 * Starts a thread called `name`, for work that has to be done on the same thread as earlier
	 * work, because it uses what belongs to that thread. dismiss() ends it.
	 */
	struct platform_worker *(*hire)(const struct platform *platform, const char *name);
	/*
	 * Has the worker do work(data), after all that it was given before. Once the work has
	 * ended, done(data) is called from the default main context, in the order of the ends;
	 * NULL: nothing is. What both share of `data` belongs to the work until then.
	 */
	void (*give)(struct platform_worker *worker, platform_work_f work, platform_work_f done,
		     void *data);
	/*
	 * Ends `count` workers, each after all that it was given, and waits for them, `limit_s`
	 * seconds at most. What takes longer ends with the process. done() is called later, as
	 * always.
	 */
	void (*dismiss)(const struct platform *platform, struct platform_worker *const *workers,
			size_t count, guint limit_s);
	/* Has the work that calls this do nothing for `ms` milliseconds. Not from the main loop. */
	void (*pause)(const struct platform *platform, guint ms);
};

/*
 * The platform of this machine. Its timers wait by CLOCK_MONOTONIC: unlike now_ns() it stands still
 * while the machine is suspended.
 */
extern const struct platform platform_machine;

/* The operations of the clock, as above. */
int64_t platform_now_ns(const struct platform *platform);
int64_t platform_utc_us(const struct platform *platform);
int64_t platform_thread_ns(const struct platform *platform);
char *platform_boot_id(const struct platform *platform);

/* platform_utc_us() as ISO 8601, "2026-01-31T23:59:59.123Z"; the caller frees it. */
char *platform_utc(const struct platform *platform);

/* A timer of G_PRIORITY_DEFAULT. More than G_MAXUINT ms (49 days) are G_MAXUINT ms. */
guint platform_after_ms(const struct platform *platform, guint ms, GSourceFunc function,
			void *data);
guint platform_after_s(const struct platform *platform, guint s, GSourceFunc function, void *data);

/* Makes a timer due in the next turn of the main loop. */
void platform_due_now(guint timer);

/* Calls function(data) from the main loop once this turn is over, with `priority`. */
guint platform_soon(const struct platform *platform, int priority, GSourceFunc function,
		    void *data);

/* Random numbers, as above. */
void platform_random_bytes(const struct platform *platform, void *bytes, size_t length);
uint32_t platform_random_number(const struct platform *platform);

/* A random UUID (RFC 9562, version 4) as text; the caller frees it. */
char *platform_uuid(const struct platform *platform);

/* The operations of threads, as above. platform_run() is for work that is needed. */
struct platform_job *platform_run(const struct platform *platform, const char *name,
				  platform_work_f work, platform_work_f done, void *data);
/* For work that can be left out: NULL if no thread can be started. */
struct platform_job *platform_try_run(const struct platform *platform, const char *name,
				      platform_work_f work, platform_work_f done, void *data);
void platform_wait(const struct platform *platform, struct platform_job *job);
struct platform_worker *platform_hire(const struct platform *platform, const char *name);
void platform_give(const struct platform *platform, struct platform_worker *worker,
		   platform_work_f work, platform_work_f done, void *data);
void platform_dismiss(const struct platform *platform, struct platform_worker *const *workers,
		      size_t count, guint limit_s);
void platform_pause(const struct platform *platform, guint ms);

/* The operations of the disk, as above. */
char *platform_read(const struct platform *platform, const char *path, size_t max,
		    size_t *ret_length, GError **error);
bool platform_write(const struct platform *platform, const char *path, const char *text,
		    size_t length, bool durable, GError **error);
bool platform_append(const struct platform *platform, const char *path, const char *text,
		     size_t length);
bool platform_rename(const struct platform *platform, const char *from, const char *to);
bool platform_remove(const struct platform *platform, const char *path);
bool platform_sync_name(const struct platform *platform, const char *path);
