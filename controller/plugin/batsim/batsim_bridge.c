/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/plugin/batsim/batsim_bridge.h"

#include <errno.h>
#include <string.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "common/read_number.h"
#include "controller/plugin/batsim/batsim_alloc.h"
#include "controller/snapshot/snapshot_json.h"

#define WORKLOAD "virtbed"
/* Messages at one event: a scheduler that always has another question is stopped. */
#define ROUNDS_MAX 100

GQuark batsim_error_quark(void)
{
	return g_quark_from_static_string("batsim-error");
}

/* A task that the scheduler knows. */
struct job {
	uint32_t task;
	uint32_t attempt; /* how often it was submitted before */
	bool started;     /* by the scheduler; else it waits */
	char *alloc;      /* of a started one, as the scheduler wrote it */
	char *nodes;      /* the same as batsim_alloc_text() writes it */
	bool met;         /* while a snapshot is compared: it is as the scheduler knows it */
};

/* A call that the scheduler asked for. */
struct call {
	double at_s;
	char *id; /* of Batsim 5; else NULL */
};

struct batsim_bridge {
	struct policy_outside outside; /* first */
	const char *wanted;            /* name of the cluster; NULL: the only one */
	batsim_start_f start;
	void *data;
	struct batsim_peer *peer; /* NULL: it is to be started */
	bool begun;               /* it was told SIMULATION_BEGINS */
	GPtrArray *jobs;          /* struct job *, in the order of their submission */
	GHashTable *by_task;      /* the same by task */
	GHashTable *attempts;     /* of all tasks that were submitted: how often */
	GArray *calls;            /* struct call */
	bool *unavailable;        /* per node: what the scheduler was told */
	uint32_t nodes;
	double now_s; /* of the last event */
	char *problem;
};

static void free_job(void *data)
{
	struct job *job = data;

	g_free(job->alloc);
	g_free(job->nodes);
	g_free(job);
}

static void clear_call(void *data)
{
	g_free(((struct call *)data)->id);
}

static int decide(struct policy_outside *outside, const struct policy *policy,
		  const struct sched_snapshot *snapshot, struct policy_context *context,
		  struct sched_plan *ret_plan);

struct batsim_bridge *batsim_bridge_new(const char *cluster, batsim_start_f start, void *data)
{
	struct batsim_bridge *bridge = g_new0(struct batsim_bridge, 1);

	bridge->outside.decide = decide;
	bridge->wanted = cluster;
	bridge->start = start;
	bridge->data = data;
	bridge->jobs = g_ptr_array_new_with_free_func(free_job);
	bridge->by_task = g_hash_table_new(NULL, NULL);
	bridge->attempts = g_hash_table_new(NULL, NULL);
	bridge->calls = g_array_new(FALSE, FALSE, sizeof(struct call));
	g_array_set_clear_func(bridge->calls, clear_call);
	return bridge;
}

struct policy_outside *batsim_bridge_outside(struct batsim_bridge *bridge)
{
	return &bridge->outside;
}

/* Ends the scheduler and forgets what it was told; `kindly`: it is told. */
static void end_conversation(struct batsim_bridge *bridge, double now_s, bool kindly)
{
	if (!bridge->peer)
		return;
	if (kindly && bridge->begun) {
		g_autofree char *answer = NULL;
		g_autoptr(json_t) message =
			json_pack("{s:f, s:[{s:f, s:s, s:{}}]}", "now", now_s, "events",
				  "timestamp", now_s, "type", "SIMULATION_ENDS", "data");
		g_autofree char *text = json_text(message);

		answer = bridge->peer->ask(bridge->peer, text, NULL);
		bridge->peer->free(bridge->peer, answer);
	} else {
		bridge->peer->free(bridge->peer, false);
	}
	bridge->peer = NULL;
	bridge->begun = false;
	g_ptr_array_set_size(bridge->jobs, 0);
	g_hash_table_remove_all(bridge->by_task);
	g_hash_table_remove_all(bridge->attempts);
	g_array_set_size(bridge->calls, 0);
	g_clear_pointer(&bridge->unavailable, g_free);
}

void batsim_bridge_free(struct batsim_bridge *bridge)
{
	if (!bridge)
		return;
	end_conversation(bridge, bridge->now_s, true);
	g_ptr_array_unref(bridge->jobs);
	g_hash_table_unref(bridge->by_task);
	g_hash_table_unref(bridge->attempts);
	g_array_unref(bridge->calls);
	g_free(bridge->problem);
	g_free(bridge);
}

char *batsim_bridge_refuses(struct policy_outside *outside, const json_t *hello)
{
	struct batsim_bridge *bridge = (struct batsim_bridge *)outside;
	const char *model = json_string_value(json_object_get(hello, "model"));
	const json_t *clusters = json_object_get(json_object_get(hello, "system"), "clusters");
	g_autoptr(GError) error = NULL;
	GString *names = g_string_new("");
	bool known = false;
	char *reason = NULL;
	size_t i;
	json_t *cluster;

	json_array_foreach (clusters, i, cluster) {
		const char *name = json_string_value(json_object_get(cluster, "name"));

		g_string_append_printf(names, " \"%s\"", name);
		known |= g_strcmp0(name, bridge->wanted) == 0;
	}
	if (g_strcmp0(model, "nodes") != 0 && g_strcmp0(model, "immediate") != 0)
		reason = g_strdup_printf("a scheduler of Batsim gives whole nodes to a task, and "
					 "the model is \"%s\"",
					 model);
	else if (bridge->wanted && !known)
		reason = g_strdup_printf("no cluster \"%s\"; there are%s", bridge->wanted,
					 names->str);
	else if (!bridge->wanted && json_array_size(clusters) > 1)
		reason =
			g_strdup_printf("the nodes of Batsim are equal, and there are several "
					"clusters:%s; name one: \"cluster=NAME\" is the first word",
					names->str);
	g_string_free(names, TRUE);
	if (!reason && !bridge->peer)
		bridge->peer = bridge->start(bridge->data, &error);
	return reason || bridge->peer ? reason : g_strdup(error->message);
}

/* Messages to the scheduler. */

/* One event; takes over `data`. */
static void tell(json_t *events, double now_s, const char *type, json_t *data)
{
	json_array_append_new(events, json_pack("{s:f, s:s, s:o}", "timestamp", now_s, "type", type,
						"data", data));
}

static char *job_id(const struct job *job)
{
	return job->attempt > 0 ? g_strdup_printf(WORKLOAD "!%u#%u", job->task, job->attempt)
				: g_strdup_printf(WORKLOAD "!%u", job->task);
}

/* The option that a task has in the cluster: that of the lowest P-state; NULL: none. */
static const struct sched_option *option_of(const struct sched_system *system, uint32_t row,
					    uint32_t cluster)
{
	for (uint32_t pstate = 0; pstate < system->clusters[cluster].pstates; pstate++) {
		const struct sched_option *option =
			sched_system_option(system, row, cluster, pstate);

		if (option)
			return option;
	}
	return NULL;
}

/* The members of Batsim 4, and those by which versions 2 and 3 have the same facts. */
static json_t *begins(const struct sched_system *system, uint32_t cluster)
{
	const struct sched_cluster *own = &system->clusters[cluster];
	json_t *resources = json_array();
	json_t *profiles = json_object();

	for (uint32_t i = 0; i < own->nodes; i++) {
		g_autofree char *name = g_strdup_printf("%s-%u", own->name, i);

		json_array_append_new(resources,
				      json_pack("{s:i, s:s, s:s, s:i, s:{}, s:{}}", "id", (int)i,
						"name", name, "state", "idle", "core_count",
						(int)own->cores, "properties", "zone_properties"));
	}
	for (uint32_t row = 0; row < system->rows_count; row++) {
		const struct sched_option *option = option_of(system, row, cluster);

		if (option)
			json_object_set_new(profiles, system->row_names[row],
					    json_pack("{s:s, s:f}", "type", "delay", "delay",
						      option->etc_s));
	}
	return json_pack(
		"{s:i, s:i, s:i, s:b, s:b, s:b, s:{s:b, s:s, s:i, s:s, s:b, s:b, s:b, s:b, s:s, "
		"s:b, s:{s:b}, s:{s:b, s:{s:b, s:b}}}, s:O, s:o, s:[], s:{s:s}, s:{s:o}}",
		"nb_resources", (int)own->nodes, "nb_compute_resources", (int)own->nodes,
		"nb_storage_resources", 0, "allow_compute_sharing", 0, "allow_storage_sharing", 1,
		"allow_time_sharing", 0, "config", "redis-enabled", 0, "redis-hostname",
		"127.0.0.1", "redis-port", 6379, "redis-prefix", "default",
		"profiles-forwarded-on-submission", 0, "dynamic-jobs-enabled", 0,
		"dynamic-jobs-acknowledged", 0, "profile-reuse-enabled", 0, "sched-config", "",
		"forward-unknown-events", 0, "redis", "enabled", 0, "job_submission",
		"forward_profiles", 0, "from_scheduler", "enabled", 0, "acknowledge", 0,
		"compute_resources", resources, "resources_data", resources, "storage_resources",
		"workloads", WORKLOAD, "", "profiles", WORKLOAD, profiles);
}

static const struct sched_allocation *find(const struct sched_allocation *list, uint32_t count,
					   uint32_t task)
{
	for (uint32_t i = 0; i < count; i++)
		if (list[i].task->id == task)
			return &list[i];
	return NULL;
}

/* Whether a started job has the nodes that the scheduler gave it. */
static bool is_in_place(const struct batsim_bridge *bridge, const struct job *job,
			const struct sched_allocation *running)
{
	g_autofree bool *have = g_new0(bool, bridge->nodes);
	g_autofree char *text = NULL;

	for (uint32_t i = 0; i < running->nodes_count; i++)
		if (running->nodes[i] < bridge->nodes)
			have[running->nodes[i]] = true;
	text = batsim_alloc_text(have, bridge->nodes);
	return strcmp(text, job->nodes) == 0;
}

/*
 * Marks the jobs that are as the scheduler knows them. Whether all that wait for it do wait, and
 * those that run are where it put them.
 */
static bool meet(struct batsim_bridge *bridge, const struct sched_snapshot *snapshot)
{
	for (guint i = 0; i < bridge->jobs->len; i++)
		((struct job *)bridge->jobs->pdata[i])->met = false;
	for (uint32_t i = 0; i < snapshot->waiting_count; i++) {
		struct job *job = g_hash_table_lookup(bridge->by_task,
						      GUINT_TO_POINTER(snapshot->waiting[i]->id));

		if (job && !job->started)
			job->met = true;
	}
	for (uint32_t i = 0; i < snapshot->running_count; i++) {
		struct job *job =
			g_hash_table_lookup(bridge->by_task,
					    GUINT_TO_POINTER(snapshot->running[i].task->id));

		if (!job || !job->started)
			continue;
		if (!is_in_place(bridge, job, &snapshot->running[i]))
			return false;
		job->met = true;
	}
	for (guint i = 0; i < bridge->jobs->len; i++) {
		const struct job *job = bridge->jobs->pdata[i];

		if (!job->started && !job->met)
			return false;
	}
	return true;
}

static bool waits(const struct sched_snapshot *snapshot, uint32_t task)
{
	for (uint32_t i = 0; i < snapshot->waiting_count; i++)
		if (snapshot->waiting[i]->id == task)
			return true;
	return false;
}

/* Started jobs that run no more have ended. */
static void tell_ends(struct batsim_bridge *bridge, const struct sched_snapshot *snapshot,
		      json_t *events)
{
	for (guint i = 0; i < bridge->jobs->len;) {
		struct job *job = bridge->jobs->pdata[i];
		g_autofree char *id = NULL;
		const char *state = "COMPLETED_SUCCESSFULLY";

		if (job->met || !job->started) {
			i++;
			continue;
		}
		if (waits(snapshot, job->task))
			state = "COMPLETED_FAILED";
		else if (find(snapshot->suspended, snapshot->suspended_count, job->task))
			state = "COMPLETED_KILLED";
		id = job_id(job);
		tell(events, snapshot->now_s, "JOB_COMPLETED",
		     json_pack("{s:s, s:s, s:i, s:s, s:s}", "job_id", id, "job_state", state,
			       "return_code", strcmp(state, "COMPLETED_FAILED") == 0 ? 1 : 0,
			       "kill_reason", "", "alloc", job->alloc));
		g_hash_table_remove(bridge->by_task, GUINT_TO_POINTER(job->task));
		g_ptr_array_remove_index(bridge->jobs, i);
	}
}

static void take_nodes(bool *taken, const struct sched_allocation *list, uint32_t count,
		       uint32_t cluster, GHashTable *except)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct job *job =
			except ? g_hash_table_lookup(except, GUINT_TO_POINTER(list[i].task->id))
			       : NULL;

		if (list[i].cluster != cluster || (job && job->started))
			continue;
		for (uint32_t node = 0; node < list[i].nodes_count; node++)
			taken[list[i].nodes[node]] = true;
	}
}

/* Nodes that are down, or that others have, are unavailable to the scheduler. */
static void tell_nodes(struct batsim_bridge *bridge, const struct sched_snapshot *snapshot,
		       uint32_t cluster, json_t *events)
{
	static const char *const types[] = {"event_machine_available", "event_machine_unavailable"};
	bool *taken = g_new0(bool, bridge->nodes);

	take_nodes(taken, snapshot->running, snapshot->running_count, cluster, bridge->by_task);
	take_nodes(taken, snapshot->reservations, snapshot->reservations_count, cluster, NULL);
	for (uint32_t i = 0; i < snapshot->down_count; i++)
		if (snapshot->down[i].cluster == cluster)
			taken[snapshot->down[i].node] = true;
	for (int turn = 0; turn < 2; turn++) {
		g_autofree bool *changed = g_new0(bool, bridge->nodes);
		g_autofree char *text = NULL;

		for (uint32_t i = 0; i < bridge->nodes; i++)
			changed[i] = taken[i] != bridge->unavailable[i] && taken[i] == (turn == 1);
		text = batsim_alloc_text(changed, bridge->nodes);
		if (*text)
			tell(events, snapshot->now_s, "NOTIFY",
			     json_pack("{s:s, s:s}", "type", types[turn], "resources", text));
	}
	g_free(bridge->unavailable);
	bridge->unavailable = taken;
}

/* Submits new tasks, and drops tasks that cannot run in the cluster. */
static void tell_tasks(struct batsim_bridge *bridge, const struct sched_snapshot *snapshot,
		       uint32_t cluster, json_t *events, json_t *actions)
{
	for (uint32_t i = 0; i < snapshot->waiting_count; i++) {
		const struct sched_task *task = snapshot->waiting[i];
		const struct sched_option *option = option_of(snapshot->system, task->row, cluster);
		const gpointer key = GUINT_TO_POINTER(task->id);
		struct job *job;
		g_autofree char *id = NULL;

		if (g_hash_table_contains(bridge->by_task, key))
			continue;
		if (!option) {
			json_array_append_new(actions, json_pack("{s:s, s:I}", "kind", "drop",
								 "task", (json_int_t)task->id));
			continue;
		}
		job = g_new0(struct job, 1);
		job->task = task->id;
		job->attempt = GPOINTER_TO_UINT(g_hash_table_lookup(bridge->attempts, key));
		g_hash_table_insert(bridge->attempts, key, GUINT_TO_POINTER(job->attempt + 1));
		g_ptr_array_add(bridge->jobs, job);
		g_hash_table_insert(bridge->by_task, key, job);
		id = job_id(job);
		tell(events, snapshot->now_s, "JOB_SUBMITTED",
		     json_pack("{s:s, s:{s:s, s:f, s:i, s:f, s:s}}", "job_id", id, "job", "id", id,
			       "subtime", task->arrival_s, "res", (int)option->nodes, "walltime",
			       option->etc_s, "profile", snapshot->system->row_names[task->row]));
	}
}

static void tell_calls(struct batsim_bridge *bridge, double now_s, json_t *events)
{
	for (guint i = 0; i < bridge->calls->len;) {
		const struct call *call = &g_array_index(bridge->calls, struct call, i);

		if (call->at_s > now_s) {
			i++;
			continue;
		}
		tell(events, now_s, "REQUESTED_CALL",
		     call->id ? json_pack("{s:s}", "id", call->id) : json_object());
		g_array_remove_index(bridge->calls, i);
	}
}

/* What it answers. */

static struct job *job_of(struct batsim_bridge *bridge, const json_t *data, GError **error)
{
	const char *id = json_string_value(json_object_get(data, "job_id"));
	struct job *job = NULL;
	g_autofree char *own = NULL;
	g_auto(GStrv) words = id ? g_strsplit_set(id, "!#", 3) : NULL;
	uint64_t task;

	if (words && words[0] && words[1] && read_number_unsigned(words[1], 0, UINT32_MAX, &task))
		job = g_hash_table_lookup(bridge->by_task, GSIZE_TO_POINTER(task));
	own = job ? job_id(job) : NULL;
	if (id && g_strcmp0(own, id) == 0 && !job->started)
		return job;
	return error_null(error, BATSIM_ERROR, BATSIM_ERROR_MESSAGE, "no job \"%s\" waits",
			  id ? id : "");
}

static bool execute(struct batsim_bridge *bridge, const struct sched_snapshot *snapshot,
		    uint32_t cluster, const json_t *data, json_t *actions, GError **error)
{
	const char *alloc = json_string_value(json_object_get(data, "alloc"));
	struct job *job = job_of(bridge, data, error);
	uint32_t row = 0, chosen;
	g_autofree bool *have = NULL;
	json_t *nodes;

	if (!job)
		return false;
	have = alloc ? batsim_alloc_read(alloc, bridge->nodes, &chosen) : NULL;
	if (!have)
		return error_fail(error, BATSIM_ERROR, BATSIM_ERROR_MESSAGE,
				  "\"%s\" is no set of resources below %u", alloc ? alloc : "",
				  bridge->nodes);
	for (uint32_t i = 0; i < snapshot->waiting_count; i++)
		if (snapshot->waiting[i]->id == job->task)
			row = snapshot->waiting[i]->row;
	nodes = json_array();
	for (uint32_t i = 0; i < bridge->nodes; i++)
		if (have[i])
			json_array_append_new(nodes, json_integer(i));
	json_array_append_new(actions,
			      json_pack("{s:s, s:I, s:s, s:i, s:o}", "kind", "start", "task",
					(json_int_t)job->task, "cluster",
					snapshot->system->clusters[cluster].name, "pstate",
					(int)option_of(snapshot->system, row, cluster)->pstate,
					"nodes", nodes));
	job->started = true;
	job->alloc = g_strdup(alloc);
	job->nodes = batsim_alloc_text(have, bridge->nodes);
	return true;
}

static bool reject(struct batsim_bridge *bridge, const json_t *data, json_t *actions,
		   GError **error)
{
	struct job *job = job_of(bridge, data, error);

	if (!job)
		return false;
	json_array_append_new(actions, json_pack("{s:s, s:I}", "kind", "drop", "task",
						 (json_int_t)job->task));
	g_hash_table_remove(bridge->by_task, GUINT_TO_POINTER(job->task));
	g_ptr_array_remove(bridge->jobs, job);
	return true;
}

static bool query(const struct sched_snapshot *snapshot, const json_t *data, json_t *events,
		  GError **error)
{
	const json_t *requests = json_object_get(data, "requests");

	if (json_object_size(requests) != 1 || !json_object_get(requests, "consumed_energy"))
		return error_fail(error, BATSIM_ERROR, BATSIM_ERROR_MESSAGE,
				  "it has a QUERY other than consumed_energy");
	tell(events, snapshot->now_s, "ANSWER",
	     json_pack("{s:f}", "consumed_energy", snapshot->consumed_j));
	return true;
}

/* Reads one event; what it asks for is added to `actions`, or answered in `events`. */
static bool take(struct batsim_bridge *bridge, const struct sched_snapshot *snapshot,
		 uint32_t cluster, const json_t *event, json_t *events, json_t *actions,
		 GError **error)
{
	static const char *const ignored[] = {"NOTIFY", "SET_JOB_METADATA", "ANSWER", NULL};
	const char *type = json_string_value(json_object_get(event, "type"));
	const json_t *data = json_object_get(event, "data");
	struct call call = {0};

	if (g_strcmp0(type, "EXECUTE_JOB") == 0)
		return execute(bridge, snapshot, cluster, data, actions, error);
	if (g_strcmp0(type, "REJECT_JOB") == 0)
		return reject(bridge, data, actions, error);
	if (g_strcmp0(type, "QUERY") == 0)
		return query(snapshot, data, events, error);
	if (g_strcmp0(type, "CALL_ME_LATER") == 0) {
		if (!json_get_number(data, "timestamp", "CALL_ME_LATER", &call.at_s, error))
			return false;
		call.id = g_strdup(json_string_value(json_object_get(data, "id")));
		g_array_append_val(bridge->calls, call);
		return true;
	}
	if (type && g_strv_contains(ignored, type))
		return true;
	return error_fail(error, BATSIM_ERROR, BATSIM_ERROR_MESSAGE,
			  "it asks for %s, which virtbed does not do for schedulers of Batsim",
			  type ? type : "nothing: an event has no type");
}

/* Sends the events, until the scheduler has no question left. */
static bool converse(struct batsim_bridge *bridge, const struct sched_snapshot *snapshot,
		     uint32_t cluster, json_t *events, json_t *actions, GError **error)
{
	g_autoptr(json_t) due = json_incref(events);

	for (int round = 0; json_array_size(due) > 0; round++) {
		g_autoptr(json_t) message =
			json_pack("{s:f, s:O}", "now", snapshot->now_s, "events", due);
		g_autofree char *text = json_text(message);
		g_autofree char *answer = bridge->peer->ask(bridge->peer, text, error);
		g_autoptr(json_t) reply = NULL;
		json_t *list, *event;
		size_t i;

		if (!answer)
			return false;
		if (round == ROUNDS_MAX)
			return error_fail(error, BATSIM_ERROR, BATSIM_ERROR_MESSAGE,
					  "it had a question in %d messages in a row", ROUNDS_MAX);
		reply = json_parse(answer, strlen(answer), "its answer", error);
		if (!reply || !json_get_array(reply, "events", "its answer", &list, error))
			return false;
		json_decref(due);
		due = json_array();
		json_array_foreach (list, i, event)
			if (!take(bridge, snapshot, cluster, event, due, actions, error))
				return false;
	}
	return true;
}

/* The beginning is a message of its own, as Batsim sends it: some schedulers are ready only then. */
static bool begin(struct batsim_bridge *bridge, const struct sched_snapshot *snapshot,
		  uint32_t cluster, json_t *actions, GError **error)
{
	g_autoptr(json_t) events = json_array();

	if (!bridge->peer)
		bridge->peer = bridge->start(bridge->data, error);
	if (!bridge->peer)
		return false;
	bridge->begun = true;
	bridge->nodes = snapshot->system->clusters[cluster].nodes;
	bridge->unavailable = g_new0(bool, bridge->nodes);
	tell(events, snapshot->now_s, "SIMULATION_BEGINS", begins(snapshot->system, cluster));
	return converse(bridge, snapshot, cluster, events, actions, error);
}

static bool decide_event(struct batsim_bridge *bridge, const struct sched_snapshot *snapshot,
			 uint32_t cluster, struct arena *arena, struct sched_plan *ret_plan,
			 GError **error)
{
	g_autoptr(json_t) events = json_array();
	g_autoptr(json_t) actions = json_array();

	if (bridge->begun && !meet(bridge, snapshot))
		end_conversation(bridge, snapshot->now_s, true);
	if (!bridge->begun && !begin(bridge, snapshot, cluster, actions, error))
		return false;
	tell_ends(bridge, snapshot, events);
	tell_nodes(bridge, snapshot, cluster, events);
	tell_tasks(bridge, snapshot, cluster, events, actions);
	tell_calls(bridge, snapshot->now_s, events);
	return converse(bridge, snapshot, cluster, events, actions, error) &&
	       snapshot_json_read_actions(actions, snapshot, arena, ret_plan, error);
}

static int decide(struct policy_outside *outside, const struct policy *policy G_GNUC_UNUSED,
		  const struct sched_snapshot *snapshot, struct policy_context *context,
		  struct sched_plan *ret_plan)
{
	struct batsim_bridge *bridge = (struct batsim_bridge *)outside;
	const uint32_t cluster =
		bridge->wanted ? sched_system_cluster(snapshot->system, bridge->wanted) : 0;
	g_autoptr(GError) error = NULL;

	bridge->now_s = snapshot->now_s;
	/* The message hello had the cluster. */
	if (cluster < snapshot->system->clusters_count &&
	    decide_event(bridge, snapshot, cluster, context->arena, ret_plan, &error))
		return 0;
	/* The scheduler may believe what did not happen, so the next event starts a new one. */
	end_conversation(bridge, snapshot->now_s, false);
	g_free(bridge->problem);
	bridge->problem = g_strdup(error ? error->message : "the cluster is gone");
	outside->problem = bridge->problem;
	return -EIO;
}
