/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The CPU share that the VMs of a task get of their nodes. One request is under way at a time; a
 * failed one is repeated at growing intervals until the VMs have the wanted share.
 */
#include <inttypes.h>
#include <math.h>

#include "common/clock.h"
#include "common/json.h"
#include "controller/backend/remote_private.h"

/*
 * Delay of the next request after a refused one; after failures it grows to at most
 * SHARE_AGAIN_MOST_MS.
 */
#define SHARE_AGAIN_MS 500
#define SHARE_AGAIN_MOST_MS 60000

/* Shares closer than this are equal. */
#define SHARES_DIFFER 1e-6

static gboolean share_again(gpointer data)
{
	struct remote_attempt *entry = data;

	entry->share_source = 0;
	remote_share_ctl_continue(entry);
	return G_SOURCE_REMOVE;
}

static void share_done(int status, json_t *body, const GError *error, void *data)
{
	struct remote_attempt *entry = data;

	entry->share_open = false;
	if (entry->ended || remote_attempt_unknown(entry, status, error))
		return;
	/*
	 * with a share_source a failure was reported before this answer, and the request is
	 * repeated
	 */
	if (!error) {
		entry->share_given = entry->share_source ? (double)NAN : entry->share_sent;
		remote_attempt_read(entry, body, NULL, NULL);
	} else if (status >= 400 && status < 500 && status != 409) {
		remote_note(entry->remote, "task-refused",
			    "task %" PRIu32 " on cluster '%s' was not given its share: %s",
			    entry->task, remote_link_cluster(remote_attempt_link(entry))->name,
			    error->message);
		entry->share_given = entry->share_sent; /* requested again when it changes */
	} else if (!entry->share_source) { /* its VMs are being moved, or it ends */
		entry->share_source = g_timeout_add(SHARE_AGAIN_MS, share_again, entry);
		return;
	}
	if (!entry->ended)
		remote_share_ctl_continue(entry);
}

void remote_share_ctl_continue(struct remote_attempt *entry)
{
	g_autofree char *task = NULL;
	g_autofree char *path = NULL;
	g_autoptr(json_t) body = NULL;

	if (entry->ended || entry->kill_wanted || !entry->started || entry->share_open ||
	    entry->share_source || entry->migrating || entry->step != REMOTE_STEP_NONE ||
	    fabs(entry->share_wanted - entry->share_given) < SHARES_DIFFER /* false if NAN */)
		return;
	entry->share_n = MAX(entry->share_n + 1, remote_attempt_try(entry));
	entry->share_sent = entry->share_wanted;
	entry->share_open = true;
	task = remote_attempt_path(entry);
	path = g_strdup_printf("%s/shares/%" PRId64, task, entry->share_n);
	body = json_pack("{s:f}", "share", entry->share_sent);
	remote_link_send(remote_attempt_link(entry), "PUT", path, body, share_done, entry);
}

void remote_share_ctl_want(struct remote_attempt *entry, double yield)
{
	const struct config_type *type = &entry->remote->config->types[entry->type];

	if (fabs(entry->share_wanted - yield * type->cpu_need) >= SHARES_DIFFER &&
	    entry->share_source) {
		g_source_remove(entry->share_source);
		entry->share_source = 0;
		entry->share_failures = 0;
	}
	entry->share_wanted = yield * type->cpu_need;
	remote_share_ctl_continue(entry);
}

void remote_share_ctl_failed(struct remote_attempt *entry, const char *reason)
{
	remote_note(entry->remote, "share-failed",
		    "task %" PRIu32 " of cluster '%s': its VMs did not get %.2f of their nodes: %s",
		    entry->task, remote_link_cluster(remote_attempt_link(entry))->name,
		    entry->share_sent, reason ?: "no reason given");
	/* some VMs may have this share, and others the one before */
	entry->share_given = (double)NAN;
	if (fabs(entry->share_wanted - entry->share_sent) >= SHARES_DIFFER)
		entry->share_failures = 0; /* the wanted share has changed meanwhile */
	if (!entry->share_source)
		entry->share_source =
			g_timeout_add(MIN(SHARE_AGAIN_MS << MIN(entry->share_failures, 8),
					  SHARE_AGAIN_MOST_MS),
				      share_again, entry);
	entry->share_failures++;
}

void remote_share_ctl_take(struct remote_attempt *entry, const struct remote_task *task)
{
	const struct remote_run *run = &entry->remote->run;
	const struct task_share *share = &task->share;

	if (entry->adopted && !entry->described && share->n > 0) {
		entry->share_n = share->n;
		entry->share_given = share->set_ns ? share->fraction : (double)NAN;
	}
	if (share->set_ns && share->n == entry->share_n)
		entry->share_failures = 0;
	if (!run->delivered || !remote_slots_shared(entry) || !share->set_ns ||
	    task->state != TASK_RUNNING || isnan(share->given_cores))
		return;
	run->delivered(remote_run_s(entry->remote, clock_now_ns()), entry->task, entry->attempt,
		       share, run->data);
}
