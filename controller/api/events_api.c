/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/platform.h"
#include "controller/api/events_api.h"

#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/api/task_visibility.h"
#include "controller/api/status_api_private.h"

#define WAIT_MOST_S 60.0

struct events_api {
	struct run_session *session;
	GQueue waiting; /* struct waiter */
	guint answer_source;
};

/* A request that waits for an event. */
struct waiter {
	struct events_api *api;
	struct http_request *request;
	int64_t after;
	guint timeout_source;
};

static void add_start(GHashTable *starts, int64_t run, GDateTime *start)
{
	if (start)
		g_hash_table_insert(starts, g_memdup2(&run, sizeof(run)), start);
}

/*
 * Starts of runs in UTC, by row id; NULL where unknown. The start of the present run is computed
 * with the present setting of the clock, which may have been wrong when the run began: a service
 * runs for months.
 */
static GHashTable *run_starts(const struct run_session *session)
{
	GHashTable *starts = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
						   (GDestroyNotify)g_date_time_unref);
	g_autoptr(GPtrArray) runs = store_runs(view_store(session), NULL);
	const int64_t run = view_run(session);
	const int64_t zero_us = view_start_utc_us(session);
	g_autoptr(GDateTime) second = g_date_time_new_from_unix_utc(zero_us / G_USEC_PER_SEC);

	for (guint i = 0; runs && i < runs->len; i++) {
		const struct store_run *one = g_ptr_array_index(runs, i);

		if (one->started_utc)
			add_start(starts, one->run,
				  g_date_time_new_from_iso8601(one->started_utc, NULL));
	}
	if (run && zero_us)
		add_start(starts, run, g_date_time_add(second, zero_us % G_USEC_PER_SEC));
	return starts;
}

static json_t *utc_json(GHashTable *starts, const struct store_event *event)
{
	GDateTime *start = g_hash_table_lookup(starts, &event->run);
	g_autoptr(GDateTime) time = start && isfinite(event->time_s)
					    ? g_date_time_add_seconds(start, event->time_s)
					    : NULL;
	g_autofree char *whole = time ? g_date_time_format(time, "%Y-%m-%dT%H:%M:%S") : NULL;
	g_autofree char *text =
		whole ? g_strdup_printf("%s.%03dZ", whole, g_date_time_get_microsecond(time) / 1000)
		      : NULL;

	return json_string_or_null(text);
}

static json_t *event_json(GHashTable *starts, const struct store_event *event)
{
	g_autoptr(json_t) detail =
		event->detail ? json_parse(event->detail, strlen(event->detail), "detail", NULL)
			      : NULL;
	json_t *task = json_object_get(detail, "task");

	return json_pack("{s:I, s:I, s:o, s:o, s:s, s:O?, s:O?}", "seq", (json_int_t)event->id,
			 "run", (json_int_t)event->run, "time_s",
			 json_number_or_null(event->time_s), "utc", utc_json(starts, event), "kind",
			 event->kind, "task", json_is_integer(task) ? task : NULL, "detail",
			 detail);
}

/* The event as the client may see it. Tasks of other runs belong to the owner of the experiment. */
static json_t *visible_json(struct http_request *request, const struct run_session *session,
			    GHashTable *starts, const struct store_event *event)
{
	json_t *object = event_json(starts, event);
	const json_t *task = json_object_get(object, "task");
	const bool told = json_is_integer(task)
				  ? task_visibility_shows(request, session,
							  (uint32_t)json_integer_value(task))
				  : !json_object_get(json_object_get(object, "detail"), "text") ||
					    task_visibility_shows_notice(request, event->kind);

	if (!told)
		task_visibility_hide_event(object);
	return object;
}

static json_t *events_json(struct http_request *request, const struct run_session *session,
			   GPtrArray *events, int64_t after)
{
	g_autoptr(GHashTable) starts = events->len ? run_starts(session) : NULL;
	json_t *list = json_array();
	int64_t last = after;

	for (guint i = 0; i < events->len; i++) {
		const struct store_event *event = g_ptr_array_index(events, i);

		json_array_append_new(list, visible_json(request, session, starts, event));
		last = event->id;
	}
	return json_pack("{s:o, s:I}", "events", list, "last", (json_int_t)last);
}

/*
 * Answers with the events above `after`, if there are any or `empty` is set. Returns whether it
 * answered.
 */
static bool send_events(struct events_api *api, struct http_request *request, int64_t after,
			bool empty)
{
	g_autoptr(GPtrArray) events = NULL;
	g_autoptr(GError) error = NULL;

	if (run_session_commit(api->session, &error))
		events = store_events_after(view_store(api->session), 0, after, EVENTS_API_MOST,
					    &error);
	if (!events)
		http_request_fail(request, 503, "%s", error->message);
	else if (events->len || empty)
		http_request_reply(request, 200, events_json(request, api->session, events, after));
	else
		return false;
	return true;
}

/* Frees a waiter and removes it from the list; its request stays. */
static void waiter_free(struct waiter *waiter)
{
	g_queue_remove(&waiter->api->waiting, waiter);
	g_clear_handle_id(&waiter->timeout_source, g_source_remove);
	g_free(waiter);
}

static void on_cancel(struct http_request *request, void *data)
{
	waiter_free(data);
}

static gboolean on_timeout(void *data)
{
	struct waiter *waiter = data;

	waiter->timeout_source = 0;
	send_events(waiter->api, waiter->request, waiter->after, true);
	waiter_free(waiter);
	return G_SOURCE_REMOVE;
}

static gboolean answer_all(void *data)
{
	struct events_api *api = data;
	GList *next;

	api->answer_source = 0;
	for (GList *at = api->waiting.head; at; at = next) {
		struct waiter *waiter = at->data;

		next = at->next;
		if (send_events(api, waiter->request, waiter->after, false))
			waiter_free(waiter);
	}
	return G_SOURCE_REMOVE;
}

/* Called within a write to the store: waiters are answered when the main loop runs again. */
static void on_event(void *data)
{
	struct events_api *api = data;

	if (!api->answer_source && !g_queue_is_empty(&api->waiting))
		api->answer_source = platform_soon(view_platform(api->session), G_PRIORITY_DEFAULT,
						   answer_all, api);
}

struct events_api *events_api_new(struct run_session *session)
{
	struct events_api *api = g_new0(struct events_api, 1);

	api->session = session;
	store_watch_events(view_store(session), on_event, api);
	return api;
}

void events_api_free(struct events_api *api)
{
	if (!api)
		return;
	store_watch_events(view_store(api->session), NULL, NULL);
	g_clear_handle_id(&api->answer_source, g_source_remove);
	g_free(api);
}

void events_api_get(struct http_request *request, const char *const *arguments, json_t *body,
		    void *data)
{
	struct events_api *api = ((struct status_api *)data)->events;
	const uint64_t last = (uint64_t)store_last_event(view_store(api->session));
	struct waiter *waiter;
	uint64_t after;
	double wait_s;

	if (!http_request_query_integer(request, "after", 0, INT64_MAX,
					last - MIN(last, EVENTS_API_LAST), &after) ||
	    !http_request_query_real(request, "wait_s", 0, WAIT_MOST_S, 0, &wait_s) ||
	    send_events(api, request, (int64_t)MIN(after, last), wait_s <= 0))
		return;
	waiter = g_new0(struct waiter, 1);
	waiter->api = api;
	waiter->request = request;
	waiter->after = (int64_t)MIN(after, last);
	waiter->timeout_source = platform_after_ms(view_platform(api->session),
						   (guint)ceil(wait_s * 1000), on_timeout, waiter);
	g_queue_push_tail(&api->waiting, waiter);
	http_request_on_cancel(request, on_cancel, waiter);
}
