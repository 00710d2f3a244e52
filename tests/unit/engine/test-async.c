/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A policy that decides on a thread of its own. What people do meanwhile is done while the policy stands
 * still in the midst of its decision, so that it always comes before the plan is carried out.
 */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "common/handoff.h"
#include "controller/engine/mapping.h"
#include "controller/engine/state.h"
#include "controller/sched/mapping.h"
#include "tests/unit/backend/scripted_backend.h"

#define DURATION_S 100
#define TASKS_MAX 8

/* A narrow task takes one of the two nodes for 15 s, a wide one both; an urgent one is narrow and dear. */
enum { NARROW, WIDE, URGENT };

enum deed {
	NOTHING, SUBMIT, CANCEL, HOLD, SUSPEND, RESUME_AND_CANCEL, MIGRATE, DRAIN, FCFS, EASY, SPOIL, LOOK, LOOK_PROMISED
};

/* Tasks are submitted at 10 s; what is done while the nth decision is made. */
struct scene {
	const char *name;
	const char *policy;
	bool preempts;    /* it makes no promises; tasks may take the nodes of others */
	uint32_t rows[4]; /* of the tasks, + 1 */
	double late_s;    /* how long task 0 executes, if not for 15 s */
	double leaves_s;  /* how long it takes to leave its nodes when it is suspended */
	bool unmoved;     /* migrations fail */
	struct script_step step; /* a step that is rolled back; `after_s` 0: none */
	struct {
		enum deed deed;
		uint32_t of; /* task, node or row */
	} deeds[4];
	struct {
		double time_s;
		enum deed deed;
		uint32_t of;
	} later[4];       /* while nothing is decided */
	uint32_t at_once; /* actions of a plan; 0: all */
	struct {
		enum deed deed;
		uint32_t of;
	} between; /* the first two parts of the first plan that has some */
	const char *log;       /* what the backend was asked */
	const char *overtaken; /* tasks of the plan that were left out */
	const char *slid;      /* tasks whose promises slid, and "c" and those whose were taken back */
	const char *deciders;  /* policies on record, in order */
	const char *aborts;    /* why the run ends, if it does */
	uint32_t completed;
};

static const struct scene scenes[] = {
	{
		.name = "what it decides is done",
		.policy = "max-upr",
		.rows = { NARROW + 1, NARROW + 1, WIDE + 1 },
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n25 start 2.1 c0 0,1\n",
		.completed = 3,
	},
	{
		.name = "what came meanwhile is for the next decision",
		.policy = "max-upr",
		.rows = { NARROW + 1 },
		.deeds = { { SUBMIT, NARROW } },
		.log = "10 start 0.1 c0 0\n11 start 1.1 c0 1\n",
		.completed = 2,
	},
	{
		.name = "a task that is held meanwhile does not start",
		.policy = "max-upr",
		.rows = { NARROW + 1, NARROW + 1 },
		.deeds = { { HOLD, 0 } },
		.log = "10 start 1.1 c0 1\n",
		.overtaken = "0 ",
		.completed = 1,
	},
	{
		.name = "a task that is cancelled meanwhile does not start",
		.policy = "max-upr",
		.rows = { NARROW + 1, NARROW + 1, NARROW + 1 },
		.deeds = { { CANCEL, 1 } },
		.log = "10 start 0.1 c0 0\n11 start 2.1 c0 1\n",
		.overtaken = "1 ",
		.completed = 2,
	},
	{
		.name = "on a node that is drained meanwhile nothing starts",
		.policy = "max-upr",
		.rows = { NARROW + 1, NARROW + 1 },
		.deeds = { { DRAIN, 0 } },
		.log = "10 start 1.1 c0 1\n25 start 0.1 c0 1\n",
		.overtaken = "0 ",
		.completed = 2,
	},
	{
		.name = "a policy that takes over decides, and the decision of the other one is dropped",
		.policy = "max-upr",
		.rows = { NARROW + 1, WIDE + 1 },
		.deeds = { { FCFS, 0 } },
		.log = "11 start 0.1 c0 0\n26 start 1.1 c0 0,1\n",
		.deciders = "fcfs ",
		.completed = 2,
	},
	{
		.name = "a policy that asks for what never could be is at fault",
		.policy = "max-upr",
		.rows = { NARROW + 1 },
		.deeds = { { SPOIL, 0 } },
		.log = "",
		.aborts = "the plan of policy \"max-upr\" is not legal: start task 0: it needs another "
			  "number of nodes",
	},
	{
		.name = "no task is suspended for a task that is cancelled meanwhile",
		.policy = "max-util-preempt-greedy",
		.preempts = true,
		.rows = { NARROW + 1, NARROW + 1 },
		.deeds = { { SUBMIT, URGENT }, { CANCEL, 2 } },
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n",
		.overtaken = "0 2 ",
		.completed = 2,
	},
	{
		.name = "for a task that comes one gives way, whatever else happened",
		.policy = "max-util-preempt-greedy",
		.preempts = true,
		.rows = { NARROW + 1, NARROW + 1 },
		.deeds = { { SUBMIT, URGENT }, { SUBMIT, NARROW } },
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n11 suspend 0.1 #1\n11 start 2.1 c0 0\n"
		       "25 resume 0.1 #1 c0 1\n26 start 3.1 c0 0\n",
		.completed = 4,
	},
	{
		.name = "waiting tasks are decided at the next event",
		.policy = "max-upr",
		.rows = { NARROW + 1 },
		.deeds = { { LOOK, 0 } },
		.log = "10 start 0.1 c0 0\n",
		.completed = 1,
	},
	{
		.name = "that a promise slides again and again is said once of each reason, and it waits no longer than "
			"what is late",
		.policy = "easy",
		.rows = { WIDE + 1, WIDE + 1, NARROW + 1 },
		.late_s = 55,
		/*
		 * At 25 s its nodes are busy; at 30 and 60 s what runs there is late, which ends before the next event.
		 */
		.log = "10 start 0.1 c0 0,1\n65 start 1.1 c0 0,1\n80 start 2.1 c0 0\n",
		.slid = "1 1 c1 ",
		.completed = 3,
	},
	{
		.name = "a promise does not wait for what is late and was suspended",
		.policy = "easy",
		.rows = { WIDE + 1, WIDE + 1, NARROW + 1 },
		.late_s = 55,
		.deeds = { { NOTHING, 0 }, { SUSPEND, 0 } }, /* at 30 s, when it was moved to 60 s */
		.log = "10 start 0.1 c0 0,1\n30 suspend 0.1 #1\n30 start 1.1 c0 0,1\n45 start 2.1 c0 0\n100 kill 0.1\n",
		.slid = "1 1 c1 ",
		.completed = 2,
	},
	{
		.name = "a promise does not wait for what is late and was migrated away",
		.policy = "easy",
		.rows = { NARROW + 1, NARROW + 1, NARROW + 1, WIDE + 1 },
		.late_s = 55,
		.deeds = { { NOTHING, 0 }, { NOTHING, 0 }, { MIGRATE, 0 } }, /* at 30 s, when it was moved to 60 s */
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n30 migrate 0.1 #1 c0 1\n32 start 2.1 c0 0\n"
		       "65 start 3.1 c0 0,1\n",
		.slid = "2 2 c2 3 c3 ",
		.completed = 4,
	},
	{
		.name = "a promise does not wait for what is late and could not be migrated",
		.policy = "easy",
		.rows = { NARROW + 1, NARROW + 1, NARROW + 1, WIDE + 1 },
		.late_s = 55,
		.unmoved = true,
		.deeds = { { NOTHING, 0 }, { NOTHING, 0 }, { MIGRATE, 0 } },
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n30 migrate 0.1 #1 c0 1\n32 start 2.1 c0 1\n"
		       "65 start 3.1 c0 0,1\n",
		.slid = "2 2 c2 3 c3 ",
		.completed = 4,
	},
	{
		.name = "waiting tasks are mapped when a migration has freed a node",
		.policy = "max-upr",
		.rows = { NARROW + 1 },
		.later = { { 12, MIGRATE, 0 }, { 13, SUBMIT, NARROW } },
		.log = "10 start 0.1 c0 0\n12 migrate 0.1 #1 c0 1\n14 start 1.1 c0 0\n",
		.completed = 2,
	},
	{
		.name = "waiting tasks are mapped when a failed migration has freed a node",
		.policy = "max-upr",
		.rows = { NARROW + 1 },
		.unmoved = true,
		.later = { { 12, MIGRATE, 0 }, { 13, SUBMIT, NARROW } },
		.log = "10 start 0.1 c0 0\n12 migrate 0.1 #1 c0 1\n14 start 1.1 c0 1\n",
		.completed = 2,
	},
	{
		.name = "migrating what is not late moves no promise",
		.policy = "easy",
		.rows = { NARROW + 1, WIDE + 1, WIDE + 1 },
		.deeds = { { SUBMIT, NARROW }, { MIGRATE, 0 } },
		.log = "10 start 0.1 c0 0\n11 migrate 0.1 #1 c0 1\n25 start 1.1 c0 0,1\n40 start 2.1 c0 0,1\n"
		       "55 start 3.1 c0 0\n",
		.completed = 4,
	},
	{
		.name = "waiting tasks are mapped when nodes without a claim have been left",
		.policy = "easy",
		.rows = { WIDE + 1 },
		.leaves_s = 5,
		.later = { { 12, SUSPEND, 0 }, { 13, SUBMIT, WIDE } },
		.log = "10 start 0.1 c0 0,1\n12 suspend 0.1 #1\n17 start 1.1 c0 0,1\n100 kill 0.1\n",
		.completed = 1,
	},
	{
		.name = "a promise does not wait for a claim that is late and was taken back",
		.policy = "max-util-preempt-greedy",
		.preempts = true,
		.rows = { NARROW + 1, NARROW + 1 },
		.leaves_s = 35,
		.deeds = { { SUBMIT, URGENT } },
		/*
		 * Task 2 is to come when task 0 has left, and task 3 behind it; at 30 s that was moved to 60 s. Task 0
		 * would be resumed first: EASY knows nothing of it.
		 */
		.later = { { 13, EASY, 0 }, { 14, SUBMIT, WIDE }, { 40, CANCEL, 2 }, { 41, SUSPEND, 0 } },
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n11 suspend 0.1 #1\n46 start 3.1 c0 0,1\n100 kill 0.1\n",
		.slid = "3 3 c3 ",
		.completed = 2,
	},
	{
		.name = "the task that was to follow is mapped when a task could not be suspended",
		.policy = "max-util-preempt-greedy",
		.preempts = true,
		.rows = { NARROW + 1, NARROW + 1 },
		.deeds = { { SUBMIT, URGENT } },
		.step = { .task = 0, .n = 1, .way = SCRIPT_STAYED, .after_s = 2, .times = 1 },
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n11 suspend 0.1 #1\n13 suspend 0.1 #1\n13 start 2.1 c0 0\n"
		       "25 resume 0.1 #1 c0 1\n",
		.completed = 3,
	},
	{
		.name = "a task that could not be resumed is mapped at once, and started again in the end",
		.policy = "max-util-preempt-greedy",
		.preempts = true,
		.rows = { NARROW + 1, NARROW + 1 },
		.deeds = { { SUBMIT, URGENT } },
		.step = { .task = 0, .n = 1, .resume = true, .way = SCRIPT_STAYED, .after_s = 2 },
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n11 suspend 0.1 #1\n11 start 2.1 c0 0\n25 resume 0.1 #1 c0 1\n"
		       "27 resume 0.1 #1 c0 0\n29 resume 0.1 #1 c0 0\n31 kill 0.1\n31 start 0.2 c0 0\n",
		.completed = 3,
	},
	{
		.name = "cancelling a suspended task that was not late moves no promise",
		.policy = "easy",
		.rows = { NARROW + 1, NARROW + 1, WIDE + 1 },
		.late_s = 5,
		.deeds = { { SUBMIT, NARROW }, { SUSPEND, 1 }, { NOTHING, 0 }, { CANCEL, 1 } }, /* when task 0 ended early */
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n11 suspend 1.1 #1\n15 kill 1.1\n"
		       "25 start 2.1 c0 0,1\n40 start 3.1 c0 0\n",
		.completed = 3,
	},
	{
		.name = "cancelling a task that is being resumed moves no promise",
		.policy = "easy",
		.rows = { NARROW + 1, NARROW + 1, WIDE + 1 },
		.late_s = 5,
		.deeds = { { SUBMIT, NARROW }, { SUSPEND, 1 }, { NOTHING, 0 }, { RESUME_AND_CANCEL, 1 } },
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n11 suspend 1.1 #1\n15 resume 1.1 #1 c0 0\n15 kill 1.1\n"
		       "25 start 2.1 c0 0,1\n40 start 3.1 c0 0\n",
		.completed = 3,
	},
	{
		.name = "a task that is promised nodes and is held meanwhile gets none",
		.policy = "conservative",
		.rows = { WIDE + 1, WIDE + 1, WIDE + 1 },
		.deeds = { { HOLD, 1 } },
		.log = "10 start 0.1 c0 0,1\n40 start 2.1 c0 0,1\n",
		.overtaken = "1 ",
		.completed = 2,
	},
	{
		.name = "a node that is drained meanwhile is promised to no task by easy",
		.policy = "easy",
		.rows = { NARROW + 1, NARROW + 1, NARROW + 1 },
		.deeds = { { DRAIN, 0 } },
		.log = "10 start 1.1 c0 1\n25 start 0.1 c0 1\n40 start 2.1 c0 1\n",
		.overtaken = "0 2 ",
		.completed = 3,
	},
	{
		.name = "a node that is drained meanwhile is promised to no task by conservative",
		.policy = "conservative",
		.rows = { NARROW + 1, NARROW + 1, NARROW + 1 },
		.deeds = { { DRAIN, 0 } },
		.log = "10 start 1.1 c0 1\n25 start 0.1 c0 1\n40 start 2.1 c0 1\n",
		.overtaken = "0 2 ",
		.completed = 3,
	},
	{
		.name = "a plan that is carried out in parts is done as a whole",
		.policy = "easy",
		.at_once = 1,
		.rows = { NARROW + 1, NARROW + 1, WIDE + 1 },
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n25 start 2.1 c0 0,1\n",
		.completed = 3,
	},
	{
		.name = "promises of the parts before stand",
		.policy = "conservative",
		.at_once = 1,
		.rows = { WIDE + 1, WIDE + 1, WIDE + 1 },
		.between = { LOOK_PROMISED, 1 },
		.log = "10 start 0.1 c0 0,1\n25 start 1.1 c0 0,1\n40 start 2.1 c0 0,1\n",
		.completed = 3,
	},
	{
		.name = "a task that is cancelled between the parts does not start",
		.policy = "max-upr",
		.at_once = 1,
		.rows = { NARROW + 1, NARROW + 1 },
		.between = { CANCEL, 1 },
		.log = "10 start 0.1 c0 0\n",
		.overtaken = "1 ",
		.completed = 1,
	},
	{
		.name = "on a node that is drained between the parts nothing starts",
		.policy = "max-upr",
		.at_once = 1,
		.rows = { NARROW + 1, NARROW + 1 },
		.between = { DRAIN, 1 },
		.log = "10 start 0.1 c0 0\n25 start 1.1 c0 0\n",
		.overtaken = "1 ",
		.completed = 2,
	},
	{
		.name = "what comes between the parts is for the next decision",
		.policy = "max-upr",
		.at_once = 1,
		.rows = { NARROW + 1, NARROW + 1 },
		.between = { SUBMIT, NARROW },
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n25 start 2.1 c0 0\n",
		.completed = 3,
	},
	{
		.name = "a policy that takes over between the parts decides on the rest",
		.policy = "max-upr",
		.at_once = 1,
		.rows = { NARROW + 1, NARROW + 1 },
		.between = { FCFS, 0 },
		.log = "10 start 0.1 c0 0\n11 start 1.1 c0 1\n",
		.deciders = "max-upr fcfs ",
		.completed = 2,
	},
	{
		.name = "a suspension and the starts that it makes room for are applied together",
		.policy = "max-util-preempt-greedy",
		.preempts = true,
		.at_once = 1,
		.rows = { NARROW + 1, NARROW + 1 },
		.deeds = { { SUBMIT, URGENT }, { SUBMIT, NARROW } },
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n11 suspend 0.1 #1\n11 start 2.1 c0 0\n"
		       "25 resume 0.1 #1 c0 1\n26 start 3.1 c0 0\n",
		.completed = 4,
	},
};

static bool no_thread; /* can be had, the next time */

/* Stands before GLib's own. */
GThread *g_thread_try_new(const gchar *name, GThreadFunc run, gpointer data, GError **error)
{
	if (!no_thread)
		return g_thread_new(name, run, data);
	no_thread = false;
	g_set_error_literal(error, G_THREAD_ERROR, G_THREAD_ERROR_AGAIN, "too many of them");
	return NULL;
}

/* The policy continues when it is told to; the engine's thread knows when it stands. */
static struct {
	GMutex mutex;
	GCond cond;
	bool stands, goes_on, spoils;
	const struct policy_ops *real;
} gate;

struct stage {
	const struct scene *scene;
	struct sched_system *system;
	struct workload *workload;
	struct policy_ops ops;
	struct engine_recorder recorder;
	struct engine_setup setup;
	struct script script;
	double calls_s[5];
	struct script_attempt late;
	struct backend_ops waiting;
	const struct backend_ops *scripted;
	struct backend *backend;
	struct engine *engine;
	struct engine_result result;
	GString *overtaken, *slid, *deciders;
	uint32_t called;
	uint32_t decisions; /* that the test watched */
	bool parted;        /* a plan was carried out in parts */
	bool paused;        /* others had a turn, too, between its last part and the requests */
	bool leaves;        /* the engine comes to its end while it is decided */
};

static struct stage *theatre; /* of the backend, whose struct is its own */

/* Asks for no nodes at all. */
static int decide_badly(struct mapping *mapping)
{
	const int result = gate.real->decide(mapping);

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
	while (!gate.goes_on)
		handoff_wait(&gate.cond, &gate.mutex);
	spoils = gate.spoils;
	gate.stands = gate.goes_on = gate.spoils = false;
	handoff_unlock(&gate.mutex);
	return spoils;
}

static int stand_and_decide(struct mapping *mapping)
{
	return stand() ? decide_badly(mapping) : gate.real->decide(mapping);
}

static int stand_and_decide_immediate(struct immediate *immediate)
{
	stand();
	return gate.real->decide_immediate(immediate);
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

static void take_policy(struct stage *stage, struct policy *policy, const char *name)
{
	char message[256];

	g_assert_cmpint(policy_parse(name, policy, message, sizeof(message)), ==, 0);
	gate.real = policy->ops;
	stage->ops = *policy->ops;
	stage->ops.decide = stand_and_decide;
	stage->ops.decide_immediate = stage->scene->preempts ? stand_and_decide_immediate : NULL;
	policy->ops = &stage->ops;
}

static void submit(struct stage *stage, uint32_t row)
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
static void change_policy(struct stage *stage, const char *name)
{
	struct policy policy;
	char message[256];

	g_assert_cmpint(policy_parse(name, &policy, message, sizeof(message)), ==, 0);
	engine_request_policy(stage->engine, &policy, stage->setup.mapping_interval_s);
}

static void do_deed(struct stage *stage, enum deed deed, uint32_t of)
{
	switch (deed) {
	case SUBMIT:
		submit(stage, of);
		break;
	case CANCEL:
		g_assert_null(engine_request_cancel(stage->engine, of));
		break;
	case HOLD:
		g_assert_null(engine_request_hold(stage->engine, of));
		break;
	case SUSPEND:
		g_assert_null(engine_request_suspend(stage->engine, of));
		break;
	case RESUME_AND_CANCEL:
		g_assert_null(engine_request_resume(stage->engine, of));
		g_assert_cmpint(engine_task(stage->engine, of)->state, ==, ENGINE_TASK_RESUMING);
		g_assert_null(engine_request_cancel(stage->engine, of));
		break;
	case MIGRATE: /* to the other node, which is another host */
		g_assert_null(engine_request_migrate(stage->engine, of, (const uint32_t[]){ 1 }, 1,
						     (const uint32_t[]){ 0, 1 }, &(uint32_t){ 0 }));
		break;
	case DRAIN:
		g_assert_null(engine_request_drain(stage->engine, 0, of, "to be cleaned"));
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
		while (engine_task(stage->engine, of)->state != ENGINE_TASK_PLANNED)
			engine_take_answer(stage->engine);
		engine_take_answer(stage->engine);
		g_assert_cmpint(engine_task(stage->engine, of)->state, ==, ENGINE_TASK_PLANNED);
		break;
	default:
		break;
	}
}

static void act(struct stage *stage)
{
	const uint32_t nth = stage->decisions++;

	if (nth < G_N_ELEMENTS(stage->scene->deeds))
		do_deed(stage, stage->scene->deeds[nth].deed, stage->scene->deeds[nth].of);
}

/* While it is decided the time stands still, except for a task that leaves. */
static void wait_apart(struct backend *backend, double until_s, struct backend_event *ret_event)
{
	struct stage *stage = theatre;

	if (stage->engine->applying.is_further && !stage->parted) {
		stage->parted = true;
		do_deed(stage, stage->scene->between.deed, stage->scene->between.of);
	}
	if (stage->engine->applying.is_further &&
	    stage->engine->applying.next == stage->engine->applying.answer.plan->actions_count)
		stage->paused = true;
	if (!stage->engine->decider || !async_decider_is_busy(stage->engine->decider)) {
		stage->scripted->wait(backend, until_s, ret_event);
		return;
	}
	if (stage->engine->setup.policy.ops == &stage->ops) {
		until_it_stands();
		act(stage);
		let_it_go_on();
	}
	if (stage->leaves) {
		*ret_event = (struct backend_event){ .kind = BACKEND_EVENT_ABORTED,
						     .time_s = backend_now_s(backend),
						     .reason = "it is over" };
		return;
	}
	g_main_context_iteration(NULL, TRUE);
	*ret_event = (struct backend_event){ .time_s = backend_now_s(backend) };
}

static void call(double time_s, void *data)
{
	struct stage *stage = data;
	const uint32_t nth = stage->called++;

	if (nth > 0) {
		do_deed(stage, stage->scene->later[nth - 1].deed, stage->scene->later[nth - 1].of);
		return;
	}
	for (uint32_t i = 0; i < G_N_ELEMENTS(stage->scene->rows) && stage->scene->rows[i]; i++)
		submit(stage, stage->scene->rows[i] - 1);
}

static bool tell_event(struct engine_recorder *recorder, double time_s, const char *kind,
		       const char *detail)
{
	const bool taken_back = g_str_equal(kind, "cancelled") && strstr(detail, "planned again");
	GString *list = g_str_equal(kind, "overtaken")		       ? theatre->overtaken
		      : g_str_equal(kind, "slid") || taken_back ? theatre->slid
								       : NULL;

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
static bool tell_decision(struct engine_recorder *recorder, const struct policy *policy,
			  const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct policy_context context = { .arena = arena_new() };
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

static struct sched_system *make_system(const struct scene *scene)
{
	static const struct sched_cluster cluster = {
		.name = "c", .nodes = 2, .cores = 1, .pstates = 1
	};
	static const char *const names[] = { "narrow", "wide", "urgent" };
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

static void stage_init(struct stage *stage, const struct scene *scene)
{
	uint32_t calls = 1;

	*stage = (struct stage){ .scene = scene, .calls_s = { 10 } };
	theatre = stage;
	stage->system = make_system(scene);
	stage->workload = workload_open_new(TASKS_MAX);
	stage->recorder = (struct engine_recorder){ .event = tell_event, .decision = tell_decision };
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
		.at_once = scene->at_once,
		.duration_s = DURATION_S,
		.recorder = &stage->recorder,
	};
	take_policy(stage, &stage->setup.policy, scene->policy);
	for (; calls <= G_N_ELEMENTS(scene->later) && scene->later[calls - 1].time_s > 0; calls++)
		stage->calls_s[calls] = scene->later[calls - 1].time_s;
	stage->script = (struct script){ .system = stage->system, .calls_s = stage->calls_s,
					 .calls_count = calls, .call = call, .data = stage,
					 .kills = true, .suspend_s = scene->leaves_s,
					 .resume_s = 2, .unmoved = scene->unmoved };
	stage->late = (struct script_attempt){ 0, 1, scene->late_s, BACKEND_OUTCOME_COMPLETED };
	stage->script.steps = &scene->step;
	stage->script.steps_count = scene->step.after_s > 0;
	stage->script.attempts = &stage->late;
	stage->script.attempts_count = scene->late_s > 0;
	stage->backend = scripted_backend_new(&stage->script);
	stage->scripted = stage->backend->ops;
	stage->waiting = *stage->scripted;
	stage->waiting.wait = wait_apart;
	stage->backend->ops = &stage->waiting;
	stage->engine = engine_new(&stage->setup, stage->backend);
}

static void stage_finish(struct stage *stage)
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
		g_assert_cmpfloat(result->mapping_longest_s, >, engine_mapping_bounds_s[highest - 1]);
	if (highest < ENGINE_MAPPING_BOUNDS)
		g_assert_cmpfloat(result->mapping_longest_s, <=, engine_mapping_bounds_s[highest]);
}

static void test_scene(const void *data)
{
	const struct scene *scene = data;
	struct stage stage;

	stage_init(&stage, scene);
	engine_run(stage.engine, &stage.result);
	g_assert_cmpint(stage.result.ended_by, ==,
			scene->aborts ? ENGINE_END_ABORTED : ENGINE_END_TIME);
	g_assert_cmpstr(engine_reason(stage.engine), ==, scene->aborts);
	g_assert_cmpstr(scripted_backend_log(stage.backend), ==, scene->log);
	g_assert_cmpstr(stage.overtaken->str, ==, scene->overtaken ?: "");
	g_assert_cmpstr(stage.slid->str, ==, scene->slid ?: "");
	if (scene->deciders)
		g_assert_cmpstr(stage.deciders->str, ==, scene->deciders);
	g_assert_cmpuint(stage.result.tasks_completed, ==, scene->completed);
	g_assert_true(stage.parted == (scene->at_once > 0));
	g_assert_true(stage.paused == (stage.parted && !scene->deciders));
	g_assert_cmpfloat(stage.result.mapping_longest_s, >, 0);
	assert_counted(&stage.result);
	stage_finish(&stage);
}

/* The engine is not there any more when the answer comes. */
static void test_leaves(void)
{
	struct stage stage;

	stage_init(&stage, &scenes[0]);
	stage.leaves = true;
	engine_run(stage.engine, &stage.result);
	g_assert_cmpint(stage.result.ended_by, ==, ENGINE_END_ABORTED);
	g_assert_cmpstr(scripted_backend_log(stage.backend), ==, "");
	stage_finish(&stage);
}

/* No request comes meanwhile; the same comes of it. */
static void test_no_thread(void)
{
	struct stage stage;

	stage_init(&stage, &scenes[0]);
	stage.engine->setup.policy.ops = gate.real;
	no_thread = true;
	g_test_expect_message(NULL, G_LOG_LEVEL_WARNING,
			      "cannot start a thread for policy \"max-upr\": too many of them; *");
	engine_run(stage.engine, &stage.result);
	g_test_assert_expected_messages();
	g_assert_cmpint(stage.result.ended_by, ==, ENGINE_END_TIME);
	g_assert_cmpstr(scripted_backend_log(stage.backend), ==, stage.scene->log);
	g_assert_cmpuint(stage.result.tasks_completed, ==, stage.scene->completed);
	stage_finish(&stage);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(scenes); i++) {
		g_autofree char *path = g_strdup_printf("/engine/async/%s", scenes[i].name);

		g_test_add_data_func(path, &scenes[i], test_scene);
	}
	g_test_add_func("/engine/async/it may leave while it is decided", test_leaves);
	g_test_add_func("/engine/async/where no thread can be had it decides at once", test_no_thread);
	return g_test_run();
}
