/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/*
 * Annotations for ThreadSanitizer. GLib's queues, pools, idle sources and mutexes order memory by
 * futexes inside an uninstrumented library, which the sanitizer does not see, so it would report
 * every object that passes through them as a race. HANDOFF_GIVE(address) before an object is handed
 * over (or a mutex unlocked) and HANDOFF_TAKE(address) after it was received (or the mutex locked)
 * declare what GLib guarantees, and no more. Without the sanitizer both are empty.
 */
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#define HANDOFF_GIVE(address) __tsan_release((void *)(address))
#define HANDOFF_TAKE(address) __tsan_acquire((void *)(address))
#else
#define HANDOFF_GIVE(address) ((void)(address))
#define HANDOFF_TAKE(address) ((void)(address))
#endif

/*
 * g_mutex_lock(), g_mutex_unlock(), and waiting for a condition of the mutex, with these
 * annotations.
 */
static inline void handoff_lock(GMutex *mutex)
{
	g_mutex_lock(mutex);
	HANDOFF_TAKE(mutex);
}

static inline void handoff_unlock(GMutex *mutex)
{
	HANDOFF_GIVE(mutex);
	g_mutex_unlock(mutex);
}

/* Waits until `end_us` of g_get_monotonic_time() at the latest. */
static inline void handoff_wait_until(GCond *cond, GMutex *mutex, gint64 end_us)
{
	HANDOFF_GIVE(mutex);
	g_cond_wait_until(cond, mutex, end_us);
	HANDOFF_TAKE(mutex);
}

static inline void handoff_wait(GCond *cond, GMutex *mutex)
{
	HANDOFF_GIVE(mutex);
	g_cond_wait(cond, mutex);
	HANDOFF_TAKE(mutex);
}
