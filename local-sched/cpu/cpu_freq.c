/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/cpu/cpu_freq.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error_fail.h"
#include "common/read_number.h"
#include "common/visible.h"
#include "local-sched/cpu/cpu_speed.h"
#include "local-sched/cpu/sysfs.h"

#define LOG_SUBSYSTEM "caps"
#include "common/log.h"

enum { KHZ_PER_MHZ = 1000 };

/* How often the settings are written when they do not stay, and how often of these at once. */
enum { WRITES_MAX = 6, WRITES_AT_ONCE = 3 };

/* Between checks while the cap settles, and between two looks where the first tells too little. */
#define SETTLING_CHECK_S 0.1
#define SECOND_LOOK_S 0.5

/* Of a value in a message. */
enum { SHOWN_MAX = 40 };

/* The switches for boost of the whole machine, with the value of each for "off". */
static const struct {
	const char *path; /* below devices/system/cpu */
	const char *off;
} boosts[] = {
	{"cpufreq/boost", "0"},
	{"intel_pstate/no_turbo", "1"},
};

/* The switch of a single policy (amd_pstate), in its cpufreq directory. */
#define POLICY_BOOST "boost"
#define POLICY_BOOST_OFF "0"

struct boost {
	char *path;
	const char *off;
};

struct cpu {
	char *path;    /* its directory */
	char *cpufreq; /* its cpufreq directory, which several CPUs may share */
	uint64_t number;
	uint64_t khz; /* what is set; 0: nothing can be */
	bool has_look;
	struct cpu_speed_look look;
};

struct cpu_freq {
	const struct platform *platform;
	char *sys_root;
	char *dev_root;
	uint64_t max_khz;
	struct cap_originals *originals;
	GPtrArray *cpus;   /* struct cpu */
	GPtrArray *boosts; /* struct boost; the machine's before the policies' */
	char *note;        /* how the setting differs from what was asked for; NULL: it does not */
	char *boost_failure; /* why boost could not be switched off; NULL: it could */
	char *failure;       /* why a CPU's maximum could not be written; NULL: it could */
	int64_t settle_ns;
	int64_t written_ns; /* when a setting was last written */
	int writes;         /* rounds of writing */
	bool settled;
	bool held;              /* the settings stayed until the cap settled */
	bool frequency_refuted; /* for good */
	bool boost_refuted;
	bool perhaps; /* a CPU looked too fast at the last check */
	bool looked;  /* the last check compared two looks */
};

static void cpu_free(gpointer data)
{
	struct cpu *cpu = data;

	g_free(cpu->path);
	g_free(cpu->cpufreq);
	g_free(cpu);
}

static void boost_free(gpointer data)
{
	g_free(((struct boost *)data)->path);
	g_free(data);
}

/* Whether a list of a policy, "0 1 2", has a CPU. */
static bool policy_has(const char *policy, const char *file, const char *number)
{
	g_autofree char *path = g_build_filename(policy, file, NULL);
	g_autofree char *text = sysfs_read(path, NULL);
	g_auto(GStrv) numbers = g_strsplit_set(text ? text : "", " \t\n", -1);

	return g_strv_contains((const char *const *)numbers, number);
}

/* The directory of the policy that has a CPU, by the policies' lists. NULL: none. */
static char *find_policy(const char *sys_root, const char *number)
{
	g_autofree char *directory =
		g_build_filename(sys_root, "devices", "system", "cpu", "cpufreq", NULL);
	g_auto(GStrv) names = sysfs_list(directory, "policy");

	for (gsize i = 0; names[i]; i++) {
		g_autofree char *policy = g_build_filename(directory, names[i], NULL);

		if (policy_has(policy, "affected_cpus", number) ||
		    policy_has(policy, "related_cpus", number))
			return g_steal_pointer(&policy);
	}
	return NULL;
}

/*
 * The cpufreq directory of a CPU: that of its policy, which stays when this CPU goes offline and
 * another of the policy does not.
 */
static char *cpufreq_directory(const char *sys_root, const char *cpu)
{
	g_autofree char *own = g_build_filename(cpu, "cpufreq", NULL);
	g_autofree char *number = g_path_get_basename(cpu);
	char *real = realpath(own, NULL);
	char *policy = real ? g_strdup(real) : find_policy(sys_root, number + strlen("cpu"));

	free(real);
	return policy ? policy : g_steal_pointer(&own);
}

static char *cpu_file(const struct cpu *cpu, const char *name)
{
	return g_build_filename(cpu->cpufreq, name, NULL);
}

static bool read_khz(const struct cpu *cpu, const char *name, uint64_t *ret_khz)
{
	g_autofree char *path = cpu_file(cpu, name);

	return sysfs_read_number(path, ret_khz, NULL);
}

/* Whether the cap of a CPU is writable: not without root, nor with a read-only sysfs. */
static bool is_writable(const char *cpufreq, GError **error)
{
	g_autofree char *path = g_build_filename(cpufreq, "scaling_max_freq", NULL);

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

	for (gsize i = 0; cpus[i]; i++) {
		g_autofree char *cpufreq = cpufreq_directory(sys_root, cpus[i]);

		if (!is_writable(cpufreq, error))
			return false;
	}
	if (cpus[0])
		return true;
	return error_fail(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
			  "no CPUs in \"%s/devices/system/cpu\"", sys_root);
}

/* What a CPU is to be set to. */

static bool is_within(uint64_t khz, uint64_t limit_khz, double tolerance)
{
	return (double)khz <= (double)limit_khz * (1 + tolerance);
}

/*
 * The highest of the driver's frequencies up to `khz`; if all are higher, the lowest; `khz` itself
 * without a table.
 */
static uint64_t snap(const struct cpu *cpu, uint64_t khz)
{
	g_autofree char *path = cpu_file(cpu, "scaling_available_frequencies");
	g_autofree char *text = sysfs_read(path, NULL);
	g_auto(GStrv) words = g_strsplit_set(text ? text : "", " \t\n", -1);
	uint64_t best = 0;
	uint64_t lowest = 0;

	for (gsize i = 0; words[i]; i++) {
		guint64 offered;

		if (!read_number_unsigned(words[i], 1, G_MAXUINT64, &offered))
			continue;
		if (offered <= khz)
			best = MAX(best, offered);
		lowest = lowest > 0 ? MIN(lowest, offered) : offered;
	}
	if (best == 0)
		best = lowest;
	return best > 0 ? best : khz;
}

/* Finds what a CPU is to be set to. False, with the reason, if it goes no lower than something. */
static bool plan_cpu(const struct cpu_freq *freq, struct cpu *cpu, char **ret_reason)
{
	uint64_t khz = snap(cpu, freq->max_khz);
	uint64_t lowest = 0;
	uint64_t highest = 0;

	read_khz(cpu, "cpuinfo_min_freq", &lowest);
	read_khz(cpu, "cpuinfo_max_freq", &highest);
	khz = MAX(khz, lowest);
	if (!is_within(khz, freq->max_khz, CPU_FREQ_ROUNDING)) {
		*ret_reason = g_strdup_printf("\"%s\" goes no lower than %" PRIu64 " MHz",
					      cpu->path, khz / KHZ_PER_MHZ);
		return false;
	}
	cpu->khz = highest > 0 && highest >= lowest ? MIN(khz, highest) : khz;
	return true;
}

/* The highest that is set of all CPUs. */
static uint64_t highest_set(const struct cpu_freq *freq)
{
	uint64_t khz = 0;

	for (guint i = 0; i < freq->cpus->len; i++)
		khz = MAX(khz, ((struct cpu *)freq->cpus->pdata[i])->khz);
	return khz;
}

/* Says where the setting is above what was asked for, or a CPU ends below it by itself. */
static void note_difference(struct cpu_freq *freq)
{
	const uint64_t set = highest_set(freq);
	uint64_t least_highest = G_MAXUINT64;
	guint below = 0;

	for (guint i = 0; i < freq->cpus->len; i++) {
		const struct cpu *cpu = freq->cpus->pdata[i];
		uint64_t highest;

		if (!read_khz(cpu, "cpuinfo_max_freq", &highest) || highest != cpu->khz ||
		    highest >= freq->max_khz)
			continue;
		least_highest = MIN(least_highest, highest);
		below++;
	}
	g_clear_pointer(&freq->note, g_free);
	if (set > freq->max_khz)
		freq->note = g_strdup_printf(
			"%" PRIu64
			" MHz is the lowest that the CPUs have, %.2g %% above the %" PRIu64
			" MHz asked for",
			set / KHZ_PER_MHZ, 100 * ((double)set / (double)freq->max_khz - 1),
			freq->max_khz / KHZ_PER_MHZ);
	else if (below > 0)
		freq->note = g_strdup_printf("%s of the CPUs go no higher than %" PRIu64
					     " MHz by themselves",
					     below == freq->cpus->len ? "all" : "some",
					     least_highest / KHZ_PER_MHZ);
}

static bool plan(struct cpu_freq *freq)
{
	char *reason = NULL;

	for (guint i = 0; i < freq->cpus->len; i++)
		if (!plan_cpu(freq, freq->cpus->pdata[i], &reason)) {
			g_free(freq->failure);
			freq->failure = reason;
			return false;
		}
	note_difference(freq);
	return true;
}

/* Boost. */

static void add_boost(struct cpu_freq *freq, const char *path, const char *off)
{
	g_autofree char *text = sysfs_read(path, NULL);
	struct boost *boost;

	for (guint i = 0; i < freq->boosts->len; i++)
		if (strcmp(((struct boost *)freq->boosts->pdata[i])->path, path) == 0)
			return;
	/* Of a driver that is not in use it cannot be read. */
	if (!text)
		return;
	boost = g_new0(struct boost, 1);
	boost->path = g_strdup(path);
	boost->off = off;
	g_ptr_array_add(freq->boosts, boost);
}

static void find_machine_boosts(struct cpu_freq *freq)
{
	for (gsize i = 0; i < G_N_ELEMENTS(boosts); i++) {
		g_autofree char *path = g_build_filename(freq->sys_root, "devices", "system", "cpu",
							 boosts[i].path, NULL);

		add_boost(freq, path, boosts[i].off);
	}
}

static void find_policy_boost(struct cpu_freq *freq, const struct cpu *cpu)
{
	g_autofree char *path = cpu_file(cpu, POLICY_BOOST);

	add_boost(freq, path, POLICY_BOOST_OFF);
}

/* The first switch that does not read as off; NULL: all do. */
static const struct boost *find_boost_on(const struct cpu_freq *freq)
{
	for (guint i = 0; i < freq->boosts->len; i++) {
		const struct boost *boost = freq->boosts->pdata[i];
		g_autofree char *text = sysfs_read(boost->path, NULL);

		if (text && strcmp(text, boost->off) != 0)
			return boost;
	}
	return NULL;
}

/*
 * Switches boost off. A switch that cannot be written is no error if it is off all the same: the
 * machine's switch holds for the policies', and the firmware may have switched it off for good.
 */
static void switch_boost_off(struct cpu_freq *freq)
{
	g_autoptr(GError) error = NULL;

	for (guint i = 0; i < freq->boosts->len; i++) {
		const struct boost *boost = freq->boosts->pdata[i];

		cap_originals_turn(freq->originals, boost->path, boost->off, error ? NULL : &error);
	}
	g_clear_pointer(&freq->boost_failure, g_free);
	if (error && find_boost_on(freq))
		freq->boost_failure = g_strdup(error->message);
}

/* The frequencies. */

/* Whether the maximum of a CPU is above the planned one. It is not if the CPU goes offline. */
static bool is_above(const struct cpu *cpu, uint64_t *ret_khz)
{
	g_autofree char *path = cpu_file(cpu, "scaling_max_freq");

	*ret_khz = 0;
	if (sysfs_read_number(path, ret_khz, NULL))
		return !is_within(*ret_khz, cpu->khz, CPU_FREQ_ROUNDING);
	return access(path, F_OK) == 0;
}

static bool any_is_above(const struct cpu_freq *freq, uint64_t *ret_khz)
{
	for (guint i = 0; i < freq->cpus->len; i++)
		if (is_above(freq->cpus->pdata[i], ret_khz))
			return true;
	return false;
}

/*
 * Writes the maximum of a CPU. Kernels before 5.4 refuse it below the minimum, which is therefore
 * lowered first.
 */
static bool write_cpu(struct cpu_freq *freq, const struct cpu *cpu, GError **error)
{
	g_autofree char *maximum = cpu_file(cpu, "scaling_max_freq");
	g_autofree char *minimum = cpu_file(cpu, "scaling_min_freq");
	g_autofree char *text = g_strdup_printf("%" PRIu64, cpu->khz);
	uint64_t lowest;

	if (read_khz(cpu, "scaling_min_freq", &lowest) && lowest > cpu->khz)
		cap_originals_turn(freq->originals, minimum, text, NULL);
	return cap_originals_turn(freq->originals, maximum, text, error);
}

/* Writes the maxima: of all CPUs, or of those above the planned one. */
static void write_frequencies(struct cpu_freq *freq, bool all)
{
	g_clear_pointer(&freq->failure, g_free);
	for (guint i = 0; i < freq->cpus->len; i++) {
		const struct cpu *cpu = freq->cpus->pdata[i];
		g_autoptr(GError) error = NULL;
		uint64_t khz;

		if (cpu->khz == 0 || !(all || is_above(cpu, &khz)))
			continue;
		if (!write_cpu(freq, cpu, &error) && !freq->failure)
			freq->failure = g_strdup(error->message);
	}
}

/* Boost, and then the maxima, as long as they do not stay. */
static void write_settings(struct cpu_freq *freq, int most)
{
	uint64_t khz;

	for (int i = 0; i < most; i++) {
		switch_boost_off(freq);
		if (highest_set(freq) > 0)
			write_frequencies(freq, freq->writes == 0);
		freq->writes++;
		freq->written_ns = platform_now_ns(freq->platform);
		if (highest_set(freq) == 0 || !any_is_above(freq, &khz))
			return;
	}
}

static char *mhz_text(uint64_t khz)
{
	return g_strdup_printf("%" PRIu64 " MHz", khz / KHZ_PER_MHZ);
}

/* Sets effect and reason of the frequency; takes the reason over. */
static void judge(const struct cpu_freq *freq, struct host_knob *frequency,
		  enum host_knob_effect effect, char *reason)
{
	g_autofree char *own = reason;

	host_knob_judge(frequency, effect,
			own && freq->note ? g_strdup_printf("%s; %s", freq->note, own)
					  : g_strdup(own ? own : freq->note));
}

/* The CPUs. */

static struct cpu *find_cpu(const struct cpu_freq *freq, const char *path)
{
	for (guint i = 0; i < freq->cpus->len; i++) {
		struct cpu *cpu = freq->cpus->pdata[i];

		if (strcmp(cpu->path, path) == 0)
			return cpu;
	}
	return NULL;
}

/*
 * Adds a CPU, and stores its maximum, which the kernel may change when boost is switched. An
 * original that cannot be stored is an error of the write that follows.
 */
static struct cpu *add_cpu(struct cpu_freq *freq, const char *path)
{
	struct cpu *cpu = g_new0(struct cpu, 1);
	g_autofree char *name = g_path_get_basename(path);
	g_autofree char *maximum = NULL;

	cpu->path = g_strdup(path);
	cpu->cpufreq = cpufreq_directory(freq->sys_root, path);
	read_number_unsigned(name + strlen("cpu"), 0, G_MAXUINT64, &cpu->number);
	maximum = cpu_file(cpu, "scaling_max_freq");
	cap_originals_note(freq->originals, maximum, NULL);
	find_policy_boost(freq, cpu);
	g_ptr_array_add(freq->cpus, cpu);
	return cpu;
}

/* Forgets CPUs that went offline, and adds those that came. Whether any came. */
static bool refresh_cpus(struct cpu_freq *freq)
{
	g_auto(GStrv) paths = host_knob_cpus(freq->sys_root);
	bool came = false;

	for (guint i = freq->cpus->len; i > 0; i--) {
		const struct cpu *cpu = freq->cpus->pdata[i - 1];

		if (!g_strv_contains((const char *const *)paths, cpu->path))
			g_ptr_array_remove_index(freq->cpus, i - 1);
	}
	for (gsize i = 0; paths[i]; i++)
		if (!find_cpu(freq, paths[i])) {
			add_cpu(freq, paths[i]);
			came = true;
		}
	return came;
}

/* Looks at all CPUs, and compares with the looks before. */
static enum cpu_speed look_at_cpus(struct cpu_freq *freq, uint64_t *ret_khz, bool *ret_tells)
{
	g_autofree char *root = g_path_get_dirname(freq->sys_root);
	g_autofree char *stat = g_build_filename(root, "proc", "stat", NULL);
	g_autofree char *proc_stat = sysfs_read(stat, NULL);
	enum cpu_speed fastest = CPU_SPEED_UNKNOWN;

	*ret_khz = 0;
	*ret_tells = false;
	freq->looked = freq->cpus->len > 0;
	for (guint i = 0; i < freq->cpus->len; i++) {
		struct cpu *cpu = freq->cpus->pdata[i];
		const uint64_t limit = (uint64_t)((double)cpu->khz * (1 + CPU_FREQ_TOLERANCE));
		struct cpu_speed_look look;
		enum cpu_speed speed;
		uint64_t khz;

		cpu_speed_look(&(struct cpu_speed_place){.platform = freq->platform,
							 .cpufreq = cpu->cpufreq,
							 .dev_root = freq->dev_root,
							 .proc_stat = proc_stat,
							 .number = cpu->number},
			       &look);
		speed = cpu_speed_judge(cpu->has_look ? &cpu->look : NULL, &look, limit, &khz);
		*ret_khz = speed > fastest ? khz : MAX(*ret_khz, khz);
		fastest = MAX(fastest, speed);
		*ret_tells |= cpu_speed_tells(&look);
		freq->looked &= cpu->has_look;
		/* A look before the cap settled is no beginning of an interval. */
		cpu->has_look = freq->settled;
		cpu->look = look;
	}
	return fastest;
}

static void judge_speed(struct cpu_freq *freq, struct host_knob *frequency)
{
	uint64_t khz;
	bool tells;
	const enum cpu_speed speed = look_at_cpus(freq, &khz, &tells);

	freq->perhaps = speed == CPU_SPEED_PERHAPS;
	if (speed == CPU_SPEED_FASTER && freq->settled) {
		freq->frequency_refuted = true;
		judge(freq, frequency, HOST_KNOB_NOT_EFFECTIVE,
		      g_strdup_printf("a CPU ran at %" PRIu64 " MHz", khz / KHZ_PER_MHZ));
	} else if (speed == CPU_SPEED_WITHIN) {
		judge(freq, frequency, HOST_KNOB_EFFECTIVE, NULL);
	} else if (!tells) {
		judge(freq, frequency, HOST_KNOB_UNKNOWN,
		      g_strdup("the driver does not tell how fast the CPUs run"));
	} else if (freq->perhaps) {
		judge(freq, frequency, HOST_KNOB_UNKNOWN,
		      g_strdup_printf("a CPU was at %" PRIu64 " MHz for a moment",
				      khz / KHZ_PER_MHZ));
	} else if (frequency->effect != HOST_KNOB_EFFECTIVE) {
		judge(freq, frequency, HOST_KNOB_UNKNOWN, g_strdup("no CPU was seen busy yet"));
	}
}

static void read_back(const struct cpu_freq *freq, struct host_knob *frequency,
		      struct host_knob *boost)
{
	uint64_t highest_khz = 0;

	for (guint i = 0; i < freq->cpus->len; i++) {
		uint64_t khz;

		if (read_khz(freq->cpus->pdata[i], "scaling_max_freq", &khz))
			highest_khz = MAX(highest_khz, khz);
	}
	if (highest_khz > 0)
		host_knob_set_text(&frequency->read_back, mhz_text(highest_khz));
	if (freq->boosts->len > 0)
		host_knob_set_text(&boost->read_back, g_strdup(find_boost_on(freq) ? "on" : "off"));
}

static bool is_as_set(const struct cpu_freq *freq)
{
	uint64_t khz;

	return !find_boost_on(freq) && (highest_set(freq) == 0 || !any_is_above(freq, &khz));
}

/*
 * Notes what the knobs have, since the kernel may have lowered what was written, and may have moved
 * with boost what was not.
 */
static void settle(struct cpu_freq *freq)
{
	freq->settled = true;
	freq->held = is_as_set(freq);
	for (guint i = 0; i < freq->cpus->len; i++) {
		const struct cpu *cpu = freq->cpus->pdata[i];
		g_autofree char *maximum = cpu_file(cpu, "scaling_max_freq");
		uint64_t khz;

		if (cpu->khz == 0 || !is_above(cpu, &khz))
			cap_originals_confirm(freq->originals, maximum);
	}
}

static void judge_boost(struct cpu_freq *freq, struct host_knob *boost)
{
	const struct boost *on = find_boost_on(freq);
	g_autofree char *text = on ? sysfs_read(on->path, NULL) : NULL;
	g_autofree char *shown = visible_start(text ? text : "", SHOWN_MAX);

	if (freq->boosts->len == 0 || freq->boost_refuted)
		return;
	if (!freq->boost_failure && !boost->set)
		boost->set = g_strdup("off");
	if (!on) {
		if (boost->effect != HOST_KNOB_EFFECTIVE)
			host_knob_judge(boost, HOST_KNOB_EFFECTIVE, NULL);
		return;
	}
	freq->boost_refuted = freq->settled;
	host_knob_judge(boost, HOST_KNOB_NOT_EFFECTIVE,
			freq->boost_failure
				? g_strdup(freq->boost_failure)
				: g_strdup_printf("\"%s\" reads \"%s\"", on->path, shown));
}

/* Judges the frequency by what reads back and, where that is right, by the CPUs' speed. */
static void judge_frequency(struct cpu_freq *freq, struct host_knob *frequency)
{
	uint64_t above_khz;

	if (freq->frequency_refuted)
		return;
	if (highest_set(freq) == 0) {
		judge(freq, frequency, HOST_KNOB_NOT_EFFECTIVE, g_strdup(freq->failure));
		return;
	}
	if (!any_is_above(freq, &above_khz))
		g_clear_pointer(&freq->failure, g_free);
	if (!freq->failure && !frequency->set)
		frequency->set = mhz_text(highest_set(freq));
	if (!any_is_above(freq, &above_khz)) {
		judge_speed(freq, frequency);
		return;
	}
	freq->frequency_refuted = freq->settled;
	judge(freq, frequency, HOST_KNOB_NOT_EFFECTIVE,
	      freq->failure
		      ? g_strdup(freq->failure)
		      : g_strdup_printf("it reads back %" PRIu64 " MHz%s", above_khz / KHZ_PER_MHZ,
					freq->held ? ", which another program has set" : ""));
}

struct cpu_freq *cpu_freq_apply(const struct platform *platform, const char *sys_root,
				const char *dev_root, uint32_t max_mhz, double settle_s,
				struct cap_originals *originals, struct host_knob *ret_frequency,
				struct host_knob *ret_boost)
{
	struct cpu_freq *freq = g_new0(struct cpu_freq, 1);
	bool was_off;

	freq->platform = platform;
	freq->sys_root = g_strdup(sys_root);
	freq->dev_root = g_strdup(dev_root);
	freq->max_khz = (uint64_t)max_mhz * KHZ_PER_MHZ;
	freq->originals = originals;
	freq->settle_ns = (int64_t)(settle_s * 1e9);
	freq->cpus = g_ptr_array_new_with_free_func(cpu_free);
	freq->boosts = g_ptr_array_new_with_free_func(boost_free);
	*ret_frequency = (struct host_knob){.name = "frequency"};
	*ret_boost = (struct host_knob){.name = "boost"};
	ret_frequency->requested = g_strdup_printf("%u MHz", max_mhz);
	ret_boost->requested = g_strdup("off");
	find_machine_boosts(freq);
	refresh_cpus(freq);
	was_off = !find_boost_on(freq);
	/* The highest frequency is lower without boost. */
	switch_boost_off(freq);
	if (!plan(freq))
		for (guint i = 0; i < freq->cpus->len; i++)
			((struct cpu *)freq->cpus->pdata[i])->khz = 0;
	write_settings(freq, WRITES_AT_ONCE);
	read_back(freq, ret_frequency, ret_boost);
	judge_boost(freq, ret_boost);
	if (freq->boosts->len == 0)
		host_knob_judge(ret_boost, HOST_KNOB_UNKNOWN,
				g_strdup("the machine has no switch for it"));
	else if (was_off)
		host_knob_judge(ret_boost, HOST_KNOB_EFFECTIVE, g_strdup("it was off already"));
	judge_frequency(freq, ret_frequency);
	return freq;
}

void cpu_freq_check(struct cpu_freq *freq, struct host_knob *frequency, struct host_knob *boost)
{
	if (refresh_cpus(freq) && highest_set(freq) > 0) {
		log_info("CPUs came online; they are capped");
		freq->settled = false;
		freq->held = false;
		freq->writes = 0;
		if (plan(freq))
			write_settings(freq, WRITES_AT_ONCE);
	}
	if (!freq->settled && !is_as_set(freq) && freq->writes < WRITES_MAX) {
		write_settings(freq, 1);
	} else if (!freq->settled &&
		   platform_now_ns(freq->platform) - freq->written_ns >= freq->settle_ns) {
		settle(freq);
	}
	read_back(freq, frequency, boost);
	judge_boost(freq, boost);
	judge_frequency(freq, frequency);
}

double cpu_freq_patience_s(const struct cpu_freq *freq)
{
	if (!freq->settled)
		return SETTLING_CHECK_S;
	if (freq->frequency_refuted || highest_set(freq) == 0)
		return G_MAXDOUBLE;
	return freq->perhaps || !freq->looked ? SECOND_LOOK_S : G_MAXDOUBLE;
}

void cpu_freq_free(struct cpu_freq *freq)
{
	if (!freq)
		return;
	g_ptr_array_unref(freq->cpus);
	g_ptr_array_unref(freq->boosts);
	g_free(freq->sys_root);
	g_free(freq->dev_root);
	g_free(freq->note);
	g_free(freq->failure);
	g_free(freq->boost_failure);
	g_free(freq);
}
