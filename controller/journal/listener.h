/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/backend/backend.h"

/*
 * What passes between an engine and its backend while the engine handles an input: answers,
 * requests, and the backend that notes both.
 */

/*
 * What a backend answers while the engine handles an input, as a short text: readings of its clock
 * and its energy. Writer and reader expect the same value of each answer, and only differences are
 * written: of a clock the time of the input, then its last reading; of others the last value of
 * their kind. Differences are those of nanoseconds where both values are whole numbers of them, or
 * of the bits of two doubles, so that no value is rounded, in Base64. Expected answers at the end
 * are left out, so that a simulation, whose clock stands still during an input, writes next to
 * nothing.
 */

enum answer_kind {
	ANSWER_CLOCK = 0,
	ANSWER_ENERGY,
	ANSWER_ENERGY_AT,
	ANSWER_MARK_FROM, /* struct backend_watermark */
	ANSWER_MARK_UNTIL,
	ANSWER_MARK_ALL,
	ANSWER_OTHER, /* engine_recorder.answer() */
	ANSWER_KINDS,
};

struct answers {
	double last[ANSWER_KINDS];
	GByteArray *bytes; /* of this input */
	guint expected;    /* written: answers as expected behind the last one in `bytes` */
	guint at;          /* read: the next byte */
};

/* Of a run that begins: all values are 0. */
void answers_init(struct answers *answers);
void answers_finish(struct answers *answers);
/* Another engine continues, or a full state was stored: as at first. */
void answers_restart(struct answers *answers);

/*
 * An input begins that is about time_s (NAN: no time). `text` is what was written of it, or NULL;
 * false: no text of answers_text().
 */
bool answers_begin(struct answers *answers, double time_s, const char *text);
/* Writes an answer. */
void answers_add(struct answers *answers, enum answer_kind kind, double value);
/* The text of the input so far, which the caller frees; NULL: all was as expected. */
char *answers_text(const struct answers *answers);
/* Reads the next answer: beyond the last one, as expected. */
double answers_next(struct answers *answers, enum answer_kind kind);
/* Whether answers were written that were not read. */
bool answers_left(const struct answers *answers);

/*
 * What an engine requests of its backend while it handles an input: a sum, by which two engines are
 * compared. Of 47 bits, which SQLite stores in six bytes: the kinds of the requests, one bit each,
 * then a sum of all that they say, in their order.
 */

enum requests_kind {
	REQUESTS_START = 0,
	REQUESTS_KILL,
	REQUESTS_SUSPEND,
	REQUESTS_RESUME,
	REQUESTS_MIGRATE,
	REQUESTS_SHARE,
	REQUESTS_ENQUEUE,
	REQUESTS_LIMIT,
	REQUESTS_KINDS,
};
/* "start", "kill", ... */
extern const char *const requests_names[];

/* A request: an operation of backend.h with its arguments. Arguments it does not take are 0. */
struct request {
	enum requests_kind kind;
	/* Of all kinds but LIMIT, START and ENQUEUE the first; the second of all but LIMIT. */
	uint32_t task;
	uint32_t attempt;
	uint32_t n;
	const uint32_t *nodes;
	uint32_t nodes_count;
	/* START, ENQUEUE: in the place of the task and the nodes above. */
	const struct sched_allocation *placed;
	double start_before_s; /* ENQUEUE */
	double value;          /* SHARE: the yield; LIMIT: the limit */
};

struct requests {
	uint64_t sum;
	guint kinds; /* bits */
	/* Of the first requests, for messages; `tasks` is UINT32_MAX for LIMIT. */
	guint count;
	guint8 first_kinds[4];
	uint32_t first_tasks[4];
};

/* An input begins. */
void requests_begin(struct requests *requests);
void requests_add(struct requests *requests, const struct request *request);
/* The sum of the requests since then, above 0; -1: there were none. */
int64_t requests_sum(const struct requests *requests);
/* Bits of the kinds that a sum has; 0 of -1. */
guint requests_kinds_of(int64_t sum);
/* "start of task 3, kill of task 7", or "none"; the caller frees. */
char *requests_text(const struct requests *requests);

/*
 * A backend that passes everything on to another one, and notes what it answers and what is
 * requested of it while an input is handled. It has the operations of the other one.
 */
struct listener {
	struct backend backend;
	struct backend_ops ops;
	struct backend *other;
	struct answers answers;
	struct requests requests;
	bool noting; /* an input is being handled */
};

/* To be listened from now on: `other` stays the caller's. */
void listener_set(struct listener *listener, struct backend *other);
