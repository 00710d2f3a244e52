/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/session/run_record.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define LOG_SUBSYSTEM "run"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "common/platform.h"
#include "common/record/record.h"
#include "controller/engine/engine.h"
#include "controller/run/run_meters.h"
#include "controller/session/run_session_private.h"

/*
 * The maximum number of samples, over all meters, between the last one read and the start of a run.
 */
#define SAMPLES_BACK 32

/*
 * Samples older than this at the beginning of a meter's account have been read and written before.
 */
#define READ_LATE_NS 5000000000

/* The baseline. */

/* Its key in the store's meta data (the caller frees). */
static char *baseline_key(int64_t run)
{
	return g_strdup_printf("run.%" PRId64 ".baseline", run);
}

json_t *run_record_find_baseline(struct store *store, int64_t run)
{
	g_autofree char *key = baseline_key(run);

	return store_get_document(store, key);
}

double run_record_idle_w(const json_t *baseline, const char *host)
{
	const json_t *one;
	size_t at;

	json_array_foreach (json_object_get(baseline, "hosts"), at, one)
		if (g_strcmp0(json_string_value(json_object_get(one, "host")), host) == 0)
			return json_number_value(json_object_get(one, "idle_w"));
	return (double)NAN;
}

void run_record_start_meters(struct run_session *session, const json_t *baseline, int64_t start_ns)
{
	GPtrArray *meters = remote_fleet_meters(session->fleet);

	for (guint i = 0; i < meters->len; i++) {
		struct remote_meter *meter = g_ptr_array_index(meters, i);
		const double idle_w = run_record_idle_w(baseline, meter->host);

		remote_meter_start(meter, start_ns, isnan(idle_w) ? 0 : idle_w);
	}
}

json_t *run_record_samples_seq(const struct run_session *session)
{
	json_t *seqs = json_array();

	for (uint32_t i = 0; i < session->config->clusters_count; i++)
		json_array_append_new(seqs, json_integer(remote_link_samples_seq(
						    remote_fleet_link(session->fleet, i))));
	return seqs;
}

void run_record_samples_from(struct run_session *session, const json_t *seqs)
{
	for (uint32_t i = 0; i < session->config->clusters_count; i++) {
		const json_int_t seq = json_integer_value(json_array_get(seqs, i));

		remote_link_samples_from(remote_fleet_link(session->fleet, i),
					 MAX(seq - SAMPLES_BACK, 0));
	}
}

/* Callbacks. */

static void record_note(double time_s, const char *kind, const char *text, void *data)
{
	run_session_note_at(data, time_s, kind, text);
}

void run_record_sample(double time_s, const struct remote_meter *meter,
		       const struct wire_sample *one, void *data)
{
	struct run_session *session = data;
	GError *error = NULL;

	if (!store_add_sample(session->store, session->run, meter->host, one->seq, time_s, one->mw,
			      one->energy_uj, one->gap, &error))
		run_session_store_failed(session, error);
}

/* Records the duration of a launch, from the decision until all ranks run. */
static void record_launched(double time_s, uint32_t task, uint32_t attempt, double launch_s,
			    void *data)
{
	struct run_session *session = data;
	g_autoptr(json_t) detail = json_pack("{s:i, s:i, s:f}", "task", (int)task, "attempt",
					     (int)attempt, "launch_s", launch_s);
	g_autofree char *text = json_text(detail);
	g_autofree char *name = g_strdup_printf("%u", task);
	GError *error = NULL;

	log_info_of(LOG_TASK(name), "attempt %u launched within %.3f s", attempt, launch_s);
	if (!store_add_event(session->store, session->run, time_s, "launched", text, &error))
		run_session_store_failed(session, error);
}

/* Log words for changes of tasks, and for users' requests; "": the task's state. */
static const char *const told[] = {
	[ENGINE_EVENT_ENDED] = "",
	[ENGINE_EVENT_LOST] = "lost",
	[ENGINE_EVENT_SUSPENDED] = "suspended",
	[ENGINE_EVENT_RESUMED] = "resumed",
	[ENGINE_EVENT_HELD] = "held",
	[ENGINE_EVENT_RELEASED] = "released",
	[ENGINE_EVENT_CANCEL] = "to be cancelled",
	[ENGINE_EVENT_SUSPEND] = "to be suspended",
	[ENGINE_EVENT_RESUME] = "to be resumed",
	[ENGINE_EVENT_MIGRATE] = "to be migrated",
};

void run_record_log(const char *kind, const char *text)
{
	const int event = record_word_find(engine_event_names, kind);
	g_autoptr(json_t) detail = NULL;
	g_autofree char *task = NULL;
	const char *user;
	const char *reason;

	if (event < 0 || event >= (int)G_N_ELEMENTS(told) || !told[event] || !text)
		return;
	detail = json_parse(text, strlen(text), "event", NULL);
	task = g_strdup_printf("%" JSON_INTEGER_FORMAT,
			       json_integer_value(json_object_get(detail, "task")));
	user = json_string_value(json_object_get(detail, "user"));
	reason = json_string_value(json_object_get(detail, "reason"));
	log_info_of(LOG_TASK(task), "%s%s%s%s%s",
		    *told[event] ? told[event]
				 : json_string_value(json_object_get(detail, "state")),
		    user ? " by " : "", user ?: "", reason ? ": " : "", reason ?: "");
}

/* Records how much CPU the VMs of a task on shared hosts got of their share. */
static void record_delivered(double time_s, uint32_t task, uint32_t attempt,
			     const struct task_share *share, void *data)
{
	struct run_session *session = data;
	const struct store_delivery row = {
		.run = session->run,
		.task = task,
		.attempt = attempt,
		.time_s = time_s,
		.share = share->fraction,
		.asked_cores = share->asked_cores,
		.given_cores = share->given_cores,
	};
	GError *error = NULL;

	if (session->run && !store_put_delivery(session->store, &row, &error))
		run_session_store_failed(session, error);
}

struct remote_run run_record_remote(struct run_session *session, int64_t run)
{
	return (struct remote_run){
		.experiment = session->plan->experiment,
		.run = run,
		.t0_ns = session->t0_ns,
		.note = record_note,
		.sample = run_record_sample,
		.launched = record_launched,
		.delivered = record_delivered,
		.data = session,
	};
}

struct backend *run_record_profile_backend(struct run_session *session, int64_t t0_ns, bool profile)
{
	const struct remote_run run = {
		.experiment = session->plan->experiment,
		.run = t0_ns / INT64_C(1000000),
		.t0_ns = t0_ns,
		.profile = profile,
		.note = record_note,
		.data = session,
	};

	return remote_backend_new(session->fleet, &run);
}

/* Records the last sample before the start, from which the counter at the start follows. */
static void record_first_samples(struct run_session *session)
{
	GPtrArray *meters = remote_fleet_meters(session->fleet);

	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);
		const struct wire_sample *last = remote_meter_last(meter);

		if (last && last->t_ns <= session->t0_ns)
			run_record_sample(clock_elapsed_s(session->t0_ns, last->t_ns), meter, last,
					  session);
	}
}

void run_record_known_samples(struct run_session *session)
{
	GPtrArray *meters = remote_fleet_meters(session->fleet);

	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);

		for (guint k = 0; k < meter->samples->len; k++) {
			const struct wire_sample *one =
				&g_array_index(meter->samples, struct wire_sample, k);

			if (one->t_ns > meter->start_ns - READ_LATE_NS)
				run_record_sample(clock_elapsed_s(session->t0_ns, one->t_ns), meter,
						  one, session);
		}
	}
}

/*
 * Records what a continuing controller needs of the run beside the store's rows: idle watts, the
 * last samples, and this machine's load so far, which *ret_before is set to.
 */
static bool record_baseline(struct run_session *session, int64_t run,
			    const struct remote_baseline *baseline, struct host_load *ret_before,
			    GError **error)
{
	g_autoptr(json_t) document = run_session_baseline_json(session, baseline);
	g_autofree char *key = baseline_key(run);
	g_autofree char *text = NULL;

	json_object_set_new(document, "samples_seq", run_record_samples_seq(session));
	host_load_read(session->platform, NULL, ret_before);
	json_object_set_new(document, "host_busy_s", json_real(ret_before->busy_s));
	json_object_set_new(document, "host_at_s", json_real(ret_before->at_s));
	text = json_text(document);
	return store_set_meta(session->store, key, text, error) &&
	       store_add_event(session->store, run, 0, "baseline", text, error);
}

/* Makes a note that no energy limit is enforced, since a host has no meter. */
static void note_unmetered(struct run_session *session)
{
	g_autofree char *missing = run_meters_missing(session->config);
	g_autofree char *text = NULL;

	if (!missing)
		return;
	text = g_strdup_printf("%s: the energy of this run is not known, and its limit cannot end "
			       "it",
			       missing);
	run_session_note_at(session, 0, "unmetered", text);
}

bool run_record_begin(struct run_session *session, struct store_run *row,
		      struct host_load *ret_before, run_record_also_f also, void *data,
		      GError **error)
{
	struct remote_baseline baseline = {0};
	bool good;

	if (!run_session_baseline(session, &baseline, &session->t0_ns, error))
		return false;
	row->t0_ns = session->t0_ns;
	row->boot_id = platform_boot_id(session->platform);
	row->started_utc = platform_utc(session->platform);
	row->idle_w = baseline.sum_w;
	good = store_begin(session->store, error) &&
	       store_end(session->store,
			 store_add_run(session->store, row, error) &&
				 record_baseline(session, row->run, &baseline, ret_before, error) &&
				 (!also || also(data, error)),
			 error);
	remote_baseline_clear(&baseline);
	session->run = good ? row->run : 0;
	if (good) {
		record_first_samples(session);
		note_unmetered(session);
	}
	return good;
}

void run_record_result(struct store_run *row, const struct engine_result *result)
{
	row->utility = result->utility;
	row->tasks_arrived = result->tasks_arrived;
	row->tasks_completed = result->tasks_completed;
	row->tasks_failed = result->tasks_failed;
	row->tasks_dropped = result->tasks_dropped;
}

static json_t *meter_energy(const struct remote_meter *meter, int64_t end_ns)
{
	double start_uj = remote_meter_start_uj(meter);
	double end_uj = remote_meter_counter_uj(meter, end_ns);

	return json_pack("{s:s, s:I, s:I, s:f, s:f}", "host", meter->host, "start_uj",
			 (json_int_t)llround(start_uj), "end_uj", (json_int_t)llround(end_uj),
			 "idle_w", meter->idle_w, "dynamic_j",
			 remote_meter_dynamic_j(meter, end_ns));
}

bool run_record_energy(struct run_session *session, struct store_run *row, GError **error)
{
	GPtrArray *meters = remote_fleet_meters(session->fleet);
	int64_t end_ns = session->t0_ns + (int64_t)(row->ended_s * 1e9);
	g_autofree char *unmetered = run_meters_missing(session->config);
	json_t *hosts = json_array();
	g_autoptr(json_t) detail = json_pack("{s:o}", "hosts", hosts);
	g_autofree char *text = NULL;

	remote_fleet_wait_covered(session->fleet, end_ns, RUN_RECORD_COVER_S);
	row->gap_s = 0;
	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);

		json_array_append_new(hosts, meter_energy(meter, end_ns));
		row->gap_s += remote_meter_gap_s(meter, session->t0_ns, end_ns);
	}
	row->energy_j = unmetered ? (double)NAN : remote_meters_dynamic_j(meters, end_ns);
	text = json_text(detail);
	return store_add_event(session->store, row->run, row->ended_s, "energy", text, error);
}

/* After a restart. */

void run_record_recall(struct run_session *session)
{
	g_autoptr(GPtrArray) rows = store_runs(session->store, NULL);

	for (guint i = 0; rows && i < rows->len; i++) {
		const struct store_run *row = g_ptr_array_index(rows, i);
		g_autoptr(json_t) baseline =
			row->ended_by ? NULL : run_record_find_baseline(session->store, row->run);

		if (!baseline)
			continue;
		run_record_samples_from(session, json_object_get(baseline, "samples_seq"));
		run_record_start_meters(session, baseline, row->t0_ns);
	}
}
