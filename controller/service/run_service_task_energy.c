/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The energy of a service's tasks: what the ledger has of them, and whether that is all. The energy
 * of a task that has ended is provisional until all hosts of the clusters where it had attempts
 * have reported beyond the ends of these attempts; then it is final.
 */
#include <math.h>

#include "controller/run/run_meters.h"
#include "controller/service/run_service_private.h"

/* The end of an attempt, up to which not all hosts of its cluster have reported. */
struct attempt_end {
	uint32_t task;
	double ended_s;
};

/* The attempts that ended at one cluster and are not reported yet. */
struct cluster_ends {
	GArray *ends;   /* struct attempt_end */
	double first_s; /* the earliest of them, or earlier; INFINITY: there are none */
};

struct provisional {
	struct cluster_ends *clusters;
	uint32_t clusters_count;
	GHashTable *counts; /* task -> the number of its attempt ends in all clusters */
};

void run_service_energy_init(struct run_service *service)
{
	const uint32_t count = service->session->config->clusters_count;
	struct provisional *provisional = g_new0(struct provisional, 1);

	provisional->clusters = g_new0(struct cluster_ends, count);
	provisional->clusters_count = count;
	for (uint32_t c = 0; c < count; c++) {
		provisional->clusters[c].ends =
			g_array_new(FALSE, FALSE, sizeof(struct attempt_end));
		provisional->clusters[c].first_s = INFINITY;
	}
	provisional->counts = g_hash_table_new(NULL, NULL);
	service->provisional = provisional;
	service->ledger = ledger_new();
	service->departed = g_ptr_array_new();
}

void run_service_energy_clear(struct run_service *service)
{
	struct provisional *provisional = g_steal_pointer(&service->provisional);

	g_clear_pointer(&service->departed, g_ptr_array_unref);
	g_clear_pointer(&service->ledger, ledger_free);
	if (!provisional)
		return;
	for (uint32_t c = 0; c < provisional->clusters_count; c++)
		g_array_unref(provisional->clusters[c].ends);
	g_free(provisional->clusters);
	g_hash_table_unref(provisional->counts);
	g_free(provisional);
}

static double account_j(const struct run_service *service, uint32_t task)
{
	return (double)ledger_task_uj(service->ledger, task) * 1e-6;
}

/* Whether a task has ended for good, not with the service. */
static bool is_over(const struct run_service *service, uint32_t task)
{
	return service->engine && engine_task_state_in(engine_task_at(service->engine, task)->state,
						       ENGINE_TASK_SETTLED);
}

/*
 * Whether the account can have the task: its hosts have meters, or it has some of it already. A
 * service has no shared clusters (run_service_check.c): each of its nodes is a VM of one host.
 */
static bool is_accounted(const struct run_service *service, const struct engine_task *task)
{
	const struct config_cluster *cluster = &service->session->config->clusters[task->cluster];

	if (!service->ledger_complete || task->attempts == 0)
		return false;
	if (ledger_task_uj(service->ledger, task->task->id) > 0)
		return true;
	for (uint32_t i = 0; i < task->nodes_count; i++) {
		const uint32_t host = config_cluster_host(cluster, task->nodes[i]);

		if (host >= cluster->hosts_count || !run_meters_has(&cluster->hosts[host]))
			return false;
	}
	return task->nodes_count > 0;
}

/* Sets the energy of an ended task to what the account has. */
static void set_energy(struct run_service *service, uint32_t task, enum engine_energy_kind kind)
{
	engine_set_energy(service->engine, task, account_j(service, task), kind);
}

/* How many ends of attempts of a task are to be reported. */
static guint count_of(const struct provisional *provisional, uint32_t task)
{
	return GPOINTER_TO_UINT(g_hash_table_lookup(provisional->counts, GUINT_TO_POINTER(task)));
}

static void set_count(struct provisional *provisional, uint32_t task, guint count)
{
	if (count > 0)
		g_hash_table_insert(provisional->counts, GUINT_TO_POINTER(task),
				    GUINT_TO_POINTER(count));
	else
		g_hash_table_remove(provisional->counts, GUINT_TO_POINTER(task));
}

/* Whether a cluster has a host that reports energy. */
static bool has_meters(const struct run_service *service, uint32_t cluster)
{
	const struct config_cluster *config = &service->session->config->clusters[cluster];

	for (uint32_t i = 0; i < config->hosts_count; i++)
		if (run_meters_has(&config->hosts[i]))
			return true;
	return false;
}

/*
 * Notes that an attempt of a task, or the task, has ended at `cluster`. No report is to come of a
 * cluster without meters.
 */
static void note_end(struct run_service *service, uint32_t task, uint32_t cluster, double ended_s)
{
	struct provisional *provisional = service->provisional;
	struct cluster_ends *of = &provisional->clusters[cluster];
	const struct attempt_end end = {task, ended_s};

	if (!has_meters(service, cluster))
		return;
	g_array_append_val(of->ends, end);
	of->first_s = fmin(of->first_s, ended_s);
	set_count(provisional, task, count_of(provisional, task) + 1);
}

/*
 * Notes the end of a task where it was last; a place that is not configured counts as cluster 0.
 * Returns whether all of the task's energy is reported.
 */
static enum engine_energy_kind note_last_end(struct run_service *service,
					     const struct engine_task *task)
{
	note_end(service, task->task->id, task->cluster, task->ended_s);
	return count_of(service->provisional, task->task->id) > 0 ? ENGINE_ENERGY_PROVISIONAL
								  : ENGINE_ENERGY_FINAL;
}

double run_service_energy_ended(uint32_t index, enum engine_energy_kind *ret_kind, void *data)
{
	struct run_service *service = data;
	const struct engine_task *task = engine_task_at(service->engine, index);

	if (!is_accounted(service, task))
		return (double)NAN;
	*ret_kind = note_last_end(service, task);
	return account_j(service, index);
}

/* The time up to which all hosts of a cluster that have meters have reported. */
static double covered_s(const struct run_service *service, uint32_t cluster)
{
	const struct config_cluster *config = &service->session->config->clusters[cluster];
	double until_s = INFINITY;

	for (uint32_t i = 0; i < config->hosts_count; i++) {
		const struct host_account *account =
			ledger_account(service->ledger, config->hosts[i].name);

		if (run_meters_has(&config->hosts[i]))
			until_s = fmin(until_s, account ? account->meter->at_s : -INFINITY);
	}
	return until_s;
}

/* One of a task's ends is reported: its energy is final with the last one. */
static void settle_end(struct run_service *service, uint32_t task)
{
	const guint left = count_of(service->provisional, task) - 1;

	set_count(service->provisional, task, left);
	if (left == 0 && is_over(service, task) &&
	    engine_task_at(service->engine, task)->energy_kind == ENGINE_ENERGY_PROVISIONAL)
		set_energy(service, task, ENGINE_ENERGY_FINAL);
}

void run_service_settle_energy(struct run_service *service, uint32_t cluster)
{
	struct cluster_ends *of = &service->provisional->clusters[cluster];
	const double until_s = of->ends->len ? covered_s(service, cluster) : -INFINITY;
	guint kept = 0;

	if (until_s < of->first_s)
		return;
	of->first_s = INFINITY;
	for (guint i = 0; i < of->ends->len; i++) {
		const struct attempt_end end = g_array_index(of->ends, struct attempt_end, i);

		if (until_s >= end.ended_s) {
			settle_end(service, end.task);
			continue;
		}
		of->first_s = fmin(of->first_s, end.ended_s);
		g_array_index(of->ends, struct attempt_end, kept++) = end;
	}
	g_array_set_size(of->ends, kept);
}

void run_service_update_energy(struct run_service *service, const GArray *parts)
{
	for (guint i = 0; i < parts->len; i++) {
		const uint32_t index = g_array_index(parts, struct store_account_part, i).task;
		const struct engine_task *task;

		if (!is_over(service, index))
			continue;
		task = engine_task_at(service->engine, index);
		if (task->energy_kind != ENGINE_ENERGY_ESTIMATED) {
			set_energy(service, index, task->energy_kind);
		} else if (isnan(task->energy_j) && is_accounted(service, task)) {
			set_energy(service, index, note_last_end(service, task));
		}
	}
}

bool run_service_task_energy(const struct run_session *session, const struct engine_task *task,
			     double *ret_j)
{
	const struct run_service *service = session->service;

	if (!service || engine_task_over(task) || !is_accounted(service, task))
		return false;
	*ret_j = account_j(service, task->task->id);
	return true;
}

/* Beginning. */

/* Notes the ends of the attempts that were lost before the service began. */
static bool recall_lost(struct run_service *service, GError **error)
{
	const struct config *config = service->session->config;
	g_autoptr(GPtrArray) rows = store_lost(service->session->store, service->row.run, error);

	for (guint i = 0; rows && i < rows->len; i++) {
		const struct store_task *lost = g_ptr_array_index(rows, i);

		for (uint32_t c = 0; c < config->clusters_count; c++)
			if (lost->task < service->submissions->len && isfinite(lost->ended_s) &&
			    g_strcmp0(config->clusters[c].name, lost->cluster) == 0)
				note_end(service, lost->task, c, lost->ended_s);
	}
	return rows != NULL;
}

/*
 * Finds where the recorded energy of each ended task is from: the account, if it is what the
 * account has, or if none was recorded. Otherwise an older version recorded what the backend
 * attributed, which stays.
 */
bool run_service_recall_energy(struct run_service *service, GError **error)
{
	if (!service->engine || !service->ledger_complete)
		return true;
	if (!recall_lost(service, error))
		return false;
	for (guint i = 0; i < service->submissions->len; i++) {
		const struct engine_task *task = engine_task_at(service->engine, i);

		if (!is_over(service, i) || !is_accounted(service, task) ||
		    fabs(task->energy_j - account_j(service, i)) > 0.5e-6)
			continue;
		set_energy(service, i, note_last_end(service, task));
	}
	for (uint32_t c = 0; c < service->provisional->clusters_count; c++)
		run_service_settle_energy(service, c);
	return true;
}
