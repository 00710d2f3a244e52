/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A limit of energy per window, on the simulation: no window spends more, whatever the estimates
 * are worth; every refusal is on record with numbers that add up; and all tasks end well in the
 * windows that come. Limits and clocks that are set meanwhile, and what people want of tasks that
 * stand still, among it.
 */
#include <glib.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "controller/backend/sim.h"
#include "controller/engine/engine.h"
#include "controller/engine/full_state.h"
#include "controller/engine/state_json.h"
#include "tests/unit/engine/drive.h"

#define TASKS 12
#define NODES 4
#define ETC_S 100
#define EEC_J 1000
#define EEC_SMALL_J 300
#define WINDOW_S 400
#define LIMIT_J 3500

struct bed;

/* A person, or the clock, in the middle of a run. */
struct wish {
	double time_s;
	void (*come_true)(struct bed *bed);
};

struct bed {
	struct engine_recorder recorder;
	struct sched_system *system; /* as policies know it */
	struct sched_system *real;   /* as it is */
	struct workload *workload;
	struct backend *sim;
	struct engine *engine;
	struct engine_setup setup; /* of the engine */
	uint32_t states;           /* full states that were looked at */
	double limit_j;
	uint32_t windows, exhausted, recovered, refused, suspensions;
	double most_j;
	double before_j;           /* that the first window has spent already */
	GString *turns;            /* "370 770 ": when windows ended */
	struct backend_ops ops;    /* the simulation's: by their address the bed is found */
	const struct wish *wishes; /* up to the first at time 0 */
	bool reports_limit;        /* after this wish the backend reports the limit once more */
};

static struct bed *bed_of(struct engine_recorder *recorder)
{
	return (struct bed *)((char *)recorder - offsetof(struct bed, recorder));
}

/* Tasks of one node each; `factor`: what they need more than their estimate. */
static struct sched_system *make_system(double factor)
{
	static const struct sched_cluster cluster = {.name = "c",
						     .nodes = NODES,
						     .cores = 1,
						     .pstates = 1};
	struct sched_system *system = sched_system_new(&cluster, 1, 2);

	system->row_names[0] = "type";
	system->etc_s[0] = ETC_S;
	system->eec_j[0] = EEC_J * factor;
	system->nodes[0] = 1;
	system->row_names[1] = "small";
	system->etc_s[1] = ETC_S;
	system->eec_j[1] = EEC_SMALL_J * factor;
	system->nodes[1] = 1;
	g_assert_cmpint(sched_system_finish(system, NULL), ==, SCHED_SYSTEM_OK);
	return system;
}

static double number(const json_t *detail, const char *key)
{
	return json_number_value(json_object_get(detail, key));
}

static bool look_at_event(struct engine_recorder *recorder, double time_s, const char *kind,
			  const char *text)
{
	struct bed *bed = bed_of(recorder);
	json_t *detail = text ? json_loads(text, 0, NULL) : NULL;

	if (strcmp(kind, "window") == 0) {
		g_assert_cmpfloat(number(detail, "spent_j"), <=,
				  fmax(bed->limit_j, bed->windows ? 0 : bed->before_j) + 1e-6);
		bed->windows++;
		bed->most_j = fmax(bed->most_j, number(detail, "spent_j"));
		g_string_append_printf(bed->turns, "%.0f ", time_s);
	} else if (strcmp(kind, "exhausted") == 0) {
		bed->exhausted++;
	} else if (strcmp(kind, "recovered") == 0) {
		g_assert_cmpfloat(number(detail, "spent_j"), <, number(detail, "limit_j"));
		bed->recovered++;
	} else if (strcmp(kind, "refused") == 0) {
		const double left_j =
			bed->limit_j - number(detail, "spent_j") - number(detail, "committed_j");

		bed->refused += (uint32_t)number(detail, "tasks");
		g_assert_cmpfloat(fabs(left_j - number(detail, "left_j")), <, 1e-9);
		g_assert_cmpfloat(number(detail, "limit_j"), ==, bed->limit_j);
		g_assert_true(number(detail, "estimate_j") > left_j || bed->exhausted > 0);
	}
	json_decref(detail);
	return true;
}

static bool look_at_suspension(struct engine_recorder *recorder,
			       const struct engine_suspension *suspension)
{
	bed_of(recorder)->suspensions += !suspension->by_person;
	return true;
}

/* A full state has all of a window: an engine that it is loaded into has the same state. */
static void assert_state(struct bed *bed)
{
	json_t *state = engine_save(bed->engine);
	struct engine_setup setup = bed->setup;
	struct engine *other;
	json_t *again;

	if (!state)
		return;
	setup.recorder = NULL;
	other = engine_new(&setup, bed->sim);
	g_assert_true(engine_load(other, state));
	again = engine_save(other);
	g_assert_true(json_equal(state, again));
	g_assert_cmpfloat(engine_window_begin_s(other), ==, engine_window_begin_s(bed->engine));
	g_assert_cmpfloat(engine_next_s(other), ==, engine_next_s(bed->engine));
	json_decref(state);
	json_decref(again);
	engine_free(other);
	bed->states++;
}

static void wait_or_wish(struct backend *backend, double until_s, struct backend_event *ret_event)
{
	struct bed *bed =
		(struct bed *)((char *)(void *)(uintptr_t)backend->ops - offsetof(struct bed, ops));
	const struct wish *wish = bed->wishes;

	assert_state(bed);
	if (!wish || !(wish->time_s > 0) || wish->time_s >= until_s) {
		backend_sim_wait(backend, until_s, ret_event);
		return;
	}
	backend_sim_wait(backend, wish->time_s, ret_event);
	if (ret_event->kind != BACKEND_EVENT_NONE)
		return;
	bed->wishes++;
	wish->come_true(bed);
	if (bed->reports_limit)
		ret_event->kind = BACKEND_EVENT_ENERGY_LIMIT;
	bed->reports_limit = false;
}

/* TASKS tasks that come at the beginning. */
static void bed_begin(struct bed *bed, double factor, double limit_j, double spent_j,
		      const struct wish *wishes)
{
	*bed = (struct bed){
		.recorder = {.event = look_at_event, .suspension = look_at_suspension},
		.system = make_system(1),
		.real = make_system(factor),
		.workload = workload_open_new(TASKS),
		.limit_j = limit_j,
		.before_j = spent_j,
		.turns = g_string_new(NULL),
		.wishes = wishes,
	};
	for (uint32_t i = 0; i < TASKS; i++)
		bed->workload->tasks[i] = (struct sched_task){
			.id = i,
			.utility = utility_testbed(1, 1e7, 2e7),
			.preemptible = true,
			.may_preempt = true,
		};
	bed->workload->tasks_count = TASKS;
	bed->sim = backend_sim_new(bed->real, TASKS);
}

static void bed_go(struct bed *bed, const char *policy, struct engine_result *ret_result)
{
	struct engine_setup setup = {.mapping_interval_s = 50, .duration_s = 1e5, .seed = 1};
	char message[256];

	bed->ops = *bed->sim->ops;
	bed->sim->ops = &bed->ops;
	setup.system = bed->system;
	setup.workload = bed->workload;
	setup.recorder = &bed->recorder;
	setup.moments = POLICY_AT_BOTH;
	g_assert_cmpint(policy_parse(policy, &setup.policy, message, sizeof(message)), ==, 0);
	bed->setup = setup;
	bed->engine = engine_new(&setup, bed->sim);
	engine_set_window(bed->engine,
			  &(struct engine_window){bed->limit_j, WINDOW_S, -30, bed->before_j});
	drive(bed->engine, bed->sim, wait_or_wish, ret_result);
	g_assert_cmpuint(bed->states, >, 0);
	g_assert_cmpstr(engine_reason(bed->engine), ==, NULL);
}

/* Runs `policy`; `wishes` may be NULL. */
static void bed_run(struct bed *bed, const char *policy, double factor, double limit_j,
		    double spent_j, const struct wish *wishes, struct engine_result *ret_result)
{
	bed_begin(bed, factor, limit_j, spent_j, wishes);
	bed_go(bed, policy, ret_result);
}

static void bed_finish(struct bed *bed)
{
	engine_free(bed->engine);
	backend_destroy(bed->sim);
	workload_free(bed->workload);
	g_string_free(bed->turns, TRUE);
	sched_system_free(bed->system);
	sched_system_free(bed->real);
}

/* What policies with and without preemption, promises and place-holders make of it. */
static const char *const policies[] = {
	"fcfs",
	"easy",
	"conservative",
	"max-util",
	"max-upt",
	"max-upr",
	"max-upe+reservations",
	"max-util-preempt-greedy",
	"max-upt-preempt-pair",
};

static void check(double factor, bool exhausts)
{
	for (size_t i = 0; i < G_N_ELEMENTS(policies); i++) {
		struct engine_result result;
		struct bed bed;

		g_test_message("%s, estimates %g times too low", policies[i], factor);
		bed_run(&bed, policies[i], factor, LIMIT_J, 0, NULL, &result);
		g_assert_cmpint(result.ended_by, ==, ENGINE_END_DONE);
		g_assert_cmpuint(result.tasks_completed, ==, TASKS);
		g_assert_cmpuint(bed.windows, >=, (uint32_t)(TASKS * EEC_J * factor / LIMIT_J) - 1);
		g_assert_cmpuint(bed.refused, >, 0);
		g_assert_true((bed.exhausted > 0) == exhausts);
		g_assert_true((bed.suspensions > 0) == exhausts);
		g_assert_cmpfloat(fabs(result.energy_j - TASKS * EEC_J * factor), <, 1e-6);
		if (exhausts)
			g_assert_cmpfloat(bed.most_j, >, LIMIT_J - 1e-6);
		bed_finish(&bed);
	}
}

/* Good estimates: starts are refused, nothing that runs is stopped. */
static void test_refusals(void)
{
	check(1, false);
}

/*
 * Estimates that are too low: what runs stands still at the limit, and resumes in the next window.
 */
static void test_exhaustion(void)
{
	check(1.6, true);
}

/* A run that is resumed in a window with little left starts nothing before the next. */
static void test_goes_on(void)
{
	struct engine_result result;
	struct bed bed;

	bed_run(&bed, "easy", 1, LIMIT_J, LIMIT_J - 10, NULL, &result);
	g_assert_cmpuint(result.tasks_completed, ==, TASKS);
	g_assert_cmpfloat(engine_task_at(bed.engine, 0)->started_s, >=, WINDOW_S - 30);
	bed_finish(&bed);
	bed_run(&bed, "easy", 1, LIMIT_J, LIMIT_J + 10, NULL, &result);
	g_assert_cmpuint(result.tasks_completed, ==, TASKS);
	g_assert_cmpfloat(engine_task_at(bed.engine, 0)->started_s, >=, WINDOW_S - 30);
	bed_finish(&bed);
}

/* 0.3 J are three times 0.1 J, whatever is lost when that is summed up. */
static void test_rounding(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(policies); i++) {
		struct engine_result result;
		struct bed bed;
		uint32_t first = 0;

		g_test_message("%s", policies[i]);
		bed_begin(&bed, 0.1 / EEC_J, 0.3, 0, NULL);
		sched_system_free(bed.system); /* the estimates are good */
		bed.system = make_system(0.1 / EEC_J);
		bed_go(&bed, policies[i], &result);
		g_assert_cmpuint(result.tasks_completed, ==, TASKS);
		for (uint32_t k = 0; k < TASKS; k++)
			first += engine_task_at(bed.engine, k)->started_s < 1;
		g_assert_cmpuint(first, ==, 3);
		g_assert_cmpuint(bed.suspensions, ==, 0);
		bed_finish(&bed);
	}
}

/* Without a limit nothing of it is to be seen. */
static void test_none(void)
{
	struct engine_result result;
	struct bed bed;

	bed_run(&bed, "easy", 1, 0, 0, NULL, &result);
	g_assert_cmpuint(result.tasks_completed, ==, TASKS);
	g_assert_cmpfloat(result.ended_s, <=, TASKS / NODES * ETC_S + 1e-6);
	g_assert_cmpuint(bed.windows + bed.refused + bed.exhausted, ==, 0);
	g_assert_true(isnan(engine_window_now(bed.engine).limit_j));
	bed_finish(&bed);
}

/* Meanwhile. */

static void set_limit(struct bed *bed, double limit_j)
{
	const struct engine_window_state state = engine_window_now(bed->engine);
	const struct engine_window window = {limit_j, WINDOW_S, -30,
					     isnan(state.limit_j) ? 0 : state.spent_j};

	bed->limit_j = limit_j;
	engine_set_window(bed->engine, &window);
}

static void raise_limit(struct bed *bed)
{
	/* one may be promised nodes */
	g_assert_cmpuint(engine_window_now(bed->engine).refusals, >=, TASKS - 4);
	set_limit(bed, 20000);
}

/* What more is allowed is used at once, and what was refused is not any more. */
static void test_raised(void)
{
	static const struct wish wishes[] = {{60, raise_limit}, {0}};
	struct engine_result result;
	struct bed bed;

	bed_run(&bed, "easy", 1, LIMIT_J, 0, wishes, &result);
	g_assert_cmpuint(result.tasks_completed, ==, TASKS);
	g_assert_cmpfloat(result.ended_s, <=, 60 + TASKS / NODES * ETC_S + 1e-6);
	g_assert_cmpuint(engine_window_now(bed.engine).refusals, ==, 0);
	bed_finish(&bed);
}

/* The account of the caller has 1,100 J more; what it differs by rounding has no effect. */
static void correct_spent(struct bed *bed)
{
	const double spent_j = engine_window_now(bed->engine).spent_j;

	engine_window_correct(bed->engine, 60, spent_j + 0.1);
	g_assert_cmpfloat(engine_window_now(bed->engine).spent_j, ==, spent_j);
	engine_window_correct(bed->engine, 60, spent_j + 1100);
	g_assert_cmpfloat(fabs(engine_window_now(bed->engine).spent_j - spent_j - 1100), <, 1e-6);
}

/* All that runs stands still when the corrected energy has reached the limit. */
static void test_corrected(void)
{
	static const struct wish wishes[] = {{60, correct_spent}, {0}};
	struct engine_result result;
	struct bed bed;

	bed_run(&bed, "easy", 1, LIMIT_J, 0, wishes, &result);
	g_assert_cmpuint(result.tasks_completed, ==, TASKS);
	g_assert_cmpuint(bed.exhausted, ==, 1);
	g_assert_cmpuint(bed.suspensions, >, 0);
	bed_finish(&bed);
}

static void lower_to_2500(struct bed *bed)
{
	set_limit(bed, 2500);
}

/* A task that has used up its estimate has its node when the next window resumes it. */
static void test_resumed_at_its_estimate(void)
{
	static const struct wish wishes[] = {{60, lower_to_2500}, {0}};
	struct engine_result result;
	struct bed bed;

	bed_run(&bed, "easy", 1, LIMIT_J, 0, wishes, &result);
	g_assert_cmpuint(result.tasks_completed, ==, TASKS);
	bed_finish(&bed);
}

/* What the caller's account has exceeds the limit by more than the backend has counted at all. */
static void correct_beyond(struct bed *bed)
{
	engine_window_correct(bed->engine, 60, 3 * LIMIT_J);
	g_assert_true(engine_window_now(bed->engine).exhausted);
	bed->before_j = 4 * LIMIT_J; /* what was used is used */
}

static void test_corrected_beyond(void)
{
	static const struct wish wishes[] = {{60, correct_beyond}, {0}};
	struct engine_result result;
	struct bed bed;

	bed_run(&bed, "easy", 1, LIMIT_J, 0, wishes, &result);
	g_assert_cmpuint(result.tasks_completed, ==, TASKS);
	g_assert_cmpuint(bed.exhausted, ==, 1);
	g_assert_cmpuint(bed.suspensions, >, 0);
	bed_finish(&bed);
}

/* The account has less than the meters had shown. */

static void correct_to_limit(struct bed *bed)
{
	bed->before_j = 4 * LIMIT_J; /* as far as is known by then */
	engine_window_correct(bed->engine, 60, LIMIT_J + 100);
	g_assert_true(engine_window_now(bed->engine).exhausted);
	/* What is off by rounding has no effect. */
	engine_window_correct(bed->engine, 60, LIMIT_J * (1 - 0.5 * ENGINE_WINDOW_OFF));
	g_assert_true(engine_window_now(bed->engine).exhausted);
}

static void correct_below(struct bed *bed)
{
	for (uint32_t i = 0; i < 3; i++)
		g_assert_cmpint(engine_task_at(bed->engine, i)->state, ==, ENGINE_TASK_SUSPENDED);
	engine_window_correct(bed->engine, 70, 1500);
	g_assert_false(engine_window_now(bed->engine).exhausted);
	g_assert_cmpfloat(fabs(engine_window_now(bed->engine).spent_j - 1500), <, 1e-6);
	g_assert_cmpuint(bed->recovered, ==, 1);
	/* It is open already. */
	engine_window_correct(bed->engine, 70, 1400);
	g_assert_cmpuint(bed->recovered, ==, 1);
}

/* 2,100 J are left, of which each needs 400. */
static void see_three_resumed(struct bed *bed)
{
	for (uint32_t i = 0; i < 3; i++)
		g_assert_cmpint(engine_task_at(bed->engine, i)->state, ==, ENGINE_TASK_RUNNING);
}

/* Its tasks are resumed in the same window, which is exhausted once more at its limit. */
static void test_corrected_below(void)
{
	static const struct wish wishes[] = {{60, correct_to_limit},
					     {70, correct_below},
					     {71, see_three_resumed},
					     {0}};
	struct engine_result result;
	struct bed bed;

	bed_run(&bed, "easy", 1, LIMIT_J, 0, wishes, &result);
	g_assert_cmpuint(result.tasks_completed, ==, TASKS);
	g_assert_cmpuint(bed.suspensions, >, 0);
	bed_finish(&bed);
}

static void lower_limit(struct bed *bed)
{
	set_limit(bed, 500);
	bed->before_j = 1000; /* what was used is used */
	g_assert_true(engine_window_now(bed->engine).exhausted);
}

static void see_all_off(struct bed *bed)
{
	for (uint32_t i = 0; i < 3; i++)
		g_assert_cmpint(engine_task_at(bed->engine, i)->state, ==, ENGINE_TASK_SUSPENDED);
	g_assert_cmpstr(engine_waits_because(bed->engine, 0), ==,
			"energy: the limit of 500.0 J is used up (900.0 spent), for another 309 s");
	g_assert_cmpstr(
		engine_waits_because(bed->engine, 11), ==,
		"energy: needs 1000.0 J in a window, more than its limit of 500.0 J: not before "
		"that is raised");
}

static void end_limit(struct bed *bed)
{
	set_limit(bed, 0);
}

static void see_them_run(struct bed *bed)
{
	for (uint32_t i = 0; i < 3; i++)
		g_assert_cmpint(engine_task_at(bed->engine, i)->state, ==, ENGINE_TASK_RUNNING);
	g_assert_true(isnan(engine_window_now(bed->engine).limit_j));
	bed->limit_j = INFINITY;
}

/* Lowered below what is used, all are suspended; without a limit all resume. */
static void report_limit(struct bed *bed)
{
	g_assert_true(engine_window_now(bed->engine).exhausted);
	bed->reports_limit = true;
}

static void raise_exhausted(struct bed *bed)
{
	g_assert_true(engine_window_now(bed->engine).exhausted);
	set_limit(bed, 20000);
	g_assert_false(engine_window_now(bed->engine).exhausted);
}

static void remove_open(struct bed *bed)
{
	g_assert_false(engine_window_now(bed->engine).exhausted);
	set_limit(bed, 0);
}

/* An exhausted window is so once, until its limit is raised; a limit is removed at any time. */
static void test_exhausted_once(void)
{
	static const struct wish wishes[] = {{80, report_limit},
					     {90, raise_exhausted},
					     {100, remove_open},
					     {0}};
	struct engine_result result;
	struct bed bed;

	bed_run(&bed, "easy", 1.6, LIMIT_J, 0, wishes, &result);
	g_assert_cmpuint(result.tasks_completed, ==, TASKS);
	g_assert_cmpuint(bed.exhausted, ==, 1);
	g_assert_cmpuint(bed.windows, ==, 0);
	g_assert_cmpuint(result.impossible_events, ==, 0);
	bed_finish(&bed);
}

static void test_lowered(void)
{
	static const struct wish wishes[] = {
		{30, lower_limit}, {61, see_all_off}, {200, end_limit}, {201, see_them_run}, {0}};
	struct engine_result result;
	struct bed bed;

	bed_run(&bed, "easy", 1, LIMIT_J, 0, wishes, &result);
	g_assert_cmpuint(result.tasks_completed, ==, TASKS);
	g_assert_cmpuint(bed.suspensions, >, 0);
	g_assert_cmpuint(bed.exhausted, ==, 1);
	bed_finish(&bed);
}

/* What people want of what stands still. */

static void ask_both(struct bed *bed)
{
	g_assert_true(engine_window_now(bed->engine).exhausted);
	g_assert_cmpint(engine_request_resume(bed->engine, 0), ==, ENGINE_REFUSAL_NONE);
	g_assert_cmpint(engine_request_suspend(bed->engine, 1), ==, ENGINE_REFUSAL_NONE);
	g_assert_cmpint(engine_task_at(bed->engine, 0)->state, ==, ENGINE_TASK_SUSPENDED);
}

static void see_one_wait(struct bed *bed)
{
	g_assert_cmpint(engine_task_at(bed->engine, 0)->state, ==, ENGINE_TASK_SUSPENDED);
	g_assert_true(g_str_has_prefix(engine_waits_because(bed->engine, 0), "energy: "));
	g_assert_cmpstr(engine_waits_because(bed->engine, 1), ==, "a user suspended it");
}

static void see_one_run(struct bed *bed)
{
	g_assert_cmpint(engine_task_at(bed->engine, 0)->state, ==, ENGINE_TASK_RUNNING);
	g_assert_cmpint(engine_task_at(bed->engine, 2)->state, ==, ENGINE_TASK_RUNNING);
	g_assert_cmpstr(engine_waits_because(bed->engine, 1), ==, "a user suspended it");
	g_assert_cmpint(engine_request_resume(bed->engine, 1), ==, ENGINE_REFUSAL_NONE);
}

/* No user's request gets round the limit; a task that is held suspended stays so. */
static void test_people(void)
{
	static const struct wish wishes[] = {{120, ask_both},
					     {300, see_one_wait},
					     {371, see_one_run},
					     {0}};
	struct engine_result result;
	struct bed bed;

	bed_run(&bed, "easy", 1.6, LIMIT_J, 0, wishes, &result);
	g_assert_cmpuint(result.tasks_completed, ==, TASKS);
	bed_finish(&bed);
}

/* Tasks that outlast windows. */

static void shorten_windows(struct bed *bed)
{
	const struct engine_window window = {1200, ETC_S / 2, 0, 0};

	bed->limit_j = 1200;
	engine_set_window(bed->engine, &window);
}

/*
 * Of each counts what it uses in the length of a window, 500 J: two at a time, and none has to
 * stop.
 */
static void test_long(void)
{
	static const struct wish wishes[] = {{1, shorten_windows}, {0}};
	struct engine_result result;
	struct bed bed;

	bed_run(&bed, "easy", 1, 1500, 0, wishes, &result);
	g_assert_cmpuint(result.tasks_completed, ==, TASKS);
	g_assert_cmpuint(bed.exhausted + bed.suspensions, ==, 0);
	g_assert_cmpfloat(result.ended_s, >=, TASKS / 2 * ETC_S);
	g_assert_cmpfloat(result.ended_s, <=, (TASKS / 2 + 2) * ETC_S);
	bed_finish(&bed);
}

/* No task is suspended for a task that is refused. */

static void see_one_make_way(struct bed *bed)
{
	g_assert_cmpint(engine_task_at(bed->engine, 4)->state, ==, ENGINE_TASK_RUNNING);
	g_assert_cmpint(engine_task_at(bed->engine, 5)->state, ==, ENGINE_TASK_WAITING);
	g_assert_cmpuint(bed->suspensions, >, 0);
	for (uint32_t i = 0, running = 0; i < 4; i++) {
		running += engine_task_at(bed->engine, i)->state == ENGINE_TASK_RUNNING;
		g_assert_true(i < 3 || running == 3);
	}
}

static void test_preemption(void)
{
	static const struct wish wishes[] = {{60, see_one_make_way}, {0}};
	struct engine_result result;
	struct bed bed;

	bed_begin(&bed, 1, 4400, 0, wishes);
	bed.workload->tasks_count = 6;
	for (uint32_t i = 4; i < 6; i++) {
		struct sched_task *task = &bed.workload->tasks[i];

		task->row = 1;
		task->arrival_s = 55;
		task->utility = utility_testbed(50, 100, 150);
		task->preemptible = false;
	}
	bed_go(&bed, "max-util-preempt-greedy", &result);
	g_assert_cmpuint(result.tasks_completed, >=, 5);
	bed_finish(&bed);
}

/* The clock is set. */

static void shift_on(struct bed *bed)
{
	engine_shift_window(bed->engine, -30 + 100);
}

static void shift_back(struct bed *bed)
{
	engine_shift_window(bed->engine, -30 - 150);
}

static void shift_both_ways(struct bed *bed)
{
	shift_on(bed);
	shift_back(bed);
	engine_shift_window(bed->engine, -30);
}

/* The window under way keeps its end, and no other is shorter than half a window. */
static void test_clock(void)
{
	static const struct {
		struct wish wishes[2];
		const char *turns;
	} cases[] = {
		{{{0}}, "370 770 1170 "},
		{{{100, shift_on}}, "370 870 1270 "},
		{{{100, shift_back}}, "370 620 1020 "},
		{{{100, shift_both_ways}}, "370 770 1170 "},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct engine_result result;
		struct bed bed;

		bed_run(&bed, "easy", 1, LIMIT_J, 0, cases[i].wishes, &result);
		g_assert_cmpuint(result.tasks_completed, ==, TASKS);
		g_assert_cmpstr(bed.turns->str, ==, cases[i].turns);
		bed_finish(&bed);
	}
}

/* Full states that are none. */

static bool loads(struct bed *bed, const json_t *state, uint32_t last_row)
{
	struct engine_setup setup = bed->setup;
	struct sched_task *last = &bed->workload->tasks[TASKS - 1];
	const uint32_t row = last->row;
	struct engine *other;
	bool good;

	setup.recorder = NULL;
	other = engine_new(&setup, bed->sim);
	last->row = last_row;
	good = engine_load(other, state);
	last->row = row;
	engine_free(other);
	return good;
}

static void load_damaged(struct bed *bed)
{
	static const double periods[] = {0, -1, 1e-300, 1e-4, INFINITY, NAN};
	json_t *state = engine_save(bed->engine);

	g_assert_nonnull(state);
	g_assert_cmpint(engine_task_at(bed->engine, TASKS - 1)->state, ==, ENGINE_TASK_WAITING);
	g_assert_true(loads(bed, state, 1));
	g_assert_false(loads(bed, state, 2)); /* there are two types */
	for (size_t i = 0; i < G_N_ELEMENTS(periods); i++) {
		json_t *interval = json_deep_copy(state);
		json_t *length = json_deep_copy(state);

		json_object_set_new(interval, "setup.mapping_interval_s",
				    state_write_real(periods[i]));
		json_object_set_new(json_object_get(length, "window"), "setup.length_s",
				    state_write_real(periods[i]));
		g_assert_false(loads(bed, interval, 1));
		g_assert_false(loads(bed, length, 1));
		json_decref(interval);
		json_decref(length);
	}
	json_decref(state);
}

/* What would be used without a further look is checked as it is loaded. */
static void test_damaged(void)
{
	static const struct wish wishes[] = {{60, load_damaged}, {0}};
	struct engine_result result;
	struct bed bed;

	bed_run(&bed, "easy", 1, LIMIT_J, 0, wishes, &result);
	bed_finish(&bed);
}

/* A workload takes as many tasks as it has room for, and no more. */
static void test_full(void)
{
	struct sched_system *system = make_system(1);
	struct workload *workload = workload_open_new(TASKS);
	json_t *state = json_pack("{s:i, s:i}", "tasks_count", TASKS, "last_arrival_s", 0);

	g_assert_true(engine_load_workload(state, system, workload));
	g_assert_cmpuint(workload->tasks_count, ==, TASKS);
	json_object_set_new(state, "tasks_count", json_integer(TASKS + 1));
	g_assert_false(engine_load_workload(state, system, workload));
	json_decref(state);
	workload_free(workload);
	sched_system_free(system);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/engine/window/starts are refused beyond what is left", test_refusals);
	g_test_add_func("/engine/window/at the limit all stand still until the next window",
			test_exhaustion);
	g_test_add_func("/engine/window/what was spent before counts", test_goes_on);
	g_test_add_func("/engine/window/rounding refuses nothing", test_rounding);
	g_test_add_func("/engine/window/without a limit there is none", test_none);
	g_test_add_func("/engine/window/a task that has used up its estimate has its node",
			test_resumed_at_its_estimate);
	g_test_add_func("/engine/window/a limit that is raised holds at once", test_raised);
	g_test_add_func("/engine/window/energy that is corrected counts", test_corrected);
	g_test_add_func("/engine/window/energy that is corrected beyond the limit counts, too",
			test_corrected_beyond);
	g_test_add_func("/engine/window/energy that is corrected below the limit is there again",
			test_corrected_below);
	g_test_add_func("/engine/window/a limit that is lowered or removed does, too",
			test_lowered);
	g_test_add_func("/engine/window/an exhausted window is so until its limit is raised",
			test_exhausted_once);
	g_test_add_func("/engine/window/no wish gets round it", test_people);
	g_test_add_func("/engine/window/tasks that outlast windows fit into each", test_long);
	g_test_add_func("/engine/window/no task is suspended for a refused task", test_preemption);
	g_test_add_func("/engine/window/a clock that is set makes no windows", test_clock);
	g_test_add_func("/engine/window/a full state that cannot be one is not loaded",
			test_damaged);
	g_test_add_func("/engine/window/a full state can have all tasks of a workload", test_full);
	return g_test_run();
}
