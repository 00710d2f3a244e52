/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <gio/gio.h>

#include "common/handoff.h"
#include "local-sched/cpu/sysfs.h"
#include "local-sched/power/power_meter.h"

/*
 * The ACPI power meter of this machine (ACPI 6.4, section 10.4), by the kernel's hwmon:
 * power1_average in microwatts, or power1_input where there is no average. The firmware is asked at
 * each reading and may be slow, so a thread reads it. 0 W is no reading: a machine that runs this
 * program draws power.
 */

#define HWMON_NAME "power_meter" /* the name of the kernel's driver */
#define WATTS_TOP 1000000        /* the most that a machine draws; a higher value is an error */

enum { UW_PER_MW = 1000 };

/* A read on its thread, which may outlive the meter. */
struct call {
	struct meter_acpi *meter; /* NULL: the result is not wanted any more */
	char *path;
};

struct meter_acpi {
	struct power_meter base;
	char *path;        /* of the file with the microwatts */
	struct call *call; /* on its thread, or NULL */
};

static void on_ended(GObject *source, GAsyncResult *result, gpointer data)
{
	struct call *call = data;
	struct meter_acpi *meter = call->meter;
	struct power_meter *base = (struct power_meter *)meter;
	g_autoptr(GError) error = NULL;
	g_autofree uint64_t *uw = g_task_propagate_pointer(G_TASK(result), &error);

	HANDOFF_TAKE(call);
	g_free(call->path);
	g_free(call);
	if (!meter)
		return;
	meter->call = NULL;
	if (!base->timer_id)
		return; /* the deadline has reported its failure already */
	if (error)
		power_meter_fail(base,
				 g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_INVAL)
					 ? POWER_METER_ERROR_GARBAGE
					 : POWER_METER_ERROR_REJECTED,
				 "ACPI power meter: %s", error->message);
	else if (*uw == 0)
		power_meter_fail(base, POWER_METER_ERROR_NOT_ACTIVE,
				 "ACPI power meter: it reads 0 W");
	else if (*uw / UW_PER_MW / 1000 > WATTS_TOP)
		power_meter_fail(base, POWER_METER_ERROR_GARBAGE,
				 "ACPI power meter: it reads more than a megawatt");
	else
		power_meter_end(base, (int64_t)(*uw / UW_PER_MW));
}

static void read_file(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	const struct call *call = data;
	GError *error = NULL;
	uint64_t *ret = NULL;
	uint64_t uw;

	HANDOFF_TAKE(call);
	if (sysfs_read_number(call->path, &uw, &error))
		ret = g_memdup2(&uw, sizeof uw);
	HANDOFF_GIVE(call);
	if (ret)
		g_task_return_pointer(task, ret, g_free);
	else
		g_task_return_error(task, error);
}

static gboolean on_deadline(gpointer meter)
{
	power_meter_fail(meter, POWER_METER_ERROR_NO_ANSWER,
			 "ACPI power meter: the firmware does not answer");
	return G_SOURCE_REMOVE;
}

static void acpi_read(struct power_meter *base)
{
	struct meter_acpi *meter = (struct meter_acpi *)base;
	g_autoptr(GTask) task = NULL;

	base->timer_id = g_timeout_add((guint)(POWER_METER_DEADLINE_S * 1e3), on_deadline, meter);
	if (meter->call) /* an earlier read still hangs; its answer serves this one */
		return;
	meter->call = g_new0(struct call, 1);
	meter->call->meter = meter;
	meter->call->path = g_strdup(meter->path);
	task = g_task_new(NULL, NULL, on_ended, meter->call);
	g_task_set_task_data(task, meter->call, NULL);
	HANDOFF_GIVE(meter->call);
	g_task_run_in_thread(task, read_file);
}

/* The file of the microwatts below the hwmon device `device`, or NULL. */
static char *find_file(const char *device)
{
	/* The second is where kernels before 3.19 had a driver's own files. */
	static const char *const files[] = {"power1_average", "device/power1_average",
					    "power1_input", "device/power1_input"};

	for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = g_build_filename(device, files[i], NULL);

		if (g_file_test(path, G_FILE_TEST_EXISTS))
			return g_steal_pointer(&path);
	}
	return NULL;
}

static char *find_meter(const char *sys_root)
{
	g_autofree char *directory = g_build_filename(sys_root, "class", "hwmon", NULL);
	g_auto(GStrv) names = sysfs_list(directory, "hwmon");

	for (gsize i = 0; names[i]; i++) {
		g_autofree char *device = g_build_filename(directory, names[i], NULL);
		g_autofree char *label_path = g_build_filename(device, "name", NULL);
		g_autofree char *label = sysfs_read(label_path, NULL);
		char *file = g_strcmp0(label, HWMON_NAME) == 0 ? find_file(device) : NULL;

		if (file)
			return file;
	}
	return NULL;
}

static bool acpi_open(struct power_meter *base, GError **error)
{
	struct meter_acpi *meter = (struct meter_acpi *)base;

	meter->path = find_meter(base->config->sys_root);
	return meter->path || power_meter_set_error(base, error, POWER_METER_ERROR_SETUP,
						    "no ACPI power meter: no device \"" HWMON_NAME
						    "\" with power1_average or power1_input in "
						    "\"%s/class/hwmon\"; use another kind of meter",
						    base->config->sys_root);
}

static void acpi_close(struct power_meter *base)
{
	struct meter_acpi *meter = (struct meter_acpi *)base;

	if (meter->call)
		meter->call->meter = NULL;
	g_free(meter->path);
}

const struct power_meter_ops meter_acpi_ops = {
	.kind = CONFIG_METER_ACPI,
	.size = sizeof(struct meter_acpi),
	.open = acpi_open,
	.read = acpi_read,
	.close = acpi_close,
};
