/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdint.h>

#include "controller/report/summary.h"
#include "controller/report/table.h"

/*
 * The CPU of tasks on shared hosts, by policy (docs/reference/store.md, share and delivery): the
 * shares below 1 that were set for their VMs, against the processor time that the VMs used. A share
 * is a cap and not a claim: VMs that wait for one another use less, and none may use more.
 */

/* The shares of a policy under a limit, over its runs; in a simulation those of the first trial. */
struct shares_policy {
	const struct summary_cell *cell; /* borrowed from the summary */
	uint32_t yields;    /* number of yields that the policy set */
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

/*
 * Reads the shares of the runs of `summary`, which is borrowed for the result's life: GArray of
 * struct shares_policy, by limit and policy; empty where no host was shared. The caller unrefs.
 * NULL with `error` (DATABASE_ERROR) where they cannot be read.
 */
GArray *shares_new(const struct summary *summary, GError **error);

/* As a table; the caller frees it with table_free(). */
struct table *shares_table(const GArray *shares);

/* The table with its heading, or NULL where no host was shared. The caller frees. */
char *shares_text(const GArray *shares);

/*
 * [{"policy", "limit", "yields", "intervals", "asked_cores", "given_cores", "difference_mean_points",
 * "difference_least_points", "difference_greatest_points"}]. New reference.
 */
json_t *shares_json(const GArray *shares);

#define SHARES_TITLE "Shares of hosts below 1, asked against delivered"
