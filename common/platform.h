/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

/*
 * The platform is what a daemon stands on and cannot compute: clocks, timers and threads. A
 * daemon's main object gets it at creation and hands it down; nothing in a daemon reads a clock,
 * sets a timer or starts a thread in another way, so that two daemons of one process may have
 * different ones. platform_machine is that of this machine; a simulation has its own, with virtual
 * time.
 *
 * A platform outlives everything that was made with it. All is called from the thread of the
 * default main context but where it says so.
 */
struct platform {
	const struct platform_clock *clock;
	const struct platform_threads *threads;
};

/*
 * Clocks and timers. All are required. An implementation that needs data of its own has the struct
 * platform as the first member of its own struct.
 */
struct platform_clock {
	/* Nanoseconds of the boot clock, above 0. It never goes back. */
	int64_t (*now_ns)(const struct platform *platform);
	/* Microseconds since 1970 in UTC. This clock may be set. */
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
	 * milliseconds of the boot clock, 0: in the next turn of the main loop, until it returns
	 * G_SOURCE_REMOVE. Returns the id of a source, which g_source_remove() removes, and which
	 * is due once g_source_set_ready_time() was called with 0.
	 */
	guint (*timer)(const struct platform *platform, int priority, guint ms,
		       GSourceFunc function, void *data);
};

/* Work that may take long, under way beside the main loop. */
struct platform_job;
typedef void (*platform_work_f)(void *data);

/*
 * Threads: "run this, then event". All are required. A simulation may run the work on its only
 * thread.
 */
struct platform_threads {
	/*
	 * Begins work(data) on a thread of its own, called `name` (at most 15 letters). Once it has
	 * ended, done(data) is called from the default main context, and the job is freed before
	 * that. What both share of `data` belongs to the work until then.
	 */
	struct platform_job *(*run)(const struct platform *platform, const char *name,
				    platform_work_f work, platform_work_f done, void *data);
	/* Waits for the end of the work, and frees the job; done() is not called. */
	void (*wait)(struct platform_job *job);
};

/* The platform of this machine. Its timers wait by CLOCK_MONOTONIC. */
extern const struct platform platform_machine;

/* The operations of the clock, as above. */
int64_t platform_now_ns(const struct platform *platform);
int64_t platform_utc_us(const struct platform *platform);
int64_t platform_thread_ns(const struct platform *platform);
char *platform_boot_id(const struct platform *platform);

/* platform_utc_us() as ISO 8601, "2026-01-31T23:59:59.123Z"; the caller frees it. */
char *platform_utc(const struct platform *platform);

/* A timer of G_PRIORITY_DEFAULT. */
guint platform_after_ms(const struct platform *platform, guint ms, GSourceFunc function,
			void *data);
guint platform_after_s(const struct platform *platform, guint s, GSourceFunc function, void *data);

/* Makes a timer due in the next turn of the main loop. */
void platform_due_now(guint timer);

/* Calls function(data) from the main loop once this turn is over, with `priority`. */
guint platform_soon(const struct platform *platform, int priority, GSourceFunc function,
		    void *data);

/* The operations of threads, as above. */
struct platform_job *platform_run(const struct platform *platform, const char *name,
				  platform_work_f work, platform_work_f done, void *data);
void platform_wait(const struct platform *platform, struct platform_job *job);
