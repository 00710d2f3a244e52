/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* What `virtbed submit` asks for, and as the body of POST /v1/tasks. */
struct submission {
	char *name, *key;                   /* NULL: none */
	char *count, *array;                /* numbers as typed, one of them; NULL: 1 */
	char *utility;                      /* a number as typed; NULL: the controller's default */
	char *constant, *zero_at, *deadline; /* durations as typed; NULL: none */
	gboolean held;
	char *priority;      /* a number as typed; NULL: the controller's default, 0 */
	char *type;          /* NULL: to be chosen for the script by the next two */
	char *cores, *nodes; /* numbers as typed, one of them; NULL: not said */
	char *time;          /* a duration as typed; NULL: not said */
	char *script;        /* path of a script to run; NULL: a benchmark */
	char **arguments;    /* its arguments, NULL-terminated; NULL: none */
	char **stage_in;     /* paths of files to go in with it, likewise */
	char **stage_out;    /* names of what is to come out, likewise */
};

/*
 * The body for it. Returns a new reference, or NULL with `error` that names the option and says
 * what it takes (SUBMISSION_ERROR, or G_OPTION_ERROR for a number).
 */
json_t *submission_body(const struct submission *submission, GError **error);

/* Frees its texts. */
void submission_clear(struct submission *submission);

#define SUBMISSION_ERROR (submission_error_quark())
GQuark submission_error_quark(void);
enum submission_error { SUBMISSION_ERROR_OPTION = 1 /* an option makes no sense */ };

/* The most tasks of one submission. */
#define SUBMISSION_COUNT_MAX 10000
