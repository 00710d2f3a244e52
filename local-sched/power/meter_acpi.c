/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/meter_acpi.h"

#include <gio/gio.h>
#include <inttypes.h>

#include "common/clock.h"
#include "common/handoff.h"
#include "local-sched/cpu/sysfs.h"

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
	const char *host;
	char *path;        /* of the file with the microwatts */
	struct call *call; /* on its thread, or NULL */
	guint timer_id;    /* 0: no read is under way */
	power_meter_done_f done;
	void *data;
};

static void end(struct meter_acpi *meter, const struct power_reading *reading, const GError *error)
{
	g_clear_handle_id(&meter->timer_id, g_source_remove);
	meter->done(reading, error, meter->data);
}

static void end_failed(struct meter_acpi *meter, enum power_meter_error code, const char *what)
{
	g_autoptr(GError) error =
		g_error_new(POWER_METER_ERROR, (int)code, "host \"%s\": ACPI power meter: %s",
			    meter->host, what);

	end(meter, NULL, error);
}

/* Ends the read with the microwatts, or with the failure. */
static void end_read(struct meter_acpi *meter, const uint64_t *uw, const GError *error)
{
	struct power_reading reading = { .t_ns = clock_now_ns() };

	if (error) {
		end_failed(meter,
			   g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_INVAL) ?
				   POWER_METER_ERROR_GARBAGE :
				   POWER_METER_ERROR_REJECTED,
			   error->message);
	} else if (*uw == 0) {
		end_failed(meter, POWER_METER_ERROR_NOT_ACTIVE, "it reads 0 W");
	} else if (*uw / UW_PER_MW / 1000 > WATTS_TOP) {
		end_failed(meter, POWER_METER_ERROR_GARBAGE, "it reads more than a megawatt");
	} else {
		reading.mw = (int64_t)(*uw / UW_PER_MW);
		end(meter, &reading, NULL);
	}
}

static void on_ended(GObject *source, GAsyncResult *result, gpointer data)
{
	struct call *call = data;
	struct meter_acpi *meter = call->meter;
	g_autoptr(GError) error = NULL;
	g_autofree uint64_t *uw = g_task_propagate_pointer(G_TASK(result), &error);

	HANDOFF_TAKE(call);
	g_free(call->path);
	g_free(call);
	if (!meter)
		return;
	meter->call = NULL;
	if (meter->timer_id) /* otherwise the deadline has reported its failure already */
		end_read(meter, uw, error);
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

static gboolean on_deadline(gpointer data)
{
	struct meter_acpi *meter = data;

	end_failed(meter, POWER_METER_ERROR_NO_ANSWER, "the firmware does not answer");
	return G_SOURCE_REMOVE;
}

static void acpi_read(struct power_meter *base, power_meter_done_f done, void *data)
{
	struct meter_acpi *meter = (struct meter_acpi *)base;
	g_autoptr(GTask) task = NULL;

	meter->done = done;
	meter->data = data;
	meter->timer_id = g_timeout_add((guint)(POWER_METER_DEADLINE_S * 1e3), on_deadline, meter);
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
	static const char *const files[] = { "power1_average", "device/power1_average",
					     "power1_input", "device/power1_input" };

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

static struct power_meter *acpi_open(const struct config_meter *config, const char *host,
				     GError **error)
{
	g_autofree char *path = find_meter(config->sys_root);
	struct meter_acpi *meter;

	if (!path) {
		g_set_error(error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP,
			    "host \"%s\": no ACPI power meter: no device \"" HWMON_NAME
			    "\" with power1_average or power1_input in \"%s/class/hwmon\"; use "
			    "another kind of meter",
			    host, config->sys_root);
		return NULL;
	}
	meter = g_new0(struct meter_acpi, 1);
	meter->base.ops = &meter_acpi_ops;
	meter->host = host;
	meter->path = g_steal_pointer(&path);
	return &meter->base;
}

static const char *acpi_source(const struct power_meter *base)
{
	return "acpi";
}

static void acpi_close(struct power_meter *base)
{
	struct meter_acpi *meter = (struct meter_acpi *)base;

	if (meter->call)
		meter->call->meter = NULL;
	g_clear_handle_id(&meter->timer_id, g_source_remove);
	g_free(meter->path);
	g_free(meter);
}

const struct power_meter_ops meter_acpi_ops = {
	.name = "acpi",
	.kind = CONFIG_METER_ACPI,
	.open = acpi_open,
	.read = acpi_read,
	.source = acpi_source,
	.close = acpi_close,
};
