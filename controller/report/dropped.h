/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/report/listing.h"
#include "controller/report/summary.h"

/*
 * The reasons for which tasks were dropped, under each policy and limit, and on queueing clusters
 * (Gentry 2019) their chance of completing on time.
 */
struct dropped {
	const char *policy; /* borrowed from the summary */
	double limit;
	char *reason;
	uint32_t tasks;     /* over all repeats; in a simulation those of the first trial */
	double chance_mean; /* NAN: unknown, as without queueing clusters */
	double chance_max;
};

/*
 * A listing of struct dropped, by limit and policy in the order of the summary's cells, then by
 * reason; empty where no task was dropped.
 */
extern const struct listing_part dropped_part;
