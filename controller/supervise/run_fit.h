/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/lab_fit.h"
#include "controller/run/run_paths.h"
#include "controller/supervise/run_supervisor.h"

/*
 * The lab of a run is fitted to a probe of the machine. The probe and the result are kept in the
 * run directory, so that a resumed run is fitted to the same probe.
 */

/*
 * Whether --probe may be used for the request: the lab of `config` is to be fitted, and a resumed
 * run in `dir` was not fitted to another probe. True without --probe.
 */
bool run_fit_check_request(const struct run_request *request, const char *dir,
			   const struct config *config, GError **error);

/*
 * Fits `config` for a run in directory `dir` to the first of these that exists: the probe of `dir`,
 * for a resumed run; that of --probe; that of the directory of the estimates, which are valid for
 * its fit; that of a lab of this name that is up; a new probe. Writes the probe to `dir`. The
 * result fits on this machine (run_fit_check_room()). *ret_fitted is false if the configuration has
 * no lab to fit. False with `error`.
 */
bool run_fit(const struct run_request *request, const char *dir, struct config *config,
	     bool *ret_fitted, GError **error);

/*
 * Whether this machine has room for `config`, to be run in directory `dir` (machine_room_check()).
 * The error of a resumed run says that it was fitted to more CPU time than there is now.
 */
bool run_fit_check_room(const struct run_request *request, const char *dir,
			const struct config *config, GError **error);

/*
 * Fits `config`, read from file `path`, to the probe of the lab of its name, which is up, and
 * checks that there is room for it (machine_room_check()). False with `error`.
 */
bool run_fit_to_lab(struct config *config, const char *path, GError **error);
