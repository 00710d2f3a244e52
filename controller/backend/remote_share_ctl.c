/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The CPU share that the VMs of a task get of their nodes. One request is under way at a time; a
 * failed one is repeated at growing intervals until the VMs have the wanted share.
 */
#include <inttypes.h>
#include <math.h>

#include "common/clock.h"
#include "controller/backend/remote_private.h"

/*
 * Delay of the next request after a refused one; after failures it grows to at most
 * SHARE_AGAIN_MOST_MS.
 */
#define SHARE_AGAIN_MS 500
#define SHARE_AGAIN_MOST_MS 60000

/* Shares closer than this are equal. */
#define SHARES_DIFFER 1e-6

/* Has a share requested that is wanted and not given. */
static void have_requested(struct remote_share *share)
{
	if (share->operation.open)
		return;
	if (fabs(share->wanted - share->given) < SHARES_DIFFER /* false if NAN */)
		remote_operation_end(&share->operation);
	else
		remote_operation_move(&share->operation, share->operation.state == OPERATION_NONE
								 ? OPERATION_CALL
								 : OPERATION_RETRY);
}

void remote_share_ctl_answered(struct remote_attempt *entry, int status, const GError *error)
{
	struct remote_share *share = &entry->share;
	struct remote_operation *operation = &share->operation;

	/* A failure that was reported before this answer has the request repeated. */
	if (!error) {
		share->given = operation->state == OPERATION_FAILED ? (double)NAN : share->sent;
	} else if (status >= 400 && status < 500 && status != 409) {
		remote_note(entry->remote, "task-refused",
			    "task %" PRIu32 " on cluster '%s' was not given its share: %s",
			    entry->task, remote_link_cluster(remote_attempt_link(entry))->name,
			    error->message);
		share->given = share->sent; /* requested again when it changes */
	} else if (!operation->wait_ms) {   /* its VMs are being moved, or it ends */
		operation->wait_ms = SHARE_AGAIN_MS;
	}
	have_requested(share);
}

void remote_share_ctl_want(struct remote_attempt *entry, double yield)
{
	const double wanted = yield * entry->remote->config->types[entry->type].cpu_need;
	struct remote_share *share = &entry->share;

	if (fabs(share->wanted - wanted) >= SHARES_DIFFER && share->operation.wait_ms) {
		remote_operation_unwait(&share->operation);
		share->operation.refusals = 0;
	}
	share->wanted = wanted;
	have_requested(share);
}

void remote_share_ctl_failed(struct remote_attempt *entry, const char *reason)
{
	struct remote_share *share = &entry->share;
	struct remote_operation *operation = &share->operation;

	remote_note(entry->remote, "share-failed",
		    "task %" PRIu32 " of cluster '%s': its VMs did not get %.2f of their nodes: %s",
		    entry->task, remote_link_cluster(remote_attempt_link(entry))->name, share->sent,
		    reason ?: "no reason given");
	/* some VMs may have this share, and others the one before */
	share->given = (double)NAN;
	if (fabs(share->wanted - share->sent) >= SHARES_DIFFER)
		operation->refusals = 0; /* the wanted share has changed meanwhile */
	if (!operation->wait_ms)
		operation->wait_ms =
			MIN(SHARE_AGAIN_MS << MIN(operation->refusals, 8), SHARE_AGAIN_MOST_MS);
	operation->refusals++;
	if (operation->open)
		remote_operation_move(operation, OPERATION_FAIL);
	have_requested(share);
}

void remote_share_ctl_take(struct remote_attempt *entry, const struct task *task)
{
	const struct remote_run *run = &entry->remote->run;
	const struct task_share *told = &task->share;
	struct remote_share *share = &entry->share;

	if (remote_attempt_is(entry, ATTEMPT_ANY_REATTACHED) && told->n > 0) {
		share->n = told->n;
		share->given = told->set_ns ? told->fraction : (double)NAN;
		have_requested(share);
	}
	if (told->set_ns && told->n == share->n)
		share->operation.refusals = 0;
	if (!run->delivered || !remote_slots_shared(entry) || !told->set_ns ||
	    task->state != TASK_RUNNING || isnan(told->given_cores))
		return;
	run->delivered(remote_run_s(entry->remote, remote_now_ns(entry->remote)), entry->task,
		       entry->attempt, told, run->data);
}
