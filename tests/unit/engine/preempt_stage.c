/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/engine/preempt_stage.h"

#include "controller/sched/immediate.h"
#include "tests/unit/engine/drive.h"

/* Mapping events of all scenes are every 10 s, runs last 100 s. */
#define INTERVAL_S 10
#define DURATION_S 100

/* The policy: what the scene in play says of this event. Policies carry no data of their own. */
static const struct preempt_scene *playing;
static GString *seen;

static void see(const struct sched_snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->running_count; i++) {
		const struct sched_allocation *r = &snapshot->running[i];

		g_string_append_printf(seen, "%srun %u@c%u:%u %g+%g to %g%s", seen->len ? ", " : "",
				       r->task->id, r->cluster, r->nodes[0], r->start_s,
				       r->executed_s, r->end_s, r->task->preemptible ? " P" : "");
	}
	for (uint32_t i = 0; i < snapshot->suspended_count; i++) {
		const struct sched_allocation *s = &snapshot->suspended[i];

		g_string_append_printf(seen, "%ssuspended %u@c%u %g", seen->len ? ", " : "",
				       s->task->id, s->cluster, s->executed_s);
	}
	for (uint32_t i = 0; i < snapshot->down_count; i++)
		g_string_append_printf(seen, "%sdown c%u:%u", seen->len ? ", " : "",
				       snapshot->down[i].cluster, snapshot->down[i].node);
}

static int play(struct immediate *event)
{
	const double now_s = event->snapshot->now_s;
	struct sched_action *actions =
		arena_array(event->arena, G_N_ELEMENTS(playing->orders), sizeof(*actions));

	if (playing->seen && now_s == playing->seen_s)
		see(event->snapshot);
	event->actions = actions;
	event->actions_count = 0;
	for (size_t i = 0; i < G_N_ELEMENTS(playing->orders); i++) {
		const struct preempt_order *order = &playing->orders[i];

		if (order->kind == SCHED_ACTION_NONE || order->time_s != now_s)
			continue;
		actions[event->actions_count++] = (struct sched_action){
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

static const struct policy_immediate immediate = {.decide = play};
static const struct policy_ops play_ops = {.name = "play", .immediate = &immediate};

static struct sched_system *make_system(void)
{
	const struct sched_cluster clusters[] = {
		{.name = "c", .nodes = 2, .cores = 1, .pstates = 1},
		{.name = "d", .nodes = 1, .cores = 1, .pstates = 1},
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

static bool tell_event(struct engine_recorder *recorder, double time_s, const char *kind,
		       const char *detail)
{
	g_string_append_printf(((struct preempt_memory *)recorder)->story, "%g %s\n", time_s, kind);
	return true;
}

/* No task ends twice. */
static bool tell_task(struct engine_recorder *recorder, const struct engine_task *task)
{
	enum engine_task_state *state =
		&((struct preempt_memory *)recorder)->states[task->task->id];

	g_assert_false(engine_task_state_in(*state, ENGINE_TASK_OVER));
	*state = task->state;
	return true;
}

static bool tell_suspension(struct engine_recorder *recorder, const struct engine_suspension *s)
{
	g_string_append_printf(((struct preempt_memory *)recorder)->suspensions,
			       "%u.%u #%u from %u: %g, %g after %g; %g, %g\n", s->task, s->attempt,
			       s->n, s->nodes[0], s->requested_s, s->suspended_s, s->exec_s,
			       s->resume_requested_s, s->since_s);
	return true;
}

/* Only tasks that share hosts have yields. */
static bool tell_share(struct engine_recorder *recorder, double time_s,
		       const struct engine_task *task)
{
	g_assert_not_reached();
}

static void count_script(struct script *script, const struct preempt_scene *scene)
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

void preempt_stage_init(struct preempt_stage *stage, const struct preempt_scene *scene)
{
	*stage = (struct preempt_stage){.scene = scene, .system = make_system()};
	for (uint32_t i = 0; i < scene->tasks_count; i++)
		stage->tasks[i] = (struct sched_task){
			.id = i,
			.row = scene->rows[i],
			.utility = utility_testbed(4, 600, 900),
			.may_preempt = true,
			.preemptible = i > 0 || !scene->stubborn,
		};
	stage->workload = (struct workload){.trial = 1,
					    .tasks_count = scene->tasks_count,
					    .tasks = stage->tasks};
	stage->script = (struct script){
		.system = stage->system,
		.attempts = scene->attempts,
		.events = scene->events,
		.steps = scene->steps,
		.twice = scene->twice,
	};
	count_script(&stage->script, scene);
	stage->memory = (struct preempt_memory){
		.recorder = {.event = tell_event,
			     .task = tell_task,
			     .suspension = tell_suspension,
			     .share = tell_share},
		.story = g_string_new(NULL),
		.suspensions = g_string_new(NULL),
	};
	stage->setup = (struct engine_setup){
		.system = stage->system,
		.workload = &stage->workload,
		.policy = {.ops = &play_ops, .name = "play"},
		.mapping_interval_s = INTERVAL_S,
		.duration_s = DURATION_S,
		.recorder = &stage->memory.recorder,
	};
	playing = scene;
	stage->seen = seen = g_string_new(NULL);
}

void preempt_stage_run(struct preempt_stage *stage)
{
	stage->backend = scripted_backend_new(&stage->script);
	stage->engine = engine_new(&stage->setup, stage->backend);
	drive(stage->engine, stage->backend, scripted_backend_wait, &stage->result);
}

void preempt_stage_finish(struct preempt_stage *stage)
{
	engine_free(stage->engine);
	backend_destroy(stage->backend);
	g_string_free(stage->memory.story, TRUE);
	g_string_free(stage->memory.suspensions, TRUE);
	g_string_free(stage->seen, TRUE);
	sched_system_free(stage->system);
}

void preempt_stage_check_log(const struct preempt_stage *stage, const char *log)
{
	const char *said = scripted_backend_log(stage->backend);

	/* A task that is never mapped keeps the run going to its end. */
	g_assert_cmpstr(said, ==, log);
}
