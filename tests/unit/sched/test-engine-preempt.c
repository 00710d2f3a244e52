/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tasks that leave their nodes and go on: what the engine makes of plans that suspend and resume, and
 * of what the backend says to it. The policy of all cases plays out a script of its own.
 */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "controller/engine/engine.h"
#include "controller/sched/mapping.h"
#include "tests/unit/sched/scripted_backend.h"

/* Mapping events of all cases are every 10 s, runs last 100 s. */
#define INTERVAL_S 10
#define DURATION_S 100

/*
 * Two clusters: c has two nodes, d one. A narrow task takes one node for 15 s, a wide one both nodes
 * of c for as long. The last task of every case is never mapped: the policy is asked as long as a
 * task waits.
 */
enum { NARROW, WIDE };

/* What the policy asks for at an event. */
struct order {
	double time_s;
	enum sched_action_kind kind;
	uint32_t task;
	uint32_t cluster;
	uint32_t nodes_count;
	uint32_t nodes[2];
};

#define START(time, task, ...) { time, SCHED_ACTION_START, task, 0, __VA_ARGS__ }
#define RESUME(time, task, ...) { time, SCHED_ACTION_RESUME, task, 0, __VA_ARGS__ }
#define SUSPEND(time, task) { time, SCHED_ACTION_SUSPEND, task, 0, 0, { 0 } }
#define DROP(time, task) { time, SCHED_ACTION_DROP, task, 0, 0, { 0 } }
#define ON(node) 1, { node }
#define ON_BOTH 2, { 0, 1 }

#define TASKS_MAX 6

struct scene {
	const char *name;
	uint32_t tasks_count; /* with the one that is never mapped */
	uint32_t rows[TASKS_MAX];
	bool stubborn; /* task 0 is not preemptible */
	struct order orders[16];
	struct script_attempt attempts[3];
	struct script_step steps[4];
	struct script_event events[3];
	bool twice;
	const char *log;
	const char *story; /* events */
	const char *seen;  /* what the policy saw at some events; NULL: not looked at */
	double seen_s;     /* ... at this one */
	uint32_t completed, failed, dropped;
};

static const struct scene scenes[] = {
	{
		.name = "a task gives way, keeps its progress and goes on elsewhere",
		.tasks_count = 3,
		.orders = { START(0, 0, ON(0)), SUSPEND(10, 0), START(10, 1, ON(0)),
			    RESUME(20, 0, ON(1)) },
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n10 start 1.1 c0 0\n"
		       "20 resume 0.1 #1 c0 1\n",
		.seen = "run 1@c0:0 10+0 to 25 P, suspended 0@c0 10",
		.seen_s = 20,
		.completed = 2,
	},
	{
		.name = "who takes its nodes starts when they are free",
		.tasks_count = 3,
		.orders = { START(0, 0, ON(0)), SUSPEND(10, 0), START(10, 1, ON(0)),
			    RESUME(40, 0, ON(0)) },
		.steps = { { 0, 1, false, SCRIPT_DONE, 12, 0 }, { 0, 1, true, SCRIPT_DONE, 12, 0 } },
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n22 start 1.1 c0 0\n"
		       "40 resume 0.1 #1 c0 0\n",
		/* Meanwhile it holds them, and nobody may take them from it. */
		.seen = "run 1@c0:0 10+0 to 25",
		.seen_s = 20,
		.completed = 2,
	},
	{
		.name = "nodes that are being left for nobody are down until they are free",
		.tasks_count = 3,
		.orders = { START(0, 0, ON(0)), SUSPEND(10, 0), START(30, 1, ON(0)) },
		.steps = { { 0, 1, false, SCRIPT_DONE, 12, 0 } },
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n30 start 1.1 c0 0\n100 kill 0.1\n",
		.seen = "down c0:0",
		.seen_s = 20,
		.completed = 1,
	},
	{
		.name = "a task that is about to go on is not asked to give way",
		.tasks_count = 2,
		.orders = { START(0, 0, ON(0)), SUSPEND(10, 0), RESUME(20, 0, ON(1)) },
		.steps = { { 0, 1, true, SCRIPT_DONE, 15, 0 } },
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n20 resume 0.1 #1 c0 1\n",
		.seen = "run 0@c0:1 20+10 to 40", /* not at 25 s, then */
		.seen_s = 30,
		.completed = 1,
	},
	{
		.name = "where suspending fails the task runs on and the other one waits again",
		.tasks_count = 3,
		.orders = { START(0, 0, ON(0)), SUSPEND(10, 0), START(10, 1, ON(0)),
			    START(20, 1, ON(0)) },
		.steps = { { 0, 1, false, SCRIPT_STAYED, 3, 0 } },
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n20 start 1.1 c0 0\n",
		.story = "13 stayed\n",
		.completed = 2,
	},
	{
		.name = "the same suspension is tried again",
		.tasks_count = 3,
		.attempts = { { 0, 1, 50, BACKEND_OUTCOME_COMPLETED, false } },
		.orders = { START(0, 0, ON(0)), SUSPEND(10, 0), START(10, 1, ON(0)), SUSPEND(20, 0),
			    START(20, 1, ON(0)), RESUME(40, 0, ON(0)) },
		.steps = { { 0, 1, false, SCRIPT_STAYED, 3, 1 } },
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n20 suspend 0.1 #1\n20 start 1.1 c0 0\n"
		       "40 resume 0.1 #1 c0 0\n",
		.story = "13 stayed\n20 late\n",
		.seen = "run 0@c0:0 0+0 to 30 P",
		.seen_s = 20,
		.completed = 2,
	},
	{
		.name = "a task that cannot be suspended is spared after three failures",
		.tasks_count = 2,
		.attempts = { { 0, 1, 55, BACKEND_OUTCOME_COMPLETED, false } },
		.orders = { START(0, 0, ON(0)), SUSPEND(10, 0), SUSPEND(20, 0), SUSPEND(30, 0) },
		.steps = { { 0, 1, false, SCRIPT_STAYED, 1, 0 } },
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n20 suspend 0.1 #1\n"
		       "30 suspend 0.1 #1\n",
		.story = "11 stayed\n20 late\n21 stayed\n31 stayed\n",
		.seen = "run 0@c0:0 0+0 to 50",
		.seen_s = 40,
		.completed = 1,
	},
	{
		.name = "a wide task waits for all of its nodes",
		.tasks_count = 4,
		.rows = { NARROW, NARROW, WIDE },
		.orders = { START(0, 0, ON(0)), START(0, 1, ON(1)), SUSPEND(10, 0), SUSPEND(10, 1),
			    START(10, 2, ON_BOTH), RESUME(30, 0, ON(0)), RESUME(30, 1, ON(1)) },
		.steps = { { 0, 1, false, SCRIPT_DONE, 3, 0 }, { 1, 1, false, SCRIPT_DONE, 1, 0 } },
		.log = "0 start 0.1 c0 0\n0 start 1.1 c0 1\n10 suspend 0.1 #1\n10 suspend 1.1 #1\n"
		       "13 start 2.1 c0 0,1\n30 resume 0.1 #1 c0 0\n30 resume 1.1 #1 c0 1\n",
		.completed = 3,
	},
	{
		.name = "a wide task waits again where one of its nodes is not left",
		.tasks_count = 4,
		.rows = { NARROW, NARROW, WIDE },
		.attempts = { { 1, 1, 25, BACKEND_OUTCOME_COMPLETED, false } },
		.orders = { START(0, 0, ON(0)), START(0, 1, ON(1)), SUSPEND(10, 0), SUSPEND(10, 1),
			    START(10, 2, ON_BOTH), RESUME(20, 0, ON(0)), START(30, 2, ON_BOTH) },
		.steps = { { 0, 1, false, SCRIPT_DONE, 3, 0 }, { 1, 1, false, SCRIPT_STAYED, 1, 0 } },
		.log = "0 start 0.1 c0 0\n0 start 1.1 c0 1\n10 suspend 0.1 #1\n10 suspend 1.1 #1\n"
		       "20 resume 0.1 #1 c0 0\n30 start 2.1 c0 0,1\n",
		.story = "11 stayed\n20 late\n",
		.completed = 3,
	},
	{
		.name = "a task gives way and goes on elsewhere in one event",
		.tasks_count = 4,
		.orders = { START(0, 0, ON(0)), START(0, 1, ON(1)), SUSPEND(10, 0), START(10, 2, ON(0)),
			    SUSPEND(10, 1), RESUME(10, 0, ON(1)), RESUME(30, 1, ON(0)) },
		.steps = { { 0, 1, false, SCRIPT_DONE, 3, 0 }, { 1, 1, false, SCRIPT_DONE, 1, 0 } },
		.log = "0 start 0.1 c0 0\n0 start 1.1 c0 1\n10 suspend 0.1 #1\n10 suspend 1.1 #1\n"
		       "13 start 2.1 c0 0\n13 resume 0.1 #1 c0 1\n30 resume 1.1 #1 c0 0\n",
		.completed = 3,
	},
	{
		.name = "two tasks change places",
		.tasks_count = 3,
		.orders = { START(0, 0, ON(0)), START(0, 1, ON(1)), SUSPEND(10, 0), SUSPEND(10, 1),
			    RESUME(10, 0, ON(1)), RESUME(10, 1, ON(0)) },
		.steps = { { 0, 1, false, SCRIPT_DONE, 3, 0 }, { 1, 1, false, SCRIPT_DONE, 5, 0 } },
		.log = "0 start 0.1 c0 0\n0 start 1.1 c0 1\n10 suspend 0.1 #1\n10 suspend 1.1 #1\n"
		       "15 resume 0.1 #1 c0 1\n15 resume 1.1 #1 c0 0\n",
		.completed = 2,
	},
	{
		.name = "where one of the two stays both are where they were",
		.tasks_count = 3,
		.orders = { START(0, 0, ON(0)), START(0, 1, ON(1)), SUSPEND(10, 0), SUSPEND(10, 1),
			    RESUME(10, 0, ON(1)), RESUME(10, 1, ON(0)), RESUME(20, 0, ON(0)) },
		.steps = { { 0, 1, false, SCRIPT_DONE, 3, 0 }, { 1, 1, false, SCRIPT_STAYED, 1, 0 } },
		.log = "0 start 0.1 c0 0\n0 start 1.1 c0 1\n10 suspend 0.1 #1\n10 suspend 1.1 #1\n"
		       "20 resume 0.1 #1 c0 0\n",
		.story = "11 stayed\n",
		.completed = 2,
	},
	{
		.name = "a task that ends while it is being suspended leaves its nodes all the same",
		.tasks_count = 3,
		.orders = { START(0, 0, ON(0)), SUSPEND(10, 0), START(10, 1, ON(0)) },
		.steps = { { 0, 1, false, SCRIPT_SILENT, 0, 0 } },
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n15 start 1.1 c0 0\n",
		.completed = 2,
	},
	{
		.name = "a task that is lost while it is being suspended starts anew",
		.tasks_count = 3,
		.orders = { START(0, 0, ON(0)), SUSPEND(10, 0), START(10, 1, ON(0)),
			    START(20, 0, ON(1)), SUSPEND(30, 0), RESUME(40, 0, ON(0)) },
		.steps = { { 0, 1, false, SCRIPT_LOST, 2, 1 } },
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n12 start 1.1 c0 0\n"
		       "20 start 0.2 c0 1\n30 suspend 0.2 #1\n40 resume 0.2 #1 c0 0\n",
		.story = "12 lost\n",
		.completed = 2,
	},
	{
		.name = "a task that is lost while it goes on starts anew",
		.tasks_count = 2,
		.orders = { START(0, 0, ON(0)), SUSPEND(10, 0), RESUME(20, 0, ON(1)),
			    START(30, 0, ON(1)) },
		.steps = { { 0, 1, true, SCRIPT_LOST, 2, 0 } },
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n20 resume 0.1 #1 c0 1\n"
		       "30 start 0.2 c0 1\n",
		.story = "22 lost\n",
		.completed = 1,
	},
	{
		.name = "a task that cannot go on is suspended still, and tried again",
		.tasks_count = 2,
		.orders = { START(0, 0, ON(0)), SUSPEND(10, 0), RESUME(20, 0, ON(1)),
			    RESUME(30, 0, ON(0)) },
		.steps = { { 0, 1, true, SCRIPT_STAYED, 2, 1 } },
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n20 resume 0.1 #1 c0 1\n"
		       "30 resume 0.1 #1 c0 0\n",
		.story = "22 stayed\n",
		.seen = "suspended 0@c0 10",
		.seen_s = 30,
		.completed = 1,
	},
	{
		.name = "a task that cannot go on three times is lost",
		.tasks_count = 2,
		.orders = { START(0, 0, ON(0)), SUSPEND(10, 0), RESUME(20, 0, ON(1)),
			    RESUME(30, 0, ON(1)), RESUME(40, 0, ON(1)), START(50, 0, ON(1)) },
		.steps = { { 0, 1, true, SCRIPT_STAYED, 2, 0 } },
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n20 resume 0.1 #1 c0 1\n"
		       "30 resume 0.1 #1 c0 1\n40 resume 0.1 #1 c0 1\n42 kill 0.1\n"
		       "50 start 0.2 c0 1\n",
		.story = "22 stayed\n32 stayed\n42 stayed\n42 lost\n",
		.completed = 1,
	},
	{
		.name = "a node that goes down before it is left takes the claim with it",
		.tasks_count = 4,
		.rows = { NARROW, WIDE, NARROW },
		.orders = { START(0, 0, ON(0)), SUSPEND(10, 0), START(10, 1, ON_BOTH),
			    START(20, 2, ON(0)), RESUME(40, 0, ON(0)), START(50, 1, ON_BOTH) },
		.steps = { { 0, 1, false, SCRIPT_DONE, 3, 0 } },
		.events = { { 12, BACKEND_EVENT_NODE_DOWN, 0, 1, "no answer" },
			    { 41, BACKEND_EVENT_NODE_UP, 0, 1, NULL } },
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n20 start 2.1 c0 0\n"
		       "40 resume 0.1 #1 c0 0\n50 start 1.1 c0 0,1\n",
		.story = "12 node-down\n41 node-up\n",
		.completed = 3,
	},
	{
		.name = "a suspended task can leave",
		.tasks_count = 2,
		.orders = { START(0, 0, ON(0)), SUSPEND(10, 0), DROP(20, 0) },
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n20 kill 0.1\n",
		.dropped = 1,
	},
	{
		.name = "the run ends with tasks in every state",
		.tasks_count = 5,
		.attempts = { { 1, 1, 200, BACKEND_OUTCOME_COMPLETED, false } },
		.orders = { START(70, 0, ON(0)), SUSPEND(80, 0), START(80, 1, ON(0)),
			    SUSPEND(90, 1), START(90, 2, ON(0)), RESUME(90, 0, ON(1)) },
		.steps = { { 1, 1, false, SCRIPT_DONE, 30, 0 }, { 0, 1, true, SCRIPT_DONE, 30, 0 } },
		.log = "70 start 0.1 c0 0\n80 suspend 0.1 #1\n80 start 1.1 c0 0\n"
		       "90 suspend 1.1 #1\n90 resume 0.1 #1 c0 1\n100 kill 0.1\n100 kill 1.1\n",
	},
	{
		.name = "what is said twice counts once",
		.tasks_count = 3,
		.twice = true,
		.orders = { START(0, 0, ON(0)), SUSPEND(10, 0), START(10, 1, ON(0)),
			    RESUME(20, 0, ON(1)) },
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n10 start 1.1 c0 0\n"
		       "20 resume 0.1 #1 c0 1\n",
		.completed = 2,
	},
};

/* Plans that no policy may make, and what the run says of them. */
static const struct scene illegal[] = {
	{
		.name = "a task that is not preemptible",
		.tasks_count = 2,
		.stubborn = true,
		.orders = { START(0, 0, ON(0)), SUSPEND(10, 0) },
		.story = "suspend task 0: it is not preemptible",
	},
	{
		.name = "a task that does not run",
		.tasks_count = 2,
		.orders = { SUSPEND(10, 0) },
		.story = "suspend task 0: it does not run",
	},
	{
		.name = "nodes that are taken",
		.tasks_count = 3,
		.orders = { START(0, 0, ON(0)), START(10, 1, ON(0)) },
		.story = "start task 1: its nodes are not free",
	},
	{
		.name = "nodes that somebody else has a claim to",
		.tasks_count = 4,
		.orders = { START(0, 0, ON(0)), SUSPEND(10, 0), START(10, 1, ON(0)),
			    START(10, 2, ON(0)) },
		.story = "start task 2: its nodes are not free",
	},
	{
		.name = "a suspended task started anew",
		.tasks_count = 2,
		.orders = { START(0, 0, ON(0)), SUSPEND(10, 0), START(20, 0, ON(0)) },
		.story = "start task 0: it is not waiting",
	},
	{
		.name = "a task that goes on in another cluster",
		.tasks_count = 2,
		.orders = { START(0, 0, ON(0)), SUSPEND(10, 0),
			    { 20, SCHED_ACTION_RESUME, 0, 1, ON(0) } },
		.story = "resume task 0: it can go on in its own cluster alone",
	},
	{
		.name = "a task that goes on without having been suspended",
		.tasks_count = 2,
		.orders = { RESUME(20, 0, ON(0)) },
		.story = "resume task 0: it is not suspended",
	},
	{
		.name = "too few nodes",
		.tasks_count = 2,
		.rows = { WIDE },
		.orders = { START(0, 0, ON_BOTH), SUSPEND(10, 0), RESUME(20, 0, ON(0)) },
		.story = "resume task 0: it needs another number of nodes",
	},
	{
		.name = "a node that there is not",
		.tasks_count = 2,
		.orders = { START(0, 0, ON(2)) },
		.story = "start task 0: its nodes are not nodes of the cluster in ascending order",
	},
	{
		.name = "a running task dropped",
		.tasks_count = 2,
		.orders = { START(0, 0, ON(0)), DROP(10, 0) },
		.story = "drop task 0: it is neither waiting nor suspended",
	},
	{
		.name = "a task that nobody has seen",
		.tasks_count = 2,
		.orders = { START(0, 7, ON(0)) },
		.story = "start task 7: there is no such task",
	},
};

/* The policy: what the scene in play says of this event. Policies carry no data of their own. */
static const struct scene *playing;
static GString *seen;

static void see(const struct sched_snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->running_count; i++) {
		const struct sched_running *r = &snapshot->running[i];

		g_string_append_printf(seen, "%srun %u@c%u:%u %g+%g to %g%s", seen->len ? ", " : "",
				       r->task->id, r->cluster, r->nodes[0], r->start_s,
				       r->executed_s, r->end_s, r->task->preemptible ? " P" : "");
	}
	for (uint32_t i = 0; i < snapshot->suspended_count; i++) {
		const struct sched_suspended *s = &snapshot->suspended[i];

		g_string_append_printf(seen, "%ssuspended %u@c%u %g", seen->len ? ", " : "",
				       s->task->id, s->cluster, s->executed_s);
	}
	for (uint32_t i = 0; i < snapshot->down_count; i++)
		g_string_append_printf(seen, "%sdown c%u:%u", seen->len ? ", " : "",
				       snapshot->down[i].cluster, snapshot->down[i].node);
}

static int play(struct mapping *mapping)
{
	const double now_s = mapping->snapshot->now_s;
	struct sched_action *actions =
		scratch_array(mapping->scratch, G_N_ELEMENTS(playing->orders), sizeof(*actions));

	if (playing->seen && now_s == playing->seen_s)
		see(mapping->snapshot);
	mapping->actions = actions;
	mapping->actions_count = 0;
	for (size_t i = 0; i < G_N_ELEMENTS(playing->orders); i++) {
		const struct order *order = &playing->orders[i];

		if (order->kind == SCHED_ACTION_NONE || order->time_s != now_s)
			continue;
		actions[mapping->actions_count++] = (struct sched_action){
			.kind = order->kind,
			.task = order->task,
			.cluster = order->cluster,
			.nodes_count = order->nodes_count,
			.nodes = order->nodes,
			.start_s = now_s,
			.end_s = now_s + 15,
			.reason = SCHED_REASON_CHANCE,
		};
	}
	return 0;
}

static const struct policy_ops play_ops = { .name = "play", .decide = play };

static struct sched_system *make_system(void)
{
	const struct sched_cluster clusters[] = {
		{ .name = "c", .nodes = 2, .cores = 1, .pstates = 1 },
		{ .name = "d", .nodes = 1, .cores = 1, .pstates = 1 },
	};
	struct sched_system *system = sched_system_new(clusters, 2, 2);

	for (uint32_t row = 0; row < 2; row++) {
		system->row_names[row] = row == NARROW ? "narrow" : "wide";
		for (uint32_t c = 0; c <= 1 - row; c++) {
			system->etc_s[row * 2 + c] = 15;
			system->eec_j[row * 2 + c] = 30;
			system->nodes[row * 2 + c] = row + 1;
		}
	}
	g_assert_cmpint(sched_system_finish(system, NULL), ==, SCHED_SYSTEM_OK);
	return system;
}

/* A recorder that remembers. */
struct memory {
	struct engine_recorder recorder;
	GString *story;
	GString *suspensions;
	enum engine_task_state states[TASKS_MAX];
};

static bool tell_event(struct engine_recorder *recorder, double time_s, const char *kind,
		       const char *detail)
{
	g_string_append_printf(((struct memory *)recorder)->story, "%g %s\n", time_s, kind);
	return true;
}

/* No task ends twice. */
static bool tell_task(struct engine_recorder *recorder, const struct engine_task *task)
{
	enum engine_task_state *state = &((struct memory *)recorder)->states[task->task->id];

	g_assert_cmpint(*state, <, ENGINE_TASK_COMPLETED);
	*state = task->state;
	return true;
}

static bool tell_suspension(struct engine_recorder *recorder, const struct engine_suspension *s)
{
	g_string_append_printf(((struct memory *)recorder)->suspensions,
			       "%u.%u #%u from %u: %g, %g after %g; %g, %g\n", s->task, s->attempt,
			       s->n, s->nodes[0], s->requested_s, s->suspended_s, s->exec_s,
			       s->resume_requested_s, s->since_s);
	return true;
}

/* A run of a scene. */
struct stage {
	const struct scene *scene;
	struct sched_system *system;
	struct sched_task tasks[TASKS_MAX];
	struct workload workload;
	struct script script;
	struct memory memory;
	struct engine_setup setup;
	struct backend *backend;
	struct engine *engine;
	struct engine_result result;
};

static void count_script(struct script *script, const struct scene *scene)
{
	while (script->steps_count < G_N_ELEMENTS(scene->steps) &&
	       scene->steps[script->steps_count].n > 0)
		script->steps_count++;
	while (script->events_count < G_N_ELEMENTS(scene->events) &&
	       scene->events[script->events_count].kind)
		script->events_count++;
	while (script->attempts_count < G_N_ELEMENTS(scene->attempts) &&
	       scene->attempts[script->attempts_count].attempt > 0)
		script->attempts_count++;
}

static void stage_init(struct stage *stage, const struct scene *scene)
{
	*stage = (struct stage){ .scene = scene, .system = make_system() };
	for (uint32_t i = 0; i < scene->tasks_count; i++)
		stage->tasks[i] = (struct sched_task){
			.id = i,
			.row = scene->rows[i],
			.utility = utility_testbed(4, 600, 900),
			.may_preempt = true,
			.preemptible = i > 0 || !scene->stubborn,
		};
	stage->workload = (struct workload){ .trial = 1,
					     .tasks_count = scene->tasks_count,
					     .tasks = stage->tasks };
	stage->script = (struct script){
		.system = stage->system,
		.attempts = scene->attempts,
		.events = scene->events,
		.steps = scene->steps,
		.twice = scene->twice,
	};
	count_script(&stage->script, scene);
	stage->memory = (struct memory){
		.recorder = { .event = tell_event,
			      .task = tell_task,
			      .suspension = tell_suspension },
		.story = g_string_new(NULL),
		.suspensions = g_string_new(NULL),
	};
	stage->setup = (struct engine_setup){
		.system = stage->system,
		.workload = &stage->workload,
		.policy = { .ops = &play_ops,
			    .future = POLICY_FUTURE_PLACEHOLDERS,
			    .name = "play" },
		.mapping_interval_s = INTERVAL_S,
		.duration_s = DURATION_S,
		.recorder = &stage->memory.recorder,
	};
	playing = scene;
	seen = g_string_new(NULL);
}

static void stage_run(struct stage *stage)
{
	stage->backend = scripted_backend_new(&stage->script);
	stage->engine = engine_new(&stage->setup, stage->backend);
	engine_run(stage->engine, &stage->result);
}

static void stage_finish(struct stage *stage)
{
	engine_free(stage->engine);
	backend_destroy(stage->backend);
	g_string_free(stage->memory.story, TRUE);
	g_string_free(stage->memory.suspensions, TRUE);
	g_string_free(seen, TRUE);
	sched_system_free(stage->system);
}

static void check_log(const struct stage *stage, const char *log)
{
	const char *said = scripted_backend_log(stage->backend);

	/* The one that is never mapped keeps the run going to its end. */
	g_assert_cmpstr(said, ==, log);
}

static void test_scene(const void *data)
{
	const struct scene *scene = data;
	struct stage stage;

	stage_init(&stage, scene);
	stage_run(&stage);
	check_log(&stage, scene->log);
	g_assert_cmpstr(stage.memory.story->str, ==, scene->story ? scene->story : "");
	if (scene->seen)
		g_assert_cmpstr(seen->str, ==, scene->seen);
	g_assert_cmpint(stage.result.ended_by, ==, ENGINE_END_TIME);
	g_assert_cmpuint(stage.result.tasks_completed, ==, scene->completed);
	g_assert_cmpuint(stage.result.tasks_failed, ==, scene->failed);
	g_assert_cmpuint(stage.result.tasks_dropped, ==, scene->dropped);
	g_assert_cmpfloat(stage.result.utility, ==, 4 * scene->completed);
	stage_finish(&stage);
}

static void test_illegal(const void *data)
{
	const struct scene *scene = data;
	struct stage stage;
	g_autofree char *reason = g_strconcat("policy \"play\" asks for what cannot be: ",
					      scene->story, NULL);

	stage_init(&stage, scene);
	stage_run(&stage);
	g_assert_cmpint(stage.result.ended_by, ==, ENGINE_END_ABORTED);
	g_assert_cmpstr(engine_reason(stage.engine), ==, reason);
	stage_finish(&stage);
}

/* The first scene but one, in its record. */
static void test_record(void)
{
	struct stage stage;
	const struct engine_task *task;

	stage_init(&stage, &scenes[1]);
	stage_run(&stage);
	g_assert_cmpstr(stage.memory.suspensions->str, ==,
			"0.1 #1 from 0: 10, nan after nan; nan, nan\n"
			"0.1 #1 from 0: 10, 22 after 10; nan, nan\n"
			"0.1 #1 from 0: 10, 22 after 10; 40, nan\n"
			"0.1 #1 from 0: 10, 22 after 10; 40, 52\n");
	task = engine_task(stage.engine, 0);
	g_assert_cmpfloat(task->started_s, ==, 0);
	g_assert_cmpfloat(task->since_s, ==, 52);
	g_assert_cmpfloat(task->executed_s, ==, 10);
	g_assert_cmpfloat(task->exec_s, ==, 15);
	g_assert_cmpfloat(task->ended_s, ==, 57);
	g_assert_cmpuint(task->suspensions, ==, 1);
	task = engine_task(stage.engine, 1);
	g_assert_cmpfloat(task->planned_start_s, ==, 10);
	g_assert_cmpfloat(task->started_s, ==, 22);
	g_assert_cmpfloat(task->exec_s, ==, 15);
	stage_finish(&stage);
}

/* A person's wishes at certain times. */
struct wish {
	double time_s;
	uint32_t task;
	bool resume;
	const char *answer;
};

struct person {
	struct stage stage;
	const struct wish *wishes;
};

static void wish(double time_s, void *data)
{
	struct person *person = data;
	const struct wish *w = person->wishes++;
	const char *answer;

	g_assert_cmpfloat(time_s, ==, w->time_s);
	answer = w->resume ? engine_request_resume(person->stage.engine, w->task)
			   : engine_request_suspend(person->stage.engine, w->task);
	g_assert_cmpstr(answer, ==, w->answer);
}

static void run_person(struct person *person, const struct scene *scene, const struct wish *wishes)
{
	double calls_s[16];
	uint32_t count = 0;

	for (; wishes[count].time_s > 0; count++)
		calls_s[count] = wishes[count].time_s;
	stage_init(&person->stage, scene);
	person->wishes = wishes;
	person->stage.script.calls_s = calls_s;
	person->stage.script.calls_count = count;
	person->stage.script.call = wish;
	person->stage.script.data = person;
	person->stage.backend = scripted_backend_new(&person->stage.script);
	person->stage.engine = engine_new(&person->stage.setup, person->stage.backend);
	engine_run(person->stage.engine, &person->stage.result);
}

static void test_person(void)
{
	/* Task 0 is not preemptible: that is for policies. */
	static const struct scene scene = {
		.tasks_count = 3,
		.stubborn = true,
		.orders = { START(0, 0, ON(0)), START(20, 1, ON(0)) },
		.seen = "run 1@c0:0 20+0 to 35 P",
		.seen_s = 30,
	};
	static const struct wish wishes[] = {
		{ 4, 2, false, "it does not run" },
		{ 5, 2, true, "it is not suspended" },
		{ 6, 0, false, NULL },
		{ 7, 0, false, NULL }, /* suspended already */
		{ 8, 9, false, "there is no such task" },
		{ 32, 0, true, NULL }, /* node 1 is idle: at once */
		{ 40, 1, true, "it is not suspended" },
		{ 90, 0, false, "it has ended" },
		{ 0 },
	};
	struct person person;

	run_person(&person, &scene, wishes);
	check_log(&person.stage, "0 start 0.1 c0 0\n6 suspend 0.1 #1\n20 start 1.1 c0 0\n"
				 "32 resume 0.1 #1 c0 1\n");
	g_assert_cmpstr(seen->str, ==, scene.seen); /* it is not among the mappable */
	g_assert_cmpuint(person.stage.result.tasks_completed, ==, 2);
	stage_finish(&person.stage);
}

/* Where its nodes are not idle it goes on as soon as they are. */
static void test_person_waits(void)
{
	static const struct scene scene = {
		.tasks_count = 4,
		.orders = { START(0, 0, ON(0)), START(0, 1, ON(1)), START(10, 2, ON(0)) },
		.steps = { { 0, 1, false, SCRIPT_DONE, 2, 0 } },
	};
	static const struct wish wishes[] = {
		{ 6, 0, false, NULL },
		{ 13, 0, true, NULL },
		{ 0 },
	};
	struct person person;

	run_person(&person, &scene, wishes);
	/* Task 1 ends at 15 s. */
	check_log(&person.stage, "0 start 0.1 c0 0\n0 start 1.1 c0 1\n6 suspend 0.1 #1\n"
				 "10 start 2.1 c0 0\n15 resume 0.1 #1 c0 1\n");
	stage_finish(&person.stage);
}

static void test_person_in_between(void)
{
	/* Suspended by the policy; a person takes over, and lets go while it is being suspended. */
	static const struct scene scene = {
		.tasks_count = 4,
		.orders = { START(0, 0, ON(0)), SUSPEND(10, 0), START(10, 1, ON(0)),
			    START(10, 2, ON(1)) },
		.steps = { { 0, 1, false, SCRIPT_DONE, 5, 0 } },
	};
	static const struct wish wishes[] = {
		{ 12, 0, false, NULL },
		{ 13, 0, true, NULL },
		{ 14, 0, false, NULL },
		{ 18, 0, true, NULL },
		{ 26, 0, true, "it is not suspended" },
		{ 0 },
	};
	struct person person;

	run_person(&person, &scene, wishes);
	/* Task 2 ends at 25 s. */
	check_log(&person.stage, "0 start 0.1 c0 0\n10 suspend 0.1 #1\n10 start 2.1 c0 1\n"
				 "15 start 1.1 c0 0\n25 resume 0.1 #1 c0 1\n");
	g_assert_cmpuint(person.stage.result.tasks_completed, ==, 3);
	stage_finish(&person.stage);
}

/*
 * A task executes 10 s before the day and 5 s in it, another 5 s in it and the rest after it: what
 * they earn counts pro rata, and the time in which they were suspended not at all.
 */
static void test_day(void)
{
	static const struct scene scene = {
		.tasks_count = 4,
		.attempts = { { 2, 1, 30, BACKEND_OUTCOME_COMPLETED, false } },
		.orders = { START(10, 0, ON(0)), SUSPEND(20, 0), RESUME(50, 0, ON(0)),
			    START(20, 1, ON(1)), SUSPEND(30, 1), RESUME(90, 1, ON(1)),
			    START(60, 2, ON(0)), SUSPEND(70, 2), RESUME(90, 2, ON(0)) },
	};
	struct stage stage;

	stage_init(&stage, &scene);
	stage.setup.lead_s = 30;
	stage.setup.gate = true;
	stage_run(&stage);
	/* 4 x (5/15 of task 0 + 5/15 of task 1). Of task 2 10 s and 5 s of 15 s are expected. */
	g_assert_cmpuint(stage.result.tasks_completed, ==, 2);
	g_assert_cmpfloat_with_epsilon(stage.result.utility, 4 * (5 / 15.0 + 5 / 15.0 + 1), 1e-12);
	stage_finish(&stage);
}

/* Task 0 was leaving node 0 for task 1 when the run was cut off: that claim is a reservation now. */
static void restore_claim(struct stage *stage)
{
	static const uint32_t node = 0;
	const struct engine_task leaving = { .state = ENGINE_TASK_SUSPENDING, .nodes_count = 1,
					     .nodes = &node, .attempts = 1, .started_s = 0 };
	const struct engine_task claims = { .state = ENGINE_TASK_PLANNED, .nodes_count = 1,
					    .nodes = &node, .reservation = true,
					    .planned_start_s = 10, .started_s = NAN };
	const struct engine_suspension suspension = {
		.task = 0, .attempt = 1, .n = 1, .nodes_count = 1, .nodes = &node,
		.requested_s = 10, .suspended_s = NAN, .exec_s = NAN, .resume_requested_s = NAN,
		.resumed_s = NAN, .since_s = NAN,
	};
	const struct backend_start start = { 0, 1, NARROW, 0, 0, &node, 1 };

	g_assert_true(engine_restore_task(stage->engine, 0, &leaving));
	g_assert_true(engine_restore_task(stage->engine, 1, &claims));
	g_assert_true(engine_restore_suspension(stage->engine, &suspension));
	for (uint32_t i = 0; i < engine_tasks_count(stage->engine); i++)
		g_assert_true(engine_restored_well(stage->engine, i));
	scripted_backend_adopt(stage->backend, &start, 0);
}

static void test_restored_claim(void)
{
	static const struct scene scene = {
		.tasks_count = 3,
		.attempts = { { 0, 1, 60, BACKEND_OUTCOME_COMPLETED, false } },
		.steps = { { 0, 1, false, SCRIPT_STAYED, 3, 0 } },
		.orders = { START(20, 1, ON(1)) },
	};
	struct stage stage;

	stage_init(&stage, &scene);
	stage.script.now_s = 12;
	stage.backend = scripted_backend_new(&stage.script);
	stage.engine = engine_new(&stage.setup, stage.backend);
	restore_claim(&stage);
	engine_run(stage.engine, &stage.result);
	check_log(&stage, "12 suspend 0.1 #1\n20 start 1.1 c0 1\n");
	g_assert_cmpuint(stage.result.tasks_completed, ==, 2);
	stage_finish(&stage);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(scenes); i++) {
		g_autofree char *path = g_strdup_printf("/preempt/%s", scenes[i].name);

		g_test_add_data_func(path, &scenes[i], test_scene);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(illegal); i++) {
		g_autofree char *path = g_strdup_printf("/illegal/%s", illegal[i].name);

		g_test_add_data_func(path, &illegal[i], test_illegal);
	}
	g_test_add_func("/preempt/the record tells each step", test_record);
	g_test_add_func("/preempt/a claim that was restored waits for nobody who stays",
			test_restored_claim);
	g_test_add_func("/person/a task is suspended until a person says otherwise", test_person);
	g_test_add_func("/person/it goes on at idle nodes before the policy is asked",
			test_person_waits);
	g_test_add_func("/person/a person may change their mind", test_person_in_between);
	g_test_add_func("/day/what is earned counts by execution time", test_day);
	return g_test_run();
}
