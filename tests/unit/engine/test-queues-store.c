/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs on machines that keep their queues themselves (Gentry 2019), as local schedulers do: what is
 * recorded, that decisions can be made again from the record, and that a run that is cut off is
 * resumed.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <sqlite3.h>
#include <string.h>

#include "common/json.h"
#include "controller/engine/engine.h"
#include "controller/journal/recorder_store.h"
#include "controller/snapshot/snapshot_json.h"
#include "controller/store/store.h"
#include "controller/workload/pruning.h"
#include "tests/oracle/pruning_system.h"
#include "tests/unit/backend/scripted_backend.h"
#include "tests/unit/engine/drive.h"

#define TASKS 120
#define NEVER_S 1e9

/* An attempt in a queue. */
struct entry {
	struct sched_allocation placed;
	uint32_t attempt;
};

/* A scripted backend whose machines have queues. */
struct kept {
	struct backend backend;
	struct backend *inner;
	GQueue *queues; /* per machine, of struct entry; the first one executes */
	bool *executes;
	GQueue news; /* of struct backend_event */
	GQueue late; /* of the same: ends that are told late_s after the next task began */
	double late_s;
	bool *over; /* per task: it completed */
	uint32_t machines;
};

static double kept_now_s(struct backend *backend)
{
	return backend_now_s(((struct kept *)backend)->inner);
}

static void push(struct kept *kept, enum backend_event_kind kind, const struct entry *entry,
		 enum backend_outcome outcome)
{
	const struct backend_event event = {
		.kind = kind,
		.time_s = backend_now_s(kept->inner),
		.task = entry->placed.task->id,
		.attempt = entry->attempt,
		.outcome = outcome,
		.cluster = entry->placed.cluster,
	};

	g_queue_push_tail(&kept->news, g_memdup2(&event, sizeof(event)));
}

/* The next one's turn has come. */
static void take_turn(struct kept *kept, uint32_t machine)
{
	const struct entry *entry = g_queue_peek_head(&kept->queues[machine]);

	if (!entry || kept->executes[machine])
		return;
	kept->executes[machine] = true;
	push(kept, BACKEND_EVENT_BEGAN, entry, BACKEND_OUTCOME_NONE);
	backend_start(kept->inner, &entry->placed, entry->attempt);
}

static void entry_free(void *data)
{
	struct entry *entry = data;

	g_free((void *)entry->placed.nodes);
	g_free(entry);
}

static void enter(struct kept *kept, const struct sched_allocation *placed, uint32_t attempt)
{
	struct entry *entry = g_new0(struct entry, 1);

	entry->placed = *placed;
	entry->placed.nodes =
		g_memdup2(placed->nodes, placed->nodes_count * sizeof(*placed->nodes));
	entry->attempt = attempt;
	g_queue_push_tail(&kept->queues[placed->cluster], entry);
}

static void kept_enqueue(struct backend *backend, const struct sched_allocation *placed,
			 uint32_t attempt, double start_before_s)
{
	struct kept *kept = (struct kept *)backend;

	enter(kept, placed, attempt);
	take_turn(kept, placed->cluster);
}

static void kept_start(struct backend *backend, const struct sched_allocation *placed,
		       uint32_t attempt)
{
	g_assert_not_reached();
}

static GList *find(struct kept *kept, uint32_t task, uint32_t *ret_machine)
{
	for (*ret_machine = 0; *ret_machine < kept->machines; ++*ret_machine)
		for (GList *at = kept->queues[*ret_machine].head; at; at = at->next)
			if (((struct entry *)at->data)->placed.task->id == task)
				return at;
	return NULL;
}

static void kept_kill(struct backend *backend, uint32_t task, uint32_t attempt)
{
	struct kept *kept = (struct kept *)backend;
	uint32_t machine;
	GList *at = find(kept, task, &machine);

	if (!at)
		return;
	if (!at->prev && kept->executes[machine]) {
		backend_kill(kept->inner, task, attempt);
		return;
	}
	push(kept, BACKEND_EVENT_ENDED, at->data, BACKEND_OUTCOME_KILLED);
	entry_free(at->data);
	g_queue_delete_link(&kept->queues[machine], at);
}

static double kept_energy_j(struct backend *backend)
{
	return backend_energy_j(((struct kept *)backend)->inner);
}

static void kept_set_limit(struct backend *backend, double limit_j)
{
	backend_set_limit(((struct kept *)backend)->inner, limit_j);
}

static void kept_wait(struct backend *backend, double until_s, struct backend_event *ret_event)
{
	struct kept *kept = (struct kept *)backend;
	g_autofree struct backend_event *news = g_queue_pop_head(&kept->news);
	uint32_t machine;
	GList *at;

	if (news) {
		*ret_event = *news;
		return;
	}
	const struct backend_event *late = g_queue_peek_head(&kept->late);
	const double due_s = late ? late->time_s + kept->late_s : (double)INFINITY;

	scripted_backend_wait(kept->inner, fmin(until_s, due_s), ret_event);
	if (ret_event->kind == BACKEND_EVENT_NONE && due_s <= until_s) {
		g_autofree struct backend_event *told = g_queue_pop_head(&kept->late);

		*ret_event = *told;
		return;
	}
	if (ret_event->kind != BACKEND_EVENT_ENDED)
		return;
	at = find(kept, ret_event->task, &machine);
	g_assert_true(at && !at->prev && kept->executes[machine]);
	entry_free(at->data);
	g_queue_delete_link(&kept->queues[machine], at);
	kept->executes[machine] = false;
	if (kept->over && ret_event->outcome == BACKEND_OUTCOME_COMPLETED)
		kept->over[ret_event->task] = true;
	take_turn(kept, machine);
	if (kept->late_s == 0 || !kept->executes[machine])
		return;
	g_queue_push_tail(&kept->late, g_memdup2(ret_event, sizeof(*ret_event)));

	g_autofree struct backend_event *began = g_queue_pop_tail(&kept->news);

	*ret_event = *began;
}

static void kept_destroy(struct backend *backend)
{
	struct kept *kept = (struct kept *)backend;

	for (uint32_t m = 0; m < kept->machines; m++)
		g_queue_clear_full(&kept->queues[m], entry_free);
	g_queue_clear_full(&kept->news, g_free);
	g_queue_clear_full(&kept->late, g_free);
	g_free(kept->queues);
	g_free(kept->executes);
	backend_destroy(kept->inner);
	g_free(kept);
}

static const struct backend_ops kept_ops = {
	.name = "kept",
	.now_s = kept_now_s,
	.start = kept_start,
	.kill = kept_kill,
	.enqueue = kept_enqueue,
	.energy_j = kept_energy_j,
	.set_limit = kept_set_limit,
	.destroy = kept_destroy,
};

static struct kept *kept_new(const struct script *script)
{
	struct kept *kept = g_new0(struct kept, 1);

	kept->backend.ops = &kept_ops;
	kept->inner = scripted_backend_new(script);
	kept->machines = script->system->clusters_count;
	kept->queues = g_new0(GQueue, kept->machines);
	kept->executes = g_new0(bool, kept->machines);
	return kept;
}

/* A task that executed when the controller before this one died. */
static void kept_adopt(struct kept *kept, const struct sched_allocation *placed, uint32_t attempt,
		       double start_s)
{
	enter(kept, placed, attempt);
	kept->executes[placed->cluster] = true;
	scripted_backend_adopt(kept->inner, placed, attempt, start_s);
}

/* The experiment. */

struct bed {
	struct pet *pet;
	struct sched_queueing settings;
	struct sched_system *system;
	struct workload *workload;
	struct script_attempt *attempts; /* some tasks take twice as long as expected */
	char *dir;
	struct store *store;
	struct store_run row;
	double late_s; /* of the backend */
	bool over[TASKS];
};

static void bed_init(struct bed *bed, const char *policy)
{
	const struct pruning_load load = {TASKS, 700, 0.1, 1.5};
	g_autoptr(GError) error = NULL;

	*bed = (struct bed){.pet = pruning_pet_new(4, 1)};
	bed->settings = (struct sched_queueing){bed->pet,
						1,
						4,
						{.drop_threshold = 0.5,
						 .defer_threshold = 0.7,
						 .adjustment = 0.5,
						 .recency = 0.9,
						 .toggle = 1,
						 .separation = 0.2,
						 .fairness = 0.05,
						 .cull_threshold = 0.3}};
	bed->system = pruning_system_new(&bed->settings);
	bed->workload = pruning_workload_new(bed->pet, &load, 1, 1, 1);
	bed->attempts = g_new0(struct script_attempt, TASKS);
	for (uint32_t i = 0; i < TASKS; i++)
		bed->attempts[i] = (struct script_attempt){3 * i, 1, 350 + i,
							   BACKEND_OUTCOME_COMPLETED, false};
	bed->dir = g_dir_make_tmp("virtbed-queues-XXXXXX", &error);
	g_assert_no_error(error);
	bed->store = store_open(bed->dir, true, &error);
	g_assert_no_error(error);
	bed->row = (struct store_run){.policy = (char *)policy, .limit = 1, .repeat = 1};
	g_assert_true(store_add_run(bed->store, &bed->row, &error));
}

static void bed_finish(struct bed *bed)
{
	g_autoptr(GDir) dir = g_dir_open(bed->dir, 0, NULL);
	const char *name;

	store_close(bed->store);
	while ((name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(bed->dir, name, NULL);

		g_unlink(path);
	}
	g_rmdir(bed->dir);
	g_free(bed->dir);
	g_free(bed->attempts);
	workload_free(bed->workload);
	sched_system_free(bed->system);
	pet_free(bed->pet);
}

/* A controller that is killed does not mark what was under way as unfinished. */
struct keeper {
	struct engine_recorder recorder;
	struct engine_recorder *to;
};

static bool keep_task(struct engine_recorder *recorder, const struct engine_task *task)
{
	struct keeper *keeper = (struct keeper *)recorder;

	return task->state == ENGINE_TASK_UNFINISHED || keeper->to->task(keeper->to, task);
}

static bool keep_event(struct engine_recorder *recorder, double time_s, const char *kind,
		       const char *detail)
{
	struct keeper *keeper = (struct keeper *)recorder;

	return keeper->to->event(keeper->to, time_s, kind, detail);
}

static bool keep_decision(struct engine_recorder *recorder, const struct policy *policy,
			  const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct keeper *keeper = (struct keeper *)recorder;

	return keeper->to->decision(keeper->to, policy, snapshot, plan);
}

static uint32_t adopted_queued;

static void adopt(struct engine *engine, const struct bed *bed, struct kept *kept)
{
	for (uint32_t i = 0; i < bed->workload->tasks_count; i++) {
		const struct engine_task *task = engine_task_at(engine, i);
		const struct sched_allocation placed = engine_task_allocation(task);

		adopted_queued += task->state == ENGINE_TASK_QUEUED;
		if (task->state == ENGINE_TASK_STARTING || task->state == ENGINE_TASK_RUNNING)
			kept_adopt(kept, &placed, task->attempts, task->started_s);
	}
}

/* Runs to the end, or until the backend gives up at cut_s; from_s above 0: continues from then. */
static struct engine_result run(struct bed *bed, double cut_s, double from_s)
{
	const struct script_event abort = {cut_s, BACKEND_EVENT_ABORTED, 0, 0, "cut"};
	const struct script script = {
		.system = bed->system,
		.now_s = from_s,
		.events = &abort,
		.events_count = cut_s < NEVER_S,
		.attempts = bed->attempts,
		.attempts_count = TASKS,
	};
	struct recorder_store *recorder =
		recorder_store_new(bed->store, bed->row.run, bed->system, true);
	struct keeper keeper = {
		.recorder = {.task = keep_task, .event = keep_event, .decision = keep_decision},
		.to = recorder_store_engine(recorder),
	};
	struct engine_setup setup = {
		.system = bed->system,
		.workload = bed->workload,
		.mapping_interval_s = NEVER_S,
		.duration_s = NEVER_S,
		.moments = POLICY_AT_CHANGES,
		.recorder = &keeper.recorder,
	};
	struct kept *kept = kept_new(&script);
	struct engine_result result;

	kept->late_s = bed->late_s;
	kept->over = bed->over;

	g_autoptr(GError) error = NULL;
	char message[256];

	g_assert_cmpint(policy_parse(bed->row.policy, &setup.policy, message, sizeof(message)), ==,
			0);

	g_autoptr(engine_t) engine = engine_new(&setup, &kept->backend);

	if (from_s > 0) {
		g_assert_true(recorder_store_restore(bed->store, bed->row.run, &setup, engine, NULL,
						     &error));
		adopt(engine, bed, kept);
	}
	drive(engine, &kept->backend, kept_wait, &result);
	g_assert_true(recorder_store_finish(recorder, &error));
	recorder_store_free(recorder);
	backend_destroy(&kept->backend);
	return result;
}

/* What the policy decides on a stored snapshot is what is stored. */
static void decide_again(const char *snapshot, const char *actions, const struct policy *policy)
{
	struct policy_context context = {.arena = arena_new()};
	struct sched_plan plan;
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) object = json_parse(snapshot, strlen(snapshot), "decision", &error);
	g_autoptr(snapshot_json_t) read =
		object ? snapshot_json_read(object, "decision", &error) : NULL;

	g_assert_no_error(error);
	g_assert_cmpint(policy_decide(policy, &read->snapshot, &context, &plan), ==, 0);

	g_autoptr(json_t) list = snapshot_json_actions(read->system, &plan, false);
	g_autofree char *text = json_text(list);

	g_assert_cmpstr(text, ==, actions);
	arena_free(context.arena);
}

static void check_decisions(const struct bed *bed)
{
	g_autofree char *path = g_build_filename(bed->dir, STORE_FILE, NULL);
	struct policy policy;
	sqlite3_stmt *statement;
	sqlite3 *db;
	uint32_t count = 0;
	char message[256];

	policy_parse(bed->row.policy, &policy, message, sizeof(message));
	g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_prepare_v2(db,
					   "SELECT snapshot, actions FROM whole_decision"
					   " WHERE id % 5 = 1",
					   -1, &statement, NULL),
			==, SQLITE_OK);
	while (sqlite3_step(statement) == SQLITE_ROW) {
		decide_again((const char *)sqlite3_column_text(statement, 0),
			     (const char *)sqlite3_column_text(statement, 1), &policy);
		count++;
	}
	g_assert_cmpuint(count, >, TASKS / 5);
	sqlite3_finalize(statement);
	sqlite3_close(db);
}

static void check_tasks(const struct bed *bed, const struct engine_result *result)
{
	g_autoptr(GPtrArray) tasks = store_tasks(bed->store, bed->row.run, NULL);
	uint32_t dropped = 0;

	g_assert_cmpuint(tasks->len, ==, TASKS);
	for (guint i = 0; i < tasks->len; i++) {
		const struct store_task *task = g_ptr_array_index(tasks, i);

		g_assert_cmpfloat(task->deadline_s, ==, bed->workload->tasks[i].deadline_s);
		if (g_str_equal(task->state, "completed")) {
			g_assert_cmpuint(task->queued_n, >, 0);
			continue;
		}
		g_assert_cmpstr(task->state, ==, "dropped");
		g_assert_nonnull(task->reason);
		g_assert_true(task->chance >= 0 && task->chance <= 1);
		g_assert_true(task->chance <= task->threshold || task->threshold == 0);
		dropped++;
	}
	g_assert_cmpuint(dropped, ==, result->tasks_dropped);
	g_assert_cmpuint(dropped, >, 0);
}

static void test_record(gconstpointer name)
{
	struct engine_result result;
	struct bed bed;

	bed_init(&bed, name);
	result = run(&bed, NEVER_S, 0);
	g_assert_cmpint(result.ended_by, ==, ENGINE_END_DONE);
	g_assert_cmpuint(result.tasks_completed + result.tasks_dropped, ==, TASKS);
	check_tasks(&bed, &result);
	check_decisions(&bed);
	bed_finish(&bed);
}

static void test_cut(gconstpointer name)
{
	static const double cuts_s[] = {100.5, 333.25, 601};
	struct engine_result whole;
	struct bed bed;

	bed_init(&bed, name);
	whole = run(&bed, NEVER_S, 0);
	bed_finish(&bed);
	for (size_t i = 0; i < G_N_ELEMENTS(cuts_s); i++) {
		struct engine_result result;

		bed_init(&bed, name);
		result = run(&bed, cuts_s[i], 0);
		g_assert_cmpint(result.ended_by, ==, ENGINE_END_ABORTED);
		adopted_queued = 0;
		result = run(&bed, NEVER_S, cuts_s[i]);
		g_assert_cmpuint(adopted_queued, >, 0);
		g_assert_cmpint(result.ended_by, ==, ENGINE_END_DONE);
		g_assert_cmpfloat(result.ended_s, ==, whole.ended_s);
		g_assert_cmpuint(result.tasks_completed, ==, whole.tasks_completed);
		g_assert_cmpuint(result.tasks_dropped, ==, whole.tasks_dropped);
		g_assert_cmpfloat(result.utility, ==, whole.utility);
		check_tasks(&bed, &result);
		bed_finish(&bed);
	}
}

/*
 * What has ended before the next task of its machine began is not dropped, although that is told
 * later.
 */
static void test_overtaken(gconstpointer name)
{
	struct engine_result result;
	struct bed bed;

	bed_init(&bed, name);
	bed.late_s = 7;
	result = run(&bed, NEVER_S, 0);
	g_assert_cmpint(result.ended_by, ==, ENGINE_END_DONE);
	g_assert_cmpuint(result.tasks_completed + result.tasks_dropped, ==, TASKS);

	g_autoptr(GPtrArray) tasks = store_tasks(bed.store, bed.row.run, NULL);

	for (guint i = 0; i < tasks->len; i++) {
		const struct store_task *task = g_ptr_array_index(tasks, i);

		g_assert_cmpstr(task->state, ==, bed.over[task->task] ? "completed" : "dropped");
	}
	bed_finish(&bed);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"pam", "pamf", "mm", "msd", "mmu", "moc"};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *path =
			g_strdup_printf("/engine-queues-store/decisions-of-%s-can-be-made-again",
					names[i]);

		g_test_add_data_func(path, names[i], test_record);
	}
	g_test_add_data_func("/engine-queues-store/mm-goes-on-after-a-cut", "mm", test_cut);
	g_test_add_data_func("/engine-queues-store/mm-is-told-late-what-ended", "mm",
			     test_overtaken);
	g_test_add_data_func("/engine-queues-store/moc-is-told-late-what-ended", "moc",
			     test_overtaken);
	g_test_add_data_func("/engine-queues-store/msd-goes-on-after-a-cut", "msd", test_cut);
	return g_test_run();
}
