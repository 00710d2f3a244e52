/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/replay/replay.h"

/*
 * The batch policies once more, as plainly as their definition: at every instant at which something
 * may change, every plan is made anew from lists. Shares no code with the product.
 */

/* What is replayed; the fields are those of struct replay_setup. */
struct replay_oracle {
	const struct swf_trace *trace;
	uint32_t procs;
	const char *policy;
	bool perfect;
	bool overrun;
	bool keep;
};

/* Start times of all jobs; the caller frees them with g_free(). */
double *replay_oracle_starts(const struct replay_oracle *setup);
