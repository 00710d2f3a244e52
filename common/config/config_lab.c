/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lab of a configuration: blades that can be emulated, and what their VMs use. */
#include <string.h>

#include "common/config/config_parts.h"

#define WATTS_MAX 1e6

static const char *const bmcs[] = {"ipmi", "redfish", NULL};
static const char *const answers[] = {"no", "yes", NULL};

static const struct config_key blade_keys[] = {
	{CONFIG_TEXT(blade, name), .needed = true, .once = true,
	 .help = "a host name of at most 24 characters."},
	{CONFIG_NUMBER(blade, cpu_cores), .needed = true, CONFIG_TO(CONFIG_BLADE_CORES_MIN, 4096),
	 .help = "its CPU budget in cores of this machine; at least the quotas of its VMs."},
	{CONFIG_NUMBER(blade, idle_w), .needed = true, CONFIG_TO(0, WATTS_MAX),
	 .says = "# is outside @ W", .help = "watts at no load."},
	{CONFIG_NUMBER(blade, core_w), .needed = true, CONFIG_TO(0, WATTS_MAX),
	 .says = "# is outside @ W", .help = "watts more per core that its VMs keep busy."},
	{CONFIG_WORD(blade, bmc, bmcs), .help = "what its BMC speaks, `ipmi` or `redfish`."},
	{NULL},
};

static const struct config_section config_blade_section = {blade_keys, sizeof(struct config_blade)};

static const struct config_key lab_keys[] = {
	{CONFIG_SECTIONS(lab, blades, config_blade_section), .least = 1, .most = CONFIG_BLADES_MAX,
	 .needed = true, .help = "at most 64."},
	{CONFIG_WORD(lab, overcommit, answers),
	 .help = "`yes`: more than that may be used. Nothing can be measured then. `no`: it is refused."},
	{CONFIG_WORD(lab, steady, answers),
	 .help = "`yes`: quotas follow the machine's own speed, so that the VMs' "
		 "work per second does not; only under emulation on x86-64. `no`: they stay what they are."},
	{CONFIG_WORD(lab, fit, answers),
	 .help = "`yes`: quotas, budgets and the types' repetitions are scaled by "
		 "what a probe finds the machine to have (`virtbed lab probe`), before anything else reads them; where "
		 "repetitions cannot shrink enough, so are `workload.tasks` and `profile_repeats`. `no`: they are what is "
		 "written, and refused where that is more than 80 % of what this process may use of the CPUs."},
	{NULL},
};

const struct config_section config_lab_section = {
	lab_keys, sizeof(struct config_lab),
	"All VMs may use 80 % of this machine's CPUs at the most, as far as affinity and quotas of control groups "
	"leave them."};

bool config_lab_is_steady(const struct config *config)
{
	return config->lab && config->lab->steady == CONFIG_YES;
}

bool config_lab_is_to_fit(const struct config *config)
{
	return config->lab && config->lab->fit == CONFIG_YES;
}

double config_patience(const struct config *config, double seconds)
{
	return seconds * fmax(1, config->patience);
}

const char *config_lab_unsteady(const struct config *config, bool has_metronome)
{
	if (has_metronome || !config_lab_is_steady(config))
		return NULL;
	return "lab.steady: what measures the machine's speed runs on x86-64 alone, and this program was built for "
	       "another one; leave steady out";
}

/* Host cores that the VMs of `cluster` on `blade` may use, without quotas. */
static double cores_on(const struct config_cluster *cluster, const struct config_blade *blade)
{
	const uint32_t here = config_cluster_blades(cluster, blade->name);

	if (cluster->shared) /* each may have all of it, and all together no more */
		return here > 0 ? cluster->cores : 0;
	return here > 0 ? (double)cluster->cores * cluster->nodes * here / cluster->hosts_count : 0;
}

/*
 * Host cores that the VMs on `blade` may use under the quotas of their clusters (`quotas`), or
 * those of the VMs without one. A VM's quota covers its emulator threads too (local-sched/cpu), so
 * nothing comes on top; VMs without one are held by the blade's cpu_cores alone.
 */
static double blade_cores(const struct config *config, const struct config_blade *blade,
			  bool quotas)
{
	double sum = 0;

	for (uint32_t c = 0; c < config->clusters_count; c++) {
		const struct config_cluster *cluster = &config->clusters[c];

		if (quotas == (cluster->max_mhz > 0))
			sum += cores_on(cluster, blade) * (quotas ? cluster->max_mhz : 1) /
			       (quotas ? cluster->base_mhz : 1);
	}
	return sum;
}

double config_lab_cores(const struct config *config)
{
	double sum = 0;

	for (uint32_t b = 0; b < config->lab->blades_count; b++) {
		const struct config_blade *blade = &config->lab->blades[b];

		sum += fmin(blade_cores(config, blade, true) + blade_cores(config, blade, false),
			    blade->cpu_cores);
	}
	return sum;
}

double config_lab_blade_quotas(const struct config *config, uint32_t blade)
{
	return blade_cores(config, &config->lab->blades[blade], true);
}

/* A host name: lower-case letters, digits and inner dashes. */
static bool is_blade_name(const char *name)
{
	const size_t length = strspn(name, G_CSET_a_2_z G_CSET_DIGITS "-");

	return length >= 1 && length <= CONFIG_BLADE_NAME_MAX && name[length] == '\0' &&
	       name[0] != '-' && name[length - 1] != '-';
}

char *config_lab_check(const struct config *config)
{
	for (uint32_t b = 0; config->lab && b < config->lab->blades_count; b++) {
		const struct config_blade *blade = &config->lab->blades[b];
		const double quotas = config_lab_blade_quotas(config, b);

		if (!is_blade_name(blade->name))
			return g_strdup_printf(
				"lab.blades[%u].name: '%s' is not a host name; use 1 to %d of a-z, "
				"0-9 and inner dashes",
				b, blade->name, CONFIG_BLADE_NAME_MAX);
		if (config_lab_is_steady(config) &&
		    quotas * CONFIG_LAB_STEADY_MOST > blade->cpu_cores)
			return g_strdup_printf(
				"lab.blades[%u].cpu_cores: in a steady lab the quotas of its VMs, %.2f "
				"cores, grow to %g times as much while the machine is slow, more than "
				"cpu_cores, %.2f; raise cpu_cores",
				b, quotas, CONFIG_LAB_STEADY_MOST, blade->cpu_cores);
		if (quotas > blade->cpu_cores + 1e-9)
			return g_strdup_printf(
				"lab.blades[%u].cpu_cores: the quotas of its VMs sum to %.2f cores, "
				"more than cpu_cores, %.2f; lower max_mhz or raise cpu_cores",
				b, quotas, blade->cpu_cores);
	}
	return NULL;
}

uint64_t config_lab_memory_mib(const struct config *config)
{
	uint64_t sum = 0;

	for (uint32_t c = 0; c < config->clusters_count; c++)
		sum += config_cluster_lab_vms(&config->clusters[c]) *
		       (config->clusters[c].memory_mib + CONFIG_LAB_EMULATOR_MIB);
	return sum;
}
