/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/task_api.h"

#include <math.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/json.h"
#include "controller/api/owner.h"
#include "controller/api/service_api.h"
#include "controller/engine/engine.h"

/* Tasks in one answer. */
#define LIMIT_DEFAULT 1000
#define LIMIT_MAX 10000

/* Tasks that ended last in one answer. */
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

/* What was submitted as this task; NULL: nobody submitted it. */
static const struct store_submission *submission_of(const struct run_session *session,
						    const struct engine_task *task)
{
	return session->service ? run_service_submission(session->service, task->task->id) : NULL;
}

/* Tasks outlive their types in the configuration. */
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

/* Whose it is, and what it is worth to them. */
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

json_t *task_api_short_json(const struct run_session *session, uint32_t index)
{
	const struct engine_task *task = engine_task(session->engine, index);
	const bool ended = engine_task_over(task);
	json_t *object = json_pack(
		"{s:i, s:s, s:s, s:i, s:i, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:n, s:n, s:n}",
		"task", (int)index, "type", type_name(session, task), "state",
		engine_task_state_name(task->state), "attempts", (int)task->attempts,
		"suspensions", (int)task->suspensions, "held", task->held, "preemptible",
		task->task->preemptible, "arrival_s", json_number_or_null(task->task->arrival_s),
		"started_s", json_number_or_null(task->started_s), "executed_s",
		json_number_or_null(ended && isfinite(task->exec_s) ? task->exec_s : task->executed_s),
		"expected_end_s",
		ended ? json_null() : json_number_or_null(task->expected_end_s), "ended_s",
		json_number_or_null(task->ended_s), "cluster", "nodes", "hosts");
	g_autoptr(json_t) owner = owner_json(session, task);
	g_autoptr(json_t) place = task->nodes_count ? place_json(session, task) : NULL;

	json_object_update(object, owner);
	if (place)
		json_object_update(object, place);
	return object;
}

/* The hosts of nodes as the store writes them: "0,1". */
static json_t *stored_hosts_json(const struct config_cluster *cluster, const char *nodes)
{
	g_auto(GStrv) words = g_strsplit(nodes, ",", -1);
	json_t *hosts = json_array();

	for (char **word = words; *word; word++)
		json_array_append_new(
			hosts, json_string(host_name(cluster, (uint32_t)strtoul(*word, NULL, 10))));
	return hosts;
}

/* Where the VMs of the present attempt have been, by time. */
struct history {
	const struct config_cluster *cluster;
	json_t *places; /* in order of since_s */
	char *first;    /* nodes before the first change; NULL: there was none */
	double first_s; /* when that was asked for */
};

static void add_place(struct history *history, double since_s, const char *how, const char *nodes)
{
	size_t at = json_array_size(history->places);

	while (at > 0 && json_number_value(json_object_get(
				 json_array_get(history->places, at - 1), "since_s")) > since_s)
		at--;
	json_array_insert_new(history->places, at,
			      json_pack("{s:f, s:s, s:o}", "since_s", since_s, "how", how, "hosts",
					stored_hosts_json(history->cluster, nodes)));
}

static void add_change(struct history *history, double requested_s, const char *nodes)
{
	if (history->first && !(requested_s < history->first_s))
		return;
	g_free(history->first);
	history->first = g_strdup(nodes);
	history->first_s = requested_s;
}

static json_t *places_json(const struct run_session *session, const struct engine_task *task,
			   GPtrArray *suspensions, GPtrArray *migrations)
{
	struct history history = {.cluster = &session->config->clusters[task->cluster],
				  .places = json_array()};
	g_autoptr(GString) now = g_string_new(NULL);

	for (guint i = 0; suspensions && i < suspensions->len; i++) {
		const struct store_suspension *one = g_ptr_array_index(suspensions, i);

		add_change(&history, one->requested_s, one->nodes);
		if (one->to_nodes && isfinite(one->since_s))
			add_place(&history, one->since_s, "resumed", one->to_nodes);
	}
	for (guint i = 0; migrations && i < migrations->len; i++) {
		const struct store_migration *one = g_ptr_array_index(migrations, i);

		add_change(&history, one->requested_s, one->nodes);
		if (isfinite(one->ended_s))
			add_place(&history, one->ended_s, one->reason ? "stayed" : "migrated",
				  one->to_nodes);
	}
	for (uint32_t i = 0; i < task->nodes_count; i++)
		g_string_append_printf(now, "%s%u", i ? "," : "", task->nodes[i]);
	if (isfinite(task->started_s))
		add_place(&history, task->started_s, "started", history.first ?: now->str);
	g_free(history.first);
	return history.places;
}

static json_t *migrations_json(const struct config_cluster *cluster, GPtrArray *migrations)
{
	json_t *list = json_array();

	for (guint i = 0; migrations && i < migrations->len; i++) {
		const struct store_migration *one = g_ptr_array_index(migrations, i);

		json_array_append_new(
			list,
			json_pack("{s:i, s:b, s:o, s:o, s:o, s:o, s:s?}", "n", (int)one->n,
				  "by_person", one->by_person, "requested_s",
				  json_number_or_null(one->requested_s), "ended_s",
				  json_number_or_null(one->ended_s), "from",
				  stored_hosts_json(cluster, one->nodes), "to",
				  stored_hosts_json(cluster, one->to_nodes), "reason", one->reason));
	}
	return list;
}

/* What its share came to last; null: not known. */
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

/* When it was off its nodes in the present attempt; to_s null: it still is. */
static json_t *suspended_json(GPtrArray *suspensions)
{
	json_t *list = json_array();

	for (guint i = 0; suspensions && i < suspensions->len; i++) {
		const struct store_suspension *one = g_ptr_array_index(suspensions, i);

		if (isfinite(one->suspended_s))
			json_array_append_new(list, json_pack("{s:i, s:f, s:o, s:b}", "n",
							      (int)one->n, "from_s",
							      one->suspended_s, "to_s",
							      json_number_or_null(one->since_s), "by_person",
							      one->by_person));
	}
	return list;
}

json_t *task_api_json(const struct run_session *session, uint32_t index)
{
	const struct engine_task *task = engine_task(session->engine, index);
	json_t *object = task_api_short_json(session, index);
	g_autoptr(GPtrArray) suspensions = NULL;
	g_autoptr(GPtrArray) migrations = NULL;

	if (!task->nodes_count)
		return object;
	suspensions = store_task_suspensions(session->store, session->run, task->task->id,
					     task->attempts, NULL);
	migrations = store_task_migrations(session->store, session->run, task->task->id,
					   task->attempts, NULL);
	json_object_set_new(object, "migrated",
			    migrations_json(&session->config->clusters[task->cluster], migrations));
	json_object_set_new(object, "places", places_json(session, task, suspensions, migrations));
	json_object_set_new(object, "suspended", suspended_json(suspensions));
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

/* Which tasks a list is to have. */
struct filter {
	uint32_t states; /* a bit for each */
	const char *user; /* NULL: anybody's */
	uint32_t from;    /* the first task */
	uint32_t most;
	bool lately;      /* `most` of those that have ended, the last one first */
};

/* All that a query can name, separated by commas; the caller frees. */
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

	filter->states = names ? 0 : ~UINT32_C(0);
	for (char **name = names; name && *name; name++) {
		const int state = engine_task_state_parse(*name);

		if (state < 0) {
			g_autofree char *known = known_states();

			http_request_fail(request, 400, "state: '%.32s' is not one of %s", *name, known);
			return false;
		}
		filter->states |= UINT32_C(1) << state;
	}
	filter->states &= ~(UINT32_C(1) << ENGINE_TASK_COMING);
	return true;
}

/* A number of the query; `otherwise` where it is not there. */
static bool read_number(struct http_request *request, const char *key, uint32_t least,
			uint32_t most, uint32_t otherwise, uint32_t *ret_value)
{
	const char *text = http_request_query(request, key);
	guint64 value = otherwise;

	if (text && !g_ascii_string_to_unsigned(text, 10, least, most, &value, NULL)) {
		http_request_fail(request, 400, "%s: '%.32s' is not a number from %u to %u", key,
				  text, least, most);
		return false;
	}
	*ret_value = (uint32_t)value;
	return true;
}

static bool read_filter(struct http_request *request, struct filter *filter)
{
	const bool after = http_request_query(request, "after") != NULL;

	filter->user = http_request_query(request, "user");
	filter->lately = http_request_query(request, "ended") != NULL;
	if (!read_states(request, filter) ||
	    !read_number(request, "after", 0, UINT32_MAX - 1, 0, &filter->from) ||
	    !(filter->lately ? read_number(request, "ended", 1, LATELY_MAX, 1, &filter->most)
			     : read_number(request, "limit", 1, LIMIT_MAX, LIMIT_DEFAULT,
					   &filter->most)))
		return false;
	filter->from += after;
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

/* A list in the making. */
struct list {
	struct http_request *request;
	const struct run_session *session;
	struct task_texts *texts;
	GString *text;
	uint32_t count;
	json_int_t more;
};

/* A task as who asks may see it. */
static void add(struct list *list, uint32_t index)
{
	const bool hidden = !owner_tells(list->request, list->session, index);

	if (list->count++ > 0)
		g_string_append_c(list->text, ',');
	g_string_append(list->text, task_texts_get(list->texts, index, hidden));
}

/* By number. */
static void list_first(struct list *list, const struct filter *filter)
{
	for (uint32_t i = filter->from; i < list->session->tasks_count; i++) {
		if (!is_wanted(list->session, filter, i))
			continue;
		if (list->count < filter->most)
			add(list, i);
		else
			list->more++;
	}
}

/* One that was left when the run ended has no time of its own. */
static double ended_s(const struct run_session *session, uint32_t index)
{
	const double time_s = engine_task(session->engine, index)->ended_s;

	return isfinite(time_s) ? time_s : -INFINITY;
}

/*
 * By when they ended. Looks at all tasks, as a list of those that run does: a millisecond of 100,000. The highest
 * numbers come first, which mostly are those that ended last, so that little is moved in the list.
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
		add(list, last[i]);
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
	rest = json_pack("{s:I, s:I, s:f}", "run", (json_int_t)session->run, "more", list.more,
			 "now_s", clock_elapsed_s(session->t0_ns, clock_now_ns()));
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
	if (g_ascii_string_to_unsigned(number, 10, 0, G_MAXUINT32, &index, NULL) &&
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

	if (task_api_find(request, session, number, &index))
		http_request_reply(request, 200, task_api_json(session, index));
}

/* The hosts that `body` names, each once, or NULL after the request was answered. */
static GArray *read_hosts(struct http_request *request, const struct config_cluster *cluster,
			  const json_t *body)
{
	g_autoptr(GArray) hosts = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	const json_t *list = json_object_get(body, "to");

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

/* What is asked of the engine next is on record as wanted by who sent this. */
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
	/* Before its hosts, which are told apart by the cluster that it has then. */
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
