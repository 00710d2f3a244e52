/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests to the local scheduler of an attempt, when they are sent, and their answers. */
#include <inttypes.h>
#include <math.h>

#include "common/clock.h"
#include "common/json.h"
#include "controller/backend/remote_private.h"

/* The path of the task; the caller frees. */
static char *task_path(const struct remote_attempt *entry)
{
	return g_strdup_printf("/v1/tasks/%s", entry->id);
}

/*
 * The `try` of a request made now: milliseconds of the run, so a later request has a higher number.
 */
static int64_t try_now(const struct remote_attempt *entry)
{
	const double ms = 1e3 * remote_run_s(entry->remote, remote_now_ns(entry->remote));

	return 1 + (int64_t)fmax(0, ms);
}

static void note_malformed(struct remote_attempt *entry, const GError *wrong)
{
	remote_note(entry->remote, "scheduler-rubbish",
		    "local scheduler of cluster '%s' sends malformed answers: %s",
		    remote_link_cluster(remote_attempt_link(entry))->name, wrong->message);
}

/*
 * A start or a step on `nodes` was refused. Returns NULL if they may still get free, and it is put
 * off; else the reason, which the caller frees.
 */
static char *refuse(struct remote_operation *operation, const uint32_t *nodes, int status,
		    const GError *error)
{
	struct remote_attempt *entry = operation->entry;
	char *reason;

	if (status == 409 && !remote_attempt_is(entry, ATTEMPT_OVER) &&
	    !remote_attempt_is_killed(entry) && operation->refusals++ < remote_slots_tries(entry)) {
		remote_operation_move(operation, OPERATION_RETRY);
		operation->wait_ms = REMOTE_CONFLICT_WAIT_MS;
		return NULL;
	}
	reason = g_strdup_printf("not %s: %s", remote_kinds[operation->kind].participle,
				 error->message);
	remote_note(entry->remote, "task-refused", "task %" PRIu32 " on cluster '%s' %s",
		    entry->task, remote_link_cluster(remote_attempt_link(entry))->name, reason);
	if (status == 409)
		remote_slots_give_up(entry, nodes);
	return reason;
}

/* The body of a start. */

/* Seconds left until start_before_s; a millisecond if that has passed. */
static double start_within_s(const struct remote_attempt *entry)
{
	const double now_s = remote_run_s(entry->remote, remote_now_ns(entry->remote));

	return fmin(4e6, fmax(1e-3, entry->start_before_s - now_s));
}

static json_t *task_body(const struct remote_attempt *entry)
{
	const struct config *config = entry->remote->config;
	const struct config_type *type = &config->types[entry->type];
	const struct config_cluster *cluster = &config->clusters[entry->cluster];
	json_t *body = json_pack("{s:s, s:s, s:s, s:i, s:i, s:o, s:f}", "type", type->name,
				 "benchmark", type->benchmark, "class", type->class_ ?: "S",
				 "ranks", (int)config_type_cores(type, cluster), "repetitions",
				 (int)type->repetitions, "nodes",
				 json_numbers(entry->nodes, entry->nodes_count), "deadline_s",
				 entry->deadline_s);

	if (!entry->enqueued)
		return body;
	json_object_set_new(body, "queue", json_true());
	if (isfinite(entry->start_before_s) && entry->start_before_s > 0)
		json_object_set_new(body, "start_within_s", json_real(start_within_s(entry)));
	return body;
}

static json_t *make_body(void *data, GError **error)
{
	const struct remote_attempt *entry = ((struct remote_operation *)data)->entry;
	const struct remote_run *run = &entry->remote->run;
	g_autoptr(json_t) body = task_body(entry);

	if (run->describe && !run->describe(entry->task, body, run->describe_data, error))
		return NULL;
	return g_steal_pointer(&body);
}

/* Answers. */

static void start_answered(struct remote_attempt *entry, int status, const GError *error,
			   bool malformed)
{
	g_autofree char *reason = NULL;

	if (!error)
		remote_operation_move(&entry->start, OPERATION_ANSWER);
	else
		reason = refuse(&entry->start, entry->nodes, status, error);
	if (malformed)
		remote_attempt_abandon(entry, "the local scheduler sent a malformed answer");
	else if (reason && status >= 400 && status < 500 && status != 409)
		remote_attempt_end(entry, BACKEND_OUTCOME_FAILED, reason);
	else if (reason) /* 409: an attempt with its id, whose record was lost, may be there */
		remote_attempt_abandon(entry, reason);
	/*
	 * The request may have arrived after the DELETE of an attempt that was abandoned while the
	 * local scheduler was silent.
	 */
	if (entry->state == ATTEMPT_ABANDONED)
		remote_request_delete(entry);
}

/*
 * Silence and malformed answers say nothing about the task; an event or remote_guard_attempt() will
 * settle it.
 */
static void step_answered(struct remote_operation *step, int status, const GError *error,
			  enum task_state state)
{
	g_autofree char *reason = NULL;

	if (!error) {
		remote_operation_answered(step, status, state);
	} else if (status < 400 || status >= 500) {
		remote_operation_accept(step);
	} else {
		reason = refuse(step, step->nodes, status, error);
		if (reason)
			remote_operation_fail(step, reason);
	}
}

/* Whether the request of a step that was answered is that of an earlier one, which is over. */
static bool is_of_earlier_step(const struct remote_operation *step)
{
	return step->state == OPERATION_NONE || step->state == OPERATION_WAITING;
}

/* The answer to a PUT. */
static void operation_done(int status, json_t *body, const GError *error, void *data)
{
	struct remote_operation *operation = data;
	struct remote_attempt *entry = operation->entry;
	enum task_state state = TASK_STARTING;
	g_autoptr(GError) wrong = NULL;

	operation->open = false;
	if (!error && !remote_attempt_read(entry, body, &state, &wrong))
		note_malformed(entry, wrong);
	if (operation->kind == REMOTE_OPERATION_START)
		start_answered(entry, status, error, wrong);
	else if (remote_attempt_is(entry, ATTEMPT_OVER))
		return;
	else if (operation->kind != REMOTE_OPERATION_SHARE && is_of_earlier_step(operation))
		; /* it says nothing about the present one */
	else if (remote_attempt_unknown(entry, status, error))
		return;
	else if (operation->kind == REMOTE_OPERATION_SHARE)
		remote_share_answered(entry, status, error);
	else
		step_answered(operation, status, error, state);
	remote_request_due(entry);
}

static void kill_done(int status, json_t *body, const GError *error, void *data)
{
	struct remote_operation *kill = data;
	const bool unknown = status == 404 || status == 410;

	remote_operation_move(kill, !unknown && (error || !json_is_object(body))
					    ? OPERATION_FAIL
					    : OPERATION_ANSWER);
	if (unknown)
		remote_attempt_end(kill->entry, BACKEND_OUTCOME_KILLED,
				   "not known to the local scheduler");
}

/* Requests. */

void remote_request_delete(struct remote_attempt *entry)
{
	g_autofree char *path = task_path(entry);

	remote_operation_move(&entry->kill,
			      remote_attempt_is_killed(entry) ? OPERATION_RETRY : OPERATION_CALL);
	remote_operation_move(&entry->kill, OPERATION_SEND);
	entry->kill.called_ns = remote_now_ns(entry->remote);
	remote_link_send(remote_attempt_link(entry), "DELETE", path, NULL, kill_done, &entry->kill);
}

static void send_start(struct remote_attempt *entry)
{
	g_autofree char *path = task_path(entry);

	if (entry->hosts && entry->start.refusals) {
		g_free(entry->nodes);
		entry->nodes = remote_slots_pick(entry, entry->hosts, NULL);
	}
	remote_operation_move(&entry->start, OPERATION_SEND);
	entry->start.open = true;
	remote_link_send_made(remote_attempt_link(entry), "PUT", path, make_body, operation_done,
			      &entry->start);
}

/* Sends the request of a step or a share, with number `n`. Takes over `body`. */
static void send_part(struct remote_operation *operation, int64_t n, json_t *body)
{
	struct remote_attempt *entry = operation->entry;
	g_autofree char *task = task_path(entry);
	g_autofree char *path =
		g_strdup_printf("%s/%s/%" PRId64, task, remote_kinds[operation->kind].path, n);

	remote_operation_move(operation, OPERATION_SEND);
	operation->open = true;
	remote_link_send(remote_attempt_link(entry), "PUT", path, body, operation_done, operation);
	json_decref(body);
}

static json_t *step_body(const struct remote_attempt *entry)
{
	if (entry->step.kind == REMOTE_OPERATION_SUSPEND)
		return json_pack("{s:s, s:I}", "keep", entry->step.keep, "try", try_now(entry));
	return json_pack("{s:o, s:I}", "nodes", json_numbers(entry->step.nodes, entry->nodes_count),
			 "try", try_now(entry));
}

static void send_step(struct remote_attempt *entry)
{
	struct remote_operation *step = &entry->step;
	const bool migrates = step->kind == REMOTE_OPERATION_MIGRATE;

	if (migrates && remote_migrate_reattach(entry))
		return;
	if (step->hosts) {
		g_clear_pointer(&step->nodes, g_free);
		step->nodes = remote_slots_pick(entry, step->hosts, migrates ? entry->nodes : NULL);
	}
	send_part(step, migrates ? entry->migrations.moved + 1 : step->n, step_body(entry));
}

static void send_share(struct remote_attempt *entry)
{
	struct remote_share *share = &entry->share;

	share->n = MAX(share->n + 1, try_now(entry));
	share->sent = share->wanted;
	send_part(&share->operation, share->n, json_pack("{s:f}", "share", share->sent));
}

/* What is due. */

/*
 * Whether the DELETE cannot overtake the PUT: a start that waits is withdrawn. A start under way
 * may be carried out, or be put off by a 503; it is killed when it is answered.
 */
static bool can_kill(struct remote_attempt *entry)
{
	if (!remote_attempt_is_asked(entry) &&
	    remote_link_withdraw(remote_attempt_link(entry), &entry->start)) {
		remote_operation_move(&entry->start, OPERATION_ANSWER);
		entry->start.open = false;
	}
	return remote_attempt_is_asked(entry);
}

static gboolean wait_is_over(gpointer data)
{
	struct remote_operation *operation = data;

	operation->source = 0;
	operation->wait_ms = 0;
	remote_request_due(operation->entry);
	return G_SOURCE_REMOVE;
}

/* Whether the operation waits and is not put off. Begins the time for which it is put off. */
static bool is_due(struct remote_operation *operation)
{
	if (operation->wait_ms && !operation->source)
		operation->source =
			platform_after_ms(remote_fleet_platform(operation->entry->remote->fleet),
					  operation->wait_ms, wait_is_over, operation);
	return operation->state == OPERATION_WAITING && !operation->open && !operation->wait_ms &&
	       !remote_attempt_is(operation->entry, ATTEMPT_OVER);
}

void remote_request_due(struct remote_attempt *entry)
{
	if (is_due(&entry->start))
		send_start(entry);
	if (is_due(&entry->kill) && can_kill(entry))
		remote_request_delete(entry);
	if (is_due(&entry->step) && !remote_attempt_is_killed(entry) &&
	    (entry->state == ATTEMPT_RUNNING || entry->state == ATTEMPT_SUSPENDED))
		send_step(entry);
	if (is_due(&entry->share.operation) && entry->state == ATTEMPT_RUNNING &&
	    entry->step.state == OPERATION_NONE && !remote_attempt_is_killed(entry))
		send_share(entry);
}

void remote_request_start(struct remote_attempt *entry)
{
	remote_operation_move(&entry->start, OPERATION_CALL);
	remote_request_due(entry);
}

void remote_request_kill(struct remote_attempt *entry)
{
	if (remote_attempt_is(entry, ATTEMPT_OVER) || entry->kill.state != OPERATION_NONE)
		return;
	remote_operation_move(&entry->kill, OPERATION_CALL);
	if (entry->start.wait_ms) /* refused so far, so it never ran */
		remote_attempt_end(entry, BACKEND_OUTCOME_KILLED, NULL);
	remote_request_due(entry);
}

/* The state. */

/* Makes a note that the attempt's state is unknown; none if the attempt has ended meanwhile. */
static void note_unclear(struct remote_attempt *entry, const GError *error)
{
	struct remote_link *link = remote_attempt_link(entry);

	if (remote_attempt_is(entry, ATTEMPT_OVER) || entry->unclear_ns)
		return;
	entry->unclear_ns = remote_now_ns(entry->remote);
	remote_note(entry->remote, "task-unclear",
		    "local scheduler of cluster '%s' does not report the state of task %" PRIu32
		    ": %s; it is asked again, and the task is given up after %.0f s",
		    remote_link_cluster(link)->name, entry->task, error->message,
		    remote_link_patience_s(link));
}

static void check_done(int status, json_t *body, const GError *error, void *data)
{
	struct remote_attempt *entry = data;
	g_autoptr(GError) wrong = NULL;
	enum task_state state;

	entry->check_open = false;
	if (remote_attempt_unknown(entry, status, error))
		return;
	if (error || !remote_attempt_read(entry, body, &state, &wrong)) {
		note_unclear(entry, error ?: wrong);
		return;
	}
	entry->unclear_ns = 0;
	remote_operation_move(&entry->start, OPERATION_ANSWER); /* of a reattached attempt */
	remote_operation_checked(&entry->step, state);
	remote_request_due(entry);
}

void remote_request_check(struct remote_attempt *entry)
{
	g_autofree char *path = task_path(entry);

	if (entry->check_open)
		return;
	entry->check_open = true;
	remote_link_send(remote_attempt_link(entry), "GET", path, NULL, check_done, entry);
}

/* Attempts that take too long, or of which nothing is known. */

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
