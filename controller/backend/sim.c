/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/backend/sim.h"

#include <glib.h>
#include <math.h>

#include "common/random.h"
#include "controller/backend/sim_heap.h"
#include "controller/sched/pet.h"

/* The phase of a task, and the meaning of its instant in the heap. */
enum sim_phase {
	SIM_AWAY = 0,  /* not started, or ended: no instant */
	SIM_RUNNING,   /* its end */
	SIM_FREEZING,  /* when it is frozen; it executes until then */
	SIM_SAVING,    /* when its nodes take tasks again */
	SIM_SUSPENDED, /* no instant */
	SIM_RESUMING,  /* when it executes again */
};

/* A task that was started. */
struct sim_task {
	enum sim_phase phase;
	uint32_t cluster;
	uint32_t attempt;    /* the last start carried out */
	uint32_t suspension; /* of the attempt: the last one carried out */
	uint32_t resumption;
	uint64_t order;    /* of the starts: breaks ties between ends */
	double since_s;    /* beginning of its present interval */
	double executed_s; /* in earlier intervals */
	double yield;      /* progress per second; 1 unless hosts are shared */
	double work_s;     /* progress until from_s */
	double from_s;     /* it makes progress from then on */
	double interval_s; /* length of the last interval, once it is over */
	double total_s;    /* its whole execution time */
	double eec_j;
	double power_w;
	struct backend_overhead overhead; /* of its last suspension */
	double lost_after_s;          /* it is lost when it has executed so long; INFINITY: never */
	enum backend_outcome outcome; /* then */
	uint32_t migration;           /* of the attempt: the last one carried out */
	double moved_s;               /* when that ends; NAN: none is under way */
};

/* A sum that does not lose small terms to rounding (Neumaier 1974). */
struct sum {
	double value;
	double rest;
};

struct sim {
	struct backend backend;
	struct backend_ops ops; /* sim_ops, without what the simulation cannot do */
	const struct sched_system *system;
	uint32_t tasks_max;
	double now_s;
	double limit_j;       /* INFINITY: none */
	struct sum energy_j;  /* up to now_s */
	struct sum power_w;   /* of the executing tasks */
	uint32_t executing;   /* number of executing tasks */
	struct sim_heap next; /* the next instant of each task */
	uint64_t order;
	struct sim_task *tasks;
	const struct backend_sim_spread *spread; /* NULL: every task takes its ETC and EEC */
	struct random_stream random;             /* draws from the spread */
	uint64_t exec_seed;                      /* of execution times on queueing clusters */
	uint64_t exec_stream;
	struct backend_sim_overheads overheads; /* samples NULL: none */
	double penalty_s;                       /* without progress after a resumption */
	struct backend_sim_courses courses;     /* all 0: tasks go as estimated */
	uint32_t nodes_next;                    /* the next event of its nodes */
	GArray *events;                         /* struct backend_event: happened at now_s */
	guint events_taken;                     /* so many of them; all: the array is emptied */
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

/* What the hosts draw above idle. */
static double total_w(const struct sim *sim)
{
	return sum_total(&sim->power_w) + sim->courses.base_w;
}

static void advance(struct sim *sim, double time_s)
{
	if (time_s <= sim->now_s)
		return;
	sum_add(&sim->energy_j, total_w(sim) * (time_s - sim->now_s));
	sim->now_s = time_s;
}

static void push_event(struct sim *sim, const struct backend_event *event)
{
	if (sim->events_taken > 0 && sim->events_taken == sim->events->len) {
		g_array_set_size(sim->events, 0);
		sim->events_taken = 0;
	}
	g_array_append_vals(sim->events, event, 1);
}

/* Adds the instant of a task's phase to the heap. */
static void schedule(struct sim *sim, uint32_t index, double time_s)
{
	sim_heap_add(&sim->next, &(struct sim_heap_entry){time_s, sim->tasks[index].order, index});
}

/*
 * When an executing task ends unless it is suspended or lost first. The engine computes the same
 * value.
 */
static double end_s(const struct sim_task *task)
{
	return task->from_s + (task->total_s - task->work_s) / task->yield;
}

/* When a task is lost that executes until then; INFINITY: it is not. */
static double lost_s(const struct sim_task *task)
{
	return task->since_s + (task->lost_after_s - task->executed_s);
}

/* The instant of an executing task: its end, its loss, or the end of its migration. */
static double instant_s(const struct sim_task *task)
{
	return fmin(fmin(end_s(task), lost_s(task)), task->moved_s);
}

static bool executes(const struct sim_task *task)
{
	return task->phase == SIM_RUNNING || task->phase == SIM_FREEZING;
}

/* Computes the instant of a running task again. */
static void schedule_again(struct sim *sim, uint32_t index)
{
	sim_heap_remove(&sim->next, index);
	schedule(sim, index, instant_s(&sim->tasks[index]));
}

/* Adds the progress of an executing task up to `time_s`. */
static void count_work(struct sim_task *task, double time_s)
{
	if (time_s <= task->from_s)
		return;
	task->work_s += task->yield * (time_s - task->from_s);
	task->from_s = time_s;
}

/* Begins an interval now; its progress begins after penalty_s. */
static void begin_interval(struct sim *sim, uint32_t index, double penalty_s)
{
	struct sim_task *task = &sim->tasks[index];

	task->phase = SIM_RUNNING;
	task->since_s = sim->now_s;
	task->from_s = sim->now_s + penalty_s;
	sim->executing++;
	sum_add(&sim->power_w, task->power_w);
	schedule(sim, index, instant_s(task));
}

/* Ends the present interval of a task at time_s. */
static void end_interval(struct sim *sim, struct sim_task *task, double time_s)
{
	task->interval_s = time_s - task->since_s;
	task->executed_s += task->interval_s;
	count_work(task, time_s);
	if (--sim->executing == 0)
		sim->power_w = (struct sum){0};
	else
		sum_add(&sim->power_w, -task->power_w);
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

/* Draws the factors of the next task's ETC and EEC. */
static struct backend_sim_ratio draw_ratio(struct sim *sim, uint32_t cluster)
{
	if (!sim->spread)
		return (struct backend_sim_ratio){1, 1};
	return sim->spread
		->ratios[cluster][random_stream_below(&sim->random, sim->spread->counts[cluster])];
}

/* A lognormal factor with mean 1, of the deviation `sd` of its logarithm. */
static double draw_factor(double sd, uint64_t seed, uint64_t stream)
{
	struct random_stream random;

	if (!(sd > 0))
		return 1;
	random_stream_init(&random, seed, stream);
	return exp(sd * random_stream_normal(&random) - sd * sd / 2);
}

/* So that the noise of a task shares no stream with an estimate. */
#define NOISE_SEED UINT64_C(0x6e6f697365000000)

/* The factor of a task's execution time and energy. */
static double error_factor(const struct sim *sim, const struct sched_allocation *placed)
{
	const struct backend_sim_error *error = &sim->courses.error;
	const uint64_t seed = error->seed ^ error->stream << 32;

	return draw_factor(error->estimate_sd, seed,
			   (uint64_t)placed->task->row << 32 | placed->cluster) *
	       draw_factor(error->noise_sd, seed ^ NOISE_SEED, placed->task->id);
}

/*
 * Draws the execution time of a task on a queueing cluster: the quantile of its distribution at a
 * point that is the same for the task on all clusters, so that policies can be compared in pairs.
 */
static double draw_exec_s(const struct sim *sim, const struct sched_allocation *placed)
{
	const struct sched_queueing *queueing = sim->system->queueing;
	const struct pmf *pmf = &pet_at(queueing->pet, placed->task->row, placed->cluster)->pmf;
	struct random_stream random;
	double left;
	uint32_t i = 0;

	random_stream_init(&random, sim->exec_seed ^ sim->exec_stream << 32, placed->task->id);
	left = random_stream_uniform(&random);
	while (i + 1 < pmf->count && left >= pmf->mass[i])
		left -= pmf->mass[i++];
	return (double)(pmf->first + i) * queueing->bin_s;
}

/* The course of a task on a cluster. */
static struct backend_sim_course course_of(const struct sim *sim, uint32_t task, uint32_t cluster)
{
	static const struct backend_sim_course as_estimated = {.time = 1, .power = 1};

	return sim->courses.of
		       ? sim->courses.of[(size_t)task * sim->system->clusters_count + cluster]
		       : as_estimated;
}

/* The loss of an attempt; NULL: it is not lost. */
static const struct backend_sim_loss *loss_of(const struct sim *sim, uint32_t task,
					      uint32_t attempt)
{
	for (uint32_t i = 0; i < sim->courses.losses_count; i++)
		if (sim->courses.losses[i].task == task &&
		    sim->courses.losses[i].attempt == attempt)
			return &sim->courses.losses[i];
	return NULL;
}

static void sim_start(struct backend *backend, const struct sched_allocation *placed,
		      uint32_t attempt)
{
	struct sim *sim = (struct sim *)backend;
	const uint32_t index = placed->task->id;
	const struct sched_option *option = sched_system_option(sim->system, placed->task->row,
								placed->cluster, placed->pstate);

	g_assert(option && index < sim->tasks_max);
	if (attempt <= sim->tasks[index].attempt)
		return;

	const struct backend_sim_ratio ratio = draw_ratio(sim, placed->cluster);
	const struct backend_sim_course course = course_of(sim, index, placed->cluster);
	const struct backend_sim_loss *loss = loss_of(sim, index, attempt);
	const double estimated_s = sim->system->queueing ? draw_exec_s(sim, placed) : option->etc_s;
	const double total_s =
		error_factor(sim, placed) * ratio.time *
		(course.drawn_s > 0 ? course.drawn_s : course.time * estimated_s + course.more_s);
	const double expected_s = ratio.time * estimated_s;
	const double energy_j = course.power * ratio.energy * option->eec_j;

	sim->tasks[index] = (struct sim_task){
		.cluster = placed->cluster,
		.attempt = attempt,
		.order = sim->order++,
		.yield = 1,
		.total_s = total_s,
		.eec_j = energy_j * (total_s == expected_s ? 1 : total_s / expected_s),
		.power_w = energy_j / expected_s,
		.lost_after_s = loss ? loss->exec_s : INFINITY,
		.outcome = loss ? loss->outcome : BACKEND_OUTCOME_NONE,
		.moved_s = NAN,
	};
	begin_interval(sim, index, sim->courses.error.overhead_s);
	push_event(sim, &(struct backend_event){
				.kind = BACKEND_EVENT_STARTED,
				.time_s = sim->now_s,
				.task = index,
				.attempt = attempt,
				.cluster = placed->cluster,
			});
}

/* The task if that attempt was started and has not ended, or NULL. */
static struct sim_task *find_task(struct sim *sim, uint32_t index, uint32_t attempt)
{
	struct sim_task *task = index < sim->tasks_max ? &sim->tasks[index] : NULL;

	return task && task->phase != SIM_AWAY && task->attempt == attempt ? task : NULL;
}

static void sim_kill(struct backend *backend, uint32_t index, uint32_t attempt)
{
	struct sim *sim = (struct sim *)backend;
	struct sim_task *task = find_task(sim, index, attempt);

	if (!task)
		return;
	if (task->phase != SIM_SUSPENDED)
		sim_heap_remove(&sim->next, index);
	if (executes(task))
		end_interval(sim, task, sim->now_s);
	task->phase = SIM_AWAY;
	push_event(sim, &(struct backend_event){
				.kind = BACKEND_EVENT_ENDED,
				.time_s = sim->now_s,
				.task = index,
				.attempt = attempt,
				.outcome = BACKEND_OUTCOME_KILLED,
				.exec_s = task->executed_s,
				.energy_j = task->executed_s * task->power_w,
			});
}

static struct backend_event step_event(const struct sim *sim, enum backend_event_kind kind,
				       uint32_t index, uint32_t n)
{
	const struct sim_task *task = &sim->tasks[index];

	return (struct backend_event){
		.kind = kind,
		.time_s = sim->now_s,
		.task = index,
		.attempt = task->attempt,
		.cluster = task->cluster,
		.n = n,
	};
}

static void report_failed_step(struct sim *sim, uint32_t index, uint32_t n, const char *reason)
{
	struct backend_event event = step_event(sim, BACKEND_EVENT_SUSPENSION_FAILED, index, n);

	event.reason = reason;
	push_event(sim, &event);
}

/* What the nth suspension of a task takes by its course; NULL: that is drawn. */
static const struct backend_overhead *step_of(const struct sim *sim, uint32_t task, uint32_t n)
{
	for (uint32_t i = 0; i < sim->courses.steps_count; i++)
		if (sim->courses.steps[i].task == task && sim->courses.steps[i].n == n)
			return &sim->courses.steps[i].overhead;
	return NULL;
}

/* Draws a sample for one suspension and its resumption. */
static struct backend_overhead draw_overhead(const struct sim *sim, uint32_t index,
					     const struct sim_task *task)
{
	const struct backend_sim_overheads *overheads = &sim->overheads;
	const struct backend_overhead *step = step_of(sim, index, task->suspension);
	struct random_stream random;

	if (step)
		return *step;
	if (!overheads->samples || overheads->counts[task->cluster] == 0)
		return (struct backend_overhead){0};
	random_stream_init(&random, overheads->seed ^ overheads->stream << 32,
			   (uint64_t)index << 32 | task->suspension);
	return overheads->samples[task->cluster]
				 [random_stream_below(&random, overheads->counts[task->cluster])];
}

/* Reports that the nodes of a task take tasks again. */
static void leave_nodes(struct sim *sim, uint32_t index)
{
	struct sim_task *task = &sim->tasks[index];
	struct backend_event event =
		step_event(sim, BACKEND_EVENT_SUSPENDED, index, task->suspension);

	task->phase = SIM_SUSPENDED;
	event.exec_s = task->interval_s;
	event.overhead = (struct backend_overhead){
		.freeze_s = task->overhead.freeze_s,
		.save_s = task->overhead.save_s,
		.skew_s = task->overhead.skew_s,
	};
	push_event(sim, &event);
}

static void freeze(struct sim *sim, uint32_t index)
{
	struct sim_task *task = &sim->tasks[index];

	end_interval(sim, task, sim->now_s);
	task->phase = SIM_SAVING;
	if (task->overhead.save_s > 0)
		schedule(sim, index, sim->now_s + task->overhead.save_s);
	else
		leave_nodes(sim, index);
}

static void sim_suspend(struct backend *backend, uint32_t index, uint32_t attempt, uint32_t n)
{
	struct sim *sim = (struct sim *)backend;
	struct sim_task *task = find_task(sim, index, attempt);

	if (!task || n <= task->suspension)
		return;
	if (task->phase != SIM_RUNNING || !isnan(task->moved_s)) {
		report_failed_step(sim, index, n, "it does not run");
		return;
	}
	task->suspension = n;
	task->overhead = draw_overhead(sim, index, task);

	const double frozen_s = sim->now_s + task->overhead.freeze_s;

	if (fmin(end_s(task), lost_s(task)) <= frozen_s)
		return; /* it ends first */
	sim_heap_remove(&sim->next, index);
	task->phase = SIM_FREEZING;
	if (frozen_s > sim->now_s)
		schedule(sim, index, frozen_s);
	else
		freeze(sim, index);
}

static void end_resumption(struct sim *sim, uint32_t index)
{
	struct sim_task *task = &sim->tasks[index];
	struct backend_event event =
		step_event(sim, BACKEND_EVENT_RESUMED, index, task->suspension);

	begin_interval(sim, index, sim->penalty_s + sim->courses.error.overhead_s);
	event.since_s = sim->now_s;
	event.overhead = (struct backend_overhead){
		.restore_s = task->overhead.restore_s,
		.resume_s = task->overhead.resume_s,
	};
	push_event(sim, &event);
}

static void sim_resume(struct backend *backend, uint32_t index, uint32_t attempt, uint32_t n,
		       const uint32_t *nodes, uint32_t nodes_count)
{
	struct sim *sim = (struct sim *)backend;
	struct sim_task *task = find_task(sim, index, attempt);

	if (!task || n <= task->resumption)
		return;
	if (task->phase != SIM_SUSPENDED || n != task->suspension) {
		report_failed_step(sim, index, n, "it is not suspended");
		return;
	}
	task->resumption = n;
	task->phase = SIM_RESUMING;

	const double on_s = sim->now_s + (task->overhead.restore_s + task->overhead.resume_s);

	if (on_s > sim->now_s)
		schedule(sim, index, on_s);
	else
		end_resumption(sim, index);
}

static void sim_share(struct backend *backend, uint32_t index, uint32_t attempt, double yield)
{
	struct sim *sim = (struct sim *)backend;
	struct sim_task *task = find_task(sim, index, attempt);

	g_assert(yield > 0 && yield <= 1);
	if (!task)
		return;
	if (executes(task))
		count_work(task, sim->now_s);
	task->yield = yield;
	if (task->phase == SIM_RUNNING)
		schedule_again(sim, index);
}

/* Draws what a migration takes; `n`: of the attempt. */
static struct backend_sim_migration draw_migration(const struct sim *sim, uint32_t index,
						   uint32_t n)
{
	const struct backend_sim_overheads *overheads = &sim->overheads;
	struct random_stream random;

	random_stream_init(&random, ~overheads->seed ^ overheads->stream << 32,
			   (uint64_t)index << 32 | n);
	return sim->courses.migrations[random_stream_below(&random, sim->courses.migrations_count)];
}

/* The task runs on meanwhile, but for its downtime. */
static void sim_migrate(struct backend *backend, uint32_t index, uint32_t attempt, uint32_t n,
			const uint32_t *nodes, uint32_t nodes_count)
{
	struct sim *sim = (struct sim *)backend;
	struct sim_task *task = find_task(sim, index, attempt);
	struct backend_sim_migration migration;

	if (!task || n <= task->migration)
		return;
	if (task->phase != SIM_RUNNING || !isnan(task->moved_s)) {
		struct backend_event event =
			step_event(sim, BACKEND_EVENT_MIGRATION_FAILED, index, n);

		event.reason = "it does not run";
		push_event(sim, &event);
		return;
	}
	task->migration = n;
	migration = draw_migration(sim, index, n);
	count_work(task, sim->now_s);
	task->from_s = fmax(task->from_s, sim->now_s) + migration.downtime_s;
	task->moved_s = sim->now_s + migration.total_s;
	schedule_again(sim, index);
}

static void end_migration(struct sim *sim, uint32_t index)
{
	struct sim_task *task = &sim->tasks[index];
	const struct backend_event event =
		step_event(sim, BACKEND_EVENT_MIGRATED, index, task->migration);

	task->moved_s = NAN;
	schedule(sim, index, instant_s(task));
	push_event(sim, &event);
}

/* When the energy reaches the limit if the power stays as it is; INFINITY: never. */
static double crossing_s(const struct sim *sim)
{
	const double missing_j = sim->limit_j - sum_total(&sim->energy_j);
	const double power_w = total_w(sim);

	if (missing_j <= 0)
		return sim->now_s;
	return power_w > 0 ? sim->now_s + missing_j / power_w : INFINITY;
}

/* Ends a running task: it completes, or is lost. */
static void end_task(struct sim *sim, uint32_t index, double time_s)
{
	struct sim_task *task = &sim->tasks[index];
	const bool completes = time_s >= end_s(task);

	end_interval(sim, task, sim->now_s);
	task->phase = SIM_AWAY;
	push_event(sim, &(struct backend_event){
				.kind = BACKEND_EVENT_ENDED,
				.time_s = sim->now_s,
				.task = index,
				.attempt = task->attempt,
				.outcome = completes ? BACKEND_OUTCOME_COMPLETED : task->outcome,
				.exec_s = task->executed_s,
				.energy_j = completes && !(sim->courses.error.overhead_s > 0)
						    ? task->eec_j
						    : task->executed_s * task->power_w,
				.reason = completes ? NULL : "it was lost when it was measured",
			});
}

/* Processes the first instant of the heap, which may or may not make an event. */
static void process_next(struct sim *sim)
{
	const struct sim_heap_entry entry = *sim_heap_first(&sim->next);
	const struct sim_task *task = &sim->tasks[entry.task];

	advance(sim, entry.time_s);
	sim_heap_remove(&sim->next, entry.task);
	switch (sim->tasks[entry.task].phase) {
	case SIM_RUNNING:
		if (entry.time_s >= fmin(end_s(task), lost_s(task)))
			end_task(sim, entry.task, entry.time_s);
		else
			end_migration(sim, entry.task);
		break;
	case SIM_FREEZING:
		freeze(sim, entry.task);
		break;
	case SIM_SAVING:
		leave_nodes(sim, entry.task);
		break;
	case SIM_RESUMING:
		end_resumption(sim, entry.task);
		break;
	case SIM_AWAY:
	case SIM_SUSPENDED:
		g_assert_not_reached();
	}
}

/* When the next node goes down or comes back; INFINITY: none does. */
static double next_node_s(const struct sim *sim)
{
	return sim->nodes_next < sim->courses.nodes_count
		       ? fmax(sim->courses.nodes[sim->nodes_next].time_s, sim->now_s)
		       : INFINITY;
}

static void change_node(struct sim *sim)
{
	struct backend_event event = sim->courses.nodes[sim->nodes_next++];

	advance(sim, event.time_s);
	event.time_s = sim->now_s;
	push_event(sim, &event);
}

void backend_sim_wait(struct backend *backend, double until_s, struct backend_event *ret_event)
{
	struct sim *sim = (struct sim *)backend;

	while (sim->events_taken == sim->events->len) {
		const struct sim_heap_entry *first = sim_heap_first(&sim->next);
		const double limit_s = crossing_s(sim);
		const double node_s = next_node_s(sim);

		if (node_s <= until_s && node_s <= limit_s && (!first || node_s < first->time_s)) {
			change_node(sim);
			continue;
		}
		if (first && first->time_s <= until_s && first->time_s <= limit_s) {
			process_next(sim);
			continue;
		}
		if (limit_s <= until_s) {
			advance(sim, limit_s);
			sim->limit_j = INFINITY;
			*ret_event = (struct backend_event){
				.kind = BACKEND_EVENT_ENERGY_LIMIT,
				.time_s = limit_s,
			};
		} else {
			advance(sim, until_s);
			*ret_event = (struct backend_event){.time_s = until_s};
		}
		return;
	}
	*ret_event = g_array_index(sim->events, struct backend_event, sim->events_taken++);
}

static void sim_destroy(struct backend *backend)
{
	struct sim *sim = (struct sim *)backend;

	g_array_unref(sim->events);
	sim_heap_finish(&sim->next);
	g_free(sim->tasks);
	g_free(sim);
}

static const struct backend_ops sim_ops = {
	.name = "sim",
	.now_s = sim_now_s,
	.start = sim_start,
	.kill = sim_kill,
	.suspend = sim_suspend,
	.resume = sim_resume,
	.share = sim_share,
	.migrate = sim_migrate,
	.energy_j = sim_energy_j,
	.set_limit = sim_set_limit,
	.destroy = sim_destroy,
};

struct backend *backend_sim_new(const struct sched_system *system, uint32_t tasks_max)
{
	struct sim *sim = g_new0(struct sim, 1);

	sim->ops = sim_ops;
	sim->ops.migrate = NULL;
	sim->backend.ops = &sim->ops;
	sim->system = system;
	sim->tasks_max = tasks_max;
	sim->limit_j = INFINITY;
	sim_heap_init(&sim->next, tasks_max);
	sim->tasks = g_new0(struct sim_task, tasks_max);
	sim->events = g_array_new(FALSE, FALSE, sizeof(struct backend_event));
	return &sim->backend;
}

void backend_sim_set_spread(struct backend *backend, const struct backend_sim_spread *spread)
{
	struct sim *sim = (struct sim *)backend;

	sim->spread = spread;
	random_stream_init(&sim->random, spread->seed, spread->stream);
}

void backend_sim_set_overheads(struct backend *backend,
			       const struct backend_sim_overheads *overheads)
{
	((struct sim *)backend)->overheads = *overheads;
}

void backend_sim_set_penalty(struct backend *backend, double penalty_s)
{
	((struct sim *)backend)->penalty_s = penalty_s;
}

void backend_sim_set_exec_seed(struct backend *backend, uint64_t seed, uint64_t stream)
{
	struct sim *sim = (struct sim *)backend;

	sim->exec_seed = seed;
	sim->exec_stream = stream;
}

void backend_sim_set_courses(struct backend *backend, const struct backend_sim_courses *courses)
{
	struct sim *sim = (struct sim *)backend;

	sim->courses = *courses;
	sim->ops.migrate = courses->migrations_count > 0 ? sim_migrate : NULL;
}

void backend_sim_continue(struct backend *backend, double time_s, double energy_j)
{
	struct sim *sim = (struct sim *)backend;

	sim->now_s = time_s;
	sim->energy_j = (struct sum){.value = energy_j};
}

void backend_sim_carry(struct backend *backend, const struct backend_sim_carried *carried)
{
	struct sim *sim = (struct sim *)backend;
	const uint32_t index = carried->placed.task->id;
	struct sim_task *task = &sim->tasks[index];

	sim_start(backend, &carried->placed, carried->attempt);
	g_array_set_size(sim->events, sim->events->len - 1); /* STARTED: follows below */
	sim_heap_remove(&sim->next, index);
	end_interval(sim, task, sim->now_s);
	task->yield = carried->yield;
	task->executed_s = carried->earlier_s;
	task->total_s = fmax(task->total_s, carried->progress_s);
	task->work_s = carried->progress_s;
	task->suspension = carried->suspensions;
	task->resumption = carried->suspended && carried->suspensions > 0 ? carried->suspensions - 1
									  : carried->suspensions;
	task->phase = SIM_SUSPENDED;
	if (carried->suspended) {
		task->overhead = draw_overhead(sim, index, task); /* of its resumption */
		return;
	}
	begin_interval(sim, index, 0);
	task->since_s = sim->now_s - carried->interval_s;
	if (!carried->reported) {
		struct backend_event event = step_event(sim, BACKEND_EVENT_STARTED, index, 0);

		push_event(sim, &event);
	}
}
