/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdint.h>

#include "controller/report/summary.h"
#include "controller/report/table.h"

/*
 * What tasks got of hosts that they shared, by policy (docs/reference/store.md, share and delivery): the shares
 * below 1 that were asked for their VMs, against the processor time that the VMs used. A share is a cap
 * and not a claim: VMs that wait for one another use less, and none may use more.
 */

/* The shares of a policy under a limit, over its runs; of the first trial where they are simulated. */
struct shares_policy {
	const struct summary_cell *cell; /* borrowed from the summary */
	uint32_t yields;    /* that the policy gave */
	uint32_t intervals; /* of two seconds, in which a share below 1 held; 0: what follows is NAN */
	double asked_cores; /* means over the intervals */
	double given_cores;
	/* Delivered share less the one asked for, in points (hundredths of what the nodes may use). */
	double difference_mean;
	double difference_least;    /* most below */
	double difference_greatest; /* most above */
};

/*
 * Reads what the runs of `summary`, which is borrowed for as long as the result is used, recorded: GArray
 * of struct shares_policy, by limit and policy; empty where nothing was shared. The caller unrefs. NULL with
 * `error` (STORE_ERROR) where it cannot be read.
 */
GArray *shares_new(const struct summary *summary, GError **error);

/* As a table; the caller frees it with table_free(). */
struct table *shares_table(const GArray *shares);

/* The same with its heading, or NULL where nothing was shared. The caller frees. */
char *shares_text(const GArray *shares);

/*
 * [{"policy", "limit", "yields", "intervals", "asked_cores", "given_cores", "difference_mean_points",
 * "difference_least_points", "difference_greatest_points"}]. New reference.
 */
json_t *shares_json(const GArray *shares);

#define SHARES_TITLE "Shares of hosts below 1, asked against delivered"
