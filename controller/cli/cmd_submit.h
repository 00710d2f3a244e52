/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* The options of `virtbed submit`, and the body of POST /v1/tasks made of them. Borrowed. */
struct submission {
	const char *name, *key;    /* NULL: none */
	const char *count, *array; /* numbers as typed, at most one of them; NULL: 1 */
	const char *utility;       /* a number as typed; NULL: the controller's default */
	const char *constant, *zero_at, *deadline; /* durations as typed; NULL: none */
	bool held;
	const char *priority;      /* a number as typed; NULL: the controller's default, 0 */
	const char *type;          /* NULL: chosen for the script by `cores` and `nodes` */
	const char *cores, *nodes; /* numbers as typed, at most one of them; NULL: not given */
	const char *time;          /* a duration as typed; NULL: not given */
	const char *script;        /* path of a script to run; NULL: a benchmark */
	char **arguments;          /* its arguments, NULL-terminated; NULL: none */
	char **stage_in;  /* paths of files that go in with it, NULL-terminated; NULL: none */
	char **stage_out; /* names of its output files, NULL-terminated; NULL: none */
};

/*
 * Makes the body. Returns a new reference, or NULL with `error` that names the option and its
 * allowed values (SUBMISSION_ERROR, or G_OPTION_ERROR for a number).
 */
json_t *submission_body(const struct submission *submission, GError **error);

#define SUBMISSION_ERROR (submission_error_quark())
GQuark submission_error_quark(void);
enum submission_error { SUBMISSION_ERROR_OPTION = 1 /* the value of an option is wrong */ };

/* The most tasks of one submission. */
#define SUBMISSION_COUNT_MAX 10000
