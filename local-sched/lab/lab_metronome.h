/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/lab/lab_cgroup.h"

/*
 * The gauge of this machine's speed of emulation: an emulated guest (metronome/guest.c) that
 * repeats a fixed piece of work without end, in a steady lab on CONFIG_LAB_STEADY_CORES of a CPU.
 * The CPU time of a round changes as the CPU time changes that the lab's VMs need for their work.
 * The guest is in group 0 of the lab's blades and has neither disk nor network.
 */
struct lab_metronome;

/* The gauge's counters at a moment. */
struct lab_metronome_reading {
	uint32_t rounds; /* wraps around */
	uint64_t cpu_ns; /* CPU time of the emulator */
};

/*
 * Starts the gauge for lab `lab`, whose directories exist, on `cpu_cores` of a CPU. It ends with
 * the calling thread; a process in which this fails has to end. `cgroup` is borrowed for its life.
 * NULL with `error` if its group, its files or QEMU's process could not be created.
 */
struct lab_metronome *lab_metronome_start(const struct lab_cgroup *cgroup, const char *lab,
					  double cpu_cores, GError **error);

/* Ends the gauge, and waits until it is gone. NULL is allowed. */
void lab_metronome_stop(struct lab_metronome *metronome);

/* Reads the counters. False until the guest's memory exists, and after the guest has ended. */
bool lab_metronome_read(struct lab_metronome *metronome, struct lab_metronome_reading *ret_reading);
