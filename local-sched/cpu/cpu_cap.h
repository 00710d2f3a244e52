/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <libvirt/libvirt.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"

/*
 * What stands for a P-state cap (Machovec 2018, Table 4: each cluster has a highest frequency). A
 * driver turns "max_mhz of base_mhz" into what its host can enforce: where the host is this machine
 * and has cpufreq that is the host's own cap (host_cap.h), and nothing is left to do per VM;
 * elsewhere a VM's CPU quota, which works everywhere.
 *
 * The quota is a cap on throughput, not a frequency: one for the whole VM, its emulator threads
 * included, over a period of about 100 ms. One quota per VM rather than per core throttles its
 * ranks together, and shorter periods were measured to help nobody (platform-physics.md). Each VM
 * has a period of its own: with equal ones the moments at which two VMs run would stay in phase for
 * the whole life of a task, and where CPUs share a core that alone decides its speed.
 */
struct cpu_cap;

/* The table of one driver; all operations are required but for apply of "none". */
struct cpu_cap_ops {
	const char *name; /* as in the capabilities: "none", "quota", "cpufreq" */
	const char *note; /* what the cap is and is not, for people */
	/*
	 * Caps a running domain and reads the cap back; on a worker thread. Doing it again does no
	 * harm. Returns true, or false with `error` (VIRT_ERROR).
	 */
	bool (*apply)(const struct cpu_cap *cap, virDomainPtr domain, GError **error);
};

/* A cap of one cluster's nodes. */
struct cpu_cap {
	const struct cpu_cap_ops *ops;
	double fraction;    /* of the base frequency; 1: no cap */
	uint32_t cores;     /* of a VM */
	uint64_t period_us; /* quota driver */
	int64_t quota_us;   /* per period, all cores of a VM together; CPU_CAP_NO_QUOTA: none */
};

enum { CPU_CAP_PERIOD_US = 100000, CPU_CAP_QUOTA_MIN_US = 1000, CPU_CAP_NO_QUOTA = -1 };

/* Periods before they repeat from one VM to the next. */
enum { CPU_CAP_PERIODS = 12 };

/* The cap that `cluster` asks for: none without max_mhz, else a quota of cores x max/base. */
void cpu_cap_init(struct cpu_cap *cap, const struct config_cluster *cluster);

/*
 * The same cap for VM number `vm`, counted over all clusters: the same share of the CPUs over a
 * period that the next CPU_CAP_PERIODS - 1 VMs do not have.
 */
struct cpu_cap cpu_cap_for_vm(const struct cpu_cap *cap, uint32_t vm);

/*
 * A cap that leaves a VM `share`, in (0, 1], of what `cap` does, by a CPU quota whatever caps it;
 * at a share of 1 the quota is that of `cap`, or is lifted where it has none.
 */
struct cpu_cap cpu_cap_share(const struct cpu_cap *cap, double share);

/* Makes a cap of VMs into one that their hosts' cpufreq enforces. One of "none" stays so. */
void cpu_cap_use_cpufreq(struct cpu_cap *cap);

/* Applies `cap` with its driver. */
bool cpu_cap_apply(const struct cpu_cap *cap, virDomainPtr domain, GError **error);
