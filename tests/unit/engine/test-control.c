/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests of users during a run: tasks that come and go at any time, and nodes that are drained.
 */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "controller/backend/sim.h"
#include "controller/engine/engine.h"
#include "tests/unit/backend/scripted_backend.h"
#include "tests/unit/engine/drive.h"

/* Mapping events are every 10 s, unless the policy is asked at changes; runs last 100 s. */
#define INTERVAL_S 10
#define DURATION_S 100
#define TASKS_MAX 8

/*
 * A narrow task takes one of the two nodes for 15 s, a wide one both; a long one a node for 200 s.
 */
enum { NARROW, WIDE, LONG };

enum deed {
	SUBMIT,
	SUBMIT_HELD,
	SUBMIT_FIRST,
	SUBMIT_LAST,
	CANCEL,
	HOLD,
	RELEASE,
	SUSPEND,
	RESUME,
	DRAIN,
	DRAIN_LONGER,
	UNDRAIN,
	WHY,
	EASY
};

/* What a person does. */
struct wish {
	double time_s;
	enum deed deed;
	uint32_t of;        /* task, node, the row of what is submitted, or a mapping interval */
	const char *answer; /* NULL: none, or of what is submitted that there is no room */
};

struct scene {
	const char *name;
	const char *policy;
	double now_s; /* continues then, with the narrow tasks of test_restored() */
	bool at_changes;
	bool deaf;              /* the backend does not kill */
	bool told;              /* the story has the details of events */
	struct wish wishes[13]; /* up to the first at time 0 */
	struct script_attempt attempts[2];
	struct script_step steps[2];
	struct script_event events[7];
	const char *log;   /* what the backend was asked */
	const char *story; /* times and kinds of events, with `told` their details */
	uint32_t completed, failed;
};

static const struct scene scenes[] = {
	{
		.name = "a task that is submitted starts at the next mapping event",
		.policy = "max-upr",
		.wishes = {{3, SUBMIT, NARROW, ""},
			   {12, SUBMIT, NARROW, ""},
			   {40, SUBMIT, WIDE, ""}},
		.log = "10 start 0.1 c0 0\n20 start 1.1 c0 1\n40 start 2.1 c0 0,1\n",
		.completed = 3,
	},
	{
		.name = "at once where the policy is asked at changes",
		.policy = "max-upr",
		.at_changes = true,
		.wishes = {{3, SUBMIT, NARROW, ""}, {12, SUBMIT, WIDE, ""}},
		.log = "3 start 0.1 c0 0\n18 start 1.1 c0 0,1\n",
		.completed = 2,
	},
	{
		.name = "another policy decides from the next mapping event on, which may be another one",
		.policy = "max-upr",
		.wishes = {{3, SUBMIT, NARROW, ""},
			   {5, EASY, 4, NULL},
			   {9, SUBMIT, NARROW, ""},
			   {33, EASY, 50, NULL},
			   {34, SUBMIT, WIDE, ""},
			   {35, EASY, 50, NULL}},
		.log = "8 start 0.1 c0 0\n12 start 1.1 c0 1\n50 start 2.1 c0 0,1\n",
		.completed = 3,
	},
	{
		.name = "another policy is asked at once where it is asked at changes",
		.policy = "max-upr",
		.at_changes = true,
		.wishes = {{3, SUBMIT, NARROW, ""}, {5, EASY, 4, NULL}, {9, SUBMIT, NARROW, ""}},
		.log = "3 start 0.1 c0 0\n9 start 1.1 c0 1\n",
		.completed = 2,
	},
	{
		.name = "a submission beyond the limit is refused",
		.policy = "max-upr",
		.wishes = {{1, SUBMIT, NARROW, ""},
			   {1, SUBMIT, NARROW, ""},
			   {1, SUBMIT, NARROW, ""},
			   {1, SUBMIT, NARROW, ""},
			   {1, SUBMIT, NARROW, ""},
			   {1, SUBMIT, NARROW, ""},
			   {1, SUBMIT, NARROW, ""},
			   {1, SUBMIT, NARROW, ""},
			   {1, SUBMIT, NARROW, NULL}},
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n25 start 2.1 c0 0\n"
		       "25 start 3.1 c0 1\n40 start 4.1 c0 0\n40 start 5.1 c0 1\n"
		       "55 start 6.1 c0 0\n55 start 7.1 c0 1\n",
		.completed = 8,
	},
	{
		.name = "of those that wait the highest priority starts first, whenever it came",
		.policy = "fcfs",
		.wishes = {{3, SUBMIT_LAST, NARROW, ""},
			   {4, SUBMIT, NARROW, ""},
			   {5, SUBMIT_FIRST, NARROW, ""},
			   {6, SUBMIT, NARROW, ""}},
		.log = "10 start 2.1 c0 0\n10 start 1.1 c0 1\n25 start 3.1 c0 0\n30 start 0.1 c0 1\n",
		.completed = 4,
	},
	{
		.name = "what was reserved before it came stays reserved",
		.policy = "easy",
		.at_changes = true,
		.wishes = {{3, SUBMIT, WIDE, ""},
			   {4, SUBMIT, WIDE, ""},
			   {5, SUBMIT, WIDE, ""},
			   {6, SUBMIT_FIRST, WIDE, ""}},
		.log = "3 start 0.1 c0 0,1\n18 start 1.1 c0 0,1\n33 start 3.1 c0 0,1\n"
		       "48 start 2.1 c0 0,1\n",
		.completed = 4,
	},
	{
		.name = "policies that rank by worth go by priority where that is the same",
		.policy = "max-upr",
		.wishes = {{3, SUBMIT, NARROW, ""},
			   {4, SUBMIT, NARROW, ""},
			   {5, SUBMIT_FIRST, NARROW, ""}},
		.log = "10 start 2.1 c0 0\n10 start 0.1 c0 1\n25 start 1.1 c0 0\n",
		.completed = 3,
	},
	{
		.name = "a held task starts when it is released",
		.policy = "max-upr",
		.wishes = {{3, SUBMIT_HELD, NARROW, ""},
			   {4, SUBMIT, NARROW, ""},
			   {5, HOLD, 0, NULL},
			   {12, WHY, 0, "a user holds it"},
			   {23, RELEASE, 0, NULL},
			   {24, RELEASE, 0, "it is not held; it waits to be started"},
			   {31, HOLD, 0, "it does not wait any more; suspend it instead"},
			   {32, RELEASE, 0, "it is not held; it does not wait any more"},
			   {50, HOLD, 0, "it has ended"},
			   {51, RELEASE, 0, "it has ended"},
			   {52, HOLD, 7, "there is no such task"},
			   {53, RELEASE, 7, "there is no such task"}},
		.log = "10 start 1.1 c0 0\n30 start 0.1 c0 0\n",
		.story = "23 released\n",
		.completed = 2,
	},
	{
		.name = "a released task starts at once where the policy is asked at changes",
		.policy = "max-upr",
		.at_changes = true,
		.wishes = {{3, SUBMIT_HELD, NARROW, ""}, {23, RELEASE, 0, NULL}},
		.log = "23 start 0.1 c0 0\n",
		.story = "23 released\n",
		.completed = 1,
	},
	{
		.name = "what a held task was reserved is free for others",
		.policy = "conservative",
		.wishes = {{3, SUBMIT, WIDE, ""},
			   {12, SUBMIT, WIDE, ""},
			   {13, SUBMIT, WIDE, ""},
			   {21, WHY, 1, "its nodes are reserved from 4 s from now on"},
			   {22, HOLD, 1, NULL},
			   {41, RELEASE, 1, NULL}},
		.log = "10 start 0.1 c0 0,1\n40 start 2.1 c0 0,1\n55 start 1.1 c0 0,1\n",
		.story = "22 held\n41 released\n",
		.completed = 3,
	},
	{
		.name = "a waiting task is cancelled at once, whatever it was promised",
		.policy = "conservative",
		.wishes = {{3, SUBMIT, WIDE, ""},
			   {4, SUBMIT, WIDE, ""},
			   {5, SUBMIT, WIDE, ""},
			   {5, SUBMIT_HELD, WIDE, ""},
			   {6, CANCEL, 2, NULL},
			   {12, CANCEL, 1, NULL},
			   {13, CANCEL, 3, NULL},
			   {14, CANCEL, 3, "it has ended"},
			   {15, CANCEL, 4, "there is no such task"},
			   {16, HOLD, 1, "it has ended"}},
		.log = "10 start 0.1 c0 0,1\n",
		.story = "6 cancel\n12 cancel\n13 cancel\n",
		.completed = 1,
		.failed = 3,
	},
	{
		.name = "a place-holder goes with its task",
		.policy = "max-upr",
		.wishes =
			{{3, SUBMIT, WIDE, ""},
			 {4, SUBMIT, WIDE, ""},
			 {16, WHY, 1,
			  "its nodes are held for it from 9 s from now on, unless the next mapping "
			  "event decides otherwise"},
			 {18, CANCEL, 1, NULL},
			 {30, SUBMIT, NARROW, ""}},
		.log = "10 start 0.1 c0 0,1\n30 start 2.1 c0 0\n",
		.story = "18 cancel\n",
		.completed = 2,
		.failed = 1,
	},
	{
		.name = "a running task is killed, and is KILLED when it has ended",
		.policy = "max-upr",
		.wishes = {{3, SUBMIT, LONG, ""},
			   {4, SUBMIT, LONG, ""},
			   {15, CANCEL, 0, NULL},
			   {40, SUSPEND, 1, NULL},
			   {50, CANCEL, 1, NULL}},
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n15 kill 0.1\n40 suspend 1.1 #1\n"
		       "50 kill 1.1\n",
		.story = "15 cancel\n40 suspend\n50 cancel\n",
		.failed = 2,
	},
	{
		.name = "a task that is cancelled and lost is not started again",
		.policy = "max-upr",
		.deaf = true,
		.attempts = {{0, 1, 20, BACKEND_OUTCOME_LOST, false},
			     {1, 1, 20, BACKEND_OUTCOME_COMPLETED, false}},
		.wishes = {{3, SUBMIT, LONG, ""},
			   {4, SUBMIT, LONG, ""},
			   {15, CANCEL, 0, NULL},
			   {16, CANCEL, 0, NULL},
			   {16, CANCEL, 1, NULL}},
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n15 kill 0.1\n16 kill 0.1\n16 kill 1.1\n",
		.story = "15 cancel\n16 cancel\n30 lost\n",
		.completed = 1, /* it was over before */
		.failed = 1,
	},
	{
		.name = "a task that completes before it is killed at the end counts",
		.deaf = true,
		.policy = "max-upr",
		.attempts = {{0, 1, 91, BACKEND_OUTCOME_COMPLETED, true}},
		.wishes = {{3, SUBMIT, LONG, ""}},
		.log = "10 start 0.1 c0 0\n100 kill 0.1\n",
		.story = "",
		.completed = 1,
	},
	{
		.name = "nothing new starts on a drained node",
		.policy = "max-upr",
		.wishes = {{3, SUBMIT, NARROW, ""},
			   {12, DRAIN, 0, NULL},
			   {13, SUBMIT, NARROW, ""},
			   {14, SUBMIT, NARROW, ""},
			   {15, SUBMIT, WIDE, ""},
			   {21, WHY, 3, "fits nowhere while nodes are down or drained"},
			   {36, WHY, 2, NULL},
			   {37, DRAIN, 0, NULL},
			   {38, DRAIN, 2, "there is no such node"},
			   {61, UNDRAIN, 0, NULL},
			   {62, UNDRAIN, 0, NULL}},
		.log = "10 start 0.1 c0 0\n20 start 1.1 c0 1\n35 start 2.1 c0 1\n70 start 3.1 c0 0,1\n",
		.story = "12 drained\n61 undrained\n",
		.completed = 4,
	},
	{
		.name = "a reservation of a drained node is taken back",
		.policy = "conservative",
		.at_changes = true,
		.wishes = {{3, SUBMIT, WIDE, ""},
			   {4, SUBMIT, NARROW, ""},
			   {5, DRAIN, 0, NULL},
			   {40, UNDRAIN, 0, NULL}},
		.log = "3 start 0.1 c0 0,1\n18 start 1.1 c0 1\n",
		.story = "5 drained\n5 cancelled\n40 undrained\n",
		.completed = 2,
	},
	{
		.name = "a node takes tasks again when it is up and not drained",
		.policy = "max-upr",
		.at_changes = true,
		.events = {{10, BACKEND_EVENT_NODE_DOWN, 0, 1, NULL},
			   {30, BACKEND_EVENT_NODE_UP, 0, 1, NULL}},
		.wishes = {{5, DRAIN, 1, NULL},
			   {7, SUBMIT, WIDE, ""},
			   {20, UNDRAIN, 1, NULL},
			   {25, WHY, 0, "fits nowhere while nodes are down or drained"},
			   {50, DRAIN, 1, NULL},
			   {60, SUBMIT, WIDE, ""},
			   {70, UNDRAIN, 1, NULL}},
		.log = "30 start 0.1 c0 0,1\n70 start 1.1 c0 0,1\n",
		.story =
			"5 drained\n10 node-down\n20 undrained\n30 node-up\n50 drained\n70 undrained\n",
		.completed = 2,
	},
	{
		.name = "reports and requests that change nothing about a node have no effect",
		.policy = "max-upr",
		.told = true,
		.events = {{1, BACKEND_EVENT_NODE_UP, 0, 1, NULL},
			   {3, BACKEND_EVENT_NODE_DOWN, 0, 1, "no answer"},
			   {4, BACKEND_EVENT_NODE_DOWN, 0, 1, "no answer"},
			   {7, BACKEND_EVENT_NODE_DOWN, 0, 1, "no answer"},
			   {9, BACKEND_EVENT_NODE_UP, 0, 1, NULL},
			   {10, BACKEND_EVENT_NODE_UP, 0, 1, NULL}},
		.wishes = {{2, UNDRAIN, 1, NULL},
			   {5, UNDRAIN, 1, NULL},
			   {6, DRAIN, 1, NULL},
			   {8, DRAIN_LONGER, 1, NULL},
			   {11, DRAIN, 1, NULL},
			   {12, UNDRAIN, 1, NULL},
			   {12, SUBMIT, WIDE, ""}},
		.log = "20 start 0.1 c0 0,1\n",
		.story =
			"3 node-down {\"cluster\":\"c\",\"node\":1,\"reason\":\"no answer\"}\n"
			"6 drained {\"cluster\":\"c\",\"node\":1,\"reason\":\"to be cleaned\",\"user\":\"ann\"}\n"
			"8 drained {\"cluster\":\"c\",\"node\":1,\"reason\":\"to be replaced\",\"user\":\"ann\"}\n"
			"9 node-up {\"cluster\":\"c\",\"node\":1}\n"
			"11 drained {\"cluster\":\"c\",\"node\":1,\"reason\":\"to be cleaned\",\"user\":\"ann\"}\n"
			"12 undrained {\"cluster\":\"c\",\"node\":1,\"user\":\"ann\"}\n"
			"35 ended {\"attempt\":1,\"state\":\"completed\",\"task\":0}\n",
		.completed = 1,
	},
	{
		.name = "a task that a person resumes continues when its node is no longer drained",
		.policy = "max-upr",
		.wishes = {{3, SUBMIT, WIDE, ""},
			   {12, SUSPEND, 0, NULL},
			   {13, DRAIN, 1, NULL},
			   {14, WHY, 0, "a user suspended it"},
			   {14, HOLD, 0, "it is suspended; suspend it again to hold it"},
			   {15, RELEASE, 0, "it is suspended; resume it instead"},
			   {16, RESUME, 0, NULL},
			   {34, UNDRAIN, 1, NULL}},
		.log = "10 start 0.1 c0 0,1\n12 suspend 0.1 #1\n34 resume 0.1 #1 c0 0,1\n",
		.story = "12 suspend\n13 drained\n16 resume\n34 undrained\n",
		.completed = 1,
	},
	{
		.name = "a task waits for nodes, and is passed over where they are kept for others",
		.policy = "easy",
		.wishes =
			{{3, SUBMIT, NARROW, ""},
			 {4, SUBMIT, WIDE, ""},
			 {5, SUBMIT, LONG, ""},
			 {9, WHY, 0, "the next mapping event decides"},
			 {11, WHY, 1, "its nodes are reserved from 14 s from now on"},
			 {12, WHY, 2,
			  "passed over by the policy: others go first, or it is not worth its energy"},
			 {13, WHY, 0, NULL},
			 {26, WHY, 2, "no idle nodes"},
			 {30, CANCEL, 2, NULL}},
		.log = "10 start 0.1 c0 0\n25 start 1.1 c0 0,1\n",
		.story = "30 cancel\n",
		.completed = 2,
		.failed = 1,
	},
	{
		.name = "the events say how each task ended, and which user asked for what",
		.policy = "max-upr",
		.told = true,
		.attempts = {{0, 1, 20, BACKEND_OUTCOME_FAILED, false}},
		.wishes = {{3, SUBMIT, NARROW, ""},
			   {4, SUBMIT, LONG, ""},
			   {5, SUBMIT_HELD, WIDE, ""},
			   {6, CANCEL, 2, NULL},
			   {31, DRAIN, 0, NULL},
			   {32, UNDRAIN, 0, NULL},
			   {40, SUSPEND, 1, NULL},
			   {60, RESUME, 1, NULL},
			   {61, SUBMIT, NARROW, ""},
			   {100, CANCEL, 1, NULL}},
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n40 suspend 1.1 #1\n60 resume 1.1 #1 c0 0\n"
		       "70 start 3.1 c0 1\n100 kill 1.1\n",
		.story =
			"6 cancel {\"attempt\":0,\"task\":2,\"user\":\"ann\"}\n"
			"6 ended {\"attempt\":0,\"reason\":\"a user cancelled it\",\"state\":\"killed\","
			"\"task\":2}\n"
			"30 ended {\"attempt\":1,\"reason\":\"bad luck\",\"state\":\"failed\",\"task\":0}\n"
			"31 drained {\"cluster\":\"c\",\"node\":0,\"reason\":\"to be cleaned\","
			"\"user\":\"ann\"}\n"
			"32 undrained {\"cluster\":\"c\",\"node\":0,\"user\":\"ann\"}\n"
			"40 suspend {\"attempt\":1,\"task\":1,\"user\":\"ann\"}\n"
			"40 suspended {\"attempt\":1,\"task\":1}\n"
			"60 resume {\"attempt\":1,\"task\":1,\"user\":\"ann\"}\n"
			"60 resumed {\"attempt\":1,\"task\":1}\n"
			"85 ended {\"attempt\":1,\"state\":\"completed\",\"task\":3}\n"
			"100 cancel {\"attempt\":1,\"task\":1,\"user\":\"ann\"}\n"
			"100 ended {\"attempt\":1,\"state\":\"killed\",\"task\":1}\n",
		.completed = 1,
		.failed = 3,
	},
};

/* A recorder that writes a story. */
struct stage {
	const struct scene *scene;
	struct sched_system *system;
	struct workload *workload;
	struct engine_recorder recorder;
	struct engine_setup setup;
	struct script script;
	double calls_s[G_N_ELEMENTS(((struct scene *)NULL)->wishes)];
	const struct wish *wish;
	struct backend *backend;
	struct engine *engine;
	struct engine_result result;
	GString *story;
	enum engine_task_state states[TASKS_MAX];
};

static bool tell_event(struct engine_recorder *recorder, double time_s, const char *kind,
		       const char *detail)
{
	struct stage *stage = (struct stage *)((char *)recorder - offsetof(struct stage, recorder));

	g_string_append_printf(stage->story, stage->scene->told ? "%g %s %s\n" : "%g %s\n", time_s,
			       kind, detail);
	return true;
}

/* No task ends twice. */
static bool tell_task(struct engine_recorder *recorder, const struct engine_task *task)
{
	struct stage *stage = (struct stage *)((char *)recorder - offsetof(struct stage, recorder));
	enum engine_task_state *state = &stage->states[task->task->id];

	g_assert_false(engine_task_state_in(*state, ENGINE_TASK_OVER));
	*state = task->state;
	return true;
}

static struct sched_system *make_system(void)
{
	static const struct sched_cluster cluster = {.name = "c",
						     .nodes = 2,
						     .cores = 1,
						     .pstates = 1};
	static const char *const names[] = {"narrow", "wide", "long"};
	struct sched_system *system = sched_system_new(&cluster, 1, G_N_ELEMENTS(names));

	for (uint32_t row = 0; row < G_N_ELEMENTS(names); row++) {
		system->row_names[row] = names[row];
		system->etc_s[row] = row == LONG ? 200 : 15;
		system->eec_j[row] = 30;
		system->nodes[row] = row == WIDE ? 2 : 1;
	}
	g_assert_cmpint(sched_system_finish(system, NULL), ==, SCHED_SYSTEM_OK);
	return system;
}

static const char *submit(struct stage *stage, const struct wish *wish)
{
	const struct sched_task task = {
		.row = wish->of,
		.utility = utility_testbed(4, 900, 1000),
		.preemptible = true,
		.priority = wish->deed == SUBMIT_FIRST  ? 5
			    : wish->deed == SUBMIT_LAST ? -5
							: 0,
	};
	const uint32_t count = engine_tasks_count(stage->engine);
	const uint32_t index = engine_submit(stage->engine, &task, wish->deed == SUBMIT_HELD);

	if (index == UINT32_MAX)
		return NULL;
	g_assert_cmpuint(index, ==, count);
	g_assert_cmpuint(engine_tasks_count(stage->engine), ==, count + 1);
	g_assert_cmpfloat(engine_task_at(stage->engine, index)->task->arrival_s, ==,
			  backend_now_s(stage->backend));
	g_assert_cmpint(engine_task_at(stage->engine, index)->state, ==, ENGINE_TASK_WAITING);
	engine_flush(stage->engine);
	return "";
}

static const char *change_policy(struct stage *stage, double mapping_interval_s)
{
	struct policy easy;
	char message[256];

	g_assert_cmpint(policy_parse("easy", &easy, message, sizeof(message)), ==, 0);
	engine_request_policy(stage->engine, &easy, mapping_interval_s);
	return NULL;
}

static const char *carry_out(struct stage *stage, const struct wish *wish)
{
	struct engine *engine = stage->engine;

	switch (wish->deed) {
	case SUBMIT:
	case SUBMIT_HELD:
	case SUBMIT_FIRST:
	case SUBMIT_LAST:
		return submit(stage, wish);
	case CANCEL:
		return engine_refusal_text(engine_request_cancel(engine, wish->of));
	case HOLD:
		return engine_refusal_text(engine_request_hold(engine, wish->of));
	case RELEASE:
		return engine_refusal_text(engine_request_release(engine, wish->of));
	case SUSPEND:
		return engine_refusal_text(engine_request_suspend(engine, wish->of));
	case RESUME:
		return engine_refusal_text(engine_request_resume(engine, wish->of));
	case DRAIN:
		return engine_refusal_text(
			engine_request_drain(engine, 0, wish->of, "to be cleaned"));
	case DRAIN_LONGER:
		return engine_refusal_text(
			engine_request_drain(engine, 0, wish->of, "to be replaced"));
	case UNDRAIN:
		return engine_refusal_text(engine_request_undrain(engine, 0, wish->of));
	case EASY:
		return change_policy(stage, wish->of);
	case WHY:
		return engine_waits_because(engine, wish->of);
	}
	return NULL;
}

static void call(double time_s, void *data)
{
	struct stage *stage = data;
	const struct wish *wish = stage->wish++;
	const char *answer;

	g_assert_cmpfloat(time_s, ==, wish->time_s);
	engine_set_asker(stage->engine, stage->scene->told ? "ann" : NULL);
	answer = carry_out(stage, wish);
	if (g_strcmp0(answer, wish->answer) != 0)
		g_test_message("at %g s", time_s);
	g_assert_cmpstr(answer, ==, wish->answer);
}

static uint32_t count_calls(struct stage *stage)
{
	uint32_t count = 0;

	for (; count < G_N_ELEMENTS(stage->calls_s) && stage->scene->wishes[count].time_s > 0;
	     count++)
		stage->calls_s[count] = stage->scene->wishes[count].time_s;
	return count;
}

static void stage_init(struct stage *stage, const struct scene *scene)
{
	char message[256];

	*stage = (struct stage){.scene = scene, .wish = scene->wishes};
	stage->system = make_system();
	stage->workload = workload_open_new(TASKS_MAX);
	for (uint32_t i = 0; scene->now_s > 0 && i < 4; i++) {
		stage->workload->tasks[i] =
			(struct sched_task){.id = i,
					    .arrival_s = i,
					    .utility = utility_testbed(4, 900, 1000)};
		stage->workload->tasks_count++;
	}
	stage->recorder = (struct engine_recorder){.event = tell_event, .task = tell_task};
	stage->story = g_string_new(NULL);
	stage->setup = (struct engine_setup){
		.system = stage->system,
		.workload = stage->workload,
		.open = stage->workload,
		.mapping_interval_s = INTERVAL_S,
		.moments = scene->at_changes ? POLICY_AT_CHANGES : POLICY_AT_PERIODS,
		.duration_s = DURATION_S,
		.recorder = &stage->recorder,
		.record_steps = scene->told,
	};
	g_assert_cmpint(policy_parse(scene->policy, &stage->setup.policy, message, sizeof(message)),
			==, 0);
	stage->script = (struct script){
		.system = stage->system,
		.now_s = scene->now_s,
		.attempts = scene->attempts,
		.attempts_count = G_N_ELEMENTS(scene->attempts),
		.steps = scene->steps,
		.steps_count = G_N_ELEMENTS(scene->steps),
		.events = scene->events,
		.calls_s = stage->calls_s,
		.calls_count = count_calls(stage),
		.kills = !scene->deaf,
		.call = call,
		.data = stage,
	};
	while (stage->script.events_count < G_N_ELEMENTS(scene->events) &&
	       scene->events[stage->script.events_count].kind)
		stage->script.events_count++;
	stage->backend = scripted_backend_new(&stage->script);
	stage->engine = engine_new(&stage->setup, stage->backend);
}

static void stage_finish(struct stage *stage)
{
	engine_free(stage->engine);
	backend_destroy(stage->backend);
	g_string_free(stage->story, TRUE);
	workload_free(stage->workload);
	sched_system_free(stage->system);
}

/* What was earned is that of all completed tasks, by time; the first `count` sums are known. */
static void check_earnings(const struct stage *stage, uint32_t count, const double *sums)
{
	const struct engine_utility_change *earnings;
	uint32_t found;
	double sum = 0;

	earnings = engine_utility_log(stage->engine, &found);
	g_assert_cmpuint(found, ==, stage->result.tasks_completed);
	for (uint32_t i = 0; i < found; i++) {
		sum += earnings[i].utility;
		g_assert_cmpfloat(earnings[i].sum, ==, sum);
		g_assert_true(i == 0 || earnings[i].time_s >= earnings[i - 1].time_s);
		g_assert_true(i >= count || earnings[i].sum == sums[i]);
	}
	g_assert_cmpfloat_with_epsilon(sum, stage->result.utility, 1e-9);
}

static void test_scene(const void *data)
{
	const struct scene *scene = data;
	struct stage stage;

	stage_init(&stage, scene);
	scripted_backend_run(stage.backend, stage.engine, &stage.result);
	g_assert_cmpstr(scripted_backend_log(stage.backend), ==, scene->log);
	g_assert_cmpstr(stage.story->str, ==, scene->story ? scene->story : "");
	g_assert_cmpint(stage.result.ended_by, ==, ENGINE_END_TIME); /* it may always get more */
	g_assert_cmpfloat(stage.result.ended_s, ==, DURATION_S);
	g_assert_cmpuint(stage.result.tasks_completed, ==, scene->completed);
	g_assert_cmpuint(stage.result.tasks_failed, ==, scene->failed);
	g_assert_cmpuint(stage.result.tasks_arrived, ==, engine_tasks_count(stage.engine));
	check_earnings(&stage, 0, NULL);
	stage_finish(&stage);
}

/*
 * Tasks that ended are restored by number; what they earned is by time, and what is earned later
 * follows.
 */
static void test_earned(void)
{
	static const struct scene scene = {
		.policy = "max-upr",
		.now_s = 50,
		.wishes = {{61, SUBMIT, NARROW, ""}},
	};
	static const double ended_s[] = {41, 12, 33};
	struct stage stage;

	stage_init(&stage, &scene);
	for (uint32_t i = 0; i < G_N_ELEMENTS(ended_s); i++) {
		const struct engine_task ended = {
			.state = ENGINE_TASK_COMPLETED,
			.ended_s = ended_s[i],
			.utility = i + 1,
		};

		g_assert_true(engine_restore_task(stage.engine, i, &ended));
	}
	drive(stage.engine, stage.backend, scripted_backend_wait, &stage.result);
	check_earnings(&stage, 3, (const double[]){2, 5, 6});
	stage_finish(&stage);
}

/* The reason of a task's end stays known, also if the task ended before a restart. */
static void test_reasons(void)
{
	static const struct scene scene = {
		.policy = "max-upr",
		.now_s = 50,
		.attempts = {{2, 1, 5, BACKEND_OUTCOME_FAILED, false}},
		.wishes = {{61, CANCEL, 1, NULL}},
	};
	static const char *const reasons[] = {"a rank died", "a user cancelled it", "bad luck",
					      NULL};
	const struct engine_task waiting = {.state = ENGINE_TASK_WAITING, .ended_s = NAN};
	char told[] = "a rank died";
	const struct engine_task failed = {.state = ENGINE_TASK_FAILED,
					   .ended_s = 12,
					   .reason = told};
	struct stage stage;

	stage_init(&stage, &scene);
	g_assert_true(engine_restore_task(stage.engine, 0, &failed));
	memset(told, '?', sizeof(told));
	g_assert_true(engine_restore_task(stage.engine, 1, &waiting));
	g_assert_true(engine_restore_held(stage.engine, 1));
	drive(stage.engine, stage.backend, scripted_backend_wait, &stage.result);
	for (uint32_t i = 0; i < G_N_ELEMENTS(reasons); i++)
		g_assert_cmpstr(engine_task_at(stage.engine, i)->reason, ==, reasons[i]);
	g_assert_cmpint(engine_task_at(stage.engine, 3)->state, ==, ENGINE_TASK_COMPLETED);
	stage_finish(&stage);
}

/*
 * A waiting task was held, another one submitted so; a running task was cancelled, a node drained.
 */
static void test_restored(void)
{
	static const struct scene scene = {
		.policy = "max-upr",
		.now_s = 50,
		.wishes = {{51, WHY, 0, "a user holds it"},
			   {52, WHY, 3, "a user holds it"},
			   {61, RELEASE, 0, NULL},
			   {68, UNDRAIN, 1, NULL},
			   {71, RELEASE, 3, NULL}},
	};
	static const uint32_t node = 0;
	const struct engine_task waiting = {.state = ENGINE_TASK_WAITING, .ended_s = NAN};
	const struct engine_task running = {
		.state = ENGINE_TASK_RUNNING,
		.nodes_count = 1,
		.nodes = &node,
		.attempts = 1,
		.planned_start_s = 40,
		.started_s = 40,
		.ended_s = NAN,
	};
	const struct sched_allocation placed = {
		.task = &(struct sched_task){.id = 1, .row = NARROW},
		.nodes_count = 1,
		.nodes = &node,
	};
	struct stage stage;

	stage_init(&stage, &scene);
	g_assert_true(engine_restore_task(stage.engine, 0, &waiting));
	g_assert_true(engine_restore_task(stage.engine, 1, &running));
	g_assert_true(engine_restore_task(stage.engine, 2, &waiting));
	g_assert_true(engine_restore_held(stage.engine, 0));
	g_assert_true(engine_restore_held(stage.engine, 3)); /* submitted, but not yet on record */
	g_assert_false(engine_restore_held(stage.engine, 4));
	g_assert_true(engine_restore_cancelled(stage.engine, 1));
	g_assert_false(engine_restore_cancelled(stage.engine, 4));
	g_assert_true(engine_restore_drained(stage.engine, 0, 1, "for a year"));
	g_assert_false(engine_restore_drained(stage.engine, 0, 2, NULL));
	g_assert_cmpstr(engine_node_at(stage.engine, 0, 1).reason, ==, "for a year");
	g_assert_true(engine_drained(stage.engine, 0, 1) &&
		      !node_state_is_down(engine_node_at(stage.engine, 0, 1).state));
	g_assert_cmpuint(engine_node_at(stage.engine, 0, 0).task, ==, 1);
	scripted_backend_adopt(stage.backend, &placed, 1, 40);
	drive(stage.engine, stage.backend, scripted_backend_wait, &stage.result);
	g_assert_cmpstr(scripted_backend_log(stage.backend), ==,
			"50 kill 1.1\n50 start 2.1 c0 0\n70 start 0.1 c0 0\n80 start 3.1 c0 1\n");
	g_assert_cmpuint(stage.result.tasks_completed, ==, 3);
	g_assert_cmpuint(stage.result.tasks_failed, ==, 1);
	g_assert_cmpuint(stage.result.tasks_arrived, ==, 4);
	g_assert_cmpint(engine_task_at(stage.engine, 1)->state, ==, ENGINE_TASK_KILLED);
	stage_finish(&stage);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(scenes); i++) {
		g_autofree char *path = g_strconcat("/engine/people/", scenes[i].name, NULL);

		g_test_add_data_func(path, &scenes[i], test_scene);
	}
	g_test_add_func("/engine/people/what was asked for outlives the controller", test_restored);
	g_test_add_func("/engine/people/what was earned is by time", test_earned);
	g_test_add_func("/engine/people/why a task ended as it did is known ever after",
			test_reasons);
	return g_test_run();
}
