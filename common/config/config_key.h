/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A key of a configuration is one row: its name, kind, default, range and help. Files are read and
 * written by the rows; defaults, the errors of ranges and words, `virtbed config keys` and
 * docs/reference/virtbed.yaml.5 come from them. Rules that compare keys with each other are code,
 * beside the rows of their section.
 */

#define CONFIG_ERROR (config_error_quark())
GQuark config_error_quark(void);

/* The most bytes of a file; keeps a hostile file from eating the memory. */
#define CONFIG_FILE_BYTES_MAX (4 * 1024 * 1024)

/* Codes of CONFIG_ERROR. All of them are bad input: a program exits with status 2. */
enum config_error {
	CONFIG_ERROR_READ = 1, /* the file could not be read */
	CONFIG_ERROR_SYNTAX,   /* not YAML, unknown key, wrong kind of value */
	CONFIG_ERROR_MEANING,  /* a value that makes no sense */
};

/* What a key holds, and the type of its field. */
enum config_kind {
	CONFIG_KIND_UINT = 0, /* uint16_t, uint32_t or uint64_t */
	CONFIG_KIND_NUMBER,   /* double */
	CONFIG_KIND_FLAG,     /* bool */
	CONFIG_KIND_WORD,     /* an enum of the values 0, 1, 2 ..., in the order of `words` */
	CONFIG_KIND_TEXT,     /* char *, owned; NULL: absent */
	CONFIG_KIND_SECTION,  /* pointer to the structure of `section`, owned; NULL: absent */
	/* pointer to an array, owned, with its uint32_t count in FIELD_count */
	CONFIG_KIND_LIST,
};

/* What 0 means for an optional number. */
enum config_zero {
	CONFIG_ZERO_IS_ABSENT = 0, /* the same as leaving it out */
	CONFIG_ZERO_IS_VALUE,      /* a value of its own, beside a default that is not 0 */
	/* it makes no sense: the author of the file means something else */
	CONFIG_ZERO_IS_REFUSED,
};

/* How an error tells that a number is outside its range. */
enum config_range {
	CONFIG_RANGE_BRACKETS = 0, /* "2 is outside (0, 1]" */
	CONFIG_RANGE_TO,           /* "2 is outside 0 to 1" */
	CONFIG_RANGE_FROM,         /* "2 is not from 0 to 1" */
	/* "2 is more than 1; give 0 to 1", "-1 is negative or not a number", "1 is too little; ..." */
	CONFIG_RANGE_MOST,
};

/* A row. */
struct config_key {
	const char *name;
	/* its name in the version before, which a file may still have; a warning says so */
	const char *former;
	const char *help; /* for the manual page; `x` is bold there */
	enum config_kind kind;
	enum config_kind entry; /* of a list: what each entry is */
	bool needed;            /* its section is not complete without it */
	bool or_one;            /* of a list: a single value may stand for it */
	uint32_t least;         /* entries that a list has at the least */
	uint32_t most;          /* and at the most; 0: any number */
	size_t offset;          /* of the field in the section's structure */
	size_t size;            /* of the field; of a list the size of an entry */
	size_t count_offset;    /* of a list's count */
	/*
	 * No two entries of a list are the same; of a section's first key: no two sections of a
	 * list have the same.
	 */
	bool once;
	double fallback;           /* default of a number, flag or word where the key is absent */
	const char *fallback_text; /* default of a text */
	enum config_zero zero;
	double min, max; /* of a number or of each number in a list; both 0: any */
	bool above_min;  /* `min` itself is outside */
	bool below_max;  /* `max` itself is outside */
	enum config_range range;
	/*
	 * What an error says instead: `#` is the number, `@` the range, `~` the text of the
	 * section's first key.
	 */
	const char *says;
	const char *const *words; /* NULL-terminated */
	/*
	 * In a section whose first key is a word: the words with which this key is taken, as bits;
	 * 0: with any.
	 */
	unsigned takers;
	/* what to do where it is missing with one of them, or there twice; NULL: nothing */
	const char *cure;
	/*
	 * Of a section, or of each entry of a list of sections; NULL: not served here, so that it
	 * is not read.
	 */
	const struct config_section *section;
};

/* The rows of one structure. */
struct config_section {
	const struct config_key *keys; /* the last one has no name */
	size_t size;                   /* of the structure */
	const char *help;              /* for the manual page, or NULL */
	/* a key of a former version that is refused with advice; NULL: none */
	const char *gone;
	const char *advice; /* what to do about it */
};

/* A key of struct config_SECTION. */
#define CONFIG_FIELD(section, field)                                                               \
	.name = #field, .offset = offsetof(struct config_##section, field),                        \
	.size = sizeof(((struct config_##section *)0)->field)
#define CONFIG_COUNTED(section, field)                                                             \
	.name = #field, .offset = offsetof(struct config_##section, field),                        \
	.size = sizeof(*((struct config_##section *)0)->field),                                    \
	.count_offset = offsetof(struct config_##section, field##_count), .kind = CONFIG_KIND_LIST
#define CONFIG_UINT(section, field) CONFIG_FIELD(section, field), .kind = CONFIG_KIND_UINT
#define CONFIG_NUMBER(section, field) CONFIG_FIELD(section, field), .kind = CONFIG_KIND_NUMBER
#define CONFIG_FLAG(section, field) CONFIG_FIELD(section, field), .kind = CONFIG_KIND_FLAG
#define CONFIG_WORD(section, field, list)                                                          \
	CONFIG_FIELD(section, field), .kind = CONFIG_KIND_WORD, .words = (list)
#define CONFIG_TEXT(section, field) CONFIG_FIELD(section, field), .kind = CONFIG_KIND_TEXT
#define CONFIG_SECTION(section_, field, rows)                                                      \
	CONFIG_FIELD(section_, field), .kind = CONFIG_KIND_SECTION, .section = &(rows)
#define CONFIG_LIST(section, field, what)                                                          \
	CONFIG_COUNTED(section, field), .entry = CONFIG_KIND_##what
#define CONFIG_SECTIONS(section_, field, rows)                                                     \
	CONFIG_COUNTED(section_, field), .entry = CONFIG_KIND_SECTION, .section = &(rows)
/* A written 0 is refused, or is a value of its own. */
#define CONFIG_NOT_ZERO .zero = CONFIG_ZERO_IS_REFUSED
#define CONFIG_OR_ZERO .zero = CONFIG_ZERO_IS_VALUE
/* Ranges: "2 is outside 0 to 1", "2 is more than 1; give 0 to 1", "2 is outside (0, 1]". */
#define CONFIG_TO(low, high) .min = (low), .max = (high), .range = CONFIG_RANGE_TO
#define CONFIG_MOST(low, high) .min = (low), .max = (high), .range = CONFIG_RANGE_MOST
#define CONFIG_ABOVE(low, high) .min = (low), .max = (high), .above_min = true

/* Exchanges the values of two variables of one type. */
#define CONFIG_EXCHANGE(a, b)                                                                      \
	do {                                                                                       \
		__typeof__(a) former = (a);                                                        \
		(a) = (b);                                                                         \
		(b) = former;                                                                      \
	} while (0)

/* The row in `section` that has that name or had it in the version before, or NULL. */
const struct config_key *config_key_find(const struct config_section *section, const char *name);

/*
 * The first of `count` structures of `size` bytes whose first text is `first` and whose second is
 * `second` (NULL: any), or NULL. The structures begin with these texts. O(count).
 */
const void *config_entry_find(const void *entries, uint32_t count, size_t size, const char *first,
			      const char *second);

/* The same, in a list of `data`. */
#define CONFIG_FIND(data, list, first, second)                                                     \
	config_entry_find((data)->list, (data)->list##_count, sizeof(*(data)->list), first, second)

/* The kind's name in the manual page, such as "whole number". */
const char *config_kind_name(enum config_kind kind);

/*
 * Whether the field of `key` in `data` is as if the file did not have the key; a key that is needed
 * never is.
 */
bool config_key_is_absent(const struct config_key *key, const void *data);

/* The value of a number, flag or word at `place`, which is the field of `key` or an entry of it. */
double config_key_number(const struct config_key *key, enum config_kind kind, const void *place);

/* The default of `key` as files have it, or NULL: none, or nothing. The caller frees. */
char *config_key_fallback(const struct config_key *key);

/* The range of `key` in words, as in "0 to 1" or "(0, 1]", or NULL: any. The caller frees. */
char *config_key_range(const struct config_key *key);

/* Fills all of `data`, a structure of `section`, with the defaults. */
void config_section_fill(const struct config_section *section, void *data);

/*
 * A new structure of `section` with the defaults; the caller frees it with config_section_free().
 */
void *config_section_new(const struct config_section *section);

/*
 * Gives the number, flag or word `name` of `data`, a structure of `section`, a value that is in its
 * range.
 */
void config_section_set(const struct config_section *section, void *data, const char *name,
			double value);

/* Frees what `data`, a structure of `section`, points to, and all below. */
void config_section_clear(const struct config_section *section, void *data);

/* Clears and frees `data`; NULL is allowed. */
void config_section_free(const struct config_section *section, void *data);

/*
 * Whether every number of `data` and below is in its range, no list longer than it may be, and
 * nothing there twice that may be there `once`; `path` is that of the section, "" for the file.
 * Returns NULL, or the first "KEY.PATH: what is wrong" (the caller frees). An optional number of 0
 * that is the same as an absent one passes.
 */
char *config_section_check(const struct config_section *section, const char *path,
			   const void *data);
