/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/sqlite/database.h"
#include "controller/store/store.h"
#include "controller/store/store_records.h"

/* The common part of the store's files, for them and their tests only. */
struct store {
	const struct platform *platform;
	struct database *database;
	void (*event_added)(void *data); /* store_watch_events() */
	void *event_data;
};

/* The first version in which the policies of Pair have their present names. */
#define STORE_VERSION_PAIR 10

/*
 * SQL for the present name of `policy` in older files: their policies of Pair decided by Algorithm
 * 3, and with +no-wait by the paper's text.
 */
#define STORE_POLICY_SINCE_10                                                                      \
	"CASE WHEN instr(policy, '-preempt-pair') = 0 THEN policy"                                 \
	" WHEN instr(policy, '+no-wait') > 0 THEN replace(policy, '+no-wait', '')"                 \
	" ELSE replace(policy, '-preempt-pair', '-preempt-pair+algorithm-3') END"

/* What a file is. */
extern const struct database_kind store_kind;

/* Defines a function that stores a row of a table; errors say that it cannot do `what_`. */
#define STORE_DEFINE_PUT(function_, row_, what_)                                                   \
	bool function_(struct store *store, const struct row_ *row, GError **error)                \
	{                                                                                          \
		return database_put(store->database, &row_##_record, row, what_, error);           \
	}

/* Defines a function that reads a run's rows of a table, which `rows_` selects and orders. */
#define STORE_DEFINE_LIST(function_, row_, rows_, what_)                                           \
	GPtrArray *function_(struct store *store, int64_t run, GError **error)                     \
	{                                                                                          \
		return database_list(store->database, &row_##_record, rows_, DATABASE_ARGS(run),   \
				     what_, error);                                                \
	}

/* How long a reader waits for a writer's commit, and a writer for a reader, in milliseconds. */
#define STORE_BUSY_MS 5000

/*
 * Opens another connection, for another thread, to the file `path` of an open store of `version` on
 * the disk of `platform`. The file is not checked again. The connection waits for
 * locks for at most `busy_ms` milliseconds. store_close() closes it.
 */
struct store *store_open_beside(const struct platform *platform, const char *path, int version,
				int busy_ms, GError **error);

/*
 * Whether SQLite's check finds no damage: in all pages if `whole`, else as store_open_on()
 * says. False with `error` for damage or a failure.
 */
bool store_check_pages(struct store *store, bool whole, GError **error);
