/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/attribution/observed.h"

#include <math.h>
#include <string.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "controller/journal/input_json.h"
#include "controller/report/stats.h"

G_DEFINE_QUARK(observed_error_quark, observed_error)

/* Inputs that are read at a time. */
#define READ_AT_ONCE 4096

/* Ratios closer to 1 are 1. */
#define ROUNDING 1e-6

/* Arrivals closer than this are equal. */
#define SAME_S 1e-6

/* Everything that is read of the directory. */
struct reading {
	const struct summary *measured;
	const struct experiment *experiment;
	const struct experiment_trial *trial;
	const struct sched_system *system; /* with estimates, in shared clusters of whole hosts */
	struct observed *observed;
	bool given;         /* estimates are given: they contain no launch */
	GPtrArray **launch; /* GArray of double per cluster: the launches of completed tasks */
};

/* A task of a run while it is read. */
struct row {
	const struct store_task *task;
	double launch_s; /* of its last attempt; NAN: not known */
	double work_s;   /* of its last attempt on shared hosts, by its yields; NAN: not shared */
	double paused_s; /* of its last attempt, until the run ended */
	bool lost;       /* its last attempt was lost, and the task waited when the run ended */
};

static const struct sched_option *option_of(const struct reading *reading,
					    const struct observed_course *task, uint32_t pstate)
{
	return sched_system_option(reading->system, task->row, task->cluster, pstate);
}

/* Launches: events. */

static void take_launch(struct row *rows, uint32_t count, const char *text)
{
	g_autoptr(json_t) detail = text ? json_parse(text, strlen(text), "launched", NULL) : NULL;
	const json_int_t task = json_integer_value(json_object_get(detail, "task"));
	const json_int_t attempt = json_integer_value(json_object_get(detail, "attempt"));
	const json_t *launch_s = json_object_get(detail, "launch_s");

	if (json_is_number(launch_s) && task >= 0 && task < count && rows[task].task &&
	    attempt == rows[task].task->attempts)
		rows[task].launch_s = fmax(0, json_number_value(launch_s));
}

static void take_node(const struct reading *reading, struct observed_run *run,
		      const struct store_event *event)
{
	g_autoptr(json_t) detail =
		event->detail ? json_parse(event->detail, strlen(event->detail), "node", NULL)
			      : NULL;
	const char *name = json_string_value(json_object_get(detail, "cluster"));
	struct backend_event node = {
		.kind = g_str_equal(event->kind, "node-down") ? BACKEND_EVENT_NODE_DOWN
							      : BACKEND_EVENT_NODE_UP,
		.time_s = event->time_s,
		.cluster = name ? sched_system_cluster(reading->system, name) : UINT32_MAX,
		.node = (uint32_t)json_integer_value(json_object_get(detail, "node")),
		.reason = "it was down when it was measured",
	};

	if (node.cluster < reading->system->clusters_count)
		g_array_append_val(run->nodes, node);
}

static bool read_events(const struct reading *reading, struct observed_run *run, struct row *rows,
			GError **error)
{
	g_autoptr(GPtrArray) events = store_events(reading->measured->store, run->run->run, error);

	for (guint i = 0; events && i < events->len; i++) {
		const struct store_event *event = events->pdata[i];

		if (g_str_equal(event->kind, "launched"))
			take_launch(rows, run->tasks_count, event->detail);
		else if (g_str_equal(event->kind, "node-down") ||
			 g_str_equal(event->kind, "node-up"))
			take_node(reading, run, event);
	}
	return events != NULL;
}

/* Suspensions and migrations. */

static bool is_whole(const struct store_suspension *one)
{
	return isfinite(one->freeze_s) && isfinite(one->save_s) && isfinite(one->restore_s) &&
	       isfinite(one->resume_s);
}

static void take_suspension(const struct reading *reading, struct observed_run *run,
			    struct row *rows, const struct store_suspension *one)
{
	const uint32_t cluster = sched_system_cluster(reading->system, one->cluster);
	struct overheads *overheads = reading->observed->overheads;
	struct backend_sim_step step = {
		.task = one->task,
		.n = one->n,
		.overhead = {.freeze_s = one->freeze_s,
			     .save_s = one->save_s,
			     .restore_s = one->restore_s,
			     .resume_s = one->resume_s},
	};
	struct row *row = one->task < run->tasks_count ? &rows[one->task] : NULL;

	if (!row || !row->task || cluster >= overheads->clusters_count)
		return;
	if (one->attempt == row->task->attempts && isfinite(one->suspended_s)) {
		const double frozen_s =
			one->requested_s + (isfinite(one->freeze_s) ? one->freeze_s : 0);
		const double until_s = isfinite(one->since_s) ? one->since_s : run->run->ended_s;

		row->paused_s += fmax(0, fmin(until_s, run->run->ended_s) - frozen_s);
	}
	if (!is_whole(one))
		return;
	if (one->attempt == row->task->attempts)
		g_array_append_val(run->steps, step);
	overheads->samples[cluster] = g_renew(struct backend_overhead, overheads->samples[cluster],
					      overheads->counts[cluster] + 1);
	overheads->samples[cluster][overheads->counts[cluster]++] = step.overhead;
}

static bool read_suspensions(const struct reading *reading, struct observed_run *run,
			     struct row *rows, GError **error)
{
	g_autoptr(GPtrArray) list =
		store_suspensions(reading->measured->store, run->run->run, error);

	for (guint i = 0; list && i < list->len; i++)
		take_suspension(reading, run, rows, list->pdata[i]);
	return list != NULL;
}

/* The longest downtime of a VM in a migration; 0: none is known. */
static double downtime_s(const GPtrArray *vms, const struct store_migration *migration)
{
	double most_s = 0;

	for (guint i = 0; i < vms->len; i++) {
		const struct store_migration_vm *vm = vms->pdata[i];

		if (vm->task == migration->task && vm->attempt == migration->attempt &&
		    vm->n == migration->n)
			most_s = fmax(most_s, vm->downtime_s); /* NAN is left out */
	}
	return most_s;
}

static bool read_migrations(const struct reading *reading, const struct observed_run *run,
			    GError **error)
{
	struct store *store = reading->measured->store;
	g_autoptr(GPtrArray) list = store_migrations(store, run->run->run, error);
	g_autoptr(GPtrArray) vms = list ? store_migration_vms(store, run->run->run, error) : NULL;

	for (guint i = 0; vms && i < list->len; i++) {
		const struct store_migration *one = list->pdata[i];
		const struct backend_sim_migration migration = {
			.total_s = fmax(0, one->ended_s - one->requested_s),
			.downtime_s = downtime_s(vms, one),
		};

		if (isfinite(one->ended_s) && !one->reason)
			g_array_append_val(reading->observed->migrations, migration);
	}
	return vms != NULL;
}

/* Yields. */

/* The integral of the yield of a task from one time to another, by its rows from `at` on. */
static double yielded_s(const GPtrArray *shares, guint at, uint32_t task, uint32_t attempt,
			double from_s, double to_s)
{
	double sum_s = 0;

	for (guint i = at; i < shares->len; i++) {
		const struct store_share *one = shares->pdata[i];
		const struct store_share *next = i + 1 < shares->len ? shares->pdata[i + 1] : NULL;
		const bool more = next && next->task == task && next->attempt == attempt;
		const double end_s = more ? fmin(next->time_s, to_s) : to_s;

		sum_s += one->yield * fmax(0, end_s - fmax(one->time_s, from_s));
		if (!more)
			break;
	}
	return sum_s;
}

/*
 * The work of a task that completed on shared hosts: its yield over the time in which it executed,
 * which is until it was frozen, and again from when its resumption was over.
 */
static double work_of(const GPtrArray *shares, guint at, const GPtrArray *suspensions,
		      const struct store_task *task)
{
	const uint32_t attempt = task->attempts;
	double from_s = task->started_s;
	double sum_s = 0;

	for (guint i = 0; i < suspensions->len; i++) {
		const struct store_suspension *one = suspensions->pdata[i];

		if (one->task != task->task || one->attempt != attempt ||
		    !isfinite(one->suspended_s) || !isfinite(one->since_s))
			continue;
		sum_s +=
			yielded_s(shares, at, task->task, attempt, from_s,
				  one->requested_s + (isfinite(one->freeze_s) ? one->freeze_s : 0));
		from_s = one->since_s;
	}
	return sum_s + yielded_s(shares, at, task->task, attempt, from_s, task->ended_s);
}

static bool read_shares(const struct reading *reading, const struct observed_run *run,
			struct row *rows, GError **error)
{
	struct store *store = reading->measured->store;
	g_autoptr(GPtrArray) shares = store_shares(store, run->run->run, error);
	g_autoptr(GPtrArray) suspensions =
		shares ? store_suspensions(store, run->run->run, error) : NULL;

	for (guint i = 0; suspensions && i < shares->len; i++) {
		const struct store_share *one = shares->pdata[i];
		struct row *row = one->task < run->tasks_count ? &rows[one->task] : NULL;

		/* By task, attempt and time: the first row of the last attempt. */
		if (row && row->task && one->attempt == row->task->attempts && isnan(row->work_s) &&
		    isfinite(row->task->started_s) && isfinite(row->task->ended_s))
			row->work_s = work_of(shares, i, suspensions, row->task);
	}
	return suspensions != NULL;
}

/* Lost attempts. */

static int order_losses(const void *a, const void *b)
{
	const struct backend_sim_loss *x = a;
	const struct backend_sim_loss *y = b;

	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	return x->attempt < y->attempt ? -1 : x->attempt > y->attempt;
}

static bool read_losses(const struct reading *reading, struct observed_run *run, struct row *rows,
			GError **error)
{
	g_autoptr(GPtrArray) list = store_lost(reading->measured->store, run->run->run, error);

	for (guint i = 0; list && i < list->len; i++) {
		const struct store_task *one = list->pdata[i];
		const struct backend_sim_loss loss = {
			.task = one->task,
			.attempt = one->attempts,
			.exec_s = fmax(0, one->ended_s - one->started_s),
			.outcome = BACKEND_OUTCOME_LOST,
		};

		g_array_append_val(run->losses, loss);
		if (one->task < run->tasks_count && rows[one->task].task &&
		    rows[one->task].task->attempts == one->attempts)
			rows[one->task].lost = true;
	}
	for (uint32_t i = 0; list && i < run->tasks_count; i++) {
		const struct store_task *task = rows[i].task;
		const bool failed = task && g_str_equal(task->state, "failed");
		const struct backend_sim_loss loss = {
			.task = i,
			.attempt = task ? task->attempts : 0,
			.exec_s = task && isfinite(task->exec_s) ? fmax(0, task->exec_s) : 0,
			.outcome = BACKEND_OUTCOME_FAILED,
		};

		if (failed && task->attempts > 0)
			g_array_append_val(run->losses, loss);
		run->failed += failed;
	}
	g_array_sort(run->losses, order_losses);
	return list != NULL;
}

/* Moments of decisions: inputs. */

/* When the engine was to be called, as the inputs are read. */
struct clock {
	double interval_s;
	bool periodic, changes; /* decisions are made at periods, and for changes */
	uint64_t event;         /* the next periodic mapping event */
	double change_s;        /* the first change since the last decision; INFINITY: none */
	const struct workload *workload;
	uint32_t arrived; /* tasks that the last decision knew of */
};

/* Whether a decision is made for an event of the backend, where it is made for changes. */
static bool is_change(const char *kind)
{
	static const char *const kinds[] = {"ended",    "node-down",        "node-up",
					    "migrated", "migration-failed", "suspension-failed",
					    NULL};

	return g_strv_contains(kinds, input_title(kind));
}

/* When a call at now_s for changes was due: at the first of them. NAN: there was none. */
static double change_due_s(struct clock *clock, double now_s)
{
	const struct workload *workload = clock->workload;
	double due = clock->change_s;

	clock->change_s = INFINITY;
	if (clock->arrived < workload->tasks_count)
		due = fmin(due, workload->tasks[clock->arrived].arrival_s);
	while (clock->arrived < workload->tasks_count &&
	       workload->tasks[clock->arrived].arrival_s <= now_s)
		clock->arrived++;
	return due <= now_s ? due : (double)NAN;
}

/*
 * When a call at now_s was due: at the next mapping event, if that has come, or for changes. NAN:
 * it was for neither.
 */
static double due_s(struct clock *clock, double now_s)
{
	const double event_s = (double)clock->event * clock->interval_s;
	const double change_s = clock->changes ? change_due_s(clock, now_s) : (double)NAN;

	if (!clock->periodic || now_s < event_s)
		return change_s;
	/* The events that it missed are not held. */
	while ((double)clock->event * clock->interval_s <= now_s)
		clock->event++;
	return event_s;
}

static void take_input(struct observed_run *run, struct clock *clock,
		       const struct store_input *input)
{
	const guint count = run->due_s->len;
	double due, late;

	if (!isfinite(input->time_s))
		return;
	if (input->kind) {
		if (is_change(input->kind))
			clock->change_s = fmin(clock->change_s, input->time_s);
		return;
	}
	due = due_s(clock, input->time_s);
	late = input->time_s - due;
	if (!isfinite(due) || (count > 0 && due < g_array_index(run->due_s, double, count - 1)))
		return;
	g_array_append_val(run->due_s, due);
	g_array_append_val(run->late_s, late);
}

static bool read_moments(const struct reading *reading, struct observed_run *run, GError **error)
{
	const struct store_run *row = run->run;
	struct policy policy;
	struct engine_setup setup;
	struct clock clock = {.change_s = INFINITY, .workload = reading->trial->workload};
	uint32_t after = 0;

	if (policy_parse(row->policy, &policy, NULL, 0) < 0)
		return true;
	setup = experiment_trial_setup(reading->experiment, reading->trial, &policy, row->limit_j);
	clock.interval_s = setup.mapping_interval_s;
	clock.periodic = setup.moments != POLICY_AT_CHANGES;
	clock.changes = setup.moments != POLICY_AT_PERIODS;
	for (;;) {
		g_autoptr(GPtrArray) inputs = store_inputs_after(reading->measured->store, row->run,
								 after, READ_AT_ONCE, error);

		if (!inputs)
			return false;
		for (guint i = 0; i < inputs->len; i++) {
			const struct store_input *input = inputs->pdata[i];

			take_input(run, &clock, input);
			after = input->n;
		}
		if (inputs->len < READ_AT_ONCE)
			break;
	}
	run->has_moments = after > 0;
	return true;
}

/* Tasks. */

static bool is_completed(const struct store_task *task)
{
	return g_str_equal(task->state, "completed") && task->cluster && task->exec_s > 0 &&
	       isfinite(task->exec_s);
}

/* The rows of a run by number, checked against the tasks of the configuration. */
static bool find_rows(const struct reading *reading, const struct observed_run *run,
		      const GPtrArray *tasks, struct row *rows, GError **error)
{
	const struct workload *workload = reading->trial->workload;

	for (uint32_t i = 0; i < run->tasks_count; i++)
		rows[i] = (struct row){.launch_s = NAN, .work_s = NAN};
	for (guint i = 0; i < tasks->len; i++) {
		const struct store_task *task = tasks->pdata[i];

		if (task->task >= workload->tasks_count ||
		    fabs(workload->tasks[task->task].arrival_s - task->arrival_s) > SAME_S)
			return error_fail(error, OBSERVED_ERROR, OBSERVED_ERROR_TASKS,
					  "%s: task %u of run %d is none of its config.yaml; the "
					  "file was changed, or another version wrote it",
					  reading->measured->dir, task->task, (int)run->run->run);
		rows[task->task].task = task;
	}
	return true;
}

/* The execution time of a task that had executed when the run ended. */
static double executed_s(const struct observed_run *run, const struct row *row)
{
	const double end_s = fmin(isfinite(row->task->ended_s) ? row->task->ended_s : INFINITY,
				  run->run->ended_s);

	return fmax(0, end_s - row->task->started_s - row->paused_s);
}

static void note_place(const struct reading *reading, struct observed_run *run,
		       const struct row *rows)
{
	for (uint32_t i = 0; i < run->tasks_count; i++) {
		struct observed_course *task = &run->tasks[i];
		const struct store_task *stored = rows[i].task;

		*task = (struct observed_course){
			.row = reading->trial->workload->tasks[i].row,
			.cluster = stored && stored->cluster
					   ? sched_system_cluster(reading->system, stored->cluster)
					   : UINT32_MAX,
			.time = 1,
			.launch_s = rows[i].launch_s,
			.power = NAN,
		};
		if (task->cluster >= reading->system->clusters_count ||
		    !option_of(reading, task, stored->pstate)) {
			task->cluster = UINT32_MAX;
			continue;
		}
		task->completed = is_completed(stored);
		if (!task->completed && isfinite(stored->started_s) && !rows[i].lost)
			task->at_least_s = executed_s(run, &rows[i]);
		if (task->completed && isfinite(task->launch_s))
			g_array_append_val((GArray *)reading->launch[0]->pdata[task->cluster],
					   task->launch_s);
	}
}

/* What is 1 but for rounding is 1: where plans tie, a rounding could decide. */
static double without_rounding(double ratio)
{
	return fabs(ratio - 1) <= ROUNDING ? 1 : ratio;
}

/* Relates the tasks of a run to their estimates, once the launch in these is known. */
static void relate(const struct reading *reading, struct observed_run *run, const struct row *rows)
{
	for (uint32_t i = 0; i < run->tasks_count; i++) {
		struct observed_course *task = &run->tasks[i];
		const struct store_task *stored = rows[i].task;
		const struct sched_option *option;
		double hidden_s, launch_s, work_s;

		if (!task->completed)
			continue;
		option = option_of(reading, task, stored->pstate);
		hidden_s = reading->observed->launch_s[task->cluster];
		launch_s = isfinite(task->launch_s) ? task->launch_s : hidden_s;
		work_s = isfinite(rows[i].work_s) ? rows[i].work_s : stored->exec_s;
		if (reading->system->queueing)
			task->drawn_s = stored->exec_s;
		else if (work_s > launch_s && option->etc_s > hidden_s)
			task->time = (work_s - launch_s) / (option->etc_s - hidden_s);
		else
			task->time = work_s / option->etc_s;
		task->time = without_rounding(task->time);
		if (option->eec_j > 0 && isfinite(stored->energy_j))
			task->power = without_rounding(fmax(0, stored->energy_j) / stored->exec_s /
						       (option->eec_j / option->etc_s));
	}
}

/* The power of an attempt of a task on a cluster, in watts: its own, or that of others there. */
static double power_w(const struct reading *reading, const struct observed_course *task,
		      uint32_t cluster, uint32_t pstate)
{
	const struct sched_option *option =
		sched_system_option(reading->system, task->row, cluster, pstate);
	double power = cluster == task->cluster ? task->power : (double)NAN;

	if (!option)
		return 0;
	if (!isfinite(power)) {
		const GPtrArray *known = observed_tasks(reading->observed, task->row, cluster);
		double sum = 0;

		for (guint i = 0; i < known->len; i++)
			sum += ((const struct observed_course *)known->pdata[i])->power;
		power = known->len ? sum / known->len : 1;
	}
	if (!isfinite(power))
		power = 1;
	return power * option->eec_j / option->etc_s;
}

/* What the last attempt of a task used by the end of the run, as far as it was attributed to it. */
static double attributed_j(const struct reading *reading, const struct observed_run *run,
			   uint32_t index, const struct row *row)
{
	const struct observed_course *task = &run->tasks[index];

	if (task->cluster == UINT32_MAX || !isfinite(row->task->started_s) || row->lost)
		return 0;
	return power_w(reading, task, task->cluster, row->task->pstate) *
	       (task->completed && row->task->ended_s <= run->run->ended_s ? row->task->exec_s
									   : executed_s(run, row));
}

/* What a lost attempt used: it executes again where lost attempts are simulated. */
static double lost_j(const struct reading *reading, const struct observed_run *run,
		     const struct store_task *lost)
{
	const uint32_t cluster =
		lost->cluster ? sched_system_cluster(reading->system, lost->cluster) : UINT32_MAX;
	const double exec_s = lost->ended_s - lost->started_s;

	if (lost->task >= run->tasks_count || cluster >= reading->system->clusters_count ||
	    !isfinite(exec_s))
		return 0;
	return power_w(reading, &run->tasks[lost->task], cluster, lost->pstate) * fmax(0, exec_s);
}

/* Finds the power that no task has. */
static bool find_base(const struct reading *reading, struct observed_run *run,
		      const struct row *rows, GError **error)
{
	g_autoptr(GPtrArray) lost = store_lost(reading->measured->store, run->run->run, error);
	double sum_j = 0;

	for (uint32_t i = 0; i < run->tasks_count; i++)
		if (rows[i].task)
			sum_j += attributed_j(reading, run, i, &rows[i]);
	for (guint i = 0; lost && i < lost->len; i++)
		sum_j += lost_j(reading, run, lost->pdata[i]);
	run->base_w = run->run->ended_s > 0 ? (run->run->energy_j - sum_j) / run->run->ended_s
					    : (double)NAN;
	return lost != NULL;
}

/* Everything of a run but what needs all runs to be read. */
static bool read_run(struct reading *reading, struct observed_run *run, GPtrArray *tasks,
		     struct row *rows, GError **error)
{
	if (!find_rows(reading, run, tasks, rows, error) ||
	    !read_events(reading, run, rows, error) ||
	    !read_suspensions(reading, run, rows, error) || !read_migrations(reading, run, error) ||
	    !read_shares(reading, run, rows, error) || !read_losses(reading, run, rows, error) ||
	    !read_moments(reading, run, error))
		return false;
	note_place(reading, run, rows);
	return true;
}

static void find_launches(struct reading *reading)
{
	for (uint32_t c = 0; c < reading->system->clusters_count; c++) {
		const GArray *list = reading->launch[0]->pdata[c];

		if (!reading->given && list->len)
			reading->observed->launch_s[c] =
				stats_median(stats_values(list), list->len);
	}
}

static void pool(struct observed *observed, struct observed_run *run)
{
	for (uint32_t i = 0; i < run->tasks_count; i++) {
		struct observed_course *task = &run->tasks[i];

		if (!task->completed)
			continue;
		g_ptr_array_add(observed->tasks[(size_t)task->row * observed->clusters_count +
						task->cluster],
				task);
		g_ptr_array_add(observed->all[task->cluster], task);
	}
}

static void run_free(void *data)
{
	struct observed_run *run = data;

	g_free(run->tasks);
	g_array_unref(run->losses);
	g_array_unref(run->steps);
	g_array_unref(run->nodes);
	g_array_unref(run->due_s);
	g_array_unref(run->late_s);
	g_free(run);
}

static struct observed_run *run_new(const struct reading *reading, const struct store_run *stored)
{
	struct observed_run *run = g_new0(struct observed_run, 1);

	run->run = stored;
	run->tasks_count = reading->trial->workload->tasks_count;
	run->tasks = g_new0(struct observed_course, run->tasks_count);
	run->losses = g_array_new(FALSE, FALSE, sizeof(struct backend_sim_loss));
	run->steps = g_array_new(FALSE, FALSE, sizeof(struct backend_sim_step));
	run->nodes = g_array_new(FALSE, FALSE, sizeof(struct backend_event));
	run->due_s = g_array_new(FALSE, FALSE, sizeof(double));
	run->late_s = g_array_new(FALSE, FALSE, sizeof(double));
	run->base_w = NAN;
	return run;
}

static struct observed *new_empty(const struct sched_system *system)
{
	struct observed *observed = g_new0(struct observed, 1);
	const size_t pairs = (size_t)system->rows_count * system->clusters_count;

	observed->rows_count = system->rows_count;
	observed->clusters_count = system->clusters_count;
	observed->runs = g_ptr_array_new_with_free_func(run_free);
	observed->launch_s = g_new0(double, system->clusters_count);
	observed->tasks = g_new(GPtrArray *, pairs);
	observed->all = g_new(GPtrArray *, system->clusters_count);
	for (size_t i = 0; i < pairs; i++)
		observed->tasks[i] = g_ptr_array_new();
	for (uint32_t i = 0; i < system->clusters_count; i++)
		observed->all[i] = g_ptr_array_new();
	observed->overheads = g_new0(struct overheads, 1);
	observed->overheads->clusters_count = system->clusters_count;
	observed->overheads->samples = g_new0(struct backend_overhead *, system->clusters_count);
	observed->overheads->counts = g_new0(uint32_t, system->clusters_count);
	observed->migrations = g_array_new(FALSE, FALSE, sizeof(struct backend_sim_migration));
	return observed;
}

void observed_free(struct observed *observed)
{
	if (!observed)
		return;
	for (size_t i = 0; i < (size_t)observed->rows_count * observed->clusters_count; i++)
		g_ptr_array_unref(observed->tasks[i]);
	for (uint32_t i = 0; i < observed->clusters_count; i++)
		g_ptr_array_unref(observed->all[i]);
	g_free(observed->tasks);
	g_free(observed->all);
	g_ptr_array_unref(observed->runs);
	g_free(observed->launch_s);
	overheads_free(observed->overheads);
	g_array_unref(observed->migrations);
	g_free(observed);
}

const GPtrArray *observed_tasks(const struct observed *observed, uint32_t row, uint32_t cluster)
{
	const GPtrArray *tasks = observed->tasks[(size_t)row * observed->clusters_count + cluster];

	return tasks->len ? tasks : observed->all[cluster];
}

static void unref_array(void *data)
{
	g_array_unref(data);
}

/* Whether the estimates are given, and not measured with launches in them. */
static bool are_given(const struct summary *measured)
{
	g_autofree char *from = store_get_meta(measured->store, "estimates");

	return !from || g_str_equal(from, "given");
}

struct observed *observed_new(const struct summary *measured, const struct experiment *experiment,
			      const struct experiment_trial *trial, GError **error)
{
	g_autoptr(GPtrArray) launches = g_ptr_array_new_with_free_func(unref_array);
	g_autoptr(GPtrArray) lists =
		g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
	g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(g_free);
	struct reading reading = {
		.measured = measured,
		.experiment = experiment,
		.trial = trial,
		.system = experiment->system,
		.given = are_given(measured),
		.launch = &launches,
	};
	g_autoptr(observed_t) observed = new_empty(reading.system);

	reading.observed = observed;
	for (uint32_t i = 0; i < reading.system->clusters_count; i++)
		g_ptr_array_add(launches, g_array_new(FALSE, FALSE, sizeof(double)));
	for (guint i = 0; i < measured->runs->len; i++) {
		const struct store_run *stored = measured->runs->pdata[i];
		struct observed_run *run = run_new(&reading, stored);
		GPtrArray *tasks = store_tasks(measured->store, stored->run, error);

		g_ptr_array_add(observed->runs, run);
		if (!tasks)
			return NULL;
		g_ptr_array_add(lists, tasks);
		g_ptr_array_add(rows, g_new(struct row, run->tasks_count));
		if (!read_run(&reading, run, tasks, rows->pdata[i], error))
			return NULL;
	}
	find_launches(&reading);
	for (guint i = 0; i < observed->runs->len; i++) {
		relate(&reading, observed->runs->pdata[i], rows->pdata[i]);
		pool(observed, observed->runs->pdata[i]);
	}
	for (guint i = 0; i < observed->runs->len; i++)
		if (!find_base(&reading, observed->runs->pdata[i], rows->pdata[i], error))
			return NULL;
	return g_steal_pointer(&observed);
}
