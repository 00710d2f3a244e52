/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/run/run_prepare.h"

/*
 * What run_prepare() does otherwise for a service: its state directory goes on if it is one, with
 * the experiment's id that its tasks' ids begin with, and the configuration may have changed since.
 */

/*
 * Whether the configuration, read from file `path`, can be served on this machine, but for its addresses. False with
 * `error` that names file and key.
 */
bool run_prepare_service_check(const struct config *config, const char *path, GError **error);

/*
 * Why the members of service.group could not use the socket that this user serves at by default, one line that begins
 * with the key (the caller frees); NULL: they could, or there is no group. Of a configuration that
 * run_prepare_service_check() takes.
 */
char *run_prepare_service_group_trouble(const struct config *config);

/*
 * Of a configuration that was read and can be run: sets prepared->dir, and the estimates: those of
 * request->estimates, else of the configuration, else those that the service had before. False with
 * `error`: the directory is that of something else, or the configuration cannot be served.
 */
bool run_prepare_service(const struct run_request *request, struct run_prepared *prepared,
			 GError **error);

/* The plan of the service in prepared->dir, or a new one; NULL with `error`. */
struct run_plan *run_prepare_service_plan(const struct run_request *request,
					  const struct run_prepared *prepared, GError **error);

/*
 * Makes a service's state directory, for its user alone (0700): tasks' output and everybody's names are
 * in it. One that is there, ours, and a service's or empty, is made so. False with `error` otherwise.
 */
bool run_prepare_service_dir(const char *dir, GError **error);

/*
 * Where the controller is to listen (the caller frees), in a directory that is there, and that the
 * members of service.group, if `config` names one, can reach. NULL with `error`.
 */
char *run_prepare_service_address(const struct run_request *request, const struct config *config,
				  GError **error);
