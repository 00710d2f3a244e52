/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/report/summary.h"
#include "controller/report/table.h"

/*
 * The recorded migrations of a directory's runs (docs/reference/store.md, migration): each of them,
 * and sums per policy.
 */
struct migrations;
typedef struct migrations migrations_t; /* for g_autoptr() */

/* A migration of a task. Times in seconds since the start of its run. */
struct migrations_one {
	const struct summary_cell *cell; /* the cell of its run; borrowed from the summary */
	uint32_t repeat;
	uint32_t task, attempt;
	char *type; /* of the task; NULL: not recorded */
	bool by_person;
	char *cluster;
	char *nodes;    /* "0,1": the nodes of its VMs before, on shared hosts the host of each */
	char *to_nodes; /* the requested nodes; after the end the actual ones */
	double requested_s;
	double total_s; /* from the request to the end; NAN: the task ended first */
	GArray *downtimes_s; /* of double: of the VMs that changed their host, in their order */
	char *reason;   /* why a VM was not moved; NULL: all were, or the task ended first */
};

/* The migrations of a policy under a limit, over its runs. */
struct migrations_policy {
	const struct summary_cell *cell; /* borrowed from the summary */
	uint32_t asked;     /* number of all requested migrations */
	uint32_t by_person; /* requested by users */
	uint32_t moved;     /* in which all VMs were moved */
	uint32_t failed;    /* in which a VM was not moved; in the rest the task ended first */
	double total_median_s, total_max_s; /* of those in `moved`; NAN: none */
	uint32_t vms;       /* number of VMs that changed their host */
	double downtime_median_s, downtime_max_s; /* of those VMs; NAN: none */
};

/*
 * Reads the migrations of `summary`, which is borrowed until the result is freed. NULL with `error`
 * (DATABASE_ERROR) where they cannot be read.
 */
struct migrations *migrations_new(const struct summary *summary, GError **error);
/* NULL is allowed. */
void migrations_free(struct migrations *migrations);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(migrations_t, migrations_free)

/*
 * By limit, policy, repeat, task and number; by limit and policy. Borrowed GArrays of the structs
 * above; empty where no task was migrated.
 */
const GArray *migrations_list(const struct migrations *migrations);
const GArray *migrations_policies(const struct migrations *migrations);

/* Both as tables, at most `most` rows of the list; the caller frees them with table_free(). */
struct table *migrations_list_table(const struct migrations *migrations, guint most);
struct table *migrations_policies_table(const struct migrations *migrations);

/*
 * Both with headings and the first rows of the list; NULL where no task was migrated. The caller
 * frees.
 */
char *migrations_text(const struct migrations *migrations);

/*
 * {"policies": [{"policy", "limit", "asked", "by_person", "moved", "failed", "total_median_s",
 * "total_max_s", "vms", "downtime_median_s", "downtime_max_s"}], "migrations": [{"policy", "limit",
 * "repeat", "task", "type", "attempt", "by", "cluster", "nodes", "to_nodes", "requested_s", "total_s",
 * "downtimes_s", "reason"}]}. New reference.
 */
json_t *migrations_json(const struct migrations *migrations);

/* Titles of the two tables, for captions. */
#define MIGRATIONS_POLICIES_TITLE "Migrated tasks, by policy"
#define MIGRATIONS_LIST_TITLE "Migrations"

/* The most rows of the list for a person; machine formats have all. */
enum { MIGRATIONS_SHOWN = 40 };
