/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/cpu/cpu_speed.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common/read_number.h"
#include "local-sched/cpu/sysfs.h"

/* Numbers of the registers, which are offsets in the device's file. */
enum { MSR_TSC = 0x10, MSR_MPERF = 0xe7, MSR_APERF = 0xe8 };

/* A CPU that was busy for less is not judged: 10 ms, or two ticks of which one may be cut. */
#define BUSY_LEAST_US 10e3
enum { TICKS_LEAST = 2 };

/* The unit of busy time, and the busy part of a CPU that never slept, as ticks measure it. */
#define TICK_US 10e3
#define ALWAYS_SHARE 0.95

/* The part of the time that states above the limit may have: a change of state takes a moment. */
#define FASTER_SHARE 0.05

/* Speeds outside these are no measurement, but counters that a hypervisor makes up. */
enum { KHZ_LEAST = 50 * 1000, KHZ_MOST = 20 * 1000 * 1000 };

/* Counts from before to after. Counters that were set back count nothing. */
static uint64_t since(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

static bool read_counters(const char *path, struct cpu_speed_look *look)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const bool whole = fd >= 0 && pread(fd, &look->tsc, 8, MSR_TSC) == 8 &&
			   pread(fd, &look->mperf, 8, MSR_MPERF) == 8 &&
			   pread(fd, &look->aperf, 8, MSR_APERF) == 8;

	if (fd >= 0)
		close(fd);
	return whole;
}

/* Reads lines of "KHZ TICKS". A file with any other line is left out. */
static uint32_t read_states(const char *cpufreq, struct cpu_speed_look *look)
{
	g_autofree char *path = g_build_filename(cpufreq, "stats", "time_in_state", NULL);
	g_autofree char *text = sysfs_read(path, NULL);
	g_auto(GStrv) lines = g_strsplit(text ? text : "", "\n", CPU_SPEED_STATES_MAX + 1);
	uint32_t count = 0;

	for (; lines[count]; count++) {
		const char *rest;

		if (count == CPU_SPEED_STATES_MAX)
			return 0;
		rest = read_number_front_unsigned(lines[count], &look->states[count].khz);
		if (!rest || *rest != ' ' ||
		    !read_number_unsigned(rest + 1, 0, G_MAXUINT64, &look->states[count].ticks))
			return 0;
	}
	return count;
}

/*
 * The busy ticks of a CPU by its line of /proc/stat: "cpu3 USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ
 * STEAL ...".
 */
static bool read_busy(const char *proc_stat, uint64_t number, uint64_t *ret_ticks)
{
	enum { IDLE = 3, IOWAIT = 4, FIELDS = 8 };
	g_autofree char *start = g_strdup_printf("\ncpu%" PRIu64 " ", number);
	const char *rest = proc_stat ? strstr(proc_stat, start) : NULL;
	uint64_t busy = 0;

	if (!rest)
		return false;
	rest += strlen(start);
	for (int i = 0; i < FIELDS; i++) {
		uint64_t ticks;

		rest = read_number_front_unsigned(rest, &ticks);
		if (!rest || (*rest != ' ' && *rest != '\n'))
			return false;
		busy += i == IDLE || i == IOWAIT ? 0 : ticks;
		rest += *rest == ' ';
	}
	*ret_ticks = busy;
	return true;
}

/* The current frequency: measured by the hardware if it can, else as the driver reports it. */
static uint64_t read_khz(const char *cpufreq)
{
	static const char *const names[] = {"cpuinfo_avg_freq", "cpuinfo_cur_freq",
					    "scaling_cur_freq"};
	uint64_t khz = 0;

	for (gsize i = 0; khz == 0 && i < G_N_ELEMENTS(names); i++) {
		g_autofree char *path = g_build_filename(cpufreq, names[i], NULL);

		sysfs_read_number(path, &khz, NULL);
	}
	return khz;
}

void cpu_speed_look(const struct cpu_speed_place *place, struct cpu_speed_look *ret_look)
{
	g_autofree char *number = g_strdup_printf("%" PRIu64, place->number);
	g_autofree char *msr = g_build_filename(place->dev_root, "cpu", number, "msr", NULL);

	*ret_look = (struct cpu_speed_look){.khz = read_khz(place->cpufreq)};
	ret_look->states_count = read_states(place->cpufreq, ret_look);
	ret_look->has_busy = read_busy(place->proc_stat, place->number, &ret_look->busy);
	/* The time and the counters belong together. */
	ret_look->at_us = platform_now_ns(place->platform) / 1000;
	ret_look->has_counts = read_counters(msr, ret_look);
}

bool cpu_speed_tells(const struct cpu_speed_look *look)
{
	return look->khz > 0 || look->states_count > 0 || look->has_counts;
}

/* By the counters. False if they do not count. */
static bool judge_counters(const struct cpu_speed_look *before, const struct cpu_speed_look *after,
			   uint64_t limit_khz, enum cpu_speed *ret_speed, uint64_t *ret_khz)
{
	const double us = (double)since((uint64_t)before->at_us, (uint64_t)after->at_us);
	const double tsc = (double)since(before->tsc, after->tsc);
	const double mperf = (double)since(before->mperf, after->mperf);
	const double aperf = (double)since(before->aperf, after->aperf);
	double khz;

	if (!before->has_counts || !after->has_counts || tsc <= 0 || us < BUSY_LEAST_US)
		return false;
	*ret_speed = CPU_SPEED_UNKNOWN;
	if (mperf / tsc * us < BUSY_LEAST_US)
		return true;
	khz = aperf / mperf * (tsc / us * 1e3);
	if (khz < KHZ_LEAST || khz > KHZ_MOST)
		return false;
	*ret_speed = khz > (double)limit_khz ? CPU_SPEED_FASTER : CPU_SPEED_WITHIN;
	*ret_khz = *ret_speed == CPU_SPEED_FASTER ? (uint64_t)khz : 0;
	return true;
}

/* By the time in each state. False if no time passed in any, or if the states are others. */
static bool judge_states(const struct cpu_speed_look *before, const struct cpu_speed_look *after,
			 uint64_t limit_khz, enum cpu_speed *ret_speed, uint64_t *ret_khz)
{
	uint64_t all = 0;
	uint64_t faster = 0;
	uint64_t highest_khz = 0;

	if (before->states_count != after->states_count)
		return false;
	for (uint32_t i = 0; i < after->states_count; i++) {
		const uint64_t khz = after->states[i].khz;
		const uint64_t ticks = since(before->states[i].ticks, after->states[i].ticks);

		if (before->states[i].khz != khz)
			return false;
		all += ticks;
		if (khz <= limit_khz || ticks == 0)
			continue;
		faster += ticks;
		highest_khz = MAX(highest_khz, khz);
	}
	if (all == 0)
		return false;
	*ret_speed = CPU_SPEED_WITHIN;
	if (faster < TICKS_LEAST || (double)faster < (double)all * FASTER_SHARE)
		return true;
	*ret_speed = CPU_SPEED_FASTER;
	*ret_khz = highest_khz;
	return true;
}

/*
 * Whether a CPU ran all the time between two looks. If it slept, its current frequency may be the
 * nominal one, which x86 shows for idle CPUs.
 */
static bool was_always_busy(const struct cpu_speed_look *before, const struct cpu_speed_look *after)
{
	const double us = (double)since((uint64_t)before->at_us, (uint64_t)after->at_us);

	if (!before->has_busy || !after->has_busy)
		return true;
	return (double)since(before->busy, after->busy) * TICK_US >= us * ALWAYS_SHARE;
}

static bool needs_two_looks(const struct cpu_speed_look *look)
{
	return look->has_counts || look->states_count > 0 || look->has_busy;
}

enum cpu_speed cpu_speed_judge(const struct cpu_speed_look *before,
			       const struct cpu_speed_look *after, uint64_t limit_khz,
			       uint64_t *ret_khz)
{
	enum cpu_speed speed = CPU_SPEED_UNKNOWN;

	*ret_khz = 0;
	if (before && judge_counters(before, after, limit_khz, &speed, ret_khz))
		return speed;
	if (before && before->has_busy && after->has_busy &&
	    since(before->busy, after->busy) < TICKS_LEAST)
		return CPU_SPEED_UNKNOWN;
	if (before && judge_states(before, after, limit_khz, &speed, ret_khz))
		return speed;
	if (after->khz == 0 || (!before && needs_two_looks(after)))
		return CPU_SPEED_UNKNOWN;
	if (after->khz <= limit_khz)
		return CPU_SPEED_WITHIN;
	if (before && !was_always_busy(before, after))
		return CPU_SPEED_UNKNOWN;
	*ret_khz = after->khz;
	return before && before->khz > limit_khz ? CPU_SPEED_FASTER : CPU_SPEED_PERHAPS;
}
