/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * The control groups that a process is in, and how much CPU time and memory they leave it. Version
 * 1 has hierarchies for controllers, version 2 has one for all (Linux:
 * Documentation/admin-guide/cgroup-v1, cgroup-v2.rst).
 */

/* A mounted hierarchy. */
struct own_cgroup_mount {
	char *mount; /* where it is mounted */
	char *root;  /* the group that is mounted there, as named in /proc/PID/cgroup */
	/* version 1: options of its super block, "rw,cpu,cpuacct"; version 2: NULL */
	char *options;
};

/*
 * Parses a line of /proc/PID/mountinfo (proc_pid_mountinfo(5)). False if it is no cgroup hierarchy.
 */
bool own_cgroup_parse_mount(const char *line, struct own_cgroup_mount *ret_mount);
/* Frees the members. */
void own_cgroup_mount_clear(struct own_cgroup_mount *mount);

/*
 * The directory of a process's group in a hierarchy. `cgroups` is the text of /proc/PID/cgroup;
 * `controller` is a controller that the hierarchy has in version 1. The hierarchy's top if the
 * group is not below the mounted one. A new string.
 */
char *own_cgroup_dir(const struct own_cgroup_mount *mount, const char *controller,
		     const char *cgroups);

/*
 * The CPU time per second that the quotas of `group` and its ancestors, up to `mount`, allow: the
 * least of them; INFINITY: no quota.
 */
double own_cgroup_quota(const char *mount, const char *group);

/*
 * The number of CPUs that this process can use: the size of its affinity mask or the quota of its
 * control groups, whichever is less. Above 0.
 */
double own_cgroup_cores(void);

/*
 * As own_cgroup_cores(), from a process's affinity and the texts of its mountinfo and cgroup files.
 */
double own_cgroup_cores_of(double affinity, const char *mountinfo, const char *cgroups);

/*
 * The bytes of memory that this process's control groups leave it: the least, over its group and
 * the ancestors, of the limit minus used memory that is no cache that can be dropped at once.
 * INFINITY: no limit.
 */
double own_cgroup_memory(void);

/* As own_cgroup_memory(), from the texts of its mountinfo and cgroup files. */
double own_cgroup_memory_of(const char *mountinfo, const char *cgroups);

/*
 * The bytes of memory that this process could have if no other ran: the machine's memory or the
 * least limit of its control groups, whichever is less.
 */
double own_cgroup_machine_memory(void);

/*
 * As own_cgroup_machine_memory(), from the machine's bytes and the texts of the process's mountinfo
 * and cgroup files.
 */
double own_cgroup_machine_memory_of(double machine, const char *mountinfo, const char *cgroups);
