/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/config/config.h"

/*
 * Finding the files of hwmon channels (Documentation/hwmon/sysfs-interface of the kernel): powerN
 * is power in microwatts, energyN a counter of microjoules. A driver's files and its name stand in
 * hwmonN/, or in hwmonN/device/: those of the ACPI power meter up to Linux 6.14, and those of old
 * drivers.
 */

/* The channels of a meter. */
struct hwmon_channels {
	char **paths;  /* of the files with the numbers, whose sum is the meter's */
	char **titles; /* hwmon_title() of each, when they were found */
	bool energy;   /* they are counters of microjoules, not microwatts */
	bool cpu_only; /* of the CPU packages, not of the machine */
};

/*
 * The channels that `config` names, of kind acpi or hwmon. What it leaves open has to be there once
 * only. Returns false if they are not there or cannot be told apart; *ret_reason, which the caller
 * frees, then says what there is and which key to give. Fills `ret`, which the caller clears.
 */
bool hwmon_find(const struct config_meter *config, struct hwmon_channels *ret, char **ret_reason);

/*
 * What is at the path of a channel's file: the name of the chip, its device, and the label of the
 * channel, as far as they are there, in a line for a message. The kernel may give the number of a
 * chip to another one. The caller frees.
 */
char *hwmon_title(const char *path);

void hwmon_channels_clear(struct hwmon_channels *channels);
