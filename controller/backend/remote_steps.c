/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is reported of an attempt's suspensions and migrations, and its CPU share. */
#include <inttypes.h>
#include <math.h>

#include "common/clock.h"
#include "controller/backend/remote_private.h"
#include "controller/backend/remote_task.h"

/* Suspensions and resumptions. The nth suspension that succeeds has the number n. */

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

/* Updates the sums for remote_suspend_executed_s(). */
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

void remote_suspend_reattach(struct remote_attempt *entry, const struct task *task)
{
	const bool up = !remote_attempt_is(entry, ATTEMPT_ANY_SUSPENDED);
	const uint32_t n = entry->suspensions + up;

	if (remote_operation_is(&entry->step, REMOTE_OPERATION_MIGRATE) ||
	    (up ? !remote_suspensions_find(task->suspensions, n) : task->state != TASK_RESUMING))
		return;
	remote_operation_reattach(&entry->step,
				  up ? REMOTE_OPERATION_SUSPEND : REMOTE_OPERATION_RESUME, n);
}

void remote_suspend_take(struct remote_attempt *entry, const struct task *task)
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

void remote_suspend_adopt(struct remote_attempt *entry, const struct remote_past *past)
{
	entry->suspensions = past->suspended;
	if (past->suspended > 0 || past->migrated)
		remote_attempt_move(entry, ATTEMPT_STARTED);
	if (past->resumed < past->suspended)
		remote_attempt_move(entry, ATTEMPT_SUSPEND_DONE);
}

double remote_suspend_executed_s(const struct remote_attempt *entry, int64_t now_ns)
{
	double still_s = entry->frozen_ns ? clock_elapsed_s(entry->frozen_ns, now_ns) : 0;

	return fmax(0, clock_elapsed_s(entry->start_ns, now_ns) - entry->paused_s - still_s);
}

/* Migrations of a running task. The local scheduler numbers a migration when it has moved a VM. */

static void report_moved(struct remote_attempt *entry, const struct task_migration *one)
{
	const struct config_cluster *cluster = remote_link_cluster(remote_attempt_link(entry));
	struct backend_event event =
		remote_attempt_event(entry,
				     one->reason ? BACKEND_EVENT_MIGRATION_FAILED
						 : BACKEND_EVENT_MIGRATED,
				     one->settled_ns);
	g_autofree struct backend_vm_move *moves =
		g_new0(struct backend_vm_move, MAX(one->count, 1));

	for (uint32_t i = 0; i < one->count; i++) {
		const struct task_migration_vm *vm = &one->vms[i];
		uint32_t now = vm->moved ? vm->to : vm->from;

		moves[i] = (struct backend_vm_move){
			.from = remote_slots_host(cluster, vm->from),
			.to = remote_slots_host(cluster, now),
			.total_s = wire_seconds(vm->total_ns),
			.downtime_s = wire_seconds(vm->downtime_ns),
		};
		if (i < entry->nodes_count)
			entry->nodes[i] = now;
	}
	event.node = entry->nodes[0];
	event.n = entry->step.n;
	event.reason = one->reason;
	event.moves = moves;
	event.moves_count = one->count;
	remote_operation_end(&entry->step);
	remote_push(entry->remote, &event);
}

void remote_migrate_take(struct remote_attempt *entry, const struct task *task)
{
	struct remote_migrations *known = &entry->migrations;

	if (remote_attempt_is(entry, ATTEMPT_ANY_REATTACHED) && task->migrations && !known->past)
		known->past = g_ptr_array_ref(task->migrations);
	known->open = 0;
	for (guint i = 0; task->migrations && i < task->migrations->len; i++) {
		const struct task_migration *one = g_ptr_array_index(task->migrations, i);

		if (!one->settled_ns)
			known->open = one->n;
		if (one->n <= known->moved || !one->settled_ns)
			continue;
		known->moved = one->n;
		if (remote_operation_is(&entry->step, REMOTE_OPERATION_MIGRATE) &&
		    !remote_attempt_is(entry, ATTEMPT_ANY_REATTACHED) &&
		    one->count == entry->nodes_count)
			report_moved(entry, one);
	}
}

/*
 * The last migration of a reattached task if it was requested by an earlier controller for the
 * wanted hosts (or nodes) and has ended with any result; NULL otherwise.
 */
static const struct task_migration *find_past(const struct remote_attempt *entry,
					      const GPtrArray *past)
{
	const struct config_cluster *cluster = remote_link_cluster(remote_attempt_link(entry));
	const struct task_migration *last = past && past->len ? past->pdata[past->len - 1] : NULL;
	g_autofree bool *met = g_new0(bool, entry->nodes_count);

	if (!last || !last->settled_ns || last->n != entry->migrations.moved ||
	    last->count != entry->nodes_count)
		return NULL;
	for (uint32_t i = 0; i < last->count; i++) {
		const uint32_t to = remote_slots_host(cluster, last->vms[i].to);
		uint32_t v = 0;

		while (v < entry->nodes_count &&
		       (met[v] || (entry->step.hosts ?: entry->step.nodes)[v] != to))
			v++;
		if (v == entry->nodes_count)
			return NULL;
		met[v] = true;
	}
	return last;
}

/* Whether an earlier controller's migration has moved the VMs to the wanted nodes already. */
static bool is_there(const struct remote_attempt *entry)
{
	for (uint32_t i = 0; i < entry->nodes_count; i++) {
		bool found = false;

		for (uint32_t j = 0; j < entry->nodes_count; j++)
			found = found || entry->step.nodes[i] == entry->nodes[j];
		if (!found)
			return false;
	}
	return true;
}

bool remote_migrate_reattach(struct remote_attempt *entry)
{
	/* keeps `past` alive */
	g_autoptr(GPtrArray) kept = g_steal_pointer(&entry->migrations.past);
	const struct task_migration *past;

	if (!entry->reattached)
		return false;
	if (entry->migrations.open > entry->migrations.moved) {
		remote_operation_reattach(&entry->step, REMOTE_OPERATION_MIGRATE, entry->step.n);
		return true;
	}
	past = find_past(entry, kept);
	if (past) {
		report_moved(entry, past);
	} else if (!entry->step.hosts && is_there(entry)) {
		struct backend_event event = remote_attempt_event(entry, BACKEND_EVENT_MIGRATED,
								  remote_now_ns(entry->remote));

		event.n = entry->step.n;
		remote_operation_end(&entry->step);
		remote_push(entry->remote, &event);
	}
	return entry->step.state == OPERATION_NONE;
}

/*
 * The CPU share that the VMs of a task get of their nodes. One request is under way at a time; a
 * failed one is repeated at growing intervals until the VMs have the wanted share.
 */

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

void remote_share_answered(struct remote_attempt *entry, int status, const GError *error)
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

void remote_share_want(struct remote_attempt *entry, double yield)
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

void remote_share_failed(struct remote_attempt *entry, const char *reason)
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

void remote_share_take(struct remote_attempt *entry, const struct task *task)
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
