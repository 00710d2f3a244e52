/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared hosts: the actions are carried out together, and then the hosts are added up. */
#include "controller/sched/plan_rules_models.h"

/* Sums of memory and CPU may exceed a host by rounding; the engine allows twice the slack. */
#define MOST (1 + 1.5 * SCHED_SHARE_SLACK)

/* The state of a check. */
struct hosts {
	struct rules *rules;
	uint32_t count;
	bool *down;      /* per host */
	double *memory;  /* per host */
	double *cpu;     /* per host */
	int32_t *change; /* per host: VMs that a migration brings; 0 between two actions */
};

static bool init(struct hosts *hosts)
{
	const struct sched_snapshot *snapshot = hosts->rules->snapshot;

	hosts->count = hosts->rules->system->clusters[0].nodes;
	hosts->down = rules_array(hosts->rules, hosts->count, sizeof(*hosts->down));
	hosts->memory = rules_array(hosts->rules, hosts->count, sizeof(*hosts->memory));
	hosts->cpu = rules_array(hosts->rules, hosts->count, sizeof(*hosts->cpu));
	hosts->change = rules_array(hosts->rules, hosts->count, sizeof(*hosts->change));
	if (!hosts->down || !hosts->memory || !hosts->cpu || !hosts->change)
		return false;
	for (uint32_t i = 0; i < snapshot->down_count; i++)
		hosts->down[snapshot->down[i].node] = true;
	return true;
}

/* Checks the hosts and the yield of an action that has them. */
static bool check_hosts(struct hosts *hosts, uint32_t action, const struct rules_task *task)
{
	struct rules *rules = hosts->rules;
	const struct sched_action *asked = &rules->plan->actions[action];

	if (!rules_check_cluster(rules, action))
		return false;
	if (!(asked->yield > 0 && asked->yield <= 1))
		return rules_refuse(rules, action, "its yield is %g: give one above 0, at most 1",
				    asked->yield);
	if (asked->start_s != rules->snapshot->now_s)
		return rules_refuse(rules, action,
				    "it begins at %.17g s, which is not now, %.17g s",
				    asked->start_s, rules->snapshot->now_s);
	if (asked->nodes_count != task->task->demand.vms)
		return rules_refuse(rules, action, "it has %u VMs on %u hosts: give one for each",
				    task->task->demand.vms, asked->nodes_count);
	for (uint32_t v = 0; asked->kind != SCHED_ACTION_SHARE && v < asked->nodes_count; v++)
		if (hosts->down[asked->nodes[v]])
			return rules_refuse(rules, action, "host %u is down", asked->nodes[v]);
	return true;
}

/* The VMs that stay keep their positions: as many move as hosts get more of them. */
static bool check_migration(struct hosts *hosts, uint32_t action, const struct rules_task *task)
{
	const struct sched_action *asked = &hosts->rules->plan->actions[action];
	uint32_t moved = 0;
	uint32_t needed = 0;

	for (uint32_t v = 0; v < asked->nodes_count; v++) {
		moved += asked->nodes[v] != task->place->nodes[v];
		hosts->change[asked->nodes[v]]++;
		hosts->change[task->place->nodes[v]]--;
	}
	for (uint32_t v = 0; v < asked->nodes_count; v++) {
		if (hosts->change[asked->nodes[v]] > 0)
			needed += (uint32_t)hosts->change[asked->nodes[v]];
		hosts->change[asked->nodes[v]] = 0;
	}
	for (uint32_t v = 0; v < asked->nodes_count; v++)
		hosts->change[task->place->nodes[v]] = 0;
	if (moved == 0)
		return rules_refuse(hosts->rules, action,
				    "none of its VMs moves: share, or nothing");
	return moved == needed ||
	       rules_refuse(hosts->rules, action,
			    "%u of its VMs move where %u would do: those that stay keep their "
			    "positions in the list",
			    moved, needed);
}

static bool check_running(struct hosts *hosts, uint32_t action, const struct rules_task *task)
{
	const struct sched_action *asked = &hosts->rules->plan->actions[action];

	if (task->list != RULES_RUNNING)
		return rules_refuse_list(hosts->rules, action, task);
	if (asked->kind != SCHED_ACTION_SHARE && task->place->busy)
		return rules_refuse(hosts->rules, action,
				    "it is on its way to its hosts (\"busy\"): only its share may "
				    "change");
	if (asked->kind == SCHED_ACTION_PAUSE)
		return true;
	if (!check_hosts(hosts, action, task))
		return false;
	if (asked->kind == SCHED_ACTION_MIGRATE)
		return check_migration(hosts, action, task);
	for (uint32_t v = 0; v < asked->nodes_count; v++)
		if (asked->nodes[v] != task->place->nodes[v])
			return rules_refuse(hosts->rules, action,
					    "its VM %u is on host %u: a share changes no host", v,
					    task->place->nodes[v]);
	return true;
}

static bool check_action(struct hosts *hosts, uint32_t action)
{
	struct rules *rules = hosts->rules;
	const struct sched_action *asked = &rules->plan->actions[action];
	struct rules_task *task = rules_task_of(rules, action);

	if (!task)
		return false;
	task->ended = true;
	switch (asked->kind) {
	case SCHED_ACTION_DROP:
		return task->list == RULES_WAITING || task->list == RULES_SUSPENDED ||
		       rules_refuse_list(rules, action, task);
	case SCHED_ACTION_PLACE:
		if (task->list != RULES_WAITING)
			return rules_refuse_list(rules, action, task);
		return check_hosts(hosts, action, task);
	case SCHED_ACTION_DEFER:
		if (task->list != RULES_WAITING)
			return rules_refuse_list(rules, action, task);
		return (isfinite(asked->start_s) && asked->start_s >= rules->snapshot->now_s) ||
		       rules_refuse(rules, action, "until %g s: give a time from now on, %.17g s",
				    asked->start_s, rules->snapshot->now_s);
	case SCHED_ACTION_RESUME:
		if (task->list != RULES_SUSPENDED)
			return rules_refuse_list(rules, action, task);
		return check_hosts(hosts, action, task);
	case SCHED_ACTION_SHARE:
	case SCHED_ACTION_MIGRATE:
	case SCHED_ACTION_PAUSE:
		return check_running(hosts, action, task);
	default:
		return rules_refuse(rules, action, "tasks share hosts in this system");
	}
}

/* After the plan. */

static bool has_hosts(enum sched_action_kind kind)
{
	return kind != SCHED_ACTION_DROP && kind != SCHED_ACTION_DEFER &&
	       kind != SCHED_ACTION_PAUSE;
}

static void add_up(struct hosts *hosts, const struct rules_task *task, const uint32_t *nodes,
		   double yield)
{
	for (uint32_t v = 0; v < task->task->demand.vms; v++) {
		hosts->memory[nodes[v]] += task->task->demand.memory;
		hosts->cpu[nodes[v]] += task->task->demand.cpu * yield;
	}
}

/* Adds up what the task has after the plan, and finds whether a host has got too much by it. */
static bool add_task(struct hosts *hosts, const struct rules_task *task)
{
	struct rules *rules = hosts->rules;
	const struct sched_action *action = task->action;
	uint32_t index;

	if (!action && task->list == RULES_RUNNING)
		add_up(hosts, task, task->place->nodes, task->place->yield);
	if (!action || !has_hosts(action->kind))
		return true;
	index = (uint32_t)(action - rules->plan->actions);
	add_up(hosts, task, action->nodes, action->yield);
	for (uint32_t v = 0; v < action->nodes_count; v++) {
		const uint32_t host = action->nodes[v];

		if (hosts->memory[host] > MOST)
			return rules_refuse(rules, index,
					    "host %u has VMs with %.12g of its memory", host,
					    hosts->memory[host]);
		if (hosts->cpu[host] > MOST)
			return rules_refuse(rules, index, "host %u gives %.12g of its CPU", host,
					    hosts->cpu[host]);
	}
	return true;
}

bool rules_check_sharing(struct rules *rules)
{
	struct hosts hosts = {.rules = rules};

	if (!init(&hosts))
		return false;
	for (uint32_t i = 0; i < rules->plan->actions_count; i++)
		if (!check_action(&hosts, i))
			return false;
	/* First what the plan leaves alone, so that the sentence is about an action. */
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < rules->tasks_count; i++)
			if ((rules->tasks[i].action != NULL) == (pass == 1) &&
			    !add_task(&hosts, &rules->tasks[i]))
				return false;
	return true;
}
