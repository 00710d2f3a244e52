/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "local-sched/lab/lab.h"
#include "local-sched/lab/lab_cgroup.h"

/* Ends each line about what is missing. */
#define WITHOUT "; what works without: virtbed simulate CONFIG"

/* Programs that a lab runs, and the Debian packages that have them. */
static const char *const programs[][2] = {
	{"libvirtd", "libvirt-daemon-system"},
	{"qemu-system-x86_64", "qemu-system-x86"},
	{"ip", "iproute2"},
	{"ipmi_sim", "openipmi"},
	{"sdrcomp", "openipmi"},
	{"ipmitool", "ipmitool"},
};

static char *probe_programs(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(programs); i++) {
		g_autofree char *path = g_find_program_in_path(programs[i][0]);

		if (!path)
			return g_strdup_printf("no program \"%s\": install the package %s",
					       programs[i][0], programs[i][1]);
	}
	return NULL;
}

static char *probe_tun(void)
{
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return g_strdup_printf("cannot open \"/dev/net/tun\" (%s): load the module tun, or "
				       "let this container have the device",
				       g_strerror(errno));
	close(fd);
	return NULL;
}

static char *probe_cgroups(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(lab_cgroup_t) cgroup = lab_cgroup_detect(&error);

	if (cgroup && lab_cgroup_probe(cgroup, &error))
		return NULL;
	return g_strdup_printf("control groups: %s", error->message);
}

/* In a child, since it cannot be undone: creates all namespaces, and a mount in them. */
static char *probe_namespaces(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
			    CLONE_NEWUTS | CLONE_NEWCGROUP) < 0 ||
		    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount("tmpfs", "/run", "tmpfs", 0, NULL) < 0)
			_exit(errno);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return g_strdup_printf("cannot start a process: %s", g_strerror(errno));
	if (status == 0)
		return NULL;
	return g_strdup_printf("no namespaces with mounts of their own here (%s): needs root "
			       "outside of an unprivileged container",
			       g_strerror(WIFEXITED(status) ? WEXITSTATUS(status) : EPERM));
}

char *lab_check(void)
{
	static char *(*const probes[])(void) = {probe_programs, probe_namespaces, probe_tun,
						probe_cgroups};

	if (geteuid() != 0)
		return g_strdup("a lab of emulated blades needs root: run this with sudo" WITHOUT);
	for (gsize i = 0; i < G_N_ELEMENTS(probes); i++) {
		g_autofree char *missing = probes[i]();

		if (missing)
			return g_strdup_printf(
				"no lab of emulated blades on this machine: %s" WITHOUT, missing);
	}
	return NULL;
}
