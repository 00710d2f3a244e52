/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/plugin/batsim/batsim_scheduler.h"

#include <math.h>
#include <string.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "controller/plugin/batsim/batsim_alloc.h"
#include "controller/plugin/batsim/batsim_peer.h"
#include "controller/sched/plan_rules.h"

/* Later than any job ends: the end of the day, and of the one segment of all utilities. */
#define FOREVER_S 1e12
/* Policies plan place-holders up to the next periodic event, which Batsim does not have. */
#define NEXT_EVENT_S 1
/* A planned start is due if it is not later than this after the present. */
#define DUE_S 1e-6

enum state { WAITS, PLANNED, RUNS };

struct job {
	char *id;
	struct sched_task task;
	double walltime_s;
	enum state state;
	struct sched_allocation place; /* with nodes of its own, unless it waits */
	uint32_t *nodes;
};

struct batsim_scheduler {
	struct policy policy;
	bool immediate;
	uint32_t nodes;  /* 0: the simulation has not begun */
	uint32_t taken;  /* ids of tasks */
	uint64_t event;  /* number of the next decision */
	GPtrArray *jobs; /* struct job *, in the order of their submission */
	bool *down;      /* per node */
	double called_s; /* the last call that was asked for */
	struct arena *arena;
};

static void free_job(void *data)
{
	struct job *job = data;

	g_free(job->nodes);
	g_free(job->id);
	g_free(job);
}

static struct sched_system *make_system(const struct batsim_scheduler *scheduler)
{
	const struct sched_cluster cluster = {.name = "batsim",
					      .nodes = scheduler->nodes,
					      .cores = 1,
					      .pstates = 1};
	struct sched_system *system = sched_system_new(&cluster, 1, MAX(scheduler->jobs->len, 1));

	if (!system)
		return NULL;
	for (guint row = 0; row < scheduler->jobs->len; row++) {
		struct job *job = scheduler->jobs->pdata[row];

		job->task.row = row;
		system->row_names[row] = job->id;
		system->nodes[row] = job->place.nodes_count;
		system->etc_s[row] = job->walltime_s;
		system->eec_j[row] = job->walltime_s * job->place.nodes_count;
	}
	if (scheduler->jobs->len == 0) {
		system->row_names[0] = "none";
		system->nodes[0] = 1;
		system->etc_s[0] = 1;
	}
	system->immediate = scheduler->immediate;
	if (sched_system_finish(system, NULL) == SCHED_SYSTEM_OK)
		return system;
	sched_system_free(system);
	return NULL;
}

struct batsim_scheduler *batsim_scheduler_new(const struct policy *policy, bool immediate,
					      GError **error)
{
	struct batsim_scheduler *scheduler = g_new0(struct batsim_scheduler, 1);
	struct sched_system *system;
	const char *misfit;

	scheduler->policy = *policy;
	scheduler->immediate = immediate;
	scheduler->nodes = 1;
	scheduler->jobs = g_ptr_array_new_with_free_func(free_job);
	scheduler->arena = arena_new();
	system = make_system(scheduler);
	if (!system)
		g_error("out of memory");
	misfit = policy_is_outside(policy) ? "it is not one of the tree"
					   : policy_misfit(policy, system);
	sched_system_free(system);
	scheduler->nodes = 0;
	if (!misfit)
		return scheduler;
	batsim_scheduler_free(scheduler);
	return error_null(error, BATSIM_ERROR, BATSIM_ERROR_START,
			  "policy \"%s\" cannot decide for Batsim: %s", policy->name, misfit);
}

void batsim_scheduler_free(struct batsim_scheduler *scheduler)
{
	if (!scheduler)
		return;
	g_ptr_array_unref(scheduler->jobs);
	arena_free(scheduler->arena);
	g_free(scheduler->down);
	g_free(scheduler);
}

/* What has happened. */

static void decide_event(json_t *events, double now_s, const char *type, json_t *data)
{
	json_array_append_new(events, json_pack("{s:f, s:s, s:o}", "timestamp", now_s, "type", type,
						"data", data));
}

static bool begin(struct batsim_scheduler *scheduler, const json_t *data, GError **error)
{
	const char *key = json_object_get(data, "nb_compute_resources") ? "nb_compute_resources"
									: "nb_resources";
	int64_t nodes;

	if (!json_get_integer(data, key, "SIMULATION_BEGINS", 1, 1000000, &nodes, error))
		return false;
	if (json_is_true(json_object_get(data, "allow_compute_sharing")) ||
	    json_is_true(json_object_get(data, "allow_time_sharing")))
		return error_fail(error, BATSIM_ERROR, BATSIM_ERROR_MESSAGE,
				  "Batsim lets jobs share hosts; virtbed gives a job hosts of its "
				  "own");
	scheduler->nodes = (uint32_t)nodes;
	g_free(scheduler->down);
	scheduler->down = g_new0(bool, scheduler->nodes);
	return true;
}

/* A job without a walltime, or too large, is rejected. */
static bool submit(struct batsim_scheduler *scheduler, const json_t *data, double now_s,
		   json_t *decisions, GError **error)
{
	const json_t *described = json_object_get(data, "job");
	const char *id = json_string_value(json_object_get(data, "job_id"));
	const double walltime_s = json_number_value(json_object_get(described, "walltime"));
	double arrival_s = now_s;
	int64_t count;
	struct job *job;

	if (!id || !described)
		return error_fail(
			error, BATSIM_ERROR, BATSIM_ERROR_MESSAGE,
			"a job is submitted without \"job_id\" or \"job\"; turn Redis off");
	if (!json_get_integer(described, "res", id, 1, UINT32_MAX, &count, error))
		return false;
	if (count > scheduler->nodes || !(walltime_s > 0)) {
		decide_event(decisions, now_s, "REJECT_JOB", json_pack("{s:s}", "job_id", id));
		return true;
	}
	if (json_is_number(json_object_get(described, "subtime")))
		arrival_s = fmin(now_s, json_number_value(json_object_get(described, "subtime")));
	job = g_new0(struct job, 1);
	job->id = g_strdup(id);
	job->task = (struct sched_task){
		.id = scheduler->taken++,
		.arrival_s = arrival_s,
		.utility = {.max = 1,
			    .segments_count = 1,
			    .segments = {{.duration_s = FOREVER_S,
					  .start_fraction = 1,
					  .end_fraction = 1}}},
	};
	job->walltime_s = walltime_s;
	job->place = (struct sched_allocation){.task = &job->task, .nodes_count = (uint32_t)count};
	g_ptr_array_add(scheduler->jobs, job);
	return true;
}

/* Planned starts are planned again: nodes are free at other times than they counted on. */
static void cancel_planned(struct batsim_scheduler *scheduler)
{
	for (guint i = 0; i < scheduler->jobs->len; i++) {
		struct job *job = scheduler->jobs->pdata[i];

		if (job->state == PLANNED)
			job->state = WAITS;
	}
}

static void complete(struct batsim_scheduler *scheduler, const json_t *data, double now_s)
{
	const char *id = json_string_value(json_object_get(data, "job_id"));

	for (guint i = 0; i < scheduler->jobs->len; i++) {
		struct job *job = scheduler->jobs->pdata[i];

		if (job->state != RUNS || g_strcmp0(job->id, id) != 0)
			continue;
		if (now_s < job->place.end_s - DUE_S)
			cancel_planned(scheduler);
		g_ptr_array_remove_index(scheduler->jobs, i);
		return;
	}
}

static bool notice(struct batsim_scheduler *scheduler, const json_t *data, GError **error)
{
	const char *type = json_string_value(json_object_get(data, "type"));
	const char *resources = json_string_value(json_object_get(data, "resources"));
	const bool down = g_strcmp0(type, "event_machine_unavailable") == 0;
	g_autofree bool *have = NULL;
	uint32_t chosen;

	if (!down && g_strcmp0(type, "event_machine_available") != 0)
		return true;
	have = resources ? batsim_alloc_read(resources, scheduler->nodes, &chosen) : NULL;
	if (!have)
		return error_fail(error, BATSIM_ERROR, BATSIM_ERROR_MESSAGE,
				  "\"%s\" of %s is no set of resources", resources ? resources : "",
				  type);
	for (uint32_t i = 0; i < scheduler->nodes; i++)
		if (have[i])
			scheduler->down[i] = down;
	cancel_planned(scheduler);
	return true;
}

static bool take(struct batsim_scheduler *scheduler, const json_t *event, double now_s,
		 json_t *decisions, bool *ret_over, GError **error)
{
	const char *type = json_string_value(json_object_get(event, "type"));
	const json_t *data = json_object_get(event, "data");

	if (g_strcmp0(type, "SIMULATION_BEGINS") == 0)
		return begin(scheduler, data, error);
	if (scheduler->nodes == 0)
		return error_fail(error, BATSIM_ERROR, BATSIM_ERROR_MESSAGE,
				  "the first event is not SIMULATION_BEGINS, but %s",
				  type ? type : "without a type");
	if (g_strcmp0(type, "SIMULATION_ENDS") == 0)
		*ret_over = true;
	else if (g_strcmp0(type, "JOB_SUBMITTED") == 0)
		return submit(scheduler, data, now_s, decisions, error);
	else if (g_strcmp0(type, "JOB_COMPLETED") == 0)
		complete(scheduler, data, now_s);
	else if (g_strcmp0(type, "NOTIFY") == 0)
		return notice(scheduler, data, error);
	/* Others are answers to what is never asked for, or REQUESTED_CALL. */
	return true;
}

/* What is decided. */

/* Whether the job's nodes run nothing. */
static bool nodes_are_free(const struct batsim_scheduler *scheduler, const struct job *job)
{
	for (guint i = 0; i < scheduler->jobs->len; i++) {
		const struct job *other = scheduler->jobs->pdata[i];

		if (other->state != RUNS)
			continue;
		for (uint32_t n = 0; n < other->place.nodes_count; n++)
			for (uint32_t m = 0; m < job->place.nodes_count; m++)
				if (other->nodes[n] == job->nodes[m])
					return false;
	}
	return true;
}

static void execute(struct batsim_scheduler *scheduler, struct job *job, double now_s,
		    json_t *decisions)
{
	g_autofree bool *have = g_new0(bool, scheduler->nodes);
	g_autofree char *alloc = NULL;

	for (uint32_t i = 0; i < job->place.nodes_count; i++)
		have[job->nodes[i]] = true;
	alloc = batsim_alloc_text(have, scheduler->nodes);
	job->state = RUNS;
	job->place.start_s = now_s;
	job->place.end_s = now_s + job->walltime_s;
	decide_event(decisions, now_s, "EXECUTE_JOB",
		     json_pack("{s:s, s:s}", "job_id", job->id, "alloc", alloc));
}

static void start_planned(struct batsim_scheduler *scheduler, double now_s, json_t *decisions)
{
	for (guint i = 0; i < scheduler->jobs->len; i++) {
		struct job *job = scheduler->jobs->pdata[i];

		if (job->state == PLANNED && job->place.start_s <= now_s + DUE_S &&
		    nodes_are_free(scheduler, job))
			execute(scheduler, job, now_s, decisions);
	}
}

static void place(struct job *job, const struct sched_action *action)
{
	g_free(job->nodes);
	job->nodes = g_memdup2(action->nodes, action->nodes_count * sizeof(*action->nodes));
	job->place.nodes = job->nodes;
	job->place.start_s = action->start_s;
	job->place.end_s = action->end_s;
}

static void carry_out(struct batsim_scheduler *scheduler, const struct sched_plan *plan,
		      double now_s, json_t *decisions)
{
	for (uint32_t a = 0; a < plan->actions_count; a++) {
		const struct sched_action *action = &plan->actions[a];

		for (guint i = 0; i < scheduler->jobs->len; i++) {
			struct job *job = scheduler->jobs->pdata[i];

			if (job->task.id != action->task)
				continue;
			if (action->kind == SCHED_ACTION_DROP) {
				decide_event(decisions, now_s, "REJECT_JOB",
					     json_pack("{s:s}", "job_id", job->id));
				g_ptr_array_remove_index(scheduler->jobs, i);
			} else if (action->kind == SCHED_ACTION_START) {
				place(job, action);
				execute(scheduler, job, now_s, decisions);
			} else if (action->kind == SCHED_ACTION_RESERVE) {
				place(job, action);
				job->state = PLANNED;
			}
			break;
		}
	}
}

/* Asks to be called at the next planned start. */
static void ask_call(struct batsim_scheduler *scheduler, double now_s, json_t *decisions)
{
	double next_s = INFINITY;

	for (guint i = 0; i < scheduler->jobs->len; i++) {
		const struct job *job = scheduler->jobs->pdata[i];

		if (job->state == PLANNED && job->place.start_s > now_s)
			next_s = fmin(next_s, job->place.start_s);
	}
	if (isinf(next_s) || next_s == scheduler->called_s)
		return;
	scheduler->called_s = next_s;
	decide_event(decisions, now_s, "CALL_ME_LATER", json_pack("{s:f}", "timestamp", next_s));
}

/* The jobs in a state, as a list; those that run too long have their nodes up to the next event. */
static struct sched_allocation *list_places(const struct batsim_scheduler *scheduler,
					    enum state state, double now_s, uint32_t *ret_count)
{
	struct sched_allocation *list = g_new0(struct sched_allocation, scheduler->jobs->len + 1);

	*ret_count = 0;
	for (guint i = 0; i < scheduler->jobs->len; i++) {
		const struct job *job = scheduler->jobs->pdata[i];

		if (job->state != state)
			continue;
		list[*ret_count] = job->place;
		if (state == RUNS && job->place.end_s <= now_s)
			list[*ret_count].end_s = now_s + NEXT_EVENT_S;
		(*ret_count)++;
	}
	return list;
}

static int before(const void *left, const void *right)
{
	const struct sched_task *const *a = left, *const *b = right;

	return sched_task_before(*a, *b) ? -1 : sched_task_before(*b, *a);
}

static bool decide(struct batsim_scheduler *scheduler, double now_s, json_t *decisions,
		   GError **error)
{
	struct policy_context context = {.arena = scheduler->arena};
	struct sched_snapshot snapshot = {
		.seed = 1,
		.event = scheduler->event++,
		.now_s = now_s,
		.next_event_s = now_s + NEXT_EVENT_S,
		.end_s = FOREVER_S,
		.budget_j = INFINITY,
	};
	g_autofree const struct sched_task **waiting =
		g_new0(const struct sched_task *, scheduler->jobs->len + 1);
	g_autofree struct sched_allocation *running =
		list_places(scheduler, RUNS, now_s, &snapshot.running_count);
	g_autofree struct sched_allocation *planned =
		list_places(scheduler, PLANNED, now_s, &snapshot.reservations_count);
	g_autofree struct sched_node *down = g_new0(struct sched_node, scheduler->nodes);
	struct sched_system *system = make_system(scheduler);
	struct sched_plan plan = {0};
	const char *illegal;

	if (!system)
		g_error("out of memory");
	for (guint i = 0; i < scheduler->jobs->len; i++) {
		const struct job *job = scheduler->jobs->pdata[i];

		if (job->state == WAITS)
			waiting[snapshot.waiting_count++] = &job->task;
	}
	qsort(waiting, snapshot.waiting_count, sizeof(*waiting), before);
	for (uint32_t i = 0; i < scheduler->nodes; i++)
		if (scheduler->down[i])
			down[snapshot.down_count++].node = i;
	snapshot.system = system;
	snapshot.waiting = waiting;
	snapshot.running = running;
	snapshot.reservations = planned;
	snapshot.down = down;
	if (policy_decide(&scheduler->policy, &snapshot, &context, &plan) < 0)
		g_error("out of memory");
	illegal = plan_rules_broken(&snapshot, &plan, scheduler->arena);
	if (!illegal)
		carry_out(scheduler, &plan, now_s, decisions);
	else
		error_fail(error, BATSIM_ERROR, BATSIM_ERROR_MESSAGE, "policy \"%s\": %s",
			   scheduler->policy.name, illegal);
	sched_system_free(system);
	return !illegal;
}

char *batsim_scheduler_answer(struct batsim_scheduler *scheduler, const char *message,
			      bool *ret_over, GError **error)
{
	g_autoptr(json_t) read = json_parse(message, strlen(message), "the message", error);
	g_autoptr(json_t) decisions = json_array();
	g_autoptr(json_t) reply = NULL;
	json_t *events, *event;
	double now_s;
	size_t i;

	if (!read || !json_get_number(read, "now", "the message", &now_s, error) ||
	    !json_get_array(read, "events", "the message", &events, error))
		return NULL;
	json_array_foreach (events, i, event)
		if (!take(scheduler, event, now_s, decisions, ret_over, error))
			return NULL;
	if (!*ret_over && scheduler->nodes > 0) {
		start_planned(scheduler, now_s, decisions);
		if (!decide(scheduler, now_s, decisions, error))
			return NULL;
		ask_call(scheduler, now_s, decisions);
	}
	reply = json_pack("{s:f, s:O}", "now", now_s, "events", decisions);
	return json_text(reply);
}
