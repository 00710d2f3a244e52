/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "common/config/config.h"

/*
 * The cap on a VM's CPU that stands for a P-state (Machovec 2018, Table 4: each cluster has a
 * highest frequency). There are two means of holding "max_mhz of base_mhz". Where the host is this
 * machine and has cpufreq, the host's own cap does it (host_caps.h), and its VMs need none.
 * Elsewhere each VM has a CPU quota (hypervisor/cpu_quota.h), which works everywhere.
 *
 * A quota caps throughput, not a frequency. One quota holds for the whole VM, its emulator threads
 * included, over a period of about 100 ms. A quota per VM, rather than per core, throttles its
 * ranks together. Shorter periods were measured and brought no gain. Each VM has a period of its
 * own: with equal periods, the moments at which two VMs run would stay in phase for the whole life
 * of a task, and on CPUs that share a core that phase alone would decide the task's speed.
 */

/* What holds a cap. */
enum cpu_cap_kind {
	CPU_CAP_NONE = 0, /* no cap is configured */
	CPU_CAP_CPUFREQ,  /* the host's highest frequency, which holds for all its VMs */
	CPU_CAP_QUOTA,    /* a CPU quota per VM */
};

/* The cap of a cluster's nodes, or of a VM. */
struct cpu_cap {
	enum cpu_cap_kind kind;
	double fraction;    /* of the base frequency; 1: no cap */
	uint32_t cores;     /* of a VM */
	uint64_t period_us; /* of the quota */
	int64_t quota_us;   /* per period, all cores of a VM together; CPU_CAP_NO_QUOTA: none */
};

enum { CPU_CAP_PERIOD_US = 100000, CPU_CAP_QUOTA_MIN_US = 1000, CPU_CAP_NO_QUOTA = -1 };

/* How many VMs in a row have different periods. */
enum { CPU_CAP_PERIODS = 12 };

/* The cap that `cluster` configures: none without max_mhz, else a quota of cores x max/base. */
void cpu_cap_init(struct cpu_cap *cap, const struct config_cluster *cluster);

/* The kind as the API's capabilities name it: "none", "cpufreq" or "quota". */
const char *cpu_cap_name(const struct cpu_cap *cap);

/* What the cap does and does not do, a text for people. */
const char *cpu_cap_note(const struct cpu_cap *cap);

/*
 * The cap of VM number `vm`, counted over all clusters: the same part of the CPUs as `cap`, over a
 * period that differs from the periods of the next CPU_CAP_PERIODS - 1 VMs.
 */
struct cpu_cap cpu_cap_for_vm(const struct cpu_cap *cap, uint32_t vm);

/*
 * A cap that leaves a VM the part `share`, in (0, 1], of the CPU that `cap` leaves it. It is a CPU
 * quota whatever the kind of `cap`; at a share of 1 it is the quota of `cap`, or none if `cap` has
 * none.
 */
struct cpu_cap cpu_cap_share(const struct cpu_cap *cap, double share);

/* Turns a quota into a cap that the hosts' cpufreq holds. CPU_CAP_NONE stays as it is. */
void cpu_cap_use_cpufreq(struct cpu_cap *cap);
