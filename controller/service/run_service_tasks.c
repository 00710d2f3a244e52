/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define LOG_SUBSYSTEM "service"
#include "common/error_fail.h"
#include "common/json.h"
#include "common/log.h"
#include "common/platform.h"
#include "common/visible.h"
#include "controller/service/run_service_private.h"
#include "controller/service/run_service_scripts.h"
#include "controller/store/store_records.h"

/* The duration of a utility that never falls: 31 years. */
#define FOREVER_S 1e9

/* The overflow user id of the kernel. */
#define NOBODY 65534

/*
 * Makes the failed store the error and ends the service: what users were told would no longer be
 * true.
 */
static bool store_fault(struct run_service *service, GError *reason, GError **error)
{
	error_fail(error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_STORE,
		   "the store cannot be written: %s", reason->message);
	run_session_store_failed(service->session, reason);
	return false;
}

/* Commits the records; those of the engine are in the same transaction. */
static bool put_on_record(struct run_service *service, GError **error)
{
	GError *reason = NULL;

	if (recorder_store_finish(service->recorder, &reason))
		return true;
	return store_fault(service, reason, error);
}

/* Tasks. */

/* Whether the type has no estimate on any cluster that it fits. On shared hosts none is needed. */
static bool is_unmeasured(const struct config *config, const struct config_type *type)
{
	bool any = false;

	for (uint32_t i = 0; i < config->clusters_count; i++) {
		const struct config_cluster *cluster = &config->clusters[i];

		if (!config_type_fits(type, cluster))
			continue;
		if (cluster->shared || !config_is_hole(config, type, cluster))
			return false;
		any = true;
	}
	return any;
}

static void add_segment(struct utility *utility, enum utility_curve curve, double duration_s,
			double end_fraction)
{
	utility->segments[utility->segments_count++] = (struct utility_segment){
		.curve = curve,
		.duration_s = duration_s,
		.start_fraction = 1,
		.end_fraction = end_fraction,
	};
}

static struct utility utility_of(const struct store_submission *submission)
{
	struct utility utility = {.max = submission->utility_max};
	const bool falls = isfinite(submission->zero_s);
	const double constant_s =
		falls && isfinite(submission->constant_s) ? submission->constant_s : 0;

	if (isfinite(submission->deadline_s)) {
		add_segment(&utility, UTILITY_CONSTANT, submission->deadline_s, 1);
	} else if (falls) {
		if (constant_s > 0)
			add_segment(&utility, UTILITY_CONSTANT, constant_s, 1);
		if (submission->zero_s > constant_s)
			add_segment(&utility, UTILITY_LINEAR, submission->zero_s - constant_s, 0);
	} else {
		add_segment(&utility, UTILITY_CONSTANT, FOREVER_S, 1);
	}
	return utility;
}

bool run_service_make_task(const struct run_service *service,
			   const struct store_submission *submission, struct sched_task *ret_task)
{
	const struct config *config = service->session->config;
	const struct config_type *type = config_type_find(config, submission->type);

	if (type && is_unmeasured(config, type))
		type = NULL; /* treated as an unknown type */
	*ret_task = (struct sched_task){
		.id = submission->task,
		.row = type ? (uint32_t)(type - config->types) : UINT32_MAX,
		.arrival_s = submission->arrival_s,
		.utility = utility_of(submission),
		.may_preempt = type && type->may_preempt,
		.preemptible = type && type->preemptible,
		.priority = (int32_t)CLAMP(submission->priority, -SCHED_PRIORITY_MAX,
					   SCHED_PRIORITY_MAX),
	};
	return type != NULL;
}

/* Checks of a request to submit. */

static bool check_type(const struct config *config, const struct run_service_submit_request *order,
		       GError **error)
{
	const char *name = order->task.type;
	const struct config_type *type = config_type_find(config, name);
	g_autofree char *known = NULL;

	if (!type) {
		known = run_service_known_types(config, false);
		return error_fail(error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_INPUT,
				  "type: unknown type '%.64s'; known: %s", name, known);
	}
	if (config_type_is_script(type) != (order->script != NULL))
		return error_fail(error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_INPUT,
				  order->script ? "type: '%s' is a benchmark and runs no script"
						: "script: missing; tasks of type '%s' are scripts",
				  name);
	if (is_unmeasured(config, type))
		return error_fail(
			error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_INPUT,
			"type: there is no estimate for type '%s' on any cluster; measure it with "
			"`virtbed profile`",
			name);
	for (uint32_t i = 0; i < config->clusters_count; i++)
		if (config_type_fits(type, &config->clusters[i]))
			return true;
	return error_fail(error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_INPUT,
			  "type: no cluster is large enough for a task of type '%s'", name);
}

static bool check_text(const char *key, const char *text, GError **error)
{
	if (!text)
		return true;
	if (!*text || strlen(text) > RUN_SERVICE_TEXT_MAX || !g_utf8_validate(text, -1, NULL))
		return error_fail(error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_INPUT,
				  "%s: give 1 to %d bytes of UTF-8 text", key,
				  RUN_SERVICE_TEXT_MAX);
	return visible_ok(text) || error_fail(error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_INPUT,
					      "%s: holds a control character", key);
}

static bool check_time(const char *key, double value, GError **error)
{
	return isnan(value) || (value > 0 && value <= FOREVER_S) ||
	       error_fail(error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_INPUT,
			  "%s: %g is not from 0 to %g seconds", key, value, FOREVER_S);
}

static bool check_times(const struct run_service_submit_request *order, GError **error)
{
	if (!check_time("constant_s", order->task.constant_s, error) ||
	    !check_time("zero_s", order->task.zero_s, error) ||
	    !check_time("deadline_s", order->task.deadline_s, error))
		return false;
	if (isfinite(order->task.deadline_s) &&
	    (isfinite(order->task.constant_s) || isfinite(order->task.zero_s)))
		return error_fail(error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_INPUT,
				  "deadline_s: give it alone, or constant_s and zero_s");
	if (isfinite(order->task.constant_s) && !(order->task.zero_s >= order->task.constant_s))
		return error_fail(
			error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_INPUT,
			"constant_s: give zero_s as well, no less than it: from when on the "
			"task is worth nothing");
	return true;
}

/* All users may lower a task's priority; only operators may raise it. */
static bool check_priority(const struct run_service_submit_request *order, GError **error)
{
	return order->task.priority <= 0 || order->unbound ||
	       error_fail(error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_FORBIDDEN,
			  "priority: %" PRId64
			  " is for an operator to give; you may give 0 or less",
			  order->task.priority);
}

static bool check_order(const struct run_service *service,
			const struct run_service_submit_request *order, GError **error)
{
	if (!check_type(service->session->config, order, error) ||
	    !check_text("name", order->task.name, error) ||
	    !check_text("key", order->task.key, error))
		return false;
	if (order->task.count < 1 || order->task.count > RUN_SERVICE_COUNT_MAX)
		return error_fail(error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_INPUT,
				  "count: %u is not from 1 to %d", order->task.count,
				  RUN_SERVICE_COUNT_MAX);
	if (!(order->task.utility_max > 0 && order->task.utility_max <= RUN_SERVICE_UTILITY_MAX))
		return error_fail(error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_INPUT,
				  "utility_max: %g is not above 0 and at most %.0f",
				  order->task.utility_max, RUN_SERVICE_UTILITY_MAX);
	return check_times(order, error) && check_priority(order, error);
}

/* Submitting. */

static char *key_text(const char *key, int64_t uid)
{
	return g_strdup_printf("%" PRId64 " %s", uid, key);
}

void run_service_note_key(struct run_service *service, struct store_submission *submission)
{
	if (submission->key && submission->task == submission->first)
		g_hash_table_replace(service->keys, key_text(submission->key, submission->uid),
				     submission);
}

static const struct store_submission *find_key(const struct run_service *service,
					       const struct run_service_submit_request *order)
{
	g_autofree char *text = order->task.key ? key_text(order->task.key, order->task.uid) : NULL;

	return text ? g_hash_table_lookup(service->keys, text) : NULL;
}

/* Digest of a script's program, arguments, files and results; NULL: there is no script. */
static char *script_digest(const struct run_service_submit_request *order)
{
	g_autofree char *summary = order->script ? task_script_summary(order->script) : NULL;

	return summary ? g_compute_checksum_for_string(G_CHECKSUM_SHA256, summary, -1) : NULL;
}

static void append_difference(GString *text, bool same, const char *what)
{
	if (!same)
		g_string_append_printf(text, "%s%s", text->len ? ", " : "", what);
}

static bool same_number(double left, double right)
{
	return isnan(left) ? isnan(right) : left == right;
}

/*
 * The members in which a request differs from the submission with its key, "" if in none (the
 * caller frees).
 */
static char *differences(const struct run_service_submit_request *order,
			 const struct store_submission *before)
{
	const bool known = before->asked_held >= 0;
	g_autofree char *digest = script_digest(order);
	GString *text = g_string_new(NULL);

	append_difference(text, g_str_equal(order->task.type, before->type), "type");
	append_difference(text, order->task.count == before->count, "count");
	append_difference(text, g_strcmp0(order->task.name, before->name) == 0, "name");
	append_difference(text, !known || order->task.held == before->asked_held, "held");
	append_difference(text, same_number(order->task.utility_max, before->utility_max),
			  "utility_max");
	append_difference(text, same_number(order->task.constant_s, before->constant_s),
			  "constant_s");
	append_difference(text, same_number(order->task.zero_s, before->zero_s), "zero_s");
	append_difference(text, same_number(order->task.deadline_s, before->deadline_s),
			  "deadline_s");
	append_difference(text, order->task.priority == before->priority, "priority");
	append_difference(text, !known || g_strcmp0(digest, before->script_sha256) == 0, "script");
	return g_string_free(text, FALSE);
}

/*
 * A key must be repeated with the same contents: other contents would not be submitted, but look as
 * if they were.
 */
static bool check_key(const struct run_service_submit_request *order,
		      const struct store_submission *before, GError **error)
{
	g_autofree char *different = differences(order, before);

	return !*different ||
	       error_fail(
		       error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_REFUSED,
		       "key: '%s' was used for task %u with other contents (%s); give another key, "
		       "or ask for the same",
		       order->task.key, before->first, different);
}

static struct store_submission *new_submission(const struct run_service *service,
					       const struct run_service_submit_request *order,
					       uint32_t first, uint32_t i)
{
	struct store_submission *submission = record_copy(&store_submission_record, &order->task);

	submission->run = service->row.run;
	submission->task = first + i;
	submission->submitted_utc = platform_utc(service->session->platform);
	submission->first = first;
	submission->asked_held = order->task.held;
	submission->script_sha256 = script_digest(order);
	return submission;
}

/*
 * Adds a task to the engine, which records it, and stores its submission in the same transaction.
 */
static bool add_one(struct run_service *service, struct store_submission *submission,
		    GError **error)
{
	struct sched_task task;
	uint32_t index;

	g_ptr_array_add(service->submissions, submission);
	run_service_make_task(service, submission, &task);
	index = engine_submit(service->engine, &task, submission->held);
	if (index != submission->task)
		return error_fail(error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_REFUSED,
				  "the service is ending");
	submission->arrival_s = engine_task_at(service->engine, index)->task->arrival_s;
	/*
	 * A failed write of the engine may have undone the transaction; the submission alone would
	 * then be stored.
	 */
	return recorder_store_join(service->recorder, error) &&
	       store_put_submission(service->session->store, submission, error);
}

/* Checked before any write, since the transaction also has the tasks of other requests. */
static bool check_serving(const struct run_service *service, GError **error)
{
	return engine_counts(service->engine)->ended_by == ENGINE_END_NONE ||
	       error_fail(error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_REFUSED,
			  "the service is ending");
}

static bool check_room(const struct run_service *service, uint32_t count, GError **error)
{
	return service->submissions->len + count <= service->config.tasks_max ||
	       error_fail(
		       error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_REFUSED,
		       "the service has had %u of its %u tasks; raise service.tasks_max and have "
		       "it reloaded",
		       service->submissions->len, service->config.tasks_max);
}

static void log_submitted(const struct run_service_submit_request *order, uint32_t first)
{
	g_autofree char *task = g_strdup_printf("%u", first);
	g_autofree char *all =
		order->task.count > 1
			? g_strdup_printf(", and so all up to %u", first + order->task.count - 1)
			: NULL;

	log_info_of(LOG_TASK(task), "submitted by %s as %s%s%s",
		    order->task.user ?: "an unknown user", order->task.type,
		    order->task.held ? ", held" : "", all ?: "");
}

/*
 * The script is saved before its tasks are stored: a task without its script could not be started.
 */
static bool keep_script(struct run_service *service, const struct run_service_submit_request *order,
			uint32_t first, GError **error)
{
	g_autoptr(GError) reason = NULL;

	return run_service_keep_script(service->session, first, order->script, &reason) ||
	       error_fail(error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_REFUSED,
			  "the script cannot be kept: %s", reason->message);
}

/* The number of a user's tasks that have not ended. */
static uint32_t count_open(const struct run_service *service, int64_t uid)
{
	uint32_t open = 0;

	for (uint32_t i = service->session->progress->settled; i < service->submissions->len; i++) {
		const struct store_submission *one = g_ptr_array_index(service->submissions, i);

		open += one->uid == uid && !engine_task_over(engine_task_at(service->engine, i));
	}
	return open;
}

/* A user's tasks are limited, since all users share the queue. */
static bool check_share(const struct run_service *service,
			const struct run_service_submit_request *order, GError **error)
{
	uint32_t open;

	if (order->unbound)
		return true;
	open = count_open(service, order->task.uid);
	return open + order->task.count <= service->config.user_tasks_max ||
	       error_fail(error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_REFUSED,
			  "you have %u task%s that ha%s not ended, and may have %u "
			  "(service.user_tasks_max); wait until some have",
			  open, open == 1 ? "" : "s", open == 1 ? "s" : "ve",
			  service->config.user_tasks_max);
}

/* One event for all tasks of a request, from which readers of events learn of them. */
static bool record_submitted(struct run_service *service,
			     const struct run_service_submit_request *order, uint32_t first,
			     GError **error)
{
	g_autoptr(json_t) detail =
		json_pack("{s:i, s:i, s:s, s:s*, s:s*, s:b}", "task", (int)first, "count",
			  (int)order->task.count, "type", order->task.type, "name",
			  order->task.name, "user", order->task.user, "held", order->task.held);
	g_autofree char *text = json_text(detail);

	return store_add_event(service->session->store, service->row.run,
			       engine_task_at(service->engine, first)->task->arrival_s, "submitted",
			       text, error);
}

static bool add_all(struct run_service *service, const struct run_service_submit_request *order,
		    uint32_t first, GError **error)
{
	for (uint32_t i = 0; i < order->task.count; i++)
		if (!add_one(service, new_submission(service, order, first, i), error))
			return false;
	return record_submitted(service, order, first, error);
}

bool run_service_submit(struct run_service *service, const struct run_service_submit_request *order,
			uint32_t *ret_first, uint32_t *ret_count, GError **error)
{
	const struct store_submission *before = find_key(service, order);
	const uint32_t first = service->submissions->len;
	GError *reason = NULL;

	if (before && !check_key(order, before, error))
		return false;
	if (before) {
		*ret_first = before->first;
		*ret_count = before->count;
		return true;
	}
	if (!check_order(service, order, error) || !check_serving(service, error) ||
	    !check_room(service, order->task.count, error) || !check_share(service, order, error))
		return false;
	if (order->script && !keep_script(service, order, first, error))
		return false;
	if (!recorder_store_join(service->recorder, &reason) ||
	    !add_all(service, order, first, &reason))
		return store_fault(service, reason, error);
	run_service_note_key(service, g_ptr_array_index(service->submissions, first));
	log_submitted(order, first);
	*ret_first = first;
	*ret_count = order->task.count;
	return true;
}

void run_service_record(struct run_service *service)
{
	g_autoptr(GArray) waiters = g_steal_pointer(&service->waiters);
	GError *reason = NULL;

	g_clear_handle_id(&service->recording, g_source_remove);
	if (!waiters)
		return;
	if (recorder_store_finish(service->recorder, &reason)) {
		store_sync_ask_all(service->sync, waiters);
		return;
	}
	for (guint i = 0; i < waiters->len; i++) {
		const struct store_sync_request *waiter =
			&g_array_index(waiters, struct store_sync_request, i);

		waiter->done(reason, waiter->data);
	}
	store_fault(service, reason, NULL);
}

static gboolean on_recording(gpointer data)
{
	struct run_service *service = data;

	service->recording = 0;
	run_service_record(service);
	return G_SOURCE_REMOVE;
}

void run_service_when_safe(struct run_service *service, store_sync_done_f done, void *data)
{
	const struct store_sync_request waiter = {done, data};

	if (!service->waiters) {
		service->waiters = g_array_new(FALSE, FALSE, sizeof(waiter));
		service->recording = platform_soon(service->session->platform, G_PRIORITY_HIGH,
						   on_recording, service);
	}
	g_array_append_val(service->waiters, waiter);
}

const struct store_submission *run_service_submission(const struct run_session *session,
						      uint32_t task)
{
	const struct run_service *service = session->service;

	return service && task < service->submissions->len
		       ? g_ptr_array_index(service->submissions, task)
		       : NULL;
}

/* Sets "queue": its VMs may have to be rebooted for its user first, so it waits for its turn. */
bool run_service_describe(uint32_t task, json_t *body, void *data, GError **error)
{
	const struct run_service *service = data;
	const struct run_session *session = service->session;
	const struct store_submission *submission;
	const struct config_type *type;

	if (task >= service->submissions->len)
		return true;
	submission = g_ptr_array_index(service->submissions, task);
	type = config_type_find(session->config, submission->type);
	json_object_set_new(body, "user",
			    json_integer(submission->uid >= 0 ? submission->uid : NOBODY));
	json_object_set_new(body, "queue", json_true());
	if (submission->count > 1) {
		json_object_set_new(body, "index", json_integer(task - submission->first));
		json_object_set_new(body, "count", json_integer(submission->count));
	}
	return !type || !config_type_is_script(type) ||
	       run_service_add_script(session, submission->first, body, error);
}

/* Requests about existing tasks and nodes. */

static enum engine_refusal request_op(struct engine *engine, enum run_service_task_op op,
				      uint32_t task)
{
	switch (op) {
	case RUN_SERVICE_HOLD:
		return engine_request_hold(engine, task);
	case RUN_SERVICE_RELEASE:
		return engine_request_release(engine, task);
	default:
		return engine_request_cancel(engine, task);
	}
}

bool run_service_request(struct run_service *service, enum run_service_task_op op, uint32_t task,
			 const char *user, GError **error)
{
	struct store_submission *submission = g_ptr_array_index(service->submissions, task);
	enum engine_refusal refusal;
	GError *reason = NULL;

	engine_set_asker(service->engine, user);
	refusal = request_op(service->engine, op, task);
	if (refusal)
		return error_fail(error, ENGINE_REFUSAL_ERROR, refusal, "%s",
				  engine_refusal_text(refusal));
	if (op == RUN_SERVICE_CANCEL)
		submission->cancelled = true;
	else
		submission->held = op == RUN_SERVICE_HOLD;
	/* as in add_one() */
	if (!recorder_store_join(service->recorder, &reason) ||
	    !store_put_submission(service->session->store, submission, &reason))
		return store_fault(service, reason, error);
	return put_on_record(service, error);
}

static bool record_drain(struct run_service *service, bool drain, uint32_t cluster, uint32_t node,
			 const char *reason, const char *user, GError **error)
{
	g_autofree char *now = platform_utc(service->session->platform);
	char *name = service->session->config->clusters[cluster].name;
	const struct store_drain row = {
		.run = service->row.run,
		.cluster = name,
		.node = node,
		.reason = (char *)reason,
		.user = (char *)user,
		.since_utc = now,
	};

	return drain ? store_put_drain(service->session->store, &row, error)
		     : store_drop_drain(service->session->store, service->row.run, name, node,
					error);
}

bool run_service_drain(struct run_service *service, bool drain, uint32_t cluster, uint32_t node,
		       const char *reason, const char *user, GError **error)
{
	const bool already = engine_drained(service->engine, cluster, node);
	g_autofree char *name =
		g_strdup_printf("%s-n%u", service->session->config->clusters[cluster].name, node);
	enum engine_refusal refusal;
	GError *fault = NULL;

	if (!check_text("reason", reason, error))
		return false;
	engine_set_asker(service->engine, user);
	refusal = drain ? engine_request_drain(service->engine, cluster, node, reason)
			: engine_request_undrain(service->engine, cluster, node);
	if (refusal)
		return error_fail(error, ENGINE_REFUSAL_ERROR, refusal, "%s",
				  engine_refusal_text(refusal));
	/* A node that is drained already keeps its reason unless there is a new one. */
	if (already == drain && !(drain && reason))
		return true;
	log_info_of(LOG_NODE(name), "%s by %s%s%s", drain ? "drained" : "undrained",
		    user ?: "an unknown user", drain && reason ? ": " : "",
		    drain && reason ? reason : "");
	if (!recorder_store_join(service->recorder, &fault) ||
	    !record_drain(service, drain, cluster, node, reason, user, &fault))
		return store_fault(service, fault, error);
	return put_on_record(service, error);
}
