/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/task_json.h"

#include <math.h>

#include "common/json.h"
#include "common/read_number.h"
#include "controller/api/status_api_private.h"
#include "controller/service/run_service.h"

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
	const struct config_cluster *cluster = &view_config(session)->clusters[task->cluster];

	return json_pack("{s:s, s:o, s:o}", "cluster", cluster->name, "nodes",
			 json_numbers(task->nodes, task->nodes_count), "hosts",
			 hosts_json(cluster, task->nodes, task->nodes_count));
}

/* A task's type may be gone from the configuration. */
static const char *type_name(const struct run_session *session, const struct engine_task *task)
{
	const struct store_submission *submission = run_service_submission(session, task->task->id);
	const struct config *config = view_config(session);

	if (task->task->row < config->types_count)
		return config->types[task->task->row].name;
	return submission ? submission->type : "?";
}

char *task_json_why(const struct run_session *session, const struct engine_task *task)
{
	const char *waits = view_waits_because(session, task);
	const bool out =
		engine_task_state_in(task->state, ENGINE_TASK_UNDER_WAY) && task->nodes_count > 0;

	if (waits || !out || remote_link_known(view_link(session, task->cluster)))
		return g_strdup(waits);
	return g_strdup_printf(
		"not known whether it is: the local scheduler of cluster '%s' does not "
		"answer",
		view_config(session)->clusters[task->cluster].name);
}

/* The name of a kind; NULL: the energy is not known. */
static const char *energy_kind(double energy_j, enum engine_energy_kind kind)
{
	return isfinite(energy_j) ? engine_energy_names[kind] : NULL;
}

/*
 * Sets what a task that is under way has used so far. A list of tasks does not say it: its texts
 * would be made again with each report of a meter.
 */
static void set_energy(json_t *object, const struct run_session *session,
		       const struct engine_task *task)
{
	double energy_j;

	if (!run_service_task_energy(session, task, &energy_j))
		return;
	json_object_set_new(object, "energy_j", json_real(energy_j));
	json_object_set_new(object, "energy_kind",
			    json_string(energy_kind(energy_j, ENGINE_ENERGY_PROVISIONAL)));
}

/* The task's owner, and its utility. */
static json_t *owner_json(const struct run_session *session, const struct engine_task *task)
{
	const struct store_submission *submission = run_service_submission(session, task->task->id);
	g_autofree char *because = task_json_why(session, task);
	const double energy_j = engine_task_over(task) ? task->energy_j : (double)NAN;

	return json_pack("{s:s?, s:s?, s:i, s:f, s:f, s:o, s:s?, s:s?, s:s?}", "name",
			 submission ? submission->name : NULL, "user",
			 submission ? submission->user : NULL, "priority",
			 (int)task->task->priority, "utility_max", task->task->utility.max,
			 "utility", task->utility, "energy_j", json_number_or_null(energy_j),
			 "energy_kind", energy_kind(energy_j, task->energy_kind), "reason",
			 task->reason, "why", because);
}

/* Whether its VMs exist and compute, or are about to. */
static bool is_executing(const struct engine_task *task)
{
	return engine_task_state_in(task->state, ENGINE_TASK_ANY_STARTING |
							 ENGINE_TASK_SET(ENGINE_TASK_RUNNING) |
							 ENGINE_TASK_SET(ENGINE_TASK_MIGRATING) |
							 ENGINE_TASK_ANY_SUSPENDING);
}

/* Whether it keeps its executed time without adding to it. */
static bool stands_still(const struct engine_task *task)
{
	return engine_task_state_in(task->state, ENGINE_TASK_ANY_SUSPENDED |
							 ENGINE_TASK_SET(ENGINE_TASK_RESUMING));
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
static void set_times(json_t *object, const struct run_session *session,
		      const struct engine_task *task)
{
	const bool over = engine_task_over(task);
	const bool ends = is_executing(task) || task->state == ENGINE_TASK_PLANNED ||
			  task->state == ENGINE_TASK_CLAIMED ||
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
			    json_number_or_null(stands_still(task)
							? fmax(0, task->etc_s - task->executed_s)
							: none));
}

json_t *task_json_short(const struct run_session *session, const struct engine_task *task)
{
	json_t *object = json_pack("{s:i, s:s, s:s, s:i, s:i, s:b, s:b, s:n, s:n, s:n}", "task",
				   (int)task->task->id, "type", type_name(session, task), "state",
				   engine_task_state_name(task->state), "attempts",
				   (int)task->attempts, "suspensions", (int)task->suspensions,
				   "held", view_is_held(session, task), "preemptible",
				   task->task->preemptible, "cluster", "nodes", "hosts");
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
			json_array_append_new(hosts,
					      json_string(host_name(cluster, (uint32_t)node)));
	}
	return hosts;
}

/* An attempt of a task, as it is recorded when it is lost, and the history of its VMs. */
struct attempt {
	const struct run_session *session;
	const struct store_task *record; /* ended_s NAN: it was not lost */
	GPtrArray *suspensions;          /* NULL: they cannot be read; also migrations */
	GPtrArray *migrations;
	json_t *places;          /* where its VMs were, in order of since_s */
	const char *first_nodes; /* before the first change */
	double first_s;          /* time of the request for that change; INFINITY: none */
};

/* The hosts of its nodes; the hosts of a cluster that is gone are unknown. */
static json_t *attempt_hosts_json(const struct attempt *attempt, const char *nodes)
{
	const struct config_cluster *cluster =
		config_cluster_find(view_config(attempt->session), attempt->record->cluster);

	return cluster ? stored_hosts_json(cluster, nodes) : json_array();
}

/* `hosts` is taken over. Returns what was added, borrowed. */
static json_t *add_place(struct attempt *attempt, double since_s, const char *how, json_t *hosts)
{
	json_t *place =
		json_pack("{s:i, s:s, s:s?, s:o}", "attempt", (int)attempt->record->attempts, "how",
			  how, "cluster", attempt->record->cluster, "hosts", hosts);
	size_t at = json_array_size(attempt->places);

	api_set_time(place, attempt->session, "since", since_s);
	while (at > 0 && json_number_value(json_object_get(json_array_get(attempt->places, at - 1),
							   "since_s")) > since_s)
		at--;
	json_array_insert_new(attempt->places, at, place);
	return place;
}

static void add_nodes(struct attempt *attempt, double since_s, const char *how, const char *nodes)
{
	if (isfinite(since_s))
		add_place(attempt, since_s, how, attempt_hosts_json(attempt, nodes));
}

static void add_change(struct attempt *attempt, double requested_s, const char *nodes)
{
	if (!(requested_s < attempt->first_s))
		return;
	attempt->first_nodes = nodes;
	attempt->first_s = requested_s;
}

/* A lost attempt ends with an entry without hosts: how "lost", and the reason. */
static void add_places(struct attempt *attempt)
{
	const struct store_task *record = attempt->record;

	for (guint i = 0; attempt->suspensions && i < attempt->suspensions->len; i++) {
		const struct store_suspension *one = g_ptr_array_index(attempt->suspensions, i);

		add_change(attempt, one->requested_s, one->nodes);
		if (one->to_nodes)
			add_nodes(attempt, one->since_s, "resumed", one->to_nodes);
	}
	for (guint i = 0; attempt->migrations && i < attempt->migrations->len; i++) {
		const struct store_migration *one = g_ptr_array_index(attempt->migrations, i);

		add_change(attempt, one->requested_s, one->nodes);
		add_nodes(attempt, one->ended_s, one->reason ? "stayed" : "migrated",
			  one->to_nodes);
	}
	add_nodes(attempt, record->started_s, "started", attempt->first_nodes);
	if (isfinite(record->ended_s))
		json_object_set_new(add_place(attempt, record->ended_s, "lost", json_array()),
				    "reason", json_string_or_null(record->reason));
}

static void add_migrations(json_t *list, const struct attempt *attempt)
{
	for (guint i = 0; attempt->migrations && i < attempt->migrations->len; i++) {
		const struct store_migration *one = g_ptr_array_index(attempt->migrations, i);
		json_t *object =
			json_pack("{s:i, s:i, s:b, s:o, s:o, s:s?}", "attempt",
				  (int)attempt->record->attempts, "n", (int)one->n, "by_person",
				  one->by_person, "from", attempt_hosts_json(attempt, one->nodes),
				  "to", attempt_hosts_json(attempt, one->to_nodes), "reason",
				  one->reason);

		api_set_time(object, attempt->session, "requested", one->requested_s);
		api_set_time(object, attempt->session, "ended", one->ended_s);
		json_array_append_new(list, object);
	}
}

/* The last delivered share; null: unknown. */
static json_t *share_json(const struct run_session *session, const struct engine_task *task)
{
	g_autofree struct store_delivery *last =
		store_last_delivery(view_store(session), view_run(session), task->task->id,
				    task->attempts, NULL);

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
		object = json_pack("{s:i, s:i, s:b}", "attempt", (int)attempt->record->attempts,
				   "n", (int)one->n, "by_person", one->by_person);
		api_set_time(object, attempt->session, "from", one->suspended_s);
		api_set_time(object, attempt->session, "to",
			     isfinite(one->since_s) ? one->since_s : attempt->record->ended_s);
		json_array_append_new(list, object);
	}
}

/* The history of a task's VMs in all of its attempts. */
struct past {
	json_t *places, *suspended, *migrated;
};

static void add_attempt(struct past *past, const struct run_session *session, uint32_t task,
			const struct store_task *record)
{
	const int64_t run = view_run(session);
	g_autoptr(GPtrArray) suspensions =
		store_task_suspensions(view_store(session), run, task, record->attempts, NULL);
	g_autoptr(GPtrArray) migrations =
		store_task_migrations(view_store(session), run, task, record->attempts, NULL);
	g_autoptr(json_t) places = json_array();
	struct attempt attempt = {
		.session = session,
		.record = record,
		.suspensions = suspensions,
		.migrations = migrations,
		.places = places,
		.first_nodes = record->nodes,
		.first_s = INFINITY,
	};

	add_places(&attempt);
	json_array_extend(past->places, places);
	add_suspended(past->suspended, &attempt);
	add_migrations(past->migrated, &attempt);
}

/* Adds the present or last attempt, unless it is among the lost ones. */
static void add_last_attempt(struct past *past, const struct run_session *session,
			     const struct engine_task *task)
{
	g_autoptr(GString) nodes = g_string_new(NULL);
	struct store_task record = {
		.attempts = task->attempts,
		.cluster = view_config(session)->clusters[task->cluster].name,
		.started_s = task->started_s,
		.ended_s = (double)NAN,
	};

	for (uint32_t i = 0; i < task->nodes_count; i++)
		g_string_append_printf(nodes, "%s%u", i ? "," : "", task->nodes[i]);
	record.nodes = nodes->str;
	add_attempt(past, session, task->task->id, &record);
}

json_t *task_json(const struct run_session *session, const struct engine_task *task)
{
	const uint32_t index = task->task->id;
	json_t *object = task_json_short(session, task);
	g_autoptr(GPtrArray) lost = NULL;
	struct past past;

	set_energy(object, session, task);
	if (!task->nodes_count)
		return object;
	past = (struct past){json_array(), json_array(), json_array()};
	lost = store_task_lost(view_store(session), view_run(session), index, NULL);
	for (guint i = 0; lost && i < lost->len; i++)
		add_attempt(&past, session, index, g_ptr_array_index(lost, i));
	if (!isfinite(task->waits_since_s))
		add_last_attempt(&past, session, task);
	json_object_set_new(object, "places", past.places);
	json_object_set_new(object, "suspended", past.suspended);
	json_object_set_new(object, "migrated", past.migrated);
	if (view_config(session)->clusters[task->cluster].shared) {
		json_object_set_new(object, "yield",
				    task->yield > 0 ? json_real(task->yield) : json_null());
		json_object_set_new(object, "virtual_s",
				    json_real(view_virtual_time_s(session, task)));
		json_object_set_new(object, "share", share_json(session, task));
	}
	return object;
}
