/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/cpu/host_caps.h"

#include <inttypes.h>
#include <string.h>

#include "local-sched/cpu/cap_originals.h"
#include "local-sched/cpu/cpu_freq.h"
#include "local-sched/cpu/host_cap.h"

#define LOG_SUBSYSTEM "caps"
#include "common/log.h"

#define OUT_OF_REACH "the host is not the machine that the local scheduler runs on"

struct host_caps {
	const struct platform *platform;
	const struct config_cluster *cluster;
	const struct cpu_cap *cap;
	struct host_cap **hosts; /* hosts_count of the cluster; NULL: nothing is set there */
};

/*
 * Whether the knobs of a host may be changed. The test driver's host is not this machine: only a
 * test's own /sys may be changed for it.
 */
static bool is_in_reach(const struct config_host *host)
{
	return !host->blade && host->uri && config_uri_is_local(host->uri) &&
	       (!g_str_has_prefix(host->uri, "test:") || strcmp(host->sys_root, "/sys") != 0);
}

/* Whether cpufreq can cap all hosts. */
static bool has_cpufreq(const struct config_cluster *cluster)
{
	for (uint32_t i = 0; i < cluster->hosts_count; i++) {
		const struct config_host *host = &cluster->hosts[i];
		g_autoptr(GError) error = NULL;

		if (!is_in_reach(host))
			return false;
		if (!cpu_freq_available(host->sys_root, &error)) {
			log_info_of(LOG_HOST(host->name),
				    "%s: a quota per VM stands for the frequency", error->message);
			return false;
		}
	}
	return cluster->max_mhz > 0 && cluster->hosts_count > 0;
}

static char *originals_path(const struct config_host *host, const char *state_directory)
{
	if (strcmp(host->sys_root, "/sys") == 0)
		return g_strdup(CAP_ORIGINALS_MACHINE);
	return g_strdup_printf("%s/cpu-caps-%s", state_directory, host->name);
}

static bool cap_host(struct host_caps *caps, uint32_t index, bool frequency,
		     const char *state_directory, GError **error)
{
	const struct config_host *host = &caps->cluster->hosts[index];
	g_autofree char *originals = originals_path(host, state_directory);
	const struct host_cap_settings settings = {
		.platform = caps->platform,
		.host = host->name,
		.sys_root = host->sys_root,
		.dev_root = host->dev_root,
		.originals = originals,
		.max_mhz = frequency ? caps->cluster->max_mhz : 0,
		.max_cstate = caps->cluster->max_cstate,
	};

	if (!is_in_reach(host) || (settings.max_mhz == 0 && !settings.max_cstate))
		return true;
	caps->hosts[index] = host_cap_new(&settings, error);
	return caps->hosts[index] != NULL;
}

struct host_caps *host_caps_new(const struct platform *platform,
				const struct config_cluster *cluster, const char *state_directory,
				struct cpu_cap *cap, GError **error)
{
	g_autoptr(host_caps_t) caps = g_new0(struct host_caps, 1);
	const bool frequency = has_cpufreq(cluster);

	caps->platform = platform;
	caps->cluster = cluster;
	caps->cap = cap;
	caps->hosts = g_new0(struct host_cap *, cluster->hosts_count);
	if (frequency)
		cpu_cap_use_cpufreq(cap);
	for (uint32_t i = 0; i < cluster->hosts_count; i++)
		if (!cap_host(caps, i, frequency, state_directory, error))
			return NULL;
	return g_steal_pointer(&caps);
}

void host_caps_free(struct host_caps *caps)
{
	if (!caps)
		return;
	for (uint32_t i = 0; i < caps->cluster->hosts_count; i++)
		host_cap_free(caps->hosts[i]);
	g_free(caps->hosts);
	g_free(caps);
}

static json_t *quota_json(const struct host_caps *caps, const struct cpu_cap *cap, bool applied)
{
	g_autofree char *requested = g_strdup_printf("%u MHz", caps->cluster->max_mhz);
	g_autofree char *quota = g_strdup_printf("quota %" PRId64 " of %" PRIu64 " us",
						 cap->quota_us, cap->period_us);

	/* The driver reads each quota back, and a VM whose quota differs does not get ready. */
	return json_pack("{s:s, s:s, s:s, s:s?, s:s, s:s}", "knob", "frequency", "requested",
			 requested, "set", quota, "read_back", applied ? quota : NULL, "effective",
			 "emulated", "reason", cpu_cap_note(cap));
}

/* Whether the idle states of a host should be capped and are out of reach. */
static bool idle_is_out_of_reach(const struct host_caps *caps, uint32_t index)
{
	return caps->cluster->max_cstate && !caps->hosts[index];
}

json_t *host_caps_json(const struct host_caps *caps, uint32_t index, const struct cpu_cap *cap,
		       bool applied)
{
	const struct host_cap *host = caps->hosts[index];
	json_t *rows = host ? host_cap_json(host) : json_array();

	if (cap->kind == CPU_CAP_QUOTA)
		json_array_insert_new(rows, 0, quota_json(caps, cap, applied));
	if (idle_is_out_of_reach(caps, index))
		json_array_append_new(rows, json_pack("{s:s, s:s, s:n, s:n, s:s, s:s}", "knob",
						      "idle", "requested",
						      caps->cluster->max_cstate, "set", "read_back",
						      "effective", "no", "reason", OUT_OF_REACH));
	return rows;
}

const char *host_caps_effective(const struct host_caps *caps)
{
	const char *least = caps->cluster->max_mhz > 0 ? "yes" : "none";

	for (uint32_t i = 0; i < caps->cluster->hosts_count; i++) {
		enum host_knob_effect effect;

		if (idle_is_out_of_reach(caps, i))
			return "no";
		if (!caps->hosts[i])
			continue;
		effect = host_cap_effect(caps->hosts[i]);
		if (effect == HOST_KNOB_NOT_EFFECTIVE)
			return "no";
		if (effect == HOST_KNOB_UNKNOWN)
			least = "unknown";
		else if (strcmp(least, "none") == 0)
			least = "yes";
	}
	return least;
}
