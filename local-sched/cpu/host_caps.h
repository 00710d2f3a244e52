/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdint.h>

#include "common/config/config.h"
#include "local-sched/cpu/cpu_cap.h"

/*
 * The caps of all hosts of one cluster: which driver caps its frequency, and what there is to tell
 * of each host. Main loop only.
 */
struct host_caps;
typedef struct host_caps host_caps_t;

/*
 * Sets what `cluster` (borrowed) asks for on those of its hosts that are this machine, and turns
 * `cap` into one of cpufreq if all of them are and have it. `state_directory` keeps the originals
 * of a moved /sys. NULL with `error` (CAP_ORIGINALS_ERROR) if they cannot be kept.
 */
struct host_caps *host_caps_new(const struct config_cluster *cluster, const char *state_directory,
				struct cpu_cap *cap, GError **error);

/* Puts everything back; NULL is allowed. */
void host_caps_free(struct host_caps *caps);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(host_caps_t, host_caps_free)

/*
 * The rows of host `index` for the API, a new reference: those of host_cap_json(), a row for the
 * quota of `cap` (whose `effective` is "emulated"; `applied`: the VM has it), and rows that say why
 * a cap cannot be set.
 */
json_t *host_caps_json(const struct host_caps *caps, uint32_t index, const struct cpu_cap *cap,
		       bool applied);

/*
 * "no" if a cap of any host is not effective, else "unknown" if one is, else "yes"; "none": none.
 */
const char *host_caps_effective(const struct host_caps *caps);
