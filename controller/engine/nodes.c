/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "common/json.h"
#include "controller/engine/engine_private.h"
#include "controller/engine/node_fsm.h"
#include "controller/engine/nodes.h"
#include "controller/engine/state_json.h"

/* How many nodes of a cluster take tasks, and how many of these are idle. */
struct tally {
	uint32_t up;
	uint32_t idle;
};

struct nodes {
	struct engine_node **of;  /* per cluster and node */
	struct engine_node *pool; /* their reasons are owned */
	uint32_t count;           /* of all clusters */
	/* The nodes that take no tasks; room for twice the number of nodes. */
	struct sched_node *closed;
	uint32_t closed_count;
	struct tally *tallies; /* per cluster; valid if `tallied` */
	bool tallied;
	uint32_t *claim_waits; /* per task: engine_claim_waits() */
};

void engine_nodes_init(struct engine *engine, uint32_t tasks_max)
{
	const struct sched_system *system = engine->setup.system;
	struct nodes *nodes = engine->nodes = g_new0(struct nodes, 1);

	for (uint32_t c = 0; c < system->clusters_count; c++)
		nodes->count += system->clusters[c].nodes;
	nodes->of = g_new(struct engine_node *, system->clusters_count);
	nodes->pool = g_new0(struct engine_node, nodes->count);
	nodes->closed = g_new(struct sched_node, 2 * (size_t)nodes->count);
	nodes->tallies = g_new(struct tally, system->clusters_count);
	nodes->claim_waits = g_new0(uint32_t, tasks_max);
	for (uint32_t i = 0; i < nodes->count; i++)
		nodes->pool[i].task = nodes->pool[i].leaver = ENGINE_NO_TASK;
	for (uint32_t c = 0, first = 0; c < system->clusters_count; c++) {
		nodes->of[c] = nodes->pool + first;
		first += system->clusters[c].nodes;
	}
}

void engine_nodes_finish(struct engine *engine)
{
	struct nodes *nodes = engine->nodes;

	for (uint32_t i = 0; i < nodes->count; i++)
		g_free((char *)nodes->pool[i].reason);
	g_free(nodes->of);
	g_free(nodes->pool);
	g_free(nodes->closed);
	g_free(nodes->tallies);
	g_free(nodes->claim_waits);
	g_free(nodes);
}

static struct engine_node *node_at(const struct engine *engine, uint32_t cluster, uint32_t node)
{
	return &engine->nodes->of[cluster][node];
}

uint32_t engine_nodes_count(const struct engine *engine)
{
	return engine->nodes->count;
}

/* Tasks. */

uint32_t engine_node_task(const struct engine *engine, uint32_t cluster, uint32_t node)
{
	return node_at(engine, cluster, node)->task;
}

void engine_set_node_task(struct engine *engine, uint32_t cluster, uint32_t node, uint32_t task)
{
	engine->nodes->tallied = false;
	node_at(engine, cluster, node)->task = task;
}

uint32_t engine_node_leaver(const struct engine *engine, uint32_t cluster, uint32_t node)
{
	return node_at(engine, cluster, node)->leaver;
}

void engine_set_node_leaver(struct engine *engine, uint32_t cluster, uint32_t node, uint32_t task)
{
	engine->nodes->tallied = false;
	node_at(engine, cluster, node)->leaver = task;
}

uint32_t engine_claim_waits(const struct engine *engine, uint32_t task)
{
	return engine->nodes->claim_waits[task];
}

void engine_set_claim_waits(struct engine *engine, uint32_t task, uint32_t count)
{
	engine->nodes->claim_waits[task] = count;
}

/* States. */

static void remove_closed(struct nodes *nodes, const struct sched_node *node)
{
	for (uint32_t i = 0; i < nodes->closed_count; i++)
		if (nodes->closed[i].cluster == node->cluster &&
		    nodes->closed[i].node == node->node)
			nodes->closed[i--] = nodes->closed[--nodes->closed_count];
}

bool engine_move_node(struct engine *engine, const struct sched_node *at, enum node_event event,
		      const char *reason)
{
	struct engine_node *node = node_at(engine, at->cluster, at->node);
	const bool was_up = node->state == NODE_UP;

	if (!fsm_move(&node_fsm, &node->state, event, "of the engine"))
		return false;
	if (event == NODE_DRAIN || event == NODE_UNDRAIN) {
		g_free((char *)node->reason);
		node->reason = event == NODE_DRAIN ? g_strdup(reason) : NULL;
	}
	engine->nodes->tallied = false;
	if (was_up)
		engine->nodes->closed[engine->nodes->closed_count++] = *at;
	else if (node->state == NODE_UP)
		remove_closed(engine->nodes, at);
	return true;
}

const struct engine_node *engine_nodes_of(const struct engine *engine, uint32_t cluster)
{
	return engine->nodes->of[cluster];
}

bool engine_node_takes_tasks(const struct engine *engine, uint32_t cluster, uint32_t node)
{
	return node_at(engine, cluster, node)->state == NODE_UP;
}

bool engine_node_idle(const struct engine *engine, uint32_t cluster, uint32_t node)
{
	const struct engine_node *at = node_at(engine, cluster, node);

	return at->task == ENGINE_NO_TASK && at->leaver == ENGINE_NO_TASK && at->state == NODE_UP;
}

struct sched_node *engine_closed_nodes(const struct engine *engine, uint32_t *ret_count)
{
	*ret_count = engine->nodes->closed_count;
	return engine->nodes->closed;
}

static void count_tallies(const struct engine *engine)
{
	for (uint32_t c = 0; c < engine->setup.system->clusters_count; c++) {
		struct tally *tally = &engine->nodes->tallies[c];

		*tally = (struct tally){0};
		for (uint32_t n = 0; n < engine->setup.system->clusters[c].nodes; n++) {
			tally->up += engine_node_takes_tasks(engine, c, n);
			tally->idle += engine_node_idle(engine, c, n);
		}
	}
	engine->nodes->tallied = true;
}

uint32_t engine_count_nodes(const struct engine *engine, uint32_t cluster, bool idle)
{
	const struct tally *tally = &engine->nodes->tallies[cluster];

	if (!engine->nodes->tallied)
		count_tallies(engine);
	return idle ? tally->idle : tally->up;
}

struct engine_node engine_node_at(const struct engine *engine, uint32_t cluster, uint32_t node)
{
	return *node_at(engine, cluster, node);
}

bool engine_drained(const struct engine *engine, uint32_t cluster, uint32_t node)
{
	return cluster < engine->setup.system->clusters_count &&
	       node < engine->setup.system->clusters[cluster].nodes &&
	       node_state_is_drained(node_at(engine, cluster, node)->state);
}

/* Lists of nodes. */

bool engine_place_free(const struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];

	for (uint32_t i = 0; i < task->nodes_count; i++)
		if (!engine_node_idle(engine, task->cluster, task->nodes[i]))
			return false;
	return true;
}

bool engine_nodes_meet(const uint32_t *nodes, uint32_t count, const uint32_t *others,
		       uint32_t others_count)
{
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < others_count; k++)
			if (nodes[i] == others[k])
				return true;
	return false;
}

static int by_number(const void *left, const void *right)
{
	const uint32_t a = *(const uint32_t *)left;
	const uint32_t b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

void engine_sort_nodes(uint32_t *nodes, uint32_t count)
{
	qsort(nodes, count, sizeof(*nodes), by_number);
}

/* Full states. */

/* A task by its number + 1, so that none is 0. */
static void put_task(json_t *object, const char *name, uint32_t task)
{
	state_put(object, name, task == ENGINE_NO_TASK ? NULL : json_integer((json_int_t)task + 1));
}

static bool read_task(const struct engine *engine, const json_t *value, uint32_t *ret_task)
{
	*ret_task = ENGINE_NO_TASK;
	if (!value)
		return true;
	if (!state_read_u32(value, engine->setup.workload->tasks_count + 1, ret_task) ||
	    *ret_task == 0)
		return false;
	--*ret_task;
	return true;
}

json_t *engine_save_nodes(const struct engine *engine)
{
	const struct nodes *nodes = engine->nodes;
	json_t *list = json_array();
	json_t *closed = json_array();

	for (uint32_t i = 0; i < nodes->count; i++) {
		const struct engine_node *node = &nodes->pool[i];
		json_t *object = json_object();

		state_put(object, "state", node->state ? json_integer(node->state) : NULL);
		put_task(object, "task", node->task);
		put_task(object, "leaver", node->leaver);
		state_put(object, "reason",
			  node->reason ? json_string_or_null(node->reason) : NULL);
		json_array_append_new(list, object);
	}
	for (uint32_t i = 0; i < nodes->closed_count; i++)
		json_array_append_new(closed,
				      json_pack("[I, I]", (json_int_t)nodes->closed[i].cluster,
						(json_int_t)nodes->closed[i].node));
	return json_pack("{s:o, s:o}", "all", list, "closed", closed);
}

static bool load_node(struct engine *engine, struct engine_node *node, const json_t *object)
{
	const json_t *state = json_object_get(object, "state");
	uint32_t number = 0;

	if ((state && !state_read_u32(state, NODE_STATES, &number)) ||
	    !read_task(engine, json_object_get(object, "task"), &node->task) ||
	    !read_task(engine, json_object_get(object, "leaver"), &node->leaver))
		return false;
	node->state = (enum node_state)number;
	node->reason = g_strdup(json_string_value(json_object_get(object, "reason")));
	return true;
}

static bool load_closed(struct nodes *nodes, const struct sched_system *system,
			const json_t *closed)
{
	const size_t count = json_array_size(closed);

	if (count > nodes->count)
		return false;
	for (size_t i = 0; i < count; i++) {
		const json_t *pair = json_array_get(closed, i);
		struct sched_node *node = &nodes->closed[i];

		if (!state_read_u32(json_array_get(pair, 0), system->clusters_count,
				    &node->cluster) ||
		    !state_read_u32(json_array_get(pair, 1), system->clusters[node->cluster].nodes,
				    &node->node))
			return false;
	}
	nodes->closed_count = (uint32_t)count;
	return true;
}

bool engine_load_nodes(struct engine *engine, const json_t *state)
{
	struct nodes *nodes = engine->nodes;
	const json_t *list = json_object_get(state, "all");

	if (json_array_size(list) != nodes->count)
		return false;
	for (uint32_t i = 0; i < nodes->count; i++)
		if (!load_node(engine, &nodes->pool[i], json_array_get(list, i)))
			return false;
	nodes->tallied = false;
	return load_closed(nodes, engine->setup.system, json_object_get(state, "closed"));
}
