/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/platform.h"
#include "local-sched/cpu/cpu_cap.h"

/*
 * The caps of all hosts of a cluster: which means caps the frequency (cpu_cap.h), and the state of
 * each host's knobs. Main loop only.
 */
struct host_caps;
typedef struct host_caps host_caps_t;

/*
 * Sets the caps of `cluster` (borrowed) on those of its hosts that are this machine. Turns `cap`
 * into a cpufreq cap if all hosts are this machine and have cpufreq. `state_directory` has the
 * originals of a /sys that a test has moved. NULL with `error` (CAP_ORIGINALS_ERROR) if the
 * originals cannot be stored.
 */
struct host_caps *host_caps_new(const struct platform *platform,
				const struct config_cluster *cluster, const char *state_directory,
				struct cpu_cap *cap, GError **error);

/* Restores everything; NULL is allowed. */
void host_caps_free(struct host_caps *caps);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(host_caps_t, host_caps_free)

/*
 * The rows of host `index` for the API, a new reference: those of host_cap_json(), a row for the
 * quota of `cap` (whose `effective` is "emulated"; `applied`: the VM has it), and rows for caps
 * that cannot be set, with the reason.
 */
json_t *host_caps_json(const struct host_caps *caps, uint32_t index, const struct cpu_cap *cap,
		       bool applied);

/*
 * "no" if a cap of any host is not effective, else "unknown" if one is unknown, else "yes"; "none":
 * there are no caps.
 */
const char *host_caps_effective(const struct host_caps *caps);
