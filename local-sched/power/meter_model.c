/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/platform.h"
#include "common/read_number.h"
#include "local-sched/cpu/sysfs.h"
#include "local-sched/power/power_meter.h"

/*
 * A stand-in for a meter: watts = idle_w + core_w x busy CPUs of this machine, from the CPU time
 * that the kernel has measured in /proc/stat (everything except idle, waiting for I/O, and time
 * stolen by a hypervisor below). Linear in utilisation, as Machovec 2018, section 3.4, takes a
 * task's average power. Every display of its watts says that they are modelled.
 */

/* The numbers of the line "cpu" of /proc/stat (proc(5)). */
enum { USER = 0, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, FIELDS_NEEDED };

struct meter_model {
	struct power_meter base;
	char *path;
	double ticks_per_s;
	uint64_t before_ticks;
	int64_t before_ns; /* 0: none to compare with */
};

/* The busy ticks of all CPUs since boot. */
static bool parse_busy(const char *text, uint64_t *ret_ticks)
{
	static const int busy[] = {USER, NICE, SYSTEM, IRQ, SOFTIRQ};
	g_auto(GStrv) lines = g_strsplit(text, "\n", 2);
	g_auto(GStrv) words = NULL;
	uint64_t sum = 0;

	if (!lines[0] || !g_str_has_prefix(lines[0], "cpu  "))
		return false;
	words = g_strsplit(lines[0] + strlen("cpu  "), " ", -1);
	if (g_strv_length(words) < FIELDS_NEEDED)
		return false;
	for (gsize i = 0; i < G_N_ELEMENTS(busy); i++) {
		guint64 ticks;

		if (!read_number_unsigned(words[busy[i]], 0, G_MAXINT64 / FIELDS_NEEDED, &ticks))
			return false;
		sum += ticks;
	}
	*ret_ticks = sum;
	return true;
}

static bool read_busy(const struct meter_model *meter, uint64_t *ret_ticks, GError **error)
{
	g_autoptr(GError) reason = NULL;
	g_autofree char *text = sysfs_read(meter->path, &reason);

	if (text && parse_busy(text, ret_ticks))
		return true;
	return power_meter_set_error(&meter->base, error,
				     text ? POWER_METER_ERROR_GARBAGE : POWER_METER_ERROR_SETUP,
				     "no CPU time for the power model: %s",
				     text ? "the first line of its stat is none of CPU times"
					  : reason->message);
}

static bool model_sample(struct power_meter *base, int64_t *ret_mw, GError **error)
{
	struct meter_model *meter = (struct meter_model *)base;
	const int64_t now_ns = platform_now_ns(base->platform);
	const double elapsed_s = clock_elapsed_s(meter->before_ns, now_ns);
	const bool can_compare = meter->before_ns > 0 && elapsed_s > 0;
	const uint64_t before_ticks = meter->before_ticks;
	uint64_t ticks;
	double busy_s;

	if (!read_busy(meter, &ticks, error)) {
		meter->before_ns = 0;
		return false;
	}
	meter->before_ns = now_ns;
	meter->before_ticks = ticks;
	/* The sums of /proc/stat may fall a little when a CPU goes offline. */
	busy_s = ticks > before_ticks ? (double)(ticks - before_ticks) / meter->ticks_per_s : 0;
	*ret_mw = can_compare ? llround((base->config->idle_w +
					 base->config->core_w * busy_s / elapsed_s) *
					1e3)
			      : -1;
	return true;
}

static bool model_open(struct power_meter *base, GError **error)
{
	struct meter_model *meter = (struct meter_model *)base;
	uint64_t ticks;

	meter->path = g_build_filename(base->config->proc_root, "stat", NULL);
	meter->ticks_per_s = (double)sysconf(_SC_CLK_TCK);
	return read_busy(meter, &ticks, error);
}

static void model_close(struct power_meter *base)
{
	g_free(((struct meter_model *)base)->path);
}

const struct power_meter_ops meter_model_ops = {
	.kind = CONFIG_METER_MODEL,
	.size = sizeof(struct meter_model),
	.open = model_open,
	.sample = model_sample,
	.close = model_close,
};
