/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/meter_rapl.h"

#include <inttypes.h>
#include <math.h>

#include "common/clock.h"
#include "common/platform.h"
#include "local-sched/cpu/sysfs.h"
#include "local-sched/power/power_meter.h"

/* A CPU package's counter. */
struct package {
	char *path;        /* of energy_uj */
	uint64_t range_uj; /* the counter goes from 0 to this; 0: not known */
	uint64_t before_uj;
};

struct meter_rapl {
	struct power_meter base;
	GArray *packages;  /* struct package */
	int64_t before_ns; /* of the last sample; 0: none to compare with */
};

static void package_clear(gpointer data)
{
	g_free(((struct package *)data)->path);
}

/* Turns a failure to read a file into one of the meter. */
static bool fail_read(const struct meter_rapl *meter, const GError *reason, GError **error)
{
	if (g_error_matches(reason, G_FILE_ERROR, G_FILE_ERROR_ACCES))
		return power_meter_set_error(&meter->base, error, POWER_METER_ERROR_SETUP,
					     "RAPL: readable by root only (CVE-2020-8694): %s",
					     reason->message);
	return power_meter_set_error(&meter->base, error,
				     g_error_matches(reason, G_FILE_ERROR, G_FILE_ERROR_INVAL)
					     ? POWER_METER_ERROR_GARBAGE
					     : POWER_METER_ERROR_REJECTED,
				     "RAPL: %s", reason->message);
}

/*
 * Adds zone `name` if it is a package. "psys" contains the packages, and the zones below a package
 * (intel-rapl:0:1) are part of it.
 */
static void add_zone(struct meter_rapl *meter, const char *directory, const char *name)
{
	g_autofree char *label_path = g_build_filename(directory, name, "name", NULL);
	g_autofree char *range_path =
		g_build_filename(directory, name, "max_energy_range_uj", NULL);
	g_autofree char *label = sysfs_read(label_path, NULL);
	struct package package = {0};

	if (!label || !g_str_has_prefix(label, "package"))
		return;
	sysfs_read_number(range_path, &package.range_uj, NULL);
	package.path = g_build_filename(directory, name, "energy_uj", NULL);
	g_array_append_val(meter->packages, package);
}

static void add_zones(struct meter_rapl *meter, const char *directory, const char *prefix)
{
	g_auto(GStrv) names = sysfs_list(directory, prefix);

	for (gsize i = 0; names[i]; i++)
		add_zone(meter, directory, names[i]);
}

static bool find_packages(struct meter_rapl *meter, const char *sys_root, GError **error)
{
	g_autofree char *directory = g_build_filename(sys_root, "class", "powercap", NULL);

	add_zones(meter, directory, "intel-rapl:");
	/* The same packages by another way, where the first is not there. */
	if (meter->packages->len == 0)
		add_zones(meter, directory, "intel-rapl-mmio:");
	if (meter->packages->len > 0)
		return true;
	return power_meter_set_error(&meter->base, error, POWER_METER_ERROR_SETUP,
				     "RAPL: none here: \"%s/intel-rapl:0\" is missing (a VM, or a "
				     "kernel without POWERCAP); use another kind of meter",
				     directory);
}

static bool read_all(const struct meter_rapl *meter, uint64_t *ret_uj, GError **error)
{
	for (guint i = 0; i < meter->packages->len; i++) {
		const struct package *package = &g_array_index(meter->packages, struct package, i);
		g_autoptr(GError) reason = NULL;

		if (!sysfs_read_number(package->path, &ret_uj[i], &reason))
			return fail_read(meter, reason, error);
	}
	return true;
}

bool meter_rapl_is_ambiguous(uint64_t range_uj, double elapsed_s)
{
	return range_uj > 0 && elapsed_s > (double)range_uj / 1e6 / METER_RAPL_PACKAGE_MAX_W;
}

static bool is_ambiguous(const struct meter_rapl *meter, double elapsed_s)
{
	for (guint i = 0; i < meter->packages->len; i++)
		if (meter_rapl_is_ambiguous(
			    g_array_index(meter->packages, struct package, i).range_uj, elapsed_s))
			return true;
	return false;
}

enum meter_rapl_verdict meter_rapl_rise(uint64_t before_uj, uint64_t now_uj, uint64_t range_uj,
					double elapsed_s, uint64_t *ret_uj)
{
	uint64_t used_uj = now_uj - before_uj;

	if (now_uj < before_uj) {
		if (range_uj < before_uj)
			return METER_RAPL_FELL;
		used_uj = range_uj - before_uj + now_uj;
	}
	if (used_uj == 0)
		return METER_RAPL_STILL;
	if ((double)used_uj / 1e6 > METER_RAPL_PACKAGE_MAX_W * elapsed_s)
		return METER_RAPL_JUMP;
	*ret_uj = used_uj;
	return METER_RAPL_OK;
}

/* What a package has used since the previous sample. */
static bool rise(const struct meter_rapl *meter, const struct package *package, uint64_t now_uj,
		 double elapsed_s, uint64_t *ret_uj, GError **error)
{
	static const char *const meanings[] = {
		[METER_RAPL_STILL] = "stands still",
		[METER_RAPL_FELL] = "fell, and its range is not known",
		[METER_RAPL_JUMP] = "rose by more than a package draws",
	};
	const enum meter_rapl_verdict verdict =
		meter_rapl_rise(package->before_uj, now_uj, package->range_uj, elapsed_s, ret_uj);

	if (verdict == METER_RAPL_OK)
		return true;
	return power_meter_set_error(&meter->base, error,
				     verdict == METER_RAPL_STILL ? POWER_METER_ERROR_NOT_ACTIVE
								 : POWER_METER_ERROR_GARBAGE,
				     "RAPL: \"%s\" %s: from %" PRIu64 " to %" PRIu64
				     " uJ in %.3f s",
				     package->path, meanings[verdict], package->before_uj, now_uj,
				     elapsed_s);
}

static bool compare(const struct meter_rapl *meter, const uint64_t *now_uj, double elapsed_s,
		    int64_t *ret_mw, GError **error)
{
	uint64_t sum_uj = 0;

	for (guint i = 0; i < meter->packages->len; i++) {
		uint64_t used_uj = 0;

		if (!rise(meter, &g_array_index(meter->packages, struct package, i), now_uj[i],
			  elapsed_s, &used_uj, error))
			return false;
		sum_uj += used_uj;
	}
	*ret_mw = llround((double)sum_uj / elapsed_s / 1e3);
	return true;
}

static bool rapl_sample(struct power_meter *base, int64_t *ret_mw, GError **error)
{
	struct meter_rapl *meter = (struct meter_rapl *)base;
	g_autofree uint64_t *now_uj = g_new(uint64_t, meter->packages->len);
	const int64_t now_ns = platform_now_ns(base->platform);
	const double elapsed_s = clock_elapsed_s(meter->before_ns, now_ns);
	bool good = true;

	*ret_mw = -1;
	if (!read_all(meter, now_uj, error)) {
		meter->before_ns = 0;
		return false;
	}
	if (meter->before_ns > 0 && elapsed_s > 0 && !is_ambiguous(meter, elapsed_s))
		good = compare(meter, now_uj, elapsed_s, ret_mw, error);
	/* The next sample begins at this one, even if this one is refused. */
	meter->before_ns = now_ns;
	for (guint i = 0; i < meter->packages->len; i++)
		g_array_index(meter->packages, struct package, i).before_uj = now_uj[i];
	return good;
}

static bool rapl_open(struct power_meter *base, GError **error)
{
	struct meter_rapl *meter = (struct meter_rapl *)base;
	g_autofree uint64_t *first_uj = NULL;
	g_autoptr(GError) reason = NULL;

	meter->packages = g_array_new(FALSE, TRUE, sizeof(struct package));
	g_array_set_clear_func(meter->packages, package_clear);
	if (!find_packages(meter, base->config->sys_root, error))
		return false;
	first_uj = g_new(uint64_t, meter->packages->len);
	if (read_all(meter, first_uj, &reason))
		return true;
	/* Whatever the cause, it existed before the meter was used. */
	g_set_error_literal(error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP, reason->message);
	return false;
}

static void rapl_close(struct power_meter *base)
{
	g_array_unref(((struct meter_rapl *)base)->packages);
}

const struct power_meter_ops meter_rapl_ops = {
	.kind = CONFIG_METER_RAPL,
	.size = sizeof(struct meter_rapl),
	.open = rapl_open,
	.sample = rapl_sample,
	.close = rapl_close,
};
