/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/cpu/cpu_freq.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "common/error_fail.h"
#include "common/read_number.h"
#include "local-sched/cpu/sysfs.h"

enum { KHZ_PER_MHZ = 1000 };

/* The switches for boost, with the value of each for "off". */
static const struct {
	const char *path; /* below devices/system/cpu */
	const char *off;
} boosts[] = {
	{"cpufreq/boost", "0"},
	{"intel_pstate/no_turbo", "1"},
};

static char *cpu_file(const char *cpu, const char *name)
{
	return g_build_filename(cpu, "cpufreq", name, NULL);
}

static bool read_khz(const char *cpu, const char *name, uint64_t *ret_khz, GError **error)
{
	g_autofree char *path = cpu_file(cpu, name);

	return sysfs_read_number(path, ret_khz, error);
}

/* Whether the cap of `cpu` is writable: not without root, nor with a read-only sysfs. */
static bool is_writable(const char *cpu, GError **error)
{
	g_autofree char *path = cpu_file(cpu, "scaling_max_freq");

	if (access(path, W_OK) == 0)
		return true;
	if (errno == ENOENT)
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
			    "no cpufreq driver: \"%s\" is missing", path);
	else
		g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno),
			    "cpufreq cannot be set: \"%s\": %s", path, g_strerror(errno));
	return false;
}

bool cpu_freq_available(const char *sys_root, GError **error)
{
	g_auto(GStrv) cpus = host_knob_cpus(sys_root);

	for (gsize i = 0; cpus[i]; i++)
		if (!is_writable(cpus[i], error))
			return false;
	if (cpus[0])
		return true;
	return error_fail(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
			  "no CPUs in \"%s/devices/system/cpu\"", sys_root);
}

/* The highest of the driver's frequencies up to `khz`; `khz` itself without a table. */
static uint64_t snap(const char *cpu, uint64_t khz)
{
	g_autofree char *path = cpu_file(cpu, "scaling_available_frequencies");
	g_autofree char *text = sysfs_read(path, NULL);
	g_auto(GStrv) words = g_strsplit(text ? text : "", " ", -1);
	uint64_t best = 0;

	for (gsize i = 0; words[i]; i++) {
		guint64 offered;

		if (read_number_unsigned(words[i], 1, G_MAXUINT64, &offered) && offered <= khz &&
		    offered > best)
			best = offered;
	}
	return best > 0 ? best : khz;
}

static bool set_cpu(const char *cpu, uint64_t khz, struct cap_originals *originals,
		    uint64_t *ret_khz, GError **error)
{
	g_autofree char *path = cpu_file(cpu, "scaling_max_freq");
	const uint64_t snapped = snap(cpu, khz);
	g_autofree char *text = g_strdup_printf("%" PRIu64, snapped);
	uint64_t lowest;

	if (read_khz(cpu, "cpuinfo_min_freq", &lowest, NULL) && snapped < lowest)
		return error_fail(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
				  "\"%s\" goes no lower than %" PRIu64 " MHz", cpu,
				  lowest / KHZ_PER_MHZ);
	*ret_khz = snapped;
	return cap_originals_turn(originals, path, text, error);
}

static char *mhz_text(uint64_t khz)
{
	return g_strdup_printf("%" PRIu64 " MHz", khz / KHZ_PER_MHZ);
}

static void set_boost(const char *sys_root, struct cap_originals *originals,
		      struct host_knob *boost)
{
	for (gsize i = 0; i < G_N_ELEMENTS(boosts); i++) {
		g_autofree char *path = g_build_filename(sys_root, "devices", "system", "cpu",
							 boosts[i].path, NULL);
		g_autoptr(GError) error = NULL;

		if (!g_file_test(path, G_FILE_TEST_EXISTS))
			continue;
		if (cap_originals_turn(originals, path, boosts[i].off, &error))
			host_knob_set_text(&boost->set, g_strdup("off"));
		else
			host_knob_judge(boost, HOST_KNOB_NOT_EFFECTIVE, g_strdup(error->message));
		return;
	}
	host_knob_judge(boost, HOST_KNOB_UNKNOWN, g_strdup("the machine has no switch for it"));
}

void cpu_freq_apply(const char *sys_root, uint32_t max_mhz, struct cap_originals *originals,
		    struct host_knob *ret_frequency, struct host_knob *ret_boost)
{
	g_auto(GStrv) cpus = host_knob_cpus(sys_root);
	uint64_t khz = 0;

	*ret_frequency = (struct host_knob){.name = "frequency"};
	*ret_boost = (struct host_knob){.name = "boost"};
	ret_frequency->requested = g_strdup_printf("%u MHz", max_mhz);
	ret_boost->requested = g_strdup("off");
	for (gsize i = 0; cpus[i]; i++) {
		g_autoptr(GError) error = NULL;

		if (!set_cpu(cpus[i], (uint64_t)max_mhz * KHZ_PER_MHZ, originals, &khz, &error)) {
			host_knob_judge(ret_frequency, HOST_KNOB_NOT_EFFECTIVE,
					g_strdup(error->message));
			break;
		}
	}
	if (khz > 0 && ret_frequency->effect == HOST_KNOB_UNKNOWN)
		ret_frequency->set = mhz_text(khz);
	set_boost(sys_root, originals, ret_boost);
	cpu_freq_check(sys_root, ret_frequency, ret_boost);
}

static void check_boost(const char *sys_root, struct host_knob *boost)
{
	for (gsize i = 0; boost->set && i < G_N_ELEMENTS(boosts); i++) {
		g_autofree char *path = g_build_filename(sys_root, "devices", "system", "cpu",
							 boosts[i].path, NULL);
		g_autofree char *text = sysfs_read(path, NULL);
		const bool off = g_strcmp0(text, boosts[i].off) == 0;

		if (!text)
			continue;
		host_knob_set_text(&boost->read_back, g_strdup(off ? "off" : "on"));
		if (!off)
			host_knob_judge(boost, HOST_KNOB_NOT_EFFECTIVE,
					g_strdup_printf("\"%s\" reads \"%s\"", path, text));
		else if (boost->effect != HOST_KNOB_NOT_EFFECTIVE)
			boost->effect = HOST_KNOB_EFFECTIVE;
		return;
	}
}

/* The frequency of `cpu`: measured by the hardware if it can, else as the driver reports it. */
static bool read_speed(const char *cpu, uint64_t *ret_khz)
{
	return read_khz(cpu, "cpuinfo_cur_freq", ret_khz, NULL) ||
	       read_khz(cpu, "scaling_cur_freq", ret_khz, NULL);
}

void cpu_freq_check(const char *sys_root, struct host_knob *frequency, struct host_knob *boost)
{
	g_auto(GStrv) cpus = host_knob_cpus(sys_root);
	uint64_t set_mhz = 0;
	uint64_t highest_khz = 0; /* of the values read back from the CPUs */
	uint64_t fastest_khz = 0;

	check_boost(sys_root, boost);
	for (gsize i = 0; cpus[i]; i++) {
		uint64_t khz;

		if (read_khz(cpus[i], "scaling_max_freq", &khz, NULL))
			highest_khz = MAX(highest_khz, khz);
		if (read_speed(cpus[i], &khz))
			fastest_khz = MAX(fastest_khz, khz);
	}
	if (highest_khz > 0)
		host_knob_set_text(&frequency->read_back, mhz_text(highest_khz));
	if (!frequency->set || frequency->effect == HOST_KNOB_NOT_EFFECTIVE)
		return;
	read_number_front_unsigned(frequency->set, &set_mhz); /* as mhz_text() wrote it */
	if (highest_khz / KHZ_PER_MHZ != set_mhz)
		host_knob_judge(frequency, HOST_KNOB_NOT_EFFECTIVE,
				g_strdup_printf("it reads back %" PRIu64 " MHz",
						highest_khz / KHZ_PER_MHZ));
	else if ((double)fastest_khz > (double)(set_mhz * KHZ_PER_MHZ) * (1 + CPU_FREQ_TOLERANCE))
		host_knob_judge(frequency, HOST_KNOB_NOT_EFFECTIVE,
				g_strdup_printf("a CPU ran at %" PRIu64 " MHz",
						fastest_khz / KHZ_PER_MHZ));
	else if (fastest_khz > 0)
		host_knob_judge(frequency, HOST_KNOB_EFFECTIVE, NULL);
	else
		host_knob_judge(frequency, HOST_KNOB_UNKNOWN,
				g_strdup("the driver does not tell how fast the CPUs run"));
}
