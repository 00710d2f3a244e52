/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/meter_model.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/read_number.h"
#include "local-sched/cpu/sysfs.h"
#include "local-sched/power/meter_difference.h"

/* The numbers of the line "cpu" of /proc/stat (proc(5)). */
enum { USER = 0, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, FIELDS_NEEDED };

struct meter_model {
	struct meter_difference base;
	const struct config_meter *config;
	char *path;
	double ticks_per_s;
	uint64_t before_ticks;
	int64_t before_ns; /* 0: none to compare with */
};

/* The busy ticks of all CPUs since boot. */
static bool parse_busy(const char *text, uint64_t *ret_ticks)
{
	static const int busy[] = { USER, NICE, SYSTEM, IRQ, SOFTIRQ };
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
	g_set_error(error, POWER_METER_ERROR,
		    text ? POWER_METER_ERROR_GARBAGE : POWER_METER_ERROR_SETUP,
		    "host \"%s\": no CPU time for the power model: %s", meter->base.host,
		    text ? "the first line of its stat is none of CPU times" : reason->message);
	return false;
}

static bool model_sample(struct meter_difference *base, int64_t *ret_mw, GError **error)
{
	struct meter_model *meter = (struct meter_model *)base;
	const int64_t now_ns = clock_now_ns();
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
	*ret_mw = can_compare ? llround((meter->config->idle_w +
					 meter->config->core_w * busy_s / elapsed_s) *
					1e3) :
				-1;
	return true;
}

static void model_close(struct power_meter *base)
{
	struct meter_model *meter = (struct meter_model *)base;

	meter_difference_stop(&meter->base);
	g_free(meter->path);
	g_free(meter);
}

static struct power_meter *model_open(const struct config_meter *config, const char *host,
				      GError **error)
{
	struct meter_model *meter = g_new0(struct meter_model, 1);
	uint64_t ticks;

	meter->base.base.ops = &meter_model_ops;
	meter->base.sample = model_sample;
	meter->base.host = host;
	meter->config = config;
	meter->path = g_build_filename(config->proc_root, "stat", NULL);
	meter->ticks_per_s = (double)sysconf(_SC_CLK_TCK);
	if (read_busy(meter, &ticks, error))
		return &meter->base.base;
	model_close(&meter->base.base);
	return NULL;
}

static const char *model_source(const struct power_meter *base)
{
	return "model";
}

const struct power_meter_ops meter_model_ops = {
	.name = "model",
	.kind = CONFIG_METER_MODEL,
	.open = model_open,
	.read = meter_difference_read,
	.source = model_source,
	.close = model_close,
};
