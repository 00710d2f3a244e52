/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/sched/scripted_backend.h"

#include <math.h>

/* An event to come. */
struct coming {
	struct backend_event event;
	uint32_t cluster;
	uint32_t *nodes; /* that an end frees */
	uint32_t nodes_count;
};

struct scripted {
	struct backend backend;
	const struct script *script;
	double now_s;
	double limit_j;
	GQueue coming; /* of struct coming, by time */
	GQueue late;   /* of struct coming: told after settle() */
	GHashTable *taken;
	GString *log;
};

static gpointer node_key(uint32_t cluster, uint32_t node)
{
	return GUINT_TO_POINTER(cluster << 16 | node);
}

static gint compare_coming(gconstpointer left, gconstpointer right, gpointer data)
{
	const struct coming *a = left;
	const struct coming *b = right;

	return (a->event.time_s > b->event.time_s) - (a->event.time_s < b->event.time_s);
}

static void free_coming(gpointer data)
{
	struct coming *coming = data;

	g_free(coming->nodes);
	g_free(coming);
}

static void add_to(GQueue *queue, const struct coming *coming)
{
	g_queue_insert_sorted(queue, g_memdup2(coming, sizeof(*coming)), compare_coming, NULL);
}

static void add(struct scripted *scripted, const struct coming *coming)
{
	add_to(&scripted->coming, coming);
}

static double scripted_now_s(struct backend *backend)
{
	return ((struct scripted *)backend)->now_s;
}

static double scripted_energy_j(struct backend *backend)
{
	struct scripted *scripted = (struct scripted *)backend;

	return scripted->script->watts * scripted->now_s;
}

static void scripted_set_limit(struct backend *backend, double limit_j)
{
	((struct scripted *)backend)->limit_j = limit_j;
}

static const struct script_attempt *find_attempt(const struct script *script, uint32_t task,
						 uint32_t attempt)
{
	for (uint32_t i = 0; i < script->attempts_count; i++)
		if (script->attempts[i].task == task && script->attempts[i].attempt == attempt)
			return &script->attempts[i];
	return NULL;
}

static void take_nodes(struct scripted *scripted, const struct backend_start *start)
{
	for (uint32_t i = 0; i < start->nodes_count; i++) {
		g_assert_cmpuint(start->nodes[i], <,
				 scripted->script->system->clusters[start->cluster].nodes);
		g_assert_true(g_hash_table_add(scripted->taken,
					       node_key(start->cluster, start->nodes[i])));
	}
}

void scripted_backend_adopt(struct backend *backend, const struct backend_start *start,
			    double start_s)
{
	struct scripted *scripted = (struct scripted *)backend;
	const struct script *script = scripted->script;
	const struct script_attempt *attempt = find_attempt(script, start->task, start->attempt);
	const struct sched_option *option =
		sched_system_option(script->system, start->type, start->cluster, start->pstate);
	const double exec_s = attempt ? attempt->exec_s : option->etc_s;

	take_nodes(scripted, start);
	add_to(attempt && attempt->late ? &scripted->late : &scripted->coming, &(struct coming){
		.event = {
			.kind = BACKEND_EVENT_ENDED,
			.time_s = start_s + exec_s,
			.task = start->task,
			.attempt = start->attempt,
			.outcome = attempt ? attempt->outcome : BACKEND_OUTCOME_COMPLETED,
			.exec_s = exec_s,
			.energy_j = option->eec_j,
		},
		.cluster = start->cluster,
		.nodes = g_memdup2(start->nodes, start->nodes_count * sizeof(uint32_t)),
		.nodes_count = start->nodes_count,
	});
}

static void scripted_start(struct backend *backend, const struct backend_start *start)
{
	struct scripted *scripted = (struct scripted *)backend;

	g_string_append_printf(scripted->log, "%g start %u.%u c%u ", scripted->now_s, start->task,
			       start->attempt, start->cluster);
	for (uint32_t i = 0; i < start->nodes_count; i++)
		g_string_append_printf(scripted->log, "%s%u", i ? "," : "", start->nodes[i]);
	g_string_append_c(scripted->log, '\n');
	add(scripted, &(struct coming){
		.event = {
			.kind = BACKEND_EVENT_STARTED,
			.time_s = scripted->now_s,
			.task = start->task,
			.attempt = start->attempt,
		},
	});
	scripted_backend_adopt(backend, start, scripted->now_s);
}

static void scripted_kill(struct backend *backend, uint32_t task, uint32_t attempt)
{
	struct scripted *scripted = (struct scripted *)backend;

	g_string_append_printf(scripted->log, "%g kill %u.%u\n", scripted->now_s, task, attempt);
}

static void happen(struct scripted *scripted, const struct coming *coming)
{
	const struct backend_event *event = &coming->event;

	scripted->now_s = MAX(scripted->now_s, event->time_s);
	for (uint32_t i = 0; i < coming->nodes_count; i++)
		g_hash_table_remove(scripted->taken, node_key(coming->cluster, coming->nodes[i]));
	if (event->kind == BACKEND_EVENT_NODE_DOWN)
		g_hash_table_add(scripted->taken, node_key(event->cluster, event->node));
	if (event->kind == BACKEND_EVENT_NODE_UP)
		g_hash_table_remove(scripted->taken, node_key(event->cluster, event->node));
	if (event->kind == BACKEND_EVENT_ENDED && scripted->script->twice && coming->nodes)
		add(scripted, &(struct coming){ .event = *event });
}

static void scripted_wait(struct backend *backend, double until_s, struct backend_event *ret_event)
{
	struct scripted *scripted = (struct scripted *)backend;
	struct coming *next = g_queue_peek_head(&scripted->coming);
	const double limit_s = scripted->limit_j > 0 && scripted->script->watts > 0
				       ? scripted->limit_j / scripted->script->watts
				       : (double)INFINITY;

	if (next && next->event.time_s <= until_s && next->event.time_s <= limit_s) {
		g_queue_pop_head(&scripted->coming);
		happen(scripted, next);
		*ret_event = next->event;
		free_coming(next);
	} else if (limit_s <= until_s) {
		scripted->now_s = limit_s;
		scripted->limit_j = 0;
		*ret_event = (struct backend_event){ BACKEND_EVENT_ENERGY_LIMIT, limit_s };
	} else {
		scripted->now_s = MAX(scripted->now_s, until_s);
		*ret_event = (struct backend_event){ .kind = BACKEND_EVENT_NONE };
	}
}

static void scripted_settle(struct backend *backend)
{
	struct scripted *scripted = (struct scripted *)backend;
	struct coming *late;

	while ((late = g_queue_pop_head(&scripted->late)))
		g_queue_insert_sorted(&scripted->coming, late, compare_coming, NULL);
}

static void scripted_destroy(struct backend *backend)
{
	struct scripted *scripted = (struct scripted *)backend;

	g_queue_clear_full(&scripted->coming, free_coming);
	g_queue_clear_full(&scripted->late, free_coming);
	g_hash_table_unref(scripted->taken);
	g_string_free(scripted->log, TRUE);
	g_free(scripted);
}

static const struct backend_ops scripted_ops = {
	.name = "scripted",
	.now_s = scripted_now_s,
	.start = scripted_start,
	.kill = scripted_kill,
	.energy_j = scripted_energy_j,
	.set_limit = scripted_set_limit,
	.wait = scripted_wait,
	.settle = scripted_settle,
	.destroy = scripted_destroy,
};

struct backend *scripted_backend_new(const struct script *script)
{
	struct scripted *scripted = g_new0(struct scripted, 1);

	scripted->backend.ops = &scripted_ops;
	scripted->script = script;
	scripted->now_s = script->now_s;
	scripted->taken = g_hash_table_new(NULL, NULL);
	scripted->log = g_string_new(NULL);
	g_queue_init(&scripted->coming);
	g_queue_init(&scripted->late);
	for (uint32_t i = 0; i < script->events_count; i++)
		if (script->events[i].time_s >= script->now_s)
			add(scripted, &(struct coming){
				.event = {
					.kind = script->events[i].kind,
					.time_s = script->events[i].time_s,
					.cluster = script->events[i].cluster,
					.node = script->events[i].node,
					.reason = script->events[i].reason,
				},
			});
	return &scripted->backend;
}

const char *scripted_backend_log(struct backend *backend)
{
	return ((struct scripted *)backend)->log->str;
}
