/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/measure/run_profiled.h"

#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/session/run_session_private.h"
#include "controller/store/store_profile.h"

/* Key in the store's meta: struct run_profiled_sums as JSON. */
#define SUMS_KEY "profile_sums"

static const struct record_field sums_fields[] = {
	{RECORD_FIELD_REAL(run_profiled_sums, span_s)},
	{RECORD_FIELD_REAL(run_profiled_sums, busy_s)},
	{RECORD_FIELD_REAL(run_profiled_sums, idle_j)},
	{NULL},
};
static const struct record sums_record = {.size = sizeof(struct run_profiled_sums),
					  .fields = sums_fields,
					  .open = true};

/*
 * Finds the pair of these names, if the configuration still has it. False, and both are
 * UINT32_MAX: it does not.
 */
static bool find_pair(const struct config *config, const char *type_name, const char *cluster_name,
		      uint32_t *ret_type, uint32_t *ret_cluster)
{
	const struct config_type *type = config_type_find(config, type_name);
	const struct config_cluster *cluster = config_cluster_find(config, cluster_name);
	const bool found = type && cluster;

	*ret_type = found ? (uint32_t)(type - config->types) : UINT32_MAX;
	*ret_cluster = found ? (uint32_t)(cluster - config->clusters) : UINT32_MAX;
	return found;
}

/*
 * What determines the execution time of a type on a cluster, as text; a measurement with another
 * text is dropped.
 */
static char *work_of(const struct config *config, uint32_t type, uint32_t cluster)
{
	const struct config_type *t = &config->types[type];
	const struct config_cluster *c = &config->clusters[cluster];

	return g_strdup_printf("%s.%s x %u on %u of %u x %u cores, %" G_GUINT64_FORMAT
			       " of %" G_GUINT64_FORMAT "+%" G_GUINT64_FORMAT
			       " MiB, %u of %u MHz%s%s",
			       t->benchmark, t->class_ ?: "", t->repetitions, t->cores, c->nodes,
			       c->cores, t->memory_mib, c->memory_mib, c->swap_mib, c->max_mhz,
			       c->base_mhz, c->max_cstate ? ", " : "", c->max_cstate ?: "");
}

static double deadline_s(const struct run_session *session)
{
	return session->config->experiment->task_deadline_s;
}

static bool is_under_another_deadline(const struct run_session *session,
				      const struct store_unmeasured *row)
{
	return fabs(row->task_deadline_s - deadline_s(session)) > 1e-9;
}

static bool was_lost(const struct store_unmeasured *row)
{
	return !strstr(row->reason, RUN_PROFILED_DEADLINE) &&
	       !strstr(row->reason, RUN_PROFILED_LONGEST);
}

/* Reading. */

static bool recall_measurement(struct run_profiled *profiled, const struct store_measurement *row,
			       uint32_t *forgotten, GError **error)
{
	const struct config *config = profiled->session->config;
	struct run_measurement measurement = {
		.round = row->round,
		.exec_s = row->exec_s,
		.energy_j = row->energy_j,
	};
	g_autofree char *work = NULL;

	if (find_pair(config, row->type, row->cluster, &measurement.type, &measurement.cluster))
		work = work_of(config, measurement.type, measurement.cluster);
	if (g_strcmp0(work, row->work) == 0) {
		g_array_append_val(profiled->measurements, measurement);
		return true;
	}
	++*forgotten;
	return store_drop_measurement(profiled->session->store, row->n, error);
}

static bool recall_measurements(struct run_profiled *profiled, GError **error)
{
	g_autoptr(GPtrArray) rows = store_measurements(profiled->session->store, error);
	uint32_t forgotten = 0;

	if (!rows)
		return false;
	for (guint i = 0; i < rows->len; i++)
		if (!recall_measurement(profiled, rows->pdata[i], &forgotten, error))
			return false;
	if (forgotten > 0)
		run_progress_note(
			profiled->session->progress, "profile",
			"%u measurement%s on record %s of another configuration: forgotten",
			forgotten, forgotten == 1 ? "" : "s", forgotten == 1 ? "is" : "are");
	return true;
}

static void set_hole(struct run_profiled *profiled, uint32_t type, uint32_t cluster,
		     const char *reason)
{
	char **hole = &profiled->holes[type * profiled->session->config->clusters_count + cluster];

	profiled->holes_count += !*hole;
	g_free(*hole);
	*hole = g_strdup(reason);
}

static bool recall_hole(struct run_profiled *profiled, const struct store_unmeasured *row,
			GError **error)
{
	struct run_session *session = profiled->session;
	uint32_t type, cluster;
	const bool found = find_pair(session->config, row->type, row->cluster, &type, &cluster);

	if (found && is_under_another_deadline(session, row)) {
		run_progress_note(
			session->progress, "cell-again",
			"type '%s' on cluster '%s' is tried again: experiment.task_deadline_s "
			"has changed",
			row->type, row->cluster);
	} else if (found && session->retries && was_lost(row)) {
		run_progress_note(
			session->progress, "cell-again",
			"type '%s' on cluster '%s' is tried once more, since the experiment cannot "
			"do without: %s",
			row->type, row->cluster, row->reason);
	} else if (found) {
		run_progress_note(session->progress, "cell-failed",
				  "type '%s' on cluster '%s' stays given up: %s", row->type,
				  row->cluster, row->reason);
		set_hole(profiled, type, cluster, row->reason);
		return true;
	}
	return store_drop_unmeasured(session->store, row->type, row->cluster, error);
}

static bool recall_holes(struct run_profiled *profiled, GError **error)
{
	g_autoptr(GPtrArray) rows = store_unmeasured(profiled->session->store, error);

	if (!rows)
		return false;
	for (guint i = 0; i < rows->len; i++)
		if (!recall_hole(profiled, rows->pdata[i], error))
			return false;
	return true;
}

static void recall_sums(struct run_profiled *profiled)
{
	g_autoptr(json_t) sums = store_get_document(profiled->session->store, SUMS_KEY);

	if (sums) {
		record_init(&sums_record, &profiled->before);
		if (!record_from_json(&sums_record, sums, &profiled->before, NULL))
			memset(&profiled->before, 0, sizeof(profiled->before));
	}
	profiled->sums = profiled->before;
}

bool run_profiled_init(struct run_profiled *profiled, struct run_session *session, GError **error)
{
	*profiled = (struct run_profiled){
		.session = session,
		.measurements = g_array_new(FALSE, FALSE, sizeof(struct run_measurement)),
		.holes = g_new0(char *,
				session->config->types_count * session->config->clusters_count),
	};
	recall_sums(profiled);
	return recall_measurements(profiled, error) && recall_holes(profiled, error);
}

void run_profiled_clear(struct run_profiled *profiled)
{
	const struct config *config = profiled->session->config;

	g_clear_pointer(&profiled->measurements, g_array_unref);
	for (uint32_t i = 0; i < config->types_count * config->clusters_count; i++)
		g_free(profiled->holes[i]);
	g_clear_pointer(&profiled->holes, g_free);
}

bool run_profiled_has_more(struct run_session *session)
{
	g_autoptr(GPtrArray) rows = store_unmeasured(session->store, NULL);

	for (guint i = 0; rows && i < rows->len; i++)
		if (is_under_another_deadline(session, rows->pdata[i]))
			return true;
	return false;
}

bool run_profiled_has_lost(struct run_session *session)
{
	g_autoptr(GPtrArray) rows = store_unmeasured(session->store, NULL);

	for (guint i = 0; rows && i < rows->len; i++)
		if (was_lost(rows->pdata[i]))
			return true;
	return false;
}

/* Writing. */

static bool put_sums(struct run_profiled *profiled, GError **error)
{
	g_autoptr(json_t) sums = record_to_json(&sums_record, &profiled->sums);
	g_autofree char *text = json_text(sums);

	return store_set_meta(profiled->session->store, SUMS_KEY, text, error);
}

/* Stores the measurement and the sums up to it, or neither. */
static bool store_measured(struct run_profiled *profiled, const struct store_measurement *row,
			   GError **error)
{
	struct store *store = profiled->session->store;

	return store_begin(store, error) &&
	       store_end(store,
			 store_add_measurement(store, row, error) && put_sums(profiled, error),
			 error);
}

bool run_profiled_add(struct run_profiled *profiled, const struct run_measurement *measurement,
		      const struct run_profiled_sums *sums, GError **error)
{
	const struct config *config = profiled->session->config;
	g_autofree char *work = work_of(config, measurement->type, measurement->cluster);
	const struct store_measurement row = {
		.type = config->types[measurement->type].name,
		.cluster = config->clusters[measurement->cluster].name,
		.round = measurement->round,
		.work = work,
		.exec_s = measurement->exec_s,
		.energy_j = measurement->energy_j,
	};

	profiled->sums = (struct run_profiled_sums){
		.span_s = profiled->before.span_s + sums->span_s,
		.busy_s = profiled->before.busy_s + sums->busy_s,
		.idle_j = profiled->before.idle_j + sums->idle_j,
	};
	if (!store_measured(profiled, &row, error))
		return false;
	g_array_append_val(profiled->measurements, *measurement);
	return true;
}

bool run_profiled_give_up(struct run_profiled *profiled, uint32_t type, uint32_t cluster,
			  const char *reason, GError **error)
{
	const struct config *config = profiled->session->config;
	const struct store_unmeasured row = {
		.type = config->types[type].name,
		.cluster = config->clusters[cluster].name,
		.reason = (char *)reason,
		.task_deadline_s = deadline_s(profiled->session),
	};

	if (!store_put_unmeasured(profiled->session->store, &row, error))
		return false;
	set_hole(profiled, type, cluster, reason);
	return true;
}

/* Results. */

const char *run_profiled_hole(const struct run_profiled *profiled, uint32_t type, uint32_t cluster)
{
	return profiled->holes[type * profiled->session->config->clusters_count + cluster];
}

GArray *run_profiled_counting(const struct run_profiled *profiled)
{
	GArray *counting = g_array_new(FALSE, FALSE, sizeof(struct run_measurement));

	for (guint i = 0; i < profiled->measurements->len; i++) {
		const struct run_measurement *one =
			&g_array_index(profiled->measurements, struct run_measurement, i);

		if (!run_profiled_hole(profiled, one->type, one->cluster))
			g_array_append_val(counting, *one);
	}
	return counting;
}

static double over_span(const struct run_profiled *profiled, double sum)
{
	return profiled->sums.span_s > 0 ? sum / profiled->sums.span_s : (double)NAN;
}

double run_profiled_host_load(const struct run_profiled *profiled)
{
	return over_span(profiled, profiled->sums.busy_s);
}

double run_profiled_idle_w(const struct run_profiled *profiled)
{
	return over_span(profiled, profiled->sums.idle_j);
}
