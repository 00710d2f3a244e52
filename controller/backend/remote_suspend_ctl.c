/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Suspensions and resumptions of a task: what the local scheduler reports of them. The nth
 * suspension that succeeds has the number n.
 */
#include <inttypes.h>
#include <math.h>

#include "common/clock.h"
#include "controller/backend/remote_private.h"
#include "controller/backend/remote_task.h"

/* What the local scheduler reports of the suspensions. */

/* When the interval that `one` ended began: at the resumption before, or at the start. */
static int64_t interval_begin_ns(const struct remote_attempt *entry, const struct task *task,
				 const struct task_suspension *one)
{
	int64_t from_ns = entry->start_ns;

	for (guint i = 0; i < task->suspensions->len; i++) {
		const struct task_suspension *before = g_ptr_array_index(task->suspensions, i);

		if (before->n < one->n && before->resumed_ns)
			from_ns = before->running_ns;
	}
	return from_ns;
}

/* Seconds from the call, or, if an earlier controller made it, from the arrival of the request. */
static double since_call_s(const struct remote_attempt *entry, int64_t requested_ns, int64_t t_ns)
{
	const struct remote_operation *step = &entry->step;
	const bool called = step->state != OPERATION_NONE &&
			    step->kind != REMOTE_OPERATION_MIGRATE && step->called_ns;
	const int64_t from_ns = called ? step->called_ns : requested_ns;

	return from_ns ? fmax(0, clock_elapsed_s(from_ns, t_ns)) : (double)NAN;
}

/* The overheads of the VMs; queued events hold copies, and the caller frees the array. */
static GArray *vm_overheads(const struct task_suspension *one, bool resumed)
{
	GArray *vms = g_array_new(FALSE, FALSE, sizeof(struct backend_vm_overhead));

	for (uint32_t i = 0; one->vms && i < one->count; i++) {
		const struct task_vm_durations *from = &one->vms[i];
		struct backend_vm_overhead vm = {.node = from->node};

		if (!resumed) {
			vm.overhead.freeze_s = wire_seconds(from->freeze_ns);
			vm.overhead.save_s = wire_seconds(from->save_ns);
		} else {
			if (one->resumed_nodes)
				vm.node = one->resumed_nodes[i];
			/* It is on a node only after the move. */
			vm.overhead.restore_s = wire_seconds(from->restore_ns) +
						fmax(0, wire_seconds(from->move_ns));
			vm.overhead.resume_s = wire_seconds(from->resume_ns);
		}
		g_array_append_val(vms, vm);
	}
	return vms;
}

static void push_step(struct remote_attempt *entry, struct backend_event *event,
		      const struct task_suspension *one, bool resumed)
{
	g_autoptr(GArray) vms = vm_overheads(one, resumed);

	event->n = one->n;
	event->vms = vms->len ? (const struct backend_vm_overhead *)(void *)vms->data : NULL;
	event->vms_count = vms->len;
	remote_push(entry->remote, event);
}

static void report_suspended(struct remote_attempt *entry, const struct task *task,
			     const struct task_suspension *one)
{
	struct backend_event event =
		remote_attempt_event(entry, BACKEND_EVENT_SUSPENDED, one->suspended_ns);

	event.exec_s =
		fmax(0, clock_elapsed_s(interval_begin_ns(entry, task, one), one->frozen_ns));
	event.overhead.freeze_s = since_call_s(entry, one->requested_ns, one->frozen_ns);
	event.overhead.save_s = fmax(0, clock_elapsed_s(one->frozen_ns, one->suspended_ns));
	event.overhead.skew_s = wire_seconds(one->skew_ns);
	entry->suspensions = one->n;
	/* Someone suspended it through the local scheduler, or an earlier controller did. */
	if (remote_operation_is(&entry->step, REMOTE_OPERATION_MIGRATE))
		remote_operation_fail(&entry->step, "it was suspended meanwhile");
	remote_operation_end(&entry->step);
	push_step(entry, &event, one, false);
}

/* The longest resumption of a VM; 0 if no VM reports it. */
static double slowest_resume_s(const struct task_suspension *one)
{
	double slowest_s = 0;

	for (uint32_t i = 0; one->vms && i < one->count; i++)
		slowest_s = fmax(slowest_s, wire_seconds(one->vms[i].resume_ns));
	return slowest_s;
}

static void report_resumed(struct remote_attempt *entry, const struct task_suspension *one)
{
	struct backend_event event =
		remote_attempt_event(entry, BACKEND_EVENT_RESUMED, one->resumed_ns);
	double took_s = since_call_s(entry, one->resume_requested_ns, one->running_ns);

	event.since_s = remote_run_s(entry->remote, one->running_ns);
	event.overhead.resume_s = fmin(slowest_resume_s(one), took_s);
	event.overhead.restore_s = took_s - event.overhead.resume_s;
	if (entry->step.nodes) {
		g_free(entry->nodes);
		entry->nodes = g_steal_pointer(&entry->step.nodes);
		event.node = remote_slots_host(remote_link_cluster(remote_attempt_link(entry)),
					       entry->nodes[0]);
	}
	remote_operation_end(&entry->step);
	push_step(entry, &event, one, true);
}

/* Updates the sums for remote_suspend_ctl_executed_s(). */
static void count_pauses(struct remote_attempt *entry, const struct task *task)
{
	if (!task->suspensions || !task->suspensions->len)
		return;
	entry->paused_s = 0;
	entry->frozen_ns = 0;
	for (guint i = 0; i < task->suspensions->len; i++) {
		const struct task_suspension *one = g_ptr_array_index(task->suspensions, i);

		if (!one->suspended_ns)
			continue;
		if (one->running_ns)
			entry->paused_s += clock_elapsed_s(one->frozen_ns, one->running_ns);
		else
			entry->frozen_ns = one->frozen_ns;
	}
}

void remote_suspend_ctl_reattach(struct remote_attempt *entry, const struct task *task)
{
	const bool up = !remote_attempt_is(entry, ATTEMPT_ANY_SUSPENDED);
	const uint32_t n = entry->suspensions + up;

	if (remote_operation_is(&entry->step, REMOTE_OPERATION_MIGRATE) ||
	    (up ? !remote_suspensions_find(task->suspensions, n) : task->state != TASK_RESUMING))
		return;
	remote_operation_reattach(&entry->step,
				  up ? REMOTE_OPERATION_SUSPEND : REMOTE_OPERATION_RESUME, n);
}

void remote_suspend_ctl_take(struct remote_attempt *entry, const struct task *task)
{
	for (guint i = 0; task->suspensions && i < task->suspensions->len; i++) {
		const struct task_suspension *one = g_ptr_array_index(task->suspensions, i);

		if (one->n == entry->suspensions + 1 && one->frozen_ns && one->suspended_ns &&
		    remote_attempt_move(entry, ATTEMPT_SUSPEND_DONE))
			report_suspended(entry, task, one);
		if (one->n == entry->suspensions && one->running_ns && one->resumed_ns &&
		    remote_attempt_move(entry, ATTEMPT_RESUME_DONE))
			report_resumed(entry, one);
	}
	count_pauses(entry, task);
}

void remote_suspend_ctl_adopt(struct remote_attempt *entry, const struct remote_past *past)
{
	entry->suspensions = past->suspended;
	if (past->suspended > 0 || past->migrated)
		remote_attempt_move(entry, ATTEMPT_STARTED);
	if (past->resumed < past->suspended)
		remote_attempt_move(entry, ATTEMPT_SUSPEND_DONE);
}

double remote_suspend_ctl_executed_s(const struct remote_attempt *entry, int64_t now_ns)
{
	double still_s = entry->frozen_ns ? clock_elapsed_s(entry->frozen_ns, now_ns) : 0;

	return fmax(0, clock_elapsed_s(entry->start_ns, now_ns) - entry->paused_s - still_s);
}
