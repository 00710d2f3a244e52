/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Tells a guest that still boots from one that hangs: a boot uses all the CPU it gets, but not for
 * long, while a guest that has stopped (seen once in some 500 boots under TCG: idle, without an agent) uses next
 * to none, and one that goes in circles all there is, either until the boot's deadline. Pure.
 */
struct boot_watch {
	double cpu_max_s;
	double idle_share; /* less of a core than this is idle */
	int64_t t_ns;    /* of the last look; 0: none */
	uint64_t cpu_ns; /* what the VM had used by then */
	uint32_t idle;   /* looks in a row that found it idle */
};

/* How far apart the looks should be. */
#define BOOT_WATCH_INTERVAL_S 5

/*
 * Idle is less than this share of a core: an idle guest of ours takes below 0.01 under TCG, and one
 * that boots within a blade's budget, beside others, ten times as much as the limit. Where boots have as many times
 * longer, blades have as much less, and so is the limit.
 */
#define BOOT_WATCH_IDLE_SHARE 0.02

/* So many idle looks in a row are a hang: a host that was busy for a moment is none. */
#define BOOT_WATCH_IDLE_LOOKS 3

/* CPU time that a boot never takes: ours take 4 to 6 s under TCG, on a busy vm twice that, and less on KVM. */
#define BOOT_WATCH_CPU_MAX_S 40

/*
 * The boot's deadline that this goes with. Who gives a longer one says that boots are slow on that vm, as they
 * are where it is itself emulated, and what makes them slow is CPU time: what there is beyond may all be such. It does
 * not shrink: a short deadline makes no boot cheaper, and ends it by itself.
 */
#define BOOT_WATCH_DEADLINE_S 180

/* Starts over: a new VM, which has to be ready within `deadline_s`. */
void boot_watch_init(struct boot_watch *watch, double deadline_s);

/*
 * A look: at `t_ns` of any monotonic clock the VM has used `cpu_ns` of CPU time since it was
 * started; 0: that could not be found out, which decides nothing. Returns why it is taken to hang, or NULL.
 */
const char *boot_watch_look(struct boot_watch *watch, int64_t t_ns, uint64_t cpu_ns);
