/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/workload/environment_sharing.h"

#include "controller/config/config_environment.h"
#include "controller/workload/dfrs.h"

/* The listed jobs; the caller frees. */
static struct dfrs_job *list_jobs(const struct config_sharing *sharing)
{
	struct dfrs_job *jobs = g_new(struct dfrs_job, sharing->list_count);

	for (uint32_t i = 0; i < sharing->list_count; i++) {
		const struct config_job *job = &sharing->list[i];

		jobs[i] = (struct dfrs_job){job->arrival_s,
					    job->run_s,
					    {job->vms, job->cpu, job->memory}};
	}
	return jobs;
}

/* The jobs of a trial, *ret_count of them; the caller frees. */
static struct dfrs_job *draw_jobs(const struct config *config, const struct swf_trace *trace,
				  uint64_t seed, uint32_t number, uint32_t *ret_count)
{
	const struct config_sharing *sharing = config_environment(config)->sharing;

	if (trace)
		return dfrs_hpc2n_new(trace, sharing->week + number - 2, config->clusters[0].nodes,
				      ret_count);
	if (sharing->list_count > 0) {
		*ret_count = sharing->list_count;
		return list_jobs(sharing);
	}
	*ret_count = sharing->jobs;
	return dfrs_lublin_new(seed, number, sharing->jobs, sharing->load, sharing->memory_tenths);
}

static bool check_jobs(const struct config *config, const struct dfrs_job *jobs, uint32_t count,
		       uint32_t number, GError **error)
{
	const struct config_cluster *cluster = &config->clusters[0];

	for (uint32_t i = 0; i < count; i++) {
		const struct sched_demand *demand = &jobs[i].demand;

		if (dfrs_whole_hosts(demand) <= cluster->nodes)
			continue;
		g_set_error(error, WORKLOAD_ERROR, WORKLOAD_ERROR_TASK,
			    "environment.sharing: job %u of trial %u could not run on the empty "
			    "cluster \"%s\": %u VMs with %g of a host's CPU and %g of its memory "
			    "each need %u hosts, and it has %u",
			    i, number, cluster->name, demand->vms, demand->cpu, demand->memory,
			    dfrs_whole_hosts(demand), cluster->nodes);
		return false;
	}
	return true;
}

struct environment_trial *environment_sharing_new(const struct config *config,
						  const struct swf_trace *trace, uint64_t seed,
						  uint32_t number, GError **error)
{
	uint32_t count = 0;
	g_autofree struct dfrs_job *jobs = draw_jobs(config, trace, seed, number, &count);
	g_autoptr(environment_trial_t) trial = NULL;

	if (!check_jobs(config, jobs, count, number, error))
		return NULL;
	trial = dfrs_trial_new(jobs, count, config->clusters[0].nodes);
	trial->workload->seed = seed;
	trial->workload->trial = number;
	return workload_check(trial->workload, trial->whole, error) ? g_steal_pointer(&trial)
								    : NULL;
}
