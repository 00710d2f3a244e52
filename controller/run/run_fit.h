/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config_fit.h"
#include "controller/run/run_supervisor.h"

/*
 * The probe that the lab of a run is fitted to, and what fitting did. It stays with the run's directory, so that one
 * that is resumed is fitted to the same. Nothing of it is there where a configuration has no lab to fit.
 */
struct run_fit {
	struct machine_probe *probe; /* NULL: nothing was to be fitted */
	struct config_fit done;
};

/* In a run directory, beside MACHINE_PROBE_FILE: a line for each thing that had to shrink, or could not. */
#define RUN_FIT_FILE "fitted.txt"

/*
 * Whether --probe makes sense for the request: the lab of `config` is to be fitted, and a run in `dir` that is resumed
 * was not fitted to another probe when it began. True without --probe.
 */
bool run_fit_check_request(const struct run_request *request, const char *dir, const struct config *config,
			   GError **error);

/*
 * Fits `config` for a run in directory `dir`, to the first of these that there is: the probe of `dir`, to resume;
 * that of --probe; that of the directory which the estimates are from, which hold for its fit; that of a lab of this
 * name which is up; a new one. Writes it to `dir`. What comes out has room (run_fit_check_room()). False with `error`.
 */
bool run_fit(const struct run_request *request, const char *dir, struct config *config,
	     struct run_fit *ret_fit, GError **error);

/*
 * Whether this machine has the room for `config`, which is to be run in directory `dir` (config_check_room()). The error
 * of a run that is resumed says that it was fitted to more CPU time than there is now.
 */
bool run_fit_check_room(const struct run_request *request, const char *dir, const struct config *config,
			GError **error);

/*
 * Fits `config`, which is of file `path`, to what the lab of its name was fitted to, which is up, and checks that
 * there is room for it (config_check_room()). False with `error`.
 */
bool run_fit_to_lab(struct config *config, const char *path, GError **error);

/* Frees what it points to. */
void run_fit_clear(struct run_fit *fit);
