/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/cpu/cap_originals.h"
#include "local-sched/cpu/host_knob.h"

/*
 * The deepest idle state of a machine's CPUs (Machovec 2018, Table 4: "max C-state"), by the
 * kernel's cpuidle: every state with a longer exit latency than the named one is disabled, on every
 * CPU. States are found by name, since their numbers differ between drivers; "C6" also stands for
 * "C6-SKX", as drivers have called theirs. Packages have no switch: they follow the deepest state
 * of their cores.
 *
 * A driver may accept the setting and ignore it (haltpoll does), so the states' usage counters
 * decide: a disabled state that is still entered proves the setting not effective. In that case,
 * and where there is no state to disable, /dev/cpu_dma_latency is held open with the allowed
 * latency, which bounds all CPUs for as long as this process lives.
 */
struct cpu_idle;
typedef struct cpu_idle cpu_idle_t;

/*
 * Caps the CPUs below `sys_root` at `state`; `dev_root` has cpu_dma_latency. Fills in the knob,
 * whose texts the caller clears; a setting that failed is explained there. `originals` is borrowed
 * for the life of the result, which the caller frees. Never returns NULL.
 */
struct cpu_idle *cpu_idle_apply(const char *sys_root, const char *dev_root, const char *state,
				struct cap_originals *originals, struct host_knob *ret_knob);

/*
 * Checks the usage counters since the last check. Once a disabled state was entered, the knob is
 * not effective for good, unless cpu_dma_latency was not tried yet, which is then done at once.
 */
void cpu_idle_check(struct cpu_idle *idle, struct host_knob *knob);

/* Closes cpu_dma_latency; the originals restore the states. NULL is allowed. */
void cpu_idle_free(struct cpu_idle *idle);
