/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Operations, whose states are those of operation_fsm.h. An operation begins with the engine's
 * call, which leaves it WAITING. remote_request_due() sends its request, one at a time, and the
 * link repeats that until it is answered. A refusal because nodes are not free yet puts it off and
 * leaves it WAITING again.
 *
 * Suspensions, resumptions and migrations are steps, of which an attempt does one at a time. The
 * result of a step arrives as an event, or in any other description of the task. Requests are
 * numbered by the suspensions, and by the migrations that moved a VM; `try`, which distinguishes
 * the requests with one number, rises over the run: a repeated request never acts twice, even from
 * a restarted controller.
 */
#include "common/clock.h"
#include "controller/backend/remote_private.h"

/* Longer than saving the memory of all VMs of a task to a slow disk takes. */
#define SUSPEND_STUCK_S 600.0

/* Twice the time after which a local scheduler ends a migration (docs/explanation/migrate.md). */
#define MIGRATE_STUCK_S 1200.0

static bool is_running(const struct remote_attempt *entry, enum task_state state)
{
	return state == TASK_RUNNING;
}

static bool is_suspended(const struct remote_attempt *entry, enum task_state state)
{
	return state == TASK_SUSPENDED;
}

static bool no_migration_is_open(const struct remote_attempt *entry, enum task_state state)
{
	return entry->migrations.open <= entry->migrations.moved;
}

const struct remote_kind remote_kinds[] = {
	[REMOTE_OPERATION_START] = {.participle = "started"},
	[REMOTE_OPERATION_SUSPEND] = {.path = "suspensions",
				      .participle = "suspended",
				      .impossible = "it does not run",
				      .failed = BACKEND_EVENT_SUSPENSION_FAILED,
				      .is_back = is_running,
				      .stuck_s = SUSPEND_STUCK_S},
	[REMOTE_OPERATION_RESUME] =
		{.path = "resumptions",
		 .participle = "resumed",
		 .impossible = "it is not suspended, or needs another number of nodes",
		 .failed = BACKEND_EVENT_SUSPENSION_FAILED,
		 .is_back = is_suspended,
		 .stuck_s = SUSPEND_STUCK_S},
	[REMOTE_OPERATION_MIGRATE] = {.path = "migrations",
				      .participle = "migrated",
				      .impossible =
					      "it does not run, or needs another number of nodes",
				      .failed = BACKEND_EVENT_MIGRATION_FAILED,
				      .is_back = no_migration_is_open,
				      .stays_running = true,
				      .stuck_s = MIGRATE_STUCK_S},
	[REMOTE_OPERATION_SHARE] = {.path = "shares"},
	[REMOTE_OPERATION_KILL] = {NULL},
};

/* Begins a step for the call with number `n`. */
static void begin(struct remote_operation *step, enum remote_operation_kind kind, uint32_t n)
{
	g_assert(remote_kinds[kind].is_back &&
		 remote_kinds[kind].stuck_s > REMOTE_OPERATION_CHECK_S);
	remote_operation_end(step);
	*step = (struct remote_operation){
		.entry = step->entry,
		.kind = kind,
		.open = step->open,
		.n = n,
		.called_ns = remote_now_ns(step->entry->remote),
	};
	remote_operation_move(step, OPERATION_CALL);
}

/* Reports that the step with number `n` failed, or that the call is impossible. */
static void report_failure(struct remote_attempt *entry, enum remote_operation_kind kind,
			   uint32_t n, const char *reason)
{
	struct backend_event event = remote_attempt_event(entry, remote_kinds[kind].failed,
							  remote_now_ns(entry->remote));

	event.n = n;
	event.reason = reason;
	remote_push(entry->remote, &event);
}

/* The number of the last call of that kind that need not be repeated. */
static uint32_t last_call(const struct remote_attempt *entry, enum remote_operation_kind kind)
{
	if (kind == REMOTE_OPERATION_MIGRATE)
		return entry->migrations.called;
	return entry->suspensions -
	       (kind == REMOTE_OPERATION_RESUME && remote_attempt_is(entry, ATTEMPT_ANY_SUSPENDED));
}

void remote_operation_call(struct remote_attempt *entry, enum remote_operation_kind kind,
			   uint32_t n, const char *keep, const uint32_t *nodes,
			   uint32_t nodes_count)
{
	const uint32_t last = last_call(entry, kind);
	struct remote_operation *step = &entry->step;

	if (remote_attempt_is(entry, ATTEMPT_OVER) || remote_attempt_is_killed(entry) ||
	    n <= last || (remote_operation_is(step, kind) && step->n == n))
		return;
	if (kind == REMOTE_OPERATION_MIGRATE)
		entry->migrations.called = n;
	if (step->state != OPERATION_NONE || (kind != REMOTE_OPERATION_MIGRATE && n != last + 1) ||
	    (kind == REMOTE_OPERATION_RESUME) != remote_attempt_is(entry, ATTEMPT_ANY_SUSPENDED) ||
	    (nodes && !entry->hosts && nodes_count != entry->nodes_count)) {
		report_failure(entry, kind, n, remote_kinds[kind].impossible);
		return;
	}
	begin(step, kind, n);
	step->keep = keep;
	if (nodes && entry->hosts)
		step->hosts = remote_slots_spread(nodes, nodes_count, entry->nodes_count);
	else if (nodes)
		step->nodes = g_memdup2(nodes, sizeof(*nodes) * nodes_count);
}

void remote_operation_accept(struct remote_operation *step)
{
	remote_operation_move(step, OPERATION_ANSWER);
	step->answered_ns = remote_now_ns(step->entry->remote);
}

void remote_operation_reattach(struct remote_operation *step, enum remote_operation_kind kind,
			       uint32_t n)
{
	if (step->state == OPERATION_NONE || step->kind != kind)
		begin(step, kind, n);
	step->called_ns = 0;
	remote_operation_accept(step);
}

void remote_operation_unwait(struct remote_operation *operation)
{
	g_clear_handle_id(&operation->source, g_source_remove);
	operation->wait_ms = 0;
}

void remote_operation_end(struct remote_operation *operation)
{
	remote_operation_move(operation, OPERATION_END);
	remote_operation_unwait(operation);
	g_clear_pointer(&operation->nodes, g_free); /* other tasks may get them */
	g_clear_pointer(&operation->hosts, g_free);
	g_clear_pointer(&operation->reason, g_free);
}

void remote_operation_fail(struct remote_operation *step, const char *reason)
{
	report_failure(step->entry, step->kind, step->n,
		       reason ?: "its local scheduler rolled it back");
	remote_operation_end(step);
}

void remote_operation_failed(struct remote_operation *step, enum remote_operation_kind kind,
			     const char *reason)
{
	if (remote_attempt_is(step->entry, ATTEMPT_OVER) || step->state == OPERATION_NONE ||
	    step->kind != kind)
		return;
	if (step->state != OPERATION_SENT && step->state != OPERATION_FAILED) {
		remote_operation_fail(step, reason);
		return;
	}
	/* The answer is still to come. */
	remote_operation_move(step, OPERATION_FAIL);
	g_free(step->reason);
	step->reason = g_strdup(reason);
}

/* After a 201 an event follows; a 200 gives the state of an earlier request. */
void remote_operation_answered(struct remote_operation *step, int status, enum task_state state)
{
	const struct remote_kind *kind = &remote_kinds[step->kind];
	const bool failed = step->state == OPERATION_FAILED;

	if (kind->stays_running ? failed
				: kind->is_back(step->entry, state) && (status != 201 || failed))
		remote_operation_fail(step, step->reason);
	else
		remote_operation_accept(step);
}

double remote_operation_answered_s(const struct remote_operation *step, int64_t now_ns)
{
	return step->state == OPERATION_ANSWERED ? clock_elapsed_s(step->answered_ns, now_ns) : 0;
}

void remote_operation_checked(struct remote_operation *step, enum task_state state)
{
	if (!remote_attempt_is(step->entry, ATTEMPT_OVER) &&
	    remote_operation_answered_s(step, remote_now_ns(step->entry->remote)) >
		    REMOTE_OPERATION_CHECK_S &&
	    remote_kinds[step->kind].is_back(step->entry, state))
		remote_operation_fail(step, NULL);
}
