/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_profile.h"

#include "controller/store/store_private.h"

static const struct record_field measurement_fields[] = {
	STORE_KEY(I64, store_measurement, n),
	{RECORD_FIELD_TEXT(store_measurement, type)},
	{RECORD_FIELD_TEXT(store_measurement, cluster)},
	STORE_INTEGER_OR_NULL(store_measurement, round), /* SQL's UNIQUE does not compare NULL */
	{RECORD_FIELD_TEXT(store_measurement, work)},
	STORE_REAL_NOT_NULL(store_measurement, exec_s),
	{RECORD_FIELD_REAL(store_measurement, energy_j)},
	{NULL},
};
G_STATIC_ASSERT(STORE_NO_ROUND == -1);

RECORD_DEFINE_FREE_OF(free_measurement, store_measurement_record)

const struct record store_measurement_record = {.name = "measurement",
						.size = sizeof(struct store_measurement),
						.fields = measurement_fields,
						.free = free_measurement,
						.table = "measurement",
						.since = 10,
						.rowid = true,
						.constraint = "UNIQUE (type, cluster, round)"};

static const struct record_field unmeasured_fields[] = {
	STORE_KEY(TEXT, store_unmeasured, type),
	STORE_KEY(TEXT, store_unmeasured, cluster),
	{RECORD_FIELD_TEXT(store_unmeasured, reason)},
	STORE_REAL_NOT_NULL(store_unmeasured, task_deadline_s),
	{NULL},
};

RECORD_DEFINE_FREE_OF(free_unmeasured, store_unmeasured_record)

const struct record store_unmeasured_record = {.name = "unmeasured pair",
					       .size = sizeof(struct store_unmeasured),
					       .fields = unmeasured_fields,
					       .free = free_unmeasured,
					       .table = "unmeasured",
					       .since = 10};

static const struct record_field overhead_fields[] = {
	STORE_KEY(I64, store_overhead, n),
	{RECORD_FIELD_TEXT(store_overhead, cluster)},
	{RECORD_FIELD_TEXT(store_overhead, keep)},
	{RECORD_FIELD_TEXT(store_overhead, detail)},
	{NULL},
};

RECORD_DEFINE_FREE_OF(free_overhead, store_overhead_record)

const struct record store_overhead_record = {.name = "overhead",
					     .size = sizeof(struct store_overhead),
					     .fields = overhead_fields,
					     .free = free_overhead,
					     .table = "overhead",
					     .since = 10,
					     .rowid = true};

#define READ "read what a profile measured"

bool store_set_durable(struct store *store, bool durable, GError **error)
{
	return database_exec(store->database,
			     durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL",
			     "set up the journal", error);
}

bool store_add_measurement(struct store *store, const struct store_measurement *measurement,
			   GError **error)
{
	return database_add(store->database, &store_measurement_record, measurement, NULL,
			    "store a measurement", error);
}

GPtrArray *store_measurements(struct store *store, GError **error)
{
	return database_list(store->database, &store_measurement_record, "ORDER BY n",
			     DATABASE_NO_ARGS, READ, error);
}

bool store_drop_measurement(struct store *store, int64_t n, GError **error)
{
	return database_do(store->database, "DELETE FROM measurement WHERE n = ?", DATABASE_ARGS(n),
			   "forget a measurement", error);
}

STORE_DEFINE_PUT(store_put_unmeasured, store_unmeasured, "store what cannot be measured")

GPtrArray *store_unmeasured(struct store *store, GError **error)
{
	return database_list(store->database, &store_unmeasured_record, "ORDER BY type, cluster",
			     DATABASE_NO_ARGS, READ, error);
}

bool store_drop_unmeasured(struct store *store, const char *type, const char *cluster,
			   GError **error)
{
	return database_do(store->database, "DELETE FROM unmeasured WHERE type = ? AND cluster = ?",
			   DATABASE_ARGS(type, cluster), "forget what could not be measured",
			   error);
}

bool store_add_overhead(struct store *store, const struct store_overhead *overhead, GError **error)
{
	return database_add(store->database, &store_overhead_record, overhead, NULL,
			    "store what suspending took", error);
}

GPtrArray *store_overheads(struct store *store, GError **error)
{
	return database_list(store->database, &store_overhead_record, "ORDER BY n",
			     DATABASE_NO_ARGS, READ, error);
}
