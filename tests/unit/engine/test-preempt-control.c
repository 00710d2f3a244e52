/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tasks that people suspend and resume while a policy does so as well. */
#include <glib.h>
#include <math.h>

#include "tests/unit/engine/drive.h"
#include "tests/unit/engine/preempt_stage.h"

/* A person's wishes at certain times. */
struct wish {
	double time_s;
	uint32_t task;
	bool resume;
	const char *answer;
	const char *policy; /* it is to decide from now on; NULL: nothing is wanted of that kind */
};

struct person {
	struct preempt_stage stage;
	const struct wish *wishes;
};

static struct policy policy_of(const char *name)
{
	struct policy policy;
	char message[256];

	g_assert_cmpint(policy_parse(name, &policy, message, sizeof(message)), ==, 0);
	return policy;
}

static void wish(double time_s, void *data)
{
	struct person *person = data;
	const struct wish *w = person->wishes++;
	const char *answer;

	g_assert_cmpfloat(time_s, ==, w->time_s);
	if (w->policy) {
		const struct policy policy = policy_of(w->policy);

		engine_request_policy(person->stage.engine, &policy,
				      person->stage.setup.mapping_interval_s);
		return;
	}
	answer = engine_refusal_text(
		w->resume ? engine_request_resume(person->stage.engine, w->task)
			  : engine_request_suspend(person->stage.engine, w->task));
	g_assert_cmpstr(answer, ==, w->answer);
}

static void run_person(struct person *person, const struct preempt_scene *scene,
		       const struct wish *wishes)
{
	double calls_s[16];
	uint32_t count = 0;

	for (; wishes[count].time_s > 0; count++)
		calls_s[count] = wishes[count].time_s;
	preempt_stage_init(&person->stage, scene);
	person->wishes = wishes;
	person->stage.script.calls_s = calls_s;
	person->stage.script.calls_count = count;
	person->stage.script.call = wish;
	person->stage.script.data = person;
	person->stage.backend = scripted_backend_new(&person->stage.script);
	person->stage.engine = engine_new(&person->stage.setup, person->stage.backend);
	drive(person->stage.engine, person->stage.backend, scripted_backend_wait,
	      &person->stage.result);
}

static void test_person(void)
{
	/* Task 0 is not preemptible: that is for policies. */
	static const struct preempt_scene scene = {
		.tasks_count = 3,
		.stubborn = true,
		.orders = {START(0, 0, ON(0)), START(20, 1, ON(0))},
		.seen = "run 1@c0:0 20+0 to 35 P",
		.seen_s = 30,
	};
	static const struct wish wishes[] = {
		{4, 2, false, "it does not run"},
		{5, 2, true, "it is not suspended"},
		{6, 0, false, NULL},
		{7, 0, false, NULL}, /* suspended already */
		{8, 9, false, "there is no such task"},
		{32, 0, true, NULL}, /* node 1 is idle: at once */
		{40, 1, true, "it is not suspended"},
		{90, 0, false, "it has ended"},
		{0},
	};
	struct person person;

	run_person(&person, &scene, wishes);
	preempt_stage_check_log(&person.stage,
				"0 start 0.1 c0 0\n6 suspend 0.1 #1\n20 start 1.1 c0 0\n"
				"32 resume 0.1 #1 c0 1\n");
	g_assert_cmpstr(person.stage.seen->str, ==, scene.seen); /* it is not among the mappable */
	g_assert_cmpuint(person.stage.result.tasks_completed, ==, 2);
	preempt_stage_finish(&person.stage);
}

/* Where its nodes are not idle it is resumed as soon as they are. */
static void test_person_waits(void)
{
	static const struct preempt_scene scene = {
		.tasks_count = 4,
		.orders = {START(0, 0, ON(0)), START(0, 1, ON(1)), START(10, 2, ON(0))},
		.steps = {{0, 1, false, SCRIPT_DONE, 2, 0}},
	};
	static const struct wish wishes[] = {
		{6, 0, false, NULL},
		{13, 0, true, NULL},
		{0},
	};
	struct person person;

	run_person(&person, &scene, wishes);
	/* Task 1 ends at 15 s. */
	preempt_stage_check_log(&person.stage,
				"0 start 0.1 c0 0\n0 start 1.1 c0 1\n6 suspend 0.1 #1\n"
				"10 start 2.1 c0 0\n15 resume 0.1 #1 c0 1\n");
	preempt_stage_finish(&person.stage);
}

static void test_person_in_between(void)
{
	/* Suspended by the policy; a person takes over, and lets go while it is being suspended. */
	static const struct preempt_scene scene = {
		.tasks_count = 4,
		.orders = {START(0, 0, ON(0)), SUSPEND(10, 0), START(10, 1, ON(0)),
			   START(10, 2, ON(1))},
		.steps = {{0, 1, false, SCRIPT_DONE, 5, 0}},
	};
	static const struct wish wishes[] = {
		{12, 0, false, NULL},
		{13, 0, true, NULL},
		{14, 0, false, NULL},
		{18, 0, true, NULL},
		{26, 0, true, "it is not suspended"},
		{0},
	};
	struct person person;

	run_person(&person, &scene, wishes);
	/* Task 2 ends at 25 s. */
	preempt_stage_check_log(&person.stage,
				"0 start 0.1 c0 0\n10 suspend 0.1 #1\n10 start 2.1 c0 1\n"
				"15 start 1.1 c0 0\n25 resume 0.1 #1 c0 1\n");
	g_assert_cmpuint(person.stage.result.tasks_completed, ==, 3);
	preempt_stage_finish(&person.stage);
}

/*
 * What a person wants is wanted until it has come to be: tried again at the next mapping event, and
 * not when it has failed, although nodes are idle.
 */
static void test_person_insists(void)
{
	static const struct preempt_scene scene = {
		.tasks_count = 3,
		.orders = {START(0, 0, ON(0))},
		.steps = {{0, 1, true, SCRIPT_STAYED, 2, 1}},
	};
	static const struct wish wishes[] = {
		{6, 0, false, NULL},
		{13, 0, true, NULL},
		{0},
	};
	struct person person;

	run_person(&person, &scene, wishes);
	preempt_stage_check_log(&person.stage,
				"0 start 0.1 c0 0\n6 suspend 0.1 #1\n13 resume 0.1 #1 c0 0\n"
				"20 resume 0.1 #1 c0 0\n");
	g_assert_cmpuint(person.stage.result.tasks_completed, ==, 1);
	preempt_stage_finish(&person.stage);
}

/* Also by the next engine, where the run is resumed. */
static void test_person_is_remembered(void)
{
	static const struct preempt_scene scene = {.tasks_count = 3};
	static const uint32_t node = 0;
	const struct engine_task leaving = {.state = ENGINE_TASK_SUSPENDING,
					    .nodes_count = 1,
					    .nodes = &node,
					    .attempts = 1,
					    .started_s = 0};
	const struct sched_allocation placed = {
		.task = &(struct sched_task){.id = 0, .row = NARROW},
		.nodes_count = 1,
		.nodes = &node,
	};
	struct engine_suspension suspension = {
		.task = 0,
		.attempt = 1,
		.n = 1,
		.nodes_count = 1,
		.nodes = &node,
		.by_person = true,
		.requested_s = 10,
		.suspended_s = NAN,
		.exec_s = NAN,
		.resume_requested_s = NAN,
		.resumed_s = NAN,
		.since_s = NAN,
	};

	for (int held = 0; held < 2; held++) {
		struct preempt_stage stage;

		suspension.held = held;
		preempt_stage_init(&stage, &scene);
		stage.script.now_s = 12;
		stage.backend = scripted_backend_new(&stage.script);
		stage.engine = engine_new(&stage.setup, stage.backend);
		g_assert_true(engine_restore_task(stage.engine, 0, &leaving));
		g_assert_true(engine_restore_suspension(stage.engine, &suspension));
		scripted_backend_adopt(stage.backend, &placed, 1, 0);
		drive(stage.engine, stage.backend, scripted_backend_wait, &stage.result);
		preempt_stage_check_log(&stage,
					held ? "12 suspend 0.1 #1\n100 kill 0.1\n"
					     : "12 suspend 0.1 #1\n12 resume 0.1 #1 c0 0\n");
		preempt_stage_finish(&stage);
	}
}

/* Policies that make promises do not see suspended tasks. */
static void test_another_policy(void)
{
	static const struct preempt_scene scene = {
		.tasks_count = 3,
		.orders = {START(0, 0, ON(0)), SUSPEND(10, 0), START(10, 1, ON(0))},
	};
	static const struct wish wishes[] = {
		{12, 0, false, NULL, "fcfs"},
		{0},
	};
	struct person person;

	run_person(&person, &scene, wishes);
	preempt_stage_check_log(&person.stage,
				"0 start 0.1 c0 0\n10 suspend 0.1 #1\n10 start 1.1 c0 0\n"
				"20 resume 0.1 #1 c0 1\n20 start 2.1 c1 0\n");
	g_assert_cmpuint(person.stage.result.tasks_completed, ==, 3);
	preempt_stage_finish(&person.stage);
}

/*
 * Nor does the next engine know why: it was the policy before, or a window that had no energy left.
 */
static void test_another_engine(void)
{
	static const struct preempt_scene scene = {.tasks_count = 1};
	static const uint32_t node = 0;
	const struct engine_task suspended = {.state = ENGINE_TASK_SUSPENDED,
					      .nodes_count = 1,
					      .nodes = &node,
					      .attempts = 1,
					      .started_s = 0};
	const struct sched_allocation placed = {
		.task = &(struct sched_task){.id = 0, .row = NARROW},
		.nodes_count = 1,
		.nodes = &node,
	};
	const struct script_suspended known = {.n = 1,
					       .executed_s = 10,
					       .leaves_s = NAN,
					       .goes_on_s = NAN};
	const struct engine_suspension suspension = {
		.task = 0,
		.attempt = 1,
		.n = 1,
		.nodes_count = 1,
		.nodes = &node,
		.requested_s = 10,
		.suspended_s = 10,
		.exec_s = 10,
		.resume_requested_s = NAN,
		.resumed_s = NAN,
		.since_s = NAN,
	};
	struct preempt_stage stage;

	preempt_stage_init(&stage, &scene);
	stage.setup.policy = policy_of("fcfs");
	stage.script.now_s = 12;
	stage.backend = scripted_backend_new(&stage.script);
	stage.engine = engine_new(&stage.setup, stage.backend);
	g_assert_true(engine_restore_task(stage.engine, 0, &suspended));
	g_assert_true(engine_restore_suspension(stage.engine, &suspension));
	scripted_backend_adopt_suspended(stage.backend, &placed, 1, &known);
	g_assert_cmpstr(engine_waits_because(stage.engine, 0), ==,
			"it resumes as soon as its cluster has idle nodes");
	drive(stage.engine, stage.backend, scripted_backend_wait, &stage.result);
	preempt_stage_check_log(&stage, "20 resume 0.1 #1 c0 0\n");
	g_assert_cmpuint(stage.result.tasks_completed, ==, 1);
	preempt_stage_finish(&stage);
}

/*
 * A limit per window suspends task 0 at 5 s, and the window that begins at 20 s lets it resume. At
 * CUT_S the run is cut off, while there are no nodes for it, or while its resumption is under way,
 * which the next backend rolls back once.
 */
#define CUT_S 22

static const struct preempt_scene without_nodes = {
	.tasks_count = 2,
	.orders = {START(0, 0, ON(0))},
	.events = {{8, BACKEND_EVENT_NODE_DOWN, 0, 0, "gone"},
		   {8, BACKEND_EVENT_NODE_DOWN, 0, 1, "gone"}},
};
static const struct preempt_scene under_way = {
	.tasks_count = 2,
	.orders = {START(0, 0, ON(0))},
	.steps = {{0, 1, true, SCRIPT_STAYED, 5, 1}},
};

struct cut {
	const struct preempt_scene *scene;
	struct wish wish;            /* time 0: no wish */
	struct engine_window window; /* as the next engine finds it */
	const char *log;
};

/* The first engine, and what is on record of task 0 when it is cut off. */
struct first {
	struct preempt_stage stage;
	const struct cut *cut;
	struct engine_suspension told; /* last */
	struct engine_suspension suspension;
	struct engine_task task;
};

static bool keep(struct engine_recorder *recorder, const struct engine_suspension *suspension)
{
	struct first *first =
		(struct first *)((char *)recorder - offsetof(struct first, stage.memory.recorder));

	first->told = *suspension;
	return true;
}

static void cut_off(double time_s, void *data)
{
	struct first *first = data;
	const struct wish *w = &first->cut->wish;

	if (time_s == w->time_s)
		g_assert_cmpstr(engine_refusal_text(
					(w->resume ? engine_request_resume
						   : engine_request_suspend)(first->stage.engine,
									     w->task)),
				==, w->answer);
	if (time_s != CUT_S)
		return;
	first->suspension = first->told;
	first->task = *engine_task_at(first->stage.engine, 0);
}

static void run_first(struct first *first, const struct cut *cut)
{
	const double calls_s[] = {cut->wish.time_s, CUT_S};
	const bool asked = cut->wish.time_s > 0;

	*first = (struct first){.cut = cut};
	preempt_stage_init(&first->stage, cut->scene);
	first->stage.memory.recorder.suspension = keep;
	first->stage.script.watts = 10;
	first->stage.script.calls_s = calls_s + !asked;
	first->stage.script.calls_count = 1 + asked;
	first->stage.script.call = cut_off;
	first->stage.script.data = first;
	first->stage.backend = scripted_backend_new(&first->stage.script);
	first->stage.engine = engine_new(&first->stage.setup, first->stage.backend);
	engine_set_window(first->stage.engine, &(struct engine_window){50, 20, 0, 0});
	drive(first->stage.engine, first->stage.backend, scripted_backend_wait,
	      &first->stage.result);
	preempt_stage_finish(&first->stage);
}

static void run_next(struct first *first)
{
	static const uint32_t node = 0;
	const struct sched_allocation placed = {
		.task = &(struct sched_task){.id = 0, .row = NARROW},
		.nodes_count = 1,
		.nodes = &node,
	};
	static const struct script_suspended known = {.n = 1,
						      .executed_s = 5,
						      .leaves_s = NAN,
						      .goes_on_s = NAN};
	struct preempt_stage stage;

	first->task.nodes = first->suspension.nodes = first->suspension.to_nodes = &node;
	preempt_stage_init(&stage, first->cut->scene);
	stage.script.now_s = CUT_S + 2;
	stage.backend = scripted_backend_new(&stage.script);
	stage.engine = engine_new(&stage.setup, stage.backend);
	g_assert_true(engine_restore_task(stage.engine, 0, &first->task));
	g_assert_true(engine_restore_suspension(stage.engine, &first->suspension));
	scripted_backend_adopt_suspended(stage.backend, &placed, 1, &known);
	engine_set_window(stage.engine, &first->cut->window);
	drive(stage.engine, stage.backend, scripted_backend_wait, &stage.result);
	preempt_stage_check_log(&stage, first->cut->log);
	preempt_stage_finish(&stage);
}

/* The next engine, too, resumes a task that a window let resume, unless a user forbids it. */
static void test_window_is_remembered(void)
{
	static const struct cut cuts[] = {
		{&without_nodes, {0}, {50, 20, 0, 0}, "30 resume 0.1 #1 c0 0\n"},
		{&without_nodes, {0}, {50, 20, 0, 60}, "40 resume 0.1 #1 c0 0\n"},
		{&without_nodes, {0}, {0}, "30 resume 0.1 #1 c0 0\n"},
		{&without_nodes, {15, 0, true, NULL}, {50, 20, 0, 0}, "30 resume 0.1 #1 c0 0\n"},
		{&without_nodes, {15, 0, true, NULL}, {50, 20, 0, 60}, "40 resume 0.1 #1 c0 0\n"},
		{&without_nodes, {15, 0, false, NULL}, {50, 20, 0, 0}, "100 kill 0.1\n"},
		{&without_nodes, {21, 0, false, NULL}, {50, 20, 0, 0}, "100 kill 0.1\n"},
		{&under_way, {0}, {50, 20, 0, 0}, "24 resume 0.1 #1 c0 0\n30 resume 0.1 #1 c0 0\n"},
		{&under_way,
		 {0},
		 {50, 20, 0, 60},
		 "24 resume 0.1 #1 c0 0\n40 resume 0.1 #1 c0 0\n"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cuts); i++) {
		struct first first;

		g_test_message("case %zu", i);
		run_first(&first, &cuts[i]);
		g_assert_cmpint(first.task.state, ==,
				cuts[i].scene == &under_way ? ENGINE_TASK_RESUMING
							    : ENGINE_TASK_SUSPENDED);
		run_next(&first);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/person/a task is suspended until a person says otherwise", test_person);
	g_test_add_func("/person/it is resumed at idle nodes before the policy is asked",
			test_person_waits);
	g_test_add_func("/person/a person may change their mind", test_person_in_between);
	g_test_add_func("/person/a resumption that is rolled back is tried again",
			test_person_insists);
	g_test_add_func("/person/a task that was told to resume does so after a restart",
			test_person_is_remembered);
	g_test_add_func("/policy/a policy without suspensions keeps no task suspended",
			test_another_policy);
	g_test_add_func("/policy/nor after a restart", test_another_engine);
	g_test_add_func("/person/a task that a window let resume does so after a restart",
			test_window_is_remembered);
	return g_test_run();
}
