/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/report/listing.h"
#include "controller/report/summary.h"

/*
 * The CPU of tasks on shared hosts, by policy (docs/reference/store.md, share and delivery): the
 * shares below 1 that were set for their VMs, against the processor time that the VMs used. A share
 * is a cap and not a claim: VMs that wait for one another use less, and none may use more.
 */

/* The shares of a policy under a limit, over its runs; in a simulation those of the first trial. */
struct shares_policy {
	const char *policy; /* borrowed from the summary */
	double limit;
	uint32_t yields; /* number of yields that the policy set */
	/* number of intervals of two seconds in which a share below 1 held; 0: the rest is NAN */
	uint32_t intervals;
	double asked_cores; /* means over the intervals */
	double given_cores;
	/*
	 * Delivered share less requested share, in points (hundredths of what the nodes may use).
	 */
	double difference_mean;
	double difference_least;    /* furthest below */
	double difference_greatest; /* furthest above */
};

/* A listing of struct shares_policy, by limit and policy; empty where no host was shared. */
extern const struct listing_part shares_part;

#define SHARES_TITLE "Shares of hosts below 1, asked against delivered"
