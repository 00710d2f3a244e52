/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A limit of energy per window where meters look now and then, and tell late: on the simulation,
 * whose energy the engine sees only so. By how much a window exceeded the limit is then what it
 * exceeded it by in truth, and never more than the largest power times the interval and the
 * reaction that was measured, whatever else is late.
 */
#include <glib.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "controller/backend/sim.h"
#include "controller/engine/engine.h"
#include "tests/unit/engine/drive.h"

#define LAST_S 4000.0
#define NODES 4
#define ETC_S 100.0
#define EEC_J 1000.0
#define FACTOR 1.6                       /* what tasks need more than their estimate */
#define POWER_W (EEC_J * FACTOR / ETC_S) /* of one task */

/* The simulation is looked at so often. */
#define STEP_S 0.5

struct meters {
	double interval_s; /* whole steps */
	double late_s;     /* from a sample until it is told */
	double freeze_s;   /* from when a task is to stand still until it does */
	double silent_s;   /* until then they say nothing */
	double kept_s;     /* what they said is kept so long; 0: for ever */
};

/* Windows of length_s begin at begin_s; the second one is in step with begin_s + shift_s. */
struct scene {
	struct meters meters;
	double limit_j, begin_s, length_s, shift_s;
	/* at first: another one comes when all is over, and what the others used is known */
	uint32_t tasks;
	double hang_s; /* the first suspension of task 0 is carried out so late, ... */
	bool fails;    /* its task fails instead */
	/* its account is then corrected: the limit is used up if all draw their last watts on */
	double corrected_s;
};

struct bed {
	struct engine_recorder recorder;
	struct backend_ops ops;
	const struct backend_ops *sim_ops;
	struct backend *sim;
	struct engine *engine;
	struct scene scene;
	struct meters meters;
	double hangs_until_s; /* NAN: it does not */
	bool hung;
	uint32_t hung_attempt, hung_n;
	GArray *energy_j; /* double: in truth, at each step */
	double limit_j;   /* that the engine watches for; 0: none */
	double checked_s;
	double allowed_j;
	double turned_j; /* energy when the window under way began */
	double over_j;   /* the most by which one exceeded it, in truth */
	uint32_t windows, exceeded;
	uint32_t unknown; /* the most that ever were */
};

static struct bed *bed_of(struct backend *backend)
{
	return (struct bed *)((char *)(void *)(uintptr_t)backend->ops - offsetof(struct bed, ops));
}

/* What the meters say. */

static double sample_j(const struct bed *bed, double k)
{
	const double at = k * bed->meters.interval_s / STEP_S;

	return at < 0 ? 0 : g_array_index(bed->energy_j, double, (guint)at);
}

static double sampled_until_s(struct backend *backend)
{
	const struct bed *bed = bed_of(backend);
	const double told_s = (bed->energy_j->len - 1) * STEP_S - bed->meters.late_s;

	if (bed->energy_j->len * STEP_S <= bed->meters.silent_s)
		return 0;
	return fmax(0, floor(told_s / bed->meters.interval_s) * bed->meters.interval_s);
}

/* A silent meter is not waited for. */
static struct backend_watermark told(struct backend *backend)
{
	const struct bed *bed = bed_of(backend);
	const double now_s = bed->sim_ops->now_s(backend);
	const double all_s = sampled_until_s(backend);
	const double from_s = bed->meters.kept_s > 0 ? fmax(0, now_s - bed->meters.kept_s) : 0;

	return (struct backend_watermark){from_s, now_s < bed->meters.silent_s ? now_s : all_s,
					  all_s};
}

/* Between two samples it rises evenly, and after the last one as before it. */
static double energy_at_j(struct backend *backend, double time_s)
{
	const struct bed *bed = bed_of(backend);
	const double interval_s = bed->meters.interval_s;
	const double last = sampled_until_s(backend) / interval_s;
	const double k = fmin(floor(time_s / interval_s), last);
	const double from_j = sample_j(bed, k < last ? k : k - 1);
	const double to_j = sample_j(bed, k < last ? k + 1 : k);

	return sample_j(bed, k) + (to_j - from_j) * (time_s / interval_s - k);
}

static double energy_j(struct backend *backend)
{
	return energy_at_j(backend, bed_of(backend)->sim_ops->now_s(backend));
}

static void set_limit(struct backend *backend, double limit_j)
{
	bed_of(backend)->limit_j = limit_j;
}

/* As controller/backend/remote.c does. */
static bool crosses(struct backend *backend, struct backend_event *ret_event)
{
	struct bed *bed = bed_of(backend);
	const double told_s = told(backend).until_s;
	double low_s = bed->checked_s;
	double high_s = told_s;

	if (told_s <= bed->checked_s)
		return false;
	bed->checked_s = told_s;
	if (!(bed->limit_j > 0) || energy_at_j(backend, told_s) < bed->limit_j)
		return false;
	while (high_s - low_s > 1e-6) {
		const double middle_s = (low_s + high_s) / 2;

		if (energy_at_j(backend, middle_s) < bed->limit_j)
			low_s = middle_s;
		else
			high_s = middle_s;
	}
	bed->limit_j = 0;
	*ret_event = (struct backend_event){.kind = BACKEND_EVENT_ENERGY_LIMIT, .time_s = high_s};
	return true;
}

/* Suspensions that hang, and fail. */

static void suspend(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n)
{
	struct bed *bed = bed_of(backend);

	if (task != 0 || bed->hung || bed->scene.hang_s <= 0) {
		bed->sim_ops->suspend(backend, task, attempt, n);
		return;
	}
	bed->hung = true;
	bed->hung_attempt = attempt;
	bed->hung_n = n;
	bed->hangs_until_s = bed->sim_ops->now_s(backend) + bed->scene.hang_s;
}

static bool hangs_no_more(struct backend *backend, struct backend_event *ret_event)
{
	struct bed *bed = bed_of(backend);

	if (isnan(bed->hangs_until_s) || bed->sim_ops->now_s(backend) < bed->hangs_until_s)
		return false;
	*ret_event = (struct backend_event){
		.kind = BACKEND_EVENT_SUSPENSION_FAILED,
		.time_s = bed->hangs_until_s,
		.attempt = bed->hung_attempt,
		.n = bed->hung_n,
	};
	bed->hangs_until_s = NAN;
	if (!bed->scene.fails)
		bed->sim_ops->suspend(backend, 0, bed->hung_attempt, bed->hung_n);
	return bed->scene.fails;
}

static double power_w(const struct bed *bed)
{
	return POWER_W * fmin(NODES, bed->scene.tasks);
}

/* What is shown is right at every moment. */
static void look_at_state(struct bed *bed)
{
	const struct engine_window_state state = engine_window_now(bed->engine);

	bed->unknown = MAX(bed->unknown, state.unknown);
	g_assert_cmpfloat(state.overshoot_j, <=,
			  power_w(bed) * (bed->meters.interval_s + state.reaction_s) + 1e-3);
}

/* An estimate exhausts no window; the samples that come do. */
static void correct(struct bed *bed)
{
	const double now_s = bed->sim_ops->now_s(bed->sim);
	const double late_s = bed->meters.late_s;

	if (bed->scene.corrected_s <= 0)
		return;
	if (now_s == bed->scene.corrected_s) {
		engine_window_correct(bed->engine, now_s, bed->scene.limit_j + 1);
		g_assert_false(engine_window_now(bed->engine).exhausted);
	} else if (now_s == bed->scene.corrected_s + late_s / 2) {
		g_assert_false(engine_window_now(bed->engine).exhausted);
	} else if (now_s == bed->scene.corrected_s + late_s + bed->meters.interval_s) {
		g_assert_true(engine_window_now(bed->engine).exhausted);
	}
}

static void wait_in_steps(struct backend *backend, double until_s, struct backend_event *ret_event)
{
	struct bed *bed = bed_of(backend);

	do {
		const double next_s = bed->energy_j->len * STEP_S;

		backend_sim_wait(backend, fmin(until_s, next_s), ret_event);
		if (ret_event->kind != BACKEND_EVENT_NONE)
			return;
		if (bed->sim_ops->now_s(backend) >= next_s) {
			const double now_j = bed->sim_ops->energy_j(backend);

			g_array_append_val(bed->energy_j, now_j);
		}
		correct(bed);
		look_at_state(bed);
		if (hangs_no_more(backend, ret_event) || crosses(backend, ret_event))
			return;
	} while (bed->sim_ops->now_s(backend) < until_s);
	*ret_event = (struct backend_event){.time_s = until_s};
}

/* The run. */

static bool look_at_event(struct engine_recorder *recorder, double time_s, const char *kind,
			  const char *text)
{
	struct bed *bed = (struct bed *)((char *)recorder - offsetof(struct bed, recorder));
	const double now_j = bed->sim_ops->energy_j(bed->sim);
	const double over_j = now_j - bed->turned_j - bed->allowed_j;

	if (strcmp(kind, "window") != 0)
		return true;
	bed->over_j = fmax(bed->over_j, over_j);
	bed->exceeded += over_j > 1e-6;
	bed->turned_j = now_j;
	bed->windows++;
	return true;
}

static struct sched_system *make_system(double factor)
{
	static const struct sched_cluster cluster = {.name = "c",
						     .nodes = NODES,
						     .cores = 1,
						     .pstates = 1};
	struct sched_system *system = sched_system_new(&cluster, 1, 1);

	system->row_names[0] = "type";
	system->etc_s[0] = ETC_S;
	system->eec_j[0] = EEC_J * factor;
	system->nodes[0] = 1;
	g_assert_cmpint(sched_system_finish(system, NULL), ==, SCHED_SYSTEM_OK);
	return system;
}

static struct workload *make_workload(uint32_t tasks)
{
	struct workload *workload = workload_open_new(tasks + 1);

	for (uint32_t i = 0; i <= tasks; i++)
		workload->tasks[i] = (struct sched_task){
			.id = i,
			.utility = utility_testbed(1, 1e7, 2e7),
			.preemptible = true,
			.may_preempt = true,
		};
	workload->tasks[tasks].arrival_s = LAST_S;
	workload->tasks_count = tasks + 1;
	return workload;
}

static void bed_begin(struct bed *bed, struct backend *sim, const struct scene *scene)
{
	const double zero_j = 0;

	*bed = (struct bed){
		.recorder = {.event = look_at_event},
		.sim = sim,
		.sim_ops = sim->ops,
		.ops = *sim->ops,
		.scene = *scene,
		.meters = scene->meters,
		.hangs_until_s = NAN,
		.allowed_j = scene->limit_j,
		.energy_j = g_array_new(FALSE, FALSE, sizeof(double)),
	};
	g_array_append_val(bed->energy_j, zero_j);
	bed->ops.energy_j = energy_j;
	bed->ops.energy_at_j = energy_at_j;
	bed->ops.watermark = told;
	bed->ops.set_limit = set_limit;
	bed->ops.suspend = suspend;
	sim->ops = &bed->ops;
}

static void look_at_end(const struct bed *bed)
{
	const struct engine_window_state state = engine_window_now(bed->engine);
	const struct meters *meters = &bed->meters;

	g_test_message(
		"interval %g s, late %g s, freeze %g s, limit %g J, begin %g s: by %g J in truth, %g J seen, "
		"reaction %g s",
		meters->interval_s, meters->late_s, meters->freeze_s, bed->scene.limit_j,
		bed->scene.begin_s, bed->over_j, state.overshoot_j, state.reaction_s);
	/* What is drawn within an interval is taken to be drawn evenly over it. */
	g_assert_cmpfloat(fabs(state.overshoot_j - bed->over_j), <=,
			  power_w(bed) * meters->interval_s);
	g_assert_cmpfloat(bed->over_j, <=, power_w(bed) * (meters->interval_s + state.reaction_s));
	g_assert_cmpfloat(state.reaction_s, <=,
			  2 * meters->interval_s + meters->late_s + meters->freeze_s +
				  meters->silent_s + bed->scene.hang_s + STEP_S);
}

/*
 * Returns how many windows exceeded the limit; and of how many it is not known at last, and at
 * most.
 */
static uint32_t play_unknown(const struct scene *scene, uint32_t *ret_last, uint32_t *ret_most)
{
	struct sched_system *system = make_system(1);
	struct sched_system *real = make_system(FACTOR);
	struct workload *workload = make_workload(scene->tasks);
	struct backend *sim = backend_sim_new(real, scene->tasks + 1);
	struct engine_setup setup = {.mapping_interval_s = 50, .duration_s = 1e5, .seed = 1};
	const struct backend_overhead overhead = {.freeze_s = scene->meters.freeze_s};
	const struct backend_overhead *samples = &overhead;
	const uint32_t samples_count = 1;
	struct engine_result result;
	char message[256];
	struct bed bed;

	backend_sim_set_overheads(sim, &(struct backend_sim_overheads){
					       .samples = &samples,
					       .counts = &samples_count,
				       });
	bed_begin(&bed, sim, scene);
	setup.system = system;
	setup.workload = workload;
	setup.recorder = &bed.recorder;
	setup.moments = POLICY_AT_BOTH;
	g_assert_cmpint(policy_parse("easy", &setup.policy, message, sizeof(message)), ==, 0);
	bed.engine = engine_new(&setup, sim);
	engine_set_window(bed.engine, &(struct engine_window){scene->limit_j, scene->length_s,
							      scene->begin_s, 0});
	engine_shift_window(bed.engine, scene->begin_s + scene->shift_s);
	drive(bed.engine, sim, wait_in_steps, &result);
	g_assert_cmpuint(result.tasks_completed, ==, scene->tasks + 1);
	g_assert_cmpuint(bed.windows, >, 2);
	if (scene->corrected_s <= 0)
		look_at_end(&bed);
	*ret_last = engine_window_now(bed.engine).unknown;
	*ret_most = bed.unknown;
	engine_free(bed.engine);
	backend_destroy(sim);
	workload_free(workload);
	sched_system_free(system);
	sched_system_free(real);
	g_array_unref(bed.energy_j);
	return bed.exceeded;
}

/* The same where all is known at last. */
static uint32_t play(const struct scene *scene)
{
	uint32_t last;
	uint32_t most;
	const uint32_t exceeded = play_unknown(scene, &last, &most);

	g_assert_cmpuint(last, ==, 0);
	g_assert_true((most > 0) <= (scene->meters.silent_s > 0));
	return exceeded;
}

static uint32_t run(const struct meters *meters, double limit_j, double begin_s)
{
	return play(&(struct scene){
		.meters = *meters,
		.limit_j = limit_j,
		.begin_s = begin_s,
		.length_s = 400,
		.tasks = 12,
	});
}

/*
 * Whatever is late: the sample, what it shows, or both, until after the window, and in the next
 * one.
 */
static void test_late(void)
{
	static const struct meters cases[] = {
		{STEP_S, 0}, {1, 0.4}, {5, 0},     {5, 2},     {5, 12},
		{20, 3},     {20, 33}, {5, 0, 15}, {5, 2, 40}, {5, 100},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		uint32_t exceeded = 0;

		for (double begin_s = -395; begin_s < 0; begin_s += 7)
			exceeded += run(&cases[i], 3500, begin_s);
		/* Only the first one does, and about when it ends. */
		for (double begin_s = -260; begin_s < -150; begin_s += 3)
			exceeded += run(&cases[i], 10000, begin_s);
		g_assert_cmpuint(exceeded, >, 0);
	}
}

/* The limit is noticed more than a minute after the end of the window. */
static void test_minutes_late(void)
{
	for (double begin_s = -204; begin_s < -196; begin_s++)
		g_assert_cmpuint(play(&(struct scene){
					 .meters = {5, 100},
					 .limit_j = 8000,
					 .begin_s = begin_s,
					 .length_s = 400,
					 .tasks = 8,
				 }),
				 >, 0);
}

/* Limits that are reached in every part of a window, its end above all. */
static void test_limits(void)
{
	static const struct meters meters = {10, 7};
	uint32_t exceeded = 0;

	for (double limit_j = 3100; limit_j < 6500; limit_j += 37)
		exceeded += run(&meters, limit_j, -30);
	g_assert_cmpuint(exceeded, >, 0);
}

/* A task executes over the end of the window, and then fails or outlasts the next window, too. */
static void test_hangs(void)
{
	static const struct scene fails = {
		.meters = {STEP_S},
		.limit_j = 3500,
		.begin_s = -315,
		.length_s = 400,
		.tasks = 12,
		.hang_s = 20,
		.fails = true,
	};
	static const struct scene outlasts = {
		.meters = {STEP_S},
		.limit_j = 1300,
		.begin_s = 0,
		.length_s = 40,
		.shift_s = -12,
		.tasks = 3,
		.hang_s = 55,
	};

	g_assert_cmpuint(play(&fails), >, 0);
	g_assert_cmpuint(play(&outlasts), >, 0);
}

/* Meters say nothing while a window turns, or two, and then all. */
static void test_silence(void)
{
	static const double lengths_s[] = {400, 45, 25};

	for (size_t i = 0; i < G_N_ELEMENTS(lengths_s); i++) {
		uint32_t exceeded = 0;

		for (double begin_s = 1 - lengths_s[i]; begin_s < 0; begin_s += 7)
			exceeded += play(&(struct scene){
				.meters = {1, .silent_s = 110},
				.limit_j = 8 * lengths_s[i] + 700,
				.begin_s = begin_s,
				.length_s = lengths_s[i],
				.tasks = 12,
			});
		g_assert_cmpuint(exceeded, >, 0);
	}
}

/*
 * They are silent for longer than windows are looked back on, or than what they said before is
 * kept.
 */
static void test_unknown(void)
{
	static const struct {
		double kept_s;
		uint32_t later; /* so many are known when they tell */
	} cases[] = {{0, 64}, {105, 10}};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct scene scene = {
			.meters = {1, .silent_s = 1500, .kept_s = cases[i].kept_s},
			.limit_j = 1e5,
			.length_s = 10,
			.tasks = 4,
		};
		uint32_t last;
		uint32_t most;

		g_assert_cmpuint(play_unknown(&scene, &last, &most), ==, 0);
		g_assert_cmpuint(most, ==, 149);
		g_assert_cmpuint(last, ==, 149 - cases[i].later);
	}
}

static void test_corrected(void)
{
	uint32_t last;
	uint32_t most;

	play_unknown(
		&(struct scene){
			.meters = {1, 10},
			.limit_j = 1e5,
			.length_s = 400,
			.tasks = 4,
			.corrected_s = 40,
		},
		&last, &most);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/engine/window/what is late is within what can be exceeded", test_late);
	g_test_add_func("/engine/window/minutes late", test_minutes_late);
	g_test_add_func("/engine/window/wherever the limit is reached", test_limits);
	g_test_add_func(
		"/engine/window/a suspension that hangs counts for all windows that end meanwhile",
		test_hangs);
	g_test_add_func("/engine/window/what meters tell after a silence is looked at",
			test_silence);
	g_test_add_func("/engine/window/what no meter tells in time is said to be unknown",
			test_unknown);
	g_test_add_func("/engine/window/an account that is corrected by an estimate",
			test_corrected);
	return g_test_run();
}
