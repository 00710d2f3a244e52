/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"

/*
 * Whether this machine is large enough for the VMs of a configuration. Commands that run VMs here
 * call it; config_check() does not, so that a configuration that is too large for this machine can
 * be simulated and reported on. A lab that is promised more than there is would measure itself.
 */

/*
 * Whether this process may use enough memory (machine_room_check_memory()) and CPU time of this
 * machine for `config`: the VMs of its lab and its metronome get CONFIG_LAB_HOST_SHARE of the CPU
 * time at the most, but where lab.overcommit allows more, and where the lab is still to be fitted.
 * `path` and `error` as of config_check().
 */
bool machine_room_check(const struct config *config, const char *path, GError **error);

/*
 * Whether this machine, with nothing else on it, has the memory of all VMs of `config` that run
 * here: those on blades, and those of clusters without local_scheduler on this machine's own
 * libvirt. Part of machine_room_check(), and with its arguments.
 */
bool machine_room_check_memory(const struct config *config, const char *path, GError **error);
