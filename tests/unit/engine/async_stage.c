/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/engine/async_stage.h"

#include <math.h>
#include <string.h>

#include "common/handoff.h"
#include "controller/engine/mapping.h"
#include "controller/sched/mapping.h"
#include "tests/unit/engine/drive.h"

#define DURATION_S 100
#define TASKS_MAX 8

/* A gate in the policy: the policy waits at it, and the test opens it. */
static struct {
	GMutex mutex;
	GCond cond;
	bool stands, goes_on, spoils, open;
	const struct policy_ops *real;
} gate;

static struct async_stage *theatre; /* of the backend, whose struct is its own */

/* Asks for no nodes at all. */
static int decide_badly(struct mapping *mapping)
{
	const int result = gate.real->planning->decide(mapping);

	for (uint32_t i = 0; i < mapping->actions_count; i++)
		mapping->actions[i].nodes_count = 0;
	return result;
}

/* Returns whether it is to decide badly. */
static bool stand(void)
{
	bool spoils;

	handoff_lock(&gate.mutex);
	gate.stands = true;
	g_cond_signal(&gate.cond);
	while (!gate.goes_on && !gate.open)
		handoff_wait(&gate.cond, &gate.mutex);
	spoils = gate.spoils;
	gate.stands = gate.goes_on = gate.spoils = false;
	handoff_unlock(&gate.mutex);
	return spoils;
}

static int stand_and_decide(struct mapping *mapping)
{
	return stand() ? decide_badly(mapping) : gate.real->planning->decide(mapping);
}

static int stand_and_decide_immediate(struct immediate *immediate)
{
	stand();
	return gate.real->immediate->decide(immediate);
}

/* A program that does not decide: an empty plan of its fallback. */
static int stand_and_fall_back(struct policy_outside *outside, const struct policy *policy,
			       const struct sched_snapshot *snapshot,
			       struct policy_context *context, struct sched_plan *ret_plan)
{
	stand();
	*ret_plan = (struct sched_plan){.fallback = "easy", .fallback_reason = "late: too slow"};
	return 0;
}

static void until_it_stands(void)
{
	handoff_lock(&gate.mutex);
	while (!gate.stands)
		handoff_wait(&gate.cond, &gate.mutex);
	handoff_unlock(&gate.mutex);
}

static void let_it_go_on(void)
{
	handoff_lock(&gate.mutex);
	gate.goes_on = true;
	g_cond_signal(&gate.cond);
	handoff_unlock(&gate.mutex);
}

static void take_policy(struct async_stage *stage, struct policy *policy, const char *name)
{
	char message[256];

	g_assert_cmpint(policy_parse(name, policy, message, sizeof(message)), ==, 0);
	gate.real = policy->ops;
	gate.open = false;
	stage->outside.decide = stand_and_fall_back;
	if (policy_is_outside(policy))
		return;
	stage->ops = *policy->ops;
	if (stage->ops.planning) {
		stage->planning = *stage->ops.planning;
		stage->planning.decide = stand_and_decide;
		stage->ops.planning = &stage->planning;
	}
	if (stage->ops.immediate) {
		stage->immediate = *stage->ops.immediate;
		stage->immediate.decide = stand_and_decide_immediate;
		stage->ops.immediate = &stage->immediate;
	}
	policy->ops = &stage->ops;
}

static void submit(struct async_stage *stage, uint32_t row)
{
	const struct sched_task task = {
		.row = row,
		.utility = utility_testbed(row == URGENT ? 40 : 4, 900, 1000),
		.may_preempt = stage->scene->preempts,
		.preemptible = stage->scene->preempts,
	};

	g_assert_cmpuint(engine_submit(stage->engine, &task, false), !=, UINT32_MAX);
	engine_flush(stage->engine);
}

/* The other policy still waits at the gate. */
static void change_policy(struct async_stage *stage, const char *name)
{
	struct policy policy;
	char message[256];

	g_assert_cmpint(policy_parse(name, &policy, message, sizeof(message)), ==, 0);
	engine_request_policy(stage->engine, &policy, stage->setup.mapping_interval_s);
	stage->changed = true;
}

static void do_deed(struct async_stage *stage, enum async_deed deed, uint32_t of)
{
	switch (deed) {
	case SUBMIT:
		submit(stage, of);
		break;
	case CANCEL:
		g_assert_false(engine_request_cancel(stage->engine, of));
		break;
	case HOLD:
		g_assert_false(engine_request_hold(stage->engine, of));
		break;
	case SUSPEND:
		g_assert_false(engine_request_suspend(stage->engine, of));
		break;
	case RESUME_AND_CANCEL:
		g_assert_false(engine_request_resume(stage->engine, of));
		g_assert_cmpint(engine_task_at(stage->engine, of)->state, ==, ENGINE_TASK_RESUMING);
		g_assert_false(engine_request_cancel(stage->engine, of));
		break;
	case MIGRATE: /* to the other node, which is another host */
		g_assert_false(engine_request_migrate(stage->engine, of, (const uint32_t[]){1}, 1,
						      (const uint32_t[]){0, 1}, &(uint32_t){0}));
		break;
	case DRAIN:
		g_assert_false(engine_request_drain(stage->engine, 0, of, "to be cleaned"));
		break;
	case FCFS:
		change_policy(stage, "fcfs");
		break;
	case EASY:
		change_policy(stage, "easy");
		break;
	case LOOK:
		g_assert_cmpstr(engine_waits_because(stage->engine, of), ==,
				"the policy is deciding");
		break;
	case SPOIL:
		handoff_lock(&gate.mutex);
		gate.spoils = true;
		handoff_unlock(&gate.mutex);
		break;
	case LOOK_PROMISED:
		while (engine_task_at(stage->engine, of)->state != ENGINE_TASK_PLANNED)
			engine_take_answer(stage->engine);
		engine_take_answer(stage->engine);
		g_assert_cmpint(engine_task_at(stage->engine, of)->state, ==, ENGINE_TASK_PLANNED);
		break;
	default:
		break;
	}
}

static void act(struct async_stage *stage)
{
	const uint32_t nth = stage->decisions++;

	if (nth < G_N_ELEMENTS(stage->scene->deeds))
		do_deed(stage, stage->scene->deeds[nth].deed, stage->scene->deeds[nth].of);
}

/* While it is decided the time stands still, except for a task that leaves. */
void async_stage_wait(struct backend *backend, double until_s, struct backend_event *ret_event)
{
	struct async_stage *stage = theatre;
	enum engine_decision decision = engine_decision(stage->engine);

	if (decision > ENGINE_DECISION_ASKED && !stage->parted) {
		stage->parted = true;
		do_deed(stage, stage->scene->between.deed, stage->scene->between.of);
		decision = engine_decision(stage->engine);
	}
	if (decision != ENGINE_DECISION_ASKED) {
		scripted_backend_wait(backend, until_s, ret_event);
		return;
	}
	if (!stage->changed && !gate.open) {
		until_it_stands();
		act(stage);
		let_it_go_on();
	}
	if (stage->leaves) {
		*ret_event = (struct backend_event){.kind = BACKEND_EVENT_ABORTED,
						    .time_s = backend_now_s(backend),
						    .reason = "it is over"};
		return;
	}
	g_main_context_iteration(NULL, TRUE);
	*ret_event = (struct backend_event){.time_s = backend_now_s(backend)};
}

static void call(double time_s, void *data)
{
	struct async_stage *stage = data;
	const uint32_t nth = stage->called++;

	if (nth > 0) {
		do_deed(stage, stage->scene->later[nth - 1].deed, stage->scene->later[nth - 1].of);
		return;
	}
	for (uint32_t i = 0; i < G_N_ELEMENTS(stage->scene->rows) && stage->scene->rows[i]; i++)
		submit(stage, stage->scene->rows[i] - 1);
}

static bool note_event(struct engine_recorder *recorder, double time_s, const char *kind,
		       const char *detail)
{
	const bool taken_back = g_str_equal(kind, "cancelled") && strstr(detail, "planned again");
	GString *list = g_str_equal(kind, "overtaken")            ? theatre->overtaken
			: g_str_equal(kind, "slid") || taken_back ? theatre->slid
								  : NULL;

	theatre->fallbacks += g_str_equal(kind, "fallback");
	if (list)
		g_string_append_printf(list, "%s%d ", taken_back ? "c" : "",
				       atoi(strstr(detail, "\"task\":") + strlen("\"task\":")));
	return true;
}

static bool same_action(const struct sched_action *a, const struct sched_action *b)
{
	return a->kind == b->kind && a->task == b->task && a->cluster == b->cluster &&
	       a->nodes_count == b->nodes_count && a->start_s == b->start_s &&
	       (a->nodes_count == 0 ||
		memcmp(a->nodes, b->nodes, a->nodes_count * sizeof(*a->nodes)) == 0);
}

/* What is on record can be decided again: the same comes of it. */
static bool note_decision(struct engine_recorder *recorder, const struct policy *policy,
			  const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct policy_context context = {.arena = arena_new()};
	g_autofree char *name = g_strconcat(policy->name, " ", NULL);
	struct policy real = *policy;
	struct sched_plan again;

	if (real.ops == &theatre->ops)
		real.ops = gate.real;
	g_assert_cmpint(policy_decide(&real, snapshot, &context, &again), ==, 0);
	g_assert_cmpuint(again.actions_count, ==, plan->actions_count);
	for (uint32_t i = 0; i < again.actions_count && !theatre->scene->aborts; i++)
		g_assert_true(same_action(&again.actions[i], &plan->actions[i]));
	arena_free(context.arena);
	if (!g_str_has_suffix(theatre->deciders->str, name))
		g_string_append(theatre->deciders, name);
	return true;
}

static struct sched_system *make_system(const struct async_scene *scene)
{
	static const struct sched_cluster cluster = {.name = "c",
						     .nodes = 2,
						     .cores = 1,
						     .pstates = 1};
	static const char *const names[] = {"narrow", "wide", "urgent"};
	struct sched_system *system = sched_system_new(&cluster, 1, G_N_ELEMENTS(names));

	system->immediate = scene->preempts;
	for (uint32_t row = 0; row < G_N_ELEMENTS(names); row++) {
		system->row_names[row] = names[row];
		system->etc_s[row] = 15;
		system->eec_j[row] = 30;
		system->nodes[row] = row == WIDE ? 2 : 1;
	}
	g_assert_cmpint(sched_system_finish(system, NULL), ==, SCHED_SYSTEM_OK);
	return system;
}

void async_stage_init(struct async_stage *stage, const struct async_scene *scene)
{
	uint32_t calls = 1;

	*stage = (struct async_stage){.scene = scene, .calls_s = {10}};
	theatre = stage;
	stage->system = make_system(scene);
	stage->workload = workload_open_new(TASKS_MAX);
	stage->recorder = (struct engine_recorder){.event = note_event, .decision = note_decision};
	stage->overtaken = g_string_new(NULL);
	stage->slid = g_string_new(NULL);
	stage->deciders = g_string_new(NULL);
	stage->setup = (struct engine_setup){
		.system = stage->system,
		.workload = stage->workload,
		.open = stage->workload,
		.mapping_interval_s = 30,
		.moments = POLICY_AT_BOTH,
		.changes_apart_s = 1,
		.apart = true,
		.platform = &platform_machine,
		.at_once = scene->at_once,
		.duration_s = DURATION_S,
		.recorder = &stage->recorder,
	};
	take_policy(stage, &stage->setup.policy, scene->policy);
	stage->setup.outside = &stage->outside;
	for (; calls <= G_N_ELEMENTS(scene->later) && scene->later[calls - 1].time_s > 0; calls++)
		stage->calls_s[calls] = scene->later[calls - 1].time_s;
	stage->script = (struct script){.system = stage->system,
					.calls_s = stage->calls_s,
					.calls_count = calls,
					.call = call,
					.data = stage,
					.kills = true,
					.suspend_s = scene->leaves_s,
					.resume_s = 2,
					.unmoved = scene->unmoved};
	stage->late = (struct script_attempt){0, 1, scene->late_s, BACKEND_OUTCOME_COMPLETED};
	stage->script.steps = &scene->step;
	stage->script.steps_count = scene->step.after_s > 0;
	stage->script.attempts = &stage->late;
	stage->script.attempts_count = scene->late_s > 0;
	stage->backend = scripted_backend_new(&stage->script);
	stage->engine = engine_new(&stage->setup, stage->backend);
}

void async_stage_finish(struct async_stage *stage)
{
	engine_free(stage->engine);
	while (g_main_context_iteration(NULL, FALSE))
		; /* what its thread left to report is dropped */
	backend_destroy(stage->backend);
	g_string_free(stage->overtaken, TRUE);
	g_string_free(stage->slid, TRUE);
	g_string_free(stage->deciders, TRUE);
	workload_free(stage->workload);
	sched_system_free(stage->system);
}

/* Each event is in one stretch of the histogram, none below a bound that it is above. */
static void assert_counted(const struct engine_result *result)
{
	uint64_t sum = 0;
	int highest = 0;

	for (int i = 0; i <= ENGINE_MAPPING_BOUNDS; i++) {
		sum += result->mapping_counts[i];
		highest = result->mapping_counts[i] ? i : highest;
	}
	g_assert_cmpuint(sum, ==, result->decisions);
	if (highest > 0)
		g_assert_cmpfloat(result->mapping_longest_s, >,
				  engine_mapping_bounds_s[highest - 1]);
	if (highest < ENGINE_MAPPING_BOUNDS)
		g_assert_cmpfloat(result->mapping_longest_s, <=, engine_mapping_bounds_s[highest]);
}

static void test_scene(const void *data)
{
	const struct async_scene *scene = data;
	struct async_stage stage;

	async_stage_init(&stage, scene);
	drive(stage.engine, stage.backend, async_stage_wait, &stage.result);
	g_assert_cmpint(stage.result.ended_by, ==,
			scene->aborts ? ENGINE_END_ABORTED : ENGINE_END_TIME);
	g_assert_cmpstr(engine_reason(stage.engine), ==, scene->aborts);
	g_assert_cmpstr(scripted_backend_log(stage.backend), ==, scene->log);
	g_assert_cmpstr(stage.overtaken->str, ==, scene->overtaken ?: "");
	g_assert_cmpstr(stage.slid->str, ==, scene->slid ?: "");
	if (scene->deciders)
		g_assert_cmpstr(stage.deciders->str, ==, scene->deciders);
	g_assert_cmpuint(stage.result.tasks_completed, ==, scene->completed);
	g_assert_cmpuint(stage.fallbacks, ==, scene->fallbacks);
	g_assert_true(stage.parted == (scene->at_once > 0));
	g_assert_cmpfloat(stage.result.mapping_longest_s, >, 0);
	assert_counted(&stage.result);
	async_stage_finish(&stage);
}

void async_stage_open_gate(struct async_stage *stage)
{
	handoff_lock(&gate.mutex);
	gate.open = true;
	handoff_unlock(&gate.mutex);
}

void async_stage_add(const struct async_scene *scenes, gsize count)
{
	for (gsize i = 0; i < count; i++) {
		g_autofree char *path = g_strdup_printf("/engine/async/%s", scenes[i].name);

		g_test_add_data_func(path, &scenes[i], test_scene);
	}
}
