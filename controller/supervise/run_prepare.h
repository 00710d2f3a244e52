/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"
#include "controller/run/run_plan.h"
#include "controller/supervise/run_fit.h"
#include "controller/supervise/run_lock.h"
#include "controller/supervise/run_supervisor.h"

/*
 * The result of preparing a request: a run directory with a plan, after all checks and before any
 * process is started.
 */
struct run_prepared {
	struct config *config;
	struct run_plan *plan;
	char *dir; /* absolute */
	char *socket_dir;
	bool own_socket_dir;
	bool written;         /* run_paths_config() and plan.json exist */
	bool fitted;          /* its lab, to the probe in `dir` */
	bool finished;        /* resumed, and no work is left: nothing else was checked or made */
	struct run_lock lock; /* held until run_prepared_clear() */
};

/*
 * Reads and checks the configuration, makes the run directory (or, to resume, finds it), and makes
 * the plan. Hosts are not resolved yet. Returns true, or false with `error`; bad input is
 * RUN_SUPERVISOR_ERROR_INPUT or CONFIG_ERROR. Only one run of a configuration's name can be under
 * way on a machine, since VMs and labs bear that name; `stopped` ends the wait for its lock
 * (run_lock_take()).
 */
bool run_prepare(const struct run_request *request, bool (*stopped)(void *data), void *data,
		 struct run_prepared *ret_prepared, GError **error);

/* Whether `virtbed run` or `virtbed serve` would accept a configuration. */
enum run_prepare_verdict {
	RUN_PREPARE_TAKEN = 0,
	/*
	 * accepted once something outside it exists: estimates, a file, the guest image, the user's
	 * rights
	 */
	RUN_PREPARE_LACKS,
	RUN_PREPARE_REFUSED, /* for its content, on this machine */
};

/* The commands that take a configuration. */
enum run_prepare_use {
	RUN_PREPARE_RUN = 0,
	RUN_PREPARE_PROFILE, /* needs neither limits nor estimates, which it measures */
	RUN_PREPARE_SERVE,
};

/*
 * The verdict of run_prepare() on the configuration, read from file `path`, for a command without
 * options. Makes no files; of addresses only the one to listen at is tried, and it may be in use.
 * Unless the verdict is RUN_PREPARE_TAKEN, `ret_why` says why.
 */
enum run_prepare_verdict run_prepare_judge(const struct config *config, const char *path,
					   enum run_prepare_use use, GError **ret_why);

/*
 * Whether all estimates exist that policies need; false with an `error` that says how to measure
 * them.
 */
bool run_prepare_is_estimated(const struct config *config, const char *path, GError **error);

/* Writes run_paths_config() and plan.json; the hosts must be resolved. */
bool run_prepare_write(struct run_prepared *prepared, GError **error);

/*
 * Whether this directory owns its lab, because an earlier, killed run of it brought the lab up and
 * never took it down.
 */
bool run_prepared_owns_lab(const struct run_prepared *prepared);
/* Records in the run directory whether it has to take the lab down. */
void run_prepared_set_owns_lab(const struct run_prepared *prepared, bool owns);

/* Frees the members, releases the lock, and removes a directory of sockets of its own. */
void run_prepared_clear(struct run_prepared *prepared);
