/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/config/config_sharing.h"

#include "controller/config/config_environment.h"

/* VMs of the largest jobs of the Lublin model. */
#define MODEL_HOSTS 128
#define RUN_MAX_S 1e9
/* The least share of a host that a VM may need: bounds how many fit on one. */
#define SHARE_MIN 1e-4
#define SHARE_OUTSIDE "# is outside @; give the share of a host that each VM needs"
/* Shares of a host are sums of decimal fractions. */
#define ROUNDING 1e-9

static const struct config_key job_keys[] = {
	{CONFIG_NUMBER(job, arrival_s), .needed = true, CONFIG_OR_ZERO, .help = "in order."},
	{CONFIG_NUMBER(job, run_s), .needed = true, CONFIG_ABOVE(0, RUN_MAX_S),
	 .help = "alone on the cluster."},
	{CONFIG_UINT(job, vms), .needed = true, .min = 1, .max = INFINITY,
	 .says = "#; give at least 1", .help = "how many VMs it has."},
	{CONFIG_NUMBER(job, cpu), .needed = true, .min = SHARE_MIN, .max = 1, .says = SHARE_OUTSIDE,
	 .help = "what each needs of a host's CPU."},
	{CONFIG_NUMBER(job, memory), .needed = true, .min = SHARE_MIN, .max = 1,
	 .says = SHARE_OUTSIDE, .help = "and of its memory."},
	{NULL},
};

static const struct config_section config_job_section = {job_keys, sizeof(struct config_job)};

static const struct config_key sharing_keys[] = {
	{CONFIG_UINT(sharing, jobs), .fallback = 1000, CONFIG_NOT_ZERO, CONFIG_TO(2, 1000000),
	 .help = "of the Lublin model, in a trial."},
	{CONFIG_NUMBER(sharing, load), CONFIG_NOT_ZERO, CONFIG_TO(0, 10),
	 .help = "offered load that they are scaled to; without it as drawn."},
	{CONFIG_NUMBER(sharing, penalty_s), .fallback = 300, CONFIG_OR_ZERO, CONFIG_TO(0, 1e6),
	 .help = "of rescheduling."},
	{CONFIG_FLAG(sharing, virtual_time_in_penalty),
	 .help = "the virtual time of a job runs during the penalty; without it, it stands still, as in a pause."},
	{CONFIG_UINT(sharing, memory_tenths), .fallback = 10, CONFIG_NOT_ZERO, CONFIG_TO(2, 10),
	 .help = "the most memory that a task of the model needs, in tenths of a host's."},
	{CONFIG_UINT(sharing, week), .fallback = 1, CONFIG_NOT_ZERO, CONFIG_TO(1, 10000),
	 .says = "# is above 10000; give @", .help = "of the trace, that trial 1 runs."},
	{CONFIG_SECTIONS(sharing, list, config_job_section),
	 .help = "jobs, the same in all trials, instead of the model's."},
	{NULL},
};

const struct config_section config_sharing_section = {
	sharing_keys, sizeof(struct config_sharing), .gone = "virtual_time_is_progress",
	.advice =
		"leave it out where it is true, for virtual time stands still in the penalty by default; write "
		"virtual_time_in_penalty: true where it is false"};

/*
 * When a listed job comes, and whether it could run alone: each host takes as many of its VMs as it
 * has room for.
 */
static char *check_job(const struct config *config, uint32_t i)
{
	const struct config_sharing *sharing = config_environment(config)->sharing;
	const struct config_job *job = &sharing->list[i];
	const struct config_cluster *cluster = &config->clusters[0];
	const double each = floor(fmin(1 / job->cpu, 1 / job->memory) + ROUNDING);

	if (!(job->arrival_s >= (i > 0 ? sharing->list[i - 1].arrival_s : 0) &&
	      job->arrival_s <= RUN_MAX_S))
		return g_strdup_printf(
			"environment.sharing.list[%u].arrival_s: %g is below 0 or before the job above "
			"it; sort by arrival",
			i, job->arrival_s);
	if (job->vms <= each * cluster->nodes)
		return NULL;
	return g_strdup_printf(
		"environment.sharing.list[%u]: %u VMs that need %g of a host's CPU and %g of its "
		"memory each do not fit on the %u hosts of '%s'; such a job could never run",
		i, job->vms, job->cpu, job->memory, cluster->nodes, cluster->name);
}

char *config_sharing_check(const struct config *config)
{
	const struct config_environment *environment = config_environment(config);
	const struct config_sharing *sharing = environment->sharing;
	const bool of_model = !environment->trace && sharing->list_count == 0;
	char *wrong = NULL;

	if (environment->serial)
		return g_strdup(
			"environment.sharing: tasks are serial or share hosts; leave out serial or sharing");
	if (config->clusters_count != 1)
		return g_strdup_printf(
			"clusters: %u, but environment.sharing is about the hosts of one cluster; give "
			"one cluster, whose nodes are the hosts",
			config->clusters_count);
	if (environment->special_count > 0 || environment->pstates != 1 || environment->lead_s != 0)
		return g_strdup(
			"environment: special, pstates and lead_s are of no use with environment.sharing; "
			"leave them out");
	if (config->experiment->limits_count != 1)
		return g_strdup(
			"experiment.limits: the jobs of environment.sharing use no energy; give [1]");
	if (environment->trace && sharing->list_count > 0)
		return g_strdup("environment.trace: the jobs are those of the trace or those of "
				"environment.sharing.list; leave out one of them");
	if (!of_model && sharing->load > 0)
		return g_strdup_printf(
			"environment.sharing.load: %g, but only jobs of the model are scaled to a load; "
			"leave it out",
			sharing->load);
	if (!of_model && sharing->memory_tenths != 10)
		return g_strdup_printf(
			"environment.sharing.memory_tenths: %u, but only the model draws what jobs "
			"need; leave it out",
			sharing->memory_tenths);
	if (of_model && config->clusters[0].nodes < MODEL_HOSTS)
		return g_strdup_printf(
			"clusters[0].nodes: %u, but the jobs of the model have up to %d VMs on hosts of "
			"their own",
			config->clusters[0].nodes, MODEL_HOSTS);
	for (uint32_t i = 0; !wrong && i < sharing->list_count; i++)
		wrong = check_job(config, i);
	return wrong;
}
