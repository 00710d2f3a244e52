/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/task_api.h"

#include <math.h>
#include <string.h>

#include "common/benchmark.h"
#include "common/error_fail.h"
#include "common/json.h"
#include "common/read_number.h"
#include "controller/api/status_api_private.h"
#include "controller/api/task_json.h"
#include "controller/api/task_texts.h"
#include "controller/api/task_visibility.h"
#include "controller/run/run_utc.h"
#include "controller/service/run_service.h"
#include "controller/service/run_service_scripts.h"

/* Tasks in an answer. */
#define LIMIT_DEFAULT 1000
#define LIMIT_MAX 10000

/* The most recently ended tasks in an answer. */
#define LATELY_MAX 200

/* The most actions of a task in an answer. */
#define ACTIONS_MAX 1000

static bool is_under_way(struct http_request *request, const struct run_session *session)
{
	return view_under_way(session) ||
	       http_request_fail(
		       request, 503,
		       "no run is under way; `virtbed top` shows what the controller does");
}

/* The tasks that a list contains. */
struct filter {
	uint32_t states;  /* a bit for each */
	const char *user; /* NULL: any user */
	uint32_t from;    /* the first task */
	uint32_t most;
	bool lately; /* the `most` most recently ended tasks, the last one first */
};

/* The names of all states, separated by commas; the caller frees. */
static char *known_states(void)
{
	GString *known = g_string_new(NULL);
	const char *name;

	for (int i = ENGINE_TASK_WAITING;
	     (name = engine_task_state_name((enum engine_task_state)i)); i++)
		g_string_append_printf(known, "%s%s", known->len ? ", " : "", name);
	return g_string_free(known, FALSE);
}

static bool read_states(struct http_request *request, struct filter *filter)
{
	const char *text = http_request_query(request, "state");
	g_auto(GStrv) names = text ? g_strsplit(text, ",", -1) : NULL;

	if (text && !*text) { /* an empty text is split into an empty list */
		return http_request_fail(
			request, 400, "query: state: it is empty; leave it out for tasks of any");
	}
	filter->states = names ? 0 : ~UINT32_C(0);
	for (char **name = names; name && *name; name++) {
		const int state = engine_task_state_parse(*name);

		if (state < ENGINE_TASK_WAITING) {
			g_autofree char *known = known_states();

			return http_request_fail(request, 400, "state: '%.32s' is not one of %s",
						 *name, known);
		}
		filter->states |= UINT32_C(1) << state;
	}
	filter->states &= ~(UINT32_C(1) << ENGINE_TASK_COMING);
	return true;
}

/* The most recently ended tasks are listed without regard to their numbers. */
static bool check_lately(struct http_request *request)
{
	static const char *const others[] = {"after", "limit"};

	for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
		if (http_request_query(request, others[i]))
			return http_request_fail(
				request, 400, "query: ended: it says how many; leave out %s, or it",
				others[i]);
	return true;
}

static bool read_filter(struct http_request *request, struct filter *filter)
{
	const bool after = http_request_query(request, "after") != NULL;
	uint64_t from;
	uint64_t ended;
	uint64_t limit;

	filter->user = http_request_query(request, "user");
	filter->lately = http_request_query(request, "ended") != NULL;
	if (filter->user && !*filter->user)
		return http_request_fail(request, 400,
					 "query: user: it is empty; leave it out for tasks of all");
	if (!read_states(request, filter) || (filter->lately && !check_lately(request)) ||
	    !http_request_query_integer(request, "after", 0, UINT32_MAX - 1, 0, &from) ||
	    !http_request_query_integer(request, "ended", 1, LATELY_MAX, 1, &ended) ||
	    !http_request_query_integer(request, "limit", 1, LIMIT_MAX, LIMIT_DEFAULT, &limit))
		return false;
	filter->from = (uint32_t)from + after;
	filter->most = (uint32_t)(filter->lately ? ended : limit);
	return true;
}

/* The task with this number, if it has arrived and the list is to contain it; else NULL. */
static const struct engine_task *wanted_task(const struct run_session *session,
					     const struct filter *filter, uint32_t index)
{
	const struct engine_task *task = view_task(session, index);
	const struct store_submission *submission;

	if (!task || !(filter->states >> task->state & 1))
		return NULL;
	if (!filter->user)
		return task;
	submission = run_service_submission(session, index);
	return submission && g_strcmp0(submission->user, filter->user) == 0 ? task : NULL;
}

/* A list under construction. */
struct list {
	struct http_request *request;
	const struct run_session *session;
	struct task_texts *texts;
	GString *text;
	uint32_t count;
	json_int_t more;
};

/* Adds a task as the client may see it. */
static void list_add(struct list *list, uint32_t index)
{
	const bool hidden = !task_visibility_shows(list->request, list->session, index);

	if (list->count++ > 0)
		g_string_append_c(list->text, ',');
	g_string_append(list->text, task_texts_get(list->texts, index, hidden));
}

/* Lists the tasks by number. */
static void list_first(struct list *list, const struct filter *filter)
{
	for (uint32_t i = filter->from; i < view_tasks_count(list->session); i++) {
		if (!wanted_task(list->session, filter, i))
			continue;
		if (list->count < filter->most)
			list_add(list, i);
		else
			list->more++;
	}
}

/* The end of a task; a task left over at the end of the run has none and sorts first. */
static double ended_s(const struct engine_task *task)
{
	return isfinite(task->ended_s) ? task->ended_s : -INFINITY;
}

/*
 * Lists the tasks by their ends, the last one first. Visits all tasks, as a list of running tasks
 * does: a millisecond for 100,000. It begins with the highest numbers, which mostly ended last, so
 * that little is moved in the list.
 */
static void list_lately(struct list *list, const struct filter *filter)
{
	g_autofree const struct engine_task **last =
		g_new(const struct engine_task *, filter->most + 1);
	uint32_t count = 0;

	for (uint32_t i = view_tasks_count(list->session); i-- > filter->from;) {
		const struct engine_task *task = wanted_task(list->session, filter, i);
		uint32_t place = count;

		if (!task || !engine_task_over(task))
			continue;
		for (; place > 0 && ended_s(last[place - 1]) < ended_s(task); place--)
			last[place] = last[place - 1];
		last[place] = task;
		list->more += count == filter->most;
		count = MIN(count + 1, filter->most);
	}
	for (uint32_t i = 0; i < count; i++)
		list_add(list, last[i]->task->id);
}

void task_api_list(struct http_request *request, const char *const *arguments, json_t *body,
		   void *data)
{
	const struct status_api *api = data;
	struct list list = {.request = request, .session = api->session, .texts = api->texts};
	struct filter filter;
	g_autoptr(json_t) rest = NULL;

	if (!is_under_way(request, api->session) || !read_filter(request, &filter))
		return;
	list.text = g_string_new("{\"tasks\":[");
	(filter.lately ? list_lately : list_first)(&list, &filter);
	g_string_append_c(list.text, ']');
	rest = json_pack("{s:I, s:I}", "run", (json_int_t)view_run(api->session), "more",
			 list.more);
	api_set_time(rest, api->session, "now", run_session_now_s(api->session));
	api_reply_parts(request, list.text, rest);
}

const struct engine_task *task_api_find(struct http_request *request,
					const struct run_session *session, const char *number)
{
	const struct engine_task *task = NULL;
	guint64 index;

	if (!is_under_way(request, session))
		return NULL;
	if (read_number_unsigned(number, 0, G_MAXUINT32, &index))
		task = view_task(session, (uint32_t)index);
	if (!task)
		http_request_fail(request, 404, "there is no task '%.32s' in the run under way",
				  number);
	return task;
}

void task_api_get(struct http_request *request, const char *const *arguments, json_t *body,
		  void *data)
{
	const struct run_session *session = api_session(data);
	const struct engine_task *task = task_api_find(request, session, arguments[0]);
	json_t *answer;

	if (!task)
		return;
	answer = task_json(session, task);
	api_set_time(answer, session, "now", run_session_now_s(session));
	http_request_reply(request, 200, answer);
}

void task_api_decisions(struct http_request *request, const char *const *arguments, json_t *body,
			void *data)
{
	const struct run_session *session = api_session(data);
	g_autoptr(GPtrArray) actions = NULL;
	g_autoptr(GError) error = NULL;
	json_t *list;
	const int64_t zero_us = view_start_utc_us(session);
	const struct engine_task *task = task_api_find(request, session, arguments[0]);

	if (!task)
		return;
	actions = store_task_actions(view_store(session), view_run(session), task->task->id,
				     task->task->arrival_s - 1,
				     engine_task_over(task) && isfinite(task->ended_s)
					     ? task->ended_s + 1
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

		json_array_append_new(list, json_pack("{s:f, s:s?, s:o}", "time_s", row->time_s,
						      "utc", zero_us ? utc : NULL, "action",
						      action ?: json_null()));
	}
	http_request_reply(request, 200,
			   json_pack("{s:i, s:o}", "task", (int)task->task->id, "decisions", list));
}

/* Adds the hosts named in `body`. False after it refused what is no list without duplicates. */
static bool read_hosts(struct http_request *request, const struct config_cluster *cluster,
		       const json_t *body, GArray *hosts)
{
	const json_t *list = json_object_get(body, "to");

	if (json_object_size(body) > 1)
		return http_request_fail(request, 400, "give {\"to\": [...]}, and nothing else");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i)) ?: "";
		uint32_t host = 0;

		while (host < cluster->hosts_count && !g_str_equal(cluster->hosts[host].name, name))
			host++;
		if (host == cluster->hosts_count)
			return http_request_fail(
				request, 400,
				"there is no host '%.64s' in cluster '%s', where the task is", name,
				cluster->name);
		for (guint j = 0; j < hosts->len; j++)
			if (g_array_index(hosts, uint32_t, j) == host)
				return http_request_fail(request, 400,
							 "host '%.64s' is named twice", name);
		g_array_append_val(hosts, host);
	}
	return hosts->len > 0 ||
	       http_request_fail(request, 400, "to: name the hosts that its VMs are to go to");
}

/* Records the client as the origin of the next request to the engine. */
static void note_asker(struct http_request *request, struct engine *engine)
{
	g_autofree char *user = api_peer_name(request);

	engine_set_asker(engine, user);
}

/* Answers that a task cannot be `done` ("suspended"); `host`: where; NULL: left out. */
static void refuse(struct http_request *request, uint32_t task, const char *done,
		   enum engine_refusal refusal, const char *host)
{
	g_autofree char *where = host ? g_strdup_printf(" on host '%s'", host) : NULL;

	http_request_refuse(request, 409, engine_refusal_word(refusal),
			    "task %u cannot be %s: %s%s", task, done, engine_refusal_text(refusal),
			    where ?: "");
}

void task_api_migrate(struct http_request *request, const char *const *arguments, json_t *body,
		      void *data)
{
	struct run_session *session = ((struct status_api *)data)->session;
	struct engine *engine = view_engine(session);
	const struct engine_task *task = task_api_find(request, session, arguments[0]);
	const struct config_cluster *cluster;
	g_autofree uint32_t *node_hosts = NULL;
	g_autoptr(GArray) hosts = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	enum engine_refusal refusal;
	uint32_t full;

	if (!task)
		return;
	/* Checked before its hosts, whose names depend on its present cluster. */
	refusal = engine_check_migrate(engine, task->task->id);
	if (refusal) {
		refuse(request, task->task->id, "migrated", refusal, NULL);
		return;
	}
	note_asker(request, engine);
	cluster = &view_config(session)->clusters[task->cluster];
	if (!read_hosts(request, cluster, body, hosts))
		return;
	node_hosts = g_new(uint32_t, cluster->nodes);
	for (uint32_t i = 0; i < cluster->nodes; i++)
		node_hosts[i] = cluster->shared ? i : config_cluster_host(cluster, i);
	refusal = engine_request_migrate(engine, task->task->id,
					 (const uint32_t *)(void *)hosts->data, hosts->len,
					 node_hosts, &full);
	if (refusal)
		refuse(request, task->task->id, "migrated", refusal,
		       full != UINT32_MAX ? cluster->hosts[full].name : NULL);
	else
		api_answer_safely(request, session, 202, task_json(session, task));
}

void task_api_ask(struct http_request *request, const char *const *arguments, json_t *body,
		  void *data)
{
	struct run_session *session = ((struct status_api *)data)->session;
	struct engine *engine = view_engine(session);
	const bool resume = http_request_what(request) == TASK_API_RESUME;
	const struct engine_task *task = task_api_find(request, session, arguments[0]);
	enum engine_refusal refusal;

	if (!task)
		return;
	note_asker(request, engine);
	refusal = resume ? engine_request_resume(engine, task->task->id)
			 : engine_request_suspend(engine, task->task->id);
	if (refusal)
		refuse(request, task->task->id, resume ? "resumed" : "suspended", refusal, NULL);
	else
		api_answer_safely(request, session, 202, task_json_short(session, task));
}

/* Submitting. */

static const char *const order_keys[] = {"type",       "count",       "name",       "key",
					 "held",       "utility_max", "constant_s", "zero_s",
					 "deadline_s", "script",      "cores",      "nodes",
					 "time_s",     "priority",    NULL};

static bool get_number(const json_t *body, const char *key, double *ret_value, GError **error)
{
	const json_t *value = api_given(body, key);

	if (!value)
		return true;
	*ret_value = json_number_value(value);
	return json_is_number(value) || api_wrong(error, "%s: not a number", key);
}

/* Reads an integer from `least` to `most`; *ret_value stays as it is without the key. */
static bool get_integer(const json_t *body, const char *key, int32_t least, int32_t most,
			int32_t *ret_value, GError **error)
{
	double value = *ret_value;

	if (!get_number(body, key, &value, error))
		return false;
	if (!(value >= least && value <= most && value == floor(value)))
		return api_wrong(error, "%s: %.17g is not a number from %d to %d", key, value,
				 least, most);
	*ret_value = (int32_t)value;
	return true;
}

/* Sets the error that no type for scripts has so many `what`, with the types that exist. */
static bool no_type(const struct config *config, double count, const char *what, double time_s,
		    GError **error)
{
	g_autofree char *known = run_service_known_types(config, true);

	return api_wrong(error, "no type for scripts has %g %s%s for %g s; known: %s", count, what,
			 count == 1 ? "" : "s", time_s, *known ? known : "none");
}

/* Whether any cluster has so many nodes. */
static bool check_nodes(const struct config *config, uint32_t nodes, GError **error)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < config->clusters_count; i++)
		most = MAX(most, config->clusters[i].nodes);
	return nodes <= most ||
	       api_wrong(error, "nodes: no cluster has %u nodes; the largest has %u", nodes, most);
}

/* Chooses the type for scripts with exactly so many nodes. */
static bool choose_by_nodes(const struct config *config, const json_t *body, double time_s,
			    struct run_service_submit_request *order, GError **error)
{
	int32_t nodes = 0;

	if (api_given(body, "cores"))
		return api_wrong(error,
				 "nodes: they are whole, with all their cores; leave out cores, "
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
	    (api_given(body, "cores") || api_given(body, "nodes") || api_given(body, "time_s")))
		return api_wrong(error,
				 "type: it says cores or nodes and time_s already; leave them "
				 "out, or it");
	if (order->task.type)
		return true;
	if (!api_given(body, "script") || !api_given(body, "time_s"))
		return api_wrong(error, "type: missing; give the type of the task, or of a script "
					"time_s and cores or nodes");
	if (api_given(body, "nodes") && time_s > 0)
		return choose_by_nodes(config, body, time_s, order, error);
	if (!(time_s > 0))
		return api_wrong(error, "time_s: %g is not above 0", time_s);
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
		return api_wrong(error, "give {\"type\": \"...\"} at least");
	*ret_order = (struct run_service_submit_request){
		.task = {.utility_max = 1,
			 .constant_s = (double)NAN,
			 .zero_s = (double)NAN,
			 .deadline_s = (double)NAN},
	};
	if (!api_check_keys(body, order_keys, error) ||
	    !api_get_text(body, "type", &task->type, error) ||
	    !api_get_text(body, "name", &task->name, error) ||
	    !api_get_text(body, "key", &task->key, error) ||
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
	if (api_given(body, "held") && !json_is_boolean(api_given(body, "held")))
		return api_wrong(error, "held: neither true nor false");
	task->held = json_is_true(api_given(body, "held"));
	task->count = (uint32_t)count;
	task->priority = priority;
	return true;
}

static bool read_script(const json_t *body, struct task_script **ret_script, GError **error)
{
	g_autoptr(GError) reason = NULL;

	if (!api_given(body, "script"))
		return true;
	*ret_script = task_script_parse(api_given(body, "script"), &reason);
	return *ret_script || api_wrong(error, "%s", reason->message);
}

void task_api_submit(struct http_request *request, const char *const *arguments, json_t *body,
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
		done = run_service_submit(view_service(session), &order, &first, &count, &error);
	}
	if (!done) {
		api_refuse(request, error);
		return;
	}
	tasks = json_array();
	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(tasks, json_integer(first + i));
	api_answer_safely(request, session, 201, json_pack("{s:o}", "tasks", tasks));
}

/* Requests about existing tasks. */

void task_api_request(struct http_request *request, const char *const *arguments, json_t *body,
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
	if (run_service_request(view_service(session), (enum run_service_task_op)wish,
				task->task->id, user, &error)) {
		api_answer_safely(request, session, 202, task_json(session, task));
		return;
	}
	if (error->domain == ENGINE_REFUSAL_ERROR)
		g_prefix_error(&error, "task %u cannot be %s: ", task->task->id, done[wish]);
	api_refuse(request, error);
}
