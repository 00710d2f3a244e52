/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Suspensions and resumptions of a task. One request is under way at a time, and the link repeats
 * it until it is answered. The result of a step arrives as an event, or in any other description of
 * the task. The nth suspension that succeeds has the number n, and `try`, which distinguishes the
 * requests with one n, rises over the run: a repeated request never suspends twice, even from a
 * restarted controller.
 */
#include <inttypes.h>
#include <math.h>

#include "common/clock.h"
#include "common/json.h"
#include "controller/backend/remote_private.h"

/* For so long an answer to an older request may not show a step that was accepted. */
#define CHECK_S 15.0

/* Longer than saving the memory of all VMs of a task to a slow disk takes. */
#define STUCK_S 600.0

static void send_step(struct remote_attempt *entry);

static bool is_pending(const struct remote_attempt *entry)
{
	return entry->step == REMOTE_STEP_SUSPENDING || entry->step == REMOTE_STEP_RESUMING;
}

/* The number of the suspension that the step belongs to. */
static uint32_t number(const struct remote_attempt *entry)
{
	return entry->suspended + (entry->step == REMOTE_STEP_SUSPENDING);
}

static const char *step_name(const struct remote_attempt *entry)
{
	return entry->step == REMOTE_STEP_RESUMING ? "resumed" : "suspended";
}

static void begin_step(struct remote_attempt *entry, enum remote_step step)
{
	entry->step = step;
	entry->step_ns = clock_now_ns();
	entry->step_adopted = entry->step_asked = entry->step_failed = false;
	entry->step_conflicts = 0;
	g_clear_pointer(&entry->step_reason, g_free);
}

static void end_step(struct remote_attempt *entry, enum remote_step step)
{
	entry->step = step;
	if (entry->step_source)
		g_source_remove(entry->step_source);
	entry->step_source = 0;
}

/* Reports that the step failed; the task is as before. */
static void report_failure(struct remote_attempt *entry, const char *reason)
{
	struct backend_event event =
		remote_attempt_event(entry, BACKEND_EVENT_SUSPENSION_FAILED, clock_now_ns());

	event.n = number(entry);
	event.reason = reason;
	if (entry->step == REMOTE_STEP_RESUMING)
		g_clear_pointer(&entry->step_nodes, g_free); /* other tasks may get them */
	end_step(entry, entry->step == REMOTE_STEP_RESUMING ? REMOTE_STEP_SUSPENDED
							  : REMOTE_STEP_NONE);
	remote_push(entry->remote, &event);
	remote_share_ctl_continue(entry);
}

/* Reports that a step is impossible; the state does not change. */
static void reject_call(struct remote_attempt *entry, uint32_t n, const char *reason)
{
	struct backend_event event =
		remote_attempt_event(entry, BACKEND_EVENT_SUSPENSION_FAILED, clock_now_ns());

	event.n = n;
	event.reason = reason;
	remote_push(entry->remote, &event);
}

/* What the local scheduler reports of the suspensions. */

/* When the interval that `one` ended began: at the resumption before, or at the start. */
static int64_t interval_begin_ns(const struct remote_attempt *entry, const struct remote_task *task,
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
	int64_t from_ns = is_pending(entry) && !entry->step_adopted ? entry->step_ns : requested_ns;

	return from_ns ? fmax(0, clock_elapsed_s(from_ns, t_ns)) : (double)NAN;
}

/* The overheads of the VMs; queued events hold copies, and the caller frees the array. */
static GArray *vm_overheads(const struct task_suspension *one, bool resumed)
{
	GArray *vms = g_array_new(FALSE, FALSE, sizeof(struct backend_vm_overhead));

	for (uint32_t i = 0; one->vms && i < one->count; i++) {
		const struct task_suspension_vm *from = &one->vms[i];
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

static void report_suspended(struct remote_attempt *entry, const struct remote_task *task,
			     const struct task_suspension *one)
{
	struct backend_event event =
		remote_attempt_event(entry, BACKEND_EVENT_SUSPENDED, one->suspended_ns);

	event.exec_s =
		fmax(0, clock_elapsed_s(interval_begin_ns(entry, task, one), one->frozen_ns));
	event.overhead.freeze_s = since_call_s(entry, one->requested_ns, one->frozen_ns);
	event.overhead.save_s = fmax(0, clock_elapsed_s(one->frozen_ns, one->suspended_ns));
	event.overhead.skew_s = wire_seconds(one->skew_ns);
	entry->suspended = one->n;
	end_step(entry, REMOTE_STEP_SUSPENDED);
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
	entry->resumed = one->n;
	if (entry->step_nodes) {
		g_free(entry->nodes);
		entry->nodes = g_steal_pointer(&entry->step_nodes);
		event.node = remote_slots_host(remote_link_cluster(remote_attempt_link(entry)),
						entry->nodes[0]);
	}
	end_step(entry, REMOTE_STEP_NONE);
	push_step(entry, &event, one, true);
	remote_share_ctl_continue(entry);
}

/* Updates the sums for remote_suspend_ctl_executed_s(). */
static void count_pauses(struct remote_attempt *entry, const struct remote_task *task)
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

/*
 * Processes the first description of an adopted task: reattaches a step that an earlier controller
 * requested.
 */
static void reattach(struct remote_attempt *entry, const struct remote_task *task)
{
	bool up = entry->step == REMOTE_STEP_NONE || entry->step == REMOTE_STEP_SUSPENDING;

	entry->seen = true;
	if (task->state == TASK_ENDED)
		return;
	if (up ? remote_suspensions_find(task->suspensions, entry->suspended + 1) != NULL
	       : task->state == TASK_RESUMING) {
		begin_step(entry, up ? REMOTE_STEP_SUSPENDING : REMOTE_STEP_RESUMING);
		entry->step_adopted = entry->step_asked = true;
	} else if (is_pending(entry)) {
		send_step(entry);
	}
}

void remote_suspend_ctl_take(struct remote_attempt *entry, const struct remote_task *task)
{
	for (guint i = 0; task->suspensions && i < task->suspensions->len; i++) {
		const struct task_suspension *one = g_ptr_array_index(task->suspensions, i);

		if (one->n == entry->suspended + 1 && entry->resumed == entry->suspended &&
		    one->frozen_ns && one->suspended_ns)
			report_suspended(entry, task, one);
		if (one->n == entry->suspended && entry->resumed + 1 == one->n &&
		    one->running_ns && one->resumed_ns)
			report_resumed(entry, one);
	}
	count_pauses(entry, task);
	if (entry->adopted && !entry->seen && task->suspensions)
		reattach(entry, task);
}

void remote_suspend_ctl_failed(struct remote_attempt *entry, bool resume, const char *reason)
{
	enum remote_step step = resume ? REMOTE_STEP_RESUMING : REMOTE_STEP_SUSPENDING;

	if (entry->ended || entry->step != step)
		return;
	if (!entry->step_open) {
		report_failure(entry, reason);
		return;
	}
	/* The answer is still to come. */
	entry->step_failed = true;
	g_free(entry->step_reason);
	entry->step_reason = g_strdup(reason);
}

/* Requests. */

static gboolean step_again(gpointer data)
{
	struct remote_attempt *entry = data;

	entry->step_source = 0;
	send_step(entry);
	return G_SOURCE_REMOVE;
}

/*
 * Silence and malformed answers say nothing about the task; an event or remote_suspend_ctl_guard()
 * will settle it.
 */
static void step_refused(struct remote_attempt *entry, int status, const GError *error)
{
	g_autofree char *reason =
		g_strdup_printf("not %s: %s", step_name(entry), error->message);

	if (remote_attempt_unknown(entry, status, error))
		return;
	if (status < 400 || status >= 500) {
		entry->step_asked = true;
		return;
	}
	if (status == 409 && !entry->kill_wanted &&
	    entry->step_conflicts++ < remote_slots_tries(entry)) {
		entry->step_source = g_timeout_add(REMOTE_CONFLICT_WAIT_MS, step_again, entry);
		return;
	}
	remote_note(entry->remote, "task-refused", "task %" PRIu32 " on cluster '%s' %s",
		    entry->task, remote_link_cluster(remote_attempt_link(entry))->name, reason);
	if (status == 409 && entry->step == REMOTE_STEP_RESUMING)
		remote_slots_give_up(entry, entry->step_nodes);
	report_failure(entry, reason);
}

/* Whether the task is in the state before the step. */
static bool is_back(const struct remote_attempt *entry, enum task_state state)
{
	return state == (entry->step == REMOTE_STEP_RESUMING ? TASK_SUSPENDED : TASK_RUNNING);
}

/* After a 201 an event follows; a 200 gives the state of an earlier request. */
static void step_answered(struct remote_attempt *entry, int status, enum task_state state)
{
	entry->step_asked = true;
	if (is_back(entry, state) && (status != 201 || entry->step_failed))
		report_failure(entry, entry->step_reason ?: "its local scheduler rolled it back");
	entry->step_failed = false;
}

static void step_done(int status, json_t *body, const GError *error, void *data)
{
	struct remote_attempt *entry = data;
	bool present = entry->open_step == entry->step;
	enum task_state state = TASK_STARTING;
	g_autoptr(GError) wrong = NULL;

	entry->step_open = false;
	if (!error && !remote_attempt_read(entry, body, &state, &wrong))
		remote_attempt_note_protocol_error(entry, wrong);
	if (entry->ended || !is_pending(entry))
		return;
	if (!present)
		send_step(entry);
	else if (error)
		step_refused(entry, status, error);
	else if (entry->step == entry->open_step)
		step_answered(entry, status, state);
}

static json_t *step_body(const struct remote_attempt *entry)
{
	json_t *nodes;

	if (entry->step == REMOTE_STEP_SUSPENDING)
		return json_pack("{s:s, s:I}", "keep", entry->keep, "try",
				 remote_attempt_try(entry));
	nodes = json_array();
	for (uint32_t i = 0; i < entry->nodes_count; i++)
		json_array_append_new(nodes, json_integer(entry->step_nodes[i]));
	return json_pack("{s:o, s:I}", "nodes", nodes, "try", remote_attempt_try(entry));
}

/* A task can be suspended only when all of its ranks run; an adopted task is checked first. */
static void send_step(struct remote_attempt *entry)
{
	g_autofree char *task = remote_attempt_path(entry);
	g_autofree char *path = NULL;
	g_autoptr(json_t) body = NULL;

	if (entry->step_open || !entry->started || (entry->adopted && !entry->seen))
		return;
	if (entry->hosts && entry->step == REMOTE_STEP_RESUMING) {
		g_clear_pointer(&entry->step_nodes, g_free);
		entry->step_nodes = remote_slots_pick(entry, entry->hosts, NULL);
	}
	path = g_strdup_printf("%s/%s/%" PRIu32, task,
			       entry->step == REMOTE_STEP_RESUMING ? "resumptions" : "suspensions",
			       number(entry));
	body = step_body(entry);
	entry->step_open = true;
	entry->open_step = entry->step;
	remote_link_send(remote_attempt_link(entry), "PUT", path, body, step_done, entry);
}

void remote_suspend_ctl_suspend(struct remote_attempt *entry, uint32_t n, const char *keep)
{
	if (entry->ended || entry->kill_wanted || n <= entry->suspended ||
	    (n == entry->suspended + 1 && entry->step == REMOTE_STEP_SUSPENDING))
		return;
	if (entry->step != REMOTE_STEP_NONE || n != entry->suspended + 1) {
		reject_call(entry, n, "it does not run");
		return;
	}
	begin_step(entry, REMOTE_STEP_SUSPENDING);
	entry->keep = keep;
	send_step(entry);
}

static void set_step_nodes(struct remote_attempt *entry, const uint32_t *nodes)
{
	g_free(entry->step_nodes);
	entry->step_nodes = g_memdup2(nodes, sizeof(*nodes) * entry->nodes_count);
}

void remote_suspend_ctl_resume(struct remote_attempt *entry, uint32_t n, const uint32_t *nodes,
			uint32_t nodes_count)
{
	if (entry->ended || entry->kill_wanted || n <= entry->resumed ||
	    (n == entry->suspended && entry->step == REMOTE_STEP_RESUMING))
		return;
	if (entry->step != REMOTE_STEP_SUSPENDED || n != entry->suspended ||
	    (nodes_count != entry->nodes_count && !entry->hosts)) {
		reject_call(entry, n, "it is not suspended, or needs another number of nodes");
		return;
	}
	begin_step(entry, REMOTE_STEP_RESUMING);
	if (entry->hosts) {
		g_free(entry->hosts);
		entry->hosts = remote_slots_spread(nodes, nodes_count, entry->nodes_count);
	} else {
		set_step_nodes(entry, nodes);
	}
	send_step(entry);
}

void remote_suspend_ctl_adopt(struct remote_attempt *entry, const struct remote_past *past)
{
	entry->suspended = past->suspended;
	entry->resumed = past->resumed;
	entry->started = past->suspended > 0 || past->migrated;
	if (past->resumed < past->suspended)
		entry->step = REMOTE_STEP_SUSPENDED;
}

void remote_suspend_ctl_started(struct remote_attempt *entry)
{
	if (is_pending(entry) && !entry->step_asked) {
		entry->step_ns = clock_now_ns();
		send_step(entry);
	}
}

/* Time. */

void remote_suspend_ctl_checked(struct remote_attempt *entry, enum task_state state)
{
	if (!entry->ended && is_pending(entry) && entry->step_asked && !entry->step_open &&
	    is_back(entry, state) && clock_elapsed_s(entry->step_ns, clock_now_ns()) > CHECK_S)
		report_failure(entry, "its local scheduler rolled it back");
}

void remote_suspend_ctl_guard(struct remote_attempt *entry, int64_t now_ns)
{
	double age_s = clock_elapsed_s(entry->step_ns, now_ns);

	if (!is_pending(entry) || !entry->step_asked || entry->killed_ns || age_s <= CHECK_S)
		return;
	if (age_s <= STUCK_S) {
		remote_attempt_check(entry);
		return;
	}
	remote_note(entry->remote, "task-stuck",
		    "task %" PRIu32 " of cluster '%s' has not been %s for %.0f s and is killed",
		    entry->task, remote_link_cluster(remote_attempt_link(entry))->name,
		    step_name(entry), age_s);
	remote_attempt_delete(entry);
}

double remote_suspend_ctl_executed_s(const struct remote_attempt *entry, int64_t now_ns)
{
	double still_s = entry->frozen_ns ? clock_elapsed_s(entry->frozen_ns, now_ns) : 0;

	return fmax(0, clock_elapsed_s(entry->start_ns, now_ns) - entry->paused_s - still_s);
}
