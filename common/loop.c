/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/loop.h"

#include <glib.h>

struct until {
	GSource source;
	const struct platform *platform;
	bool (*done)(void *data);
	void *data;
	int64_t end_ns;
	bool is_done;  /* the last result of done() */
	bool has_quit; /* `loop` is left as soon as the loops nested in it are */
	GMainLoop *loop;
};

static bool is_over(struct until *until)
{
	until->is_done = until->is_done || until->done(until->data);
	return until->is_done || platform_now_ns(until->platform) >= until->end_ns;
}

static gboolean prepare(GSource *source, gint *timeout_ms)
{
	struct until *until = (struct until *)source;

	*timeout_ms = -1; /* timers wake the loop */
	return !until->has_quit && is_over(until);
}

static gboolean check(GSource *source)
{
	struct until *until = (struct until *)source;

	return !until->has_quit && is_over(until);
}

static gboolean quit(GSource *source, GSourceFunc callback, gpointer data)
{
	struct until *until = (struct until *)source;

	until->has_quit = true;
	g_main_loop_quit(until->loop);
	return G_SOURCE_CONTINUE;
}

/* A turn of the loop, after which done() is called. */
static gboolean take_turn(gpointer data)
{
	return G_SOURCE_CONTINUE;
}

static gboolean take_last_turn(gpointer data)
{
	*(guint *)data = 0;
	return G_SOURCE_REMOVE;
}

/* Runs the loop while timers of the platform see to it that done() is called in time. */
static void run(struct until *until, int every_ms)
{
	const struct platform *platform = until->platform;
	const int64_t left_ns = until->end_ns - platform_now_ns(platform);
	guint often = platform_after_ms(platform, (guint)MAX(every_ms, 1), take_turn, NULL);
	guint last =
		until->end_ns < INT64_MAX
			? platform_after_ms(platform, (guint)MIN(left_ns / 1000000 + 1, G_MAXUINT),
					    take_last_turn, &last)
			: 0;

	g_main_loop_run(until->loop);
	g_clear_handle_id(&often, g_source_remove);
	g_clear_handle_id(&last, g_source_remove);
}

bool loop_until(const struct platform *platform, bool (*done)(void *data), void *data,
		int64_t end_ns, int every_ms)
{
	static GSourceFuncs funcs = {.prepare = prepare, .check = check, .dispatch = quit};
	GSource *source = g_source_new(&funcs, sizeof(struct until));
	struct until *until = (struct until *)source;
	bool is_done;

	until->platform = platform;
	until->done = done;
	until->data = data;
	until->end_ns = end_ns;
	until->loop = g_main_loop_new(NULL, FALSE);
	g_source_set_priority(source, G_PRIORITY_HIGH);
	g_source_attach(source, NULL);
	if (!is_over(until))
		run(until, every_ms);
	is_done = until->is_done || done(data);
	g_source_destroy(source);
	g_main_loop_unref(until->loop);
	g_source_unref(source);
	return is_done;
}
