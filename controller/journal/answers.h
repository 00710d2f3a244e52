/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * What a backend answers while the engine handles an input, as a short text: readings of its clock
 * and its energy. Writer and reader expect the same value of each answer, and only differences are
 * written: of a clock the time of the input, then its last reading; of others the last value of
 * their kind. Differences are those of the bits of two doubles, so that no value is rounded, in
 * Base64. Expected answers at the end are left out, so that a
 * simulation, whose clock stands still during an input, writes next to nothing.
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
