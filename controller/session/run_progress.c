/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/session/run_progress.h"

#include <math.h>

#include "common/platform.h"
#define LOG_SUBSYSTEM "run"
#include "common/json.h"
#include "common/log.h"
#include "common/record/record.h"
#include "controller/engine/engine.h"
#include "controller/run/run_usage.h"

static const char *const phase_names[] = {
	[RUN_PHASE_STARTING] = "starting", [RUN_PHASE_PROFILE] = "profile",
	[RUN_PHASE_BASELINE] = "baseline", [RUN_PHASE_RUN] = "run",
	[RUN_PHASE_SETTLE] = "settle",     [RUN_PHASE_DONE] = "done",
	[RUN_PHASE_FAILED] = "failed",
};

const char *run_phase_name(enum run_phase phase)
{
	return phase_names[phase];
}

struct run_progress *run_progress_new(const struct platform *platform)
{
	struct run_progress *progress = g_new0(struct run_progress, 1);

	progress->platform = platform;
	g_queue_init(&progress->notices);
	progress->phase_left_s = (double)NAN;
	progress->left_s = (double)NAN;
	return progress;
}

static const struct record_field notice_fields[] = {
	{RECORD_AT(run_notice, seq), .type = RECORD_I64},
	{RECORD_FIELD_TEXT(run_notice, utc)},
	{RECORD_FIELD_TEXT(run_notice, kind)},
	{RECORD_FIELD_TEXT(run_notice, text)},
	{NULL},
};
static const struct record notice_record = {.size = sizeof(struct run_notice),
					    .fields = notice_fields};

RECORD_DEFINE_FREE_OF(notice_free, notice_record)

void run_progress_free(struct run_progress *progress)
{
	if (!progress)
		return;
	g_queue_clear_full(&progress->notices, notice_free);
	g_free(progress->policy);
	json_decref(progress->program);
	g_free(progress->missing);
	g_free(progress->error);
	g_free(progress);
}

void run_progress_begin(struct run_progress *progress)
{
	progress->settled = progress->settled_completed = 0;
	progress->settled_utility = 0;
}

/* Adds one task to the totals of ended tasks; false: it has not ended. */
static bool settle_one(struct run_progress *progress, const struct engine_task *task)
{
	if (!engine_task_over(task))
		return false;
	progress->settled_completed += task->state == ENGINE_TASK_COMPLETED;
	progress->settled_utility += task->utility;
	return true;
}

static void count_one(struct run_progress *progress, const struct engine_task *task)
{
	progress->utility += task->utility;
	progress->completed += task->state == ENGINE_TASK_COMPLETED;
	progress->waiting +=
		engine_task_state_in(task->state,
				     ENGINE_TASK_PENDING & ~ENGINE_TASK_SET(ENGINE_TASK_QUEUED));
	progress->suspended += engine_task_state_in(task->state, ENGINE_TASK_ANY_SUSPENDED);
	progress->running += engine_task_state_in(task->state, ENGINE_TASK_UNDER_WAY &
								       ~ENGINE_TASK_ANY_SUSPENDED);
}

void run_progress_count(struct run_progress *progress, struct engine *engine, uint32_t tasks)
{
	while (progress->settled < tasks &&
	       settle_one(progress, engine_task_at(engine, progress->settled)))
		progress->settled++;
	progress->tasks = tasks;
	progress->waiting = progress->running = progress->suspended = 0;
	progress->completed = progress->settled_completed;
	progress->utility = progress->settled_utility;
	for (uint32_t i = progress->settled; i < tasks; i++)
		count_one(progress, engine_task_at(engine, i));
}

void run_progress_note(struct run_progress *progress, const char *kind, const char *format, ...)
{
	struct run_notice *notice = g_new0(struct run_notice, 1);
	va_list arguments;

	va_start(arguments, format);
	notice->text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	notice->seq = ++progress->notices_last;
	notice->utc = platform_utc(progress->platform);
	notice->kind = g_strdup(kind);
	g_queue_push_tail(&progress->notices, notice);
	if (g_queue_get_length(&progress->notices) > RUN_NOTICES_KEPT)
		notice_free(g_queue_pop_head(&progress->notices));
	log_info("%s: %s", kind, notice->text);
}

static json_t *notices_json(const struct run_progress *progress, uint64_t after)
{
	json_t *list = json_array();

	for (GList *at = progress->notices.head; at; at = at->next) {
		const struct run_notice *notice = at->data;

		if (notice->seq > after)
			json_array_append_new(list, record_to_json(&notice_record, notice));
	}
	return list;
}

json_t *run_progress_json(struct run_progress *progress, uint64_t after)
{
	struct run_usage usage = run_usage_own();

	progress->end_seen =
		progress->phase == RUN_PHASE_DONE || progress->phase == RUN_PHASE_FAILED;
	return json_pack("{s:s, s:i, s:i, s:i, s:i, s:o, s:O?, s:o, s:o, s:o, s:o, s:o, s:o,"
			 " s:i, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:I, s:f, s:f}",
			 "phase", run_phase_name(progress->phase), "run", (int)progress->run,
			 "runs", (int)progress->runs, "profile_done", (int)progress->profile_done,
			 "profile_total", (int)progress->profile_total, "policy",
			 json_string_or_null(progress->policy), "program", progress->program,
			 "limit", json_number_or_null(progress->limit), "time_s",
			 json_number_or_null(progress->time_s), "duration_s",
			 json_number_or_null(progress->duration_s), "utility",
			 json_number_or_null(progress->utility), "energy_j",
			 json_number_or_null(progress->energy_j), "limit_j",
			 json_number_or_null(progress->limit_j), "waiting", (int)progress->waiting,
			 "running", (int)progress->running, "suspended", (int)progress->suspended,
			 "completed", (int)progress->completed, "tasks", (int)progress->tasks,
			 "phase_left_s", json_number_or_null(progress->phase_left_s), "left_s",
			 json_number_or_null(progress->left_s), "missing",
			 json_string_or_null(progress->missing), "error",
			 json_string_or_null(progress->error), "notices",
			 notices_json(progress, after), "last", (json_int_t)progress->notices_last,
			 "cpu_s", usage.cpu_s, "rss_mib", usage.rss_mib);
}
