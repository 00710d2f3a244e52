/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reservations and place-holders, ordered by start: they start their tasks when they are due, and
 * slide behind tasks that are late.
 */
#include <math.h>
#include <string.h>

#include "controller/engine/engine_private.h"
#include "controller/engine/engine_record.h"
#include "controller/engine/lifecycle.h"
#include "controller/engine/mapping_clock.h"
#include "controller/engine/nodes.h"
#include "controller/engine/reservations.h"
#include "controller/engine/state_json.h"
#include "controller/engine/task_lists.h"
#include "controller/engine/window.h"

/* Planned starts, by start, then id. */
struct planned_list {
	uint32_t count;
	struct sched_allocation *entries; /* room for all tasks */
};

struct planned {
	struct planned_list reservations;
	struct planned_list placeholders;
	double due_s;   /* entries that start by then were tried */
	bool disturbed; /* a task is late: reservations may have to be moved */
	/*
	 * Reservations are to be recomputed at the next event: nodes became free that were not
	 * expected (they were down, or had a late task).
	 */
	bool replan_due;
};

void engine_planned_init(struct engine *engine, uint32_t tasks_max)
{
	engine->planned = g_new0(struct planned, 1);
	engine->planned->reservations.entries = g_new(struct sched_allocation, tasks_max);
	engine->planned->placeholders.entries = g_new(struct sched_allocation, tasks_max);
	engine->planned->due_s = -INFINITY;
}

void engine_planned_finish(struct engine *engine)
{
	g_free(engine->planned->reservations.entries);
	g_free(engine->planned->placeholders.entries);
	g_free(engine->planned);
}

/* The lists. */

const struct sched_allocation *engine_reservations(const struct engine *engine, uint32_t *ret_count)
{
	*ret_count = engine->planned->reservations.count;
	return engine->planned->reservations.entries;
}

const struct sched_allocation *engine_placeholders(const struct engine *engine, uint32_t *ret_count)
{
	*ret_count = engine->planned->placeholders.count;
	return engine->planned->placeholders.entries;
}

static bool starts_before(const struct sched_allocation *a, const struct sched_allocation *b)
{
	return a->start_s != b->start_s ? a->start_s < b->start_s : a->task->id < b->task->id;
}

static void insert_planned(struct planned_list *list, const struct sched_allocation *planned)
{
	uint32_t i = list->count;

	while (i > 0 && starts_before(planned, &list->entries[i - 1]))
		i--;
	memmove(list->entries + i + 1, list->entries + i,
		(list->count - i) * sizeof(*list->entries));
	list->entries[i] = *planned;
	list->count++;
}

/* The list that has the planned start of a task. */
static struct planned_list *list_of(struct engine *engine, const struct engine_task *task)
{
	return task->reservation ? &engine->planned->reservations : &engine->planned->placeholders;
}

void engine_insert_planned(struct engine *engine, uint32_t index, double start_s, double end_s)
{
	const struct engine_task *task = &engine->tasks[index];
	const struct sched_allocation planned = {
		.task = task->task,
		.cluster = task->cluster,
		.pstate = task->pstate,
		.nodes_count = task->nodes_count,
		.nodes = task->nodes,
		.start_s = start_s,
		.end_s = end_s,
	};

	insert_planned(list_of(engine, task), &planned);
}

void engine_remove_planned(struct engine *engine, uint32_t index)
{
	struct planned_list *list = list_of(engine, &engine->tasks[index]);
	uint32_t i = 0;

	while (i < list->count && list->entries[i].task->id != index)
		i++;
	g_assert(i < list->count);
	list->count--;
	memmove(list->entries + i, list->entries + i + 1,
		(list->count - i) * sizeof(*list->entries));
}

/* The first start after `after_s` in a list ordered by start. */
static double first_after(const struct planned_list *list, double after_s)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->entries[i].start_s > after_s)
			return list->entries[i].start_s;
	return INFINITY;
}

double engine_next_reservation_s(const struct engine *engine)
{
	return fmin(first_after(&engine->planned->reservations, engine->planned->due_s),
		    first_after(&engine->planned->placeholders, engine->planned->due_s));
}

static bool share_nodes(const struct sched_allocation *a, const struct sched_allocation *b)
{
	return a->cluster == b->cluster &&
	       engine_nodes_meet(a->nodes, a->nodes_count, b->nodes, b->nodes_count);
}

/* Whether an earlier, late entry of the list needs one of the nodes of entry `i`. */
static bool overtakes(const struct planned_list *list, uint32_t i)
{
	for (uint32_t j = 0; j < i; j++)
		if (share_nodes(&list->entries[j], &list->entries[i]))
			return true;
	return false;
}

/* Due starts. */

/* Why reservations slide or are cancelled; each is a bit of engine_task.slid. */
enum slide { SLIDE_BUSY, SLIDE_LATE, SLIDE_REPLANNED, SLIDE_GONE, SLIDE_ENERGY };

static const struct {
	enum engine_event_kind kind;
	const char *why;     /* NULL: the code that cancels these records the event */
	const char *overdue; /* why a task started later than its reservation said */
} slides[] = {
	[SLIDE_BUSY] = {ENGINE_EVENT_SLID, "its nodes are still busy",
			"what ran on its nodes was late"},
	[SLIDE_LATE] = {ENGINE_EVENT_SLID, "what runs on its nodes is late",
			"what ran on its nodes was late"},
	[SLIDE_REPLANNED] = {ENGINE_EVENT_CANCELLED,
			     "nodes became free unexpectedly: planned again",
			     "planned again when nodes became free unexpectedly"},
	[SLIDE_GONE] = {ENGINE_EVENT_CANCELLED, NULL, "a node of its place went"},
	[SLIDE_ENERGY] = {ENGINE_EVENT_CANCELLED, NULL, "the window had no energy left for it"},
};

/*
 * Records why a reservation slid or was cancelled. A service, which does not end, records each
 * reason once per task until the task starts: all waiting tasks may be concerned at every event.
 */
static void record_slide(struct engine *engine, double time_s, uint32_t index, enum slide why)
{
	struct engine_task *task = &engine->tasks[index];

	if (!engine->setup.open || !(task->slid & 1U << why))
		engine_record_event(engine, time_s, slides[why].kind, index, slides[why].why);
	task->slid |= 1U << why;
}

static void cancel_on(struct engine *engine, struct planned_list *list,
		      const struct sched_allocation *place, double time_s, const char *reason)
{
	for (uint32_t i = 0; i < list->count;) {
		const uint32_t task = list->entries[i].task->id;

		if (list->entries[i].start_s >= place->end_s ||
		    !share_nodes(&list->entries[i], place)) {
			i++;
			continue;
		}
		engine_remove_planned(engine, task);
		engine_cancel_planned(engine, task);
		if (reason) {
			engine->tasks[task].slid |= 1U << SLIDE_GONE;
			engine_record_event(engine, time_s, ENGINE_EVENT_CANCELLED, task, reason);
		}
		engine_record_task(engine, task);
	}
}

void engine_cancel_reservations_on(struct engine *engine, const struct sched_allocation *place,
				   double time_s, const char *reason)
{
	cancel_on(engine, &engine->planned->reservations, place, time_s, reason);
}

void engine_cancel_planned_on(struct engine *engine, const struct sched_allocation *place,
			      double time_s, const char *reason)
{
	cancel_on(engine, &engine->planned->reservations, place, time_s, reason);
	cancel_on(engine, &engine->planned->placeholders, place, time_s, reason);
}

void engine_cancel_placeholders(struct engine *engine)
{
	struct planned_list *list = &engine->planned->placeholders;

	for (uint32_t i = 0; i < list->count; i++)
		engine_cancel_planned(engine, list->entries[i].task->id);
	list->count = 0;
}

/*
 * The reasons in one text: "what ran on its nodes was late; a node of its place went". The caller
 * frees.
 */
static char *overdue_reasons(unsigned int slid)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < G_N_ELEMENTS(slides); i++)
		if (slid & 1U << i && !strstr(text->str, slides[i].overdue))
			g_string_append_printf(text, "%s%s", text->len ? "; " : "",
					       slides[i].overdue);
	return g_string_free(text, FALSE);
}

/*
 * A start at most this late is on time: it may wait for the message that its nodes are free, for
 * timers of whole milliseconds and for earlier work of the main loop, some ten milliseconds in all
 * on a loaded machine.
 */
#define ON_TIME_S 0.1

void engine_settle_reservation(struct engine *engine, uint32_t index, double start_s)
{
	struct engine_task *task = &engine->tasks[index];
	const double overdue_s = start_s - task->promised_s;
	g_autofree char *reasons = NULL;
	g_autofree char *text = NULL;

	task->promised_s = INFINITY;
	if (!(overdue_s > ON_TIME_S))
		return;
	reasons = overdue_reasons(task->slid);
	text = g_strdup_printf("starts %.3f s later than promised%s%s", overdue_s,
			       *reasons ? ": " : "", reasons);
	engine_record_event(engine, start_s, ENGINE_EVENT_OVERDUE, index, text);
}

/* Starts the entries of a list that are due by `due_s`, in its order. */
static void start_due(struct engine *engine, struct planned_list *list, double due_s, double now_s)
{
	for (uint32_t i = 0;
	     i < list->count && list->entries[i].start_s <= due_s && !engine->ended;) {
		const uint32_t task = list->entries[i].task->id;
		const double planned_s = list->entries[i].start_s;

		if (overtakes(list, i) || !engine_place_free(engine, task)) {
			if (planned_s > engine->planned->due_s)
				record_slide(engine, now_s, task, SLIDE_BUSY);
			engine->planned->disturbed = true;
			i++;
			continue;
		}
		engine_remove_planned(engine, task);
		if (engine_window_refuses(engine, task)) {
			engine->tasks[task].slid |= 1U << SLIDE_ENERGY;
			engine_cancel_planned(engine, task);
			engine_record_task(engine, task);
			continue;
		}
		/* If its nodes were busy when it was due, it starts between events, now. */
		engine_settle_reservation(engine, task,
					  engine->tasks[task].slid & 1U << SLIDE_BUSY ? now_s
										      : planned_s);
		engine_begin(engine, task);
		engine_record_task(engine, task);
		engine_flush(engine);
		engine_launch(engine, task);
	}
}

static void start_due_lists(struct engine *engine, double due_s, double now_s)
{
	start_due(engine, &engine->planned->reservations, due_s, now_s);
	if (now_s < engine_next_event_s(engine))
		start_due(engine, &engine->planned->placeholders, due_s, now_s);
}

void engine_start_due(struct engine *engine, double time_s)
{
	start_due_lists(engine, time_s, time_s);
	engine->planned->due_s = fmax(engine->planned->due_s, time_s);
}

void engine_retry_late(struct engine *engine, double now_s)
{
	start_due_lists(engine, engine->planned->due_s, now_s);
}

/* Late tasks. */

void engine_extend_overruns(struct engine *engine, double now_s, double next_s)
{
	running_list_settle(&engine->running);
	for (uint32_t i = 0; i < engine->running.count; i++) {
		struct sched_allocation *running = &engine->running.entries[i];
		struct engine_task *task = &engine->tasks[running->task->id];

		if (running->end_s > now_s)
			continue;
		if (engine_task_state_in(task->state,
					 ENGINE_TASK_ANY_STARTING |
						 ENGINE_TASK_SET(ENGINE_TASK_RUNNING)) &&
		    running->end_s > running->start_s &&
		    running->end_s == engine_expected_end_s(task, running->start_s))
			engine_record_event(engine, now_s, ENGINE_EVENT_LATE, running->task->id,
					    "runs longer than estimated");
		running->end_s = task->expected_end_s = next_s;
		if (engine_has_claim(engine, running->task->id))
			task->claims_late = true;
		else
			task->late = true;
		engine->planned->disturbed = true;
	}
}

void engine_disturb_reservations(struct engine *engine)
{
	engine->planned->disturbed = true;
}

void engine_replan_for_node(struct engine *engine)
{
	engine->planned->replan_due = true;
}

void engine_replan_reservations(struct engine *engine)
{
	if (!engine->setup.open)
		return;
	engine->planned->replan_due = true;
	engine_want_mapping(engine);
}

void engine_clear_overrun(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];

	if (task->late)
		engine_replan_reservations(engine);
	task->late = false;
}

/* When the running tasks and the entries before it will have left the nodes of `planned`. */
static double free_s(const struct engine *engine, const struct sched_allocation *planned,
		     const struct planned_list *before)
{
	double time_s = 0;

	for (uint32_t i = 0; i < planned->nodes_count; i++) {
		const uint32_t occupant =
			engine_node_task(engine, planned->cluster, planned->nodes[i]);

		if (occupant != ENGINE_NO_TASK)
			time_s = fmax(time_s, engine->tasks[occupant].expected_end_s);
	}
	for (uint32_t i = 0; i < before->count; i++)
		if (share_nodes(&before->entries[i], planned))
			time_s = fmax(time_s, before->entries[i].end_s);
	return time_s;
}

void engine_slide_reservations(struct engine *engine, double now_s)
{
	struct planned_list *list = &engine->planned->reservations;
	const uint32_t count = list->count;
	g_autofree struct sched_allocation *old = NULL;
	bool moved = false;

	if (!engine->planned->disturbed)
		return;
	old = g_memdup2(list->entries, count * sizeof(*list->entries));
	list->count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct sched_allocation planned = old[i];
		struct engine_task *task = &engine->tasks[planned.task->id];
		const double start_s =
			fmax(fmax(planned.start_s, now_s), free_s(engine, &planned, list));

		if (start_s > planned.start_s) {
			moved = true;
			planned.start_s = task->planned_start_s = start_s;
			planned.end_s = start_s + task->etc_s;
			record_slide(engine, now_s, planned.task->id, SLIDE_LATE);
			engine_record_task(engine, planned.task->id);
		}
		insert_planned(list, &planned);
	}
	engine->planned->disturbed = moved;
}

void engine_take_back_reservations(struct engine *engine, double now_s)
{
	struct planned_list *list = &engine->planned->reservations;

	if (!engine->planned->replan_due)
		return;
	engine->planned->replan_due = false;
	while (list->count > 0) {
		const uint32_t task = list->entries[--list->count].task->id;

		engine_cancel_planned(engine, task);
		record_slide(engine, now_s, task, SLIDE_REPLANNED);
		engine_record_task(engine, task);
	}
}

/* Full states. */

static const struct state_field planned_fields[] = {
	STATE_FIELD(planned, due_s, SUM),
	STATE_FIELD(planned, disturbed, BOOL),
	STATE_FIELD(planned, replan_due, BOOL),
	{NULL},
};

static json_t *save_list(const struct planned_list *list)
{
	json_t *entries = json_array();

	for (uint32_t i = 0; i < list->count; i++)
		json_array_append_new(entries,
				      json_pack("[I, o, o]", (json_int_t)list->entries[i].task->id,
						state_write_real(list->entries[i].start_s),
						state_write_real(list->entries[i].end_s)));
	return entries;
}

json_t *engine_save_planned(const struct engine *engine)
{
	json_t *state = state_write(planned_fields, engine->planned);

	state_put(state, "reservations", save_list(&engine->planned->reservations));
	state_put(state, "placeholders", save_list(&engine->planned->placeholders));
	return state;
}

/* The entries of one list: tasks that are PLANNED, with a reservation or not. */
static bool load_list(struct engine *engine, const json_t *entries, bool reservations)
{
	const size_t count = json_array_size(entries);
	uint32_t before = 0;

	for (size_t i = 0; i < count; i++) {
		const json_t *entry = json_array_get(entries, i);
		const struct engine_task *task;
		uint32_t index;
		double start_s, end_s;

		if (!state_read_u32(json_array_get(entry, 0), engine->setup.workload->tasks_count,
				    &index) ||
		    !state_read_real(json_array_get(entry, 1), &start_s) ||
		    !state_read_real(json_array_get(entry, 2), &end_s))
			return false;
		task = &engine->tasks[index];
		if (task->state != ENGINE_TASK_PLANNED || task->reservation != reservations ||
		    task->nodes_count == 0 || (i > 0 && index == before))
			return false;
		engine_insert_planned(engine, index, start_s, end_s);
		before = index;
	}
	return list_of(engine, &(struct engine_task){.reservation = reservations})->count == count;
}

bool engine_load_planned(struct engine *engine, const json_t *state)
{
	const json_t *reservations = json_object_get(state, "reservations");
	const json_t *placeholders = json_object_get(state, "placeholders");

	return state_read(planned_fields, state, engine->planned) &&
	       json_array_size(reservations) <= engine->setup.workload->tasks_count &&
	       json_array_size(placeholders) <= engine->setup.workload->tasks_count &&
	       load_list(engine, reservations, true) && load_list(engine, placeholders, false);
}
