/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attempts that take too long, or of which nothing is known. */
#include <inttypes.h>

#include "common/clock.h"
#include "controller/backend/remote_private.h"

/* Without this the task would keep its nodes until its deadline. */
static void kill_again(struct remote_attempt *entry, int64_t now_ns)
{
	const struct remote_link *link = remote_attempt_link(entry);

	if (entry->kill.state == OPERATION_FAILED && !remote_link_away(link) &&
	    clock_elapsed_s(entry->kill.called_ns, now_ns) > remote_link_patience_s(link))
		remote_request_delete(entry);
}

static void guard_unclear(struct remote_attempt *entry, int64_t now_ns)
{
	if (clock_elapsed_s(entry->unclear_ns, now_ns) >
	    remote_link_patience_s(remote_attempt_link(entry))) {
		remote_attempt_abandon(entry, "its local scheduler does not report its state");
		remote_request_delete(entry);
	} else {
		remote_request_check(entry);
	}
}

static void guard_killed(struct remote_attempt *entry, int64_t now_ns, double grace_s)
{
	if (clock_elapsed_s(entry->kill.called_ns, now_ns) > grace_s)
		remote_attempt_abandon(entry,
				       "killed, but its local scheduler never reported its end");
	else
		remote_request_check(entry);
}

static void guard_step(const struct remote_operation *step, int64_t now_ns)
{
	const struct remote_kind *kind = &remote_kinds[step->kind];
	const double age_s = remote_operation_answered_s(step, now_ns);
	struct remote_attempt *entry = step->entry;

	if (age_s <= REMOTE_OPERATION_CHECK_S)
		return;
	if (age_s <= kind->stuck_s) {
		remote_request_check(entry);
		return;
	}
	remote_note(entry->remote, "task-stuck",
		    "task %" PRIu32 " of cluster '%s' has not been %s for %.0f s and is killed",
		    entry->task, remote_link_cluster(remote_attempt_link(entry))->name,
		    kind->participle, age_s);
	remote_request_delete(entry);
}

void remote_guard_attempt(struct remote_attempt *entry, int64_t now_ns)
{
	const double grace_s = config_patience(entry->remote->config, REMOTE_GRACE_S);
	const double age_s = remote_suspend_executed_s(entry, now_ns);

	if (remote_attempt_is(entry, ATTEMPT_OVER)) {
		kill_again(entry, now_ns);
		return;
	}
	remote_request_due(entry); /* a start can be withdrawn once it was answered by a 503 */
	if (entry->unclear_ns) {
		guard_unclear(entry, now_ns);
	} else if (!remote_attempt_is_asked(entry)) {
		return;
	} else if (entry->kill.called_ns) {
		guard_killed(entry, now_ns, grace_s);
	} else if (entry->state == ATTEMPT_QUEUED) {
		return; /* its deadline counts from BEGAN */
	} else if (age_s > entry->deadline_s + grace_s) {
		remote_note(entry->remote, "task-overdue",
			    "task %" PRIu32 " of cluster '%s' is %.0f s old", entry->task,
			    remote_link_cluster(remote_attempt_link(entry))->name, age_s);
		remote_request_delete(entry);
	} else {
		guard_step(&entry->step, now_ns);
		if (remote_slots_shared(entry) && !remote_attempt_is(entry, ATTEMPT_UNSTARTED) &&
		    remote_suspend_executes(entry))
			remote_request_check(entry); /* for the CPU that it gets of its share */
	}
}
