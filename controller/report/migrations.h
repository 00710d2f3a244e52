/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/report/listing.h"
#include "controller/report/summary.h"

/*
 * The recorded migrations of a directory's runs (docs/reference/store.md, migration): each of them,
 * and sums per policy.
 */

/* What requested a migration. */
enum migrations_by { MIGRATIONS_BY_POLICY = 0, MIGRATIONS_BY_PERSON };

/* A migration of a task. Times in seconds since the start of its run. */
struct migrations_one {
	const char *policy; /* borrowed from the summary */
	double limit;
	uint32_t repeat;
	uint32_t task, attempt;
	char *type; /* of the task; NULL: not recorded */
	enum migrations_by by;
	char *cluster;
	char *nodes;    /* "0,1": the nodes of its VMs before, on shared hosts the host of each */
	char *to_nodes; /* the requested nodes; after the end the actual ones */
	double requested_s;
	double total_s;      /* from the request to the end; NAN: the task ended first */
	double *downtimes_s; /* of the VMs that changed their host, in their order */
	uint32_t downtimes_count;
	char *reason; /* why a VM was not moved; NULL: all were, or the task ended first */
};

/* The migrations of a policy under a limit, over its runs. */
struct migrations_policy {
	const char *policy; /* borrowed from the summary */
	double limit;
	uint32_t asked;     /* number of all requested migrations */
	uint32_t by_person; /* requested by users */
	uint32_t moved;     /* in which all VMs were moved */
	uint32_t failed;    /* in which a VM was not moved; in the rest the task ended first */
	double total_median_s, total_max_s;       /* of those in `moved`; NAN: none */
	uint32_t vms;                             /* number of VMs that changed their host */
	double downtime_median_s, downtime_max_s; /* of those VMs; NAN: none */
};

/*
 * Listings of struct migrations_policy, by limit and policy, and of struct migrations_one, by
 * limit, policy, repeat, task and number; empty where no task was migrated.
 */
extern const struct listing_part migrations_part;

#define MIGRATIONS_POLICIES_TITLE "Migrated tasks, by policy"
#define MIGRATIONS_LIST_TITLE "Migrations"
