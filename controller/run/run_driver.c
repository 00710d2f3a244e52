/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/run/run_driver.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "common/json.h"
#include "controller/backend/remote.h"
#include "controller/engine/engine.h"
#include "controller/engine/experiment.h"
#include "controller/engine/recorder_store.h"
#include "controller/run/host_load.h"
#include "controller/run/run_late.h"
#include "controller/run/run_meters.h"

#define READY_S 300.0

/* Samples of all meters that may lie between the last one read and the start of a run. */
#define SAMPLES_BACK 32

/* How long the last samples of a run may take to come. */
#define COVER_S 10.0

/* All runs of an experiment. */
struct driver {
	struct run_session *session;
	struct experiment *experiment;
	struct workload *workload;
	double budget_j;
	uint32_t total; /* policies x limits x repeats */
	uint32_t done;  /* of those, ended */
	uint32_t timed; /* runs done by this controller, and how long they took in all */
	double timed_s;
};

/* One run. */
struct measured_run {
	struct driver *driver;
	struct store_run row;
	const struct policy *policy;
	bool going_on;
	struct backend *backend;
	struct recorder_store *recorder;
	struct engine *engine;
	struct engine_setup setup;
	struct host_load before;
	int64_t began_ns; /* baseline included */
};

static char *baseline_key(int64_t run)
{
	return g_strdup_printf("run.%" PRId64 ".baseline", run);
}

static bool store_fault(GError **error, GError *reason)
{
	g_propagate_prefixed_error(error, reason, "the store cannot be written: ");
	return false;
}

/* Progress. */

static double guess_run_s(const struct driver *driver)
{
	return driver->timed ? driver->timed_s / driver->timed : run_session_run_s(driver->session);
}

static void count_tasks(const struct measured_run *run, struct run_progress *progress)
{
	progress->tasks = run->driver->workload->tasks_count;
	progress->waiting = progress->running = progress->suspended = progress->completed = 0;
	progress->utility = 0;
	for (uint32_t i = 0; i < progress->tasks; i++) {
		const struct engine_task *task = engine_task(run->engine, i);

		progress->utility += task->utility;
		progress->completed += task->state == ENGINE_TASK_COMPLETED;
		progress->waiting +=
			task->state == ENGINE_TASK_WAITING || task->state == ENGINE_TASK_PLANNED;
		progress->suspended += task->state == ENGINE_TASK_SUSPENDED;
		progress->running += task->state >= ENGINE_TASK_STARTING &&
				     task->state <= ENGINE_TASK_RESUMING &&
				     task->state != ENGINE_TASK_SUSPENDED;
	}
}

/* Without anybody to ask, the time left is that of the duration; the energy may end a run before.
 */
static void show(struct run_progress *progress, void *data)
{
	struct measured_run *run = data;
	struct driver *driver = run->driver;
	double left_s;

	count_tasks(run, progress);
	progress->time_s = backend_now_s(run->backend);
	progress->energy_j = backend_energy_j(run->backend);
	left_s = fmax(0, progress->duration_s - progress->time_s);
	if (progress->energy_j > 0 && run->row.limit_j > 0)
		left_s = fmin(left_s, fmax(0, run->row.limit_j / progress->energy_j - 1) *
					      progress->time_s);
	progress->phase_left_s = left_s;
	progress->left_s = left_s + (driver->total - driver->done - 1) * guess_run_s(driver);
}

static void show_run(struct measured_run *run)
{
	struct run_progress *progress = run->driver->session->progress;

	progress->phase = RUN_PHASE_RUN;
	progress->run = run->driver->done + 1;
	progress->runs = run->driver->total;
	g_free(progress->policy);
	progress->policy = g_strdup(run->row.policy);
	progress->limit = run->row.limit;
	progress->limit_j = run->row.limit_j;
	progress->duration_s = run->setup.duration_s;
	progress->refresh_data = run;
	progress->refresh = show;
}

/* Recording. */

static void note(double time_s, const char *kind, const char *text, void *data)
{
	run_session_note(data, time_s, kind, text);
}

static void put_sample(struct run_session *session, double time_s, const struct remote_meter *meter,
		       const struct remote_sample *sample)
{
	GError *error = NULL;

	if (!store_add_sample(session->store, session->run, meter->host, sample->seq, time_s,
			      sample->mw, sample->energy_uj, sample->gap, &error))
		run_session_store_failed(session, error);
}

static void sample(double time_s, const struct remote_meter *meter, const struct remote_sample *one,
		   void *data)
{
	put_sample(data, time_s, meter, one);
}

/* How long a launch took, from the decision to all ranks running. */
static void launched(double time_s, uint32_t task, uint32_t attempt, double launch_s, void *data)
{
	struct run_session *session = data;
	g_autoptr(json_t) detail = json_pack("{s:i, s:i, s:f}", "task", (int)task, "attempt",
					     (int)attempt, "launch_s", launch_s);
	g_autofree char *text = json_text(detail);
	GError *error = NULL;

	if (!store_add_event(session->store, session->run, time_s, "launched", text, &error))
		run_session_store_failed(session, error);
}

/* The sample before the start: with it, the counter at the start follows from the store. */
static void put_first_samples(struct run_session *session)
{
	GPtrArray *meters = remote_fleet_meters(session->fleet);

	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);
		const struct remote_sample *last = remote_meter_last(meter);

		if (last && last->t_ns <= session->t0_ns)
			put_sample(session, clock_elapsed_s(session->t0_ns, last->t_ns), meter,
				   last);
	}
}

/* What a controller that takes over needs to know, beside the store's rows. */
static bool put_baseline(struct measured_run *run, const struct remote_baseline *baseline,
			 GError **error)
{
	struct run_session *session = run->driver->session;
	g_autoptr(json_t) document = run_session_baseline_json(session, baseline);
	g_autofree char *key = baseline_key(run->row.run);
	g_autofree char *text = NULL;
	json_t *seqs = json_array();

	for (uint32_t i = 0; i < session->config->clusters_count; i++)
		json_array_append_new(seqs, json_integer(remote_link_samples_seq(
						    remote_fleet_link(session->fleet, i))));
	json_object_set_new(document, "samples_seq", seqs);
	host_load_read(NULL, &run->before);
	json_object_set_new(document, "host_busy_s", json_real(run->before.busy_s));
	json_object_set_new(document, "host_at_s", json_real(run->before.at_s));
	text = json_text(document);
	return store_set_meta(session->store, key, text, error) &&
	       store_add_event(session->store, run->row.run, 0, "baseline", text, error);
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

/* The run's energy from the counters at its end, and metering gaps, per host and in all. */
static bool put_energy(struct measured_run *run, GError **error)
{
	struct run_session *session = run->driver->session;
	GPtrArray *meters = remote_fleet_meters(session->fleet);
	int64_t end_ns = session->t0_ns + (int64_t)(run->row.ended_s * 1e9);
	g_autofree char *unmetered = run_meters_missing(session->config);
	json_t *hosts = json_array();
	g_autoptr(json_t) detail = json_pack("{s:o}", "hosts", hosts);
	g_autofree char *text = NULL;

	remote_fleet_wait_covered(session->fleet, end_ns, COVER_S);
	run->row.gap_s = 0;
	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);

		json_array_append_new(hosts, meter_energy(meter, end_ns));
		run->row.gap_s += remote_meter_gap_s(meter, session->t0_ns, end_ns);
	}
	run->row.energy_j =
		unmetered ? (double)NAN : remote_meters_dynamic_j(meters, end_ns);
	text = json_text(detail);
	return store_add_event(session->store, run->row.run, run->row.ended_s, "energy", text,
			       error);
}

/* Nothing is held against a limit that no meter can show to be reached: that is to be known. */
static void note_unmetered(struct run_session *session)
{
	g_autofree char *missing = run_meters_missing(session->config);
	g_autofree char *text = NULL;

	if (!missing)
		return;
	text = g_strdup_printf("%s: the energy of this run is not known, and its limit cannot end "
			       "it",
			       missing);
	run_session_note(session, 0, "unmetered", text);
}

/* A run's life. */

static bool begin_new(struct measured_run *run, GError **error)
{
	struct run_session *session = run->driver->session;
	struct remote_baseline baseline = {0};
	bool good;

	session->progress->phase = RUN_PHASE_SETTLE;
	session->progress->phase_left_s = (double)NAN;
	session->progress->left_s =
		(run->driver->total - run->driver->done) * guess_run_s(run->driver);
	if (!run_session_settle(session, READY_S, error) ||
	    !run_session_baseline(session, &baseline, &session->t0_ns, error))
		return false;
	run->row.t0_ns = session->t0_ns;
	run->row.boot_id = clock_boot_id();
	run->row.started_utc = clock_utc();
	run->row.idle_w = baseline.sum_w;
	good = store_add_run(session->store, &run->row, error) &&
	       put_baseline(run, &baseline, error);
	remote_baseline_clear(&baseline);
	session->run = good ? run->row.run : 0;
	if (good) {
		put_first_samples(session);
		note_unmetered(session);
	}
	return good;
}

static void begin_again(struct measured_run *run)
{
	struct run_session *session = run->driver->session;
	g_autofree char *key = baseline_key(run->row.run);
	g_autofree char *text = store_get_meta(session->store, key);
	g_autoptr(json_t) baseline = text ? json_parse(text, strlen(text), key, NULL) : NULL;

	run->before.busy_s = json_number_value(json_object_get(baseline, "host_busy_s"));
	run->before.at_s = json_number_value(json_object_get(baseline, "host_at_s"));

	session->run = run->row.run;
	session->t0_ns = run->row.t0_ns;
	run->going_on = true;
}

/* Whether the local schedulers know of it. */
static bool is_under_way(const struct engine_task *task)
{
	return task->state >= ENGINE_TASK_STARTING && task->state <= ENGINE_TASK_RESUMING;
}

static struct remote_past past_of(const struct engine_task *task)
{
	bool suspending = task->state == ENGINE_TASK_SUSPENDING;
	bool off = task->state == ENGINE_TASK_SUSPENDED || task->state == ENGINE_TASK_RESUMING;

	return (struct remote_past){
		.suspended = task->suspensions - suspending,
		.resumed = task->suspensions - suspending - off,
	};
}

/* Asks the local schedulers what became of the tasks that were under way. */
static void adopt_tasks(struct measured_run *run)
{
	for (uint32_t i = 0; i < run->driver->workload->tasks_count; i++) {
		const struct engine_task *task = engine_task(run->engine, i);
		struct backend_start start = {
			.task = i,
			.attempt = task->attempts,
			.type = task->task->row,
			.cluster = task->cluster,
			.pstate = task->pstate,
			.nodes = task->nodes,
			.nodes_count = task->nodes_count,
		};
		const struct remote_past past = past_of(task);

		if (is_under_way(task))
			remote_backend_adopt(run->backend, &start, &past);
	}
}

static bool restore(struct measured_run *run, GError **error)
{
	struct run_session *session = run->driver->session;
	g_autofree char *text =
		g_strdup_printf("the controller was restarted; run %" PRId64 " goes on at %.1f s",
				run->row.run, backend_now_s(run->backend));

	if (!recorder_store_restore(session->store, run->row.run, &run->setup, run->engine, error))
		return false;
	run_session_note(session, (double)NAN, "resumed", text);
	adopt_tasks(run);
	remote_backend_wait_asked(run->backend, READY_S);
	return true;
}

static bool open_run(struct measured_run *run, GError **error)
{
	struct driver *driver = run->driver;
	struct run_session *session = driver->session;
	struct remote_run remote = {
		.experiment = session->plan->experiment,
		.run = run->row.run,
		.t0_ns = session->t0_ns,
		.note = note,
		.sample = sample,
		.launched = launched,
		.data = session,
	};

	run->backend = remote_backend_new(session->fleet, &remote);
	run->setup = experiment_setup(driver->experiment, driver->workload, run->policy,
				      run->row.limit_j);
	run->recorder =
		recorder_store_new(session->store, run->row.run, driver->experiment->system, true);
	run->setup.recorder = recorder_store_engine(run->recorder);
	run->engine = engine_new(&run->setup, run->backend);
	show_run(run);
	return !run->going_on || restore(run, error);
}

static void close_run(struct measured_run *run)
{
	struct run_session *session = run->driver->session;

	session->progress->refresh = NULL;
	engine_free(run->engine);
	backend_destroy(run->backend);
	recorder_store_free(run->recorder);
	session->run = 0;
}

/*
 * Samples tell a moment later that the limit was reached: what happened in between does not count.
 * A last task may also have ended in that moment, so that the run seemed to be done.
 */
static void correct_end(struct measured_run *run, struct engine_result *result)
{
	struct run_session *session = run->driver->session;
	GPtrArray *meters = remote_fleet_meters(session->fleet);
	int64_t end_ns = session->t0_ns + (int64_t)(result->ended_s * 1e9);
	int64_t t_ns;

	if (result->ended_by == ENGINE_END_ABORTED)
		return;
	remote_fleet_wait_covered(session->fleet, end_ns, COVER_S);
	if (result->ended_by != ENGINE_END_LIMIT &&
	    remote_meters_crossing(meters, run->row.limit_j, session->t0_ns, end_ns, &t_ns)) {
		result->ended_by = ENGINE_END_LIMIT;
		result->ended_s = clock_elapsed_s(session->t0_ns, t_ns);
	}
	result->tasks_arrived = 0;
	for (uint32_t i = 0; i < run->driver->workload->tasks_count; i++) {
		const struct engine_task *task = engine_task(run->engine, i);
		struct engine_task late;

		result->tasks_arrived += task->task->arrival_s <= result->ended_s;
		if (run_late_take_back(task, result, &late))
			run->setup.recorder->task(run->setup.recorder, &late);
	}
}

static void take_result(struct measured_run *run, const struct engine_result *result)
{
	struct host_load after = {0};

	host_load_read(NULL, &after);
	run->row.host_load = host_load_cores(&run->before, &after);
	g_free(run->row.ended_by);
	run->row.ended_by = g_strdup(engine_end_name(result->ended_by));
	run->row.ended_s = result->ended_s;
	run->row.utility = result->utility;
	run->row.energy_j = result->energy_j;
	run->row.tasks_arrived = result->tasks_arrived;
	run->row.tasks_completed = result->tasks_completed;
	run->row.tasks_failed = result->tasks_failed;
	run->row.tasks_dropped = result->tasks_dropped;
}

static void tell_result(const struct measured_run *run)
{
	g_autofree char *energy = isnan(run->row.energy_j)
					  ? g_strdup("energy not known")
					  : g_strdup_printf("%.1f J of %.1f J", run->row.energy_j,
							    run->row.limit_j);

	run_progress_note(
		run->driver->session->progress, "run-ended",
		"run %u of %u: %s at %.0f %%: utility %.2f, %s, %u of %u tasks "
		"completed, ended by %s after %.1f s",
		run->driver->done + 1, run->driver->total, run->row.policy, 100 * run->row.limit,
		run->row.utility, energy, run->row.tasks_completed, run->row.tasks_arrived,
		run->row.ended_by, run->row.ended_s);
}

/* An aborted run is recorded as far as that goes; what aborted it is the error. */
static bool end_run(struct measured_run *run, const struct engine_result *result, GError **error)
{
	struct run_session *session = run->driver->session;
	g_autoptr(GError) fault = NULL;
	bool recorded = recorder_store_finish(run->recorder, &fault);
	const char *stopped = remote_fleet_stopped(session->fleet);

	take_result(run, result);
	if (recorded)
		recorded = put_energy(run, &fault) &&
			   store_update_run(session->store, &run->row, &fault);
	if (!recorded)
		return store_fault(error, g_steal_pointer(&fault));
	if (result->ended_by != ENGINE_END_ABORTED) {
		tell_result(run);
		return true;
	}
	g_set_error(error, RUN_ERROR, stopped ? RUN_ERROR_STOPPED : RUN_ERROR_MEASURE, "%s",
		    stopped ?: engine_reason(run->engine) ?: "the run was aborted");
	return false;
}

/* Whoever wants to redraw a run's energy needs the sample after its end as well. */
static bool carry_out(struct measured_run *run, GError **error)
{
	struct engine_result result = {0};
	bool good;

	good = open_run(run, error);
	if (good) {
		run->driver->session->engine = run->engine;
		run->driver->session->tasks_count = run->driver->workload->tasks_count;
		engine_run(run->engine, &result);
		run->driver->session->engine = NULL;
		correct_end(run, &result);
		good = end_run(run, &result, error);
	}
	close_run(run);
	return good;
}

/* Which runs are there. */

static bool is_cell(const struct store_run *row, const struct policy *policy, double limit,
		    uint32_t repeat)
{
	return g_str_equal(row->policy, policy->name) && fabs(row->limit - limit) < 1e-9 &&
	       row->repeat == repeat;
}

static bool can_go_on(const struct driver *driver, const struct store_run *row)
{
	g_autofree char *boot_id = clock_boot_id();
	g_autofree char *key = baseline_key(row->run);
	g_autofree char *baseline = store_get_meta(driver->session->store, key);

	return driver->session->go_on && baseline && g_strcmp0(row->boot_id, boot_id) == 0;
}

static bool close_aborted(struct driver *driver, struct store_run *row, GError **error)
{
	row->ended_by = g_strdup("aborted");
	run_progress_note(driver->session->progress, "run-aborted",
			  "run %" PRId64 " (%s at %.0f %%) was interrupted and is done anew",
			  row->run, row->policy, 100 * row->limit);
	return store_update_run(driver->session->store, row, error) &&
	       store_add_event(driver->session->store, row->run, row->ended_s, "aborted",
			       "{\"text\":\"interrupted\"}", error);
}

static void copy_row(const struct store_run *from, struct store_run *to)
{
	*to = *from;
	to->policy = g_strdup(from->policy);
	to->started_utc = g_strdup(from->started_utc);
	to->boot_id = g_strdup(from->boot_id);
	to->ended_by = g_strdup(from->ended_by);
}

static void clear_row(struct store_run *row)
{
	g_free(row->policy);
	g_free(row->started_utc);
	g_free(row->boot_id);
	g_free(row->ended_by);
}

/*
 * Sets *ret_ended when the run has ended already, or fills `run->row` from one that can go on;
 * closes those that cannot.
 */
static bool look_up(struct measured_run *run, double limit, uint32_t repeat, bool *ret_ended,
		    GError **error)
{
	struct driver *driver = run->driver;
	g_autoptr(GPtrArray) rows = store_runs(driver->session->store, error);

	*ret_ended = false;
	if (!rows)
		return false;
	for (guint i = 0; i < rows->len; i++) {
		struct store_run *row = g_ptr_array_index(rows, i);

		if (!is_cell(row, run->policy, limit, repeat))
			continue;
		if (row->ended_by)
			*ret_ended = *ret_ended || !g_str_equal(row->ended_by, "aborted");
		else if (can_go_on(driver, row))
			copy_row(row, &run->row);
		else if (!close_aborted(driver, row, error))
			return false;
	}
	return true;
}

static void fill_row(struct measured_run *run, double limit, uint32_t repeat)
{
	run->row.policy = g_strdup(run->policy->name);
	run->row.limit = limit;
	run->row.limit_j = limit * run->driver->budget_j;
	run->row.repeat = repeat;
	run->row.seed = run->driver->workload->seed;
	run->row.measured = true;
	run->row.host_load = (double)NAN;
}

static bool do_cell(struct driver *driver, const struct policy *policy, double limit,
		    uint32_t repeat, GError **error)
{
	struct measured_run run = {.driver = driver, .policy = policy};
	bool ended;
	bool good = look_up(&run, limit, repeat, &ended, error);

	run.began_ns = clock_now_ns();
	if (good && !ended) {
		if (run.row.run)
			begin_again(&run);
		else
			fill_row(&run, limit, repeat);
		good = (run.going_on || begin_new(&run, error)) && carry_out(&run, error);
		driver->timed++;
		driver->timed_s += clock_elapsed_s(run.began_ns, clock_now_ns());
	}
	driver->session->run = 0;
	driver->done += good;
	clear_row(&run.row);
	return good;
}

static bool do_cells(struct driver *driver, GError **error)
{
	const struct run_plan *plan = driver->session->plan;

	for (uint32_t repeat = 1; repeat <= plan->repeats; repeat++)
		for (uint32_t i = 0; i < plan->limits_count; i++)
			for (uint32_t j = 0; j < driver->experiment->policies_count; j++)
				if (!do_cell(driver, &driver->experiment->policies[j],
					     plan->limits[i], repeat, error))
					return false;
	return true;
}

/* The budget is that of the first controller: a run that goes on keeps its limit. */
static bool find_budget(struct driver *driver, GError **error)
{
	struct store *store = driver->session->store;
	g_autofree char *known = store_get_meta(store, "budget_j");
	char text[G_ASCII_DTOSTR_BUF_SIZE];

	if (known) {
		driver->budget_j = g_ascii_strtod(known, NULL);
		return true;
	}
	driver->budget_j = experiment_budget_j(driver->experiment, 0, error);
	if (!(driver->budget_j > 0))
		return false;
	g_ascii_dtostr(text, sizeof(text), driver->budget_j);
	return store_set_meta(store, "budget_j", text, error);
}

static void driver_clear(struct driver *driver)
{
	workload_free(driver->workload);
	experiment_free(driver->experiment);
}

bool run_driver(struct run_session *session, GError **error)
{
	struct driver driver = {.session = session};
	bool good;

	driver.experiment = experiment_new(session->config,
					   (const char *const *)session->plan->policies, error);
	if (!driver.experiment)
		return false;
	driver.workload =
		workload_testbed_new(session->config, driver.experiment->system, 0, 1, error);
	driver.total = run_session_runs(session);
	good = driver.workload && find_budget(&driver, error) && do_cells(&driver, error);
	driver_clear(&driver);
	return good;
}

/* After a restart. */

static void recall_samples(struct run_session *session, const json_t *baseline)
{
	json_t *seqs = json_object_get(baseline, "samples_seq");

	for (uint32_t i = 0; i < session->config->clusters_count; i++) {
		json_int_t seq = json_integer_value(json_array_get(seqs, i));

		remote_link_samples_from(remote_fleet_link(session->fleet, i),
					 MAX(seq - SAMPLES_BACK, 0));
	}
}

static void recall_meters(struct run_session *session, const json_t *baseline, int64_t t0_ns)
{
	GPtrArray *meters = remote_fleet_meters(session->fleet);
	json_t *hosts = json_object_get(baseline, "hosts");

	for (guint i = 0; i < meters->len; i++) {
		json_t *idle_w = json_object_get(json_array_get(hosts, i), "idle_w");

		remote_meter_start(g_ptr_array_index(meters, i), t0_ns, json_number_value(idle_w));
	}
}

void run_driver_recall(struct run_session *session)
{
	g_autoptr(GPtrArray) rows = store_runs(session->store, NULL);

	for (guint i = 0; rows && i < rows->len; i++) {
		const struct store_run *row = g_ptr_array_index(rows, i);
		g_autofree char *key = baseline_key(row->run);
		g_autofree char *text = row->ended_by ? NULL : store_get_meta(session->store, key);
		g_autoptr(json_t) baseline =
			text ? json_parse(text, strlen(text), key, NULL) : NULL;

		if (!baseline)
			continue;
		recall_samples(session, baseline);
		recall_meters(session, baseline, row->t0_ns);
	}
}
