/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Migrations of running tasks, and the CPU shares of tasks on shared hosts. */
#include "controller/store/store_cursor.h"

/* The first version with these tables. */
#define VERSION_MIGRATIONS 4

bool store_put_migration(struct store *store, const struct store_migration *migration,
			 GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_PUT_MIGRATION, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_integer(&cursor, migration->run);
	put_integer(&cursor, migration->task);
	put_integer(&cursor, migration->attempt);
	put_integer(&cursor, migration->n);
	put_text(&cursor, migration->cluster);
	put_text(&cursor, migration->nodes);
	put_text(&cursor, migration->to_nodes);
	put_integer(&cursor, migration->by_person);
	put_real(&cursor, migration->requested_s);
	put_real(&cursor, migration->ended_s);
	put_text(&cursor, migration->reason);
	return store_run_statement(store, statement, "store a migration", error);
}

static gpointer read_migration(struct cursor *cursor)
{
	struct store_migration *migration = g_new0(struct store_migration, 1);

	migration->run = get_integer(cursor);
	migration->task = get_count(cursor);
	migration->attempt = get_count(cursor);
	migration->n = get_count(cursor);
	migration->cluster = get_text(cursor);
	migration->nodes = get_text(cursor);
	migration->to_nodes = get_text(cursor);
	migration->by_person = get_integer(cursor) != 0;
	migration->requested_s = get_real(cursor);
	migration->ended_s = get_real(cursor);
	migration->reason = get_text(cursor);
	return migration;
}

void store_migration_free(struct store_migration *migration)
{
	if (!migration)
		return;
	g_free(migration->cluster);
	g_free(migration->nodes);
	g_free(migration->to_nodes);
	g_free(migration->reason);
	g_free(migration);
}

GPtrArray *store_migrations(struct store *store, int64_t run, GError **error)
{
	return list_of_run_since(store, VERSION_MIGRATIONS, STORE_LIST_MIGRATIONS, run,
				 read_migration, (GDestroyNotify)store_migration_free,
				 "read the migrations", error);
}

GPtrArray *store_task_migrations(struct store *store, int64_t run, uint32_t task, uint32_t attempt,
				 GError **error)
{
	return list_of_attempt_since(store, VERSION_MIGRATIONS, STORE_LIST_TASK_MIGRATIONS, run,
				     task, attempt, read_migration,
				     (GDestroyNotify)store_migration_free, "read the migrations",
				     error);
}

bool store_put_migration_vm(struct store *store, const struct store_migration_vm *vm,
			    GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_PUT_MIGRATION_VM, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_integer(&cursor, vm->run);
	put_integer(&cursor, vm->task);
	put_integer(&cursor, vm->attempt);
	put_integer(&cursor, vm->n);
	put_integer(&cursor, vm->vm);
	put_integer(&cursor, vm->from_node);
	put_integer(&cursor, vm->to_node);
	put_real(&cursor, vm->total_s);
	put_real(&cursor, vm->downtime_s);
	return store_run_statement(store, statement, "store a migration", error);
}

static gpointer read_vm(struct cursor *cursor)
{
	struct store_migration_vm *vm = g_new0(struct store_migration_vm, 1);

	vm->run = get_integer(cursor);
	vm->task = get_count(cursor);
	vm->attempt = get_count(cursor);
	vm->n = get_count(cursor);
	vm->vm = get_count(cursor);
	vm->from_node = get_count(cursor);
	vm->to_node = get_count(cursor);
	vm->total_s = get_real(cursor);
	vm->downtime_s = get_real(cursor);
	return vm;
}

GPtrArray *store_migration_vms(struct store *store, int64_t run, GError **error)
{
	return list_of_run_since(store, VERSION_MIGRATIONS, STORE_LIST_MIGRATION_VMS, run, read_vm,
				 g_free, "read the migrations", error);
}

bool store_put_share(struct store *store, const struct store_share *share, GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_PUT_SHARE, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_integer(&cursor, share->run);
	put_integer(&cursor, share->task);
	put_integer(&cursor, share->attempt);
	put_real(&cursor, share->time_s);
	put_real(&cursor, share->yield);
	put_real(&cursor, share->virtual_s);
	return store_run_statement(store, statement, "store a share", error);
}

static gpointer read_share(struct cursor *cursor)
{
	struct store_share *share = g_new0(struct store_share, 1);

	share->run = get_integer(cursor);
	share->task = get_count(cursor);
	share->attempt = get_count(cursor);
	share->time_s = get_real(cursor);
	share->yield = get_real(cursor);
	share->virtual_s = get_real(cursor);
	return share;
}

GPtrArray *store_shares(struct store *store, int64_t run, GError **error)
{
	return list_of_run_since(store, VERSION_MIGRATIONS, STORE_LIST_SHARES, run, read_share,
				 g_free, "read the migrations", error);
}

bool store_put_delivery(struct store *store, const struct store_delivery *delivery, GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_PUT_DELIVERY, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_integer(&cursor, delivery->run);
	put_integer(&cursor, delivery->task);
	put_integer(&cursor, delivery->attempt);
	put_real(&cursor, delivery->time_s);
	put_real(&cursor, delivery->share);
	put_real(&cursor, delivery->asked_cores);
	put_real(&cursor, delivery->given_cores);
	return store_run_statement(store, statement, "store what a share came to", error);
}

static gpointer read_delivery(struct cursor *cursor)
{
	struct store_delivery *delivery = g_new0(struct store_delivery, 1);

	delivery->run = get_integer(cursor);
	delivery->task = get_count(cursor);
	delivery->attempt = get_count(cursor);
	delivery->time_s = get_real(cursor);
	delivery->share = get_real(cursor);
	delivery->asked_cores = get_real(cursor);
	delivery->given_cores = get_real(cursor);
	return delivery;
}

GPtrArray *store_deliveries(struct store *store, int64_t run, GError **error)
{
	return list_of_run_since(store, VERSION_MIGRATIONS, STORE_LIST_DELIVERIES, run,
				 read_delivery, g_free, "read the migrations", error);
}

struct store_delivery *store_last_delivery(struct store *store, int64_t run, uint32_t task,
					   uint32_t attempt, GError **error)
{
	g_autoptr(GPtrArray) rows = NULL;
	sqlite3_stmt *statement;

	if (store->version < VERSION_MIGRATIONS)
		return NULL;
	statement = store_statement(store, STORE_LAST_DELIVERY, error);
	if (!statement)
		return NULL;
	sqlite3_bind_int64(statement, 1, run);
	sqlite3_bind_int64(statement, 2, task);
	sqlite3_bind_int64(statement, 3, attempt);
	rows = list_rows(store, statement, read_delivery, NULL, "read the migrations", error);
	return rows && rows->len ? rows->pdata[0] : NULL;
}
