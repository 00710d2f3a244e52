/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/service_api.h"

#include <inttypes.h>
#include <math.h>
#include <pwd.h>
#include <string.h>

#include "common/benchmark.h"
#include "common/json.h"
#include "common/read_number.h"
#include "controller/api/fleet_api.h"
#include "controller/api/status_api_private.h"
#include "controller/api/task_api.h"
#include "controller/engine/engine.h"
#include "controller/run/run_service_scripts.h"
#include "controller/run/run_utc.h"

/* The most actions of a task in an answer. */
#define ACTIONS_MAX 1000

/* The peer that sent a request. */

struct service_peer service_peer_of(struct http_request *request)
{
	struct service_peer peer = {.uid = http_request_peer_uid(request)};
	const struct passwd *entry = peer.uid >= 0 ? getpwuid((uid_t)peer.uid) : NULL;

	if (entry && g_utf8_validate(entry->pw_name, -1, NULL))
		peer.user = g_strdup(entry->pw_name);
	else if (peer.uid >= 0)
		peer.user = g_strdup_printf("%" PRId64, peer.uid);
	return peer;
}

void service_peer_clear(struct service_peer *peer)
{
	g_free(peer->user);
}

bool service_api_is_served(struct http_request *request, const struct run_session *session)
{
	if (!session->plan->serve)
		http_request_fail(request, 409, "this is an experiment, not a service (virtbed serve), "
						"which tasks are submitted to");
	else if (!session->service)
		http_request_fail(request, 503,
				  "the service is starting or ending; try again in a moment");
	return session->service != NULL;
}

static void send_error(struct http_request *request, const GError *error)
{
	switch ((enum run_service_error)error->code) {
	case RUN_SERVICE_ERROR_REFUSED:
		http_request_fail(request, 409, "%s", error->message);
		break;
	case RUN_SERVICE_ERROR_FORBIDDEN:
		http_request_fail(request, 403, "%s", error->message);
		break;
	case RUN_SERVICE_ERROR_STORE:
		http_request_fail(request, 503, "%s", error->message);
		break;
	default:
		http_request_fail(request, 400, "%s", error->message);
	}
}

/* An answer about recorded facts, sent when they are on disk. */

struct safe_answer {
	struct http_request *request; /* NULL: the client disconnected */
	int status;
	json_t *body;
};

static void client_gone(struct http_request *request, void *data)
{
	((struct safe_answer *)data)->request = NULL;
}

static void is_safe(const GError *error, void *data)
{
	struct safe_answer *answer = data;
	struct http_request *request = answer->request;

	if (request)
		http_request_on_cancel(request, NULL, NULL);
	if (request && error)
		http_request_fail(request, 503, "the store cannot be written: %s", error->message);
	else if (request)
		http_request_reply(request, answer->status, json_incref(answer->body));
	json_decref(answer->body);
	g_free(answer);
}

void service_api_answer(struct http_request *request, const struct run_session *session,
			int status, json_t *body)
{
	struct safe_answer *answer;

	if (!session->service) {
		http_request_reply(request, status, body);
		return;
	}
	answer = g_new(struct safe_answer, 1);
	*answer = (struct safe_answer){
		.request = request,
		.status = status,
		.body = body,
	};
	run_service_when_safe(session->service, is_safe, answer);
	http_request_on_cancel(request, client_gone, answer);
}

/* Submitting. */

static const char *const order_keys[] = {"type", "count", "name", "key", "held", "utility_max",
					 "constant_s", "zero_s", "deadline_s", "script", "cores",
					 "nodes", "time_s", "priority", NULL};

static bool G_GNUC_PRINTF(2, 3) wrong(GError **error, const char *format, ...)
{
	va_list arguments;

	if (error) {
		va_start(arguments, format);
		*error = g_error_new_valist(RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_INPUT, format,
					    arguments);
		va_end(arguments);
	}
	return false;
}

/* Refuses unknown keys, so that a mistyped key is not ignored. */
static bool check_keys(const json_t *body, const char *const *keys, GError **error)
{
	g_autofree char *known = g_strjoinv(", ", (char **)keys);
	const char *key;
	const json_t *value;

	json_object_foreach ((json_t *)body, key, value)
		if (!g_strv_contains(keys, key))
			return wrong(error, "unknown key '%.64s'; known: %s", key, known);
	return true;
}

/* The value of a key, or NULL; null counts as absent, here and below. */
static const json_t *given(const json_t *body, const char *key)
{
	const json_t *value = json_object_get(body, key);

	return json_is_null(value) ? NULL : value;
}

/* *ret_text is borrowed from the body. */
static bool get_text(const json_t *body, const char *key, char **ret_text, GError **error)
{
	const json_t *value = given(body, key);

	*ret_text = (char *)json_string_value(value);
	if (!value || (*ret_text && strlen(*ret_text) == json_string_length(value)))
		return true;
	return wrong(error, "%s: not a text", key);
}

static bool get_number(const json_t *body, const char *key, double *ret_value, GError **error)
{
	const json_t *value = given(body, key);

	if (!value)
		return true;
	*ret_value = json_number_value(value);
	return json_is_number(value) || wrong(error, "%s: not a number", key);
}

/* Reads an integer from `least` to `most`; *ret_value stays as it is without the key. */
static bool get_integer(const json_t *body, const char *key, int32_t least, int32_t most,
			int32_t *ret_value, GError **error)
{
	double value = *ret_value;

	if (!get_number(body, key, &value, error))
		return false;
	if (!(value >= least && value <= most && value == floor(value)))
		return wrong(error, "%s: %.17g is not a number from %d to %d", key, value, least,
			     most);
	*ret_value = (int32_t)value;
	return true;
}

/* Sets the error that no type for scripts has so many `what`, with the types that exist. */
static bool no_type(const struct config *config, double count, const char *what, double time_s,
		    GError **error)
{
	g_autofree char *known = run_service_known_types(config, true);

	return wrong(error, "no type for scripts has %g %s%s for %g s; known: %s", count, what,
		     count == 1 ? "" : "s", time_s, *known ? known : "none");
}

/* Whether any cluster has so many nodes. */
static bool check_nodes(const struct config *config, uint32_t nodes, GError **error)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < config->clusters_count; i++)
		most = MAX(most, config->clusters[i].nodes);
	return nodes <= most || wrong(error, "nodes: no cluster has %u nodes; the largest has %u",
				      nodes, most);
}

/* Chooses the type for scripts with exactly so many nodes. */
static bool choose_by_nodes(const struct config *config, const json_t *body, double time_s,
			    struct run_service_submit_request *order, GError **error)
{
	int32_t nodes = 0;

	if (given(body, "cores"))
		return wrong(error, "nodes: they are whole, with all their cores; leave out cores, "
				    "or them");
	if (!get_integer(body, "nodes", 1, BENCHMARK_RANKS_MAX, &nodes, error) ||
	    !check_nodes(config, (uint32_t)nodes, error))
		return false;
	order->task.type = (char *)run_service_script_type(config, (uint32_t)nodes, 0, time_s);
	return order->task.type || no_type(config, nodes, "node", time_s, error);
}

/* Chooses the named type, or one for scripts that is large enough and may run long enough. */
static bool choose_type(const struct config *config, const json_t *body,
			struct run_service_submit_request *order, GError **error)
{
	int32_t cores = 1;
	double time_s = 0;

	if (!get_integer(body, "cores", 1, BENCHMARK_RANKS_MAX, &cores, error) ||
	    !get_number(body, "time_s", &time_s, error))
		return false;
	if (order->task.type && (given(body, "cores") || given(body, "nodes") || given(body, "time_s")))
		return wrong(error, "type: it says cores or nodes and time_s already; leave them "
				    "out, or it");
	if (order->task.type)
		return true;
	if (!given(body, "script") || !given(body, "time_s"))
		return wrong(error, "type: missing; give the type of the task, or of a script "
				    "time_s and cores or nodes");
	if (given(body, "nodes") && time_s > 0)
		return choose_by_nodes(config, body, time_s, order, error);
	if (!(time_s > 0))
		return wrong(error, "time_s: %g is not above 0", time_s);
	order->task.type = (char *)run_service_script_type(config, 0, (uint32_t)cores, time_s);
	return order->task.type || no_type(config, cores, "core", time_s, error);
}

static bool read_order(const struct config *config, const json_t *body,
		       struct run_service_submit_request *ret_order, GError **error)
{
	struct store_submission *task = &ret_order->task;
	int32_t count = 1;
	int32_t priority = 0;

	if (!json_is_object(body))
		return wrong(error, "give {\"type\": \"...\"} at least");
	*ret_order = (struct run_service_submit_request){
		.task = {.utility_max = 1,
			 .constant_s = (double)NAN,
			 .zero_s = (double)NAN,
			 .deadline_s = (double)NAN},
	};
	if (!check_keys(body, order_keys, error) || !get_text(body, "type", &task->type, error) ||
	    !get_text(body, "name", &task->name, error) ||
	    !get_text(body, "key", &task->key, error) ||
	    !get_integer(body, "count", 1, RUN_SERVICE_COUNT_MAX, &count, error) ||
	    !get_integer(body, "priority", -SCHED_PRIORITY_MAX, SCHED_PRIORITY_MAX,
			 &priority, error) ||
	    !get_number(body, "utility_max", &task->utility_max, error) ||
	    !get_number(body, "constant_s", &task->constant_s, error) ||
	    !get_number(body, "zero_s", &task->zero_s, error) ||
	    !get_number(body, "deadline_s", &task->deadline_s, error))
		return false;
	if (!choose_type(config, body, ret_order, error))
		return false;
	if (given(body, "held") && !json_is_boolean(given(body, "held")))
		return wrong(error, "held: neither true nor false");
	task->held = json_is_true(given(body, "held"));
	task->count = (uint32_t)count;
	task->priority = priority;
	return true;
}

static bool read_script(const json_t *body, struct task_script **ret_script, GError **error)
{
	g_autoptr(GError) reason = NULL;

	if (!given(body, "script"))
		return true;
	*ret_script = task_script_parse(given(body, "script"), &reason);
	return *ret_script || wrong(error, "%s", reason->message);
}

void service_api_submit(struct http_request *request, const struct run_session *session,
			const json_t *body)
{
	struct service_peer peer;
	struct run_service_submit_request order;
	g_autoptr(task_script_t) script = NULL;
	g_autoptr(GError) error = NULL;
	uint32_t first;
	uint32_t count;
	json_t *tasks;
	bool done;

	if (!service_api_is_served(request, session))
		return;
	peer = service_peer_of(request);
	done = read_order(session->config, body, &order, &error) &&
	       read_script(body, &script, &error);
	if (done) {
		order.script = script;
		order.task.user = peer.user;
		order.task.uid = peer.uid;
		order.unbound = http_request_role(request) == HTTP_ROLE_OPERATOR;
		done = run_service_submit(session->service, &order, &first, &count, &error);
	}
	service_peer_clear(&peer);
	if (!done) {
		send_error(request, error);
		return;
	}
	tasks = json_array();
	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(tasks, json_integer(first + i));
	service_api_answer(request, session, 201, json_pack("{s:o}", "tasks", tasks));
}

/* Requests about existing tasks. */

void service_api_ask(struct http_request *request, const struct run_session *session,
		     const char *number, enum run_service_task_op wish)
{
	static const char *const done[] = {
		[RUN_SERVICE_CANCEL] = "cancelled",
		[RUN_SERVICE_HOLD] = "held",
		[RUN_SERVICE_RELEASE] = "released",
	};
	g_autoptr(GError) error = NULL;
	struct service_peer peer;
	uint32_t task;
	bool good;

	if (!service_api_is_served(request, session) || !task_api_find(request, session, number, &task))
		return;
	peer = service_peer_of(request);
	good = run_service_request(session->service, wish, task, peer.user, &error);
	service_peer_clear(&peer);
	if (good) {
		service_api_answer(request, session, 202, task_api_json(session, task));
		return;
	}
	if (error->code == RUN_SERVICE_ERROR_REFUSED)
		g_prefix_error(&error, "task %u cannot be %s: ", task, done[wish]);
	send_error(request, error);
}

void service_api_decisions(struct http_request *request, const struct run_session *session,
			   const char *number)
{
	g_autoptr(GPtrArray) actions = NULL;
	g_autoptr(GError) error = NULL;
	json_t *list;
	const struct engine_task *one;
	const int64_t zero_us = api_zero_us(session);
	uint32_t task;

	if (!task_api_find(request, session, number, &task))
		return;
	one = engine_task(session->engine, task);
	actions = store_task_actions(session->store, session->run, task, one->task->arrival_s - 1,
				     one->state >= ENGINE_TASK_COMPLETED && isfinite(one->ended_s)
					     ? one->ended_s + 1
					     : (double)INFINITY,
				     ACTIONS_MAX, &error);
	if (!actions) {
		http_request_fail(request, 503, "%s", error->message);
		return;
	}
	list = json_array();
	for (guint i = 0; i < actions->len; i++) {
		const struct store_action *row = g_ptr_array_index(actions, i);
		json_t *action = json_parse(row->action, strlen(row->action), "decision", NULL);
		g_autofree char *utc = run_utc_text(zero_us, row->time_s);

		json_array_append_new(list, json_pack("{s:f, s:s?, s:o}", "time_s", row->time_s, "utc",
						      zero_us ? utc : NULL, "action",
						      action ?: json_null()));
	}
	http_request_reply(request, 200,
			   json_pack("{s:i, s:o}", "task", (int)task, "decisions", list));
}

/* Nodes. */

static bool find_node(struct http_request *request, const struct config *config,
		      const char *const *arguments, uint32_t *ret_cluster, uint32_t *ret_node)
{
	guint64 node;

	for (uint32_t c = 0; c < config->clusters_count; c++) {
		if (!g_str_equal(config->clusters[c].name, arguments[0]))
			continue;
		if (!read_number_unsigned(arguments[1], 0, config->clusters[c].nodes - 1, &node)) {
			http_request_fail(request, 404, "cluster '%s' has no node '%.32s'",
					  arguments[0], arguments[1]);
			return false;
		}
		*ret_cluster = c;
		*ret_node = (uint32_t)node;
		return true;
	}
	http_request_fail(request, 404, "there is no cluster '%.64s'; `virtbed clusters` lists them", arguments[0]);
	return false;
}

void service_api_drain(struct http_request *request, const struct run_session *session,
		       const char *const *arguments, const json_t *body, bool drain)
{
	static const char *const keys[] = {"reason", NULL};
	struct service_peer peer;
	g_autoptr(GError) error = NULL;
	char *reason = NULL;
	uint32_t cluster;
	uint32_t node;
	bool done;

	if (!service_api_is_served(request, session) ||
	    !find_node(request, session->config, arguments, &cluster, &node))
		return;
	peer = service_peer_of(request);
	done = check_keys(body, keys, &error) && get_text(body, "reason", &reason, &error) &&
	       (!drain || reason || wrong(&error, "reason: missing; say why the node is drained")) &&
	       run_service_drain(session->service, drain, cluster, node, reason, peer.user, &error);
	service_peer_clear(&peer);
	if (done)
		service_api_answer(request, session, 202,
				   fleet_node_json(session, cluster, node));
	else
		send_error(request, error);
}
