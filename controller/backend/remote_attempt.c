/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One attempt of a task: what its local scheduler reports of it, and its end. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "common/error_fail.h"
#include "common/json.h"
#include "controller/backend/remote_private.h"
#include "controller/backend/remote_task.h"

/*
 * The attempt's turn has come: its execution time counts from here. An attempt that was killed
 * before has none.
 */
static void report_begun(struct remote_attempt *entry, const struct task *task)
{
	struct backend_event event;

	if (task->state == TASK_QUEUED ||
	    !(task->queued_ns && task->requested_ns > task->queued_ns) ||
	    !remote_attempt_move(entry, ATTEMPT_BEGIN))
		return;
	entry->start_ns = task->requested_ns;
	event = remote_attempt_event(entry, BACKEND_EVENT_BEGAN, task->requested_ns);
	remote_push(entry->remote, &event);
}

static void report_started(struct remote_attempt *entry, int64_t t_ns)
{
	const struct remote_run *run = &entry->remote->run;
	const bool queued = entry->state == ATTEMPT_QUEUED;
	struct backend_event event;

	if (!remote_attempt_move(entry, ATTEMPT_STARTED))
		return;
	if (queued) /* BEGAN, from which its execution time counts, cannot be reported any more */
		entry->start_ns = t_ns;
	event = remote_attempt_event(entry, BACKEND_EVENT_STARTED, t_ns);
	remote_push(entry->remote, &event);
	if (run->launched && !entry->reattached && !queued)
		run->launched(event.time_s, entry->task, entry->attempt,
			      clock_elapsed_s(entry->start_ns, t_ns), run->data);
	/* The task's start is not an overhead of a step that was called before. */
	if (entry->step.called_ns)
		entry->step.called_ns = remote_now_ns(entry->remote);
}

/* Reports an end that the local scheduler has not reported. */
static void report_end(struct remote_attempt *entry, enum backend_outcome outcome,
		       const char *reason)
{
	int64_t now_ns = remote_now_ns(entry->remote);
	struct backend_event event = remote_attempt_event(entry, BACKEND_EVENT_ENDED, now_ns);

	event.outcome = outcome;
	event.exec_s = remote_suspend_executed_s(entry, now_ns);
	event.energy_j = (double)NAN;
	event.reason = reason;
	remote_push(entry->remote, &event);
}

void remote_attempt_end(struct remote_attempt *entry, enum backend_outcome outcome,
			const char *reason)
{
	if (remote_attempt_move(entry, ATTEMPT_END))
		report_end(entry, outcome, reason);
}

void remote_attempt_abandon(struct remote_attempt *entry, const char *reason)
{
	const bool over = remote_attempt_is(entry, ATTEMPT_OVER);

	if (remote_attempt_move(entry, ATTEMPT_ABANDON) && !over)
		report_end(entry, BACKEND_OUTCOME_LOST, reason);
}

/* The energy that the hosts of the task would have used idle, in its intervals. */
static double idle_j(const struct remote_attempt *entry, const struct task *task)
{
	g_autoptr(GArray) intervals =
		remote_suspensions_intervals(task->suspensions, task->requested_ns, task->ended_ns);
	double sum_j = 0;

	for (guint i = 0; i < intervals->len; i++) {
		const struct remote_interval *one =
			&g_array_index(intervals, struct remote_interval, i);
		double idle_w = one->nodes ? remote_link_idle_w(remote_attempt_link(entry),
								one->nodes, one->count)
					   : remote_link_idle_w(remote_attempt_link(entry),
								entry->nodes, entry->nodes_count);

		sum_j += idle_w * clock_elapsed_s(one->from_ns, one->to_ns);
	}
	return sum_j;
}

static void report_task_end(struct remote_attempt *entry, const struct task *task)
{
	const bool queued = entry->state == ATTEMPT_QUEUED;
	int64_t end_ns = task->ended_ns ?: remote_now_ns(entry->remote);
	struct backend_event event;

	if (!remote_attempt_move(entry, ATTEMPT_END))
		return;
	event = remote_attempt_event(entry, BACKEND_EVENT_ENDED, end_ns);
	event.outcome = remote_task_outcome(task);
	event.cause = task_end_cause(task);
	event.done = task->progress.done;
	event.total = task->progress.total;
	event.exec_s = fmax(0, clock_elapsed_s(entry->start_ns, end_ns) -
				       remote_suspensions_paused_s(task->suspensions, end_ns));
	if (queued)
		event.exec_s = 0;
	event.energy_j = remote_task_energy_j(task, idle_j(entry, task));
	event.reason = task->reason;
	remote_push(entry->remote, &event);
}

/* At most one note for values that are wrong in every answer, and one for the end. */
static void note_doubts(struct remote_attempt *entry, const struct task *task)
{
	if (!task->doubts || (entry->doubted && task->state != TASK_ENDED))
		return;
	entry->doubted = true;
	remote_note(entry->remote, "scheduler-rubbish",
		    "local scheduler of cluster '%s' reports impossible values of task %" PRIu32
		    ", which are taken as not known: %s",
		    remote_link_cluster(remote_attempt_link(entry))->name, entry->task,
		    task->doubts);
}

/*
 * Reattached attempts on shared hosts: the local scheduler knows the nodes that an earlier
 * controller chose.
 */
static void take_nodes(struct remote_attempt *entry, const struct task *task)
{
	if (remote_attempt_is(entry, ATTEMPT_ANY_REATTACHED) && task->nodes &&
	    remote_suspend_executes(entry) && task->nodes_count == entry->nodes_count)
		memcpy(entry->nodes, task->nodes, sizeof(*entry->nodes) * entry->nodes_count);
}

void remote_attempt_take(struct remote_attempt *entry, const struct task *task)
{
	if (remote_attempt_is(entry, ATTEMPT_OVER))
		return;
	note_doubts(entry, task);
	if (entry->reattached && task->requested_ns)
		entry->start_ns = task->requested_ns;
	/* The time in which it waited for VMs that were rebooted for its user does not count. */
	if (!entry->enqueued && remote_attempt_is(entry, ATTEMPT_UNSTARTED) && task->queued_ns &&
	    task->requested_ns > entry->start_ns)
		entry->start_ns = task->requested_ns;
	take_nodes(entry, task);
	report_begun(entry, task);
	if (task->started_ns && task->state != TASK_STARTING)
		report_started(entry, task->started_ns);
	remote_suspend_take(entry, task);
	remote_migrate_take(entry, task);
	remote_share_take(entry, task);
	if (task->state == TASK_ENDED)
		report_task_end(entry, task);
	else if (task->requested_ns && remote_attempt_move(entry, ATTEMPT_DESCRIBE))
		remote_suspend_reattach(entry, task);
}

bool remote_attempt_read(struct remote_attempt *entry, const json_t *body,
			 enum task_state *ret_state, GError **error)
{
	g_autoptr(task_t) task = remote_task_parse(body, error);

	if (!task)
		return false;
	if (!g_str_equal(task->id, entry->id))
		return error_fail(error, JSON_ERROR, JSON_ERROR_KEY, "task '%.64s' instead of '%s'",
				  task->id, entry->id);
	remote_link_translate(remote_attempt_link(entry), task);
	remote_attempt_take(entry, task);
	if (ret_state)
		*ret_state = task->state;
	return true;
}

bool remote_attempt_unknown(struct remote_attempt *entry, int status, const GError *error)
{
	if (status == 404)
		remote_attempt_end(entry, BACKEND_OUTCOME_LOST,
				   "the local scheduler has no record of it");
	else if (status == 410) /* it was there once; another start could execute it twice */
		remote_attempt_end(entry, BACKEND_OUTCOME_FAILED, error->message);
	return status == 404 || status == 410;
}

void remote_attempt_free(void *data)
{
	struct remote_attempt *entry = data;
	struct remote_operation *const operations[] = {
		&entry->start,
		&entry->step,
		&entry->share.operation,
		&entry->kill,
	};

	remote_link_forget(remote_attempt_link(entry), entry);
	for (gsize i = 0; i < G_N_ELEMENTS(operations); i++) {
		remote_link_forget(remote_attempt_link(entry), operations[i]);
		remote_operation_end(operations[i]);
	}
	if (entry->migrations.past)
		g_ptr_array_unref(entry->migrations.past);
	g_free(entry->hosts);
	g_free(entry->id);
	g_free(entry->nodes);
	g_free(entry);
}
