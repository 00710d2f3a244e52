/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/virtual/virtual_platform.h"

#include <string.h>

#include "tests/virtual/virtual_platform_private.h"

#define BOOT_NS INT64_C(1000000000)
#define EPOCH_US INT64_C(1767225600000000) /* 2026-01-01 */

/* Clock and timers. */

static int64_t now_ns(const struct platform *platform)
{
	return virtual_of(platform)->now_ns;
}

static int64_t utc_us(const struct platform *platform)
{
	return virtual_of(platform)->epoch_us + now_ns(platform) / 1000;
}

static int64_t thread_ns(const struct platform *platform)
{
	return 0; /* nothing takes time */
}

static char *boot_id(const struct platform *platform)
{
	return g_strdup_printf("00000000-0000-4000-8000-%012u", virtual_of(platform)->boot);
}

struct virtual_timer {
	GSource source; /* first: callbacks cast back */
	struct virtual_platform *virtual;
	GList link; /* element of virtual->timers */
	int64_t interval_ns;
	int64_t due_ns;
};

static gboolean is_due(GSource *source)
{
	const struct virtual_timer *timer = (struct virtual_timer *)source;

	return timer->due_ns <= timer->virtual->now_ns;
}

static gboolean prepare(GSource *source, gint *timeout_ms)
{
	*timeout_ms = -1;
	return is_due(source);
}

static gboolean ring(GSource *source, GSourceFunc callback, gpointer data)
{
	struct virtual_timer *timer = (struct virtual_timer *)source;

	g_source_set_ready_time(source, -1); /* platform_due_now() has set it */
	timer->due_ns = timer->virtual->now_ns + timer->interval_ns;
	return callback(data);
}

static void forget(GSource *source)
{
	struct virtual_timer *timer = (struct virtual_timer *)source;

	if (timer->virtual)
		g_queue_unlink(&timer->virtual->timers, &timer->link);
}

static GSourceFuncs timer_funcs = {.prepare = prepare,
				   .check = is_due,
				   .dispatch = ring,
				   .finalize = forget};

static guint set_timer(const struct platform *platform, int priority, guint ms,
		       GSourceFunc function, void *data)
{
	g_autoptr(GSource) source = g_source_new(&timer_funcs, sizeof(struct virtual_timer));
	struct virtual_timer *timer = (struct virtual_timer *)source;

	timer->virtual = virtual_of(platform);
	timer->interval_ns = ms * INT64_C(1000000);
	timer->due_ns = timer->virtual->now_ns + timer->interval_ns;
	timer->link.data = timer;
	g_queue_push_tail_link(&timer->virtual->timers, &timer->link);
	g_source_set_priority(source, priority);
	g_source_set_callback(source, function, data, NULL);
	return g_source_attach(source, NULL);
}

static const struct platform_clock virtual_clock = {
	.now_ns = now_ns,
	.utc_us = utc_us,
	.thread_ns = thread_ns,
	.boot_id = boot_id,
	.timer = set_timer,
};

/* Moves the clock to the next timer. */
static gboolean jump(gpointer data)
{
	struct virtual_platform *virtual = data;
	int64_t next_ns = INT64_MAX;

	for (const GList *at = virtual->timers.head; at; at = at->next) {
		const struct virtual_timer *timer = at->data;

		if (!g_source_is_destroyed((GSource *)&timer->source))
			next_ns = MIN(next_ns, timer->due_ns);
	}
	if (next_ns == INT64_MAX)
		g_error("no timer is set and nothing is ready: all would wait for ever");
	virtual->now_ns = MAX(virtual->now_ns, next_ns);
	return G_SOURCE_CONTINUE;
}

/* Threads. */

struct platform_job {
	guint ended; /* a timer */
	platform_work_f done;
	void *data;
};

static gboolean job_ended(gpointer data)
{
	struct platform_job *job = data;
	const platform_work_f done = job->done;
	void *done_data = job->data;

	g_free(job);
	done(done_data);
	return G_SOURCE_REMOVE;
}

static struct platform_job *run(const struct platform *platform, const char *name, bool needed,
				platform_work_f work, platform_work_f done, void *data)
{
	struct platform_job *job = g_new0(struct platform_job, 1);

	work(data);
	job->done = done;
	job->data = data;
	job->ended = set_timer(platform, G_PRIORITY_DEFAULT, 0, job_ended, job);
	return job;
}

static void wait_for(struct platform_job *job)
{
	g_source_remove(job->ended);
	g_free(job);
}

static const struct platform_threads virtual_threads = {.run = run, .wait = wait_for};

/* Random numbers. */

static void fill(const struct platform *platform, void *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		((uint8_t *)bytes)[i] = (uint8_t)random_stream_next(&virtual_of(platform)->random);
}

static const struct platform_random virtual_random = {.fill = fill};

/* Life cycle. */

struct virtual_platform *virtual_platform_new(uint64_t seed)
{
	struct virtual_platform *virtual = g_new0(struct virtual_platform, 1);

	virtual->base = platform_machine;
	virtual->base.clock = &virtual_clock;
	virtual->base.threads = &virtual_threads;
	virtual->base.transport = &virtual_transport;
	virtual->base.random = &virtual_random;
	virtual->base.children = &virtual_children;
	virtual->now_ns = virtual->begun_ns = BOOT_NS;
	virtual->epoch_us = EPOCH_US;
	virtual->boot = 1;
	virtual->next_port = 40000;
	random_stream_init(&virtual->random, seed, 0);
	g_queue_init(&virtual->timers);
	g_queue_init(&virtual->places);
	g_queue_init(&virtual->connections);
	virtual->jump = g_idle_source_new();
	g_source_set_priority(virtual->jump, G_MAXINT);
	g_source_set_callback(virtual->jump, jump, virtual, NULL);
	g_source_attach(virtual->jump, NULL);
	return virtual;
}

void virtual_platform_follow(struct virtual_platform *virtual,
			     const struct virtual_platform *former, bool boots)
{
	virtual->boot = former->boot + boots;
	virtual->now_ns = virtual->begun_ns = boots ? BOOT_NS : former->now_ns;
	virtual->epoch_us = utc_us(&former->base) - virtual->now_ns / 1000;
}

void virtual_platform_free(struct virtual_platform *virtual)
{
	if (!virtual)
		return;
	g_source_destroy(virtual->jump);
	g_source_unref(virtual->jump);
	for (const GList *at = virtual->timers.head; at; at = at->next)
		((struct virtual_timer *)at->data)->virtual = NULL;
	g_assert_true(g_queue_is_empty(&virtual->places));
	g_assert_true(g_queue_is_empty(&virtual->connections));
	g_free(virtual);
}

const struct platform *virtual_platform_of(struct virtual_platform *virtual)
{
	return &virtual->base;
}

double virtual_platform_s(const struct virtual_platform *virtual)
{
	return (double)(virtual->now_ns - virtual->begun_ns) / 1e9;
}

void virtual_platform_delay(struct virtual_platform *virtual, guint ms)
{
	virtual->delay_ms = ms;
}
