/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/experiment/overheads.h"

#include <string.h>

/*
 * Whether an overhead was measured with the setting that its cluster has: VMs kept in memory or on
 * disk.
 */
static bool fits_cluster_setting(const struct config *config,
				 const struct config_overhead *overhead)
{
	const struct config_preemption *preemption =
		config_cluster_find(config, overhead->cluster)->preemption;
	const bool disk = preemption && preemption->keep == CONFIG_KEEP_DISK;

	return !overhead->keep || strcmp(overhead->keep, disk ? "disk" : "memory") == 0;
}

/*
 * Whether an overhead is used: if none of its cluster was measured with the cluster's setting, all
 * are.
 */
static bool is_used(const struct config *config, const struct config_overhead *overhead)
{
	for (uint32_t i = 0; i < config->overheads_count; i++)
		if (strcmp(config->overheads[i].cluster, overhead->cluster) == 0 &&
		    fits_cluster_setting(config, &config->overheads[i]))
			return fits_cluster_setting(config, overhead);
	return true;
}

struct overheads *overheads_new(const struct config *config)
{
	struct overheads *overheads;

	if (config->overheads_count == 0)
		return NULL;
	overheads = g_new0(struct overheads, 1);
	overheads->clusters_count = config->clusters_count;
	overheads->samples = g_new(struct backend_overhead *, config->clusters_count);
	overheads->counts = g_new0(uint32_t, config->clusters_count);
	for (uint32_t c = 0; c < config->clusters_count; c++)
		overheads->samples[c] = g_new0(struct backend_overhead, config->overheads_count);
	for (uint32_t i = 0; i < config->overheads_count; i++) {
		const struct config_overhead *from = &config->overheads[i];
		/* config_check() has verified that there is such a cluster. */
		const ptrdiff_t c = config_cluster_find(config, from->cluster) - config->clusters;

		if (!is_used(config, from))
			continue;
		overheads->samples[c][overheads->counts[c]++] = (struct backend_overhead){
			.freeze_s = from->freeze_s,
			.save_s = from->save_s,
			.restore_s = from->restore_s,
			.resume_s = from->resume_s,
		};
	}
	return overheads;
}

struct backend_sim_overheads overheads_view(const struct overheads *overheads, uint64_t seed,
					    uint64_t stream)
{
	if (!overheads)
		return (struct backend_sim_overheads){0};
	return (struct backend_sim_overheads){
		.samples = (const struct backend_overhead *const *)overheads->samples,
		.counts = overheads->counts,
		.seed = seed,
		.stream = stream,
	};
}

void overheads_free(struct overheads *overheads)
{
	if (!overheads)
		return;
	for (uint32_t c = 0; c < overheads->clusters_count; c++)
		g_free(overheads->samples[c]);
	g_free(overheads->samples);
	g_free(overheads->counts);
	g_free(overheads);
}
