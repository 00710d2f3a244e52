/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_cursor.h"

/* The first version with these tables. */
#define VERSION_SUSPENSIONS 2

bool store_put_suspension(struct store *store, const struct store_suspension *suspension,
			  GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_PUT_SUSPENSION, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_integer(&cursor, suspension->run);
	put_integer(&cursor, suspension->task);
	put_integer(&cursor, suspension->attempt);
	put_integer(&cursor, suspension->n);
	put_text(&cursor, suspension->cluster);
	put_text(&cursor, suspension->nodes);
	put_text(&cursor, suspension->to_nodes);
	put_integer(&cursor, suspension->by_person);
	put_integer(&cursor, suspension->held);
	put_real(&cursor, suspension->requested_s);
	put_real(&cursor, suspension->suspended_s);
	put_real(&cursor, suspension->exec_s);
	put_real(&cursor, suspension->resume_requested_s);
	put_real(&cursor, suspension->resumed_s);
	put_real(&cursor, suspension->since_s);
	put_real(&cursor, suspension->freeze_s);
	put_real(&cursor, suspension->save_s);
	put_real(&cursor, suspension->restore_s);
	put_real(&cursor, suspension->resume_s);
	put_real(&cursor, suspension->skew_s);
	return store_run_statement(store, statement, "store a suspension", error);
}

static gpointer read_suspension(struct cursor *cursor)
{
	struct store_suspension *suspension = g_new0(struct store_suspension, 1);

	suspension->run = get_integer(cursor);
	suspension->task = get_count(cursor);
	suspension->attempt = get_count(cursor);
	suspension->n = get_count(cursor);
	suspension->cluster = get_text(cursor);
	suspension->nodes = get_text(cursor);
	suspension->to_nodes = get_text(cursor);
	suspension->by_person = get_integer(cursor) != 0;
	suspension->held = get_integer(cursor) != 0;
	suspension->requested_s = get_real(cursor);
	suspension->suspended_s = get_real(cursor);
	suspension->exec_s = get_real(cursor);
	suspension->resume_requested_s = get_real(cursor);
	suspension->resumed_s = get_real(cursor);
	suspension->since_s = get_real(cursor);
	suspension->freeze_s = get_real(cursor);
	suspension->save_s = get_real(cursor);
	suspension->restore_s = get_real(cursor);
	suspension->resume_s = get_real(cursor);
	suspension->skew_s = get_real(cursor);
	return suspension;
}

GPtrArray *store_suspensions(struct store *store, int64_t run, GError **error)
{
	return list_of_run_since(store, VERSION_SUSPENSIONS, STORE_LIST_SUSPENSIONS, run,
				 read_suspension, (GDestroyNotify)store_suspension_free,
				 "read the suspensions", error);
}

GPtrArray *store_task_suspensions(struct store *store, int64_t run, uint32_t task, uint32_t attempt,
				  GError **error)
{
	return list_of_attempt_since(store, VERSION_SUSPENSIONS, STORE_LIST_TASK_SUSPENSIONS, run,
				     task, attempt, read_suspension,
				     (GDestroyNotify)store_suspension_free, "read the suspensions",
				     error);
}

void store_suspension_free(struct store_suspension *suspension)
{
	if (!suspension)
		return;
	g_free(suspension->cluster);
	g_free(suspension->nodes);
	g_free(suspension->to_nodes);
	g_free(suspension);
}

bool store_put_suspension_vm(struct store *store, const struct store_suspension_vm *vm,
			     GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_PUT_SUSPENSION_VM, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_integer(&cursor, vm->run);
	put_integer(&cursor, vm->task);
	put_integer(&cursor, vm->attempt);
	put_integer(&cursor, vm->n);
	put_integer(&cursor, vm->vm);
	put_real(&cursor, vm->freeze_s);
	put_real(&cursor, vm->save_s);
	put_real(&cursor, vm->restore_s);
	put_real(&cursor, vm->resume_s);
	return store_run_statement(store, statement, "store a suspension", error);
}

static gpointer read_vm(struct cursor *cursor)
{
	struct store_suspension_vm *vm = g_new0(struct store_suspension_vm, 1);

	vm->run = get_integer(cursor);
	vm->task = get_count(cursor);
	vm->attempt = get_count(cursor);
	vm->n = get_count(cursor);
	vm->vm = get_count(cursor);
	vm->freeze_s = get_real(cursor);
	vm->save_s = get_real(cursor);
	vm->restore_s = get_real(cursor);
	vm->resume_s = get_real(cursor);
	return vm;
}

GPtrArray *store_suspension_vms(struct store *store, int64_t run, GError **error)
{
	return list_of_run_since(store, VERSION_SUSPENSIONS, STORE_LIST_SUSPENSION_VMS, run,
				 read_vm, g_free, "read the suspensions", error);
}
