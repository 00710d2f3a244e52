/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/sched/plan_rules.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#include "controller/sched/queueing.h"
#include "tests/oracle/oracle.h"
#include "tests/oracle/snapshots.h"

/* Nodes of a task's own, with planned starts. */

/* A decision and what it was made from. */
struct decision {
	const struct policy *policy;
	const struct sched_snapshot *snapshot;
	const struct sched_plan *plan;
};

static const struct sched_task *find_waiting(const struct sched_snapshot *snapshot, uint32_t id)
{
	for (uint32_t i = 0; i < snapshot->waiting_count; i++)
		if (snapshot->waiting[i]->id == id)
			return snapshot->waiting[i];
	return NULL;
}

/* One action per task, of mappable tasks only. */
static void check_tasks(const struct decision *decision)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

	for (uint32_t i = 0; i < decision->plan->actions_count; i++) {
		const uint32_t task = decision->plan->actions[i].task;

		g_assert_nonnull(find_waiting(decision->snapshot, task));
		g_assert_true(g_hash_table_add(seen, GUINT_TO_POINTER(task)));
	}
}

/* Each place is one the estimates know, in time, and what the numbers say. */
static void check_action(const struct decision *decision, const struct sched_action *action)
{
	const struct sched_snapshot *snapshot = decision->snapshot;
	const struct sched_task *task = find_waiting(snapshot, action->task);
	const struct sched_option *option =
		sched_system_option(snapshot->system, task->row, action->cluster, action->pstate);

	g_assert_nonnull(option);
	g_assert_cmpuint(action->nodes_count, ==, option->nodes);
	g_assert_cmpfloat(action->start_s, >=, snapshot->now_s);
	g_assert_cmpfloat(action->start_s, <, snapshot->end_s);
	g_assert_cmpfloat(action->end_s, ==, action->start_s + option->etc_s);
	g_assert_cmpfloat(action->energy_j, ==, option->eec_j);
	g_assert_cmpfloat(action->utility, ==, sched_task_utility(task, action->end_s));
	g_assert_true((action->kind == SCHED_ACTION_START) == (action->start_s == snapshot->now_s));
	g_assert_nonnull(sched_reason_text(action->reason));
	for (uint32_t i = 0; i < action->nodes_count; i++) {
		g_assert_cmpuint(action->nodes[i], <,
				 snapshot->system->clusters[action->cluster].nodes);
		g_assert_true(i == 0 || action->nodes[i - 1] < action->nodes[i]);
	}
}

static void check_future(const struct decision *decision, const struct sched_action *action)
{
	if (action->kind == SCHED_ACTION_PLACEHOLDER)
		g_assert_cmpint(decision->policy->future, ==, POLICY_FUTURE_PLACEHOLDERS);
	if (action->kind == SCHED_ACTION_RESERVE)
		g_assert_cmpint(decision->policy->future, ==, POLICY_FUTURE_RESERVATIONS);
}

/* Capacity is never exceeded, at any time, whatever else runs or is promised. */
static void check_capacity(const struct decision *decision)
{
	struct oracle_cluster *clusters = oracle_clusters_new(decision->snapshot);

	for (uint32_t i = 0; i < decision->plan->actions_count; i++) {
		const struct sched_action *action = &decision->plan->actions[i];

		if (action->kind == SCHED_ACTION_DROP)
			continue;
		check_action(decision, action);
		check_future(decision, action);
		g_assert_true(oracle_take(&clusters[action->cluster], action->nodes,
					  action->nodes_count, action->start_s, action->end_s));
	}
	oracle_clusters_free(clusters, decision->snapshot->system);
}

/* Tasks that can earn nothing leave, and no others without a threshold. */
static void check_drops(const struct decision *decision)
{
	const struct sched_snapshot *snapshot = decision->snapshot;

	for (uint32_t i = 0; i < decision->plan->actions_count; i++) {
		const struct sched_action *action = &decision->plan->actions[i];
		const struct sched_task *task = find_waiting(snapshot, action->task);
		const double best =
			sched_task_utility(task, snapshot->now_s +
							 snapshot->system->etc_min_s[task->row]);

		g_assert_true((action->kind == SCHED_ACTION_DROP) == (best <= 0));
	}
}

void plan_rules_planning(const struct policy *policy, const struct sched_snapshot *snapshot,
			 const struct sched_plan *plan)
{
	const struct decision decision = {policy, snapshot, plan};

	check_tasks(&decision);
	check_capacity(&decision);
	check_drops(&decision);
}

/* Nodes of a task's own, without planned starts. */

/* The nodes that are taken, at the present point of a plan. */
struct present {
	const struct sched_snapshot *snapshot;
	bool **taken;                  /* per cluster and node */
	GHashTable *ended, *suspended; /* ids of tasks: they need no more actions, or a RESUME */
};

static void present_put(struct present *present, uint32_t cluster, const uint32_t *nodes,
			uint32_t count, bool taken)
{
	for (uint32_t i = 0; i < count; i++)
		present->taken[cluster][nodes[i]] = taken;
}

static void present_init(struct present *present, const struct sched_snapshot *snapshot)
{
	const struct sched_system *system = snapshot->system;

	*present = (struct present){
		.snapshot = snapshot,
		.taken = g_new0(bool *, system->clusters_count),
		.ended = g_hash_table_new(NULL, NULL),
		.suspended = g_hash_table_new(NULL, NULL),
	};
	for (uint32_t c = 0; c < system->clusters_count; c++)
		present->taken[c] = g_new0(bool, system->clusters[c].nodes);
	for (uint32_t i = 0; i < snapshot->running_count; i++) {
		const struct sched_allocation *running = &snapshot->running[i];

		present_put(present, running->cluster, running->nodes, running->nodes_count, true);
	}
}

static void present_finish(struct present *present)
{
	for (uint32_t c = 0; c < present->snapshot->system->clusters_count; c++)
		g_free(present->taken[c]);
	g_free(present->taken);
	g_hash_table_unref(present->ended);
	g_hash_table_unref(present->suspended);
}

static const struct sched_allocation *find_running(const struct sched_snapshot *snapshot,
						   uint32_t id)
{
	for (uint32_t i = 0; i < snapshot->running_count; i++)
		if (snapshot->running[i].task->id == id)
			return &snapshot->running[i];
	return NULL;
}

static const struct sched_allocation *find_suspended(const struct sched_snapshot *snapshot,
						     uint32_t id)
{
	for (uint32_t i = 0; i < snapshot->suspended_count; i++)
		if (snapshot->suspended[i].task->id == id)
			return &snapshot->suspended[i];
	return NULL;
}

/* The nodes exist, are up, free of tasks, and no reservation begins before the task ends. */
static void check_nodes(struct present *present, const struct sched_action *action)
{
	const struct sched_snapshot *snapshot = present->snapshot;

	for (uint32_t i = 0; i < action->nodes_count; i++) {
		const uint32_t node = action->nodes[i];

		g_assert_cmpuint(node, <, snapshot->system->clusters[action->cluster].nodes);
		g_assert_true(i == 0 || action->nodes[i - 1] < node);
		g_assert_false(present->taken[action->cluster][node]);
		for (uint32_t d = 0; d < snapshot->down_count; d++)
			g_assert_false(snapshot->down[d].cluster == action->cluster &&
				       snapshot->down[d].node == node);
		for (uint32_t r = 0; r < snapshot->reservations_count; r++) {
			const struct sched_allocation *planned = &snapshot->reservations[r];

			for (uint32_t n = 0;
			     planned->cluster == action->cluster &&
			     planned->start_s < action->end_s && n < planned->nodes_count;
			     n++)
				g_assert_cmpuint(planned->nodes[n], !=, node);
		}
	}
	present_put(present, action->cluster, action->nodes, action->nodes_count, true);
}

static void check_start(struct present *present, const struct sched_action *action)
{
	const struct sched_snapshot *snapshot = present->snapshot;
	const struct sched_task *task = find_waiting(snapshot, action->task);
	const struct sched_option *option;

	g_assert_nonnull(task);
	option = sched_system_option(snapshot->system, task->row, action->cluster, action->pstate);
	g_assert_nonnull(option);
	g_assert_cmpuint(action->nodes_count, ==, option->nodes);
	g_assert_cmpfloat(action->start_s, ==, snapshot->now_s);
	g_assert_cmpfloat(action->end_s, ==, action->start_s + option->etc_s);
	g_assert_true(g_hash_table_add(present->ended, GUINT_TO_POINTER(action->task)));
	check_nodes(present, action);
}

static void check_suspend(struct present *present, const struct sched_action *action)
{
	const struct sched_allocation *running = find_running(present->snapshot, action->task);

	g_assert_nonnull(running);
	g_assert_true(running->task->preemptible);
	g_assert_true(g_hash_table_add(present->suspended, GUINT_TO_POINTER(action->task)));
	present_put(present, running->cluster, running->nodes, running->nodes_count, false);
}

/* A task that was suspended, before or in the plan, resumes in its cluster, at its P-state. */
static void check_resume(struct present *present, const struct sched_action *action)
{
	const struct sched_allocation *before = find_suspended(present->snapshot, action->task);
	const struct sched_allocation *running = find_running(present->snapshot, action->task);

	g_assert_true(before ||
		      g_hash_table_contains(present->suspended, GUINT_TO_POINTER(action->task)));
	g_assert_cmpuint(action->cluster, ==, before ? before->cluster : running->cluster);
	g_assert_cmpuint(action->pstate, ==, before ? before->pstate : running->pstate);
	g_assert_cmpuint(action->nodes_count, ==,
			 before ? before->nodes_count : running->nodes_count);
	g_assert_cmpfloat(action->start_s, ==, present->snapshot->now_s);
	g_assert_true(g_hash_table_add(present->ended, GUINT_TO_POINTER(action->task)));
	check_nodes(present, action);
}

void plan_rules_immediate(const struct policy *policy, const struct sched_snapshot *snapshot,
			  const struct sched_plan *plan)
{
	struct present present;

	present_init(&present, snapshot);
	for (uint32_t i = 0; i < plan->actions_count; i++) {
		const struct sched_action *action = &plan->actions[i];

		g_assert_nonnull(sched_reason_text(action->reason));
		switch (action->kind) {
		case SCHED_ACTION_START:
			check_start(&present, action);
			break;
		case SCHED_ACTION_SUSPEND:
			check_suspend(&present, action);
			break;
		case SCHED_ACTION_RESUME:
			check_resume(&present, action);
			break;
		case SCHED_ACTION_DROP:
			g_assert_true(find_waiting(snapshot, action->task) ||
				      find_suspended(snapshot, action->task));
			g_assert_true(
				g_hash_table_add(present.ended, GUINT_TO_POINTER(action->task)));
			break;
		default:
			g_assert_not_reached();
		}
	}
	present_finish(&present);
}

/* Shared hosts. */

static struct oracle_job *find_job(const struct oracle_state *state, uint32_t id)
{
	for (uint32_t i = 0; i < state->jobs_count; i++)
		if (state->jobs[i].task->id == id)
			return &state->jobs[i];
	g_assert_not_reached();
}

/* Whether the job's state allows the action. */
static void check_kind(const struct oracle_job *job, enum sched_action_kind kind)
{
	const bool paused = !job->ran && !job->waited;

	switch (kind) {
	case SCHED_ACTION_PLACE:
	case SCHED_ACTION_DEFER:
		g_assert_true(job->waited);
		break;
	case SCHED_ACTION_RESUME:
		g_assert_true(paused);
		break;
	case SCHED_ACTION_PAUSE:
	case SCHED_ACTION_MIGRATE:
	case SCHED_ACTION_SHARE:
		g_assert_true(job->ran);
		break;
	default:
		g_assert_not_reached();
	}
}

/* The VMs that stay keep their places, and no VM moves that need not. */
static void check_migration(const struct oracle_state *state, const struct oracle_job *job,
			    const struct sched_action *action)
{
	g_autofree int *balance = g_new0(int, state->hosts_count);
	uint32_t moved = 0;
	uint32_t needed = 0;

	for (uint32_t v = 0; v < action->nodes_count; v++) {
		moved += action->nodes[v] != job->hosts[v];
		balance[action->nodes[v]]++;
		balance[job->hosts[v]]--;
	}
	for (uint32_t h = 0; h < state->hosts_count; h++)
		needed += (uint32_t)MAX(0, balance[h]);
	g_assert_cmpuint(moved, >, 0);
	g_assert_cmpuint(moved, ==, needed);
}

static void carry_out(struct oracle_state *state, const struct sched_plan *plan)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

	for (uint32_t i = 0; i < plan->actions_count; i++) {
		const struct sched_action *action = &plan->actions[i];
		struct oracle_job *job = find_job(state, action->task);

		g_assert_true(g_hash_table_add(seen, GUINT_TO_POINTER(action->task)));
		g_assert_nonnull(sched_reason_text(action->reason));
		check_kind(job, action->kind);
		if (action->kind == SCHED_ACTION_DEFER) {
			job->put_off_s = action->start_s;
			continue;
		}
		if (action->kind == SCHED_ACTION_PAUSE) {
			job->placed = false;
			continue;
		}
		g_assert_cmpuint(action->nodes_count, ==, job->task->demand.vms);
		if (action->kind == SCHED_ACTION_MIGRATE)
			check_migration(state, job, action);
		if (action->kind == SCHED_ACTION_SHARE)
			assert_same_nodes(action->nodes, action->nodes_count, job->hosts,
					  job->task->demand.vms);
		job->placed = true;
		job->yield = action->yield;
		memcpy(job->hosts, action->nodes, action->nodes_count * sizeof(uint32_t));
	}
}

/* No host has more VMs than memory, or gives more than its CPU, or is down. */
static void check_hosts(const struct oracle_state *state)
{
	g_autofree double *memory = g_new0(double, state->hosts_count);
	g_autofree double *shares = g_new0(double, state->hosts_count);

	for (uint32_t i = 0; i < state->jobs_count; i++) {
		const struct oracle_job *job = &state->jobs[i];

		if (!job->placed)
			continue;
		g_assert_cmpfloat(job->yield, >, 0);
		g_assert_cmpfloat(job->yield, <=, 1 + 1e-9);
		for (uint32_t v = 0; v < job->task->demand.vms; v++) {
			g_assert_false(state->down[job->hosts[v]]);
			memory[job->hosts[v]] += job->task->demand.memory;
			shares[job->hosts[v]] += job->task->demand.cpu * job->yield;
		}
	}
	for (uint32_t h = 0; h < state->hosts_count; h++) {
		g_assert_cmpfloat(memory[h], <=, 1 + 1e-8);
		g_assert_cmpfloat(shares[h], <=, 1 + 1e-8);
	}
}

void plan_rules_carry_out(struct oracle_state *state, const struct sched_plan *plan)
{
	carry_out(state, plan);
	check_hosts(state);
}

void plan_rules_sharing(const struct policy *policy, const struct sched_snapshot *snapshot,
			const struct sched_plan *plan)
{
	struct oracle_state *state = oracle_state_new(snapshot);

	plan_rules_carry_out(state, plan);
	oracle_state_free(state);
}

/* Clusters with queues. */

/* The cluster in whose queue a task is; clusters_count: none. */
static uint32_t find_queue(const struct sched_snapshot *snapshot, uint32_t id)
{
	for (uint32_t c = 0; c < snapshot->system->clusters_count; c++)
		for (uint32_t i = 0; i < snapshot->queues[c].count; i++)
			if (snapshot->queues[c].tasks[i]->id == id)
				return c;
	return snapshot->system->clusters_count;
}

/* A waiting task that can still be on time, on a cluster whose nodes are all up. */
static void check_enqueue(const struct sched_snapshot *snapshot, const struct sched_action *action)
{
	const struct sched_queueing *settings = snapshot->system->queueing;
	const struct sched_task *task = find_waiting(snapshot, action->task);

	g_assert_nonnull(task);
	g_assert_cmpuint(action->cluster, <, snapshot->system->clusters_count);
	g_assert_cmpfloat(task->deadline_s, >=,
			  snapshot->now_s - settings->bin_s * QUEUEING_TOLERANCE);
	for (uint32_t i = 0; i < snapshot->down_count; i++)
		g_assert_cmpuint(snapshot->down[i].cluster, !=, action->cluster);
}

void plan_rules_queueing(const struct policy *policy, const struct sched_snapshot *snapshot,
			 const struct sched_plan *plan)
{
	const uint32_t clusters = snapshot->system->clusters_count;
	g_autofree uint32_t *lengths = g_new0(uint32_t, clusters + 1);
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

	for (uint32_t c = 0; c < clusters; c++)
		lengths[c] = snapshot->queues[c].count;
	for (uint32_t i = 0; i < plan->actions_count; i++) {
		const struct sched_action *action = &plan->actions[i];

		g_assert_true(g_hash_table_add(seen, GUINT_TO_POINTER(action->task)));
		g_assert_nonnull(sched_reason_text(action->reason));
		g_assert_true(action->chance >= 0 && action->chance <= 1);
		if (action->kind == SCHED_ACTION_ENQUEUE) {
			check_enqueue(snapshot, action);
			lengths[action->cluster]++;
			continue;
		}
		g_assert_cmpint(action->kind, ==, SCHED_ACTION_DROP);
		if (find_waiting(snapshot, action->task))
			continue;
		g_assert_cmpuint(find_queue(snapshot, action->task), <, clusters);
		lengths[find_queue(snapshot, action->task)]--;
	}
	for (uint32_t c = 0; c < clusters; c++)
		g_assert_cmpuint(lengths[c], <=, snapshot->system->queueing->length);
	g_assert_cmpfloat(plan->pruner.level, >=, 0);
}

/* All models. */

void plan_rules_same(const struct sched_plan *a, const struct sched_plan *b)
{
	g_assert_cmpuint(a->actions_count, ==, b->actions_count);
	for (uint32_t i = 0; i < a->actions_count; i++) {
		const struct sched_action *x = &a->actions[i];
		const struct sched_action *y = &b->actions[i];

		g_assert_true(x->kind == y->kind && x->task == y->task &&
			      x->cluster == y->cluster && x->pstate == y->pstate &&
			      x->start_s == y->start_s && x->yield == y->yield &&
			      x->chance == y->chance && x->threshold == y->threshold &&
			      x->reason == y->reason);
		assert_same_nodes(x->nodes, x->nodes_count, y->nodes, y->nodes_count);
	}
}
