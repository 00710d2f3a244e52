/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "local-sched/power/power_meter.h"

/*
 * A meter under test, against a real peer: its configuration, what was last read from it, and a
 * directory for the files of both. The first member of a test's own fixture, or one like any other.
 */
struct meter_fixture {
	const char *host;           /* the meter's host, for messages */
	char *dir;                  /* of its own; removed at the end */
	char *password_file;        /* in `dir`; the test writes it */
	struct config_meter config; /* the test fills it; `password_file` is set */
	struct meter_set *set;      /* of the meter; borrowed if the test has set it */
	bool own_set;               /* it is the fixture's */
	power_meter_t *meter;       /* opened by the first read; NULL: opened by the next */
	int reads;                  /* outcomes so far */
	/* The last outcome. */
	int64_t mw;    /* -1 after an error */
	int code;      /* of the error; 0: a reading */
	char *message; /* of the error, or NULL */
};

/* Longest wait for anything that a test waits for, in seconds: only a hang reaches it. */
#define METER_FIXTURE_WAIT_S 60

/* Runs the main loop until `condition` holds, which may change by time too; a hang is fatal. */
#define METER_FIXTURE_WAIT_FOR(condition)                                                          \
	do {                                                                                       \
		const guint waker_id_ = meter_fixture_wait_begin(#condition);                      \
		while (!(condition))                                                               \
			g_main_context_iteration(NULL, TRUE);                                      \
		meter_fixture_wait_end(waker_id_);                                                 \
	} while (0)

/* For METER_FIXTURE_WAIT_FOR(): keeps the loop turning, and aborts the test when time is over. */
guint meter_fixture_wait_begin(const char *condition);
void meter_fixture_wait_end(guint waker_id);

/* Makes the directory; `host` (borrowed) names the meter's host. */
void meter_fixture_init(struct meter_fixture *fixture, const char *host);

/*
 * Closes the meter, waits until every child of this process is reaped, as any program that a meter
 * runs must be, and removes the directory. Peers are stopped before, and after
 * meter_fixture_close() if the meter holds a connection to them.
 */
void meter_fixture_finish(struct meter_fixture *fixture);

/* The path of file NAME in the directory; the caller frees. */
char *meter_fixture_path(const struct meter_fixture *fixture, const char *name);
/* Replaces the text of a file, which becomes readable by its owner alone. */
void meter_fixture_write(const char *path, const char *text);

/* Opens the meter, with a set of its own unless the test has given one. */
void meter_fixture_open(struct meter_fixture *fixture);

/*
 * Reads the meter once and waits for the outcome, which is then in `fixture`. Returns the code of
 * the error or 0.
 */
int meter_fixture_read(struct meter_fixture *fixture);

/* The same again, ten times at most, while a busy machine lets the deadlines of an answer pass. */
int meter_fixture_read_answer(struct meter_fixture *fixture);

/* What gets the outcome of a read that the test starts itself; `data` is the fixture. */
void meter_fixture_on_read(const struct power_reading *reading, const GError *error, void *data);

/* Closes the meter; the next read opens another, with what `config` says by then. */
void meter_fixture_close(struct meter_fixture *fixture);

/* Reads `count` times, each a success, and reports the latencies as a message of the test. */
void meter_fixture_time(struct meter_fixture *fixture, int count);

/* A UDP port of 127.0.0.1 that is free now. */
uint16_t meter_fixture_free_port(void);
