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

	entry->share.retry.source = 0;
	remote_share_ctl_continue(entry);
	return G_SOURCE_REMOVE;
}

static void share_done(int status, json_t *body, const GError *error, void *data)
{
	struct remote_attempt *entry = data;
	struct remote_share *share = &entry->share;

	share->open = false;
	if (entry->ended || remote_attempt_unknown(entry, status, error))
		return;
	/* A failure that was reported before this answer has the request repeated. */
	if (!error) {
		share->given = share->retry.source ? (double)NAN : share->sent;
		remote_attempt_read(entry, body, NULL, NULL);
	} else if (status >= 400 && status < 500 && status != 409) {
		remote_note(entry->remote, "task-refused",
			    "task %" PRIu32 " on cluster '%s' was not given its share: %s",
			    entry->task, remote_link_cluster(remote_attempt_link(entry))->name,
			    error->message);
		share->given = share->sent; /* requested again when it changes */
	} else if (!share->retry.source) {  /* its VMs are being moved, or it ends */
		remote_retry_in(&share->retry, SHARE_AGAIN_MS, share_again, entry);
		return;
	}
	if (!entry->ended)
		remote_share_ctl_continue(entry);
}

void remote_share_ctl_continue(struct remote_attempt *entry)
{
	struct remote_share *share = &entry->share;
	g_autofree char *task = NULL;
	g_autofree char *path = NULL;
	g_autoptr(json_t) body = NULL;

	if (entry->ended || entry->kill_wanted || !entry->started || share->open ||
	    share->retry.source || entry->step != REMOTE_STEP_NONE ||
	    fabs(share->wanted - share->given) < SHARES_DIFFER /* false if NAN */)
		return;
	share->n = MAX(share->n + 1, remote_attempt_try(entry));
	share->sent = share->wanted;
	share->open = true;
	task = remote_attempt_path(entry);
	path = g_strdup_printf("%s/shares/%" PRId64, task, share->n);
	body = json_pack("{s:f}", "share", share->sent);
	remote_link_send(remote_attempt_link(entry), "PUT", path, body, share_done, entry);
}

void remote_share_ctl_want(struct remote_attempt *entry, double yield)
{
	const struct config_type *type = &entry->remote->config->types[entry->type];
	struct remote_share *share = &entry->share;

	if (fabs(share->wanted - yield * type->cpu_need) >= SHARES_DIFFER && share->retry.source) {
		remote_retry_stop(&share->retry);
		share->retry.count = 0;
	}
	share->wanted = yield * type->cpu_need;
	remote_share_ctl_continue(entry);
}

void remote_share_ctl_failed(struct remote_attempt *entry, const char *reason)
{
	struct remote_share *share = &entry->share;

	remote_note(entry->remote, "share-failed",
		    "task %" PRIu32 " of cluster '%s': its VMs did not get %.2f of their nodes: %s",
		    entry->task, remote_link_cluster(remote_attempt_link(entry))->name, share->sent,
		    reason ?: "no reason given");
	/* some VMs may have this share, and others the one before */
	share->given = (double)NAN;
	if (fabs(share->wanted - share->sent) >= SHARES_DIFFER)
		share->retry.count = 0; /* the wanted share has changed meanwhile */
	if (!share->retry.source)
		remote_retry_in(&share->retry,
				MIN(SHARE_AGAIN_MS << MIN(share->retry.count, 8),
				    SHARE_AGAIN_MOST_MS),
				share_again, entry);
	share->retry.count++;
}

void remote_share_ctl_take(struct remote_attempt *entry, const struct remote_task *task)
{
	const struct remote_run *run = &entry->remote->run;
	const struct task_share *told = &task->share;
	struct remote_share *share = &entry->share;

	if (entry->adopted && !entry->described && told->n > 0) {
		share->n = told->n;
		share->given = told->set_ns ? told->fraction : (double)NAN;
	}
	if (told->set_ns && told->n == share->n)
		share->retry.count = 0;
	if (!run->delivered || !remote_slots_shared(entry) || !told->set_ns ||
	    task->state != TASK_RUNNING || isnan(told->given_cores))
		return;
	run->delivered(remote_run_s(entry->remote, clock_now_ns()), entry->task, entry->attempt,
		       told, run->data);
}
