/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stream of events: a long poll whose numbers continue after a restart of the local scheduler.
 */
#include <inttypes.h>

#include "common/clock.h"
#include "common/http_client.h"
#include "common/json.h"
#include "controller/backend/remote_link_private.h"

#define EVENTS_WAIT_S 30
#define EVENTS_TIMEOUT_S (EVENTS_WAIT_S + 15.0)
#define RETRY_MS 500

static void event_node(struct remote_link *link, const json_t *event, const char *kind,
		       int64_t t_ns)
{
	json_t *detail = json_object_get(event, "detail");
	const char *reason = json_string_value(json_object_get(detail, "reason"));
	int64_t node;

	if (!json_get_integer(event, "node", "event", 0, link->cluster->nodes - 1, &node, NULL))
		return;
	remote_link_set_node(link, (uint32_t)node, g_str_equal(kind, "node-ready"), t_ns, reason);
}

static bool event_task(struct remote_link *link, const json_t *event, const char *kind,
		       int64_t t_ns, GError **error)
{
	g_autoptr(task_t) task = NULL;
	const char *id;

	if (!g_str_equal(kind, "task-started")) {
		task = remote_task_parse(json_object_get(event, "detail"), error);
		if (!task)
			return false;
	} else {
		if (!json_get_string(event, "task", "event", &id, error))
			return false;
		task = g_new0(struct task, 1);
		task->id = g_strdup(id);
		task->state = TASK_RUNNING;
		task->started_ns = t_ns;
	}
	remote_link_translate(link, task);
	if (link->listener)
		link->listener->task(link, task, link->listener->data);
	return true;
}

/* Failures of requests, by the kind of event. */
static const char *const failures[] = {
	[REMOTE_FAILURE_SUSPENSION] = "task-suspend-failed",
	[REMOTE_FAILURE_RESUMPTION] = "task-resume-failed",
	[REMOTE_FAILURE_MIGRATION] = "task-migrate-failed",
	[REMOTE_FAILURE_SHARE] = "task-share-failed",
	[REMOTE_FAILURES] = NULL,
};

/* VMs that were moved before the failure of a migration are in the description. */
static bool event_failed(struct remote_link *link, const json_t *event, enum remote_failure what,
			 int64_t t_ns, GError **error)
{
	json_t *detail = json_object_get(event, "detail");
	const char *id;

	if ((what == REMOTE_FAILURE_MIGRATION &&
	     !event_task(link, event, failures[what], t_ns, error)) ||
	    !json_get_string(event, "task", "event", &id, error))
		return false;
	if (link->listener)
		link->listener->failed(link, id, what,
				       json_string_value(json_object_get(detail, "reason")),
				       link->listener->data);
	return true;
}

static void event_other(struct remote_link *link, const json_t *event, const char *kind)
{
	const char *host = json_string_value(json_object_get(event, "host"));
	json_t *detail = json_object_get(event, "detail");
	g_autofree char *more = detail && !json_is_null(detail) ? json_text(detail) : NULL;

	remote_link_note(link, kind, "cluster '%s'%s%s: %s%s%s", link->cluster->name,
			 host ? ", host " : "", host ?: "", kind, more ? " " : "", more ?: "");
}

/* The time of an event on the peer's clock; now, with a note, if it is impossible. */
static int64_t event_time(struct remote_link *link, const json_t *event)
{
	const int64_t now_ns =
		platform_now_ns(link->platform) - remote_clock_ours_ns(&link->clock, 0);
	g_autoptr(GError) wrong = NULL;
	int64_t t_ns;

	if (json_get_integer(event, "t_ns", "event", 0, now_ns + REMOTE_CLOCK_AHEAD_MAX_NS, &t_ns,
			     &wrong))
		return t_ns;
	remote_link_note_protocol_error(link, wrong);
	return now_ns;
}

/* An event without a valid number is read as well. */
static bool read_event(struct remote_link *link, const json_t *event, GError **error)
{
	const char *kind;
	int64_t seq;
	int64_t t_ns;
	int failure;

	if (json_get_integer(event, "seq", "event", 0, WIRE_SEQ_MAX, &seq, NULL)) {
		if (seq <= link->events_after)
			return true;
		link->events_after = seq;
	} else { /* numbers ascend by one */
		link->events_after++;
	}
	if (!json_get_string(event, "kind", "event", &kind, error))
		return false;
	t_ns = event_time(link, event);
	failure = record_word_find(failures, kind);
	if (g_str_equal(kind, "node-ready") || g_str_equal(kind, "node-down"))
		event_node(link, event, kind, t_ns);
	else if (failure >= 0)
		return event_failed(link, event, (enum remote_failure)failure, t_ns, error);
	else if (g_str_has_prefix(kind, "task-"))
		return event_task(link, event, kind, t_ns, error);
	else
		event_other(link, event, kind);
	return true;
}

/* A malformed event does not hide the good events after it. */
static bool read_events(struct remote_link *link, json_t *body, GError **error)
{
	json_t *events;
	int64_t last;
	bool good = true;

	if (!json_get_integer(body, "last", "events", 0, WIRE_SEQ_MAX, &last, error))
		return false;
	if (link->events_after < 0) {
		link->events_after = last;
		/*
		 * Events before `last` are not read; they may have happened after a task's state
		 * was requested.
		 */
		remote_link_resync(link);
		return true;
	}
	if (last < link->events_after) {
		remote_link_forget_peer(link);
		return true;
	}
	if (!json_get_array(body, "events", "events", &events, error))
		return false;
	for (size_t i = 0; i < json_array_size(events); i++)
		good = read_event(link, json_array_get(events, i), good ? error : NULL) && good;
	if (!good) /* it may have been about any task */
		remote_link_resync(link);
	return good;
}

static gboolean events_again(gpointer data)
{
	struct remote_link *link = data;

	link->events_source = 0;
	remote_link_poll_events(link);
	return G_SOURCE_REMOVE;
}

static void events_done(int status, json_t *body, const GError *error, void *data)
{
	struct remote_link *link = data;
	g_autoptr(GError) wrong = NULL;
	bool good = false;

	link->events_pending = false;
	if (remote_link_usable(link, body, error)) {
		good = read_events(link, body, &wrong);
		remote_link_settle(link, good, wrong);
	}
	if (good)
		remote_link_poll_events(link);
	else if (!link->events_source)
		link->events_source =
			platform_after_ms(link->platform, RETRY_MS, events_again, link);
}

/*
 * Events before the first poll are not read; their tasks are checked instead, and are recorded when
 * the answers are. So an event counts as read when it was read at the previous call, and all
 * requests made before that call are answered.
 */
void remote_link_note_read(struct remote_link *link)
{
	if (link->away || remote_link_waits_for(link, link->events_seen_at))
		return;
	link->events_read = link->events_seen;
	link->events_seen = MAX(link->events_after, 0);
	link->events_seen_at = link->requests_made;
}

/* Sent with the next poll. */
void remote_link_acknowledge(struct remote_link *link)
{
	link->events_taken = link->events_read;
}

void remote_link_poll_events(struct remote_link *link)
{
	g_autoptr(GString) path = g_string_new("/v1/events?after=");

	if (link->events_pending || !link->identified)
		return;
	link->events_pending = true;
	if (link->events_after < 0)
		g_string_append_printf(path, "%" PRId64 "&wait_s=0", WIRE_SEQ_MAX);
	else
		g_string_append_printf(path, "%" PRId64 "&wait_s=%d", link->events_after,
				       EVENTS_WAIT_S);
	if (link->events_taken > 0)
		g_string_append_printf(path, "&taken=%" PRId64, link->events_taken);
	http_client_request(link->events_client, "GET", path->str, NULL, EVENTS_TIMEOUT_S,
			    events_done, link);
}
