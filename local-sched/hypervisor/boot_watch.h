/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Tells a guest that still boots from a guest that hangs. A boot uses all the CPU that it gets, but
 * not for long. A guest that hangs lasts until the boot's deadline in either of two ways: it stands
 * idle without an agent and uses next to no CPU (seen once in some 500 boots under TCG), or it
 * loops and uses all the CPU there is. Pure.
 */
struct boot_watch {
	double cpu_max_s;
	double idle_share; /* a VM that uses less of a core than this is idle */
	int64_t t_ns;      /* when the VM was checked last; 0: never */
	uint64_t cpu_ns;   /* CPU time that the VM had used at that check */
	uint32_t idle;     /* checks in a row that found the VM idle */
};

/* The time between two checks. */
#define BOOT_WATCH_INTERVAL_S 5

/*
 * A VM that uses less than this part of a core is idle. An idle guest of ours uses less than 0.01
 * under TCG. A guest that boots within a blade's budget, beside others, uses ten times the limit.
 * Where boots take longer by some factor, blades have less CPU by that factor, and the limit is
 * divided by it.
 */
#define BOOT_WATCH_IDLE_SHARE 0.02

/* As many idle checks in a row mean a hang. A host that is busy for a moment causes fewer. */
#define BOOT_WATCH_IDLE_LOOKS 3

/*
 * CPU time that no boot uses. Our guests use 4 to 6 s under TCG, twice that on a busy machine, and
 * less on KVM.
 */
#define BOOT_WATCH_CPU_MAX_S 40

/*
 * The boot's deadline for which BOOT_WATCH_CPU_MAX_S holds. A longer deadline is configured where
 * boots are slow, as on a machine that is itself emulated. CPU time is what makes them slow there,
 * so all of the additional time counts as CPU time that a boot may use. The limit does not shrink
 * with a shorter deadline, which makes no boot cheaper and ends a boot by itself.
 */
#define BOOT_WATCH_DEADLINE_S 180

/* Starts over with a new VM, which has to be ready within `deadline_s`. */
void boot_watch_init(struct boot_watch *watch, double deadline_s);

/*
 * Checks the VM: at `t_ns` of any monotonic clock it has used `cpu_ns` of CPU time since its start.
 * 0 means that the CPU time is not known; the check then decides nothing. Returns the reason why
 * the guest counts as hung, or NULL.
 */
const char *boot_watch_look(struct boot_watch *watch, int64_t t_ns, uint64_t cpu_ns);
