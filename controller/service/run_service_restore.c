/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Continues from the store. A single bad record does not keep a service from starting: its task is
 * quarantined, its records are left as they are, and all other tasks continue.
 */
#include <math.h>

#include "common/error_fail.h"
#include "controller/service/run_service_private.h"
#include "controller/store/store_records.h"

/* The number of quarantined tasks with a note of their own; the rest is only counted. */
#define QUARANTINED_TOLD 20

static void quarantine(struct run_service *service, uint32_t task, char *why)
{
	if (g_hash_table_contains(service->bad, GUINT_TO_POINTER(task)))
		g_free(why);
	else
		g_hash_table_insert(service->bad, GUINT_TO_POINTER(task), why);
}

/* Submissions. */

/*
 * A replacement for a missing submission. It is stored only if a user cancels or releases the task.
 */
static struct store_submission *missing_submission(const struct run_service *service, uint32_t task)
{
	struct store_submission *submission = record_new(&store_submission_record);

	submission->run = service->row.run;
	submission->task = submission->first = task;
	submission->type = g_strdup("unknown");
	submission->submitted_utc = g_strdup(service->row.started_utc);
	submission->count = 1;
	submission->utility_max = 1;
	return submission;
}

static bool is_time(double value)
{
	return isnan(value) || value > 0;
}

/* Whether a task can be made from it, and its request has valid bounds. */
static bool makes_sense(const struct store_submission *one, uint32_t tasks_max)
{
	return one->first <= one->task && one->task - one->first < one->count &&
	       (uint64_t)one->first + one->count <= tasks_max && one->type &&
	       one->utility_max > 0 && isfinite(one->utility_max) && is_time(one->constant_s) &&
	       is_time(one->zero_s) && is_time(one->deadline_s);
}

static void add_missing(struct run_service *service, GPtrArray *all, uint32_t until)
{
	while (all->len < until) {
		quarantine(service, all->len, g_strdup("its submission is missing"));
		g_ptr_array_add(all, missing_submission(service, all->len));
	}
}

/* The rows, in order, one for each of `count` numbers. Rows with other numbers are ignored. */
static GPtrArray *fill_holes(struct run_service *service, GPtrArray *rows, uint32_t count)
{
	GPtrArray *all = g_ptr_array_new_full(count, (GDestroyNotify)store_submission_free);

	for (guint i = 0; i < rows->len; i++) {
		struct store_submission *one = rows->pdata[i];
		const bool good = makes_sense(one, service->config.tasks_max);

		if (one->task < all->len || one->task >= count)
			continue;
		add_missing(service, all, one->task);
		if (!good)
			quarantine(service, one->task, g_strdup("its submission is invalid"));
		g_ptr_array_add(all, good ? one : missing_submission(service, one->task));
		if (good)
			rows->pdata[i] = NULL;
	}
	add_missing(service, all, count);
	return all;
}

/* Compares the number of rows: a task's number may be too high because its row is damaged. */
static bool check_room(const struct run_service *service, uint32_t count, GError **error)
{
	if (count <= service->config.tasks_max)
		return true;
	return error_fail(
		error, RUN_ERROR, RUN_ERROR_INPUT,
		"service.tasks_max: the service has had %u tasks already; give more than %u", count,
		service->config.tasks_max);
}

bool run_service_recall(struct run_service *service, GError **error)
{
	struct workload *workload = service->workload;
	g_autoptr(GPtrArray) rows =
		store_submissions(service->session->store, service->row.run, error);
	const double now_s = run_session_now_s(service->session);
	uint32_t numbers, count;

	if (!rows ||
	    !store_count_tasks(service->session->store, service->row.run, service->config.tasks_max,
			       &numbers, &count, error) ||
	    !check_room(service, numbers, error))
		return false;
	g_ptr_array_unref(service->submissions);
	service->submissions = fill_holes(service, rows, count);
	for (guint i = 0; i < service->submissions->len; i++) {
		struct store_submission *one = g_ptr_array_index(service->submissions, i);
		struct sched_task *task = &workload->tasks[i];

		run_service_make_task(service, one, task);
		/* Tasks arrive in order, and none later than now. */
		if (!(task->arrival_s <= now_s))
			task->arrival_s = now_s;
		if (i > 0 && task->arrival_s < workload->tasks[i - 1].arrival_s)
			task->arrival_s = workload->tasks[i - 1].arrival_s;
		run_service_note_key(service, one);
	}
	workload->tasks_count = service->submissions->len;
	return true;
}

/* Results. */

/* Restores a task that was submitted but has no record of its own yet. */
static bool restore_waiting(struct run_service *service, uint32_t task)
{
	struct engine_task waiting = {
		.planned_start_s = (double)NAN,
		.started_s = (double)NAN,
		.ended_s = (double)NAN,
		.chance = (double)NAN,
		.threshold = (double)NAN,
	};

	engine_task_move(&waiting.state, ENGINE_TASK_ARRIVE);
	return engine_restore_task(service->engine, task, &waiting);
}

/* Restores users' requests about a task, after its state. */
static void restore_requests(struct run_service *service, const struct store_submission *submission)
{
	struct engine *engine = service->engine;
	const uint32_t i = submission->task;
	const enum engine_task_state state = engine_task_at(engine, i)->state;

	if (submission->held && state == ENGINE_TASK_WAITING)
		engine_restore_held(engine, i);
	if (submission->cancelled && engine_task_state_in(state, ENGINE_TASK_UNDER_WAY))
		engine_restore_cancelled(engine, i);
	else if (submission->cancelled && !engine_task_state_in(state, ENGINE_TASK_OVER))
		engine_request_cancel(engine, i);
}

static void restore_unrecorded(struct run_service *service,
			       const struct store_submission *submission)
{
	const uint32_t i = submission->task;
	const char *why = g_hash_table_lookup(service->bad, GUINT_TO_POINTER(i));

	if (engine_task_at(service->engine, i)->state != ENGINE_TASK_COMING)
		return;
	if (why)
		engine_restore_quarantined(service->engine, i, 0, why);
	else if (!restore_waiting(service, i))
		quarantine(service, i,
			   g_strdup_printf("the configuration has no type '%s'", submission->type));
}

/* Restores all records once; this can find more bad ones. */
static bool restore_once(struct run_service *service, GError **error)
{
	if (!recorder_store_restore(service->session->store, service->row.run, &service->setup,
				    service->engine, service->bad, error))
		return false;
	for (guint i = 0; i < service->submissions->len; i++)
		restore_unrecorded(service, g_ptr_array_index(service->submissions, i));
	return true;
}

bool run_service_restore(struct run_service *service, GError **error)
{
	guint before = g_hash_table_size(service->bad);

	for (;;) {
		if (!restore_once(service, error))
			return false;
		if (g_hash_table_size(service->bad) == before)
			break;
		before = g_hash_table_size(service->bad);
		engine_free(service->engine);
		service->engine = engine_new(&service->setup, service->backend);
	}
	for (guint i = 0; i < service->submissions->len; i++)
		restore_requests(service, g_ptr_array_index(service->submissions, i));
	return true;
}

/* Makes a note of rows with impossible task numbers; their owners are not known. */
static void note_strays(struct run_service *service)
{
	g_autofree char *strays = store_stray_tasks(service->session->store, service->row.run,
						    service->config.tasks_max);

	if (strays)
		run_session_note(
			service->session, "strays",
			"no task can have these numbers: %s (service.tasks_max is %u); what is "
			"on record under them stays as it is, and is left out",
			strays, service->config.tasks_max);
}

void run_service_note_quarantined(struct run_service *service)
{
	guint told = 0;

	note_strays(service);
	for (guint i = 0; i < service->submissions->len && told < QUARANTINED_TOLD; i++) {
		const struct engine_task *task = engine_task_at(service->engine, i);

		if (task->state != ENGINE_TASK_QUARANTINED)
			continue;
		run_session_note(service->session, "quarantined",
				 "task %u is quarantined: %s; its record stays as it is: "
				 "virtbed release starts it again, virtbed cancel ends it",
				 i, task->reason);
		told++;
	}
	if (g_hash_table_size(service->bad) > QUARANTINED_TOLD)
		run_session_note(
			service->session, "quarantined",
			"%u tasks are quarantined; virtbed queue --state quarantined lists them",
			g_hash_table_size(service->bad));
}
