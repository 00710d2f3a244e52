/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/*
 * The machine that a measurement was made on: processor, microcode, frequency governor, kernel.
 * Read from /proc and /sys of this machine; a fact that is not available (a guest has no governor,
 * for example) is NULL or 0.
 */
struct host_facts {
	char *name;   /* of the host */
	char *kernel; /* release, e.g. "6.1.0-25-amd64" */
	char *boot_id;
	char *cpu;       /* model name of the first processor */
	char *microcode; /* its revision, e.g. "0x2b0004d0" */
	char *governor;  /* cpufreq's, e.g. "performance"; "mixed" if processors differ */
	guint cores;     /* processors online */
	guint64 memory_mib;
};
typedef struct host_facts host_facts_t; /* for g_autoptr() */

/*
 * Reads this machine's facts. `root` is put before the paths of files, for tests; NULL: "". The
 * caller frees with host_facts_free().
 */
struct host_facts *host_facts_read(const char *root);
/* NULL is allowed. */
void host_facts_free(struct host_facts *facts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(host_facts_t, host_facts_free)
