/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "local-sched/cpu/cap_originals.h"
#include "local-sched/cpu/host_knob.h"

/*
 * The deepest idle state of a machine's CPUs (Machovec 2018, Table 4: "max C-state"), by the kernel's
 * cpuidle: every state with a longer exit latency than the one named is disabled, on every CPU.
 * States go by name, since their numbers differ between drivers; "C6" also stands for "C6-SKX", as
 * drivers have called theirs. Whole packages have no switch: they follow the deepest of their
 * cores.
 *
 * A driver may accept that and go on as before (haltpoll does), so the states' usage counters are
 * the judge: a disabled state that is still entered proves it not effective. Then, and where there
 * is nothing to disable, /dev/cpu_dma_latency is held open with the allowed latency, which bounds
 * all CPUs too, for as long as we live.
 */
struct cpu_idle;
typedef struct cpu_idle cpu_idle_t;

/*
 * Caps the CPUs below `sys_root` at `state`; `dev_root` has cpu_dma_latency. Fills in the knob,
 * whose texts the caller clears; what could not be set says so there. `originals` is borrowed for
 * the life of the result, which the caller frees. Never NULL.
 */
struct cpu_idle *cpu_idle_apply(const char *sys_root, const char *dev_root, const char *state,
				struct cap_originals *originals, struct host_knob *ret_knob);

/*
 * Looks at the usage counters since the last look: once a disabled state was entered the knob is
 * not effective, and stays so unless the other way is still to be tried, which is done at once.
 */
void cpu_idle_check(struct cpu_idle *idle, struct host_knob *knob);

/* Lets go of cpu_dma_latency; the states are put back by the originals. NULL is allowed. */
void cpu_idle_free(struct cpu_idle *idle);
