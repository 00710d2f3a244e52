/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* The resources that a process has used so far. */
struct run_usage {
	double cpu_s;   /* user and system */
	double rss_mib; /* largest resident set */
};

/*
 * Reads them for a process of this machine from /proc. Returns false if there is no such process.
 */
bool run_usage_read(GPid pid, struct run_usage *ret_usage);

/* Those of this process. */
struct run_usage run_usage_own(void);
