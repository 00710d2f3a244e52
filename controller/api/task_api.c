/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/task_api.h"

#include <math.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/read_number.h"
#include "controller/api/task_visibility.h"
#include "controller/api/service_api.h"
#include "controller/api/status_api_private.h"
#include "controller/engine/engine.h"

/* Tasks in an answer. */
#define LIMIT_DEFAULT 1000
#define LIMIT_MAX 10000

/* The most recently ended tasks in an answer. */
#define LATELY_MAX 200

static const char *host_name(const struct config_cluster *cluster, uint32_t node)
{
	uint32_t host = cluster->shared ? node : config_cluster_host(cluster, node);

	return host < cluster->hosts_count ? cluster->hosts[host].name : "?";
}

/* The names of the hosts of nodes. */
static json_t *hosts_json(const struct config_cluster *cluster, const uint32_t *nodes,
			  uint32_t count)
{
	json_t *hosts = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(hosts, json_string(host_name(cluster, nodes[i])));
	return hosts;
}

static json_t *place_json(const struct run_session *session, const struct engine_task *task)
{
	json_t *nodes = json_array();

	for (uint32_t i = 0; i < task->nodes_count; i++)
		json_array_append_new(nodes, json_integer(task->nodes[i]));
	return json_pack("{s:s, s:o, s:o}", "cluster",
			 session->config->clusters[task->cluster].name, "nodes", nodes, "hosts",
			 hosts_json(&session->config->clusters[task->cluster], task->nodes,
				    task->nodes_count));
}

/* The submission of a task; NULL: it was not submitted by a user. */
static const struct store_submission *submission_of(const struct run_session *session,
						    const struct engine_task *task)
{
	return session->service ? run_service_submission(session->service, task->task->id) : NULL;
}

/* A task's type may be gone from the configuration. */
static const char *type_name(const struct run_session *session, const struct engine_task *task)
{
	const struct store_submission *submission = submission_of(session, task);

	if (task->task->row < session->config->types_count)
		return session->config->types[task->task->row].name;
	return submission ? submission->type : "?";
}

char *task_api_why(const struct run_session *session, uint32_t index)
{
	const struct engine_task *task = engine_task(session->engine, index);
	const char *waits = engine_waits_because(session->engine, task->task->id);
	const bool out = task->state >= ENGINE_TASK_STARTING &&
			 task->state <= ENGINE_TASK_MIGRATING && task->nodes_count > 0;

	if (waits || !out ||
	    remote_link_known(remote_fleet_link(session->fleet, task->cluster)))
		return g_strdup(waits);
	return g_strdup_printf("not known whether it is: the local scheduler of cluster '%s' does not "
			       "answer",
			       session->config->clusters[task->cluster].name);
}

/* The task's owner, and its utility. */
static json_t *owner_json(const struct run_session *session, const struct engine_task *task)
{
	const struct store_submission *submission = submission_of(session, task);
	g_autofree char *because = task_api_why(session, task->task->id);

	return json_pack("{s:s?, s:s?, s:i, s:f, s:f, s:o, s:s?, s:s?}", "name",
			 submission ? submission->name : NULL, "user",
			 submission ? submission->user : NULL, "priority",
			 (int)task->task->priority, "utility_max",
			 task->task->utility.max, "utility", task->utility, "energy_j",
			 json_number_or_null(task->energy_j), "reason", task->reason, "why",
			 because);
}

/* Whether its VMs exist and compute, or are about to. */
static bool is_executing(const struct engine_task *task)
{
	return task->state == ENGINE_TASK_STARTING || task->state == ENGINE_TASK_RUNNING ||
	       task->state == ENGINE_TASK_SUSPENDING || task->state == ENGINE_TASK_MIGRATING;
}

/* Whether it keeps its executed time without adding to it. */
static bool stands_still(const struct engine_task *task)
{
	return task->state == ENGINE_TASK_SUSPENDED || task->state == ENGINE_TASK_RESUMING;
}

/*
 * Seconds executed before since_s, or in all once the task has ended. Time of lost attempts does
 * not count.
 */
static double executed_s(const struct engine_task *task)
{
	const bool over = engine_task_over(task);

	if (over && isfinite(task->exec_s))
		return task->exec_s;
	if (isfinite(task->waits_since_s))
		return 0;
	if (over && task->suspensions == 0 && task->ended_s >= task->started_s)
		return task->ended_s - task->started_s;
	return task->executed_s;
}

/* Seconds waited before waits_since_s, or in all once the task has ended. */
static double waited_s(const struct engine_task *task)
{
	const double last_s = engine_task_over(task) ? task->ended_s - task->waits_since_s : 0;

	return task->waited_s + (last_s > 0 ? last_s : 0);
}

/*
 * The times of waiting, executing and the expected end: numbers that are constant while its state
 * is.
 */
static void set_times(json_t *object, const struct run_session *session, const struct engine_task *task)
{
	const bool over = engine_task_over(task);
	const bool ends = is_executing(task) || task->state == ENGINE_TASK_PLANNED ||
			  task->state == ENGINE_TASK_RESUMING || task->state == ENGINE_TASK_QUEUED;
	const double none = (double)NAN;

	api_set_time(object, session, "arrival", task->task->arrival_s);
	api_set_time(object, session, "waits_since", over ? none : task->waits_since_s);
	api_set_time(object, session, "started", task->started_s);
	api_set_time(object, session, "since", is_executing(task) ? task->since_s : none);
	api_set_time(object, session, "expected_end", ends ? task->expected_end_s : none);
	api_set_time(object, session, "ended", over ? task->ended_s : none);
	json_object_set_new(object, "waited_s", json_number_or_null(waited_s(task)));
	json_object_set_new(object, "executed_s", json_number_or_null(executed_s(task)));
	json_object_set_new(object, "left_s",
			    json_number_or_null(stands_still(task) ? fmax(0, task->etc_s - task->executed_s)
								   : none));
}

json_t *task_api_short_json(const struct run_session *session, uint32_t index)
{
	const struct engine_task *task = engine_task(session->engine, index);
	json_t *object = json_pack("{s:i, s:s, s:s, s:i, s:i, s:b, s:b, s:n, s:n, s:n}", "task",
				   (int)index, "type", type_name(session, task), "state",
				   engine_task_state_name(task->state), "attempts",
				   (int)task->attempts, "suspensions", (int)task->suspensions, "held",
				   task->held, "preemptible", task->task->preemptible, "cluster",
				   "nodes", "hosts");
	g_autoptr(json_t) owner = owner_json(session, task);
	g_autoptr(json_t) place = task->nodes_count ? place_json(session, task) : NULL;

	set_times(object, session, task);
	json_object_update(object, owner);
	if (place)
		json_object_update(object, place);
	return object;
}

/* The hosts of nodes in the store's form, "0,1". */
static json_t *stored_hosts_json(const struct config_cluster *cluster, const char *nodes)
{
	g_auto(GStrv) words = g_strsplit(nodes, ",", -1);
	json_t *hosts = json_array();

	for (char **word = words; *word; word++) {
		uint64_t node;

		if (read_number_unsigned(*word, 0, cluster->nodes - 1, &node))
			json_array_append_new(hosts, json_string(host_name(cluster, (uint32_t)node)));
	}
	return hosts;
}

/* The cluster with a name; NULL: the configuration has none. */
static const struct config_cluster *cluster_of(const struct run_session *session, const char *name)
{
	for (uint32_t i = 0; i < session->config->clusters_count; i++)
		if (g_strcmp0(session->config->clusters[i].name, name) == 0)
			return &session->config->clusters[i];
	return NULL;
}

/* An attempt of a task: its nodes and the history of its VMs. */
struct attempt {
	const struct run_session *session;
	uint32_t number;
	const char *cluster;
	char *nodes; /* its present or last nodes: "0,1" */
	double started_s;
	double lost_s; /* NAN: it was not lost */
	const char *reason;
	GPtrArray *suspensions; /* NULL: they cannot be read; also migrations */
	GPtrArray *migrations;
};

static void attempt_clear(struct attempt *attempt)
{
	g_free(attempt->nodes);
	g_clear_pointer(&attempt->suspensions, g_ptr_array_unref);
	g_clear_pointer(&attempt->migrations, g_ptr_array_unref);
}

static void read_steps(struct attempt *attempt, uint32_t task)
{
	const struct run_session *session = attempt->session;

	attempt->suspensions = store_task_suspensions(session->store, session->run, task,
						      attempt->number, NULL);
	attempt->migrations = store_task_migrations(session->store, session->run, task,
						    attempt->number, NULL);
}

/* The hosts of its nodes; the hosts of a cluster that is gone are unknown. */
static json_t *attempt_hosts_json(const struct attempt *attempt, const char *nodes)
{
	const struct config_cluster *cluster = cluster_of(attempt->session, attempt->cluster);

	return cluster ? stored_hosts_json(cluster, nodes) : json_array();
}

/* The nodes of an attempt's VMs over time. */
struct history {
	const struct attempt *attempt;
	json_t *places; /* in order of since_s */
	char *first;    /* nodes before the first change; NULL: no change */
	double first_s; /* time of the request for the first change */
};

/* `hosts` is taken over. Returns what was added, borrowed. */
static json_t *add_place(struct history *history, double since_s, const char *how, json_t *hosts)
{
	const struct attempt *attempt = history->attempt;
	json_t *place = json_pack("{s:i, s:s, s:s?, s:o}", "attempt", (int)attempt->number, "how", how,
				  "cluster", attempt->cluster, "hosts", hosts);
	size_t at = json_array_size(history->places);

	api_set_time(place, attempt->session, "since", since_s);
	while (at > 0 && json_number_value(json_object_get(
				 json_array_get(history->places, at - 1), "since_s")) > since_s)
		at--;
	json_array_insert_new(history->places, at, place);
	return place;
}

static void add_nodes(struct history *history, double since_s, const char *how, const char *nodes)
{
	add_place(history, since_s, how, attempt_hosts_json(history->attempt, nodes));
}

static void add_change(struct history *history, double requested_s, const char *nodes)
{
	if (history->first && !(requested_s < history->first_s))
		return;
	g_free(history->first);
	history->first = g_strdup(nodes);
	history->first_s = requested_s;
}

/* A lost attempt ends with an entry without hosts: how "lost", and the reason. */
static void add_lost(struct history *history)
{
	const struct attempt *attempt = history->attempt;

	if (isfinite(attempt->lost_s))
		json_object_set_new(add_place(history, attempt->lost_s, "lost", json_array()), "reason",
				    json_string_or_null(attempt->reason));
}

static json_t *places_json(const struct attempt *attempt)
{
	struct history history = {.attempt = attempt, .places = json_array()};

	for (guint i = 0; attempt->suspensions && i < attempt->suspensions->len; i++) {
		const struct store_suspension *one = g_ptr_array_index(attempt->suspensions, i);

		add_change(&history, one->requested_s, one->nodes);
		if (one->to_nodes && isfinite(one->since_s))
			add_nodes(&history, one->since_s, "resumed", one->to_nodes);
	}
	for (guint i = 0; attempt->migrations && i < attempt->migrations->len; i++) {
		const struct store_migration *one = g_ptr_array_index(attempt->migrations, i);

		add_change(&history, one->requested_s, one->nodes);
		if (isfinite(one->ended_s))
			add_nodes(&history, one->ended_s, one->reason ? "stayed" : "migrated",
				  one->to_nodes);
	}
	if (isfinite(attempt->started_s))
		add_nodes(&history, attempt->started_s, "started", history.first ?: attempt->nodes);
	add_lost(&history);
	g_free(history.first);
	return history.places;
}

static void add_migrations(json_t *list, const struct attempt *attempt)
{
	for (guint i = 0; attempt->migrations && i < attempt->migrations->len; i++) {
		const struct store_migration *one = g_ptr_array_index(attempt->migrations, i);
		json_t *object = json_pack("{s:i, s:i, s:b, s:o, s:o, s:s?}", "attempt",
					   (int)attempt->number, "n", (int)one->n, "by_person",
					   one->by_person, "from",
					   attempt_hosts_json(attempt, one->nodes), "to",
					   attempt_hosts_json(attempt, one->to_nodes), "reason",
					   one->reason);

		api_set_time(object, attempt->session, "requested", one->requested_s);
		api_set_time(object, attempt->session, "ended", one->ended_s);
		json_array_append_new(list, object);
	}
}

/* The last delivered share; null: unknown. */
static json_t *share_json(const struct run_session *session, const struct engine_task *task)
{
	g_autofree struct store_delivery *last = store_last_delivery(
		session->store, session->run, task->task->id, task->attempts, NULL);

	if (!last)
		return json_null();
	return json_pack("{s:f, s:o, s:o, s:f}", "share", last->share, "asked_cores",
			 json_number_or_null(last->asked_cores), "given_cores",
			 json_number_or_null(last->given_cores), "time_s", last->time_s);
}

/* Adds the spans without nodes; to_s null: it is suspended now, or the attempt ended suspended. */
static void add_suspended(json_t *list, const struct attempt *attempt)
{
	for (guint i = 0; attempt->suspensions && i < attempt->suspensions->len; i++) {
		const struct store_suspension *one = g_ptr_array_index(attempt->suspensions, i);
		json_t *object;

		if (!isfinite(one->suspended_s))
			continue;
		object = json_pack("{s:i, s:i, s:b}", "attempt", (int)attempt->number, "n", (int)one->n,
				   "by_person", one->by_person);
		api_set_time(object, attempt->session, "from", one->suspended_s);
		api_set_time(object, attempt->session, "to",
			     isfinite(one->since_s) ? one->since_s : attempt->lost_s);
		json_array_append_new(list, object);
	}
}

/* The history of a task's VMs in all of its attempts. */
struct past {
	json_t *places, *suspended, *migrated;
};

static void add_attempt(struct past *past, struct attempt *attempt, uint32_t task)
{
	g_autoptr(json_t) places = NULL;

	read_steps(attempt, task);
	places = places_json(attempt);
	json_array_extend(past->places, places);
	add_suspended(past->suspended, attempt);
	add_migrations(past->migrated, attempt);
	attempt_clear(attempt);
}

static void add_lost_attempts(struct past *past, const struct run_session *session, uint32_t task)
{
	g_autoptr(GPtrArray) rows = store_task_lost(session->store, session->run, task, NULL);

	for (guint i = 0; rows && i < rows->len; i++) {
		const struct store_lost *row = g_ptr_array_index(rows, i);
		struct attempt attempt = {
			.session = session,
			.number = row->attempt,
			.cluster = row->cluster,
			.nodes = g_strdup(row->nodes),
			.started_s = row->started_s,
			.lost_s = row->ended_s,
			.reason = row->reason,
		};

		add_attempt(past, &attempt, task);
	}
}

/* Adds the present or last attempt, unless it is among the lost ones. */
static void add_last_attempt(struct past *past, const struct run_session *session,
			     const struct engine_task *task)
{
	GString *nodes = g_string_new(NULL);
	struct attempt attempt = {
		.session = session,
		.number = task->attempts,
		.cluster = session->config->clusters[task->cluster].name,
		.started_s = task->started_s,
		.lost_s = (double)NAN,
	};

	for (uint32_t i = 0; i < task->nodes_count; i++)
		g_string_append_printf(nodes, "%s%u", i ? "," : "", task->nodes[i]);
	attempt.nodes = g_string_free(nodes, FALSE);
	add_attempt(past, &attempt, task->task->id);
}

json_t *task_api_json(const struct run_session *session, uint32_t index)
{
	const struct engine_task *task = engine_task(session->engine, index);
	json_t *object = task_api_short_json(session, index);
	struct past past;

	if (!task->nodes_count)
		return object;
	past = (struct past){json_array(), json_array(), json_array()};
	add_lost_attempts(&past, session, index);
	if (!isfinite(task->waits_since_s))
		add_last_attempt(&past, session, task);
	json_object_set_new(object, "places", past.places);
	json_object_set_new(object, "suspended", past.suspended);
	json_object_set_new(object, "migrated", past.migrated);
	if (session->config->clusters[task->cluster].shared) {
		json_object_set_new(object, "yield",
				    task->yield > 0 ? json_real(task->yield) : json_null());
		json_object_set_new(object, "virtual_s",
				    json_real(engine_virtual_time_s(session->engine, index)));
		json_object_set_new(object, "share", share_json(session, task));
	}
	return object;
}

static bool is_under_way(struct http_request *request, const struct run_session *session)
{
	if (!session->engine)
		http_request_fail(request, 503, "no run is under way; `virtbed top` shows what the controller does");
	return session->engine != NULL;
}

/* The tasks that a list contains. */
struct filter {
	uint32_t states; /* a bit for each */
	const char *user; /* NULL: any user */
	uint32_t from;    /* the first task */
	uint32_t most;
	bool lately;      /* the `most` most recently ended tasks, the last one first */
};

/* The names of all states, separated by commas; the caller frees. */
static char *known_states(void)
{
	GString *known = g_string_new(NULL);
	const char *name;

	for (int state = ENGINE_TASK_WAITING; (name = engine_task_state_name((enum engine_task_state)state)); state++)
		g_string_append_printf(known, "%s%s", known->len ? ", " : "", name);
	return g_string_free(known, FALSE);
}

static bool read_states(struct http_request *request, struct filter *filter)
{
	const char *text = http_request_query(request, "state");
	g_auto(GStrv) names = text ? g_strsplit(text, ",", -1) : NULL;

	if (text && !*text) { /* an empty text is split into an empty list */
		http_request_fail(request, 400, "query: state: it is empty; leave it out for tasks of any");
		return false;
	}
	filter->states = names ? 0 : ~UINT32_C(0);
	for (char **name = names; name && *name; name++) {
		const int state = engine_task_state_parse(*name);

		if (state < ENGINE_TASK_WAITING) {
			g_autofree char *known = known_states();

			http_request_fail(request, 400, "state: '%.32s' is not one of %s", *name, known);
			return false;
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
		if (http_request_query(request, others[i])) {
			http_request_fail(request, 400, "query: ended: it says how many; leave out %s, or it", others[i]);
			return false;
		}
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
	if (filter->user && !*filter->user) {
		http_request_fail(request, 400, "query: user: it is empty; leave it out for tasks of all");
		return false;
	}
	if (!read_states(request, filter) || (filter->lately && !check_lately(request)) ||
	    !http_request_query_integer(request, "after", 0, UINT32_MAX - 1, 0, &from) ||
	    !http_request_query_integer(request, "ended", 1, LATELY_MAX, 1, &ended) ||
	    !http_request_query_integer(request, "limit", 1, LIMIT_MAX, LIMIT_DEFAULT, &limit))
		return false;
	filter->from = (uint32_t)from + after;
	filter->most = (uint32_t)(filter->lately ? ended : limit);
	return true;
}

static bool is_wanted(const struct run_session *session, const struct filter *filter,
		      uint32_t index)
{
	const struct store_submission *submission;

	if (!(filter->states >> engine_task(session->engine, index)->state & 1))
		return false;
	if (!filter->user)
		return true;
	submission = session->service ? run_service_submission(session->service, index) : NULL;
	return submission && g_strcmp0(submission->user, filter->user) == 0;
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
	for (uint32_t i = filter->from; i < list->session->tasks_count; i++) {
		if (!is_wanted(list->session, filter, i))
			continue;
		if (list->count < filter->most)
			list_add(list, i);
		else
			list->more++;
	}
}

/* The end of a task; a task left over at the end of the run has none and sorts first. */
static double ended_s(const struct run_session *session, uint32_t index)
{
	const double time_s = engine_task(session->engine, index)->ended_s;

	return isfinite(time_s) ? time_s : -INFINITY;
}

/*
 * Lists the tasks by their ends, the last one first. Visits all tasks, as a list of running tasks
 * does: a millisecond for 100,000. It begins with the highest numbers, which mostly ended last, so
 * that little is moved in the list.
 */
static void list_lately(struct list *list, const struct filter *filter)
{
	const struct run_session *session = list->session;
	g_autofree uint32_t *last = g_new(uint32_t, filter->most + 1);
	uint32_t count = 0;

	for (uint32_t i = session->tasks_count; i-- > filter->from;) {
		uint32_t place = count;

		if (!engine_task_over(engine_task(session->engine, i)) || !is_wanted(session, filter, i))
			continue;
		for (; place > 0 && ended_s(session, last[place - 1]) < ended_s(session, i); place--)
			last[place] = last[place - 1];
		last[place] = i;
		list->more += count == filter->most;
		count = MIN(count + 1, filter->most);
	}
	for (uint32_t i = 0; i < count; i++)
		list_add(list, last[i]);
}

void task_api_list(struct http_request *request, const struct run_session *session,
		   struct task_texts *texts)
{
	struct list list = {.request = request, .session = session, .texts = texts};
	struct filter filter;
	g_autoptr(json_t) rest = NULL;
	g_autofree char *rest_text = NULL;
	g_autoptr(GBytes) answer = NULL;

	if (!is_under_way(request, session) || !read_filter(request, &filter))
		return;
	list.text = g_string_new("{\"tasks\":[");
	(filter.lately ? list_lately : list_first)(&list, &filter);
	rest = json_pack("{s:I, s:I}", "run", (json_int_t)session->run, "more", list.more);
	api_set_time(rest, session, "now", clock_elapsed_s(session->t0_ns, clock_now_ns()));
	rest_text = json_text(rest);
	g_string_append_printf(list.text, "],%s", rest_text + 1);
	answer = g_string_free_to_bytes(list.text);
	http_request_reply_bytes(request, 200, "application/json", answer);
}

bool task_api_find(struct http_request *request, const struct run_session *session,
		   const char *number, uint32_t *ret_index)
{
	guint64 index;

	if (!is_under_way(request, session))
		return false;
	if (read_number_unsigned(number, 0, G_MAXUINT32, &index) &&
	    index < session->tasks_count &&
	    engine_task(session->engine, (uint32_t)index)->state != ENGINE_TASK_COMING) {
		*ret_index = (uint32_t)index;
		return true;
	}
	http_request_fail(request, 404, "there is no task '%.32s' in the run under way", number);
	return false;
}

void task_api_get(struct http_request *request, const struct run_session *session,
		  const char *number)
{
	uint32_t index;
	json_t *answer;

	if (!task_api_find(request, session, number, &index))
		return;
	answer = task_api_json(session, index);
	api_set_time(answer, session, "now", api_now_s(session));
	http_request_reply(request, 200, answer);
}

/* The hosts named in `body` without duplicates, or NULL after the request was answered. */
static GArray *read_hosts(struct http_request *request, const struct config_cluster *cluster,
			  const json_t *body)
{
	g_autoptr(GArray) hosts = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	const json_t *list = json_object_get(body, "to");

	if (json_object_size(body) > 1) {
		http_request_fail(request, 400, "give {\"to\": [...]}, and nothing else");
		return NULL;
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i)) ?: "";
		uint32_t host = 0;

		while (host < cluster->hosts_count &&
		       !g_str_equal(cluster->hosts[host].name, name))
			host++;
		if (host == cluster->hosts_count) {
			http_request_fail(request, 400,
					  "there is no host '%.64s' in cluster '%s', where the task is",
					  name, cluster->name);
			return NULL;
		}
		for (guint j = 0; j < hosts->len; j++)
			if (g_array_index(hosts, uint32_t, j) == host) {
				http_request_fail(request, 400, "host '%.64s' is named twice", name);
				return NULL;
			}
		g_array_append_val(hosts, host);
	}
	if (hosts->len > 0)
		return g_steal_pointer(&hosts);
	http_request_fail(request, 400, "to: name the hosts that its VMs are to go to");
	return NULL;
}

/* Records the client as the origin of the next request to the engine. */
static void note_asker(struct http_request *request, const struct run_session *session)
{
	struct service_peer peer = service_peer_of(request);

	engine_set_asker(session->engine, peer.user);
	service_peer_clear(&peer);
}

void task_api_migrate(struct http_request *request, const struct run_session *session,
		      const char *number, const json_t *body)
{
	const struct config_cluster *cluster;
	g_autofree uint32_t *node_hosts = NULL;
	g_autoptr(GArray) hosts = NULL;
	const char *why_not;
	uint32_t index;
	uint32_t full;

	if (!task_api_find(request, session, number, &index))
		return;
	/* Checked before its hosts, whose names depend on its present cluster. */
	why_not = engine_why_not_migrate(session->engine, index);
	if (why_not) {
		http_request_fail(request, 409, "task %u cannot be migrated: %s", index, why_not);
		return;
	}
	note_asker(request, session);
	cluster = &session->config->clusters[engine_task(session->engine, index)->cluster];
	hosts = read_hosts(request, cluster, body);
	if (!hosts)
		return;
	node_hosts = g_new(uint32_t, cluster->nodes);
	for (uint32_t i = 0; i < cluster->nodes; i++)
		node_hosts[i] = cluster->shared ? i : config_cluster_host(cluster, i);
	why_not = engine_request_migrate(session->engine, index,
					 (const uint32_t *)(void *)hosts->data, hosts->len,
					 node_hosts, &full);
	if (why_not && full != UINT32_MAX)
		http_request_fail(request, 409, "task %u cannot be migrated: %s on host '%s'",
				  index, why_not, cluster->hosts[full].name);
	else if (why_not)
		http_request_fail(request, 409, "task %u cannot be migrated: %s", index, why_not);
	else
		service_api_answer(request, session, 202, task_api_json(session, index));
}

void task_api_ask(struct http_request *request, const struct run_session *session,
		  const char *number, bool resume)
{
	const char *why_not;
	uint32_t index;

	if (!task_api_find(request, session, number, &index))
		return;
	note_asker(request, session);
	why_not = resume ? engine_request_resume(session->engine, index)
			 : engine_request_suspend(session->engine, index);
	if (why_not)
		http_request_fail(request, 409, "task %u cannot be %s: %s", index,
				  resume ? "resumed" : "suspended", why_not);
	else
		service_api_answer(request, session, 202, task_api_short_json(session, index));
}
