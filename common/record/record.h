/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A record is a structure whose fields are described once, by rows. From the rows come its JSON in
 * both directions with the errors of unknown keys and ranges, its SQLite table and columns
 * (common/sqlite/database.h), its copy, its free and its comparison.
 */

/* What a field holds. */
enum record_type {
	RECORD_BOOL = 0, /* bool */
	RECORD_U32,      /* uint32_t */
	RECORD_I32,      /* int32_t */
	RECORD_I64,      /* int64_t */
	RECORD_REAL,     /* double */
	RECORD_TEXT,     /* char *, owned */
	RECORD_WORD,     /* an enum with the values 0, 1, 2 ..., in the order of `words` */
	RECORD_JSON,     /* json_t *, owned: any value */
	RECORD_STRUCT,   /* a structure of `of`, embedded */
	RECORD_NUMBERS,  /* uint32_t *, owned, with its uint32_t count at count_offset */
	RECORD_REALS,    /* double *, owned, with its uint32_t count as above */
	RECORD_ARRAY,    /* array of structures of `of`, owned, with its uint32_t count as above */
	RECORD_LIST,     /* GPtrArray * of structures of `of`, owned; `of` has a `free` */
	RECORD_TEXTS,    /* char **, NULL-terminated, owned; NULL: no texts */
	RECORD_BYTES,    /* GBytes *, owned; SQLite alone */
	/*
	 * const char *, borrowed from the JSON that is read, which must outlive the structure. With
	 * `read` and `write`: any pointer that is borrowed.
	 */
	RECORD_BORROWED,
};

/* Which value of a field stands for null, and for a key that is absent. */
enum record_null {
	RECORD_NULL_NEVER = 0, /* null is refused */
	RECORD_NULL_ZERO,      /* 0, for instants: not yet */
	RECORD_NULL_MINUS_ONE, /* -1, for durations and counters: not known */
	RECORD_NULL_NAN,       /* NAN, for reals: not known */
	RECORD_NULL_INFINITY,  /* INFINITY, for reals: no limit */
	RECORD_NULL_POINTER,   /* NULL, for text, JSON, numbers, arrays and lists */
};

enum {
	/* JSON: the key may be absent, which means the same as null */
	RECORD_OPTIONAL = 1 << 0,
	/* JSON: left out of an object that is written where the value is null */
	RECORD_OMIT_NULL = 1 << 1,
	/* SQLite: a column of the primary key */
	RECORD_KEY = 1 << 2,
	/*
	 * JSON: left out of an object that is written where it is 0, false, NULL or an empty array
	 */
	RECORD_OMIT_ZERO = 1 << 3,
	/* RECORD_ARRAY: an array of `longest` structures in the structure itself, not a pointer */
	RECORD_EMBEDDED = 1 << 4,
};

/* A structure that is being read from JSON, for functions of its rows. */
struct record_reading {
	const struct record *record;
	unsigned variant; /* as the caller of record_read() gave it, with its context: */
	void *context;
	GError **error;
	/* The structure that holds this one; NULL: none. For errors: */
	const struct record_reading *above;
	const char *key;
	size_t index; /* in a list; SIZE_MAX: the key holds one structure */
};

/* A row. */
struct record_field {
	const char *name; /* of the key and of the column */
	enum record_type type;
	enum record_null null;
	unsigned flags;
	size_t offset; /* of the field in the structure */
	/*
	 * of a list of numbers or structures; two fields may share a count and are then equally
	 * long
	 */
	size_t count_offset;
	/* of a number, or of each in a list; both 0: what the type holds */
	double min, max;
	uint32_t longest;         /* entries of a list at the most; 0: RECORD_LONGEST */
	const char *const *words; /* RECORD_WORD: NULL-terminated */
	const struct record *of;  /* RECORD_STRUCT, RECORD_ARRAY, RECORD_LIST */
	/* JSON: bits of the variants of the structure that have the key; 0: all */
	unsigned variants;
	/*
	 * JSON, in place of what the type does; NULL: as the type. `write` returns a new reference,
	 * or NULL: the key is left out. `read` gets a value that is there and returns false with an
	 * error of record_refuse(). `data` is the structure.
	 */
	json_t *(*write)(const struct record_field *field, const void *data, const void *context);
	bool (*read)(const struct record_reading *reading, const struct record_field *field,
		     const json_t *value, void *data);
	/* SQLite. The first version of the schema with this column; 0: as the table. */
	unsigned since;
	const char *references; /* the table whose row this names; NULL: none */
	/* of a column that is added to a table which exists, as "0"; NULL: none */
	const char *sql_default;
};

#define RECORD_LONGEST 65536
/* The largest int64_t, as the `max` of a row. */
#define RECORD_I64_MAX 0x1p63

/* The rows of one structure. */
struct record {
	/*
	 * What one is called in errors, such as "suspension of a task"; NULL: by its place, such as
	 * "tasks[3].utility", and a document by nothing.
	 */
	const char *name;
	/* of the structure; 0: the rows are a part of the structure that has them */
	size_t size;
	const struct record_field *fields; /* the last one has no name */
	/* unknown keys are ignored, as of a peer of a later version; else refused */
	bool open;
	GDestroyNotify free; /* frees one; for RECORD_LIST and database_list() */
	/*
	 * JSON: verifies a structure whose rows were read; as `read` of a row; NULL: nothing to do
	 */
	bool (*check)(const struct record_reading *reading, void *data);
	/* SQLite. The table; NULL: none. */
	const char *table;
	unsigned since; /* the first version of the schema with the table */
	bool rowid;     /* not WITHOUT ROWID; the field of RECORD_KEY is the row id */
	/* the primary key where it is not in the order of the columns; NULL: it is */
	const char *key;
	const char *constraint; /* of the table, as "UNIQUE (a, b)"; NULL: none */
};

/* The beginnings of rows, for `struct type`. */
#define RECORD_AT(type_, field_) .name = #field_, .offset = offsetof(struct type_, field_)
#define RECORD_FIELD_BOOL(type_, field_) RECORD_AT(type_, field_), .type = RECORD_BOOL
#define RECORD_FIELD_U32(type_, field_) RECORD_AT(type_, field_), .type = RECORD_U32
#define RECORD_FIELD_I64(type_, field_) RECORD_AT(type_, field_), .type = RECORD_I64
#define RECORD_FIELD_REAL(type_, field_)                                                           \
	RECORD_AT(type_, field_), .type = RECORD_REAL, .null = RECORD_NULL_NAN
#define RECORD_FIELD_TEXT(type_, field_) RECORD_AT(type_, field_), .type = RECORD_TEXT
/* An instant in nanoseconds; 0 and null: not yet. */
#define RECORD_FIELD_TIME(type_, field_)                                                           \
	RECORD_AT(type_, field_), .type = RECORD_I64, .null = RECORD_NULL_ZERO,                    \
				  .flags = RECORD_OPTIONAL, .min = 0, .max = RECORD_I64_MAX
#define RECORD_FIELD_WORD(type_, field_, words_)                                                   \
	RECORD_AT(type_, field_), .type = RECORD_WORD, .words = (words_)
#define RECORD_FIELD_NUMBERS(type_, field_, count_)                                                \
	RECORD_AT(type_, field_), .type = RECORD_NUMBERS,                                          \
				  .count_offset = offsetof(struct type_, count_)
#define RECORD_FIELD_ARRAY(type_, field_, count_, of_)                                             \
	RECORD_AT(type_, field_), .type = RECORD_ARRAY,                                            \
				  .count_offset = offsetof(struct type_, count_), .of = &(of_)
#define RECORD_FIELD_LIST(type_, field_, of_)                                                      \
	RECORD_AT(type_, field_), .type = RECORD_LIST, .of = &(of_)
#define RECORD_FIELD_STRUCT(type_, field_, of_)                                                    \
	RECORD_AT(type_, field_), .type = RECORD_STRUCT, .of = &(of_)

/* Defines NAME_free(), which frees a `struct name` of `record`; NULL is allowed. */
#define RECORD_DEFINE_FREE(name_, record_)                                                         \
	void name_##_free(struct name_ *data)                                                      \
	{                                                                                          \
		record_free(&(record_), data);                                                     \
	}

/* Defines a function for the .free of a record that only its own file frees. */
#define RECORD_DEFINE_FREE_OF(name_, record_)                                                      \
	static void name_(void *data)                                                              \
	{                                                                                          \
		record_free(&(record_), data);                                                     \
	}

/* The index of `name` in NULL-terminated `words`, or -1. `name` may be NULL. */
int record_word_find(const char *const *words, const char *name);

/* Where a field of `data` is, and the count of its list. */
static inline void *record_place(const struct record_field *field, const void *data)
{
	return (char *)data + field->offset;
}

static inline uint32_t *record_count(const struct record_field *field, const void *data)
{
	return (uint32_t *)((char *)data + field->count_offset);
}

/* A zeroed structure with the null of each field; the caller frees it with record_free(). */
void *record_new(const struct record *record);

/* Sets each field of `data`, which is uninitialised, to its null, or to 0. */
void record_init(const struct record *record, void *data);

/* Frees what `data` owns and sets each field as record_init(). */
void record_clear(const struct record *record, void *data);

/* Clears and frees `data`; NULL is allowed. */
void record_free(const struct record *record, void *data);

/* A deep copy, owned by the caller; or in `to`, which is uninitialised. */
void *record_copy(const struct record *record, const void *data);
void record_copy_to(const struct record *record, const void *data, void *to);

/* An empty list whose elements are freed with it. */
GPtrArray *record_list_new(const struct record *record);

/* Whether all fields are equal; NANs are equal. */
bool record_equal(const struct record *record, const void *a, const void *b);

/*
 * The structure as JSON: a new reference. Reals that are not finite and values that stand for null
 * become null. O(size of the document).
 */
json_t *record_to_json(const struct record *record, const void *data);

/* As record_to_json(), with the keys of a variant, and with `context` for `write` of the rows. */
json_t *record_write(const struct record *record, const void *data, unsigned variant,
		     const void *context);

/*
 * Reads untrusted JSON into `data`, which is initialised (record_init()) and owned by the caller.
 * Returns false with `error` (JSON_ERROR) in the words of common/json.h, such as 'suspension of a
 * task: key "n": 0 is outside 1..100000' or 'suspension of a task: unknown key "x"; it takes a, b';
 * `data` then is cleared. O(size of the document).
 */
bool record_from_json(const struct record *record, const json_t *object, void *data,
		      GError **error);

/*
 * As record_from_json(), with the keys of a variant, and with `context` for functions of the rows.
 */
bool record_read(const struct record *record, const json_t *object, void *data, unsigned variant,
		 void *context, GError **error);

/* Reads a value as the type of its row does, for `read` of the row. */
bool record_read_value(const struct record_reading *reading, const struct record_field *field,
		       const json_t *value, void *data);

/* Sets the error, behind the place or name of the structure that is read. Returns false. */
bool record_refuse(const struct record_reading *reading, const char *format, ...)
	G_GNUC_PRINTF(2, 3);

/* As record_from_json(), for one key; other keys are not looked at. */
bool record_field_from_json(const struct record *record, const struct record_field *field,
			    const json_t *object, void *data, GError **error);

/*
 * The structures of a JSON array, owned by the caller; NULL and null are no structures. NULL with
 * `error`: the array is malformed, or longer than RECORD_LONGEST.
 */
GPtrArray *record_list_from_json(const struct record *record, const json_t *array, GError **error);

/* A list as JSON: a new reference. NULL is an empty list. */
json_t *record_list_to_json(const struct record *record, const GPtrArray *list);

/* The row of `name`, or NULL. */
const struct record_field *record_field_find(const struct record *record, const char *name);
