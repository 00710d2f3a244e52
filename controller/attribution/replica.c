/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/attribution/replica.h"

#include <math.h>
#include <string.h>

#include "common/random.h"
#include "controller/experiment/simulation.h"

/* So that no draw here is one of the simulation's. */
#define REPLICA_SEED UINT64_C(0x6361757365730000)

/* A type with fewer tasks draws from the tasks of all types (as in resampling.h). */
#define DRAWN_FROM_MIN 5

/* The least part of an estimate that a task takes. */
#define LEAST_TIME 1e-3

const char *const measure_keys[MEASURES] = {"utility", "energy_j", "completed", "stretch"};
const char *const measure_titles[MEASURES] = {"utility", "energy J", "tasks completed", "stretch"};

/* One simulation. */
struct setup {
	const struct replica *replica;
	const struct replica_run *run;
	cause_set on;
	const struct experiment *experiment; /* whose estimates it has */
	struct experiment_trial trial;
	bool own;       /* the tasks are the measured ones, so that each may have its own time */
	uint32_t index; /* of the trial */
	struct backend_sim_courses courses;
	struct backend_sim_course *of;
	struct simulation_moments moments;
	double *late_s;            /* drawn again */
	struct overheads measured; /* its arrays are its own, their samples are borrowed */
};

static bool is_on(const struct setup *setup, enum cause cause)
{
	return setup->on >> cause & 1;
}

static void begin_draws(const struct setup *setup, uint64_t kind, uint64_t item,
			struct random_stream *ret_random)
{
	random_stream_init(ret_random,
			   REPLICA_SEED ^ kind ^ (uint64_t)setup->run->noise << 8 ^
				   (uint64_t)setup->run->repeat << 32 ^
				   (uint64_t)setup->index << 48,
			   setup->run->stream << 32 | item);
}

/* Courses. */

/* The means of tasks; what none of them has is as estimated. */
static struct observed_course mean_of(const GPtrArray *tasks, double hidden_s)
{
	struct observed_course mean = {.time = 0, .launch_s = 0, .power = 0};
	guint launched = 0, metered = 0;

	for (guint i = 0; i < tasks->len; i++) {
		const struct observed_course *one = tasks->pdata[i];

		mean.time += one->time;
		if (isfinite(one->launch_s)) {
			mean.launch_s += one->launch_s;
			launched++;
		}
		if (isfinite(one->power)) {
			mean.power += one->power;
			metered++;
		}
	}
	mean.time = tasks->len ? mean.time / tasks->len : 1;
	mean.launch_s = launched ? mean.launch_s / launched : hidden_s;
	mean.power = metered ? mean.power / metered : 1;
	return mean;
}

/* Leaves of a drawn task how it deviates from the mean, in the place of 1 or the hidden launch. */
static void leave_noise(struct observed_course *drawn, const struct observed_course *mean,
			double hidden_s)
{
	drawn->time /= mean->time;
	drawn->launch_s =
		mean->launch_s > 0 ? drawn->launch_s * hidden_s / mean->launch_s : hidden_s;
	drawn->power = mean->power > 0 ? drawn->power / mean->power : 1;
}

/* What a task that was not measured there is like on a cluster. */
static struct observed_course like_others(const struct setup *setup, uint32_t index, uint32_t row,
					  uint32_t cluster)
{
	const struct observed *observed = setup->replica->observed;
	const double hidden_s = observed->launch_s[cluster];
	const GPtrArray *tasks = observed->tasks[(size_t)row * observed->clusters_count + cluster];
	struct random_stream random;
	struct observed_course drawn;

	if (setup->own && setup->run->repeat == 0)
		return mean_of(observed_tasks(observed, row, cluster), hidden_s);
	if (tasks->len < DRAWN_FROM_MIN)
		tasks = observed->all[cluster];
	if (tasks->len == 0)
		return mean_of(tasks, hidden_s);
	begin_draws(setup, 1, (uint64_t)index << 8 | cluster, &random);
	drawn = *(const struct observed_course *)
			 tasks->pdata[random_stream_below(&random, tasks->len)];
	drawn.drawn_s = 0;
	if (!isfinite(drawn.launch_s))
		drawn.launch_s = hidden_s;
	if (!isfinite(drawn.power))
		drawn.power = 1;
	if (setup->run->noise) {
		const struct observed_course mean = mean_of(tasks, hidden_s);

		leave_noise(&drawn, &mean, hidden_s);
	}
	return drawn;
}

/* A task as it is on a cluster. */
static struct observed_course find_task(const struct setup *setup, uint32_t index, uint32_t row,
					uint32_t cluster, double etc_s)
{
	const double hidden_s = setup->replica->observed->launch_s[cluster];
	const struct observed_course *own =
		setup->own && setup->run->repeat == 0 ? &setup->run->observed->tasks[index] : NULL;
	struct observed_course task;

	if (own && own->cluster == cluster && own->completed) {
		task = *own;
		if (!isfinite(task.launch_s))
			task.launch_s = hidden_s;
		if (!isfinite(task.power))
			task.power = 1;
		return task;
	}
	task = like_others(setup, index, row, cluster);
	/* It had not completed when the run ended. */
	if (own && own->cluster == cluster && etc_s > hidden_s)
		task.time = fmax(task.time, (own->at_least_s - task.launch_s) / (etc_s - hidden_s) *
						    (1 + 1e-9));
	return task;
}

static struct backend_sim_course make_course(const struct setup *setup, uint32_t index,
					     uint32_t row, uint32_t cluster)
{
	const struct sched_system *system = setup->experiment->system;
	const struct sched_option *option = sched_system_option(system, row, cluster, 0);
	const double hidden_s = setup->replica->observed->launch_s[cluster];
	const double etc_s = option ? option->etc_s : 0;
	const struct observed_course task = find_task(setup, index, row, cluster, etc_s);
	struct backend_sim_course course = {
		.time = is_on(setup, CAUSE_TIMES) ? task.time : 1,
		.power = is_on(setup, CAUSE_METERING) ? task.power : 1,
		.drawn_s = is_on(setup, CAUSE_TIMES) ? task.drawn_s : 0,
	};

	course.more_s =
		(is_on(setup, CAUSE_LAUNCH) ? task.launch_s : hidden_s) - course.time * hidden_s;
	if (course.time * etc_s + course.more_s < LEAST_TIME * etc_s)
		course.more_s = (LEAST_TIME - course.time) * etc_s;
	return course;
}

static void make_courses(struct setup *setup)
{
	const struct workload *workload = setup->trial.workload;
	const uint32_t clusters = setup->experiment->system->clusters_count;
	const cause_set of_tasks = 1u << CAUSE_TIMES | 1u << CAUSE_LAUNCH | 1u << CAUSE_METERING;

	if (!(setup->on & of_tasks))
		return;
	setup->of = g_new(struct backend_sim_course, (size_t)workload->tasks_count * clusters);
	for (uint32_t i = 0; i < workload->tasks_count; i++)
		for (uint32_t c = 0; c < clusters; c++)
			setup->of[(size_t)i * clusters + c] =
				make_course(setup, i, workload->tasks[i].row, c);
	setup->courses.of = setup->of;
}

/* The rest of what was measured. */

static void put_steps(struct setup *setup)
{
	const struct observed_run *observed = setup->run->observed;

	if (is_on(setup, CAUSE_SUSPENSION)) {
		const GArray *migrations = setup->replica->observed->migrations;

		if (setup->own && setup->run->repeat == 0) {
			setup->courses.steps = (const struct backend_sim_step *)(const void *)
						       observed->steps->data;
			setup->courses.steps_count = observed->steps->len;
		}
		setup->courses.migrations =
			(const struct backend_sim_migration *)(const void *)migrations->data;
		setup->courses.migrations_count = migrations->len;
	}
	if (is_on(setup, CAUSE_LOST)) {
		setup->courses.losses =
			(const struct backend_sim_loss *)(const void *)observed->losses->data;
		setup->courses.losses_count = observed->losses->len;
		setup->courses.nodes =
			(const struct backend_event *)(const void *)observed->nodes->data;
		setup->courses.nodes_count = observed->nodes->len;
	}
	if (is_on(setup, CAUSE_METERING) && isfinite(observed->base_w) && !setup->run->noise)
		setup->courses.base_w = observed->base_w;
}

/* Decisions come at the moments of one measured repeat, drawn at random. */
static void put_moments(struct setup *setup, double duration_s)
{
	const struct observed_run *observed = setup->run->observed;
	const double *late_s = (const double *)(const void *)observed->late_s->data;
	const guint count = observed->late_s->len;
	struct random_stream random;

	if (!is_on(setup, CAUSE_MOMENTS) || count == 0)
		return;
	if (setup->run->repeat > 0) {
		begin_draws(setup, 2, 0, &random);
		setup->late_s = g_new(double, count);
		for (guint i = 0; i < count; i++)
			setup->late_s[i] = late_s[random_stream_below(&random, count)];
		late_s = setup->late_s;
	}
	setup->moments = (struct simulation_moments){
		.due_s = (const double *)(const void *)observed->due_s->data,
		.late_s = late_s,
		.count = count,
		.end_s = duration_s,
	};
}

/* The run. */

/* The tasks of one side with the estimates of another. */
static struct experiment_trial trial_with(const struct experiment_trial *tasks,
					  const struct experiment_trial *estimates)
{
	struct experiment_trial trial = *tasks;

	trial.system = estimates->system;
	trial.whole = estimates->whole;
	trial.pruning = estimates->pruning;
	return trial;
}

static struct engine_setup engine_setup_of(const struct setup *setup)
{
	const struct replica *replica = setup->replica;
	const bool metering = is_on(setup, CAUSE_METERING) && !setup->run->noise;
	struct engine_setup made =
		experiment_trial_setup(setup->experiment, &setup->trial, setup->run->policy,
				       metering ? setup->run->measured_j : setup->run->simulated_j);

	made.mapping_interval_s = (is_on(setup, CAUSE_MOMENTS) ? replica->measured.experiment
							       : replica->simulated.experiment)
					  ->config->experiment->mapping_interval_s;
	made.duration_s = (is_on(setup, CAUSE_ARRIVALS) ? replica->measured.experiment
							: replica->simulated.experiment)
				  ->config->experiment->duration_s;
	made.trim = true;
	return made;
}

/*
 * The overheads that were measured. A cluster on which none was keeps the simulated ones: that it
 * did not suspend there does not mean that it would have taken no time.
 */
static void measure_overheads(struct setup *setup)
{
	const struct overheads *observed = setup->replica->observed->overheads;
	const struct overheads *simulated = setup->replica->simulated.experiment->overheads;

	setup->measured.clusters_count = observed->clusters_count;
	setup->measured.samples = g_new0(struct backend_overhead *, observed->clusters_count);
	setup->measured.counts = g_new0(uint32_t, observed->clusters_count);
	for (uint32_t c = 0; c < observed->clusters_count; c++) {
		const struct overheads *from =
			observed->counts[c] == 0 && simulated ? simulated : observed;

		setup->measured.samples[c] = from->samples[c];
		setup->measured.counts[c] = from->counts[c];
	}
}

static struct backend *backend_of(const struct setup *setup, const struct engine_setup *made)
{
	const struct workload *workload = setup->trial.workload;
	const struct replica *replica = setup->replica;
	const struct sched_system *system = setup->trial.whole ?: setup->trial.system;
	const bool measured = is_on(setup, CAUSE_SUSPENSION);
	const struct backend_sim_overheads overheads = overheads_view(
		measured ? &setup->measured : replica->simulated.experiment->overheads,
		measured && setup->run->repeat > 0
			? REPLICA_SEED ^ (setup->run->stream << 16 | setup->run->repeat)
			: workload->seed,
		workload->trial);
	struct backend *backend = backend_sim_new(system, workload_room(workload));

	backend_sim_set_overheads(backend, &overheads);
	if (made->system->queueing)
		backend_sim_set_exec_seed(backend, workload->seed, workload->trial);
	backend_sim_set_courses(backend, &setup->courses);
	return backend;
}

/* Simulates once. *ret_suspended becomes true if tasks were suspended, and else stays. */
static bool run_once(struct setup *setup, double ret_values[MEASURES], bool *ret_suspended,
		     GError **error)
{
	struct engine_setup made = engine_setup_of(setup);
	g_autoptr(plugin_t) plugin =
		experiment_plugin_new(setup->replica->simulated.experiment, &made);
	struct engine_result result;
	struct backend *backend;
	struct engine *engine;
	bool good;

	make_courses(setup);
	put_steps(setup);
	put_moments(setup, made.duration_s);
	measure_overheads(setup);
	backend = backend_of(setup, &made);
	engine = engine_new(&made, backend);
	simulation_run_late(engine, backend, &setup->moments, &result);
	experiment_complete_result(&setup->trial, engine, &result);
	good = experiment_check_outside(&made, &result, error);
	for (uint32_t i = 0; i < made.workload->tasks_count && !*ret_suspended; i++)
		*ret_suspended = engine_task_at(engine, i)->suspensions > 0 ||
				 engine_task_at(engine, i)->migrations > 0;
	engine_free(engine);
	backend_destroy(backend);
	g_free(setup->of);
	g_free(setup->late_s);
	g_free(setup->measured.samples);
	g_free(setup->measured.counts);
	ret_values[MEASURE_UTILITY] = result.utility;
	ret_values[MEASURE_ENERGY] = result.energy_j;
	ret_values[MEASURE_COMPLETED] = result.tasks_completed;
	ret_values[MEASURE_STRETCH] = result.stretch_max > 0 ? result.stretch_mean : (double)NAN;
	return good;
}

bool replica_simulate(const struct replica *replica, const struct replica_run *run, cause_set on,
		      double ret_values[MEASURES], bool *ret_suspended, GError **error)
{
	const bool arrivals = on >> CAUSE_ARRIVALS & 1;
	const struct replica_side *tasks = arrivals ? &replica->measured : &replica->simulated;
	const struct replica_side *estimates =
		on >> CAUSE_TIMES & 1 && !run->noise ? &replica->measured : &replica->simulated;
	const bool own = arrivals || replica->same_tasks;

	*ret_suspended = false;
	memset(ret_values, 0, MEASURES * sizeof(*ret_values));
	for (uint32_t i = 0; i < tasks->trials_count; i++) {
		struct setup setup = {
			.replica = replica,
			.run = run,
			.on = on,
			.experiment = estimates->experiment,
			.own = own,
			.index = i,
		};
		double values[MEASURES];

		setup.trial = trial_with(&tasks->trials[i], &estimates->trials[0]);
		if (!run_once(&setup, values, ret_suspended, error))
			return false;
		for (int m = 0; m < MEASURES; m++)
			ret_values[m] += values[m] / tasks->trials_count;
	}
	return true;
}

/* Which causes are possible. */

static bool same_utility(const struct utility *a, const struct utility *b)
{
	bool same = a->max == b->max && a->segments_count == b->segments_count;

	for (uint32_t i = 0; same && i < a->segments_count; i++) {
		const struct utility_segment *x = &a->segments[i];
		const struct utility_segment *y = &b->segments[i];

		same = x->curve == y->curve && x->duration_s == y->duration_s &&
		       x->start_fraction == y->start_fraction &&
		       x->end_fraction == y->end_fraction && x->rate_per_s == y->rate_per_s;
	}
	return same;
}

static bool same_tasks(const struct replica *replica)
{
	const struct workload *a = replica->measured.trials[0].workload;
	const struct workload *b = replica->simulated.trials[0].workload;

	if (replica->simulated.trials_count != 1 || a->tasks_count != b->tasks_count)
		return false;
	for (uint32_t i = 0; i < a->tasks_count; i++)
		if (a->tasks[i].arrival_s != b->tasks[i].arrival_s ||
		    a->tasks[i].row != b->tasks[i].row ||
		    a->tasks[i].deadline_s != b->tasks[i].deadline_s ||
		    !same_utility(&a->tasks[i].utility, &b->tasks[i].utility))
			return false;
	return true;
}

static bool same_numbers(const double *a, const double *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (a[i] != b[i] && !(isnan(a[i]) && isnan(b[i])))
			return false;
	return true;
}

static bool same_estimates(const struct replica *replica)
{
	const struct sched_system *a = replica->measured.experiment->system;
	const struct sched_system *b = replica->simulated.experiment->system;
	const size_t count = (size_t)a->rows_count * a->columns_count;

	return a->rows_count == b->rows_count && a->columns_count == b->columns_count &&
	       same_numbers(a->etc_s, b->etc_s, count) && same_numbers(a->eec_j, b->eec_j, count);
}

/* What the tasks and runs on record say. */
static cause_set observed_causes(const struct observed *observed)
{
	cause_set found = 0;

	for (guint i = 0; i < observed->runs->len; i++) {
		const struct observed_run *run = observed->runs->pdata[i];

		found |= (run->losses->len || run->nodes->len) << CAUSE_LOST;
		for (guint k = 0; k < run->late_s->len; k++)
			found |= (g_array_index(run->late_s, double, k) > 0) << CAUSE_MOMENTS;
		if (isfinite(run->base_w) && fabs(run->base_w) > 1e-9)
			found |= 1u << CAUSE_METERING;
		for (uint32_t k = 0; k < run->tasks_count; k++) {
			const struct observed_course *task = &run->tasks[k];

			if (!task->completed)
				continue;
			if (task->time != 1 || task->drawn_s > 0)
				found |= 1u << CAUSE_TIMES;
			if (isfinite(task->launch_s) &&
			    task->launch_s != observed->launch_s[task->cluster])
				found |= 1u << CAUSE_LAUNCH;
			if (isfinite(task->power) && fabs(task->power - 1) > 1e-12)
				found |= 1u << CAUSE_METERING;
		}
	}
	for (uint32_t c = 0; c < observed->clusters_count; c++)
		found |= (observed->overheads->counts[c] > 0) << CAUSE_SUSPENSION;
	found |= (observed->migrations->len > 0) << CAUSE_SUSPENSION;
	return found;
}

void replica_find_possible(struct replica *replica)
{
	replica->possible = observed_causes(replica->observed);
	if (!same_estimates(replica))
		replica->possible |= 1u << CAUSE_TIMES;
	if (replica->measured.experiment->config->experiment->mapping_interval_s !=
	    replica->simulated.experiment->config->experiment->mapping_interval_s)
		replica->possible |= 1u << CAUSE_MOMENTS;
	replica->same_tasks = same_tasks(replica);
	if (!replica->same_tasks ||
	    replica->measured.experiment->config->experiment->duration_s !=
		    replica->simulated.experiment->config->experiment->duration_s)
		replica->possible |= 1u << CAUSE_ARRIVALS;
}
