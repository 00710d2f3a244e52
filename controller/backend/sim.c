/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/backend/sim.h"

#include <glib.h>
#include <math.h>

#include "common/random.h"

/* A task that runs. */
struct sim_task {
	double end_s;
	uint64_t order; /* of the starts: breaks ties between ends */
	uint32_t task;
	uint32_t attempt;
	double start_s;
	double eec_j;
	double power_w;
};

/* A sum that does not lose small terms to rounding (Neumaier 1974). */
struct sum {
	double value;
	double rest;
};

struct sim {
	struct backend backend;
	const struct sched_system *system;
	uint32_t tasks_max;
	double now_s;
	double limit_j;       /* INFINITY: none */
	struct sum energy_j;  /* up to now_s */
	struct sum power_w;   /* of what runs */
	uint32_t running_count;
	struct sim_task *running; /* heap, the next to end first */
	uint64_t order;
	uint32_t *attempts;   /* per task: the last start carried out */
	const struct backend_sim_spread *spread; /* NULL: every task takes its ETC and EEC */
	struct random_stream random;  /* draws from the spread */
	GQueue news;          /* of struct backend_event: what happened at now_s already */
};

static void sum_add(struct sum *sum, double term)
{
	const double total = sum->value + term;

	if (fabs(sum->value) >= fabs(term))
		sum->rest += (sum->value - total) + term;
	else
		sum->rest += (term - total) + sum->value;
	sum->value = total;
}

static double sum_total(const struct sum *sum)
{
	return sum->value + sum->rest;
}

static bool ends_before(const struct sim_task *a, const struct sim_task *b)
{
	return a->end_s != b->end_s ? a->end_s < b->end_s : a->order < b->order;
}

static void sift_up(struct sim *sim, uint32_t i)
{
	const struct sim_task task = sim->running[i];

	while (i > 0 && ends_before(&task, &sim->running[(i - 1) / 2])) {
		sim->running[i] = sim->running[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	sim->running[i] = task;
}

static void sift_down(struct sim *sim, uint32_t i)
{
	const struct sim_task task = sim->running[i];

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= sim->running_count)
			break;
		if (child + 1 < sim->running_count &&
		    ends_before(&sim->running[child + 1], &sim->running[child]))
			child++;
		if (!ends_before(&sim->running[child], &task))
			break;
		sim->running[i] = sim->running[child];
		i = child;
	}
	sim->running[i] = task;
}

/* Takes a task out of the heap and its power off the sum. */
static struct sim_task take_out(struct sim *sim, uint32_t i)
{
	const struct sim_task task = sim->running[i];

	sim->running_count--;
	if (i < sim->running_count) {
		sim->running[i] = sim->running[sim->running_count];
		sift_down(sim, i);
		sift_up(sim, i);
	}
	if (sim->running_count == 0)
		sim->power_w = (struct sum){ 0 };
	else
		sum_add(&sim->power_w, -task.power_w);
	return task;
}

static void advance(struct sim *sim, double time_s)
{
	if (time_s <= sim->now_s)
		return;
	sum_add(&sim->energy_j, sum_total(&sim->power_w) * (time_s - sim->now_s));
	sim->now_s = time_s;
}

static void push_news(struct sim *sim, const struct backend_event *event)
{
	g_queue_push_tail(&sim->news, g_memdup2(event, sizeof(*event)));
}

static double sim_now_s(struct backend *backend)
{
	return ((struct sim *)backend)->now_s;
}

static double sim_energy_j(struct backend *backend)
{
	return sum_total(&((struct sim *)backend)->energy_j);
}

static void sim_set_limit(struct backend *backend, double limit_j)
{
	((struct sim *)backend)->limit_j = limit_j > 0 ? limit_j : INFINITY;
}

/* What the next task's ETC and EEC are multiplied with. */
static struct backend_sim_ratio draw_ratio(struct sim *sim, uint32_t cluster)
{
	if (!sim->spread)
		return (struct backend_sim_ratio){ 1, 1 };
	return sim->spread->ratios[cluster][random_stream_below(&sim->random,
								sim->spread->counts[cluster])];
}

static void sim_start(struct backend *backend, const struct backend_start *start)
{
	struct sim *sim = (struct sim *)backend;
	const struct sched_option *option =
		sched_system_option(sim->system, start->type, start->cluster, start->pstate);

	g_assert(option && start->task < sim->tasks_max);
	if (start->attempt <= sim->attempts[start->task])
		return;
	sim->attempts[start->task] = start->attempt;

	const struct backend_sim_ratio ratio = draw_ratio(sim, start->cluster);
	const struct sim_task task = {
		.end_s = sim->now_s + ratio.time * option->etc_s,
		.order = sim->order++,
		.task = start->task,
		.attempt = start->attempt,
		.start_s = sim->now_s,
		.eec_j = ratio.energy * option->eec_j,
		.power_w = ratio.energy * option->eec_j / (ratio.time * option->etc_s),
	};

	sim->running[sim->running_count++] = task;
	sift_up(sim, sim->running_count - 1);
	sum_add(&sim->power_w, task.power_w);
	push_news(sim, &(struct backend_event){
		.kind = BACKEND_EVENT_STARTED,
		.time_s = sim->now_s,
		.task = start->task,
		.attempt = start->attempt,
		.cluster = start->cluster,
	});
}

static void sim_kill(struct backend *backend, uint32_t task, uint32_t attempt)
{
	struct sim *sim = (struct sim *)backend;

	for (uint32_t i = 0; i < sim->running_count; i++) {
		if (sim->running[i].task != task || sim->running[i].attempt != attempt)
			continue;

		const struct sim_task killed = take_out(sim, i);
		const double exec_s = sim->now_s - killed.start_s;

		push_news(sim, &(struct backend_event){
			.kind = BACKEND_EVENT_ENDED,
			.time_s = sim->now_s,
			.task = task,
			.attempt = attempt,
			.outcome = BACKEND_OUTCOME_KILLED,
			.exec_s = exec_s,
			.energy_j = exec_s * killed.power_w,
		});
		return;
	}
}

/* When the energy reaches the limit if nothing changes; INFINITY: never. */
static double crossing_s(const struct sim *sim)
{
	const double missing_j = sim->limit_j - sum_total(&sim->energy_j);
	const double power_w = sum_total(&sim->power_w);

	if (missing_j <= 0)
		return sim->now_s;
	return power_w > 0 ? sim->now_s + missing_j / power_w : INFINITY;
}

static void complete_first(struct sim *sim, struct backend_event *ret_event)
{
	advance(sim, sim->running[0].end_s);

	const struct sim_task task = take_out(sim, 0);

	*ret_event = (struct backend_event){
		.kind = BACKEND_EVENT_ENDED,
		.time_s = task.end_s,
		.task = task.task,
		.attempt = task.attempt,
		.outcome = BACKEND_OUTCOME_COMPLETED,
		.exec_s = task.end_s - task.start_s,
		.energy_j = task.eec_j,
	};
}

static void sim_wait(struct backend *backend, double until_s, struct backend_event *ret_event)
{
	struct sim *sim = (struct sim *)backend;
	g_autofree struct backend_event *news = g_queue_pop_head(&sim->news);

	if (news) {
		*ret_event = *news;
		return;
	}
	const double end_s = sim->running_count > 0 ? sim->running[0].end_s : INFINITY;
	const double limit_s = crossing_s(sim);

	if (end_s <= until_s && end_s <= limit_s) {
		complete_first(sim, ret_event);
	} else if (limit_s <= until_s) {
		advance(sim, limit_s);
		*ret_event = (struct backend_event){
			.kind = BACKEND_EVENT_ENERGY_LIMIT,
			.time_s = limit_s,
		};
		sim->limit_j = INFINITY;
	} else {
		advance(sim, until_s);
		*ret_event = (struct backend_event){ .time_s = until_s };
	}
}

static void sim_destroy(struct backend *backend)
{
	struct sim *sim = (struct sim *)backend;

	g_queue_clear_full(&sim->news, g_free);
	g_free(sim->running);
	g_free(sim->attempts);
	g_free(sim);
}

static const struct backend_ops sim_ops = {
	.name = "sim",
	.now_s = sim_now_s,
	.start = sim_start,
	.kill = sim_kill,
	.energy_j = sim_energy_j,
	.set_limit = sim_set_limit,
	.wait = sim_wait,
	.destroy = sim_destroy,
};

struct backend *backend_sim_new(const struct sched_system *system, uint32_t tasks_max)
{
	struct sim *sim = g_new0(struct sim, 1);

	sim->backend.ops = &sim_ops;
	sim->system = system;
	sim->tasks_max = tasks_max;
	sim->limit_j = INFINITY;
	sim->running = g_new(struct sim_task, tasks_max);
	sim->attempts = g_new0(uint32_t, tasks_max);
	g_queue_init(&sim->news);
	return &sim->backend;
}

void backend_sim_set_spread(struct backend *backend, const struct backend_sim_spread *spread)
{
	struct sim *sim = (struct sim *)backend;

	sim->spread = spread;
	random_stream_init(&sim->random, spread->seed, spread->stream);
}
