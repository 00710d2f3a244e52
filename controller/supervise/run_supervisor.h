/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/error_fail.h"

/*
 * `virtbed run`, `virtbed profile` and `virtbed serve`: supervises the processes of a measured
 * experiment or a service. Brings the lab up if the configuration has one, starts a local scheduler
 * per cluster and the controller, restarts what dies, shows the progress, and takes everything down
 * at the end. plan.json is its only state, so it can be resumed after any interruption.
 */

/* The request of the command line; borrowed. */
struct run_request {
	const char *command; /* "virtbed run", for messages */
	const char *config_path;
	const char *estimates; /* file, or NULL */
	/* file with a probe of the machine (common/machine_probe.h), or NULL: measured */
	const char *probe;
	const char *out; /* run directory, or NULL: chosen */
	bool resume;  /* continue in the run directory (NULL: the youngest of the configuration) */
	bool profile; /* measure estimates first */
	bool run;     /* do the runs */
	/*
	 * Serve: `out` is the state directory, and a service in it is continued. `listen` may be
	 * "unix:/PATH", instead of run_paths_service_address().
	 */
	bool serve;
	bool keep_lab;            /* leave the lab up */
	uint32_t profile_repeats; /* 0: as configured */
	char **policies;          /* NULL: as configured */
	const double *limits;     /* limits_count fractions; 0: as configured */
	uint32_t limits_count;
	uint32_t repeats;   /* 0: as configured */
	bool until_verdict; /* choose the runs, until the configured pairs are decided */
	double most_h;      /* hours that these may take; 0: any time */
	const char *listen; /* a second address for browsers, or NULL */
};

#define RUN_SUPERVISOR_ERROR (run_supervisor_error_quark())
GQuark run_supervisor_error_quark(void);
enum run_supervisor_error {
	RUN_SUPERVISOR_ERROR_INPUT = 1,   /* exit status 2 */
	RUN_SUPERVISOR_ERROR_FAILED,      /* exit status 1 */
	RUN_SUPERVISOR_ERROR_INTERRUPTED, /* by Ctrl-C; the message says how to resume */
};

/* Sets `error` to one of bad input, with a format. Returns false. */
#define run_refuse(error, ...)                                                                     \
	error_fail(error, RUN_SUPERVISOR_ERROR, RUN_SUPERVISOR_ERROR_INPUT, __VA_ARGS__)

/* Whether the error is one of bad input: exit status 2. */
bool run_supervisor_is_input(const GError *error);

/*
 * Carries out the request from beginning to end, on the default main context. Returns true, or
 * false with `error`. *ret_dir is the run directory (the caller frees), also on failure, once there
 * is one. *ret_finished (NULL: not wanted) is whether no work was left there, so that nothing in it
 * was changed.
 */
bool run_supervise(const struct run_request *request, char **ret_dir, bool *ret_finished,
		   GError **error);
