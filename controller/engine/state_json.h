/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The parts of a full state (full_state.h) as JSON, exact to the last bit. A member that has its
 * usual value is left out: most tasks wait, of which there is little to say.
 */

enum state_type {
	STATE_BOOL, /* usually false */
	STATE_U32,  /* of enums as well; usually 0 */
	STATE_I32,  /* usually 0 */
	STATE_U64,  /* usually 0 */
	STATE_SUM,  /* double, usually 0 */
	STATE_TIME, /* double, usually NAN */
	STATE_FAR,  /* double, usually INFINITY */
};

struct state_field {
	const char *name; /* NULL: the end */
	size_t offset;
	enum state_type type;
};

/* The size of a member, by its type's name. */
enum {
	STATE_SIZE_BOOL = sizeof(bool),
	STATE_SIZE_U32 = sizeof(uint32_t),
	STATE_SIZE_I32 = sizeof(int32_t),
	STATE_SIZE_U64 = sizeof(uint64_t),
	STATE_SIZE_SUM = sizeof(double),
	STATE_SIZE_TIME = sizeof(double),
	STATE_SIZE_FAR = sizeof(double),
};

/* Zero; a member of another size than its type has is not compiled. */
#define STATE_FITS(struct_, field_, type_)                                                         \
	(0 * sizeof(struct {                                                                       \
		 _Static_assert(sizeof(((struct struct_ *)0)->field_) == STATE_SIZE_##type_,       \
				#field_ " has another size than " #type_);                         \
		 int unused;                                                                       \
	 }))

#define STATE_FIELD(struct_, field_, type_)                                                        \
	{                                                                                          \
#field_, offsetof(struct struct_, field_) + STATE_FITS(struct_, field_, type_),    \
			STATE_##type_                                                              \
	}

/* A new object with the fields of `data`, and its reader, which sets all of them. */
json_t *state_write(const struct state_field *fields, const void *data);
bool state_read(const struct state_field *fields, const json_t *object, void *data);

/* A number that may be infinite or NAN. */
json_t *state_write_real(double value);
bool state_read_real(const json_t *value, double *ret_value);

/* The shortest time that state_is_period() takes. */
#define STATE_PERIOD_MIN_S 1e-3

/*
 * Whether the time between two mapping events, or the length of a window, that was read from a file
 * can be one. The engine goes from one to the next: with a tiny one it would do nothing else.
 */
bool state_is_period(double seconds);

/* A number below `end`. */
bool state_read_u32(const json_t *value, uint32_t end, uint32_t *ret_value);

/* A list of at most `most` numbers below `end`; none if there is no list. */
bool state_read_list(const json_t *list, uint32_t most, uint32_t end, uint32_t *ret_numbers,
		     uint32_t *ret_count);

/* Adds a member unless it is empty; takes over `value`. */
void state_put(json_t *object, const char *name, json_t *value);
