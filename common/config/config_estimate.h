/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config_key.h"

/* One entry of the ETC and EEC matrices (Machovec 2018, Tables 5 and 6), with its spread. */
struct config_estimate {
	char *type;
	char *cluster;
	double etc_s;    /* mean execution time, > 0 */
	double etc_sd_s; /* its standard deviation over `count` measurements */
	double eec_j;    /* mean dynamic energy, >= 0 */
	double eec_sd_j;
	uint32_t count; /* measurements behind the entry; 0: given */
};

/*
 * A pair of type and cluster that was to be measured and could not be: no task of the type is
 * placed there.
 */
struct config_unmeasured {
	char *type;
	char *cluster;
	char *reason; /* in words, for headings */
};

/*
 * What one suspension of a task took, seconds of elapsed time, each step after the one before: all
 * of its VMs frozen, off the nodes, back on nodes, running again (controller/backend/backend.h).
 * Simulations draw from these; without any, suspending takes no time (Machovec 2017, section II).
 */
struct config_overhead {
	char *cluster;
	double freeze_s; /* >= 0, as the others */
	double save_s;
	double restore_s;
	double resume_s;
	char *keep;    /* where its VMs were meanwhile: "memory" or "disk"; NULL: not said */
	double skew_s; /* between the first and the last VM frozen, part of freeze_s */
};

/* What a profile measured: the lists of a configuration of the same names. */
struct config_measured {
	struct config_estimate *estimates;
	uint32_t estimates_count;
	struct config_overhead *overheads;
	uint32_t overheads_count;
	struct config_unmeasured *unmeasured;
	uint32_t unmeasured_count;
};

/* The rows of the structures above. */
extern const struct config_section config_estimate_section;
extern const struct config_section config_unmeasured_section;
extern const struct config_section config_overhead_section;
extern const struct config_section config_measured_section;
