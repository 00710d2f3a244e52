/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Attempts that run without a record: abandoned while their local scheduler was away, or lost when
 * the controller was restarted. They would keep their nodes until their deadline.
 */
#include <inttypes.h>

#include "common/clock.h"
#include "controller/backend/remote_private.h"

/* Time until orphans that were killed are searched for again, since requests may be given up. */
#define AGAIN_S REMOTE_GRACE_S

struct remote_orphans {
	struct remote_backend *remote;
	uint32_t cluster;
	bool noted;       /* a note was made that the tasks cannot be listed */
	int64_t again_ns; /* time of the next search; 0: not before the link comes up again */
};

static bool is_of_run(const struct remote_backend *remote, const char *id)
{
	uint32_t task, attempt;

	return remote_usage_task_of(remote->run.experiment, remote->run.run, id, &task, &attempt);
}

/* An attempt with the same id on another cluster is a different one. */
static bool is_orphan(const char *id, void *data)
{
	const struct remote_orphans *orphans = data;
	const struct remote_backend *remote = orphans->remote;
	const struct remote_attempt *entry = g_hash_table_lookup(remote->entries, id);

	return is_of_run(remote, id) && (!entry || entry->cluster != orphans->cluster);
}

static void note_unlisted(struct remote_orphans *orphans, const struct remote_link *link,
			  const char *why)
{
	orphans->again_ns = remote_now_ns(orphans->remote);
	if (!orphans->noted)
		remote_note(orphans->remote, "tasks-unlisted",
			    "local scheduler of cluster '%s' does not list its tasks, which may "
			    "include orphans: %s; it is asked again",
			    remote_link_cluster(link)->name, why);
	orphans->noted = true;
}

static void kill_listed(int status, json_t *body, const GError *error, void *data)
{
	struct remote_orphans *orphans = data;
	struct remote_backend *remote = orphans->remote;
	struct remote_link *link = remote_fleet_link(remote->fleet, orphans->cluster);
	uint32_t count;

	if (error || !json_is_array(json_object_get(body, "tasks"))) {
		note_unlisted(orphans, link, error ? error->message : "the answer has no tasks");
		return;
	}
	orphans->noted = false;
	count = remote_fleet_kill_listed(link, body, is_orphan, orphans);
	orphans->again_ns =
		count > 0 ? remote_now_ns(orphans->remote) + (int64_t)(AGAIN_S * 1e9) : 0;
	if (count > 0)
		remote_note(remote, "tasks-unknown",
			    "cluster '%s' still had %" PRIu32 " task(s) under way without a record "
			    "here; they are killed",
			    remote_link_cluster(link)->name, count);
}

void remote_orphans_search(struct remote_backend *remote, uint32_t cluster)
{
	if (!remote->orphans)
		return;
	remote->orphans[cluster].again_ns = 0;
	remote_link_send(remote_fleet_link(remote->fleet, cluster), "GET", "/v1/tasks", NULL,
			 kill_listed, &remote->orphans[cluster]);
}

void remote_orphans_guard(struct remote_backend *remote, int64_t now_ns)
{
	for (uint32_t i = 0; remote->orphans && i < remote->config->clusters_count; i++)
		if (remote->orphans[i].again_ns && remote->orphans[i].again_ns <= now_ns &&
		    !remote_link_away(remote_fleet_link(remote->fleet, i)))
			remote_orphans_search(remote, i);
}

void remote_backend_kill_orphans(struct backend *backend)
{
	struct remote_backend *remote = (struct remote_backend *)backend;
	const uint32_t count = remote->config->clusters_count;

	if (remote->orphans)
		return;
	remote->orphans = g_new(struct remote_orphans, count);
	for (uint32_t i = 0; i < count; i++) {
		remote->orphans[i] = (struct remote_orphans){.remote = remote, .cluster = i};
		remote_orphans_search(remote, i);
	}
}

void remote_orphans_free(struct remote_backend *remote)
{
	for (uint32_t i = 0; remote->orphans && i < remote->config->clusters_count; i++)
		remote_link_forget(remote_fleet_link(remote->fleet, i), &remote->orphans[i]);
	g_clear_pointer(&remote->orphans, g_free);
}
