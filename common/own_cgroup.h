/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * The control groups that a process is in, and how much CPU time and memory they leave it. Version 1 has hierarchies for
 * controllers, version 2 has one for all (Linux: Documentation/admin-guide/cgroup-v1, cgroup-v2.rst).
 */

/* A mounted hierarchy. */
struct own_cgroup_mount {
	char *mount;   /* where it is mounted */
	char *root;    /* the group that is seen there, as /proc/PID/cgroup names groups */
	char *options; /* version 1: of its super block, "rw,cpu,cpuacct"; version 2: NULL */
};

/* Takes a line of /proc/PID/mountinfo (proc_pid_mountinfo(5)). False where it is no hierarchy's. */
bool own_cgroup_parse_mount(const char *line, struct own_cgroup_mount *ret_mount);
/* Frees what it points to. */
void own_cgroup_mount_clear(struct own_cgroup_mount *mount);

/*
 * The directory of the group that `cgroups`, the text of /proc/PID/cgroup, names in a hierarchy; `controller` is
 * one that it has in version 1. The hierarchy's top where the group is not below what is mounted. A new string.
 */
char *own_cgroup_dir(const struct own_cgroup_mount *mount, const char *controller, const char *cgroups);

/*
 * The CPU time per second that the quotas of `group` and of those above it, up to `mount`, leave it: the least of
 * them, INFINITY without any.
 */
double own_cgroup_quota(const char *mount, const char *group);

/*
 * The CPUs that this process may really use: as many as its affinity names, or what quotas of its control groups
 * leave of them, whichever is less. Above 0.
 */
double own_cgroup_cores(void);

/* The same from a process's affinity, and the texts of its mountinfo and cgroup files. */
double own_cgroup_cores_of(double affinity, const char *mountinfo, const char *cgroups);

/*
 * The bytes of memory that the limits of this process's control groups leave it: the least, over its group and those
 * above, of the limit less what is used and is not cached files that can be dropped at once. INFINITY without any.
 */
double own_cgroup_memory(void);

/* The same from the texts of its mountinfo and cgroup files. */
double own_cgroup_memory_of(const char *mountinfo, const char *cgroups);

/*
 * The bytes of memory that this process could have if nothing else ran: the machine's, or the least limit of its control
 * groups, whichever is less.
 */
double own_cgroup_machine_memory(void);

/* The same from the machine's bytes, and the texts of the process's mountinfo and cgroup files. */
double own_cgroup_machine_memory_of(double machine, const char *mountinfo, const char *cgroups);
