/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_SUBSYSTEM "lab"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib-unix.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "local-sched/lab/bmc/bmc.h"
#include "local-sched/lab/lab.h"
#include "local-sched/lab/lab_cgroup.h"
#include "local-sched/lab/lab_channel.h"
#include "local-sched/lab/lab_error.h"
#include "local-sched/lab/lab_paths.h"
#include "local-sched/lab/lab_power.h"
#include "local-sched/lab/lab_process.h"
#include "local-sched/lab/lab_roles.h"
#include "local-sched/lab/lab_spec.h"
#include "local-sched/lab/lab_compensation.h"

/*
 * The lab's first process. As pid 1 of the lab's pid namespace it ends every process of the lab
 * with its own end. Until `up` sends "keep", it ends with `up`, so that no half-started lab is
 * left.
 */

enum { TICK_MS = 200, REFRESH_NS = 1000000000 };

/* The most that a DCMI reading can hold. */
static const double watts_max = 65535;

/* The power model of a blade. */
struct meter {
	struct lab_power power;
	char *watts_path;
	/* renamed to watts_path, so that a reader never reads a partial number */
	char *watts_new_path;
	char written[32]; /* what the file holds */
	int64_t written_ns;
};

struct supervisor {
	GMainLoop *loop;
	struct lab_spec *spec;
	struct lab_cgroup *cgroup;
	struct meter *meters;            /* one per blade */
	struct lab_compensation *steady; /* NULL: without speed compensation */
	double pace;                     /* the factor of the VMs' quotas now */
	int fabric;                      /* channel */
	uint32_t blades_started;
	bool kept; /* `up` has sent "keep" */
	int status;
};

static void end(struct supervisor *supervisor, int status)
{
	supervisor->status = status;
	g_main_loop_quit(supervisor->loop);
}

/* Mounts of the lab do not reach the machine, nor later mounts of the machine the lab. */
static bool set_up_mounts(GError **error)
{
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return lab_error_set_errno(error, "make private the mounts below", "/");
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return lab_error_set_errno(error, "mount a fresh file system on", "/proc");
	return true;
}

static bool replace_file(const struct meter *meter, const char *text, GError **error)
{
	ssize_t length = (ssize_t)strlen(text);
	int fd = open(meter->watts_new_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool done;

	if (fd < 0)
		return lab_error_set_errno(error, "open", meter->watts_new_path);
	done = write(fd, text, (size_t)length) == length;
	close(fd);
	if (!done || rename(meter->watts_new_path, meter->watts_path) < 0)
		return lab_error_set_errno(error, "write", meter->watts_path);
	return true;
}

/*
 * Writes changed watts at once, and unchanged ones every REFRESH_NS: for the BMC an old file is a
 * lost sensor.
 */
static bool write_watts(struct meter *meter, double watts, int64_t now_ns, GError **error)
{
	char text[sizeof meter->written];

	snprintf(text, sizeof text, "%.3f\n", MIN(watts, watts_max));
	if (strcmp(text, meter->written) == 0 && now_ns - meter->written_ns < REFRESH_NS)
		return true;
	if (!replace_file(meter, text, error))
		return false;
	memcpy(meter->written, text, sizeof text);
	meter->written_ns = now_ns;
	return true;
}

/* A step of the power model of blade `index` (from 0). */
static bool update_watts(struct supervisor *supervisor, uint32_t index, GError **error)
{
	struct meter *meter = &supervisor->meters[index];
	uint64_t busy_ns = lab_cgroup_vms_ns(supervisor->cgroup, supervisor->spec->name, index + 1);
	int64_t now_ns = clock_now_ns();
	double watts = lab_power_update(&meter->power, now_ns, busy_ns, supervisor->pace);

	return write_watts(meter, watts, now_ns, error);
}

static gboolean on_tick(gpointer data)
{
	struct supervisor *supervisor = data;

	if (supervisor->steady)
		supervisor->pace = lab_compensation_tick(supervisor->steady, clock_now_ns());
	for (uint32_t i = 0; i < supervisor->spec->blades_count; i++) {
		g_autoptr(GError) error = NULL;

		if (!update_watts(supervisor, i, &error))
			log_warning("the meter of blade \"%s\" stands still: %s",
				    supervisor->spec->blades[i].name, error->message);
	}
	return G_SOURCE_CONTINUE;
}

static bool set_up_meter(struct supervisor *supervisor, uint32_t index, GError **error)
{
	const struct lab_spec *spec = supervisor->spec;
	struct meter *meter = &supervisor->meters[index];
	g_autofree char *sockets = lab_paths_blade_run(spec->name, index + 1, "run");

	if (g_mkdir_with_parents(sockets, 0700) < 0)
		return lab_error_set_errno(error, "make", sockets);
	lab_power_init(&meter->power, spec->blades[index].idle_w, spec->blades[index].core_w);
	meter->watts_path = lab_paths_blade_run(spec->name, index + 1, "watts");
	meter->watts_new_path = lab_paths_blade_run(spec->name, index + 1, "watts.new");
	return update_watts(supervisor, index, error);
}

static void on_bmc_end(GPid pid, int status, gpointer data)
{
	const struct lab_spec_blade *blade = data;

	/* It is not restarted: a BMC that disappears is a fault that the system must survive. */
	log_error("the BMC of blade \"%s\" ended with status 0x%x", blade->name, status);
}

/* ipmi_sim for blade `index`. */
static GPid start_ipmi(const struct supervisor *supervisor, uint32_t index, const char *password,
		       GError **error)
{
	const struct lab_spec_blade *blade = &supervisor->spec->blades[index];
	g_autofree char *dir = lab_paths_blade_data(supervisor->spec->name, blade->number, "bmc");
	struct bmc_spec bmc = {
		.name = blade->name,
		.dir = dir,
		.port = (uint16_t)blade->bmc_port,
		.user = LAB_BMC_USER,
		.password = password,
		.watts_file = supervisor->meters[index].watts_path,
	};

	if (g_mkdir_with_parents(dir, 0700) < 0) {
		lab_error_set_errno(error, "make", dir);
		return -1;
	}
	return bmc_start(&bmc, error);
}

/* This program as the BMC of blade `index`. */
static GPid start_redfish(const struct supervisor *supervisor, uint32_t index, GError **error)
{
	const char *lab = supervisor->spec->name;
	g_autofree char *number = g_strdup_printf("%u", index + 1);
	g_autofree char *log = lab_paths_data(lab, "lab.log");
	const char *const arguments[] = {lab, number, NULL};
	int channel;
	pid_t pid = lab_process_start("redfish", arguments, 0, LAB_PROCESS_PARENTS_LIFE, log,
				      &channel, error);

	if (pid > 0 && !lab_channel_send(channel, "go"))
		log_error("the BMC of blade %s did not start", number);
	/* The channel stays open: its end would mean the supervisor's end. */
	return pid;
}

static bool start_bmc(const struct supervisor *supervisor, uint32_t index, const char *password,
		      GError **error)
{
	struct lab_spec_blade *blade = &supervisor->spec->blades[index];
	GPid pid = blade->bmc == CONFIG_BMC_REDFISH
			   ? start_redfish(supervisor, index, error)
			   : start_ipmi(supervisor, index, password, error);

	if (pid < 0)
		return false;
	g_child_watch_add(pid, on_bmc_end, blade);
	return true;
}

static bool start_blades_surroundings(struct supervisor *supervisor, GError **error)
{
	const struct lab_spec *spec = supervisor->spec;
	g_autofree char *password_path = lab_paths_run(spec->name, LAB_PASSWORD_FILE);
	g_autofree char *password = NULL;

	if (!g_file_get_contents(password_path, &password, NULL, error))
		return false;
	g_strchomp(password);
	for (uint32_t i = 0; i < spec->blades_count; i++)
		if (!lab_cgroup_create(supervisor->cgroup, spec->name, i + 1,
				       spec->blades[i].cpu_cores, error) ||
		    !set_up_meter(supervisor, i, error) ||
		    !start_bmc(supervisor, i, password, error))
			return false;
	return true;
}

static bool start_fabric(struct supervisor *supervisor, GError **error)
{
	const char *const arguments[] = {supervisor->spec->name, NULL};
	g_autofree char *log = lab_paths_data(supervisor->spec->name, "lab.log");

	return lab_process_start("fabric", arguments,
				 CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC,
				 LAB_PROCESS_PARENTS_LIFE, log, &supervisor->fabric, error) > 0 &&
	       lab_channel_send(supervisor->fabric, "go");
}

static gboolean on_fabric(int fd, GIOCondition condition, gpointer data)
{
	struct supervisor *supervisor = data;
	g_autofree char *text = NULL;

	switch (lab_channel_receive(fd, 0, &text)) {
	case LAB_CHANNEL_TIMEOUT:
		return G_SOURCE_CONTINUE;
	case LAB_CHANNEL_END:
		log_error("the fabric ended; so does the lab");
		lab_channel_send(LAB_CHANNEL_PARENT, "error the lab's network process ended");
		end(supervisor, EXIT_FAILURE);
		return G_SOURCE_REMOVE;
	case LAB_CHANNEL_MESSAGE:
		break;
	}
	log_info("%s", text);
	if (!supervisor->kept)
		lab_channel_send(LAB_CHANNEL_PARENT, "%s", text);
	if (g_str_has_prefix(text, "started ") &&
	    ++supervisor->blades_started == supervisor->spec->blades_count)
		lab_channel_send(LAB_CHANNEL_PARENT, "ready");
	return G_SOURCE_CONTINUE;
}

static gboolean on_up(int fd, GIOCondition condition, gpointer data)
{
	struct supervisor *supervisor = data;
	g_autofree char *text = NULL;
	enum lab_channel_result result = lab_channel_receive(fd, 0, &text);

	if (result == LAB_CHANNEL_TIMEOUT)
		return G_SOURCE_CONTINUE;
	if (result == LAB_CHANNEL_MESSAGE && strcmp(text, "keep") == 0) {
		supervisor->kept = true;
		log_info("the lab is up");
		return G_SOURCE_REMOVE;
	}
	log_error("`up` ended before the lab was up; so does the lab");
	end(supervisor, EXIT_FAILURE);
	return G_SOURCE_REMOVE;
}

static gboolean on_term(gpointer data)
{
	log_info("asked to end");
	end(data, EXIT_SUCCESS);
	return G_SOURCE_REMOVE;
}

static bool set_up(struct supervisor *supervisor, const char *lab, GError **error)
{
	if (!set_up_mounts(error))
		return false;
	supervisor->spec = lab_spec_load(lab, error);
	if (!supervisor->spec)
		return false;
	supervisor->cgroup = lab_cgroup_of(lab, error);
	if (!supervisor->cgroup)
		return false;
	supervisor->meters = g_new0(struct meter, supervisor->spec->blades_count);
	if (!start_blades_surroundings(supervisor, error))
		return false;
	if (supervisor->spec->steady) {
		supervisor->steady =
			lab_compensation_start(supervisor->cgroup, supervisor->spec, error);
		if (!supervisor->steady)
			return false;
	}
	return start_fabric(supervisor, error);
}

int lab_supervisor_main(const char *lab)
{
	struct supervisor supervisor = {.pace = 1, .status = EXIT_FAILURE};
	g_autoptr(GError) error = NULL;

	lab_channel_await_go();
	if (!set_up(&supervisor, lab, &error)) {
		log_error("%s", error->message);
		lab_channel_send(LAB_CHANNEL_PARENT, "error %s", error->message);
		return EXIT_FAILURE;
	}
	supervisor.loop = g_main_loop_new(NULL, FALSE);
	g_unix_fd_add(LAB_CHANNEL_PARENT, G_IO_IN | G_IO_HUP, on_up, &supervisor);
	g_unix_fd_add(supervisor.fabric, G_IO_IN | G_IO_HUP, on_fabric, &supervisor);
	g_unix_signal_add(SIGTERM, on_term, &supervisor);
	g_timeout_add(TICK_MS, on_tick, &supervisor);
	g_main_loop_run(supervisor.loop);
	/*
	 * The kernel now kills the other processes of the namespace; memory is freed with this
	 * process.
	 */
	return supervisor.status;
}
