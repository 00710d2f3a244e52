/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_SUBSYSTEM "blade"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/read_number.h"
#include "common/subprocess.h"
#include "local-sched/lab/lab_blade_files.h"
#include "local-sched/lab/lab_cgroup.h"
#include "local-sched/lab/lab_channel.h"
#include "local-sched/lab/lab_error.h"
#include "local-sched/lab/lab_paths.h"
#include "local-sched/lab/lab_roles.h"

/*
 * The first process of a blade. Builds the view of a machine of its own (host name, /proc, /sys,
 * cgroups, /run, libvirt's directories, a bridge with the link to the lab's network as its port),
 * then runs libvirtd without end and reaps its children.
 */

enum { RESTARTS_MAX = 5 };

/* A directory that the blade has in a version of its own. */
struct blade_dir {
	const char *name; /* in DATA/bN */
	const char *path; /* in the blade */
};

static const struct blade_dir blade_dirs[] = {
	{"etc", "/etc/libvirt"},
	{"lib", "/var/lib/libvirt"},
	{"log", "/var/log/libvirt"},
	{"cache", "/var/cache/libvirt"},
};

static bool make_dir(const char *path, mode_t mode, GError **error)
{
	return g_mkdir_with_parents(path, (int)mode) == 0 ||
	       lab_error_set_errno(error, "make", path);
}

static bool mount_fresh(const char *type, const char *path, const char *options, GError **error)
{
	if (mount(type, path, type, MS_NOSUID | MS_NODEV | MS_NOEXEC, options) == 0)
		return true;
	return lab_error_set_errno(error, "mount a fresh file system on", path);
}

static bool mount_bind(const char *from, const char *path, GError **error)
{
	return mount(from, path, NULL, MS_BIND, NULL) == 0 ||
	       lab_error_set_errno(error, "mount the blade's own version of", path);
}

/*
 * /sys shows the namespace's network devices, and the blade's control groups below. The inherited
 * tree is removed first: libvirt reads mounts that are only covered and complains about their
 * files.
 */
static bool mount_sys(const struct lab_cgroup *cgroup, GError **error)
{
	umount2("/sys/fs/cgroup", MNT_DETACH);
	umount2("/sys", MNT_DETACH);
	if (!mount_fresh("sysfs", "/sys", NULL, error))
		return false;
	if (cgroup->version == 1 && !mount_fresh("tmpfs", "/sys/fs/cgroup", "mode=755", error))
		return false;
	return lab_cgroup_mount(cgroup, error);
}

/*
 * An empty /run hides the machine's D-Bus and udev. The blade's sockets appear in RUN/bN/run, which
 * the empty /run hides as well, so a descriptor keeps it open meanwhile.
 */
static bool mount_run(const char *sockets, GError **error)
{
	int fd = open(sockets, O_PATH | O_DIRECTORY | O_CLOEXEC);
	g_autofree char *held = g_strdup_printf("/proc/self/fd/%d", fd);
	bool done;

	if (fd < 0)
		return lab_error_set_errno(error, "open", sockets);
	done = mount_fresh("tmpfs", "/run", "mode=755", error) &&
	       make_dir("/run/lock", 0755, error) && /* libvirt locks guests' ports there */
	       make_dir("/run/libvirt", 0755, error) && mount_bind(held, "/run/libvirt", error);
	close(fd);
	return done;
}

static bool mount_dirs(const char *lab, uint32_t number, GError **error)
{
	for (gsize i = 0; i < G_N_ELEMENTS(blade_dirs); i++) {
		g_autofree char *own = lab_paths_blade_data(lab, number, blade_dirs[i].name);

		if (!make_dir(own, 0711, error) || !mount_bind(own, blade_dirs[i].path, error))
			return false;
	}
	return make_dir("/var/lib/libvirt/images", 0711, error) &&
	       make_dir("/var/log/libvirt/qemu", 0711, error);
}

static bool write_files(const struct lab_spec *spec, const struct lab_spec_blade *blade,
			GError **error)
{
	g_autofree char *hosts_path = lab_paths_blade_data(spec->name, blade->number, "hosts");
	g_autofree char *hosts = lab_blade_files_hosts(spec);
	g_autofree char *libvirtd = lab_blade_files_libvirtd_conf(blade);
	g_autofree char *qemu = lab_blade_files_qemu_conf();

	return g_file_set_contents(hosts_path, hosts, -1, error) &&
	       mount_bind(hosts_path, "/etc/hosts", error) &&
	       g_file_set_contents("/etc/libvirt/libvirtd.conf", libvirtd, -1, error) &&
	       g_file_set_contents("/etc/libvirt/qemu.conf", qemu, -1, error);
}

/*
 * The link to the lab's network exists already, as eth0: the role fabric creates it before it sends
 * "go". The bridge gets an Ethernet address of its own. Otherwise it takes the lowest address of
 * its ports, which in about one of a hundred labs changed with a VM's arrival under the open
 * connections, and migrations hung.
 */
static bool set_up_network(const struct lab_spec_blade *blade, GError **error)
{
	g_autofree char *address = lab_blade_files_address(blade);
	g_autofree char *subnet = g_strconcat(address, "/16", NULL);
	g_autofree char *mac = g_strdup_printf(LAB_ROLES_MAC_PREFIX "%02x", blade->number);
	const char *bridge = LAB_ROLES_BLADE_BRIDGE;
	const char *const commands[][LAB_NETWORK_IP_WORDS] = {
		{"ip", "link", "set", "lo", "up"},
		{"ip", "link", "add", bridge, "address", mac, "type", "bridge"},
		{"ip", "link", "set", "eth0", "master", bridge, "up"},
		{"ip", "address", "add", subnet, "dev", bridge},
		{"ip", "link", "set", bridge, "up"},
	};

	return lab_network_run_ip(commands, G_N_ELEMENTS(commands), error);
}

static bool set_up(const struct lab_spec *spec, const struct lab_spec_blade *blade, GError **error)
{
	g_autofree char *sockets = lab_paths_blade_run(spec->name, blade->number, "run");
	g_autoptr(lab_cgroup_t) cgroup = lab_cgroup_detect(error);

	if (!cgroup)
		return false;
	/*
	 * Only now: the role fabric has moved this process into the blade's groups, which become
	 * the root here.
	 */
	if (unshare(CLONE_NEWCGROUP) < 0)
		return lab_error_set_errno(error, "unshare the cgroup namespace of", blade->name);
	if (sethostname(blade->name, strlen(blade->name)) < 0)
		return lab_error_set_errno(error, "set the host name", blade->name);
	return mount_fresh("proc", "/proc", NULL, error) &&
	       mount_dirs(spec->name, blade->number, error) && write_files(spec, blade, error) &&
	       mount_run(sockets, error) && mount_sys(cgroup, error) &&
	       set_up_network(blade, error);
}

static GPid start_libvirtd(GError **error)
{
	static const char *const argv[] = {"libvirtd",   "--listen",
					   "--config",   "/etc/libvirt/libvirtd.conf",
					   "--pid-file", "/run/libvirtd.pid",
					   NULL};

	return subprocess_spawn(argv, NULL, "/var/log/libvirt/libvirtd.out", error);
}

/*
 * Reaps all processes that end in the blade. Restarts a libvirtd that ends, as systemd does on a
 * real blade (VMs survive that); a libvirtd that repeatedly ends within a second is given up.
 */
static int run_libvirtd(GPid libvirtd)
{
	int64_t started_ns = clock_now_ns();
	int short_lives = 0;

	for (;;) {
		g_autoptr(GError) error = NULL;
		int status;
		pid_t pid = waitpid(-1, &status, 0);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid >= 0 && pid != libvirtd)
			continue;
		if (clock_elapsed_s(started_ns, clock_now_ns()) > 1)
			short_lives = 0;
		if (pid < 0 || ++short_lives > RESTARTS_MAX)
			return EXIT_FAILURE;
		log_warning("libvirtd ended with status 0x%x; starting it again", status);
		started_ns = clock_now_ns();
		libvirtd = start_libvirtd(&error);
		if (libvirtd < 0) {
			log_error("%s", error->message);
			return EXIT_FAILURE;
		}
	}
}

int lab_blade_main(const char *lab, const char *number)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(lab_spec_t) spec = NULL;
	uint64_t which = 0;
	GPid libvirtd = -1;

	lab_channel_await_go();
	spec = lab_spec_load(lab, &error);
	if (spec && read_number_unsigned(number, 1, spec->blades_count, &which) &&
	    set_up(spec, &spec->blades[which - 1], &error))
		libvirtd = start_libvirtd(&error);
	if (libvirtd < 0) {
		lab_channel_send(LAB_CHANNEL_PARENT, "error blade \"%s\": %s", number,
				 error ? error->message : "no such blade");
		return EXIT_FAILURE;
	}
	lab_channel_send(LAB_CHANNEL_PARENT, "started %s", spec->blades[which - 1].name);
	return run_libvirtd(libvirtd);
}
