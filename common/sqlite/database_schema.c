/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The schema of a file: the tables of records, the file's version, its upgrade, and SQLite's check.
 */
#include "common/sqlite/database_private.h"

#include "common/error_fail.h"

/* Tables. */

static void add_columns(GArray *columns, const struct record *record, size_t base)
{
	for (const struct record_field *field = record->fields; field->name; field++) {
		const struct database_column column = {field, base};

		if (field->type == RECORD_STRUCT)
			add_columns(columns, field->of, base + field->offset);
		else
			g_array_append_val(columns, column);
	}
}

GArray *database_columns(const struct record *record)
{
	GArray *columns = g_array_new(FALSE, FALSE, sizeof(struct database_column));

	add_columns(columns, record, 0);
	return columns;
}

static const char *column_type(enum record_type type)
{
	switch (type) {
	case RECORD_REAL:
		return "REAL";
	case RECORD_TEXT:
	case RECORD_WORD:
		return "TEXT";
	case RECORD_BYTES:
		return "BLOB";
	default:
		return "INTEGER";
	}
}

static void append_column(GString *sql, const struct record *record,
			  const struct record_field *field)
{
	g_string_append_printf(sql, "%s %s", field->name, column_type(field->type));
	if (record->rowid && field->flags & RECORD_KEY)
		g_string_append(sql, " PRIMARY KEY");
	else if (field->null == RECORD_NULL_NEVER)
		g_string_append(sql, " NOT NULL");
	if (field->sql_default)
		g_string_append_printf(sql, " DEFAULT %s", field->sql_default);
	if (field->references)
		g_string_append_printf(sql, " REFERENCES %s", field->references);
}

static void append_key(GString *sql, const struct record *record, const GArray *columns)
{
	const char *before = "";

	g_string_append_printf(sql, ", PRIMARY KEY (%s", record->key ?: "");
	for (guint i = 0; !record->key && i < columns->len; i++) {
		const struct record_field *field =
			g_array_index(columns, struct database_column, i).field;

		if (!(field->flags & RECORD_KEY))
			continue;
		g_string_append_printf(sql, "%s%s", before, field->name);
		before = ", ";
	}
	g_string_append(sql, ")) WITHOUT ROWID;");
}

int database_column_since(const struct record *record, const struct record_field *field)
{
	return (int)MAX(record->since, field->since);
}

/*
 * Appends the statements that make the table of `record`, or its columns, of which `version` is the
 * first one; none if the record has none of that version.
 */
static void append_schema(GString *sql, const struct record *record, int version)
{
	g_autoptr(GArray) columns = database_columns(record);
	const bool is_new = (int)record->since == version;
	const char *before = "";

	if (is_new)
		g_string_append_printf(sql, "CREATE TABLE %s (", record->table);
	for (guint i = 0; i < columns->len; i++) {
		const struct record_field *field =
			g_array_index(columns, struct database_column, i).field;

		if (database_column_since(record, field) != version)
			continue;
		if (is_new)
			g_string_append_printf(sql, "%s ", before);
		else
			g_string_append_printf(sql, "ALTER TABLE %s ADD COLUMN ", record->table);
		append_column(sql, record, field);
		if (!is_new)
			g_string_append_c(sql, ';');
		before = ",";
	}
	if (is_new && record->constraint)
		g_string_append_printf(sql, ", %s", record->constraint);
	if (is_new && record->rowid)
		g_string_append(sql, ");");
	else if (is_new)
		append_key(sql, record, columns);
}

/* Migration. */

/* Reads an integer with a PRAGMA or query. Returns a result code of SQLite. */
static int read_integer(struct database *database, const char *sql, int64_t *ret_value)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(database->handle, sql, -1, &statement, NULL);

	if (code == SQLITE_OK) {
		code = sqlite3_step(statement);
		if (code == SQLITE_ROW) {
			*ret_value = sqlite3_column_int64(statement, 0);
			code = SQLITE_OK;
		}
	}
	sqlite3_finalize(statement);
	return code;
}

/* Whether the file needs the step to `version`. */
static bool is_wanted(struct database *database, int version)
{
	const char *wanted = database->kind->steps[version].wanted;
	int64_t value = 1;

	if (wanted && read_integer(database, wanted, &value) != SQLITE_OK)
		return true; /* the step will fail too, with the reason */
	return value > 0;
}

bool database_identify(struct database *database, bool create, GError **error)
{
	const struct database_kind *kind = database->kind;
	int64_t application = 0;
	int64_t version = 0;
	int64_t tables = 0;
	int code = read_integer(database, "PRAGMA application_id", &application);

	if (code == SQLITE_OK)
		code = read_integer(database, "PRAGMA user_version", &version);
	if (code == SQLITE_OK)
		code = read_integer(database, "SELECT count(*) FROM sqlite_master", &tables);
	if (code != SQLITE_OK)
		return database_fail(database, code, "read the file", error);
	if (create && application == 0 && version == 0 && tables == 0)
		return true;
	if (application != kind->application_id)
		return error_fail(error, DATABASE_ERROR, DATABASE_ERROR_OPEN, "%s: not %s",
				  database->name, kind->what);
	if (version < (kind->application_id ? 1 : 0) || version > kind->version)
		return error_fail(error, DATABASE_ERROR, DATABASE_ERROR_SCHEMA,
				  "%s: written with schema %d, %s knows %d%s", database->name,
				  (int)version, kind->reader, kind->version, kind->newer);
	database->version = (int)version;
	return true;
}

bool database_migrate(struct database *database, GError **error)
{
	const struct database_kind *kind = database->kind;
	g_autoptr(GString) sql = g_string_new("BEGIN IMMEDIATE;");

	if (database->version == kind->version)
		return true;
	for (int version = database->version + 1; version <= kind->version; version++) {
		g_string_append(sql, kind->steps[version].before ?: "");
		for (const struct record *const *record = kind->records; *record; record++)
			append_schema(sql, *record, version);
		if (kind->steps[version].sql && is_wanted(database, version))
			g_string_append(sql, kind->steps[version].sql);
	}
	if (kind->application_id)
		g_string_append_printf(sql, "PRAGMA application_id = %d; ", kind->application_id);
	g_string_append_printf(sql, "PRAGMA user_version = %d; COMMIT", kind->version);
	if (database_exec(database, sql->str, "create the tables", error)) {
		database->version = kind->version;
		return true;
	}
	database_rollback(database);
	return false;
}

bool database_check(struct database *database, const char *sql, GError **error)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(database->handle, sql ?: "PRAGMA quick_check(1)", -1,
				      &statement, NULL);
	bool sound = false;

	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	if (code == SQLITE_ROW) {
		g_autofree char *text = g_strdup((const char *)sqlite3_column_text(statement, 0));

		sound = g_strcmp0(text, "ok") == 0;
		if (text)
			g_strdelimit(text, "\n", ' ');
		if (!sound)
			g_set_error(error, DATABASE_ERROR, DATABASE_ERROR_CORRUPT,
				    "%s: damaged or truncated: %s%s", database->name, text ?: "?",
				    database->kind->cure);
	} else if (code == SQLITE_DONE) {
		sound = true;
	} else {
		database_fail(database, code, "check the file", error);
	}
	sqlite3_finalize(statement);
	return sound;
}
