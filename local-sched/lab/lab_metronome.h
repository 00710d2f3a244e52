/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/lab/lab_cgroup.h"

/*
 * What tells how fast this machine emulates: an emulated guest of its own (metronome/guest.c) that does the
 * same piece of work for ever, in a steady lab on CONFIG_LAB_STEADY_CORES of a CPU. The CPU time that a round takes it is
 * what any of the lab's VMs needs more or less at that moment. It lives in group 0 of the lab's
 * blades and has neither disk nor network.
 */
struct lab_metronome;

/* Its counters at one moment. */
struct lab_metronome_reading {
	uint32_t rounds; /* wraps around */
	uint64_t cpu_ns; /* CPU time of the emulator */
};

/*
 * Starts it for lab `lab`, whose directories are there, on `cpu_cores` of a CPU. It lives as long as this process, which is to end where this fails: it dies with the
 * calling thread. `cgroup` is borrowed for its life. NULL with `error` if its group, its files or QEMU's
 * process could not be made.
 */
struct lab_metronome *lab_metronome_start(const struct lab_cgroup *cgroup, const char *lab, double cpu_cores,
					  GError **error);

/* Ends it, and waits until it is gone. NULL is allowed. */
void lab_metronome_stop(struct lab_metronome *metronome);

/* False until its memory is there, and once it has ended. */
bool lab_metronome_read(struct lab_metronome *metronome, struct lab_metronome_reading *ret_reading);
