/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/session/run_loop.h"

#include <math.h>

#include "controller/backend/remote.h"

/* The longest time of a timer, for a next time that is far away: a day. */
#define SLEEP_MAX_S 86400.0

/* The source of the engine. */
struct engine_source {
	GSource source;
	const struct platform *platform;
	struct engine *engine;
	struct backend *backend;
	GMainLoop *loop;
	guint timer;    /* wakes the loop at `timer_s`; 0: none */
	double timer_s; /* a time of the engine */
	bool holds;     /* requests of former steps are held, since more follow */
	bool flushes;   /* none follow, and they are to be sent in the next turn */
};

static double left_s(const struct engine_source *source)
{
	return engine_next_s(source->engine) - backend_now_s(source->backend);
}

static bool is_due(const struct engine_source *source)
{
	return source->flushes || left_s(source) <= 0 || engine_has_ended(source->engine) ||
	       remote_backend_has_event(source->backend, engine_next_s(source->engine));
}

static gboolean wake(gpointer data)
{
	struct engine_source *source = data;

	source->timer = 0;
	return G_SOURCE_REMOVE;
}

/* Sets the timer for the engine's next time, which events and requests change. */
static void set_timer(struct engine_source *source)
{
	const double next_s = engine_next_s(source->engine);

	if (source->timer && source->timer_s == next_s)
		return;
	g_clear_handle_id(&source->timer, g_source_remove);
	if (next_s == INFINITY)
		return;
	source->timer_s = next_s;
	source->timer =
		platform_after_ms(source->platform,
				  (guint)ceil(fmin(fmax(left_s(source), 0), SLEEP_MAX_S) * 1000),
				  wake, source);
}

static gboolean prepare(GSource *base, gint *timeout_ms)
{
	struct engine_source *source = (struct engine_source *)base;

	*timeout_ms = -1;
	if (is_due(source))
		return TRUE;
	set_timer(source);
	return FALSE;
}

static gboolean check(GSource *base)
{
	return is_due((struct engine_source *)base);
}

/*
 * Has the engine handle one event. What it requests is sent together, after it; if the engine is to
 * be called again at once, as between the parts of a plan, after the last of these calls. Sending
 * all of that takes as long as a part, and has a turn of its own.
 */
static void step(struct engine_source *source)
{
	const bool held = source->holds;
	struct backend_event event;

	if (!remote_backend_take(source->backend, engine_next_s(source->engine), &event))
		event = (struct backend_event){.time_s = backend_now_s(source->backend)};
	remote_backend_hold(source->backend);
	engine_event(source->engine, &event);
	source->holds = engine_next_s(source->engine) == -INFINITY;
	source->flushes = held && !source->holds;
	if (!held && !source->holds)
		remote_backend_flush(source->backend);
}

/* Does one thing, so that clients have a turn between two. */
static gboolean dispatch(GSource *base, GSourceFunc callback, gpointer data)
{
	struct engine_source *source = (struct engine_source *)base;
	const struct engine *engine = source->engine;

	if (source->flushes) {
		remote_backend_flush(source->backend);
		source->flushes = false;
	} else if (!engine_has_ended(engine)) { /* a request or a timer may have aborted the run */
		step(source);
	}
	if (!engine_has_ended(engine))
		return G_SOURCE_CONTINUE;
	g_main_loop_quit(source->loop);
	return G_SOURCE_REMOVE;
}

/* Waits until the end of each attempt is known: some ended before they were to be killed. */
static void take_late_ends(struct engine *engine, struct backend *backend)
{
	struct backend_event event;

	remote_backend_settle(backend);
	while (remote_backend_take(backend, backend_now_s(backend), &event) &&
	       event.kind != BACKEND_EVENT_ABORTED)
		engine_late_event(engine, &event);
}

void run_loop(const struct platform *platform, struct engine *engine, struct backend *backend,
	      struct engine_result *ret_result)
{
	static GSourceFuncs funcs = {.prepare = prepare, .check = check, .dispatch = dispatch};
	g_autoptr(GSource) base = g_source_new(&funcs, sizeof(struct engine_source));
	g_autoptr(GMainLoop) loop = g_main_loop_new(NULL, FALSE);
	struct engine_source *source = (struct engine_source *)base;

	source->platform = platform;
	source->engine = engine;
	source->backend = backend;
	source->loop = loop;
	engine_begin_run(engine);
	if (!engine_has_ended(engine)) {
		g_source_attach(base, NULL);
		g_main_loop_run(loop);
	}
	g_clear_handle_id(&source->timer, g_source_remove);
	g_source_destroy(base);
	remote_backend_flush(backend);
	if (engine_stop_run(engine))
		take_late_ends(engine, backend);
	engine_finish_run(engine, ret_result);
}
