/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The lab's control groups. PARENT/virtbed-LAB/bN holds blade N, limits its CPU time, and is the
 * root of the blade's cgroup namespace. libvirt creates machine/ in it, below which all VMs are;
 * the power model reads the CPU time of machine/. PARENT is the group of the process that brings
 * the lab up, so that the limits of that process also limit the VMs (lab_cgroup_parent.h has the
 * rule for version 2).
 *
 * The lab's top group has a large weight against other processes of PARENT: its quotas limit what
 * it uses, and without a weight each of six busy processes would get as much as the whole lab.
 *
 * Version 1 has the controllers cpu, cpuacct and cpuset in hierarchies of their own (or some of
 * them together). Version 2 has one hierarchy, where a group has either processes or groups with
 * controllers, so that a blade's own processes are in bN/host (Linux:
 * Documentation/admin-guide/cgroup-v2.rst, "No Internal Process Constraint"). Other controllers are
 * left alone: for memory and pids, the lab's processes stay in the group of the process that
 * started them.
 */

enum { LAB_CGROUP_HIERARCHIES_MAX = 3, LAB_CGROUP_PERIOD_US = 100000 };

/* A mounted hierarchy. */
struct lab_cgroup_hierarchy {
	char *mount;   /* where it is mounted */
	char *options; /* version 1: its controllers as mount options, "cpu,cpuacct"; 2: NULL */
	/* the group below which the groups of labs are: `mount` or a directory below it */
	char *parent;
};

/* The places of this machine's CPU controllers. */
struct lab_cgroup {
	int version; /* 1 or 2 */
	struct lab_cgroup_hierarchy hierarchies[LAB_CGROUP_HIERARCHIES_MAX];
	uint32_t hierarchies_count;
	/* Indices into hierarchies: all 0 for version 2. */
	uint32_t cpu;
	uint32_t cpuacct;
	uint32_t cpuset;
};
typedef struct lab_cgroup lab_cgroup_t;

/*
 * Finds the controllers of this machine, with the caller's groups as parents, by
 * /proc/self/{mountinfo,cgroup}.
 */
struct lab_cgroup *lab_cgroup_detect(GError **error);

/*
 * Like lab_cgroup_detect(), from the texts of a mountinfo and a cgroup file. Version 1 is used
 * where `cpu` is mounted as version 1.
 */
struct lab_cgroup *lab_cgroup_parse(const char *mountinfo, const char *cgroups, GError **error);

/*
 * Finds the controllers, with the parents that lab_cgroup_record() has recorded for the lab, or
 * else with the caller's.
 */
struct lab_cgroup *lab_cgroup_of(const char *lab, GError **error);

/*
 * Records in RUN/groups the parents of the lab's groups, because `down` and `status` may be called
 * from other groups.
 */
bool lab_cgroup_record(const struct lab_cgroup *cgroup, const char *lab, GError **error);

/* Frees the result of a search; groups stay. NULL is allowed. */
void lab_cgroup_free(struct lab_cgroup *cgroup);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(lab_cgroup_t, lab_cgroup_free)

/*
 * Creates blade N's groups and sets its budget to `cpu_cores` of CPU time per second (CFS quota
 * over LAB_CGROUP_PERIOD_US), or to the limit of groups above if that is lower. Version 1 refuses a
 * VM's quota above the blade's.
 */
bool lab_cgroup_create(const struct lab_cgroup *cgroup, const char *lab, uint32_t number,
		       double cpu_cores, GError **error);

/*
 * Moves a process into blade N's groups. The process's cgroup namespace, unshared later, starts
 * there.
 */
bool lab_cgroup_join(const struct lab_cgroup *cgroup, const char *lab, uint32_t number, pid_t pid,
		     GError **error);

/*
 * The weight of the lab's top group, in versions 1 and 2: 32 times that of a process or group with
 * the default weight. Beside N busy ones of those, a group of weight W has W / (W + N) of the CPUs
 * (in units of the default), which for N = 8 are the 80 % that a lab's quotas sum up to at most. A
 * larger weight harms the local schedulers and the controller, which are outside the group: beside
 * VMs that boot, and have no quotas yet, 1 ms of work waits for 13 ms (median of 300) with this
 * weight, for 3 ms with a weight of 1, and for 90 ms with the largest weight, 256.
 */
#define LAB_CGROUP_SHARES 32768
#define LAB_CGROUP_WEIGHT 3200

/* CPU time in nanoseconds that blade N's VMs have used; 0 while it has had none. */
uint64_t lab_cgroup_vms_ns(const struct lab_cgroup *cgroup, const char *lab, uint32_t number);

/* CPU time in nanoseconds that all of blade N has used. */
uint64_t lab_cgroup_own_ns(const struct lab_cgroup *cgroup, const char *lab, uint32_t number);

/*
 * The groups of blade N's VMs, as paths at which their CPU quotas are set; empty while it has none.
 */
char **lab_cgroup_vms(const struct lab_cgroup *cgroup, const char *lab, uint32_t number);

/* A group's CFS quota, in microseconds of CPU time per period. */
struct lab_cgroup_quota {
	int64_t quota_us; /* -1: none */
	int64_t period_us;
};

/* Reads the quota of a group of lab_cgroup_vms(); false if the group is gone. */
bool lab_cgroup_get_quota(const struct lab_cgroup *cgroup, const char *group,
			  struct lab_cgroup_quota *ret_quota);

/*
 * Sets the quota, which must not be -1, and leaves the period. The group may use all of it at once,
 * whatever it has used before.
 */
bool lab_cgroup_set_quota(const struct lab_cgroup *cgroup, const char *group,
			  const struct lab_cgroup_quota *quota, GError **error);

/*
 * Removes the lab's groups and all groups below. A group of a process that has just ended stays
 * busy for a moment: retries until `timeout_s` has passed. Groups that do not exist are success.
 */
bool lab_cgroup_remove(const struct lab_cgroup *cgroup, const char *lab, double timeout_s,
		       GError **error);

/*
 * Whether groups with a budget can be created here: creates virtbed-.probe-PID (no lab has such a
 * name) and removes it, as well as those of probes that were killed.
 */
bool lab_cgroup_probe(const struct lab_cgroup *cgroup, GError **error);

/* Whether the lab has any group. */
bool lab_cgroup_exists(const struct lab_cgroup *cgroup, const char *lab);

/*
 * In a blade, in its own cgroup and mount namespaces, with an empty writable directory at
 * /sys/fs/cgroup: mounts the blade's groups there as a machine has them. For version 2, also moves
 * the caller to host/ and enables the controllers for libvirt's groups.
 */
bool lab_cgroup_mount(const struct lab_cgroup *cgroup, GError **error);
