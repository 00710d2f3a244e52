/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the other files of the backend share: the run's clock, notes and events. */
#include <math.h>

#include "common/clock.h"
#include "controller/backend/remote_private.h"

double remote_run_s(const struct remote_backend *remote, int64_t t_ns)
{
	return clock_elapsed_s(remote->run.t0_ns, t_ns);
}

void remote_note(struct remote_backend *remote, const char *kind, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list arguments;

	if (!remote->run.note)
		return;
	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	remote->run.note(remote_run_s(remote, remote_now_ns(remote)), kind, text, remote->run.data);
}

void remote_event_free(void *data)
{
	struct backend_event *event = data;

	if (!event)
		return;
	g_free((char *)event->reason);
	g_free((void *)event->vms);
	g_free((void *)event->moves);
	g_free(event);
}

static int by_time(const void *a, const void *b, void *data)
{
	const struct backend_event *one = a;
	const struct backend_event *other = b;

	return one->time_s < other->time_s ? -1 : one->time_s > other->time_s;
}

void remote_push(struct remote_backend *remote, const struct backend_event *event)
{
	struct backend_event *copy = g_memdup2(event, sizeof(*event));
	GList *at = remote->events.tail;

	copy->reason = g_strdup(event->reason);
	copy->vms = g_memdup2(event->vms, sizeof(*event->vms) * event->vms_count);
	copy->moves = g_memdup2(event->moves, sizeof(*event->moves) * event->moves_count);
	while (at && by_time(at->data, copy, NULL) > 0)
		at = at->prev;
	if (at)
		g_queue_insert_after(&remote->events, at, copy);
	else
		g_queue_push_head(&remote->events, copy);
	g_main_context_wakeup(NULL);
}

struct remote_link *remote_attempt_link(const struct remote_attempt *entry)
{
	return remote_fleet_link(entry->remote->fleet, entry->cluster);
}

struct backend_event remote_attempt_event(struct remote_attempt *entry,
					  enum backend_event_kind kind, int64_t t_ns)
{
	struct backend_event event = {
		.kind = kind,
		.task = entry->task,
		.attempt = entry->attempt,
		.cluster = entry->cluster,
		.node = remote_slots_host(remote_link_cluster(remote_attempt_link(entry)),
					  entry->nodes[0]),
	};

	entry->last_s = fmax(entry->last_s, remote_run_s(entry->remote, t_ns));
	event.time_s = entry->last_s;
	return event;
}
