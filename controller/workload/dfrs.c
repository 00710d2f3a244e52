/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/workload/dfrs.h"

#include <math.h>

#include "controller/sched/sharing.h"

/* Longer than any job of a trace. */
#define FOREVER_S 1e12

/* Streams of a trial's seed. */
enum { STREAM_JOBS, STREAM_DEMANDS, STREAMS };

static struct variates *stream_new(uint64_t seed, uint32_t trial, uint32_t stream)
{
	return variates_new(seed, (uint64_t)trial * STREAMS + stream);
}

static struct sched_demand draw_demand(struct variates *variates, uint32_t tasks,
				       uint32_t tenths_max)
{
	const bool small = variates_uniform(variates, 0, 1) < 0.55;
	const uint32_t tenths = variates_integer(variates, 2, tenths_max);

	return (struct sched_demand){
		.vms = tasks,
		.cpu = tasks == 1 ? 0.25 : 1,
		.memory = small ? 0.1 : tenths / 10.0,
	};
}

struct dfrs_job *dfrs_lublin_new(uint64_t seed, uint32_t trial, uint32_t count, double load,
				 uint32_t tenths_max)
{
	g_autofree struct lublin_job *drawn = g_new(struct lublin_job, count);
	struct dfrs_job *jobs = g_new(struct dfrs_job, count);
	struct variates *variates = stream_new(seed, trial, STREAM_JOBS);

	lublin_draw(variates, count, drawn);
	variates_free(variates);
	if (load > 0)
		lublin_scale(drawn, count, LUBLIN_NODES, load);
	variates = stream_new(seed, trial, STREAM_DEMANDS);
	for (uint32_t i = 0; i < count; i++)
		jobs[i] = (struct dfrs_job){drawn[i].arrival_s, drawn[i].run_s,
					    draw_demand(variates, drawn[i].nodes, tenths_max)};
	variates_free(variates);
	return jobs;
}

#define WEEK_S (7 * 86400.0)
#define HPC2N_MEMORY_KB (2.0 * 1024 * 1024)
#define HPC2N_MEMORY_MIN 0.1

uint32_t dfrs_trace_weeks(const struct swf_trace *trace)
{
	if (trace->jobs_count == 0)
		return 0;
	return (uint32_t)(trace->jobs[trace->jobs_count - 1].submit_s / WEEK_S) + 1;
}

static struct sched_demand hpc2n_demand(const struct swf_job *job)
{
	const double memory = fmin(1, fmax(HPC2N_MEMORY_MIN, job->memory_kb / HPC2N_MEMORY_KB));

	if (job->procs % 2 == 0 && memory < 0.5)
		return (struct sched_demand){job->procs / 2, 1, 2 * memory};
	return (struct sched_demand){job->procs, 0.5, memory};
}

uint32_t dfrs_whole_hosts(const struct sched_demand *demand)
{
	const double full = 1 + SCHED_SHARE_SLACK;
	const double room = fmin(full / demand->cpu, full / demand->memory);
	const uint32_t each = (uint32_t)fmin(fmax(room, 1), UINT32_MAX);

	return demand->vms / each + (demand->vms % each != 0);
}

struct dfrs_job *dfrs_hpc2n_new(const struct swf_trace *trace, uint32_t week, uint32_t hosts,
				uint32_t *ret_count)
{
	GArray *jobs = g_array_new(FALSE, FALSE, sizeof(struct dfrs_job));

	for (uint32_t i = 0; i < trace->jobs_count; i++) {
		const struct swf_job *from = &trace->jobs[i];
		const double week_s = week * WEEK_S;
		const struct dfrs_job job = {
			.arrival_s = from->submit_s - week_s,
			.run_s = from->run_s,
			.demand = hpc2n_demand(from),
		};

		if (from->submit_s >= week_s && from->submit_s < week_s + WEEK_S &&
		    dfrs_whole_hosts(&job.demand) <= hosts)
			g_array_append_val(jobs, job);
	}
	*ret_count = jobs->len;
	return (struct dfrs_job *)(void *)g_array_free(jobs, FALSE);
}

static struct sched_system *system_new(struct environment_trial *trial, uint32_t hosts,
				       const struct dfrs_job *jobs, uint32_t count)
{
	const struct sched_cluster cluster = {.name = "hosts",
					      .nodes = hosts,
					      .cores = 1,
					      .pstates = 1};
	struct sched_system *system = sched_system_new(&cluster, 1, count);

	if (!system)
		g_error("out of memory");
	for (uint32_t i = 0; i < count; i++) {
		g_autofree char *name = g_strdup_printf("job-%u", i);

		system->row_names[i] = g_string_chunk_insert(trial->names, name);
		system->etc_s[i] = jobs[i].run_s;
		system->nodes[i] = dfrs_whole_hosts(&jobs[i].demand);
	}
	if (sched_system_finish(system, NULL) != SCHED_SYSTEM_OK)
		g_error("a job that cannot run alone");
	return system;
}

struct environment_trial *dfrs_trial_new(const struct dfrs_job *jobs, uint32_t count,
					 uint32_t hosts)
{
	struct environment_trial *trial = g_new0(struct environment_trial, 1);
	struct workload *workload = trial->workload = g_new0(struct workload, 1);

	trial->names = g_string_chunk_new(4096);
	trial->whole = system_new(trial, hosts, jobs, count);
	trial->system = system_new(trial, hosts, NULL, 0);
	trial->system->shared = true;
	workload->trial = 1;
	workload->tasks_count = count;
	workload->tasks = g_new0(struct sched_task, count);
	for (uint32_t i = 0; i < count; i++)
		workload->tasks[i] = (struct sched_task){
			.id = i,
			.row = i,
			.arrival_s = jobs[i].arrival_s,
			.utility = {.max = 1,
				    .segments_count = 1,
				    .segments = {{.curve = UTILITY_CONSTANT,
						  .duration_s = FOREVER_S,
						  .start_fraction = 1,
						  .end_fraction = 1}}},
			.demand = jobs[i].demand,
		};
	return trial;
}

double dfrs_bounded_stretch(double turnaround_s, double run_s)
{
	return fmax(turnaround_s, SHARING_BOUND_S) / fmax(run_s, SHARING_BOUND_S);
}

double dfrs_stretch_at_least(double so_far_s, double run_s)
{
	return dfrs_bounded_stretch(fmax(so_far_s, run_s), run_s);
}
