/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/report/summary.h"
#include "controller/report/table.h"

/*
 * The migrations that the runs of a directory recorded (docs/reference/store.md, migration): each of them, and
 * what those of a policy took together.
 */
struct migrations;
typedef struct migrations migrations_t; /* for g_autoptr() */

/* One migration of a task. Times in seconds since the start of its run. */
struct migrations_one {
	const struct summary_cell *cell; /* whose run it was in; borrowed from the summary */
	uint32_t repeat;
	uint32_t task, attempt;
	char *type; /* of the task; NULL: not on record */
	bool by_person;
	char *cluster;
	char *nodes;    /* "0,1": where its VMs were, on shared hosts the host of each */
	char *to_nodes; /* where they were to go; once it is over where they are */
	double requested_s;
	double total_s; /* from the request until it was over; NAN: the task ended first */
	GArray *downtimes_s; /* of double: of the VMs that went to another host, in their order */
	char *reason;   /* why a VM was not moved; NULL: all were, or the task ended first */
};

/* The migrations of a policy under a limit, over its runs. */
struct migrations_policy {
	const struct summary_cell *cell; /* borrowed from the summary */
	uint32_t asked;     /* all of them */
	uint32_t by_person; /* those of them that people asked for */
	uint32_t moved;     /* those that moved all VMs */
	uint32_t failed;    /* those that left a VM where it was; the rest: the task ended first */
	double total_median_s, total_max_s; /* of those that moved all; NAN: there are none */
	uint32_t vms;       /* VMs that went to another host */
	double downtime_median_s, downtime_max_s; /* of those VMs; NAN: there are none */
};

/*
 * Reads the migrations of `summary`, which is borrowed until the result is freed. NULL with `error`
 * (STORE_ERROR) where they cannot be read.
 */
struct migrations *migrations_new(const struct summary *summary, GError **error);
/* NULL is allowed. */
void migrations_free(struct migrations *migrations);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(migrations_t, migrations_free)

/*
 * By limit, policy, repeat, task and number; by limit and policy. Borrowed GArrays of the structs
 * above; empty where nothing was migrated.
 */
const GArray *migrations_list(const struct migrations *migrations);
const GArray *migrations_policies(const struct migrations *migrations);

/* Both as tables, of the list the first `most` rows; the caller frees them with table_free(). */
struct table *migrations_list_table(const struct migrations *migrations, guint most);
struct table *migrations_policies_table(const struct migrations *migrations);

/* Both with their headings, the list in part; NULL where nothing was migrated. The caller frees. */
char *migrations_text(const struct migrations *migrations);

/*
 * {"policies": [{"policy", "limit", "asked", "by_person", "moved", "failed", "total_median_s",
 * "total_max_s", "vms", "downtime_median_s", "downtime_max_s"}], "migrations": [{"policy", "limit",
 * "repeat", "task", "type", "attempt", "by", "cluster", "nodes", "to_nodes", "requested_s", "total_s",
 * "downtimes_s", "reason"}]}. New reference.
 */
json_t *migrations_json(const struct migrations *migrations);

/* What the two tables are, for captions. */
#define MIGRATIONS_POLICIES_TITLE "Migrated tasks, by policy"
#define MIGRATIONS_LIST_TITLE "Migrations"

/* Rows of the list that a person is shown; machine formats have all. */
enum { MIGRATIONS_SHOWN = 40 };
