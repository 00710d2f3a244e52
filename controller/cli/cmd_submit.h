/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/* The options of `virtbed submit` that have one value. */
enum submission_option {
	SUBMISSION_NAME = 0,
	SUBMISSION_KEY,
	SUBMISSION_TYPE,  /* not given: chosen for the script by cores, nodes and time */
	SUBMISSION_COUNT, /* at most one of these two; not given: 1 */
	SUBMISSION_ARRAY,
	SUBMISSION_PRIORITY, /* not given, here and below: as the controller has it */
	SUBMISSION_CONSTANT,
	SUBMISSION_ZERO_AT,
	SUBMISSION_DEADLINE,
	SUBMISSION_UTILITY,
	SUBMISSION_CORES, /* at most one of these two */
	SUBMISSION_NODES,
	SUBMISSION_TIME,
	SUBMISSION_SCRIPT, /* its path; it is not in the body */
	SUBMISSION_OPTIONS,
};

/*
 * Makes the body of POST /v1/tasks, but for its script, of the options as typed; NULL: not given.
 * Returns a new reference, or NULL with `error` that names the option and its allowed values
 * (SUBMISSION_ERROR, or G_OPTION_ERROR for a number).
 */
json_t *submission_body(const char *const typed[SUBMISSION_OPTIONS], GError **error);

#define SUBMISSION_ERROR (submission_error_quark())
GQuark submission_error_quark(void);
enum submission_error { SUBMISSION_ERROR_OPTION = 1 /* the value of an option is wrong */ };

/* The most tasks of one submission. */
#define SUBMISSION_COUNT_MAX 10000
