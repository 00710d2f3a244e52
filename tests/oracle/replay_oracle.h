/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/replay/replay.h"

/*
 * The batch policies once more, as plainly as their definition: at every instant at which something
 * may change, every plan is computed again from lists. Shares no code with the product.
 */

/* What is replayed; the fields are those of struct replay_setup. */
struct replay_oracle {
	const struct swf_trace *trace;
	uint32_t procs;
	const char *policy;
	bool perfect;
	bool overrun;
	bool keep;
	bool rebuild;
};

/* What became of a job. */
struct replay_oracle_fate {
	double start_s;
	/* Conservative: what it was promised at its submission; INFINITY elsewhere */
	double first_s;
	double least_s; /* the earliest promise that it ever had */
};

/* The fates of all jobs, by their index in the trace; the caller frees them with g_free(). */
struct replay_oracle_fate *replay_oracle_run(const struct replay_oracle *setup);
