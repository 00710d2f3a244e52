/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* What a process has used so far. */
struct run_usage {
	double cpu_s;   /* user and system */
	double rss_mib; /* largest resident set */
};

/* Reads it of a process of this machine from /proc. Returns false when there is no such process. */
bool run_usage_read(GPid pid, struct run_usage *ret_usage);

/* Our own. */
struct run_usage run_usage_own(void);
