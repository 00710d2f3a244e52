/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <sqlite3.h>

#include "controller/store/store.h"

/*
 * The common part of the store's files, for them and their tests only. Statements are prepared once
 * and kept, named by what they do.
 */
enum store_statement {
	STORE_SET_META = 0,
	STORE_DROP_META,
	STORE_GET_META,
	STORE_ADD_RUN,
	STORE_UPDATE_RUN,
	STORE_LIST_RUNS,
	STORE_LIST_RUNS_9, /* for a file of version 9 or before */
	STORE_POLICY_NOW,  /* the present name of a policy of a file of version 9 or before */
	STORE_PUT_TASK,
	STORE_LIST_TASKS,
	STORE_LIST_TASKS_2, /* for a file of version 2 or 1 */
	STORE_ADD_EVENT,
	STORE_LIST_EVENTS,
	STORE_LAST_EVENT,
	STORE_ADD_DECISION,
	STORE_LIST_DECISIONS,
	STORE_ADD_SAMPLE,
	STORE_LIST_SAMPLES,
	STORE_CLEAR_ESTIMATES,
	STORE_ADD_ESTIMATE,
	STORE_LIST_ESTIMATES,
	STORE_PUT_LOST,
	STORE_LIST_LOST,
	STORE_LIST_TASK_LOST,
	STORE_PUT_SUSPENSION,
	STORE_LIST_SUSPENSIONS,
	STORE_LIST_TASK_SUSPENSIONS,
	STORE_PUT_SUSPENSION_VM,
	STORE_LIST_SUSPENSION_VMS,
	STORE_PUT_MIGRATION,
	STORE_LIST_MIGRATIONS,
	STORE_LIST_TASK_MIGRATIONS,
	STORE_PUT_MIGRATION_VM,
	STORE_LIST_MIGRATION_VMS,
	STORE_PUT_SHARE,
	STORE_LIST_SHARES,
	STORE_PUT_DELIVERY,
	STORE_LIST_DELIVERIES,
	STORE_LAST_DELIVERY,
	STORE_LIST_EVENTS_OF_KIND,
	STORE_LIST_EVENTS_AFTER,
	STORE_LIST_TASK_DECISIONS,
	STORE_PUT_SUBMISSION,
	STORE_LIST_SUBMISSIONS,
	STORE_LIST_SUBMISSIONS_9, /* for a file of version 9 to 7 */
	STORE_LIST_SUBMISSIONS_6, /* for a file of version 6 or 5 */
	STORE_PUT_DRAIN,
	STORE_DROP_DRAIN,
	STORE_LIST_DRAINS,
	STORE_PUT_ENERGY_METER,
	STORE_LIST_ENERGY_METERS,
	STORE_LIST_ENERGY_METERS_7,
	STORE_ADD_ENERGY_INTERVAL,
	STORE_ADD_ENERGY_PART,
	STORE_ADD_ENERGY_DAY,
	STORE_ADD_ENERGY_TASK,
	STORE_SUM_ENERGY_SINCE,
	STORE_ADD_MEASUREMENT,
	STORE_LIST_MEASUREMENTS,
	STORE_DROP_MEASUREMENT,
	STORE_PUT_UNMEASURED,
	STORE_LIST_UNMEASURED,
	STORE_DROP_UNMEASURED,
	STORE_ADD_OVERHEAD,
	STORE_LIST_OVERHEADS,
	STORE_STATEMENTS,
};

struct store {
	sqlite3 *db;
	char *path; /* of the file, for messages */
	int version; /* of its schema */
	sqlite3_stmt *statements[STORE_STATEMENTS];
	void (*event_added)(void *data); /* store_watch_events() */
	void *event_data;
};

/* The first version in which the policies of Pair have their present names. */
#define STORE_VERSION_PAIR 10

/*
 * SQL for the present name of `policy` in older files: their policies of Pair decided by Algorithm
 * 3, and with +no-wait by the paper's text.
 */
#define STORE_POLICY_SINCE_10                                                                       \
	"CASE WHEN instr(policy, '-preempt-pair') = 0 THEN policy"                                  \
	" WHEN instr(policy, '+no-wait') > 0 THEN replace(policy, '+no-wait', '')"                  \
	" ELSE replace(policy, '-preempt-pair', '-preempt-pair+algorithm-3') END"

/* The advice in errors about a damaged file. */
#define STORE_CURE                                                                                 \
	"; put a copy of it back, or save what can be read of it as docs/explanation/reliability.md says"

/*
 * Sets `error` from the connection's last failure, whose result code is `code`; `doing` says what
 * was attempted.
 */
void store_fail(struct store *store, int code, const char *doing, GError **error);

/*
 * Opens another connection, for another thread, to the file `path` of an open store of `version`.
 * The file is not checked again. The connection waits for locks for at most `busy_ms` milliseconds.
 * store_close() closes it.
 */
struct store *store_open_beside(const char *path, int version, int busy_ms, GError **error);

/*
 * Sets whether a store of store_open() waits for locks of others, as it does at first, or fails at
 * once.
 */
void store_wait_for_others(struct store *store, bool wait);

/* Runs SQL text that returns no rows. */
bool store_exec(struct store *store, const char *sql, const char *doing, GError **error);

/*
 * The statement, reset and without bindings; borrowed. Returns NULL with `error` when it cannot be
 * prepared.
 */
sqlite3_stmt *store_statement(struct store *store, enum store_statement which, GError **error);

/* Executes a statement that returns no rows, and resets it. */
bool store_run_statement(struct store *store, sqlite3_stmt *statement, const char *doing,
			 GError **error);

/*
 * Makes the tables of a new file, and checks those of an old one: all pages if `whole`, else as
 * store_open_to_serve() says. `create`: upgrades an old file.
 */
bool store_schema_apply(struct store *store, bool create, bool whole, GError **error);

/*
 * Whether SQLite's check finds no damage (`whole` as above); false with `error` for damage or a
 * failure.
 */
bool store_check_pages(struct store *store, bool whole, GError **error);
