/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/service_api.h"

#include <math.h>
#include <string.h>

#include "common/benchmark.h"
#include "common/error_fail.h"
#include "common/json.h"
#include "common/read_number.h"
#include "controller/api/fleet_api.h"
#include "controller/api/status_api_private.h"
#include "controller/api/task_api.h"
#include "controller/api/task_json.h"
#include "controller/service/run_service_scripts.h"

static void send_error(struct http_request *request, const GError *error)
{
	static const int statuses[] = {
		[RUN_SERVICE_ERROR_INPUT] = 400,
		[RUN_SERVICE_ERROR_REFUSED] = 409,
		[RUN_SERVICE_ERROR_STORE] = 503,
		[RUN_SERVICE_ERROR_FORBIDDEN] = 403,
	};

	if (error->domain == ENGINE_REFUSAL_ERROR)
		http_request_refuse(request, 409,
				    engine_refusal_word((enum engine_refusal)error->code), "%s",
				    error->message);
	else
		http_request_fail(request, statuses[error->code], "%s", error->message);
}

/* Submitting. */

static const char *const order_keys[] = {"type",       "count",       "name",       "key",
					 "held",       "utility_max", "constant_s", "zero_s",
					 "deadline_s", "script",      "cores",      "nodes",
					 "time_s",     "priority",    NULL};

#define wrong(error_, ...)                                                                         \
	error_fail(error_, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_INPUT, __VA_ARGS__)

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
	return nodes <= most ||
	       wrong(error, "nodes: no cluster has %u nodes; the largest has %u", nodes, most);
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
	if (order->task.type &&
	    (given(body, "cores") || given(body, "nodes") || given(body, "time_s")))
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
	    !get_integer(body, "priority", -SCHED_PRIORITY_MAX, SCHED_PRIORITY_MAX, &priority,
			 error) ||
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

void service_api_submit(struct http_request *request, const char *const *arguments, json_t *body,
			void *data)
{
	struct run_session *session = ((struct status_api *)data)->session;
	g_autofree char *user = api_peer_name(request);
	struct run_service_submit_request order;
	g_autoptr(task_script_t) script = NULL;
	g_autoptr(GError) error = NULL;
	uint32_t first;
	uint32_t count;
	json_t *tasks;
	bool done;

	if (!api_is_served(request, session))
		return;
	done = read_order(view_config(session), body, &order, &error) &&
	       read_script(body, &script, &error);
	if (done) {
		order.script = script;
		order.task.user = user;
		order.task.uid = http_request_peer_uid(request);
		order.unbound = http_request_role(request) == HTTP_ROLE_OPERATOR;
		done = run_service_submit(run_session_service(session), &order, &first, &count,
					  &error);
	}
	if (!done) {
		send_error(request, error);
		return;
	}
	tasks = json_array();
	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(tasks, json_integer(first + i));
	api_answer_safely(request, session, 201, json_pack("{s:o}", "tasks", tasks));
}

/* Requests about existing tasks. */

void service_api_ask(struct http_request *request, const char *const *arguments, json_t *body,
		     void *data)
{
	static const char *const done[] = {
		[RUN_SERVICE_CANCEL] = "cancelled",
		[RUN_SERVICE_HOLD] = "held",
		[RUN_SERVICE_RELEASE] = "released",
	};
	struct run_session *session = ((struct status_api *)data)->session;
	const int wish = http_request_what(request);
	g_autofree char *user = api_peer_name(request);
	g_autoptr(GError) error = NULL;
	const struct engine_task *task;

	if (!api_is_served(request, session) ||
	    !(task = task_api_find(request, session, arguments[0])))
		return;
	if (run_service_request(run_session_service(session), (enum run_service_task_op)wish,
				task->task->id, user, &error)) {
		api_answer_safely(request, session, 202, task_json(session, task));
		return;
	}
	if (error->domain == ENGINE_REFUSAL_ERROR)
		g_prefix_error(&error, "task %u cannot be %s: ", task->task->id, done[wish]);
	send_error(request, error);
}

/* Nodes. */

static bool find_node(struct http_request *request, const struct config *config,
		      const char *const *arguments, uint32_t *ret_cluster, uint32_t *ret_node)
{
	const struct config_cluster *cluster = config_cluster_find(config, arguments[0]);
	guint64 node;

	if (!cluster)
		return http_request_fail(
			request, 404, "there is no cluster '%.64s'; `virtbed clusters` lists them",
			arguments[0]);
	if (!read_number_unsigned(arguments[1], 0, cluster->nodes - 1, &node))
		return http_request_fail(request, 404, "cluster '%s' has no node '%.32s'",
					 arguments[0], arguments[1]);
	*ret_cluster = (uint32_t)(cluster - config->clusters);
	*ret_node = (uint32_t)node;
	return true;
}

void service_api_drain(struct http_request *request, const char *const *arguments, json_t *body,
		       void *data)
{
	static const char *const keys[] = {"reason", NULL};
	struct run_session *session = ((struct status_api *)data)->session;
	const bool drain = http_request_what(request) == SERVICE_API_DRAIN;
	g_autofree char *user = api_peer_name(request);
	g_autoptr(GError) error = NULL;
	char *reason = NULL;
	uint32_t cluster = 0;
	uint32_t node = 0;

	if (!api_is_served(request, session) ||
	    !find_node(request, view_config(session), arguments, &cluster, &node))
		return;
	if (check_keys(body, keys, &error) && get_text(body, "reason", &reason, &error) &&
	    (!drain || reason || wrong(&error, "reason: missing; say why the node is drained")) &&
	    run_service_drain(run_session_service(session), drain, cluster, node, reason, user,
			      &error))
		api_answer_safely(request, session, 202, fleet_node_json(session, cluster, node));
	else
		send_error(request, error);
}
