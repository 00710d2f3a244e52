/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_record.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/json.h"
#include "local-sched/lab/bmc/bmc.h"
#include "local-sched/lab/lab.h"
#include "local-sched/lab/lab_blade_files.h"
#include "local-sched/lab/lab_paths.h"
#include "local-sched/lab/lab_process.h"
#include "local-sched/lab/lab_roles.h"

enum { KILL_TIMEOUT_S = 30 };

static json_t *bmc_json(const struct lab_spec *spec, const struct lab_spec_blade *blade)
{
	g_autofree char *password = lab_paths_run(spec->name, LAB_PASSWORD_FILE);
	json_t *bmc = json_pack("{s:s, s:i, s:s, s:s}", "address", "127.0.0.1", "port",
				blade->bmc_port, "user", LAB_BMC_USER, "password_file", password);

	if (blade->bmc == CONFIG_BMC_REDFISH) {
		g_autofree char *ca_file = lab_paths_run(spec->name, LAB_CERTIFICATE_FILE);

		json_object_set_new(bmc, "kind", json_string("redfish"));
		json_object_set_new(bmc, "ca_file", json_string(ca_file));
	} else {
		json_object_set_new(bmc, "kind", json_string("ipmi"));
		json_object_set_new(bmc, "cipher_suite", json_integer(BMC_CIPHER_SUITE));
		json_object_set_new(bmc, "privilege", json_string(BMC_PRIVILEGE));
		json_object_set_new(bmc, "sensor", json_string(BMC_SENSOR));
	}
	return bmc;
}

static json_t *blade_json(const struct lab_spec *spec, const struct lab_spec_blade *blade)
{
	g_autofree char *uri = lab_paths_uri(spec->name, blade->number);
	g_autofree char *peer_uri = lab_blade_files_peer_uri(blade);

	return json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", blade->name, "uri", uri, "peer_uri",
			 peer_uri, "bridge", LAB_ROLES_BLADE_BRIDGE, "bmc", bmc_json(spec, blade));
}

bool lab_record_save(const struct lab_spec *spec, const struct lab_state *state, GError **error)
{
	g_autofree char *path = lab_state_file(spec->name);
	g_autofree char *boot_id = clock_boot_id();
	g_autoptr(json_t) blades = json_array();
	g_autoptr(json_t) document = NULL;
	g_autofree char *text = NULL;

	for (uint32_t i = 0; i < spec->blades_count; i++)
		json_array_append_new(blades, blade_json(spec, &spec->blades[i]));
	document = json_pack("{s:s, s:s, s:s, s:n, s:n, s:O}", "name", spec->name, "state",
			     lab_state_phase_names[state->phase], "boot_id", boot_id, "pid",
			     "start_ticks", "blades", blades);
	if (state->supervisor.pid > 0) {
		json_object_set_new(document, "pid", json_integer(state->supervisor.pid));
		json_object_set_new(document, "start_ticks",
				    json_integer((json_int_t)state->supervisor.start_ticks));
	}
	text = json_pretty(document);
	return g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600,
					error);
}

struct lab_state_process lab_record_supervisor(const char *lab)
{
	struct lab_state_process process = lab_state_load(lab).supervisor;
	pid_t pid;

	if (lab_state_process_alive(process))
		return process;
	pid = lab_process_in_role(0, "supervisor", lab, 0);
	return (struct lab_state_process){pid, lab_state_start_ticks(pid)};
}

static bool kill_one(const char *lab, struct lab_state_process supervisor, GError **error)
{
	if (lab_process_kill(supervisor, KILL_TIMEOUT_S))
		return true;
	return lab_error_set(
		error, LAB_ERROR_LEFT,
		"process %d, the supervisor of the lab \"%s\", is still there %d s after it "
		"was killed",
		(int)supervisor.pid, lab, KILL_TIMEOUT_S);
}

bool lab_record_kill(const char *lab, GError **error)
{
	/* The recorded supervisor too, even if it does not seem alive: it may not be gone yet. */
	return kill_one(lab, lab_state_load(lab).supervisor, error) &&
	       kill_one(lab, lab_record_supervisor(lab), error);
}

/* On failure errno says why. */
static bool make_dirs(const char *lab, GError **error)
{
	g_autofree char *run = lab_paths_run(lab, NULL);
	g_autofree char *data = lab_paths_data(lab, NULL);

	return (g_mkdir_with_parents(run, 0700) == 0 ||
		lab_error_set_errno(error, "make the directory", run)) &&
	       (g_mkdir_with_parents(data, 0700) == 0 ||
		lab_error_set_errno(error, "make the directory", data));
}

/* Whether `fd` is still the directory at `path`: a `down` may have removed it during the wait. */
static bool is_at(int fd, const char *path)
{
	struct stat held;
	struct stat there;

	return fstat(fd, &held) == 0 && stat(path, &there) == 0 && held.st_ino == there.st_ino &&
	       held.st_dev == there.st_dev;
}

int lab_record_lock(const char *lab, double timeout_s, GError **error)
{
	g_autofree char *run = lab_paths_run(lab, NULL);
	int64_t until_ns = clock_now_ns() + (int64_t)(timeout_s * 1e9);

	for (;;) {
		g_autoptr(GError) cause = NULL;
		int fd = -1;

		if (make_dirs(lab, &cause)) {
			fd = open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			/* ENOENT: another lab's `down` has removed a parent */
		} else if (errno != ENOENT) {
			g_propagate_error(error, g_steal_pointer(&cause));
			return -1;
		}
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && is_at(fd, run))
			return fd;
		if (fd >= 0)
			close(fd);
		if (clock_now_ns() > until_ns) {
			g_set_error(error, LAB_ERROR, LAB_ERROR_BUSY,
				    "another command works on the lab \"%s\"; try again when it "
				    "is done",
				    lab);
			return -1;
		}
		g_usleep(20000);
	}
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
	return remove(path) == 0 || errno == ENOENT ? 0 : -1;
}

/* Stays on its file system: if anything is mounted below, it fails and says so. */
static bool remove_dir(const char *path, GError **error)
{
	if (nftw(path, remove_entry, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) == 0 || errno == ENOENT)
		return true;
	return lab_error_set(error, LAB_ERROR_LEFT, "cannot remove \"%s\": %s", path,
			     g_strerror(errno));
}

/* The directories that labs share are removed with the last lab. */
static void remove_parents(const char *path, int levels)
{
	g_autofree char *parent = g_path_get_dirname(path);

	if (levels > 0 && rmdir(parent) == 0)
		remove_parents(parent, levels - 1);
}

bool lab_record_remove(const char *lab, GError **error)
{
	g_autofree char *run = lab_paths_run(lab, NULL);
	g_autofree char *data = lab_paths_data(lab, NULL);

	/* RUN last: without the record the rest would not be found. */
	if (!remove_dir(data, error) || !remove_dir(run, error))
		return false;
	remove_parents(run, 2);
	remove_parents(data, 2);
	return true;
}
