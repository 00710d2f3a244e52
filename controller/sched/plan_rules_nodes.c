/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nodes of a task's own. The plan is gone through once, with the nodes that are taken at present;
 * then the intervals of each node are sorted and compared, for all times after it.
 */
#include "controller/sched/plan_rules_models.h"

#include <stdlib.h>

#include "controller/sched/energy.h"
#include "controller/sched/rank_key.h"

/* The task that has a node, and the action that gives it to the task. */
struct owner {
	uint32_t action; /* UINT32_MAX: none */
	uint32_t task;
};

/* A span of time in which a node is taken. */
struct span {
	double start_s;
	double end_s;
	struct owner owner;
};

/* The state of a check. Nodes of all clusters are numbered through. */
struct nodes {
	struct rules *rules;
	uint32_t *first;       /* clusters + 1: the number of a cluster's first node */
	bool *down;            /* per node */
	uint32_t *has;         /* per node: the task that has it at present, + 1; 0: none */
	double *end_s;         /* per action that places a task: when its nodes are free again */
	struct energy energy;  /* what remains of the budget, where the snapshot has a gate */
	uint32_t *spans_first; /* nodes + 1 */
	struct span *spans;
};

static bool is_now(enum sched_action_kind kind)
{
	return kind == SCHED_ACTION_START || kind == SCHED_ACTION_RESUME;
}

static bool places(enum sched_action_kind kind)
{
	return is_now(kind) || kind == SCHED_ACTION_PLACEHOLDER || kind == SCHED_ACTION_RESERVE;
}

static void set_has(struct nodes *nodes, uint32_t cluster, const uint32_t *list, uint32_t count,
		    uint32_t has)
{
	for (uint32_t i = 0; i < count; i++)
		nodes->has[nodes->first[cluster] + list[i]] = has;
}

static bool init(struct nodes *nodes)
{
	static const struct policy no_filter;
	struct rules *rules = nodes->rules;
	const struct sched_snapshot *snapshot = rules->snapshot;
	const uint32_t clusters = rules->system->clusters_count;
	uint32_t total;

	nodes->first = rules_array(rules, clusters + 1, sizeof(*nodes->first));
	if (!nodes->first)
		return false;
	for (uint32_t c = 0; c < clusters; c++)
		nodes->first[c + 1] = nodes->first[c] + rules->system->clusters[c].nodes;
	total = nodes->first[clusters];
	nodes->down = rules_array(rules, total, sizeof(*nodes->down));
	nodes->has = rules_array(rules, total, sizeof(*nodes->has));
	nodes->end_s = rules_array(rules, rules->plan->actions_count, sizeof(*nodes->end_s));
	nodes->spans_first = rules_array(rules, (size_t)total + 1, sizeof(*nodes->spans_first));
	if (!nodes->down || !nodes->has || !nodes->end_s || !nodes->spans_first)
		return false;
	energy_begin(&nodes->energy, &no_filter, snapshot, NULL, 0);
	for (uint32_t i = 0; i < snapshot->down_count; i++)
		nodes->down[nodes->first[snapshot->down[i].cluster] + snapshot->down[i].node] =
			true;
	for (uint32_t i = 0; i < snapshot->running_count; i++)
		set_has(nodes, snapshot->running[i].cluster, snapshot->running[i].nodes,
			snapshot->running[i].nodes_count, snapshot->running[i].task->id + 1);
	return true;
}

/* One action. */

static bool check_time(struct nodes *nodes, uint32_t action)
{
	const struct sched_snapshot *snapshot = nodes->rules->snapshot;
	const struct sched_action *asked = &nodes->rules->plan->actions[action];

	if (!isfinite(asked->start_s))
		return rules_refuse(nodes->rules, action, "its start_s is not a number");
	if (is_now(asked->kind) && asked->start_s != snapshot->now_s)
		return rules_refuse(nodes->rules, action,
				    "it begins at %.17g s, which is not now, %.17g s",
				    asked->start_s, snapshot->now_s);
	if (!is_now(asked->kind) && asked->start_s <= snapshot->now_s)
		return rules_refuse(nodes->rules, action,
				    "it begins at %.17g s, which is not after now, %.17g s",
				    asked->start_s, snapshot->now_s);
	if (asked->kind != SCHED_ACTION_RESUME && asked->start_s >= snapshot->end_s)
		return rules_refuse(
			nodes->rules, action,
			"it begins at %.17g s; the last start is before the end, %.17g s",
			asked->start_s, snapshot->end_s);
	return true;
}

/* Checks the cluster, the P-state and the nodes, and finds the option; NULL with a sentence. */
static const struct sched_option *check_option(struct nodes *nodes, uint32_t action,
					       const struct rules_task *task)
{
	struct rules *rules = nodes->rules;
	const struct sched_action *asked = &rules->plan->actions[action];
	const struct sched_option *option;
	const char *name;

	if (!rules_check_cluster(rules, action))
		return NULL;
	name = rules->system->clusters[asked->cluster].name;
	option = sched_system_option(rules->system, task->task->row, asked->cluster, asked->pstate);
	if (!option) {
		rules_refuse(rules, action, "it cannot run in cluster \"%s\" at P-state %u", name,
			     asked->pstate);
		return NULL;
	}
	if (asked->nodes_count != option->nodes) {
		rules_refuse(rules, action, "it has %u nodes and needs %u in cluster \"%s\"",
			     asked->nodes_count, option->nodes, name);
		return NULL;
	}
	for (uint32_t i = 0; i < asked->nodes_count; i++) {
		if (i > 0 && asked->nodes[i] <= asked->nodes[i - 1]) {
			rules_refuse(rules, action, "node %u stands behind node %u: nodes ascend",
				     asked->nodes[i], asked->nodes[i - 1]);
			return NULL;
		}
		if (nodes->down[nodes->first[asked->cluster] + asked->nodes[i]]) {
			rules_refuse(rules, action, "node %u of cluster \"%s\" takes no tasks",
				     asked->nodes[i], name);
			return NULL;
		}
	}
	return option;
}

static bool check_value(struct nodes *nodes, uint32_t action, const char *what, double value,
			double expected)
{
	if (isfinite(value) && rank_key_compare(value, expected) == 0)
		return true;
	return rules_refuse(nodes->rules, action,
			    "its %s is %.12g; by the estimates it is %.12g, which it may leave out",
			    what, value, expected);
}

/* Checks the values that follow from the option, after `executed_s` of it, and takes the energy. */
static bool check_values(struct nodes *nodes, uint32_t action, const struct rules_task *task,
			 const struct sched_option *option, double executed_s)
{
	const struct sched_action *asked = &nodes->rules->plan->actions[action];
	const struct sched_option rest = sched_option_rest(option, executed_s);

	nodes->end_s[action] = asked->start_s + rest.etc_s;
	if (energy_too_much(&nodes->energy, &rest))
		return rules_refuse(nodes->rules, action,
				    "it needs %.12g J, and %.12g J remain of the budget of %.12g J",
				    rest.eec_j, nodes->energy.remaining_j,
				    nodes->rules->snapshot->budget_j);
	energy_take(&nodes->energy, &rest, asked->start_s);
	return check_value(nodes, action, "end_s", asked->end_s, nodes->end_s[action]) &&
	       check_value(nodes, action, "energy_j", asked->energy_j, rest.eec_j) &&
	       check_value(nodes, action, "utility", asked->utility,
			   sched_task_utility(task->task, asked->end_s));
}

/* Takes the nodes of an action that begins now. */
static bool take(struct nodes *nodes, uint32_t action)
{
	const struct sched_action *asked = &nodes->rules->plan->actions[action];

	for (uint32_t i = 0; i < asked->nodes_count; i++) {
		const uint32_t has = nodes->has[nodes->first[asked->cluster] + asked->nodes[i]];

		if (has != 0)
			return rules_refuse(nodes->rules, action,
					    "node %u of cluster \"%s\" has task %u",
					    asked->nodes[i],
					    nodes->rules->system->clusters[asked->cluster].name,
					    has - 1);
	}
	set_has(nodes, asked->cluster, asked->nodes, asked->nodes_count, asked->task + 1);
	return true;
}

static bool check_start(struct nodes *nodes, uint32_t action, struct rules_task *task)
{
	struct rules *rules = nodes->rules;
	const enum sched_action_kind kind = rules->plan->actions[action].kind;
	const struct sched_option *option;

	if (task->list != RULES_WAITING)
		return rules_refuse_list(rules, action, task);
	option = check_option(nodes, action, task);
	task->ended = true;
	return option && check_time(nodes, action) &&
	       check_values(nodes, action, task, option, 0) &&
	       (kind != SCHED_ACTION_START || take(nodes, action));
}

static bool check_suspend(struct nodes *nodes, uint32_t action, struct rules_task *task)
{
	const struct sched_allocation *place = task->place;

	if (task->list != RULES_RUNNING)
		return rules_refuse_list(nodes->rules, action, task);
	if (!task->task->preemptible)
		return rules_refuse(nodes->rules, action, "it is not preemptible");
	task->suspended = true;
	nodes->energy.remaining_j += sched_allocation_committed_j(nodes->rules->system, place,
								  nodes->rules->snapshot->now_s);
	set_has(nodes, place->cluster, place->nodes, place->nodes_count, 0);
	return true;
}

static bool check_resume(struct nodes *nodes, uint32_t action, struct rules_task *task)
{
	struct rules *rules = nodes->rules;
	const struct sched_action *asked = &rules->plan->actions[action];
	const struct sched_allocation *place = task->place;
	const struct sched_option *option;
	double executed_s;

	if (task->list != RULES_SUSPENDED && !task->suspended)
		return rules_refuse_list(rules, action, task);
	if (asked->cluster != place->cluster || asked->pstate != place->pstate)
		return rules_refuse(rules, action,
				    "it resumes in cluster \"%s\" at P-state %u, and nowhere else",
				    rules->system->clusters[place->cluster].name, place->pstate);
	option = check_option(nodes, action, task);
	executed_s = place->executed_s;
	if (task->suspended)
		executed_s += rules->snapshot->now_s - place->start_s;
	task->ended = true;
	return option && check_time(nodes, action) &&
	       check_values(nodes, action, task, option, executed_s) && take(nodes, action);
}

static bool check_action(struct nodes *nodes, uint32_t action)
{
	struct rules *rules = nodes->rules;
	struct rules_task *task = rules_task_of(rules, action);

	if (!task)
		return false;
	switch (rules->plan->actions[action].kind) {
	case SCHED_ACTION_START:
	case SCHED_ACTION_PLACEHOLDER:
	case SCHED_ACTION_RESERVE:
		return check_start(nodes, action, task);
	case SCHED_ACTION_SUSPEND:
		return check_suspend(nodes, action, task);
	case SCHED_ACTION_RESUME:
		return check_resume(nodes, action, task);
	case SCHED_ACTION_DROP:
		task->ended = true;
		return task->list == RULES_WAITING || task->list == RULES_SUSPENDED ||
		       rules_refuse_list(rules, action, task);
	case SCHED_ACTION_ENQUEUE:
		return rules_refuse(rules, action, "the clusters have no queues");
	default:
		return rules_refuse(rules, action, "tasks have nodes of their own in this system");
	}
}

/* All times. */

/* Counts the spans of each node, or with `spans` adds one. */
static void add_span(struct nodes *nodes, uint32_t cluster, const uint32_t *list, uint32_t count,
		     const struct span *span)
{
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t node = nodes->first[cluster] + list[i];

		if (nodes->spans)
			nodes->spans[nodes->spans_first[node]++] = *span;
		else
			nodes->spans_first[node + 1]++;
	}
}

static void add_spans(struct nodes *nodes)
{
	struct rules *rules = nodes->rules;
	const struct sched_snapshot *snapshot = rules->snapshot;

	/* In the order of the tasks: running, reserved. */
	for (uint32_t i = 0; i < rules->tasks_count; i++) {
		const struct rules_task *task = &rules->tasks[i];
		const struct sched_allocation *place = task->place;

		if ((task->list != RULES_RUNNING || task->suspended) &&
		    task->list != RULES_RESERVED)
			continue;
		add_span(nodes, place->cluster, place->nodes, place->nodes_count,
			 &(struct span){.start_s = task->list == RULES_RUNNING ? snapshot->now_s
									       : place->start_s,
					.end_s = place->end_s,
					.owner = {UINT32_MAX, task->task->id}});
	}
	for (uint32_t i = 0; i < rules->plan->actions_count; i++) {
		const struct sched_action *action = &rules->plan->actions[i];

		if (places(action->kind))
			add_span(nodes, action->cluster, action->nodes, action->nodes_count,
				 &(struct span){.start_s = action->start_s,
						.end_s = nodes->end_s[i],
						.owner = {i, action->task}});
	}
}

static bool sort_out_spans(struct nodes *nodes)
{
	const uint32_t total = nodes->first[nodes->rules->system->clusters_count];

	add_spans(nodes);
	for (uint32_t n = 0; n < total; n++)
		nodes->spans_first[n + 1] += nodes->spans_first[n];
	nodes->spans = rules_array(nodes->rules, nodes->spans_first[total], sizeof(*nodes->spans));
	if (!nodes->spans)
		return false;
	/* Adding moves the first of a node to that of the next one. */
	add_spans(nodes);
	for (uint32_t n = total; n > 0; n--)
		nodes->spans_first[n] = nodes->spans_first[n - 1];
	nodes->spans_first[0] = 0;
	return true;
}

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a;
	const struct span *y = b;

	if (x->start_s != y->start_s)
		return x->start_s < y->start_s ? -1 : 1;
	if (x->owner.action != y->owner.action)
		return x->owner.action < y->owner.action ? -1 : 1;
	return (x->owner.task > y->owner.task) - (x->owner.task < y->owner.task);
}

static bool refuse_overlap(struct nodes *nodes, uint32_t cluster, uint32_t node,
			   const struct span *a, const struct span *b)
{
	/* The sentence is about the action; of two, about the later one. */
	const bool is_a = b->owner.action == UINT32_MAX ||
			  (a->owner.action != UINT32_MAX && a->owner.action > b->owner.action);
	const struct span *mine = is_a ? a : b;
	const struct span *other = is_a ? b : a;

	return rules_refuse(nodes->rules, mine->owner.action,
			    "node %u of cluster \"%s\" has task %u from %.17g s to %.17g s", node,
			    nodes->rules->system->clusters[cluster].name, other->owner.task,
			    other->start_s, other->end_s);
}

/*
 * Compares the spans of a node. Those of the snapshot may overlap: a task that is late reaches into
 * a reservation.
 */
static bool check_node(struct nodes *nodes, uint32_t cluster, uint32_t node)
{
	const uint32_t at = nodes->first[cluster] + node;
	struct span *spans = nodes->spans + nodes->spans_first[at];
	const uint32_t count = nodes->spans_first[at + 1] - nodes->spans_first[at];
	const struct span *given = NULL;   /* the one of the snapshot that ends last so far */
	const struct span *planned = NULL; /* the same, of those of the plan */

	if (count > 1)
		qsort(spans, count, sizeof(*spans), compare_spans);
	for (uint32_t i = 0; i < count; i++) {
		const bool mine = spans[i].owner.action != UINT32_MAX;
		const struct span **last = mine ? &planned : &given;

		if (planned && planned->end_s > spans[i].start_s)
			return refuse_overlap(nodes, cluster, node, planned, &spans[i]);
		if (mine && given && given->end_s > spans[i].start_s)
			return refuse_overlap(nodes, cluster, node, given, &spans[i]);
		if (!*last || spans[i].end_s > (*last)->end_s)
			*last = &spans[i];
	}
	return true;
}

bool rules_check_nodes(struct rules *rules)
{
	struct nodes nodes = {.rules = rules};

	if (!init(&nodes))
		return false;
	for (uint32_t i = 0; i < rules->plan->actions_count; i++)
		if (!check_action(&nodes, i))
			return false;
	if (!sort_out_spans(&nodes))
		return false;
	for (uint32_t c = 0; c < rules->system->clusters_count; c++)
		for (uint32_t n = 0; n < rules->system->clusters[c].nodes; n++)
			if (!check_node(&nodes, c, n))
				return false;
	return true;
}
