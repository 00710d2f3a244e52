/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "common/platform.h"

/*
 * How busy this machine is, from /proc/stat: a measurement on emulated blades, which share its
 * cores, depends on the cores that were free.
 */
struct host_load {
	double busy_s; /* CPU time of all cores that was neither idle, waiting for I/O nor stolen */
	double steal_s; /* CPU time that the hypervisor below this machine gave to others */
	double at_s;    /* monotonic */
};

/* Reads the counters from `path` (NULL: "/proc/stat"). Returns false if it cannot be read. */
bool host_load_read(const struct platform *platform, const char *path, struct host_load *ret_load);

/* Mean busy cores between two readings; NAN when no time has passed. */
double host_load_cores(const struct host_load *from, const struct host_load *to);
