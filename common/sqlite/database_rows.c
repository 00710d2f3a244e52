/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/record/record_private.h"
#include "common/sqlite/database_private.h"

/* Records as rows. */

static void put_bytes(sqlite3_stmt *statement, int at, GBytes *bytes)
{
	gsize size;
	const void *data = g_bytes_get_data(bytes, &size);

	sqlite3_bind_blob64(statement, at, data ?: "", size, SQLITE_STATIC);
}

static void put_column(sqlite3_stmt *statement, int at, const struct database_column *column,
		       const void *data)
{
	const struct record_field *field = column->field;
	const char *structure = (const char *)data + column->base;
	const void *place = record_place(field, structure);

	if (field->type == RECORD_REAL)
		sqlite3_bind_double(statement, at, *(const double *)place); /* NAN is NULL */
	else if (record_is_null(field, structure))
		sqlite3_bind_null(statement, at);
	else if (field->type == RECORD_TEXT)
		sqlite3_bind_text(statement, at, *(char *const *)place, -1, SQLITE_STATIC);
	else if (field->type == RECORD_BYTES)
		put_bytes(statement, at, *(GBytes *const *)place);
	else if (field->type == RECORD_U32)
		sqlite3_bind_int64(statement, at, *(const uint32_t *)place);
	else if (field->type == RECORD_I64)
		sqlite3_bind_int64(statement, at, *(const int64_t *)place);
	else if (field->type == RECORD_BOOL)
		sqlite3_bind_int64(statement, at, *(const bool *)place);
	else if (field->type == RECORD_WORD)
		sqlite3_bind_text(statement, at, field->words[*(const int *)place], -1,
				  SQLITE_STATIC);
	else
		g_assert_not_reached();
}

static void get_column(struct database_cursor *cursor, const struct database_column *column,
		       void *data)
{
	const struct record_field *field = column->field;
	void *place = record_place(field, (char *)data + column->base);
	int word;

	if (field->null != RECORD_NULL_NEVER && database_is_null(cursor)) {
		cursor->next++;
		return;
	}
	switch (field->type) {
	case RECORD_REAL:
		*(double *)place = database_get_real(cursor);
		break;
	case RECORD_TEXT:
		*(char **)place = database_get_text(cursor);
		break;
	case RECORD_BYTES:
		*(GBytes **)place = database_get_bytes(cursor);
		break;
	case RECORD_U32:
		*(uint32_t *)place = database_get_count(cursor);
		break;
	case RECORD_I64:
		*(int64_t *)place = database_get_integer(cursor);
		break;
	case RECORD_BOOL:
		*(bool *)place = database_get_integer(cursor) != 0;
		break;
	case RECORD_WORD:
		word = record_word_find(field->words, database_peek_text(cursor));
		*(int *)place = MAX(word, 0);
		break;
	default:
		g_assert_not_reached();
	}
}

/* Tables. */

/* What is prepared for the table of a record. */
struct database_table {
	const struct record *record;
	GArray *columns; /* of struct database_column, in the order of the table */
	guint present;   /* how many columns the file has; the others are of later versions */
	sqlite3_stmt *put, *add, *update;
	GHashTable *queries; /* rest of a SELECT, by its address -> sqlite3_stmt */
};

static void table_free(void *data)
{
	struct database_table *table = data;

	sqlite3_finalize(table->put);
	sqlite3_finalize(table->add);
	sqlite3_finalize(table->update);
	g_hash_table_unref(table->queries);
	g_array_unref(table->columns);
	g_free(table);
}

/* The table of `record`, borrowed. */
static struct database_table *table_of(struct database *database, const struct record *record)
{
	struct database_table *table;

	if (!database->tables)
		database->tables = g_hash_table_new_full(NULL, NULL, NULL, table_free);
	table = g_hash_table_lookup(database->tables, record);
	if (table)
		return table;
	table = g_new0(struct database_table, 1);
	table->record = record;
	table->columns = database_columns(record);
	table->queries = g_hash_table_new_full(NULL, NULL, NULL, database_finalize);
	while (table->present < table->columns->len &&
	       database_column_since(record, g_array_index(table->columns, struct database_column,
							   table->present)
						     .field) <= database->version)
		table->present++;
	g_hash_table_insert(database->tables, (void *)record, table);
	return table;
}

/* Prepares "VERB INTO table VALUES (?, ...)" unless it is prepared. */
static bool prepare_insert(struct database *database, const struct database_table *table,
			   const char *verb, sqlite3_stmt **statement, GError **error)
{
	g_autoptr(GString) sql = NULL;

	if (*statement)
		return true;
	sql = g_string_new(NULL);
	g_string_append_printf(sql, "%s INTO %s VALUES (?", verb, table->record->table);
	for (guint i = 1; i < table->columns->len; i++)
		g_string_append(sql, ", ?");
	g_string_append_c(sql, ')');
	return database_prepare(database, sql->str, statement, error);
}

static void put_row(sqlite3_stmt *statement, const GArray *columns, const void *data)
{
	for (guint i = 0; i < columns->len; i++)
		put_column(statement, (int)i + 1,
			   &g_array_index(columns, struct database_column, i), data);
}

bool database_put_by(struct database *database, const char *sql, const struct record *record,
		     const void *data, const char *doing, GError **error)
{
	sqlite3_stmt *statement = database_query(database, sql, DATABASE_NO_ARGS, error);

	if (!statement)
		return false;
	put_row(statement, table_of(database, record)->columns, data);
	return database_run(database, statement, doing, error);
}

bool database_put(struct database *database, const struct record *record, const void *data,
		  const char *doing, GError **error)
{
	struct database_table *table = table_of(database, record);

	if (!prepare_insert(database, table, "INSERT OR REPLACE", &table->put, error))
		return false;
	put_row(table->put, table->columns, data);
	return database_run(database, table->put, doing, error);
}

bool database_add(struct database *database, const struct record *record, const void *data,
		  int64_t *ret_rowid, const char *doing, GError **error)
{
	struct database_table *table = table_of(database, record);

	if (!prepare_insert(database, table, "INSERT", &table->add, error))
		return false;
	put_row(table->add, table->columns, data);
	for (guint i = 0; record->rowid && i < table->columns->len; i++)
		if (g_array_index(table->columns, struct database_column, i).field->flags &
		    RECORD_KEY)
			sqlite3_bind_null(table->add, (int)i + 1);
	if (!database_run(database, table->add, doing, error))
		return false;
	if (ret_rowid)
		*ret_rowid = sqlite3_last_insert_rowid(database->handle);
	return true;
}

/* Prepares "UPDATE table SET column = ?2, ... WHERE key = ?1 ..." unless it is prepared. */
static bool prepare_update(struct database *database, struct database_table *table, GError **error)
{
	g_autoptr(GString) sql = g_string_new(NULL);
	g_autoptr(GString) where = g_string_new(NULL);

	if (table->update)
		return true;
	g_string_append_printf(sql, "UPDATE %s", table->record->table);
	for (guint i = 0, set = 0; i < table->columns->len; i++) {
		const struct record_field *field =
			g_array_index(table->columns, struct database_column, i).field;

		if (field->flags & RECORD_KEY)
			g_string_append_printf(where, " %s %s = ?%u", where->len ? "AND" : "WHERE",
					       field->name, i + 1);
		else
			g_string_append_printf(sql, "%s %s = ?%u", set++ ? "," : " SET",
					       field->name, i + 1);
	}
	g_string_append(sql, where->str);
	return database_prepare(database, sql->str, &table->update, error);
}

bool database_update(struct database *database, const struct record *record, const void *data,
		     const char *doing, GError **error)
{
	struct database_table *table = table_of(database, record);

	if (!prepare_update(database, table, error))
		return false;
	put_row(table->update, table->columns, data);
	return database_run(database, table->update, doing, error);
}

/* Prepares "SELECT columns FROM table rest" unless it is prepared; borrowed. */
static sqlite3_stmt *select_from(struct database *database, struct database_table *table,
				 const char *rest, GError **error)
{
	sqlite3_stmt *statement = g_hash_table_lookup(table->queries, rest);
	g_autoptr(GString) sql = NULL;

	if (statement) {
		sqlite3_reset(statement);
		return statement;
	}
	sql = g_string_new("SELECT ");
	for (guint i = 0; i < table->present; i++)
		g_string_append_printf(
			sql, "%s%s", i ? ", " : "",
			g_array_index(table->columns, struct database_column, i).field->name);
	g_string_append_printf(sql, " FROM %s %s", table->record->table, rest);
	if (!database_prepare(database, sql->str, &statement, error))
		return NULL;
	g_hash_table_insert(table->queries, (void *)rest, statement);
	return statement;
}

/* The rows of a statement without bindings, whose columns are the first ones of the table. */
static GPtrArray *list_rows(struct database *database, const struct database_table *table,
			    sqlite3_stmt *statement, const struct database_value *arguments,
			    size_t count, const char *doing, GError **error)
{
	g_autoptr(GPtrArray) rows = record_list_new(table->record);
	int code;

	for (size_t i = 0; i < count; i++)
		database_bind(statement, (int)i + 1, arguments[i]);
	while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
		struct database_cursor cursor = database_reading(statement);
		void *row = record_new(table->record);

		for (guint i = 0; i < table->present; i++)
			get_column(&cursor,
				   &g_array_index(table->columns, struct database_column, i), row);
		g_ptr_array_add(rows, row);
	}
	if (code != SQLITE_DONE)
		database_fail(database, code, doing, error);
	sqlite3_reset(statement);
	return code == SQLITE_DONE ? g_steal_pointer(&rows) : NULL;
}

GPtrArray *database_list(struct database *database, const struct record *record, const char *rest,
			 const struct database_value *arguments, size_t count, const char *doing,
			 GError **error)
{
	struct database_table *table = table_of(database, record);
	sqlite3_stmt *statement;

	if (!table->present)
		return record_list_new(record);
	statement = select_from(database, table, rest, error);
	return statement ? list_rows(database, table, statement, arguments, count, doing, error)
			 : NULL;
}

GPtrArray *database_list_by(struct database *database, const char *sql, const struct record *record,
			    const struct database_value *arguments, size_t count, const char *doing,
			    GError **error)
{
	struct database_table *table = table_of(database, record);
	sqlite3_stmt *statement;

	if (!table->present)
		return record_list_new(record);
	statement = database_query(database, sql, DATABASE_NO_ARGS, error);
	return statement ? list_rows(database, table, statement, arguments, count, doing, error)
			 : NULL;
}

void database_read_record(sqlite3_stmt *statement, const struct record *record, void *data)
{
	struct database_cursor cursor = database_reading(statement);

	record_init(record, data);
	for (const struct record_field *field = record->fields; field->name; field++)
		get_column(&cursor, &(struct database_column){field, 0}, data);
}

void *database_get(struct database *database, const struct record *record, const char *rest,
		   const struct database_value *arguments, size_t count, const char *doing,
		   GError **error)
{
	g_autoptr(GPtrArray) rows =
		database_list(database, record, rest, arguments, count, doing, error);

	return rows && rows->len ? g_ptr_array_steal_index(rows, 0) : NULL;
}
