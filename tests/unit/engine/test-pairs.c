/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whatever the backend reports in whatever state of a task: a scene brings task 0 into each state,
 * and then one report comes. The table (task_fsm.h) says what follows. The backend does nothing by
 * itself; the test reports in its place.
 */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "controller/engine/migration.h"
#include "controller/engine/suspensions.h"
#include "tests/oracle/pruning_system.h"
#include "tests/unit/engine/preempt_stage.h"

/* The backend. */

struct idle_backend {
	struct backend base;
	struct backend_ops ops;
	double now_s;
	GString *log; /* what it was asked for */
};

static double idle_now_s(struct backend *backend)
{
	return ((struct idle_backend *)backend)->now_s;
}

static void idle_start(struct backend *backend, const struct sched_allocation *placed,
		       uint32_t attempt)
{
	g_string_append_printf(((struct idle_backend *)backend)->log, "start %u.%u\n",
			       placed->task->id, attempt);
}

static void idle_enqueue(struct backend *backend, const struct sched_allocation *placed,
			 uint32_t attempt, double start_before_s)
{
	g_string_append_printf(((struct idle_backend *)backend)->log, "enqueue %u.%u\n",
			       placed->task->id, attempt);
}

static void idle_kill(struct backend *backend, uint32_t task, uint32_t attempt)
{
	g_string_append_printf(((struct idle_backend *)backend)->log, "kill %u.%u\n", task,
			       attempt);
}

static void idle_suspend(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n)
{
	g_string_append_printf(((struct idle_backend *)backend)->log, "suspend %u.%u #%u\n", task,
			       attempt, n);
}

static void idle_resume(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n,
			const uint32_t *nodes, uint32_t nodes_count)
{
	g_string_append_printf(((struct idle_backend *)backend)->log, "resume %u.%u #%u\n", task,
			       attempt, n);
}

static void idle_migrate(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n,
			 const uint32_t *nodes, uint32_t nodes_count)
{
	g_string_append_printf(((struct idle_backend *)backend)->log, "migrate %u.%u #%u\n", task,
			       attempt, n);
}

static double idle_energy_j(struct backend *backend)
{
	return 0;
}

static void idle_set_limit(struct backend *backend, double limit_j)
{
}

static void idle_destroy(struct backend *backend)
{
	g_string_free(((struct idle_backend *)backend)->log, TRUE);
	g_free(backend);
}

static struct backend *idle_new(bool keeps_queues)
{
	struct idle_backend *idle = g_new0(struct idle_backend, 1);

	idle->ops = (struct backend_ops){
		.name = "idle",
		.now_s = idle_now_s,
		.start = idle_start,
		.kill = idle_kill,
		.suspend = idle_suspend,
		.resume = idle_resume,
		.migrate = idle_migrate,
		.enqueue = keeps_queues ? idle_enqueue : NULL,
		.energy_j = idle_energy_j,
		.set_limit = idle_set_limit,
		.destroy = idle_destroy,
	};
	idle->base.ops = &idle->ops;
	idle->log = g_string_new(NULL);
	return &idle->base;
}

static GString *log_of(struct backend *backend)
{
	return ((struct idle_backend *)backend)->log;
}

/* Lets the time pass until `time_s`; the engine has its turns. */
static void advance(struct engine *engine, struct backend *backend, double time_s)
{
	struct idle_backend *idle = (struct idle_backend *)backend;

	while (engine_next_s(engine) <= time_s && !engine_has_ended(engine)) {
		idle->now_s = fmax(idle->now_s, engine_next_s(engine));
		engine_event(engine, &(struct backend_event){.time_s = idle->now_s});
	}
	idle->now_s = time_s;
}

/* Reports an event of the present attempt, and of its last suspension or migration, now. */
static void report(struct engine *engine, struct backend *backend, enum backend_event_kind kind,
		   enum backend_outcome outcome, uint32_t index)
{
	const struct engine_task *task = engine_task_at(engine, index);
	const double now_s = backend_now_s(backend);
	const bool migrates =
		kind == BACKEND_EVENT_MIGRATED || kind == BACKEND_EVENT_MIGRATION_FAILED;

	engine_event(engine, &(struct backend_event){
				     .kind = kind,
				     .time_s = now_s,
				     .task = index,
				     .attempt = task->attempts,
				     .outcome = outcome,
				     .exec_s = 2,
				     .since_s = now_s,
				     .n = migrates ? task->migrations : task->suspensions,
				     .energy_j = NAN,
				     .reason = "the test says so",
			     });
}

/* What the backend reports when this happens to a task. False: it does not report it. */
static bool report_of(enum engine_task_event event, enum backend_event_kind *ret_kind,
		      enum backend_outcome *ret_outcome)
{
	static const struct {
		enum backend_event_kind kind;
		enum backend_outcome outcome;
	} reports[ENGINE_TASK_EVENTS] = {
		[ENGINE_TASK_STARTED] = {BACKEND_EVENT_STARTED, BACKEND_OUTCOME_NONE},
		[ENGINE_TASK_SUSPEND_DONE] = {BACKEND_EVENT_SUSPENDED, BACKEND_OUTCOME_NONE},
		[ENGINE_TASK_RESUME_DONE] = {BACKEND_EVENT_RESUMED, BACKEND_OUTCOME_NONE},
		[ENGINE_TASK_SUSPENSION_FAILED] = {BACKEND_EVENT_SUSPENSION_FAILED,
						   BACKEND_OUTCOME_NONE},
		[ENGINE_TASK_MIGRATE_DONE] = {BACKEND_EVENT_MIGRATED, BACKEND_OUTCOME_NONE},
		[ENGINE_TASK_MIGRATE_FAILED] = {BACKEND_EVENT_MIGRATION_FAILED,
						BACKEND_OUTCOME_NONE},
		[ENGINE_TASK_COMPLETE] = {BACKEND_EVENT_ENDED, BACKEND_OUTCOME_COMPLETED},
		[ENGINE_TASK_FAIL] = {BACKEND_EVENT_ENDED, BACKEND_OUTCOME_FAILED},
		[ENGINE_TASK_LOSE] = {BACKEND_EVENT_ENDED, BACKEND_OUTCOME_LOST},
		[ENGINE_TASK_KILL] = {BACKEND_EVENT_ENDED, BACKEND_OUTCOME_KILLED},
	};

	*ret_kind = reports[event].kind;
	*ret_outcome = reports[event].outcome;
	return reports[event].kind != BACKEND_EVENT_NONE;
}

/* Nodes of their own. */

struct scene {
	enum engine_task_state state; /* of task 0, at until_s */
	struct preempt_scene plans;
	struct {
		double time_s;
		enum backend_event_kind kind;
		uint32_t task;
	} reports[5];  /* up to the first at time 0 */
	bool migrates; /* a user migrates task 0 at until_s */
	double until_s;
};

#define RESERVE(time, task, ...)                                                                   \
	{                                                                                          \
		time, SCHED_ACTION_RESERVE, task, 0, __VA_ARGS__                                   \
	}
#define BOTH_STARTED                                                                               \
	{1, BACKEND_EVENT_STARTED, 0},                                                             \
	{                                                                                          \
		1, BACKEND_EVENT_STARTED, 1                                                        \
	}

static const struct scene scenes[] = {
	{ENGINE_TASK_WAITING, {.name = "waiting", .tasks_count = 2}, .until_s = 5},
	{
		ENGINE_TASK_PLANNED,
		{.name = "planned",
		 .tasks_count = 3,
		 .orders = {START(0, 1, ON(0)), RESERVE(10, 0, ON(0))}},
		.until_s = 12,
	},
	{
		ENGINE_TASK_CLAIMED,
		{.name = "claimed",
		 .tasks_count = 3,
		 .orders = {START(0, 1, ON(0)), SUSPEND(10, 1), START(10, 0, ON(0))}},
		.reports = {{1, BACKEND_EVENT_STARTED, 1}},
		.until_s = 12,
	},
	{
		ENGINE_TASK_STARTING,
		{.name = "starting", .tasks_count = 2, .orders = {START(0, 0, ON(0))}},
		.until_s = 2,
	},
	{
		ENGINE_TASK_RUNNING,
		{.name = "running", .tasks_count = 2, .orders = {START(0, 0, ON(0))}},
		.reports = {{1, BACKEND_EVENT_STARTED, 0}},
		.until_s = 2,
	},
	{
		ENGINE_TASK_SUSPENDING,
		{.name = "suspending",
		 .tasks_count = 2,
		 .orders = {START(0, 0, ON(0)), SUSPEND(10, 0)}},
		.reports = {{1, BACKEND_EVENT_STARTED, 0}},
		.until_s = 12,
	},
	{
		ENGINE_TASK_SUSPENDING_CLAIMED,
		{.name = "suspending, and the nodes where it resumes are being left",
		 .tasks_count = 3,
		 .orders = {START(0, 0, ON(0)), START(0, 1, ON(1)), SUSPEND(10, 0), SUSPEND(10, 1),
			    RESUME(10, 0, ON(1))}},
		.reports = {BOTH_STARTED},
		.until_s = 12,
	},
	{
		ENGINE_TASK_SUSPENDED,
		{.name = "suspended",
		 .tasks_count = 2,
		 .orders = {START(0, 0, ON(0)), SUSPEND(10, 0)}},
		.reports = {{1, BACKEND_EVENT_STARTED, 0}, {11, BACKEND_EVENT_SUSPENDED, 0}},
		.until_s = 12,
	},
	{
		ENGINE_TASK_SUSPENDED_CLAIMED,
		{.name = "suspended, and the nodes where it resumes are still being left",
		 .tasks_count = 3,
		 .orders = {START(0, 0, ON(0)), START(0, 1, ON(1)), SUSPEND(10, 0), SUSPEND(10, 1),
			    RESUME(10, 0, ON(1))}},
		.reports = {BOTH_STARTED, {11, BACKEND_EVENT_SUSPENDED, 0}},
		.until_s = 12,
	},
	{
		ENGINE_TASK_SUSPENDED_CLAIMED,
		{.name = "suspended, and given nodes that are being left",
		 .tasks_count = 3,
		 .orders = {START(0, 0, ON(0)), START(0, 1, ON(1)), SUSPEND(10, 0), SUSPEND(20, 1),
			    RESUME(20, 0, ON(1))}},
		.reports = {BOTH_STARTED, {11, BACKEND_EVENT_SUSPENDED, 0}},
		.until_s = 22,
	},
	{
		/* Task 1 stays on the nodes. */
		ENGINE_TASK_SUSPENDED,
		{.name = "suspended, and the nodes where it was to resume were not left",
		 .tasks_count = 3,
		 .orders = {START(0, 0, ON(0)), START(0, 1, ON(1)), SUSPEND(10, 0), SUSPEND(20, 1),
			    RESUME(20, 0, ON(1))}},
		.reports = {BOTH_STARTED,
			    {11, BACKEND_EVENT_SUSPENDED, 0},
			    {21, BACKEND_EVENT_SUSPENSION_FAILED, 1}},
		.until_s = 22,
	},
	{
		ENGINE_TASK_RESUMING,
		{.name = "resuming",
		 .tasks_count = 2,
		 .orders = {START(0, 0, ON(0)), SUSPEND(10, 0), RESUME(20, 0, ON(1))}},
		.reports = {{1, BACKEND_EVENT_STARTED, 0}, {11, BACKEND_EVENT_SUSPENDED, 0}},
		.until_s = 22,
	},
	{
		ENGINE_TASK_MIGRATING,
		{.name = "migrating", .tasks_count = 2, .orders = {START(0, 0, ON(0))}},
		.reports = {{1, BACKEND_EVENT_STARTED, 0}},
		.migrates = true,
		.until_s = 12,
	},
};

/* Brings task 0 into the state of the scene. */
static void play(struct preempt_stage *stage, const struct scene *scene)
{
	static const uint32_t host = 1, node_hosts[] = {0, 1};
	uint32_t full;

	preempt_stage_init(stage, &scene->plans);
	stage->backend = idle_new(false);
	stage->engine = engine_new(&stage->setup, stage->backend);
	engine_begin_run(stage->engine);
	for (size_t i = 0; i < G_N_ELEMENTS(scene->reports) && scene->reports[i].time_s > 0; i++) {
		advance(stage->engine, stage->backend, scene->reports[i].time_s);
		report(stage->engine, stage->backend, scene->reports[i].kind, BACKEND_OUTCOME_NONE,
		       scene->reports[i].task);
	}
	advance(stage->engine, stage->backend, scene->until_s);
	if (scene->migrates)
		g_assert_cmpint(engine_request_migrate(stage->engine, 0, &host, 1, node_hosts,
						       &full),
				==, ENGINE_REFUSAL_NONE);
	g_assert_cmpint(engine_task_at(stage->engine, 0)->state, ==, scene->state);
}

/* Ends the run. A task is killed if its attempt is still under way, and only then. */
static void end_run(struct engine *engine, struct backend *backend)
{
	const bool under_way =
		engine_task_state_in(engine_task_at(engine, 0)->state, ENGINE_TASK_ATTEMPTED);
	const bool over = engine_task_over(engine_task_at(engine, 0));
	const gsize length = log_of(backend)->len;
	struct engine_result result;

	report(engine, backend, BACKEND_EVENT_ABORTED, BACKEND_OUTCOME_NONE, 0);
	g_assert_false(engine_stop_run(engine));
	engine_finish_run(engine, &result);
	g_assert_cmpint(result.ended_by, ==, ENGINE_END_ABORTED);
	g_assert_cmpuint(result.impossible_events, ==, 0);
	g_assert_cmpint(strstr(log_of(backend)->str + length, "kill 0.1\n") != NULL, ==, under_way);
	if (!over)
		g_assert_cmpint(engine_task_at(engine, 0)->state, ==, ENGINE_TASK_UNFINISHED);
}

static void assert_off_nodes(const struct engine *engine)
{
	for (uint32_t n = 0; n < 2; n++) {
		g_assert_cmpuint(engine_node_at(engine, 0, n).task, !=, 0);
		g_assert_cmpuint(engine_node_at(engine, 0, n).leaver, !=, 0);
	}
}

/*
 * While a suspension or migration of task 0 is under way, its state has the name of the task's
 * state; at other times none is under way.
 */
static void assert_states_agree(const struct engine *engine)
{
	const enum engine_task_state state = engine_task_at(engine, 0)->state;
	const enum suspension_state suspension = engine_suspension_state(engine, 0);
	const bool suspended =
		engine_task_state_in(state, ENGINE_TASK_ANY_SUSPENDING | ENGINE_TASK_ANY_SUSPENDED |
						    ENGINE_TASK_SET(ENGINE_TASK_RESUMING));

	if (suspended)
		g_assert_cmpstr(suspension_fsm.state_names[suspension], ==,
				engine_task_state_name(state));
	else
		g_assert_true(suspension == SUSPENSION_NONE || suspension > SUSPENSION_RESUMING);
	g_assert_cmpint(engine_migration_state(engine, 0) == MIGRATION_MIGRATING, ==,
			state == ENGINE_TASK_MIGRATING);
}

/* The report comes, and the task is in the state that the table says, or nothing has changed. */
static void check_report(const struct scene *scene, enum engine_task_event event)
{
	const struct fsm_transition *rule = fsm_transition(&engine_task_fsm, scene->state, event);
	enum backend_event_kind kind;
	enum backend_outcome outcome;
	struct preempt_stage stage;

	if (rule->rule == FSM_IMPOSSIBLE || !report_of(event, &kind, &outcome))
		return;
	if (scene->state == ENGINE_TASK_WAITING) /* no attempt that could be reported about */
		return;
	play(&stage, scene);

	const struct engine_task *task = engine_task_at(stage.engine, 0);
	const double next_s = engine_next_s(stage.engine);
	g_autofree char *story = g_strdup(stage.memory.story->str);
	g_autofree char *suspensions = g_strdup(stage.memory.suspensions->str);
	g_autofree char *log = g_strdup(log_of(stage.backend)->str);

	report(stage.engine, stage.backend, kind, outcome, 0);
	if (rule->rule == FSM_MOVES) {
		g_assert_cmpint(task->state, ==, rule->to);
		g_assert_cmpint(stage.memory.states[0], ==, rule->to);
	} else {
		g_assert_cmpint(task->state, ==, scene->state);
		g_assert_cmpfloat(engine_next_s(stage.engine), ==, next_s);
		g_assert_cmpstr(stage.memory.story->str, ==, story);
		g_assert_cmpstr(stage.memory.suspensions->str, ==, suspensions);
		g_assert_cmpstr(log_of(stage.backend)->str, ==, log);
	}
	assert_states_agree(stage.engine);
	if (kind == BACKEND_EVENT_ENDED)
		assert_off_nodes(stage.engine);
	end_run(stage.engine, stage.backend);
	preempt_stage_finish(&stage);
}

static void test_scene(const void *data)
{
	const struct scene *scene = data;
	struct preempt_stage stage;

	for (int event = 0; event < ENGINE_TASK_EVENTS; event++)
		check_report(scene, (enum engine_task_event)event);
	play(&stage, scene);
	end_run(stage.engine, stage.backend);
	preempt_stage_finish(&stage);
}

/* A user migrates task 0 to a node, each of which is a host. */
static void migrate(struct engine *engine, uint32_t node)
{
	static const uint32_t node_hosts[] = {0, 1};
	uint32_t full;

	g_assert_cmpint(engine_request_migrate(engine, 0, &node, 1, node_hosts, &full), ==,
			ENGINE_REFUSAL_NONE);
	g_assert_cmpint(engine_task_at(engine, 0)->state, ==, ENGINE_TASK_MIGRATING);
	g_assert_cmpuint(engine_node_at(engine, 0, node).task, ==, 0);
	g_assert_cmpuint(engine_node_at(engine, 0, !node).leaver, ==, 0);
}

/* A migration may follow another that is done, has failed, or was lost with its attempt. */
static void test_migrations(void)
{
	static const struct scene scene = {
		ENGINE_TASK_RUNNING,
		{.name = "migrations",
		 .tasks_count = 2,
		 .orders = {START(0, 0, ON(0)), START(20, 0, ON(0)), START(40, 0, ON(0))}},
		.reports = {{1, BACKEND_EVENT_STARTED, 0}},
		.until_s = 2,
	};
	struct preempt_stage stage;

	play(&stage, &scene);
	migrate(stage.engine, 1);
	report(stage.engine, stage.backend, BACKEND_EVENT_MIGRATED, BACKEND_OUTCOME_NONE, 0);
	migrate(stage.engine, 0);
	report(stage.engine, stage.backend, BACKEND_EVENT_MIGRATION_FAILED, BACKEND_OUTCOME_NONE,
	       0);
	g_assert_cmpuint(engine_task_at(stage.engine, 0)->nodes[0], ==, 1);
	migrate(stage.engine, 0);
	report(stage.engine, stage.backend, BACKEND_EVENT_ENDED, BACKEND_OUTCOME_LOST, 0);
	assert_off_nodes(stage.engine);
	advance(stage.engine, stage.backend, 21);
	report(stage.engine, stage.backend, BACKEND_EVENT_ENDED, BACKEND_OUTCOME_LOST, 0);
	assert_off_nodes(stage.engine);
	advance(stage.engine, stage.backend, 41);
	report(stage.engine, stage.backend, BACKEND_EVENT_STARTED, BACKEND_OUTCOME_NONE, 0);
	migrate(stage.engine, 1);
	report(stage.engine, stage.backend, BACKEND_EVENT_MIGRATED, BACKEND_OUTCOME_NONE, 0);
	report(stage.engine, stage.backend, BACKEND_EVENT_ENDED, BACKEND_OUTCOME_COMPLETED, 0);
	assert_off_nodes(stage.engine);
	end_run(stage.engine, stage.backend);
	preempt_stage_finish(&stage);
}

/* What happens to a running task, in this order, and how it is then. */
struct course {
	const char *name;
	enum {
		NOTHING,
		POLICY_SUSPENDS,
		USER_SUSPENDS,
		USER_RESUMES,
		WINDOW_EXHAUSTED,
		LIMIT_REMOVED,
		SUSPENSION_FAILS,
		ENDS,
	} deeds[5]; /* up to the first NOTHING */
	enum engine_task_state state;
	bool held;
};

static const struct course courses[] = {
	{"a user resumes what the policy suspends",
	 {POLICY_SUSPENDS, USER_RESUMES},
	 ENGINE_TASK_SUSPENDING,
	 false},
	{"a user suspends what the policy suspends",
	 {POLICY_SUSPENDS, USER_SUSPENDS},
	 ENGINE_TASK_SUSPENDING,
	 true},
	{"a user resumes twice",
	 {USER_SUSPENDS, USER_RESUMES, USER_RESUMES, SUSPENSION_FAILS},
	 ENGINE_TASK_RUNNING,
	 false},
	{"a user cannot suspend it", {USER_SUSPENDS, SUSPENSION_FAILS}, ENGINE_TASK_RUNNING, false},
	{"the window tries once more", /* until it has failed three times */
	 {WINDOW_EXHAUSTED, SUSPENSION_FAILS},
	 ENGINE_TASK_SUSPENDING,
	 true},
	{"it ends while the window holds it",
	 {WINDOW_EXHAUSTED, ENDS},
	 ENGINE_TASK_COMPLETED,
	 false},
	{"it ends when the limit is removed",
	 {WINDOW_EXHAUSTED, LIMIT_REMOVED, ENDS},
	 ENGINE_TASK_COMPLETED,
	 false},
	{"a user resumes it when the limit is removed",
	 {WINDOW_EXHAUSTED, LIMIT_REMOVED, USER_RESUMES},
	 ENGINE_TASK_SUSPENDING,
	 false},
};

static void do_deed(struct engine *engine, struct backend *backend, int deed)
{
	const struct engine_window window = {
		.limit_j = deed == WINDOW_EXHAUSTED ? 1 : 0,
		.length_s = 1000,
		.spent_j = 2,
	};

	switch (deed) {
	case POLICY_SUSPENDS:
		advance(engine, backend, 12);
		break;
	case USER_SUSPENDS:
		g_assert_cmpint(engine_request_suspend(engine, 0), ==, ENGINE_REFUSAL_NONE);
		break;
	case USER_RESUMES:
		g_assert_cmpint(engine_request_resume(engine, 0), ==, ENGINE_REFUSAL_NONE);
		break;
	case WINDOW_EXHAUSTED:
	case LIMIT_REMOVED:
		engine_set_window(engine, &window);
		advance(engine, backend, 3);
		break;
	case SUSPENSION_FAILS:
		report(engine, backend, BACKEND_EVENT_SUSPENSION_FAILED, BACKEND_OUTCOME_NONE, 0);
		break;
	default:
		report(engine, backend, BACKEND_EVENT_ENDED, BACKEND_OUTCOME_COMPLETED, 0);
		break;
	}
}

/* Users, the policy and the window of a limit have a say in when a suspended task resumes. */
static void test_course(const void *data)
{
	static const struct scene scene = {
		ENGINE_TASK_RUNNING,
		{.name = "running, and suspended by the policy later",
		 .tasks_count = 2,
		 .orders = {START(0, 0, ON(0)), SUSPEND(10, 0)}},
		.reports = {{1, BACKEND_EVENT_STARTED, 0}},
		.until_s = 2,
	};
	const struct course *course = data;
	struct preempt_stage stage;

	play(&stage, &scene);
	for (size_t i = 0; course->deeds[i] != NOTHING; i++)
		do_deed(stage.engine, stage.backend, (int)course->deeds[i]);
	g_assert_cmpint(engine_task_at(stage.engine, 0)->state, ==, course->state);
	g_assert_cmpint(engine_is_held(stage.engine, 0), ==, course->held);
	assert_states_agree(stage.engine);
	end_run(stage.engine, stage.backend);
	preempt_stage_finish(&stage);
}

/* Tells which suspended tasks the policy sees. */
static bool tell_decision(struct engine_recorder *recorder, const struct policy *policy,
			  const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	GString *story = ((struct preempt_memory *)recorder)->story;

	for (uint32_t i = 0; snapshot->now_s == 40 && i < snapshot->suspended_count; i++)
		g_string_append_printf(story, "40 sees %u\n", snapshot->suspended[i].task->id);
	return true;
}

/*
 * A window with 24 J left hides the suspended task that needs 26 J, which has the higher priority
 * and is listed first. It does not hide the task that needs 22 J.
 */
static void test_window_hides(void)
{
	static const struct preempt_scene scene = {
		.tasks_count = 3,
		.orders = {START(0, 0, ON(0)), START(0, 1, ON(1)), SUSPEND(10, 0), SUSPEND(10, 1),
			   RESUME(20, 0, ON(0)), SUSPEND(30, 0)},
	};
	static const struct {
		double time_s;
		enum backend_event_kind kind;
		uint32_t task;
	} reports[] = {
		{1, BACKEND_EVENT_STARTED, 0},    {1, BACKEND_EVENT_STARTED, 1},
		{11, BACKEND_EVENT_SUSPENDED, 0}, {11, BACKEND_EVENT_SUSPENDED, 1},
		{21, BACKEND_EVENT_RESUMED, 0},   {31, BACKEND_EVENT_SUSPENDED, 0},
	};
	const struct engine_window window = {.limit_j = 24, .length_s = 1000};
	struct preempt_stage stage;

	preempt_stage_init(&stage, &scene);
	stage.tasks[1].priority = 1;
	stage.memory.recorder.decision = tell_decision;
	stage.backend = idle_new(false);
	stage.engine = engine_new(&stage.setup, stage.backend);
	engine_begin_run(stage.engine);
	for (size_t i = 0; i < G_N_ELEMENTS(reports); i++) {
		advance(stage.engine, stage.backend, reports[i].time_s);
		report(stage.engine, stage.backend, reports[i].kind, BACKEND_OUTCOME_NONE,
		       reports[i].task);
	}
	engine_set_window(stage.engine, &window);
	advance(stage.engine, stage.backend, 41);
	g_assert_cmpstr(stage.memory.story->str, ==, "40 refused\n40 refused\n40 sees 0\n");
	end_run(stage.engine, stage.backend);
	preempt_stage_finish(&stage);
}

/* A task whose record cannot be used is ignored until a user releases or cancels it. */
static void test_quarantined(void)
{
	static const struct preempt_scene scene = {.tasks_count = 3};
	struct preempt_stage stage;

	preempt_stage_init(&stage, &scene);
	stage.backend = idle_new(false);
	stage.engine = engine_new(&stage.setup, stage.backend);
	for (uint32_t i = 0; i < 2; i++) {
		g_assert_true(engine_restore_quarantined(stage.engine, i, 1, "damaged"));
		g_assert_cmpint(engine_task_at(stage.engine, i)->state, ==,
				ENGINE_TASK_QUARANTINED);
	}
	engine_begin_run(stage.engine);
	advance(stage.engine, stage.backend, 12);
	g_assert_cmpint(engine_request_release(stage.engine, 0), ==, ENGINE_REFUSAL_NONE);
	g_assert_cmpint(engine_request_cancel(stage.engine, 1), ==, ENGINE_REFUSAL_NONE);
	g_assert_cmpint(engine_task_at(stage.engine, 0)->state, ==, ENGINE_TASK_WAITING);
	g_assert_cmpint(engine_task_at(stage.engine, 1)->state, ==, ENGINE_TASK_KILLED);
	end_run(stage.engine, stage.backend);
	preempt_stage_finish(&stage);
}

/* Clusters that keep their queues. */

struct queue_stage {
	struct pet *pet;
	struct sched_queueing settings;
	struct sched_system *system;
	struct sched_task tasks[2];
	struct workload workload;
	struct backend *backend;
	struct engine *engine;
};

/* Two tasks, the second of which comes late, and queues of this length; the run has not begun. */
static void queue_stage_init(struct queue_stage *stage, uint32_t length)
{
	struct engine_setup setup = {
		.mapping_interval_s = 1e9,
		.duration_s = 1e9,
		.moments = POLICY_AT_CHANGES,
	};
	char message[256];

	*stage = (struct queue_stage){.pet = pruning_pet_new(4, 1)};
	stage->settings = (struct sched_queueing){stage->pet,
						  1,
						  length,
						  {.drop_threshold = 0.5,
						   .defer_threshold = 0.9,
						   .evicting_baselines = true}};
	stage->system = pruning_system_new(&stage->settings);
	for (uint32_t i = 0; i < 2; i++)
		stage->tasks[i] = (struct sched_task){
			.id = i,
			.arrival_s = 1e6 * i,
			.utility = utility_testbed(1, 1e6, 2e6),
			.deadline_s = 1e6 * i + 500,
		};
	stage->workload = (struct workload){.trial = 1, .tasks_count = 2, .tasks = stage->tasks};
	setup.system = stage->system;
	setup.workload = &stage->workload;
	g_assert_cmpint(policy_parse("mm", &setup.policy, message, sizeof(message)), ==, 0);
	stage->backend = idle_new(true);
	stage->engine = engine_new(&setup, stage->backend);
}

/* Task 0 is queued, and is worth nothing from 100 s on. */
static void queue_stage_play(struct queue_stage *stage)
{
	queue_stage_init(stage, 4);
	engine_begin_run(stage->engine);
	advance(stage->engine, stage->backend, 5);
	g_assert_cmpint(engine_task_at(stage->engine, 0)->state, ==, ENGINE_TASK_QUEUED);
}

static void queue_stage_finish(struct queue_stage *stage)
{
	engine_free(stage->engine);
	backend_destroy(stage->backend);
	sched_system_free(stage->system);
	pet_free(stage->pet);
}

/* The end of a queued task may be reported before its beginning is. */
static void test_queued(void)
{
	for (int e = 0; e < ENGINE_TASK_EVENTS; e++) {
		const struct fsm_transition *rule =
			fsm_transition(&engine_task_fsm, ENGINE_TASK_QUEUED, e);
		enum backend_event_kind kind;
		enum backend_outcome outcome;
		struct queue_stage stage;

		if (rule->rule == FSM_IMPOSSIBLE ||
		    !report_of((enum engine_task_event)e, &kind, &outcome))
			continue;
		queue_stage_play(&stage);
		report(stage.engine, stage.backend, kind, outcome, 0);
		g_assert_cmpint(engine_task_at(stage.engine, 0)->state, ==, rule->to);
		end_run(stage.engine, stage.backend);
		queue_stage_finish(&stage);
	}
}

static void test_queued_at_end(void)
{
	struct queue_stage stage;

	queue_stage_play(&stage);
	end_run(stage.engine, stage.backend);
	queue_stage_finish(&stage);
}

static void test_queued_cancelled(void)
{
	struct queue_stage stage;

	queue_stage_play(&stage);
	g_assert_cmpint(engine_request_cancel(stage.engine, 0), ==, ENGINE_REFUSAL_NONE);
	g_assert_cmpint(engine_task_at(stage.engine, 0)->state, ==, ENGINE_TASK_KILLED);
	g_assert_cmpstr(log_of(stage.backend)->str, ==, "enqueue 0.1\nkill 0.1\n");
	end_run(stage.engine, stage.backend);
	queue_stage_finish(&stage);
}

/* A task whose deadline comes before its ranks run is evicted. */
static void test_evicted_while_starting(void)
{
	struct queue_stage stage;

	queue_stage_play(&stage);
	report(stage.engine, stage.backend, BACKEND_EVENT_BEGAN, BACKEND_OUTCOME_NONE, 0);
	g_assert_cmpint(engine_task_at(stage.engine, 0)->state, ==, ENGINE_TASK_STARTING);
	advance(stage.engine, stage.backend, 501);
	g_assert_cmpint(engine_task_at(stage.engine, 0)->state, ==, ENGINE_TASK_DROPPED);
	g_assert_cmpstr(log_of(stage.backend)->str, ==, "enqueue 0.1\nkill 0.1\n");
	end_run(stage.engine, stage.backend);
	queue_stage_finish(&stage);
}

/* A record for which its queue has no room is not restored, and has no effect. */
static void test_queue_full(void)
{
	uint32_t node = 0;
	struct engine_task record = {
		.state = ENGINE_TASK_RUNNING,
		.nodes = &node,
		.nodes_count = 1,
		.attempts = 1,
		.queued_n = 1,
		.started_s = 1,
	};
	struct queue_stage stage;

	queue_stage_init(&stage, 1);
	g_assert_true(engine_restore_task(stage.engine, 0, &record));
	record.queued_n = 2;
	g_assert_false(engine_restore_task(stage.engine, 1, &record));
	g_assert_cmpint(engine_task_at(stage.engine, 1)->state, ==, ENGINE_TASK_COMING);
	g_assert_cmpuint(engine_node_at(stage.engine, 0, 0).task, ==, 0);
	g_assert_true(engine_restore_quarantined(stage.engine, 1, 1, "its queue is full"));
	g_assert_cmpint(engine_task_at(stage.engine, 1)->state, ==, ENGINE_TASK_QUARANTINED);
	engine_begin_run(stage.engine);
	end_run(stage.engine, stage.backend);
	queue_stage_finish(&stage);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(scenes); i++) {
		g_autofree char *path = g_strdup_printf("/engine/pairs/%s", scenes[i].plans.name);

		g_test_add_data_func(path, &scenes[i], test_scene);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(courses); i++) {
		g_autofree char *path = g_strdup_printf("/engine/pairs/%s", courses[i].name);

		g_test_add_data_func(path, &courses[i], test_course);
	}
	g_test_add_func("/engine/pairs/migrations", test_migrations);
	g_test_add_func("/engine/pairs/a window hides what needs too much", test_window_hides);
	g_test_add_func("/engine/pairs/quarantined", test_quarantined);
	g_test_add_func("/engine/pairs/queued", test_queued);
	g_test_add_func("/engine/pairs/queued when the run ends", test_queued_at_end);
	g_test_add_func("/engine/pairs/queued and cancelled", test_queued_cancelled);
	g_test_add_func("/engine/pairs/evicted while starting", test_evicted_while_starting);
	g_test_add_func("/engine/pairs/restored when the queue is full", test_queue_full);
	return g_test_run();
}
