/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <gio/gio.h>
#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "common/error_fail.h"
#include "common/platform.h"
#include "common/read_number.h"
#include "local-sched/cpu/sysfs.h"
#include "local-sched/power/energy_steps.h"
#include "local-sched/power/meter_hwmon_find.h"
#include "local-sched/power/power_meter.h"

#define LOG_SUBSYSTEM "meter"
#include "common/log.h"

/*
 * Meters of this machine by the kernel's hwmon: the ACPI power meter (ACPI 6.4, section 10.4), and
 * other chips by name. A read may ask firmware and be slow (ibmaem measures for as long as its
 * interval), so a thread does it. The sum of 0 W is no reading: a machine that runs this program
 * draws power.
 *
 * An average over a longer time than the sampling interval is shortened to the least that the chip
 * offers, once, before the first reading. It is not put back: another program of this machine that
 * reads the same meter (`virtbed energy --live` beside a local scheduler) would lose its own.
 */

#define WATTS_TOP 1000000.0 /* the most that a machine draws; a higher value is an error */
#define WATTS_LEAST 0.001   /* less would be a reading of 0 W */
#define UW_OF_WATT 1000000

#define RISE_POLL_MS 100 /* between two looks at counters that stand still */
/* How long a read waits for steps of a counter: two that are a second apart. The next continues. */
#define RISE_PATIENCE_S 2.5

/* A read on its thread, which may outlive the meter. */
struct call {
	const struct platform *platform;
	struct meter_hwmon *meter; /* NULL: the result is not wanted any more */
	char **paths, **titles;
	double interval_s; /* averages over more than this are shortened; 0: they are left alone */
	/* Results. */
	uint64_t *values; /* one of each path */
	int64_t t_ns;
	double mean_s;     /* of the longest average; 0: none, or not known */
	bool mean_unknown; /* an average does not say its time */
	char *change;      /* what was shortened, or could not be; NULL: nothing */
	GError *error;     /* why there are no values; NULL: there are */
};

struct meter_hwmon {
	struct power_meter base;
	struct hwmon_channels channels;
	struct energy_steps steps;
	bool looked;       /* at the intervals of averages */
	bool lost;         /* a file is gone: the chip may have another number now */
	struct call *call; /* on its thread, or NULL */
};

static void call_free(struct call *call)
{
	g_strfreev(call->paths);
	g_strfreev(call->titles);
	g_free(call->values);
	g_clear_error(&call->error);
	g_free(call->change);
	g_free(call);
}

static const char *title(const struct meter_hwmon *meter)
{
	return meter->base.config->kind == CONFIG_METER_ACPI ? "ACPI power meter" : "hwmon";
}

/* Reads milliseconds of file NAMEsuffix; false if it has none. */
static bool read_ms(const char *name, const char *suffix, uint64_t *ret_ms)
{
	g_autofree char *path = g_strconcat(name, suffix, NULL);

	return sysfs_read_number(path, ret_ms, NULL) && *ret_ms > 0 && *ret_ms < G_MAXUINT32;
}

/* On the thread: looks at the interval of an average, and shortens it. */
static void shorten(struct call *call, const char *average)
{
	uint64_t is_ms, least_ms;
	double is_s;

	if (!g_str_has_suffix(average, "_average"))
		return;
	if (!read_ms(average, "_interval", &is_ms)) {
		call->mean_unknown = true;
		return;
	}
	is_s = (double)is_ms / 1e3;
	if (is_s > call->interval_s && read_ms(average, "_interval_min", &least_ms) &&
	    least_ms < is_ms) {
		g_autofree char *path = g_strconcat(average, "_interval", NULL);
		g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, least_ms);
		g_autoptr(GError) error = NULL;
		const bool written = sysfs_write(path, text, &error);

		/* Firmware may take another value than was written, or none. */
		if (read_ms(average, "_interval", &is_ms) && (double)is_ms / 1e3 < is_s) {
			g_free(call->change);
			call->change =
				g_strdup_printf("its average over %g s is over %g s from now on, "
						"also after this program",
						is_s, (double)is_ms / 1e3);
		} else if (!written) {
			g_free(call->change);
			call->change = g_strdup(error->message);
		}
		is_s = (double)is_ms / 1e3;
	}
	call->mean_s = MAX(call->mean_s, is_s);
}

static bool read_values(struct call *call, GError **error)
{
	const gsize count = g_strv_length(call->paths);

	call->values = g_new0(uint64_t, count);
	for (gsize i = 0; i < count; i++) {
		g_autofree char *title = NULL;

		if (!sysfs_read_number(call->paths[i], &call->values[i], error))
			return false;
		title = hwmon_title(call->paths[i]);
		if (strcmp(title, call->titles[i]) != 0)
			return error_fail(error, G_FILE_ERROR, G_FILE_ERROR_NODEV,
					  "\"%s\" is of %s, not of %s any more", call->paths[i],
					  title, call->titles[i]);
	}
	call->t_ns = platform_now_ns(call->platform);
	return true;
}

static void work(void *data)
{
	struct call *call = data;

	for (gsize i = 0; call->interval_s > 0 && call->paths[i]; i++)
		shorten(call, call->paths[i]);
	read_values(call, &call->error);
}

static void start_call(struct meter_hwmon *meter);

static gboolean on_poll(gpointer data)
{
	struct meter_hwmon *meter = data;

	meter->base.timer_id = 0;
	start_call(meter);
	return G_SOURCE_REMOVE;
}

/*
 * All ones is how a chip says that it does not know: in 32 bits, or in 31, of microwatts, or in 16
 * of watts.
 */
static bool is_all_ones(uint64_t uw)
{
	return uw == G_MAXUINT32 || uw == G_MAXINT32 || uw == UINT64_C(65535) * UW_OF_WATT;
}

static void take_power(struct meter_hwmon *meter, const struct call *call)
{
	double sum_w = 0;

	for (gsize i = 0; call->paths[i]; i++) {
		const double watts = (double)call->values[i] / UW_OF_WATT;

		if (is_all_ones(call->values[i]) || watts > WATTS_TOP) {
			power_meter_fail(&meter->base, POWER_METER_ERROR_GARBAGE,
					 "%s: \"%s\" reads %s", title(meter), call->paths[i],
					 watts > WATTS_TOP ? "more than a megawatt"
							   : "all ones, which is no power");
			return;
		}
		sum_w += watts;
	}
	if (sum_w >= WATTS_LEAST)
		power_meter_end(&meter->base, (int64_t)(sum_w * 1e3));
	else
		power_meter_fail(&meter->base, POWER_METER_ERROR_NOT_ACTIVE, "%s: it reads %g W",
				 title(meter), sum_w);
}

/* Counters that have not moved are looked at again. */
static void take_energy(struct meter_hwmon *meter, const struct call *call)
{
	int64_t mw;
	const enum energy_steps_verdict verdict =
		energy_steps_add(&meter->steps, call->values, call->t_ns, &mw);
	const double left_s =
		clock_elapsed_s(platform_now_ns(meter->base.platform), meter->base.deadline_ns);
	const bool is_late = left_s < POWER_METER_DEADLINE_S - RISE_PATIENCE_S;
	const bool all = meter->steps.part == meter->steps.count;

	if (verdict == ENERGY_STEPS_OK)
		power_meter_end(&meter->base, mw);
	else if ((verdict == ENERGY_STEPS_FIRST || verdict == ENERGY_STEPS_STILL) && !is_late)
		meter->base.timer_id =
			platform_after_ms(meter->base.platform, RISE_POLL_MS, on_poll, meter);
	else
		power_meter_fail(&meter->base,
				 verdict == ENERGY_STEPS_FELL || verdict == ENERGY_STEPS_JUMP
					 ? POWER_METER_ERROR_GARBAGE
					 : POWER_METER_ERROR_NOT_ACTIVE,
				 "%s: the counter of energy \"%s\"%s %s", title(meter),
				 call->paths[all ? 0 : meter->steps.part],
				 all && call->paths[1] ? ", as each other in the sum," : "",
				 energy_steps_words(verdict));
}

static void take_error(struct meter_hwmon *meter, const GError *error)
{
	enum power_meter_error code = POWER_METER_ERROR_REJECTED;
	const char *cure = "";

	const bool lost = g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT) ||
			  g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NODEV);

	if (lost && !meter->lost)
		power_meter_lose_place(&meter->base, "%s", error->message);
	meter->lost = lost;
	if (g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_INVAL)) {
		code = POWER_METER_ERROR_GARBAGE;
	} else if (g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_ACCES) ||
		   g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_PERM)) {
		code = POWER_METER_ERROR_SETUP;
		cure = "; execute the local scheduler as root, or let its user read the file by a "
		       "rule of udev";
	}
	power_meter_fail(&meter->base, code, "%s: %s%s", title(meter), error->message, cure);
}

/* Keeps what the first call has learnt of the averages. */
static void take_intervals(struct meter_hwmon *meter, const struct call *call)
{
	meter->looked = true;
	meter->base.mean_s = call->mean_s;
	meter->base.mean_unknown = call->mean_unknown;
	if (call->mean_s >= CONFIG_METER_MEAN_NOTED_S)
		log_warning_of(LOG_HOST(meter->base.host),
			       "%s: its average is over %g s: changes of power show late%s%s",
			       title(meter), call->mean_s, call->change ? "; " : "",
			       call->change ?: "");
	else if (call->change)
		log_info_of(LOG_HOST(meter->base.host), "%s: %s", title(meter), call->change);
}

static void on_ended(void *data)
{
	struct call *call = data;
	struct meter_hwmon *meter = call->meter;
	const GError *error = call->error;

	if (meter)
		meter->call = NULL;
	/* Without a timer the deadline has reported its failure already. */
	if (meter && call->interval_s > 0 && !error)
		take_intervals(meter, call);
	if (meter && meter->base.timer_id) {
		g_clear_handle_id(&meter->base.timer_id, g_source_remove);
		if (error)
			take_error(meter, error);
		else if (meter->channels.energy)
			take_energy(meter, call);
		else
			take_power(meter, call);
	}
	call_free(call);
}

static gboolean on_deadline(gpointer data)
{
	struct meter_hwmon *meter = data;

	power_meter_fail(&meter->base, POWER_METER_ERROR_NO_ANSWER,
			 "%s: the firmware does not answer", title(meter));
	return G_SOURCE_REMOVE;
}

static void start_call(struct meter_hwmon *meter)
{
	const double left_s =
		clock_elapsed_s(platform_now_ns(meter->base.platform), meter->base.deadline_ns);

	meter->base.timer_id = platform_after_ms(meter->base.platform, (guint)MAX(left_s * 1e3, 0),
						 on_deadline, meter);
	if (meter->call) /* an earlier read still hangs; its answer serves this one */
		return;
	meter->call = g_new0(struct call, 1);
	meter->call->platform = meter->base.platform;
	meter->call->meter = meter;
	meter->call->paths = g_strdupv(meter->channels.paths);
	meter->call->titles = g_strdupv(meter->channels.titles);
	meter->call->interval_s = meter->looked ? 0 : meter->base.config->interval_s;
	platform_run(meter->base.platform, "meter", work, on_ended, meter->call);
}

/*
 * Looks for the chip again whose file was gone: a driver that registers it again, such as ibmaem
 * after a restart of the BMC, gets another number. What is found has to be of the same kind.
 */
static void find_again(struct meter_hwmon *meter)
{
	struct hwmon_channels found = {.paths = NULL};
	g_autofree char *reason = NULL;

	if (!hwmon_find(meter->base.config, &found, &reason))
		return;
	if (found.energy != meter->channels.energy || found.cpu_only != meter->channels.cpu_only ||
	    g_strv_length(found.paths) != g_strv_length(meter->channels.paths)) {
		hwmon_channels_clear(&found);
		return;
	}
	meter->lost = meter->looked = false;
	power_meter_find_place(&meter->base, "%s", found.paths[0]);
	hwmon_channels_clear(&meter->channels);
	meter->channels = found;
	energy_steps_forget(&meter->steps);
}

static void hwmon_read(struct power_meter *base)
{
	struct meter_hwmon *meter = (struct meter_hwmon *)base;

	if (meter->lost && !meter->call)
		find_again(meter);
	start_call(meter);
}

static bool hwmon_open(struct power_meter *base, GError **error)
{
	struct meter_hwmon *meter = (struct meter_hwmon *)base;
	g_autofree char *reason = NULL;

	if (!hwmon_find(base->config, &meter->channels, &reason))
		return base->config->kind == CONFIG_METER_ACPI
			       ? power_meter_set_error(base, error, POWER_METER_ERROR_SETUP,
						       "no ACPI power meter: %s", reason)
			       : power_meter_set_error(base, error, POWER_METER_ERROR_SETUP,
						       "hwmon, chip \"%s\": %s", base->config->chip,
						       reason);
	energy_steps_init(&meter->steps, g_strv_length(meter->channels.paths));
	return true;
}

/* Counters of CPU packages are RAPL's, by whichever driver (AMD's manuals use Intel's name). */
static const char *hwmon_source(const struct power_meter *base)
{
	const struct meter_hwmon *meter = (const struct meter_hwmon *)base;

	return config_meter_kind_name(meter->channels.cpu_only ? CONFIG_METER_RAPL
							       : base->config->kind);
}

static void hwmon_close(struct power_meter *base)
{
	struct meter_hwmon *meter = (struct meter_hwmon *)base;

	if (meter->call)
		meter->call->meter = NULL;
	hwmon_channels_clear(&meter->channels);
	energy_steps_clear(&meter->steps);
}

const struct power_meter_ops meter_acpi_ops = {
	.kind = CONFIG_METER_ACPI,
	.size = sizeof(struct meter_hwmon),
	.open = hwmon_open,
	.read = hwmon_read,
	.source = hwmon_source,
	.close = hwmon_close,
};

const struct power_meter_ops meter_hwmon_ops = {
	.kind = CONFIG_METER_HWMON,
	.size = sizeof(struct meter_hwmon),
	.open = hwmon_open,
	.read = hwmon_read,
	.source = hwmon_source,
	.close = hwmon_close,
};
