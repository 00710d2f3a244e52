/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/workload/environment.h"

#include <math.h>

#include "controller/config/config_environment.h"
#include "controller/replay/trace_read.h"
#include "controller/workload/environment_pruning.h"
#include "controller/workload/environment_serial.h"
#include "controller/workload/environment_sharing.h"
#include "controller/workload/environment_types.h"

#define DAY_S ENVIRONMENT_DAY_S
/* Section 4.2.5: working hours, and how many times the mean rate wide tasks arrive then. */
#define WORK_BEGIN_S (9 * 3600.0)
#define WORK_END_S (18 * 3600.0)
#define WORK_RATE 2.0

/* Shorter jobs of a trace have the utility of a job of this mean time. */
#define JOB_MEAN_MIN_S 600.0

/* Streams of a trial. */
enum stream { STREAM_TYPES, STREAM_ARRIVALS, STREAM_WIDTHS, STREAM_CLASSES, STREAMS };

/* A trial in the making. */
struct maker {
	const struct config *config;
	struct variates *variates[STREAMS];
	struct environment_type *types;
	struct environment_class classes[ENVIRONMENT_CLASSES];
	GArray *tasks;     /* of struct sched_task; row = index in `rows` */
	GArray *rows;      /* of struct row */
	GHashTable *known; /* type and width -> index in `rows` */
};

/* A type at a width. */
struct row {
	uint32_t type;
	uint32_t units; /* width in cores of the type's unit */
	double run_s;   /* run time of a trace's job; 0: the type's times count */
};

/* Widths that need the same nodes everywhere share a row. */
static uint32_t find_row(struct maker *maker, uint32_t type, uint32_t cores)
{
	const uint32_t unit = maker->types[type].unit;
	const struct row row = {type, (cores + unit - 1) / unit, 0};
	const guint64 packed = (guint64)row.type << 32 | row.units;
	gpointer found;

	if (g_hash_table_lookup_extended(maker->known, &packed, NULL, &found))
		return GPOINTER_TO_UINT(found);
	g_hash_table_insert(maker->known, g_memdup2(&packed, sizeof(packed)),
			    GUINT_TO_POINTER(maker->rows->len));
	g_array_append_val(maker->rows, row);
	return maker->rows->len - 1;
}

/* Arrival rate of a type relative to its mean. `time_s` counts from midnight before the day. */
static double relative_rate(const struct maker *maker, const struct environment_type *type,
			    double time_s)
{
	const double clock_s = time_s - DAY_S * floor(time_s / DAY_S);
	const double work_s = WORK_END_S - WORK_BEGIN_S;

	if (!type->wide)
		return environment_sine(config_environment(maker->config), type->phase, clock_s);
	if (clock_s >= WORK_BEGIN_S && clock_s < WORK_END_S)
		return WORK_RATE;
	return (DAY_S - WORK_RATE * work_s) / (DAY_S - work_s);
}

/* Draws arrivals: a Poisson process at twice the mean rate, thinned to the present rate. */
static void draw_arrivals(struct maker *maker, uint32_t index)
{
	const struct config_environment *environment = config_environment(maker->config);
	const struct environment_type *type = &maker->types[index];
	const double most = 2;
	const double gap_s = DAY_S * ENVIRONMENT_TYPES / environment->tasks_per_day / most;
	struct variates *arrivals = maker->variates[STREAM_ARRIVALS];
	double time_s = 0;

	for (;;) {
		time_s += variates_exponential(arrivals, gap_s);
		if (time_s >= maker->config->experiment->duration_s)
			return;

		const bool kept = variates_uniform(arrivals, 0, most) <
				  relative_rate(maker, type, time_s - environment->lead_s);
		const uint32_t cores = variates_integer(maker->variates[STREAM_WIDTHS],
							type->cores_min, type->cores_max);
		const uint32_t class_ = variates_integer(maker->variates[STREAM_CLASSES], 0,
							 ENVIRONMENT_CLASSES - 1);
		struct sched_task task;

		if (!kept)
			continue;
		task = (struct sched_task){
			.row = find_row(maker, index, cores),
			.arrival_s = time_s,
			.utility = environment_utility(type, type->mean_s, &maker->classes[class_]),
		};
		g_array_append_val(maker->tasks, task);
	}
}

static uint32_t nodes_of(const struct config *config, const struct row *row,
			 const struct environment_type *type, uint32_t c)
{
	const uint32_t cores = config->clusters[c].cores;
	const uint32_t nodes = (row->units * type->unit + cores - 1) / cores;

	return type->places[c].usable && nodes <= config->clusters[c].nodes ? nodes : 0;
}

/* A job's execution time averaged over the clusters that can run it; 0: none can. */
static double job_mean_s(const struct maker *maker, const struct row *row)
{
	const struct environment_type *type = &maker->types[row->type];
	double sum_s = 0;
	uint32_t count = 0;

	for (uint32_t c = 0; c < maker->config->clusters_count; c++) {
		if (nodes_of(maker->config, row, type, c) == 0)
			continue;
		sum_s += row->run_s * environment_relative(type, c, 0);
		count++;
	}
	return count > 0 ? sum_s / count : 0;
}

/* The day of a job, from 1. */
static uint32_t day_of(const struct swf_job *job)
{
	return (uint32_t)fmin(job->submit_s / DAY_S, UINT32_MAX - 1) + 1;
}

/*
 * The `number`-th day, from 1, on which jobs are submitted; 0: none. *ret_days: how many there are.
 */
static uint32_t find_day(const struct swf_trace *trace, uint32_t number, uint32_t *ret_days)
{
	uint32_t found = 0;
	uint32_t last = 0;

	*ret_days = 0;
	for (uint32_t i = 0; i < trace->jobs_count; i++) {
		const uint32_t day = day_of(&trace->jobs[i]);

		if (day == last)
			continue;
		last = day;
		if (++*ret_days == number)
			found = day;
	}
	return found;
}

uint32_t environment_trace_day(const struct config *config, const struct swf_trace *trace,
			       uint32_t trial)
{
	uint32_t days;

	return find_day(trace, config_environment(config)->trace_day + trial - 1, &days);
}

/* Adds "366 to 368" or "366" to a list. */
static void append_days(GString *list, uint32_t first, uint32_t last)
{
	g_string_append_printf(list, "%s%u", list->len ? ", " : "", first);
	if (last > first)
		g_string_append_printf(list, " to %u", last);
}

char *environment_days_text(const struct config *config, const struct swf_trace *trace,
			    uint32_t trials)
{
	g_autoptr(GString) run = g_string_new(NULL);
	g_autoptr(GString) empty = g_string_new(NULL);
	uint32_t first = 0; /* range of days without a gap */
	uint32_t last = 0;
	uint32_t count = 0;

	if (!trace || config_environment(config)->sharing)
		return NULL;
	for (uint32_t trial = 1; trial <= trials; trial++) {
		const uint32_t day = environment_trace_day(config, trace, trial);

		if (day == 0)
			break;
		count++;
		if (day > last + 1 && (last > 0 || config_environment(config)->trace_day == 1))
			append_days(empty, last + 1, day - 1);
		if (last > 0 && day > last + 1)
			append_days(run, first, last);
		if (last == 0 || day > last + 1)
			first = day;
		last = day;
	}
	if (count == 0)
		return NULL;
	append_days(run, first, last);
	if (empty->len > 0)
		g_string_append_printf(run, "; nothing is submitted on %s", empty->str);
	return count == 1 ? g_strdup_printf("trial 1 runs day %s", run->str)
			  : g_strdup_printf("trials 1 to %u run days %s", count, run->str);
}

/* Draws the tasks from the jobs of a day of the trace and of the lead before it (4.3). */
static void draw_jobs(struct maker *maker, const struct swf_trace *trace, uint32_t trial)
{
	const uint32_t day = environment_trace_day(maker->config, trace, trial);
	const double begin_s = DAY_S * (day - 1.0) - config_environment(maker->config)->lead_s;

	for (uint32_t i = 0; day > 0 && i < trace->jobs_count; i++) {
		const struct swf_job *job = &trace->jobs[i];
		struct row row = {.run_s = job->run_s};
		struct sched_task task;
		uint32_t class_;
		double mean_s;

		if (job->submit_s < begin_s ||
		    job->submit_s >= begin_s + maker->config->experiment->duration_s)
			continue;
		row.type =
			variates_integer(maker->variates[STREAM_WIDTHS], 0, ENVIRONMENT_TYPES - 1);
		class_ = variates_integer(maker->variates[STREAM_CLASSES], 0,
					  ENVIRONMENT_CLASSES - 1);
		row.units = (job->procs + maker->types[row.type].unit - 1) /
			    maker->types[row.type].unit;
		mean_s = job_mean_s(maker, &row);
		if (!(mean_s > 0))
			continue;
		task = (struct sched_task){
			.row = maker->rows->len,
			.arrival_s = job->submit_s - begin_s,
			.utility = environment_utility(&maker->types[row.type],
						       fmax(mean_s, JOB_MEAN_MIN_S),
						       &maker->classes[class_]),
		};
		g_array_append_val(maker->rows, row);
		g_array_append_val(maker->tasks, task);
	}
}

static struct workload *make_workload(struct maker *maker, const struct swf_trace *trace,
				      uint64_t seed, uint32_t trial)
{
	for (uint32_t i = 0; !trace && i < ENVIRONMENT_TYPES; i++)
		draw_arrivals(maker, i);
	if (trace)
		draw_jobs(maker, trace, trial);
	return workload_of_tasks(g_steal_pointer(&maker->tasks), seed, trial);
}

/* Fills in the estimates of a row in a cluster; none if it is too wide. */
static void fill_cells(const struct maker *maker, struct sched_system *system, uint32_t index,
		       uint32_t c)
{
	const struct row *row = &g_array_index(maker->rows, struct row, index);
	const struct environment_type *type = &maker->types[row->type];
	const struct environment_place *place = &type->places[c];
	const struct sched_cluster *cluster = &system->clusters[c];
	const uint32_t nodes = nodes_of(maker->config, row, type, c);
	const size_t first = (size_t)index * system->columns_count + cluster->column;

	if (nodes == 0)
		return;
	system->nodes[index * system->clusters_count + c] = nodes;
	for (uint32_t p = 0; p < cluster->pstates; p++) {
		const double etc_s =
			row->run_s > 0
				? row->run_s * environment_relative(type, c, p)
				: place->single_s * place->time_scale[p] *
					  environment_downey(nodes, place->average, type->sigma);

		system->etc_s[first + p] = etc_s;
		system->eec_j[first + p] = etc_s * nodes * place->power_w * place->power_scale[p];
	}
}

static struct sched_system *make_system(const struct maker *maker, GStringChunk *names)
{
	const struct config *config = maker->config;
	struct sched_system *system =
		workload_clusters_system(config, config_environment(config)->pstates,
					 maker->rows->len);

	for (uint32_t i = 0; i < maker->rows->len; i++) {
		const struct row *row = &g_array_index(maker->rows, struct row, i);
		g_autofree char *name = g_strdup_printf("t%u.%u", row->type,
							row->units * maker->types[row->type].unit);

		system->row_names[i] = g_string_chunk_insert(names, name);
		for (uint32_t c = 0; c < config->clusters_count; c++)
			fill_cells(maker, system, i, c);
	}
	return system;
}

static double find_utility_max(const struct config *config, const struct environment_trial *trial)
{
	double sum = 0;

	for (uint32_t i = 0; i < trial->workload->tasks_count; i++) {
		const struct sched_task *task = &trial->workload->tasks[i];
		double fastest_s = (double)INFINITY;
		uint32_t count;
		const struct sched_option *options =
			sched_system_options(trial->system, task->row, &count);

		for (uint32_t j = 0; j < count; j++)
			if (options[j].pstate == 0)
				fastest_s = fmin(fastest_s, options[j].etc_s);
		if (task->arrival_s >= config_environment(config)->lead_s)
			sum += utility_value(&task->utility, fastest_s);
	}
	return sum;
}

struct swf_trace *environment_trace_new(const struct config *config, GError **error)
{
	const struct config_environment *environment = config_environment(config);
	const struct swf_filter filter = {.procs = environment->trace_cores};
	g_autoptr(GError) why = NULL;
	struct swf_trace *trace = trace_read(environment->trace, &filter, &why);

	if (!trace)
		g_set_error(error, WORKLOAD_ERROR, WORKLOAD_ERROR_SYSTEM, "environment.trace: %s",
			    why->message);
	return trace;
}

/* Draws parallel tasks: fills in system and workload. */
static void draw_parallel(struct environment_trial *made, const struct config *config,
			  const struct swf_trace *trace, uint64_t seed, uint32_t trial)
{
	struct maker maker = {
		.config = config,
		.tasks = g_array_new(FALSE, TRUE, sizeof(struct sched_task)),
		.rows = g_array_new(FALSE, TRUE, sizeof(struct row)),
		.known = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL),
	};

	for (uint32_t i = 0; i < STREAMS; i++)
		maker.variates[i] = variates_new(seed, (uint64_t)trial * STREAMS + i);
	maker.types = environment_types_new(config, maker.variates[STREAM_TYPES]);
	environment_classes_draw(config_environment(config)->classes_seed, maker.classes);
	made->workload = make_workload(&maker, trace, seed, trial);
	made->system = make_system(&maker, made->names);
	environment_types_free(maker.types);
	for (uint32_t i = 0; i < STREAMS; i++)
		variates_free(maker.variates[i]);
	g_array_unref(maker.rows);
	g_hash_table_unref(maker.known);
}

/* Why a trial has no tasks, and what to change. The caller frees. */
static char *why_empty(const struct config *config, const struct swf_trace *trace, uint32_t trial)
{
	const struct config_environment *environment = config_environment(config);
	uint32_t days;
	uint32_t day;

	if (!trace)
		return g_strdup("");
	if (environment->sharing)
		return g_strdup("; has the trace enough weeks after environment.sharing.week?");
	day = find_day(trace, environment->trace_day + trial - 1, &days);
	if (day > 0)
		return g_strdup_printf(
			": no cluster is large enough for a job of day %u of the trace", day);
	if (days < environment->trace_day)
		return g_strdup_printf(
			": the trace has jobs on %u day%s; set environment.trace_day to %u%s", days,
			days == 1 ? "" : "s", days, days == 1 ? "" : " or less");
	days -= environment->trace_day - 1;
	return g_strdup_printf(
		": from environment.trace_day on the trace has jobs on %u day%s; give --trials "
		"%u%s",
		days, days == 1 ? "" : "s", days, days == 1 ? "" : " or fewer");
}

struct environment_trial *environment_trial_new(const struct config *config,
						const struct swf_trace *trace, uint64_t seed,
						uint32_t trial, GError **error)
{
	const struct config_environment *environment = config_environment(config);
	const bool finished = environment->sharing || environment->pruning;
	g_autoptr(environment_trial_t) made = NULL;

	seed = seed ? seed : environment->seed;
	if (environment->sharing) {
		made = environment_sharing_new(config, trace, seed, trial, error);
	} else {
		made = g_new0(struct environment_trial, 1);
		made->names = g_string_chunk_new(4096);
		if (environment->serial)
			environment_serial_draw(made, config, seed, trial);
		else if (!environment->pruning)
			draw_parallel(made, config, trace, seed, trial);
		else if (!environment_pruning_draw(made, config, seed, trial, error))
			return NULL;
	}
	if (!made)
		return NULL;
	if (made->workload->tasks_count == 0) {
		g_autofree char *why = why_empty(config, trace, trial);

		g_set_error(error, WORKLOAD_ERROR, WORKLOAD_ERROR_TASK,
			    "environment: no task arrives in trial %u%s", trial, why);
		return NULL;
	}
	if (!finished && (!workload_finish_system(made->system, "environment: ", error) ||
			  !workload_check(made->workload, made->system, error)))
		return NULL;
	if (!finished && !environment->serial)
		made->utility_max = find_utility_max(config, made);
	return g_steal_pointer(&made);
}

void environment_trial_free(struct environment_trial *trial)
{
	if (!trial)
		return;
	sched_system_free(trial->system);
	sched_system_free(trial->whole);
	workload_free(trial->workload);
	environment_machines_free(trial->machines);
	if (trial->names)
		g_string_chunk_free(trial->names);
	g_free(trial);
}
