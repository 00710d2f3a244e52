/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One attempt of a task: the requests to its local scheduler and their results. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "common/error_fail.h"
#include "common/json.h"
#include "controller/backend/remote_private.h"

/*
 * The attempt's turn has come: its execution time counts from here. An attempt that was killed
 * before has none.
 */
static void report_begun(struct remote_attempt *entry, const struct remote_task *task)
{
	struct backend_event event;

	if (!entry->queued || entry->begun || task->state == TASK_QUEUED ||
	    !(task->queued_ns && task->requested_ns > task->queued_ns))
		return;
	entry->begun = true;
	entry->start_ns = task->requested_ns;
	event = remote_attempt_event(entry, BACKEND_EVENT_BEGAN, task->requested_ns);
	remote_push(entry->remote, &event);
}

static void report_started(struct remote_attempt *entry, int64_t t_ns)
{
	const struct remote_run *run = &entry->remote->run;
	struct backend_event event;

	if (entry->started || entry->ended)
		return;
	entry->started = true;
	event = remote_attempt_event(entry, BACKEND_EVENT_STARTED, t_ns);
	remote_push(entry->remote, &event);
	if (run->launched && !entry->adopted)
		run->launched(event.time_s, entry->task, entry->attempt,
			      clock_elapsed_s(entry->start_ns, t_ns), run->data);
	/* The task's start is not an overhead of a step that was called before. */
	if (entry->request.called_ns)
		entry->request.called_ns = clock_now_ns();
	remote_step_send(entry);
	remote_share_ctl_continue(entry);
}

void remote_attempt_end(struct remote_attempt *entry, enum backend_outcome outcome,
			const char *reason)
{
	int64_t now_ns = clock_now_ns();
	struct backend_event event;

	if (entry->ended)
		return;
	entry->ended = true;
	event = remote_attempt_event(entry, BACKEND_EVENT_ENDED, now_ns);
	event.outcome = outcome;
	event.exec_s = remote_suspend_ctl_executed_s(entry, now_ns);
	event.energy_j = (double)NAN;
	event.reason = reason;
	remote_push(entry->remote, &event);
}

void remote_attempt_abandon(struct remote_attempt *entry, const char *reason)
{
	entry->abandoned = true;
	remote_attempt_end(entry, BACKEND_OUTCOME_LOST, reason);
}

/* The energy that the hosts of the task would have used idle, in its intervals. */
static double idle_j(const struct remote_attempt *entry, const struct remote_task *task)
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

static void report_task_end(struct remote_attempt *entry, const struct remote_task *task)
{
	int64_t end_ns = task->ended_ns ?: clock_now_ns();
	struct backend_event event;

	entry->ended = true;
	event = remote_attempt_event(entry, BACKEND_EVENT_ENDED, end_ns);
	event.outcome = task->outcome;
	event.cause = task->cause;
	event.done = task->done;
	event.total = task->total;
	event.exec_s = fmax(0, clock_elapsed_s(entry->start_ns, end_ns) -
				       remote_suspensions_paused_s(task->suspensions, end_ns));
	if (entry->queued && !entry->begun)
		event.exec_s = 0;
	event.energy_j = remote_task_energy_j(task, idle_j(entry, task));
	event.reason = task->reason;
	remote_push(entry->remote, &event);
}

/* At most one note for values that are wrong in every answer, and one for the end. */
static void note_doubts(struct remote_attempt *entry, const struct remote_task *task)
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
 * Adopted attempts on shared hosts: the local scheduler knows the nodes that an earlier controller
 * chose.
 */
static void take_nodes(struct remote_attempt *entry, const struct remote_task *task)
{
	if (entry->adopted && !entry->described && task->nodes && remote_step_executes(entry) &&
	    task->nodes_count == entry->nodes_count)
		memcpy(entry->nodes, task->nodes, sizeof(*entry->nodes) * entry->nodes_count);
}

void remote_attempt_take(struct remote_attempt *entry, const struct remote_task *task)
{
	if (entry->ended)
		return;
	note_doubts(entry, task);
	if (entry->adopted && task->requested_ns)
		entry->start_ns = task->requested_ns;
	/* The time in which it waited for VMs that were rebooted for its user does not count. */
	if (!entry->queued && !entry->started && task->queued_ns &&
	    task->requested_ns > entry->start_ns)
		entry->start_ns = task->requested_ns;
	take_nodes(entry, task);
	report_begun(entry, task);
	if (task->started_ns && task->state != TASK_STARTING)
		report_started(entry, task->started_ns);
	remote_suspend_ctl_take(entry, task);
	remote_migrate_ctl_take(entry, task);
	remote_share_ctl_take(entry, task);
	if (task->state == TASK_ENDED) {
		report_task_end(entry, task);
	} else if (entry->adopted && !entry->described && task->requested_ns) {
		entry->described = true;
		remote_suspend_ctl_reattach(entry, task);
		remote_step_send(entry);
		remote_share_ctl_continue(entry);
	}
}

/* Requests. */

/* Seconds left until start_before_s; a millisecond if that has passed. */
static double start_within_s(const struct remote_attempt *entry)
{
	const double now_s = remote_run_s(entry->remote, clock_now_ns());

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

	if (!entry->queued)
		return body;
	json_object_set_new(body, "queue", json_true());
	if (isfinite(entry->start_before_s) && entry->start_before_s > 0)
		json_object_set_new(body, "start_within_s", json_real(start_within_s(entry)));
	return body;
}

static gboolean put_again(gpointer data)
{
	struct remote_attempt *entry = data;

	entry->start_retry.source = 0;
	if (entry->ended)
		return G_SOURCE_REMOVE;
	if (entry->hosts) {
		g_free(entry->nodes);
		entry->nodes = remote_slots_pick(entry, entry->hosts, NULL);
	}
	remote_attempt_start(entry);
	return G_SOURCE_REMOVE;
}

static void put_refused(struct remote_attempt *entry, int status, const GError *error)
{
	g_autofree char *reason = g_strdup_printf("not started: %s", error->message);

	if (status == 409 && !entry->kill_wanted && !entry->ended &&
	    entry->start_retry.count++ < remote_slots_tries(entry)) {
		remote_retry_in(&entry->start_retry, REMOTE_CONFLICT_WAIT_MS, put_again, entry);
		return;
	}
	remote_note(entry->remote, "task-refused", "task %" PRIu32 " on cluster '%s' %s",
		    entry->task, remote_link_cluster(remote_attempt_link(entry))->name, reason);
	if (status == 409) {
		remote_slots_give_up(entry, entry->nodes);
		/* an attempt with its id, whose record was lost, may be there */
		remote_attempt_abandon(entry, reason);
	} else if (status >= 400 && status < 500) {
		remote_attempt_end(entry, BACKEND_OUTCOME_FAILED, reason);
	} else {
		remote_attempt_abandon(entry, reason);
	}
}

bool remote_attempt_read(struct remote_attempt *entry, const json_t *body,
			 enum task_state *ret_state, GError **error)
{
	g_autoptr(remote_task_t) task = remote_task_parse(body, error);

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

void remote_attempt_note_protocol_error(struct remote_attempt *entry, const GError *wrong)
{
	remote_note(entry->remote, "scheduler-rubbish",
		    "local scheduler of cluster '%s' sends malformed answers: %s",
		    remote_link_cluster(remote_attempt_link(entry))->name, wrong->message);
}

static void put_done(int status, json_t *body, const GError *error, void *data)
{
	struct remote_attempt *entry = data;
	g_autoptr(GError) wrong = NULL;

	if (error) {
		put_refused(entry, status, error);
		if (entry->abandoned)
			remote_attempt_delete(entry);
		return;
	}
	entry->asked = true;
	if (!remote_attempt_read(entry, body, NULL, &wrong)) {
		remote_attempt_note_protocol_error(entry, wrong);
		remote_attempt_abandon(entry, "the local scheduler sent a malformed answer");
		remote_attempt_delete(entry);
		return;
	}
	/*
	 * The request may have arrived after the DELETE of an attempt that was abandoned while the
	 * local scheduler was silent.
	 */
	if (entry->abandoned || (entry->kill_wanted && !entry->ended))
		remote_attempt_delete(entry);
}

static json_t *make_body(void *data, GError **error)
{
	struct remote_attempt *entry = data;
	const struct remote_run *run = &entry->remote->run;
	g_autoptr(json_t) body = task_body(entry);

	if (run->describe && !run->describe(entry->task, body, run->describe_data, error))
		return NULL;
	return g_steal_pointer(&body);
}

void remote_attempt_start(struct remote_attempt *entry)
{
	g_autofree char *path = remote_attempt_path(entry);

	remote_link_send_made(remote_attempt_link(entry), "PUT", path, make_body, put_done, entry);
}

static void delete_done(int status, json_t *body, const GError *error, void *data)
{
	struct remote_attempt *entry = data;
	const bool unknown = status == 404 || status == 410;

	entry->undeleted = !unknown && (error || !json_is_object(body));
	if (unknown)
		remote_attempt_end(entry, BACKEND_OUTCOME_KILLED,
				   "not known to the local scheduler");
}

void remote_attempt_delete(struct remote_attempt *entry)
{
	g_autofree char *path = remote_attempt_path(entry);

	entry->killed_ns = clock_now_ns();
	entry->undeleted = false;
	remote_link_send(remote_attempt_link(entry), "DELETE", path, NULL, delete_done, entry);
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

/* Makes a note that the attempt's state is unknown; none if the attempt has ended meanwhile. */
static void note_unclear(struct remote_attempt *entry, const GError *error)
{
	struct remote_link *link = remote_attempt_link(entry);

	if (entry->ended || entry->unclear_ns)
		return;
	entry->unclear_ns = clock_now_ns();
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
	if (!entry->asked && entry->kill_wanted && !entry->ended)
		remote_attempt_delete(entry);
	entry->asked = true; /* an adopted attempt */
	remote_step_checked(entry, state);
}

void remote_attempt_check(struct remote_attempt *entry)
{
	g_autofree char *path = remote_attempt_path(entry);

	if (entry->check_open)
		return;
	entry->check_open = true;
	remote_link_send(remote_attempt_link(entry), "GET", path, NULL, check_done, entry);
}

/* Without this the task would keep its nodes until its deadline. */
static void delete_again(struct remote_attempt *entry, int64_t now_ns)
{
	const struct remote_link *link = remote_attempt_link(entry);

	if (entry->undeleted && !remote_link_away(link) &&
	    clock_elapsed_s(entry->killed_ns, now_ns) > remote_link_patience_s(link))
		remote_attempt_delete(entry);
}

/*
 * Withdraws a start that waits. A start under way may be carried out, or be put off by a 503; it is
 * killed when it is answered.
 */
static void end_if_asked(struct remote_attempt *entry)
{
	if (!entry->asked && !remote_link_withdraw(remote_attempt_link(entry), entry))
		return;
	entry->asked = true;
	remote_attempt_delete(entry);
}

bool remote_attempt_guard(struct remote_attempt *entry, int64_t now_ns)
{
	if (entry->ended) {
		delete_again(entry, now_ns);
		return false;
	}
	if (entry->kill_wanted && !entry->asked)
		end_if_asked(entry);
	if (!entry->unclear_ns)
		return true;
	if (clock_elapsed_s(entry->unclear_ns, now_ns) >
	    remote_link_patience_s(remote_attempt_link(entry))) {
		remote_attempt_abandon(entry, "its local scheduler does not report its state");
		remote_attempt_delete(entry);
	} else {
		remote_attempt_check(entry);
	}
	return false;
}

void remote_attempt_kill(struct remote_attempt *entry)
{
	if (entry->ended || entry->kill_wanted)
		return;
	entry->kill_wanted = true;
	if (entry->start_retry.source) { /* refused so far, so it never ran */
		remote_retry_stop(&entry->start_retry);
		remote_attempt_end(entry, BACKEND_OUTCOME_KILLED, NULL);
	} else {
		end_if_asked(entry);
	}
}

void remote_attempt_free(void *data)
{
	struct remote_attempt *entry = data;

	remote_link_forget(remote_attempt_link(entry), entry);
	remote_step_end(entry, REMOTE_STEP_NONE);
	remote_retry_stop(&entry->start_retry);
	remote_retry_stop(&entry->share.retry);
	if (entry->migrations.past)
		g_ptr_array_unref(entry->migrations.past);
	g_free(entry->hosts);
	g_free(entry->id);
	g_free(entry->nodes);
	g_free(entry);
}
