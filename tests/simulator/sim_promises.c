/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/sim_promises.h"

#include <math.h>
#include <string.h>

#include "controller/backend/remote_meter.h"
#include "controller/service/run_service_private.h"
#include "controller/session/run_session_private.h"
#include "controller/session/view.h"
#include "controller/store/store_records.h"
#include "tests/simulator/sim_users.h"

/*
 * An attempt that the service does not have is killed in this time from when on both can talk: a
 * request is repeated within a second, and a kill that failed after REMOTE_LINK_AWAY_S.
 */
#define OWNED_WITHIN_S 45.0

/* What the service has in memory is on record in this time. */
#define RECORD_S 3.0

/* Joules that were rounded to other doubles. */
#define SAME_J 1e-6

/* Times that were rounded to other doubles. */
#define SAME_S 1e-6

/* What is known of a counter in the account of a host. */
struct counter {
	char *id;
	int64_t begin_uj, before_uj;
};

/* The final energy of a task, and when it was seen first and last. */
struct final {
	double energy_j, since_s, seen_s;
};

struct sim_promises {
	GHashTable
		*unowned;   /* id of an attempt -> double: since when it is none of the service's */
	GHashTable *finals; /* task -> struct final */
	GHashTable *counters; /* host -> struct counter */
};

static void counter_free(gpointer data)
{
	struct counter *counter = data;

	g_free(counter->id);
	g_free(counter);
}

struct sim_promises *sim_promises_new(void)
{
	struct sim_promises *promises = g_new0(struct sim_promises, 1);

	promises->unowned = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	promises->finals = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	promises->counters = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, counter_free);
	return promises;
}

void sim_promises_free(struct sim_promises *promises)
{
	if (!promises)
		return;
	g_hash_table_unref(promises->unowned);
	g_hash_table_unref(promises->finals);
	g_hash_table_unref(promises->counters);
	g_free(promises);
}

/* Attempts. */

/* Whether the service and a local scheduler can talk, and write what they have to. */
static bool can_talk(const struct sim_world *world, const struct sim_part *part)
{
	const struct sim_part *service = &world->parts[SIM_CONTROLLER];

	return part->scheduler && !part->dying && !part->disk_fails && !service->disk_fails &&
	       world->slow_ms == 0 && !world->odd.request &&
	       world->blocked[SIM_CONTROLLER][part->index] == 0 &&
	       world->blocked[part->index][SIM_CONTROLLER] == 0;
}

/* Whether an attempt at a cluster is the present one of a task of the service. */
static bool is_owned(const struct sim_world *world, uint32_t cluster, const char *id)
{
	const struct engine_task *task;
	uint32_t number, attempt;

	if (!remote_usage_task_of(world->session->plan->experiment, world->session->run, id,
				  &number, &attempt) ||
	    number >= view_tasks_count(world->session))
		return false;
	task = view_task(world->session, number);
	return task && !engine_task_over(task) && task->attempts == attempt &&
	       task->nodes_count > 0 && task->cluster == cluster;
}

/* Notes an attempt that is no task's present one, since when. Returns for how long it has been. */
static double note_unowned(struct sim_promises *promises, const struct sim_world *world,
			   const char *id)
{
	double *since_s = g_hash_table_lookup(promises->unowned, id);

	if (!since_s) {
		since_s = g_new(double, 1);
		*since_s = sim_now_s(world);
		g_hash_table_insert(promises->unowned, g_strdup(id), since_s);
	}
	return sim_now_s(world) - *since_s;
}

static void check_attempts(struct sim_promises *promises, struct sim_world *world)
{
	for (guint i = SIM_LOCALS; i < world->parts_count; i++) {
		const struct sim_part *part = &world->parts[i];
		const GPtrArray *tasks = part->scheduler ? scheduler_tasks(part->scheduler) : NULL;
		const bool talks = can_talk(world, part) && sim_serves(world);

		for (guint k = 0; tasks && k < tasks->len; k++) {
			const struct task *task = tasks->pdata[k];

			if (task->state == TASK_ENDED || !talks ||
			    is_owned(world, i - SIM_LOCALS, task->id))
				g_hash_table_remove(promises->unowned, task->id);
			else if (note_unowned(promises, world, task->id) > OWNED_WITHIN_S)
				sim_violate(world, "every attempt is a task's",
					    "%s still has %s after %.0f s, which is no present "
					    "attempt of a task",
					    part->name, task->id, OWNED_WITHIN_S);
		}
	}
}

/* An attempt has been migrated no more often than the service has asked for. */
static void check_migrations(struct sim_world *world)
{
	for (guint i = SIM_LOCALS; i < world->parts_count; i++) {
		const struct sim_part *part = &world->parts[i];
		const GPtrArray *tasks = part->scheduler ? scheduler_tasks(part->scheduler) : NULL;

		for (guint k = 0; tasks && k < tasks->len; k++) {
			const struct task *task = tasks->pdata[k];
			uint32_t number, attempt;

			if (task->state == TASK_ENDED || !is_owned(world, i - SIM_LOCALS, task->id))
				continue;
			remote_usage_task_of(world->session->plan->experiment, world->session->run,
					     task->id, &number, &attempt);
			if (task->migrations->len > view_task(world->session, number)->migrations)
				sim_violate(world, "a migration is carried out once",
					    "%s: %s was migrated %u times, and was to be %u times",
					    part->name, task->id, task->migrations->len,
					    view_task(world->session, number)->migrations);
		}
	}
}

/* No task is planned on a node that takes none. */
static void check_planned(struct sim_world *world)
{
	for (uint32_t i = 0; i < view_tasks_count(world->session); i++) {
		const struct engine_task *task = view_task(world->session, i);

		for (uint32_t k = 0;
		     task && task->state == ENGINE_TASK_PLANNED && k < task->nodes_count; k++) {
			const enum view_node_state state =
				view_node_state(world->session, task->cluster, task->nodes[k],
						NULL);

			if (state != VIEW_NODE_IDLE && state != VIEW_NODE_BUSY)
				sim_violate(world, "tasks are planned on nodes that are up",
					    "task %u is planned on node %u of c%u, which is %s", i,
					    task->nodes[k], task->cluster + 1,
					    view_node_state_name(state));
		}
	}
}

/* What was submitted. */

static void check_priorities(struct sim_world *world)
{
	const GArray *tasks = sim_users_tasks(world->users);

	for (guint i = 0; i < tasks->len; i++) {
		const struct sim_task *task = &g_array_index(tasks, struct sim_task, i);
		const struct sim_action *action =
			&g_array_index(world->plan->actions, struct sim_action, task->submission);
		const struct engine_task *known = view_task(world->session, task->number);
		/* As sim_users.c submits it. */
		const int priority =
			action->numbers[3] % 3 == 0 ? -(int)(action->numbers[3] % 9) : 0;

		if (known && known->task->priority != priority)
			sim_violate(world, "what was acknowledged is on record",
				    "task %u has priority %d, not %d", task->number,
				    known->task->priority, priority);
	}
}

/* Energy. */

/* The time up to which all hosts of a cluster have reported. */
static double reported_s(const struct sim_world *world, const char *cluster)
{
	const struct config_cluster *config = config_cluster_find(world->session->config, cluster);
	double until_s = INFINITY;

	for (uint32_t i = 0; config && i < config->hosts_count; i++) {
		const struct host_account *account =
			ledger_account(world->session->service->ledger, config->hosts[i].name);

		until_s = fmin(until_s, account ? account->meter->at_s : -INFINITY);
	}
	return until_s;
}

/* Where a task has final energy, the hosts of its lost attempts have reported beyond their ends. */
static void check_reported(struct sim_world *world, uint32_t task)
{
	g_autoptr(GPtrArray) rows = store_lost(world->session->store, world->session->run, NULL);

	for (guint i = 0; rows && i < rows->len; i++) {
		const struct store_task *lost = rows->pdata[i];

		if (lost->task == task && reported_s(world, lost->cluster) < lost->ended_s)
			sim_violate(world, "energy is final once it is reported",
				    "task %u: its attempt %u on %s ended at %.3f s, and the hosts "
				    "have reported up to %.3f s",
				    task, lost->attempts, lost->cluster, lost->ended_s,
				    reported_s(world, lost->cluster));
	}
}

/*
 * What is final stays once it is on record. An attempt that was given up in a long silence may use
 * more later.
 */
static void check_final(struct sim_promises *promises, struct sim_world *world,
			const struct engine_task *task)
{
	const gpointer key = GUINT_TO_POINTER(task->task->id);
	const bool stays = !world->lost_machine && !world->long_silence;
	struct final *final = g_hash_table_lookup(promises->finals, key);

	if (!final)
		check_reported(world, task->task->id);
	if (final && fabs(final->energy_j - task->energy_j) <= SAME_J) {
		final->seen_s = sim_now_s(world);
		return;
	}
	if (final && stays && final->seen_s - final->since_s > RECORD_S)
		sim_violate(world, "final energy stays",
			    "task %u: %.6f J were final, and %.6f J are", task->task->id,
			    final->energy_j, task->energy_j);
	final = g_new(struct final, 1);
	*final = (struct final){task->energy_j, sim_now_s(world), sim_now_s(world)};
	g_hash_table_insert(promises->finals, key, final);
}

static void check_finals(struct sim_promises *promises, struct sim_world *world)
{
	for (uint32_t i = 0; i < view_tasks_count(world->session); i++) {
		const struct engine_task *task = view_task(world->session, i);

		if (task && task->energy_kind == ENGINE_ENERGY_FINAL && isfinite(task->energy_j))
			check_final(promises, world, task);
	}
}

/* Energy is provisional only of the time after the account. */
static void check_spans(struct sim_world *world, const struct host_account *account)
{
	const struct host_span *first =
		account->spans->len ? &g_array_index(account->spans, struct host_span, 0) : NULL;

	if (first && first->from_s < account->meter->at_s - SAME_S)
		sim_violate(world, "nothing is paid for twice",
			    "host %s: energy is provisional from %.3f s on, and its account "
			    "reaches %.3f s",
			    account->meter->host, first->from_s, account->meter->at_s);
}

/* A counter with another name has a beginning of its own in the account. */
static void check_counters(struct sim_promises *promises, struct sim_world *world)
{
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, ledger_accounts(world->session->service->ledger));
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		const struct store_account_meter *meter =
			((const struct host_account *)value)->meter;
		struct counter *counter = g_hash_table_lookup(promises->counters, meter->host);

		check_spans(world, value);
		if (!meter->counter)
			continue;
		if (counter && !g_str_equal(counter->id, meter->counter) &&
		    counter->begin_uj == meter->begin_uj && counter->before_uj == meter->before_uj)
			sim_violate(world, "another counter is no rise of the one before",
				    "host %s: counter %s is counted on from %s", meter->host,
				    meter->counter, counter->id);
		counter = g_new(struct counter, 1);
		*counter = (struct counter){g_strdup(meter->counter), meter->begin_uj,
					    meter->before_uj};
		g_hash_table_replace(promises->counters, g_strdup(meter->host), counter);
	}
}

void sim_promises_check(struct sim_promises *promises, struct sim_world *world)
{
	check_attempts(promises, world);
	if (!sim_serves(world))
		return;
	if (!world->lost_machine) /* which may take the record of a request */
		check_migrations(world);
	check_planned(world);
	check_priorities(world);
	check_finals(promises, world);
	check_counters(promises, world);
}
