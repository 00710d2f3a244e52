/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/run/run_profiled.h"

#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/store/store_profile.h"

/* Key in the store's meta: struct run_profiled_sums as JSON. */
#define SUMS_KEY "profile_sums"

static void hole_free(void *data)
{
	struct run_hole *hole = data;

	g_free(hole->reason);
	g_free(hole);
}

/* The index of a name. UINT32_MAX: the configuration does not have it. */

static uint32_t find_type(const struct config *config, const char *name)
{
	for (uint32_t i = 0; i < config->types_count; i++)
		if (g_strcmp0(config->types[i].name, name) == 0)
			return i;
	return UINT32_MAX;
}

static uint32_t find_cluster(const struct config *config, const char *name)
{
	for (uint32_t i = 0; i < config->clusters_count; i++)
		if (g_strcmp0(config->clusters[i].name, name) == 0)
			return i;
	return UINT32_MAX;
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
	const struct run_measurement measurement = {
		.type = find_type(config, row->type),
		.cluster = find_cluster(config, row->cluster),
		.round = row->round,
		.exec_s = row->exec_s,
		.energy_j = row->energy_j,
	};
	g_autofree char *work = NULL;

	if (measurement.type != UINT32_MAX && measurement.cluster != UINT32_MAX)
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

/* By type, then cluster, independent of the order in which they were given up. */
static int compare_holes(gconstpointer a, gconstpointer b)
{
	const struct run_hole *one = *(const struct run_hole *const *)a;
	const struct run_hole *other = *(const struct run_hole *const *)b;

	if (one->type != other->type)
		return one->type < other->type ? -1 : 1;
	return one->cluster < other->cluster ? -1 : one->cluster > other->cluster;
}

static void add_hole(struct run_profiled *profiled, uint32_t type, uint32_t cluster,
		     const char *reason)
{
	struct run_hole *hole = g_new0(struct run_hole, 1);

	hole->type = type;
	hole->cluster = cluster;
	hole->reason = g_strdup(reason);
	g_ptr_array_add(profiled->holes, hole);
	g_ptr_array_sort(profiled->holes, compare_holes);
}

static bool recall_hole(struct run_profiled *profiled, const struct store_unmeasured *row,
			GError **error)
{
	const struct config *config = profiled->session->config;
	const uint32_t type = find_type(config, row->type);
	const uint32_t cluster = find_cluster(config, row->cluster);

	if (type == UINT32_MAX || cluster == UINT32_MAX)
		return store_drop_unmeasured(profiled->session->store, row->type, row->cluster,
					     error);
	if (is_under_another_deadline(profiled->session, row)) {
		run_progress_note(
			profiled->session->progress, "cell-again",
			"type '%s' on cluster '%s' is tried again: experiment.task_deadline_s "
			"has changed",
			row->type, row->cluster);
		return store_drop_unmeasured(profiled->session->store, row->type, row->cluster,
					     error);
	}
	if (profiled->session->retries && was_lost(row)) {
		run_progress_note(
			profiled->session->progress, "cell-again",
			"type '%s' on cluster '%s' is tried once more, since the experiment cannot "
			"do without: %s",
			row->type, row->cluster, row->reason);
		return store_drop_unmeasured(profiled->session->store, row->type, row->cluster,
					     error);
	}
	run_progress_note(profiled->session->progress, "cell-failed",
			  "type '%s' on cluster '%s' stays given up: %s", row->type, row->cluster,
			  row->reason);
	add_hole(profiled, type, cluster, row->reason);
	return true;
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

/* NAN if it was not known. */
static double sum_of(const json_t *sums, const char *key)
{
	const json_t *value = json_object_get(sums, key);

	return json_is_null(value) ? (double)NAN : json_number_value(value);
}

static void recall_sums(struct run_profiled *profiled)
{
	g_autofree char *text = store_get_meta(profiled->session->store, SUMS_KEY);
	g_autoptr(json_t) sums = text ? json_parse(text, strlen(text), SUMS_KEY, NULL) : NULL;

	profiled->before.span_s = sum_of(sums, "span_s");
	profiled->before.busy_s = sum_of(sums, "busy_s");
	profiled->before.idle_j = sum_of(sums, "idle_j");
	profiled->sums = profiled->before;
}

bool run_profiled_init(struct run_profiled *profiled, struct run_session *session, GError **error)
{
	*profiled = (struct run_profiled){
		.session = session,
		.measurements = g_array_new(FALSE, FALSE, sizeof(struct run_measurement)),
		.holes = g_ptr_array_new_with_free_func(hole_free),
	};
	recall_sums(profiled);
	return recall_measurements(profiled, error) && recall_holes(profiled, error);
}

void run_profiled_clear(struct run_profiled *profiled)
{
	g_clear_pointer(&profiled->measurements, g_array_unref);
	g_clear_pointer(&profiled->holes, g_ptr_array_unref);
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
	g_autoptr(json_t) sums =
		json_pack("{s:f, s:o, s:f}", "span_s", profiled->sums.span_s, "busy_s",
			  json_number_or_null(profiled->sums.busy_s), "idle_j",
			  profiled->sums.idle_j);
	g_autofree char *text = json_text(sums);

	return store_set_meta(profiled->session->store, SUMS_KEY, text, error);
}

/* Stores the measurement and the sums up to it, or neither. */
static bool store_measured(struct run_profiled *profiled, const struct store_measurement *row,
			   GError **error)
{
	struct store *store = profiled->session->store;

	if (!store_begin(store, error))
		return false;
	if (store_add_measurement(store, row, error) && put_sums(profiled, error))
		return store_commit(store, error);
	store_rollback(store);
	return false;
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
	add_hole(profiled, type, cluster, reason);
	return true;
}

/* Results. */

const char *run_profiled_hole(const struct run_profiled *profiled, uint32_t type, uint32_t cluster)
{
	for (guint i = 0; i < profiled->holes->len; i++) {
		const struct run_hole *hole = profiled->holes->pdata[i];

		if (hole->type == type && hole->cluster == cluster)
			return hole->reason;
	}
	return NULL;
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
