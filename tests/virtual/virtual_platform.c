/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/virtual/virtual_platform.h"

#include <string.h>

#include "tests/virtual/virtual_platform_private.h"

#define BOOT_NS INT64_C(1000000000)
/* The longest time that freeing a dead daemon may take, by its own clock. */
#define DEAD_MAX_NS INT64_C(86400000000000)
#define EPOCH_US INT64_C(1767225600000000) /* 2026-01-01 */

/* Clock and timers. */

/* The time of the world, as a platform has it; NULL: of the world itself. */
static int64_t world_ns(const struct virtual_world *world, const struct virtual_platform *virtual)
{
	return virtual && virtual->dead ? virtual->dead_ns : world->now_ns;
}

static int64_t now_ns(const struct platform *platform)
{
	const struct virtual_platform *virtual = virtual_of(platform);

	return world_ns(virtual->world, virtual) + virtual->shift_ns;
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
	GSource source;              /* first: callbacks cast back */
	struct virtual_world *world; /* NULL: it has ended */
	struct virtual_platform *virtual;
	GList link; /* element of world->timers */
	int64_t interval_ns;
	int64_t due_ns;
};

static gboolean is_due(GSource *source)
{
	const struct virtual_timer *timer = (struct virtual_timer *)source;

	return timer->due_ns <= world_ns(timer->world, timer->virtual) &&
	       !(timer->virtual && timer->virtual->frozen);
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
	timer->due_ns = world_ns(timer->world, timer->virtual) + timer->interval_ns;
	return callback(data);
}

static void forget(GSource *source)
{
	struct virtual_timer *timer = (struct virtual_timer *)source;

	if (timer->world)
		g_queue_unlink(&timer->world->timers, &timer->link);
}

static GSourceFuncs timer_funcs = {.prepare = prepare,
				   .check = is_due,
				   .dispatch = ring,
				   .finalize = forget};

guint virtual_world_timer(struct virtual_world *world, struct virtual_platform *platform,
			  int priority, int64_t after_ns, GSourceFunc function, void *data)
{
	g_autoptr(GSource) source = g_source_new(&timer_funcs, sizeof(struct virtual_timer));
	struct virtual_timer *timer = (struct virtual_timer *)source;

	timer->world = world;
	timer->virtual = platform;
	timer->interval_ns = after_ns;
	timer->due_ns = world_ns(world, platform) + after_ns;
	timer->link.data = timer;
	g_queue_push_tail_link(&world->timers, &timer->link);
	g_source_set_priority(source, priority);
	g_source_set_callback(source, function, data, NULL);
	return g_source_attach(source, NULL);
}

static guint set_timer(const struct platform *platform, int priority, guint ms,
		       GSourceFunc function, void *data)
{
	struct virtual_platform *virtual = virtual_of(platform);

	return virtual_world_timer(virtual->world, virtual, priority, ms * INT64_C(1000000),
				   function, data);
}

static const struct platform_clock virtual_clock = {
	.now_ns = now_ns,
	.utc_us = utc_us,
	.thread_ns = thread_ns,
	.boot_id = boot_id,
	.timer = set_timer,
};

/* When the first timer of the world and its living platforms, or of a dead one, is due. */
static int64_t next_ns(const struct virtual_world *world, const struct virtual_platform *dead)
{
	int64_t next_ns = INT64_MAX;

	for (const GList *at = world->timers.head; at; at = at->next) {
		const struct virtual_timer *timer = at->data;
		const bool counts = dead ? timer->virtual == dead
					 : !timer->virtual || !(timer->virtual->dead ||
								timer->virtual->frozen);

		if (counts && !g_source_is_destroyed((GSource *)&timer->source))
			next_ns = MIN(next_ns, timer->due_ns);
	}
	return next_ns;
}

/* Moves the clock to the next timer: that of a dead platform, or else that of the world. */
static gboolean jump(gpointer data)
{
	struct virtual_world *world = data;
	int64_t next;

	for (const GList *at = world->platforms.head; at; at = at->next) {
		struct virtual_platform *virtual = at->data;

		next = virtual->dead ? next_ns(world, virtual) : INT64_MAX;
		if (next == INT64_MAX)
			continue;
		if (next > world->now_ns + DEAD_MAX_NS)
			g_error("a dead daemon's objects are not freed");
		virtual->dead_ns = MAX(virtual->dead_ns, next);
		return G_SOURCE_CONTINUE;
	}
	next = next_ns(world, NULL);
	if (next == INT64_MAX)
		g_error("no timer is set and nothing is ready: all would wait for ever");
	world->now_ns = MAX(world->now_ns, next);
	return G_SOURCE_CONTINUE;
}

/* Threads. */

struct platform_job {
	guint ended;          /* a timer */
	platform_work_f work; /* NULL: it is done */
	platform_work_f done;
	void *data;
};

static void do_work(struct platform_job *job)
{
	const platform_work_f work = job->work;

	job->work = NULL;
	if (work)
		work(job->data);
}

static gboolean job_ended(gpointer data)
{
	struct platform_job *job = data;
	const platform_work_f done = job->done;
	void *done_data = job->data;

	do_work(job);
	g_free(job);
	done(done_data);
	return G_SOURCE_REMOVE;
}

static struct platform_job *run(const struct platform *platform, const char *name, bool needed,
				platform_work_f work, platform_work_f done, void *data)
{
	const struct virtual_world *world = virtual_of(platform)->world;
	struct platform_job *job = g_new0(struct platform_job, 1);
	bool late = false;
	const guint ms =
		world->rules && world->rules->work_ms
			? world->rules->work_ms(virtual_of(platform), &late, world->rules_data)
			: 0;

	job->work = work;
	job->done = done;
	job->data = data;
	if (!late)
		do_work(job);
	job->ended = set_timer(platform, G_PRIORITY_DEFAULT, ms, job_ended, job);
	return job;
}

static void wait_for(struct platform_job *job)
{
	do_work(job);
	g_source_remove(job->ended);
	g_free(job);
}

static const struct platform_threads virtual_threads = {
	.run = run,
	.wait = wait_for,
	.hire = virtual_worker_hire,
	.give = virtual_worker_give,
	.dismiss = virtual_worker_dismiss,
	.pause = virtual_worker_pause,
};

/* Random numbers. */

static void fill(const struct platform *platform, void *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		((uint8_t *)bytes)[i] = (uint8_t)random_stream_next(&virtual_of(platform)->random);
}

static const struct platform_random virtual_random = {.fill = fill};

/* Life cycle. */

static struct virtual_world *world_new(void)
{
	struct virtual_world *world = g_new0(struct virtual_world, 1);

	world->now_ns = BOOT_NS;
	world->next_boot = 1;
	world->next_port = 40000;
	g_queue_init(&world->timers);
	g_queue_init(&world->platforms);
	g_queue_init(&world->places);
	g_queue_init(&world->connections);
	world->jump = g_idle_source_new();
	g_source_set_priority(world->jump, G_MAXINT);
	g_source_set_callback(world->jump, jump, world, NULL);
	g_source_attach(world->jump, NULL);
	return world;
}

static void world_unref(struct virtual_world *world)
{
	if (--world->references > 0)
		return;
	g_source_destroy(world->jump);
	g_source_unref(world->jump);
	for (const GList *at = world->timers.head; at; at = at->next)
		((struct virtual_timer *)at->data)->world = NULL;
	g_assert_true(g_queue_is_empty(&world->places));
	g_free(world);
}

/* A machine that was just started. */
static struct virtual_platform *platform_in(struct virtual_world *world, uint64_t seed)
{
	struct virtual_platform *virtual = g_new0(struct virtual_platform, 1);

	virtual->base = platform_machine;
	virtual->base.clock = &virtual_clock;
	virtual->base.threads = &virtual_threads;
	virtual->base.transport = &virtual_transport;
	virtual->base.random = &virtual_random;
	virtual->base.children = &virtual_children;
	virtual->world = world;
	world->references++;
	virtual->shift_ns = BOOT_NS - world->now_ns;
	virtual->begun_ns = BOOT_NS;
	virtual->epoch_us = EPOCH_US;
	virtual->boot = world->next_boot++;
	random_stream_init(&virtual->random, seed, 0);
	g_queue_init(&virtual->workers);
	g_queue_push_tail(&world->platforms, virtual);
	return virtual;
}

struct virtual_platform *virtual_platform_new(uint64_t seed)
{
	return platform_in(world_new(), seed);
}

/* Its UTC is to be that of another platform. */
static void set_utc(struct virtual_platform *virtual, const struct virtual_platform *other)
{
	virtual->epoch_us = utc_us(&other->base) - now_ns(&virtual->base) / 1000;
}

struct virtual_platform *virtual_platform_beside(struct virtual_platform *other, uint64_t seed)
{
	struct virtual_platform *virtual = platform_in(other->world, seed);

	set_utc(virtual, other);
	return virtual;
}

void virtual_platform_follow(struct virtual_platform *virtual,
			     const struct virtual_platform *former, bool boots)
{
	if (virtual->world != former->world)
		virtual->boot = former->boot + boots;
	else if (!boots)
		virtual->boot = former->boot;
	virtual->begun_ns = boots ? BOOT_NS : world_ns(former->world, NULL) + former->shift_ns;
	virtual->shift_ns = virtual->begun_ns - virtual->world->now_ns;
	virtual->epoch_us = former->epoch_us;
	if (boots)
		virtual->epoch_us +=
			(world_ns(former->world, NULL) + former->shift_ns - BOOT_NS) / 1000;
}

void virtual_platform_die(struct virtual_platform *virtual, bool silent)
{
	if (virtual->dead)
		return;
	virtual_transport_die(virtual, silent);
	virtual->dead = true;
	virtual->dead_ns = virtual->world->now_ns;
}

void virtual_platform_free(struct virtual_platform *virtual)
{
	g_autoptr(GPtrArray) timers = g_ptr_array_new();

	if (!virtual)
		return;
	virtual_workers_drop(virtual);
	for (const GList *at = virtual->world->timers.head; at; at = at->next)
		if (((struct virtual_timer *)at->data)->virtual == virtual)
			g_ptr_array_add(timers, at->data);
	for (guint i = 0; i < timers->len; i++) {
		((struct virtual_timer *)timers->pdata[i])->virtual = NULL;
		g_source_destroy(timers->pdata[i]);
	}
	virtual_transport_forget(virtual);
	g_queue_remove(&virtual->world->platforms, virtual);
	world_unref(virtual->world);
	g_free(virtual);
}

const struct platform *virtual_platform_of(struct virtual_platform *virtual)
{
	return &virtual->base;
}

double virtual_platform_s(const struct virtual_platform *virtual)
{
	return (double)(now_ns(&virtual->base) - virtual->begun_ns) / 1e9;
}

void virtual_platform_freeze(struct virtual_platform *virtual, bool frozen)
{
	virtual->frozen = frozen;
}

void virtual_platform_step_utc(struct virtual_platform *virtual, double by_s)
{
	virtual->epoch_us += (int64_t)(by_s * 1e6);
}

void virtual_platform_rules(struct virtual_platform *virtual, const struct virtual_rules *rules,
			    void *data)
{
	virtual->world->rules = rules;
	virtual->world->rules_data = data;
}

void virtual_platform_delay(struct virtual_platform *virtual, guint ms)
{
	virtual->delay_ms = ms;
}
