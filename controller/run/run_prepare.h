/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"
#include "controller/run/run_fit.h"
#include "controller/run/run_lock.h"
#include "controller/run/run_plan.h"
#include "controller/run/run_supervisor.h"

/*
 * From a request to a run directory with a plan: everything that is checked before anything is
 * started.
 */
struct run_prepared {
	struct config *config;
	struct run_plan *plan;
	char *dir; /* absolute */
	char *socket_dir;
	bool own_socket_dir;
	bool written; /* run_paths_config() and plan.json are there */
	struct run_fit fit;
	bool finished; /* to be resumed, and nothing is left to do: nothing else was checked or made */
	struct run_lock lock; /* held as long as it lives */
};

/*
 * Reads and checks the configuration, makes (or, to resume, finds) the run directory, and works out
 * the plan. Hosts are not resolved yet. Returns true, or false with `error` set, bad input as
 * RUN_SUPERVISOR_ERROR_INPUT or CONFIG_ERROR. Only one run of a configuration's name can be under
 * way on a machine, since VMs and labs bear that name; `stopped` ends the wait for its lock
 * (run_lock_take()).
 */
bool run_prepare(const struct run_request *request, bool (*stopped)(void *data), void *data,
		 struct run_prepared *ret_prepared, GError **error);

/* What becomes of a configuration that `virtbed run` or `virtbed serve` is given. */
enum run_prepare_verdict {
	RUN_PREPARE_TAKEN = 0,
	RUN_PREPARE_LACKS,   /* taken once something beside it is there: estimates, a file, the guest image, the user's rights */
	RUN_PREPARE_REFUSED, /* for what it says, on this machine */
};

/* Commands that a configuration is given to. */
enum run_prepare_use {
	RUN_PREPARE_RUN = 0,
	RUN_PREPARE_PROFILE, /* needs neither estimates, which it measures, nor limits */
	RUN_PREPARE_SERVE,
};

/*
 * How run_prepare() would judge the configuration, read from file `path`, for a command without options; nothing is made, and only an address that it is to listen at is tried, which may be in use. Unless it
 * is taken `ret_why` says why not.
 */
enum run_prepare_verdict run_prepare_judge(const struct config *config, const char *path, enum run_prepare_use use,
					   GError **ret_why);

/* Whether all is estimated that has to be to decide of it; false with `error`, which says how to measure it. */
bool run_prepare_is_estimated(const struct config *config, const char *path, GError **error);

/* Writes run_paths_config() and plan.json, once the hosts are resolved. */
bool run_prepare_write(struct run_prepared *prepared, GError **error);

/* A lab that an earlier, killed run of this directory brought up and never took down is ours. */
bool run_prepared_owns_lab(const struct run_prepared *prepared);
/* Notes in the run directory that the lab is ours to take down, or not any more. */
void run_prepared_set_owns_lab(const struct run_prepared *prepared, bool owns);

/* Frees what it holds, and removes a directory of sockets of its own. */
void run_prepared_clear(struct run_prepared *prepared);
