/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One mapping loop: what happens between and at mapping events, and when things go wrong. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "controller/engine/engine.h"
#include "tests/unit/backend/scripted_backend.h"
#include "tests/unit/engine/drive.h"

/* Mapping events of all cases are every 10 s, runs last 100 s. */
#define INTERVAL_S 10
#define DURATION_S 100

/* A task of a case: full utility 4 until 60 s after its arrival, 0 at 90 s. */
struct arrival {
	double time_s;
	uint32_t row; /* 0: narrow, one node for 15 s; 1: wide, two nodes for 15 s */
};

/* A case: two nodes, what arrives, what goes wrong; the expected outcome. */
struct scene {
	const char *name;
	const char *policy;
	struct arrival arrivals[6]; /* up to the first with a negative time */
	struct script_attempt attempts[6];
	struct script_event events[4];
	bool twice;
	double watts;
	double limit_j;
	const char *log;   /* what the backend was asked */
	const char *story; /* what the recorder was told: times and kinds of events */
	enum engine_end ended_by;
	double ended_s;
	uint32_t completed, failed, dropped;
	double utility;
};

#define NO_MORE                                                                                    \
	{                                                                                          \
		-1, 0                                                                              \
	}

static const struct scene scenes[] = {
	{
		.name = "tasks start at the mapping event after their arrival",
		.policy = "max-upr",
		.arrivals = {{0, 0}, {3, 0}, NO_MORE},
		.log = "0 start 0.1 c0 0\n10 start 1.1 c0 1\n",
		.story = "",
		.ended_by = ENGINE_END_DONE,
		.ended_s = 25,
		.completed = 2,
		.utility = 8,
	},
	{
		.name = "an arrival at the time of a mapping event takes part in it",
		.policy = "max-upr",
		.arrivals = {{10, 0}, NO_MORE},
		.log = "10 start 0.1 c0 0\n",
		.story = "",
		.ended_by = ENGINE_END_DONE,
		.ended_s = 25,
		.completed = 1,
		.utility = 4,
	},
	{
		.name = "a place-holder starts between events when its time comes before the next",
		.policy = "max-upr",
		.arrivals = {{0, 1}, {8, 1}, NO_MORE},
		.log = "0 start 0.1 c0 0,1\n15 start 1.1 c0 0,1\n",
		.story = "",
		.ended_by = ENGINE_END_DONE,
		.ended_s = 30,
		.completed = 2,
		.utility = 8,
	},
	{
		.name = "a reservation keeps its nodes from a task that would fit before it only in part",
		.policy = "easy",
		.arrivals = {{0, 0}, {8, 1}, {9, 0}, NO_MORE},
		.log = "0 start 0.1 c0 0\n15 start 1.1 c0 0,1\n30 start 2.1 c0 0\n",
		.story = "",
		.ended_by = ENGINE_END_DONE,
		.ended_s = 45,
		.completed = 3,
		.utility = 12,
	},
	{
		.name = "a task that ends before the reservation of its node starts at once",
		.policy = "easy",
		.arrivals = {{0, 0}, {0, 1}, {0, 0}, NO_MORE},
		.log = "0 start 0.1 c0 0\n0 start 2.1 c0 1\n15 start 1.1 c0 0,1\n",
		.story = "",
		.ended_by = ENGINE_END_DONE,
		.ended_s = 30,
		.completed = 3,
		.utility = 12,
	},
	{
		.name = "with +reserve-now it does not, neither in the same event nor in a later one",
		.policy = "easy+reserve-now",
		.arrivals = {{0, 0}, {0, 1}, {0, 0}, NO_MORE},
		.log = "0 start 0.1 c0 0\n15 start 1.1 c0 0,1\n30 start 2.1 c0 0\n",
		.story = "",
		.ended_by = ENGINE_END_DONE,
		.ended_s = 45,
		.completed = 3,
		.utility = 12,
	},
	{
		.name = "a lost task is started again and counts once",
		.policy = "max-upr",
		.arrivals = {{0, 0}, NO_MORE},
		.attempts = {{0, 1, 5, BACKEND_OUTCOME_LOST}},
		.log = "0 start 0.1 c0 0\n10 start 0.2 c0 0\n",
		.story = "5 lost\n",
		.ended_by = ENGINE_END_DONE,
		.ended_s = 25,
		.completed = 1,
		.utility = 4,
	},
	{
		.name = "a task lost three times has failed",
		.policy = "max-upr",
		.arrivals = {{0, 0}, NO_MORE},
		.attempts = {{0, 1, 5, BACKEND_OUTCOME_LOST},
			     {0, 2, 5, BACKEND_OUTCOME_LOST},
			     {0, 3, 5, BACKEND_OUTCOME_LOST}},
		.log = "0 start 0.1 c0 0\n10 start 0.2 c0 0\n20 start 0.3 c0 0\n",
		.story = "5 lost\n15 lost\n25 lost\n",
		.ended_by = ENGINE_END_DONE,
		.ended_s = 25,
		.failed = 1,
	},
	{
		.name = "a task that fails is not started again and earns nothing",
		.policy = "max-upr",
		.arrivals = {{0, 0}, NO_MORE},
		.attempts = {{0, 1, 5, BACKEND_OUTCOME_FAILED}},
		.log = "0 start 0.1 c0 0\n",
		.story = "",
		.ended_by = ENGINE_END_DONE,
		.ended_s = 5,
		.failed = 1,
	},
	{
		.name = "what is said twice counts once",
		.policy = "max-upr",
		.arrivals = {{0, 0}, {0, 0}, {2, 1}, NO_MORE},
		.attempts = {{0, 1, 5, BACKEND_OUTCOME_LOST}},
		.twice = true,
		/* At 10 s the lost narrow task is worth more per core-second than the wide one. */
		.log = "0 start 0.1 c0 0\n0 start 1.1 c0 1\n10 start 0.2 c0 0\n"
		       "25 start 2.1 c0 0,1\n",
		.story = "5 lost\n",
		.ended_by = ENGINE_END_DONE,
		.ended_s = 40,
		.completed = 3,
		.utility = 12,
	},
	{
		.name = "what was promised the nodes of a late task slides with it",
		.policy = "easy",
		.arrivals = {{0, 0}, {2, 1}, NO_MORE},
		.attempts = {{0, 1, 33, BACKEND_OUTCOME_COMPLETED}},
		/* Due at 15 s; moved to 30 s at the event at 20 s, to 40 s at the one at 30 s. */
		.log = "0 start 0.1 c0 0\n40 start 1.1 c0 0,1\n",
		.story = "15 slid\n20 late\n20 slid\n30 slid\n40 overdue\n",
		.ended_by = ENGINE_END_DONE,
		.ended_s = 55,
		.completed = 2,
		.utility = 8,
	},
	{
		.name = "a start that comes as soon after its promise as messages take is not overdue",
		.policy = "easy",
		.arrivals = {{0, 0}, {2, 1}, NO_MORE},
		.attempts = {{0, 1, 15.0625, BACKEND_OUTCOME_COMPLETED}},
		.log = "0 start 0.1 c0 0\n15.0625 start 1.1 c0 0,1\n",
		.story = "15 slid\n",
		.ended_by = ENGINE_END_DONE,
		.ended_s = 30.0625,
		.completed = 2,
		.utility = 8,
	},
	{
		.name = "a late place-holder starts as soon as its nodes are free",
		.policy = "max-upr",
		.arrivals = {{0, 1}, {8, 1}, NO_MORE},
		.attempts = {{0, 1, 17, BACKEND_OUTCOME_COMPLETED}},
		.log = "0 start 0.1 c0 0,1\n17 start 1.1 c0 0,1\n",
		.story = "15 slid\n",
		.ended_by = ENGINE_END_DONE,
		.ended_s = 32,
		.completed = 2,
		.utility = 8,
	},
	{
		.name = "a task that ends early leaves its nodes to the next mapping event",
		.policy = "max-upr",
		.arrivals = {{0, 1}, {8, 1}, NO_MORE},
		.attempts = {{0, 1, 4, BACKEND_OUTCOME_COMPLETED}},
		.log = "0 start 0.1 c0 0,1\n10 start 1.1 c0 0,1\n",
		.story = "",
		.ended_by = ENGINE_END_DONE,
		.ended_s = 25,
		.completed = 2,
		.utility = 8,
	},
	{
		.name = "a node that goes down takes its reservation with it",
		.policy = "easy",
		.arrivals = {{0, 0}, {2, 1}, {12, 0}, NO_MORE},
		.events = {{13, BACKEND_EVENT_NODE_DOWN, 0, 1, "no answer"},
			   {41, BACKEND_EVENT_NODE_UP, 0, 1, NULL}},
		/* While the node is down the wide task can start nowhere, but narrow ones can. */
		.log = "0 start 0.1 c0 0\n20 start 2.1 c0 0\n50 start 1.1 c0 0,1\n",
		.story = "13 node-down\n13 cancelled\n41 node-up\n50 overdue\n",
		.ended_by = ENGINE_END_DONE,
		.ended_s = 65,
		.completed = 3,
		.utility = 11.6, /* the wide one completes 63 s after its arrival: 4 x 27 / 30 */
	},
	{
		.name = "a task does not wait for its reservation beside a node that came back",
		.policy = "easy",
		.arrivals = {{2, 0}, {3, 0}, NO_MORE},
		.attempts = {{0, 1, 45, BACKEND_OUTCOME_COMPLETED}},
		.events = {{1, BACKEND_EVENT_NODE_DOWN, 0, 1, "no answer"},
			   {12, BACKEND_EVENT_NODE_UP, 0, 1, NULL}},
		/* At 10 s there was one node, and the reservation is of it, from 25 s. */
		.log = "10 start 0.1 c0 0\n20 start 1.1 c0 1\n",
		.story = "1 node-down\n12 node-up\n20 cancelled\n30 late\n",
		.ended_by = ENGINE_END_DONE,
		.ended_s = 55,
		.completed = 2,
		.utility = 8,
	},
	{
		.name = "a reservation that is due before the next mapping event is kept when a node comes back",
		.policy = "easy",
		.arrivals = {{2, 0}, {3, 0}, NO_MORE},
		.events = {{1, BACKEND_EVENT_NODE_DOWN, 0, 1, "no answer"},
			   {22, BACKEND_EVENT_NODE_UP, 0, 1, NULL}},
		.log = "10 start 0.1 c0 0\n25 start 1.1 c0 0\n",
		.story = "1 node-down\n22 node-up\n",
		.ended_by = ENGINE_END_DONE,
		.ended_s = 40,
		.completed = 2,
		.utility = 8,
	},
	{
		.name = "a task that can earn nothing any more leaves",
		.policy = "max-upr",
		.arrivals = {{0, 1}, {0, 1}, NO_MORE},
		.attempts = {{0, 1, 95, BACKEND_OUTCOME_COMPLETED}},
		.log = "0 start 0.1 c0 0,1\n",
		.story = "15 slid\n20 late\n",
		.ended_by = ENGINE_END_DONE,
		.ended_s = 95,
		.completed = 1,
		.dropped = 1,
	},
	{
		.name = "the run ends at the energy limit and what runs then is killed",
		.policy = "max-upr",
		.arrivals = {{0, 0}, {12, 0}, NO_MORE},
		.watts = 2,
		.limit_j = 50,
		.log = "0 start 0.1 c0 0\n20 start 1.1 c0 0\n25 kill 1.1\n",
		.story = "25 limit\n",
		.ended_by = ENGINE_END_LIMIT,
		.ended_s = 25,
		.completed = 1,
		.utility = 4,
	},
	{
		.name = "the run ends at its duration",
		.policy = "max-upr",
		.arrivals = {{0, 0}, {85, 0}, NO_MORE},
		.log = "0 start 0.1 c0 0\n90 start 1.1 c0 0\n100 kill 1.1\n",
		.story = "",
		.ended_by = ENGINE_END_TIME,
		.ended_s = 100,
		.completed = 1,
		.utility = 4,
	},
	{
		.name = "what ended before the run did counts although it is told after",
		.policy = "max-upr",
		.arrivals = {{0, 0}, {0, 0}, NO_MORE},
		.attempts = {{0, 1, 16, BACKEND_OUTCOME_COMPLETED, true},
			     {1, 1, 16.5, BACKEND_OUTCOME_FAILED, true}},
		.watts = 2,
		.limit_j = 34,
		.log = "0 start 0.1 c0 0\n0 start 1.1 c0 1\n17 kill 0.1\n17 kill 1.1\n",
		.story = "17 limit\n",
		.ended_by = ENGINE_END_LIMIT,
		.ended_s = 17,
		.completed = 1,
		.failed = 1,
		.utility = 4,
	},
	{
		.name = "what ended or was lost around the end of the run does not count",
		.policy = "max-upr",
		.arrivals = {{0, 0}, {0, 0}, NO_MORE},
		.attempts = {{0, 1, 17.1, BACKEND_OUTCOME_COMPLETED, true},
			     {1, 1, 16.5, BACKEND_OUTCOME_LOST, true}},
		.watts = 2,
		.limit_j = 34,
		.log = "0 start 0.1 c0 0\n0 start 1.1 c0 1\n17 kill 0.1\n17 kill 1.1\n",
		.story = "17 limit\n",
		.ended_by = ENGINE_END_LIMIT,
		.ended_s = 17,
	},
	{
		.name = "a backend that gives up ends the run as aborted",
		.policy = "max-upr",
		.arrivals = {{0, 0}, {85, 0}, NO_MORE},
		.events = {{7, BACKEND_EVENT_ABORTED, 0, 0, "all meters are gone"}},
		.log = "0 start 0.1 c0 0\n7 kill 0.1\n",
		.story = "7 aborted\n",
		.ended_by = ENGINE_END_ABORTED,
		.ended_s = 7,
	},
};

static struct sched_system *make_system(void)
{
	const struct sched_cluster cluster = {.name = "c", .nodes = 2, .cores = 1, .pstates = 1};
	struct sched_system *system = sched_system_new(&cluster, 1, 2);

	for (uint32_t row = 0; row < 2; row++) {
		system->row_names[row] = row == 0 ? "narrow" : "wide";
		system->etc_s[row] = 15;
		system->eec_j[row] = 30;
		system->nodes[row] = row + 1;
	}
	g_assert_cmpint(sched_system_finish(system, NULL), ==, SCHED_SYSTEM_OK);
	return system;
}

static void fill_workload(const struct scene *scene, struct sched_task *tasks,
			  struct workload *ret_workload)
{
	uint32_t count = 0;

	for (; scene->arrivals[count].time_s >= 0; count++)
		tasks[count] = (struct sched_task){
			.id = count,
			.row = scene->arrivals[count].row,
			.arrival_s = scene->arrivals[count].time_s,
			.utility = utility_testbed(4, 60, 90),
		};
	*ret_workload = (struct workload){.trial = 1, .tasks_count = count, .tasks = tasks};
}

/* A recorder that writes a story. */
struct story {
	struct engine_recorder recorder;
	GString *text;
	int states[6];
	int fail_after; /* decisions; 0: never */
};

static bool tell_event(struct engine_recorder *recorder, double time_s, const char *kind,
		       const char *detail)
{
	g_string_append_printf(((struct story *)recorder)->text, "%g %s\n", time_s, kind);
	return true;
}

/* No task ends twice. */
static bool tell_task(struct engine_recorder *recorder, const struct engine_task *task)
{
	int *state = &((struct story *)recorder)->states[task->task->id];

	g_assert_false(engine_task_state_in(*state, ENGINE_TASK_OVER));
	*state = (int)task->state;
	return true;
}

static bool tell_decision(struct engine_recorder *recorder, const struct policy *policy,
			  const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct story *story = (struct story *)recorder;

	return story->fail_after == 0 || --story->fail_after > 0;
}

static struct engine_setup make_setup(const struct scene *scene, const struct sched_system *system,
				      const struct workload *workload, struct story *story)
{
	struct engine_setup setup = {
		.system = system,
		.workload = workload,
		.limit_j = scene->limit_j,
		.mapping_interval_s = INTERVAL_S,
		.duration_s = DURATION_S,
		.recorder = &story->recorder,
	};
	char message[256];

	*story = (struct story){
		.recorder = {.event = tell_event, .task = tell_task, .decision = tell_decision},
		.text = g_string_new(NULL),
	};
	g_assert_cmpint(policy_parse(scene->policy, &setup.policy, message, sizeof(message)), ==,
			0);
	return setup;
}

static void check_result(const struct scene *scene, const struct engine_result *result)
{
	g_assert_cmpstr(engine_end_name(result->ended_by), ==, engine_end_name(scene->ended_by));
	g_assert_cmpfloat(result->ended_s, ==, scene->ended_s);
	g_assert_cmpuint(result->tasks_completed, ==, scene->completed);
	g_assert_cmpuint(result->tasks_failed, ==, scene->failed);
	g_assert_cmpuint(result->tasks_dropped, ==, scene->dropped);
	g_assert_cmpfloat_with_epsilon(result->utility, scene->utility, 1e-9);
}

static void test_scene(const void *data)
{
	const struct scene *scene = data;
	struct sched_system *system = make_system();
	struct sched_task tasks[6];
	struct workload workload;
	struct story story;
	struct engine_result result;
	struct script script = {
		.system = system,
		.watts = scene->watts,
		.attempts = scene->attempts,
		.attempts_count = G_N_ELEMENTS(scene->attempts),
		.events = scene->events,
		.twice = scene->twice,
	};

	while (script.events_count < G_N_ELEMENTS(scene->events) &&
	       scene->events[script.events_count].kind)
		script.events_count++;
	fill_workload(scene, tasks, &workload);

	const struct engine_setup setup = make_setup(scene, system, &workload, &story);
	struct backend *backend = scripted_backend_new(&script);
	struct engine *engine = engine_new(&setup, backend);

	scripted_backend_run(backend, engine, &result);
	g_assert_cmpstr(scripted_backend_log(backend), ==, scene->log);
	g_assert_cmpstr(story.text->str, ==, scene->story);
	check_result(scene, &result);
	engine_free(engine);
	backend_destroy(backend);
	g_string_free(story.text, TRUE);
	sched_system_free(system);
}

static void test_recorder_fails(void)
{
	const struct scene *scene = &scenes[0];
	struct sched_system *system = make_system();
	struct sched_task tasks[6];
	struct workload workload;
	struct story story;
	struct engine_result result;
	const struct script script = {.system = system};

	fill_workload(scene, tasks, &workload);

	const struct engine_setup setup = make_setup(scene, system, &workload, &story);
	struct backend *backend = scripted_backend_new(&script);
	struct engine *engine = engine_new(&setup, backend);

	story.fail_after = 2;
	drive(engine, backend, scripted_backend_wait, &result);
	g_assert_cmpint(result.ended_by, ==, ENGINE_END_ABORTED);
	g_assert_cmpfloat(result.ended_s, ==, 10);
	g_assert_nonnull(strstr(engine_reason(engine), "could not be recorded"));
	/* The decision that is not on record was not carried out. */
	g_assert_cmpstr(scripted_backend_log(backend), ==, "0 start 0.1 c0 0\n10 kill 0.1\n");
	engine_free(engine);
	backend_destroy(backend);
	g_string_free(story.text, TRUE);
	sched_system_free(system);
}

static void test_names(void)
{
	g_assert_null(engine_end_name((enum engine_end)99));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(scenes); i++) {
		g_autofree char *path = g_strdup_printf("/engine/%s", scenes[i].name);

		g_test_add_data_func(path, &scenes[i], test_scene);
	}
	g_test_add_func("/engine/a record that cannot be written ends the run as aborted",
			test_recorder_fails);
	g_test_add_func("/engine/names of states and ends read back", test_names);
	return g_test_run();
}
