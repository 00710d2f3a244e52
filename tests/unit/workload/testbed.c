/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/workload/testbed.h"

/* Table 4; a type that holds 3 GiB fits on cluster 4 only with swap. */
static const struct config_cluster clusters[] = {
	{.name = "c1", .nodes = 16, .cores = 1, .memory_mib = 1024},
	{.name = "c2", .nodes = 8, .cores = 2, .memory_mib = 1024},
	{.name = "c3", .nodes = 4, .cores = 4, .memory_mib = 1536},
	{.name = "c4", .nodes = 2, .cores = 8, .memory_mib = 2048, .swap_mib = 1024},
};

static const struct config_type types[] = {
	{.name = "IS.8", .cores = 8, .memory_mib = 2048, .share = 0.4},
	{.name = "MG.8", .cores = 8, .memory_mib = 3584, .share = 0.1},
	{.name = "MG.16", .cores = 16, .memory_mib = 3584, .share = 0.1},
	{.name = "IS_CG.8", .cores = 8, .memory_mib = 3072, .share = 0.4},
};

/* Tables 5 and 6. */
static const struct config_estimate estimates[] = {
	{.type = "IS.8", .cluster = "c1", .etc_s = 1675, .eec_j = 25962},
	{.type = "IS.8", .cluster = "c2", .etc_s = 750, .eec_j = 35250},
	{.type = "IS.8", .cluster = "c3", .etc_s = 552, .eec_j = 17388},
	{.type = "IS.8", .cluster = "c4", .etc_s = 430, .eec_j = 28380},
	{.type = "MG.8", .cluster = "c1", .etc_s = 1100, .eec_j = 27500},
	{.type = "MG.8", .cluster = "c2", .etc_s = 712, .eec_j = 41296},
	{.type = "MG.16", .cluster = "c1", .etc_s = 702, .eec_j = 34398},
	{.type = "MG.16", .cluster = "c2", .etc_s = 500, .eec_j = 55000},
	{.type = "MG.16", .cluster = "c3", .etc_s = 380, .eec_j = 30400},
	{.type = "MG.16", .cluster = "c4", .etc_s = 326, .eec_j = 50530},
	{.type = "IS_CG.8", .cluster = "c1", .etc_s = 1039, .eec_j = 23897},
	{.type = "IS_CG.8", .cluster = "c2", .etc_s = 900, .eec_j = 47700},
	{.type = "IS_CG.8", .cluster = "c3", .etc_s = 700, .eec_j = 27650},
	{.type = "IS_CG.8", .cluster = "c4", .etc_s = 1366, .eec_j = 105865},
};

struct config *testbed_config_new(void)
{
	static const uint32_t maxima[] = {1, 2, 3, 4};
	static const char *const policies[] = {"easy", "max-upr", "max-upe", "event-based"};
	static const double limits[] = {1, 0.85, 0.7};
	struct config *config = g_new0(struct config, 1);
	struct config_workload *workload = g_new0(struct config_workload, 1);
	struct config_experiment *experiment = g_new0(struct config_experiment, 1);

	config->name = (char *)"testbed";
	config->clusters = g_memdup2(clusters, sizeof(clusters));
	config->clusters_count = G_N_ELEMENTS(clusters);
	config->types = g_memdup2(types, sizeof(types));
	config->types_count = G_N_ELEMENTS(types);
	config->estimates = g_memdup2(estimates, sizeof(estimates));
	config->estimates_count = G_N_ELEMENTS(estimates);
	config->workload = workload;
	config->experiment = experiment;
	workload->arrival_mean_s = 120;
	workload->duration_s = 10800;
	workload->seed = 1;
	workload->utility_max = g_memdup2(maxima, sizeof(maxima));
	workload->utility_max_count = G_N_ELEMENTS(maxima);
	workload->constant_until = 2.5;
	workload->zero_at = 4;
	experiment->policies = g_memdup2(policies, sizeof(policies));
	experiment->policies_count = G_N_ELEMENTS(policies);
	experiment->limits = g_memdup2(limits, sizeof(limits));
	experiment->limits_count = G_N_ELEMENTS(limits);
	experiment->budget_j = 2.8e6;
	experiment->mapping_interval_s = 50;
	experiment->duration_s = 10800;
	return config;
}

void testbed_config_free(struct config *config)
{
	g_free(config->clusters);
	g_free(config->types);
	g_free(config->estimates);
	g_free(config->workload->utility_max);
	g_free(config->workload);
	g_free(config->experiment->policies);
	g_free(config->experiment->limits);
	g_free(config->experiment);
	g_free(config);
}
