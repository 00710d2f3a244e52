/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/session/run_loop.h"

#include <math.h>

#include "controller/backend/remote.h"

/* The longest sleep, for a next time that is far away: a day. */
#define SLEEP_MAX_S 86400.0

/* The source of the engine. */
struct engine_source {
	GSource source;
	struct engine *engine;
	struct backend *backend;
	GMainLoop *loop;
};

static double left_s(const struct engine_source *source)
{
	return engine_next_s(source->engine) - backend_now_s(source->backend);
}

static bool is_due(const struct engine_source *source)
{
	return left_s(source) <= 0 || engine_has_ended(source->engine) ||
	       remote_backend_has_event(source->backend, engine_next_s(source->engine));
}

static gboolean prepare(GSource *base, gint *timeout_ms)
{
	const struct engine_source *source = (struct engine_source *)base;

	if (is_due(source))
		return TRUE;
	/* The time may have come since. */
	*timeout_ms = (gint)ceil(fmin(fmax(left_s(source), 0), SLEEP_MAX_S) * 1000);
	return FALSE;
}

static gboolean check(GSource *base)
{
	return is_due((struct engine_source *)base);
}

/* Has the engine handle one event, so that clients have a turn between two. */
static gboolean dispatch(GSource *base, GSourceFunc callback, gpointer data)
{
	const struct engine_source *source = (struct engine_source *)base;
	struct engine *engine = source->engine;
	struct backend_event event;

	if (!engine_has_ended(engine)) { /* a request or a timer may have aborted the run */
		if (!remote_backend_take(source->backend, engine_next_s(engine), &event))
			event = (struct backend_event){.time_s = backend_now_s(source->backend)};
		engine_event(engine, &event);
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

void run_loop(struct engine *engine, struct backend *backend, struct engine_result *ret_result)
{
	static GSourceFuncs funcs = {.prepare = prepare, .check = check, .dispatch = dispatch};
	g_autoptr(GSource) base = g_source_new(&funcs, sizeof(struct engine_source));
	g_autoptr(GMainLoop) loop = g_main_loop_new(NULL, FALSE);
	struct engine_source *source = (struct engine_source *)base;

	source->engine = engine;
	source->backend = backend;
	source->loop = loop;
	engine_begin_run(engine);
	if (!engine_has_ended(engine)) {
		g_source_attach(base, NULL);
		g_main_loop_run(loop);
	}
	g_source_destroy(base);
	if (engine_stop_run(engine))
		take_late_ends(engine, backend);
	engine_finish_run(engine, ret_result);
}
