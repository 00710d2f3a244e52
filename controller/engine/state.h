/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"

/*
 * The inside of the engine, shared by its files: engine.c (the loop), lifecycle.c (what happens to
 * one task) and mapping_event.c (snapshot, decision, carrying it out).
 */

/* No task: what a free node holds. */
#define ENGINE_NO_TASK UINT32_MAX

/* The lists keep their order: it decides what a policy sees and how ties fall. */
struct engine {
	struct engine_setup setup;
	struct backend *backend;
	struct scratch *scratch;
	struct engine_task *tasks;     /* by index */
	uint32_t **places;             /* per task: room for its nodes */
	uint32_t *places_pool;
	bool *dirty;                   /* per task: changed since it was recorded */

	uint32_t arrivals_next;        /* tasks before it have arrived */
	uint32_t waiting_count;        /* mappable, place-holders included, by arrival and id */
	const struct sched_task **waiting;
	uint32_t running_count;        /* starting and running, in the order of their starts */
	struct sched_running *running;
	uint32_t reservations_count;   /* by start, then id */
	struct sched_planned *reservations;
	uint32_t placeholders_count;   /* by start, then id */
	struct sched_planned *placeholders;
	uint32_t **occupants;          /* per cluster and node: the task on it */
	uint32_t *occupants_pool;
	bool **down;                   /* per cluster and node */
	bool *down_pool;
	uint32_t down_count;
	struct sched_node *down_nodes; /* room for all nodes */
	double due_s;                  /* promises up to this time were tried */
	bool disturbed;                /* something is late: reservations may have to slide */

	uint64_t event_next;           /* number of the next mapping event */
	uint32_t marks_next;
	struct engine_result *marks;
	struct engine_result result;   /* counters so far */
	double completed_j;            /* what completed tasks used */
	double completed_resources;    /* core-seconds */
	bool day_begun;                /* the lead is over */
	double day_j;                  /* energy consumed before the day */
	bool ended;
	char *reason;
};

/* Ends the run as aborted; the first reason given is kept. */
void engine_abort(struct engine *engine, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Tells the recorder about a task at once. */
void engine_record_task(struct engine *engine, uint32_t task);

/* Tells the recorder about an event of a task; reason may be NULL. */
void engine_record_event(struct engine *engine, double time_s, const char *kind, uint32_t task,
			 const char *reason);

/* Tells the recorder about an event of a node. */
void engine_record_node(struct engine *engine, double time_s, const char *kind,
			const struct sched_node *node, const char *reason);

/* Lets what was recorded be made safe. */
void engine_flush(struct engine *engine);

/* lifecycle.c */

/* Takes in the tasks that arrive until `time_s`, inclusive. */
void engine_arrive(struct engine *engine, double time_s);

/* Puts a task into the list of mappable tasks at its place. */
void engine_wait_for(struct engine *engine, uint32_t task);

/* Takes a task out of the list of mappable tasks, if it is there. */
void engine_unwait(struct engine *engine, uint32_t task);

/* Gives a task a place: cluster, P-state, nodes and what follows from them. */
void engine_set_place(struct engine *engine, uint32_t task, uint32_t cluster, uint32_t pstate,
		      const uint32_t *nodes, uint32_t nodes_count);

/*
 * Readies a task for its start at its place: state, times, occupied nodes. It leaves the mappable
 * tasks. The backend is asked by engine_launch(), after the record is safe.
 */
void engine_begin(struct engine *engine, uint32_t task);

/* Adds a completed task to what completed tasks used. */
void engine_count_completed(struct engine *engine, const struct engine_task *task);

/* Takes back a promise of nodes: the task is mappable again. */
void engine_cancel(struct engine *engine, uint32_t task);

/* Asks the backend to start a task that engine_begin() readied. */
void engine_launch(struct engine *engine, uint32_t task);

/* Whether all nodes of the task's place are up and free. */
bool engine_place_free(const struct engine *engine, uint32_t task);

/* Takes note of what the backend says. */
void engine_handle(struct engine *engine, const struct backend_event *event);

/* Kills what runs; what has not ended by the end of the run is unfinished. */
void engine_leave_rest(struct engine *engine);

/* mapping_event.c */

/* Adds a promise to a list ordered by start, then id. */
void engine_promise(struct sched_planned *list, uint32_t *count,
		    const struct sched_planned *planned);

/* Takes the promise of `task` off a list. Returns whether there was one. */
bool engine_unpromise(struct sched_planned *list, uint32_t *count, uint32_t task);

/* The earliest promised start after the last engine_start_due(); INFINITY: none. */
double engine_next_promise_s(const struct engine *engine);

/*
 * Starts what was promised nodes for `time_s` or before and finds them free; what does not is late.
 * Place-holders start before the next mapping event only.
 */
void engine_start_due(struct engine *engine, double time_s);

/* Nodes became free: tries again what is late. */
void engine_retry_late(struct engine *engine, double now_s);

/* The mapping event `engine->event_next` at `now_s`. */
void engine_map(struct engine *engine, double now_s);

/* The day begins: all that was counted so far belongs to the lead. */
void engine_begin_day(struct engine *engine);

/* The share of a task's execution from start_s to end_s that counts. */
double engine_day_share(const struct engine *engine, double start_s, double end_s);

/* When mapping event `event` is. */
static inline double engine_event_s(const struct engine *engine, uint64_t event)
{
	return (double)event * engine->setup.mapping_interval_s;
}
