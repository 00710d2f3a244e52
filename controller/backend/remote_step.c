/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Suspensions, resumptions and migrations of a running task, of which an attempt does one at a
 * time. A step begins with the engine's call. One request is under way at a time, and the link
 * repeats it until it is answered. The result of a step arrives as an event, or in any other
 * description of the task. Requests are numbered by the suspensions, and by the migrations that
 * moved a VM; `try`, which distinguishes the requests with one number, rises over the run: a
 * repeated request never acts twice, even from a restarted controller.
 */
#include <inttypes.h>

#include "common/clock.h"
#include "common/json.h"
#include "controller/backend/remote_private.h"

/* For so long an answer to an older request may not show a step that was accepted. */
#define CHECK_S 15.0

/* Longer than saving the memory of all VMs of a task to a slow disk takes. */
#define SUSPEND_STUCK_S 600.0

/* Twice the time after which a local scheduler ends a migration (docs/explanation/migrate.md). */
#define MIGRATE_STUCK_S 1200.0

static const struct {
	const char *path;       /* of its requests; NULL: no step that is requested */
	const char *participle; /* what the task then is */
	enum backend_event_kind failed;
	enum remote_step before; /* the state after a failure */
	double stuck_s;          /* after so long the task is killed */
} steps[] = {
	[REMOTE_STEP_SUSPENDING] = {"suspensions", "suspended", BACKEND_EVENT_SUSPENSION_FAILED,
				    REMOTE_STEP_NONE, SUSPEND_STUCK_S},
	[REMOTE_STEP_SUSPENDED] = {NULL},
	[REMOTE_STEP_RESUMING] = {"resumptions", "resumed", BACKEND_EVENT_SUSPENSION_FAILED,
				  REMOTE_STEP_SUSPENDED, SUSPEND_STUCK_S},
	[REMOTE_STEP_MIGRATING] = {"migrations", "migrated", BACKEND_EVENT_MIGRATION_FAILED,
				   REMOTE_STEP_NONE, MIGRATE_STUCK_S},
};

void remote_step_begin(struct remote_attempt *entry, enum remote_step step, uint32_t n)
{
	const bool open = entry->request.open;

	remote_step_end(entry, step);
	entry->request = (struct remote_request){.open = open, .n = n, .called_ns = clock_now_ns()};
}

void remote_step_aim(struct remote_attempt *entry, const uint32_t *nodes, uint32_t nodes_count)
{
	if (entry->hosts)
		entry->request.hosts = remote_slots_spread(nodes, nodes_count, entry->nodes_count);
	else
		entry->request.nodes = g_memdup2(nodes, sizeof(*nodes) * nodes_count);
}

static void set_answered(struct remote_request *request)
{
	request->state = REMOTE_REQUEST_ANSWERED;
	request->answered_ns = clock_now_ns();
}

void remote_step_reattach(struct remote_attempt *entry, enum remote_step step, uint32_t n)
{
	if (entry->step != step)
		remote_step_begin(entry, step, n);
	entry->request.called_ns = 0;
	set_answered(&entry->request);
}

void remote_step_end(struct remote_attempt *entry, enum remote_step step)
{
	struct remote_request *request = &entry->request;

	entry->step = step;
	remote_retry_stop(&request->retry);
	g_clear_pointer(&request->nodes, g_free); /* other tasks may get them */
	g_clear_pointer(&request->hosts, g_free);
	g_clear_pointer(&request->reason, g_free);
}

void remote_step_reject(struct remote_attempt *entry, enum remote_step step, uint32_t n,
			const char *reason)
{
	struct backend_event event =
		remote_attempt_event(entry, steps[step].failed, clock_now_ns());

	event.n = n;
	event.reason = reason;
	remote_push(entry->remote, &event);
}

/* Reports that the step failed; the task is as before, as far as is known. */
static void report_failure(struct remote_attempt *entry, const char *reason)
{
	remote_step_reject(entry, entry->step, entry->request.n,
			   reason ?: "its local scheduler rolled it back");
	remote_step_end(entry, steps[entry->step].before);
	remote_share_ctl_continue(entry);
}

void remote_step_failed(struct remote_attempt *entry, enum remote_step step, const char *reason)
{
	struct remote_request *request = &entry->request;

	if (entry->ended || entry->step != step)
		return;
	if (request->state != REMOTE_REQUEST_SENT && request->state != REMOTE_REQUEST_FAILED) {
		report_failure(entry, reason);
		return;
	}
	/* The answer is still to come. */
	request->state = REMOTE_REQUEST_FAILED;
	g_free(request->reason);
	request->reason = g_strdup(reason);
}

/* Whether the task is in the state before the step, in its description that was read last. */
static bool is_back(const struct remote_attempt *entry, enum task_state state)
{
	if (entry->step == REMOTE_STEP_MIGRATING)
		return entry->migrations.open <= entry->migrations.moved;
	return state == (entry->step == REMOTE_STEP_RESUMING ? TASK_SUSPENDED : TASK_RUNNING);
}

static gboolean send_again(gpointer data)
{
	struct remote_attempt *entry = data;

	entry->request.retry.source = 0;
	remote_step_send(entry);
	return G_SOURCE_REMOVE;
}

/*
 * Silence and malformed answers say nothing about the task; an event or remote_step_guard() will
 * settle it.
 */
static void step_refused(struct remote_attempt *entry, int status, const GError *error)
{
	struct remote_request *request = &entry->request;
	g_autofree char *reason =
		g_strdup_printf("not %s: %s", steps[entry->step].participle, error->message);

	if (remote_attempt_unknown(entry, status, error))
		return;
	if (status < 400 || status >= 500) {
		set_answered(request);
		return;
	}
	if (status == 409 && !entry->kill_wanted &&
	    request->retry.count++ < remote_slots_tries(entry)) {
		request->state = REMOTE_REQUEST_WAITING;
		remote_retry_in(&request->retry, REMOTE_CONFLICT_WAIT_MS, send_again, entry);
		return;
	}
	remote_note(entry->remote, "task-refused", "task %" PRIu32 " on cluster '%s' %s",
		    entry->task, remote_link_cluster(remote_attempt_link(entry))->name, reason);
	if (status == 409)
		remote_slots_give_up(entry, request->nodes);
	report_failure(entry, reason);
}

/* After a 201 an event follows; a 200 gives the state of an earlier request. */
static void step_answered(struct remote_attempt *entry, int status, enum task_state state)
{
	const bool failed = entry->request.state == REMOTE_REQUEST_FAILED;

	if (entry->step == REMOTE_STEP_MIGRATING
		    ? failed
		    : is_back(entry, state) && (status != 201 || failed))
		report_failure(entry, entry->request.reason);
	else
		set_answered(&entry->request);
}

static void step_done(int status, json_t *body, const GError *error, void *data)
{
	struct remote_attempt *entry = data;
	enum task_state state = TASK_STARTING;
	g_autoptr(GError) wrong = NULL;

	entry->request.open = false;
	if (!error && !remote_attempt_read(entry, body, &state, &wrong))
		remote_attempt_note_protocol_error(entry, wrong);
	if (entry->ended || !steps[entry->step].path)
		return;
	if (entry->request.state == REMOTE_REQUEST_WAITING) /* that was an earlier step's */
		remote_step_send(entry);
	else if (error)
		step_refused(entry, status, error);
	else
		step_answered(entry, status, state);
}

static json_t *step_body(const struct remote_attempt *entry)
{
	if (entry->step == REMOTE_STEP_SUSPENDING)
		return json_pack("{s:s, s:I}", "keep", entry->request.keep, "try",
				 remote_attempt_try(entry));
	return json_pack("{s:o, s:I}", "nodes",
			 json_numbers(entry->request.nodes, entry->nodes_count), "try",
			 remote_attempt_try(entry));
}

void remote_step_send(struct remote_attempt *entry)
{
	struct remote_request *request = &entry->request;
	const bool migrates = entry->step == REMOTE_STEP_MIGRATING;
	g_autofree char *task = NULL;
	g_autofree char *path = NULL;
	g_autoptr(json_t) body = NULL;

	if (!steps[entry->step].path || request->state != REMOTE_REQUEST_WAITING || request->open ||
	    request->retry.source || !entry->started || (entry->adopted && !entry->described))
		return;
	if (migrates && remote_migrate_ctl_reattach(entry))
		return;
	if (request->hosts) {
		g_clear_pointer(&request->nodes, g_free);
		request->nodes =
			remote_slots_pick(entry, request->hosts, migrates ? entry->nodes : NULL);
	}
	task = remote_attempt_path(entry);
	path = g_strdup_printf("%s/%s/%" PRIu32, task, steps[entry->step].path,
			       migrates ? entry->migrations.moved + 1 : request->n);
	body = step_body(entry);
	request->state = REMOTE_REQUEST_SENT;
	request->open = true;
	remote_link_send(remote_attempt_link(entry), "PUT", path, body, step_done, entry);
}

/* Since when a step has been answered that is under way, in seconds; 0: none is. */
static double answered_s(const struct remote_attempt *entry, int64_t now_ns)
{
	return steps[entry->step].path && entry->request.state == REMOTE_REQUEST_ANSWERED
		       ? clock_elapsed_s(entry->request.answered_ns, now_ns)
		       : 0;
}

void remote_step_checked(struct remote_attempt *entry, enum task_state state)
{
	if (!entry->ended && is_back(entry, state) && answered_s(entry, clock_now_ns()) > CHECK_S)
		report_failure(entry, NULL);
}

void remote_step_guard(struct remote_attempt *entry, int64_t now_ns)
{
	const double age_s = answered_s(entry, now_ns);

	if (entry->killed_ns || age_s <= CHECK_S)
		return;
	if (age_s <= steps[entry->step].stuck_s) {
		remote_attempt_check(entry);
		return;
	}
	remote_note(entry->remote, "task-stuck",
		    "task %" PRIu32 " of cluster '%s' has not been %s for %.0f s and is killed",
		    entry->task, remote_link_cluster(remote_attempt_link(entry))->name,
		    steps[entry->step].participle, age_s);
	remote_attempt_delete(entry);
}
