/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/supervise/run_prepare.h"

/*
 * The parts of run_prepare() that differ for a service: it continues in an existing state
 * directory, with the experiment's id that its tasks' ids begin with, and the configuration may
 * have changed since.
 */

/*
 * Whether the configuration, read from file `path`, can be served on this machine; its addresses
 * are not checked. False with an `error` that names file and key.
 */
bool run_prepare_service_check(const struct config *config, const char *path, GError **error);

/*
 * Why the members of service.group could not use the socket that this user's services listen at by
 * default: one line that begins with the key (the caller frees). NULL: they could, or there is no
 * group. run_prepare_service_check() must have accepted `config`.
 */
char *run_prepare_service_group_trouble(const struct config *config);

/*
 * For a configuration that was read and can be run: sets prepared->dir and the estimates, which are
 * those of request->estimates, else of the configuration, else the previous ones of the service.
 * False with `error`: the directory has another use, or the configuration cannot be served.
 */
bool run_prepare_service(const struct run_request *request, struct run_prepared *prepared,
			 GError **error);

/* The plan of the service in prepared->dir, or a new one; NULL with `error`. */
struct run_plan *run_prepare_service_plan(const struct run_request *request,
					  const struct run_prepared *prepared, GError **error);

/*
 * Makes a service's state directory, for its user alone (0700), since it holds tasks' output and
 * users' names. An existing directory is accepted, and made private, if it belongs to this user and
 * is empty or a service's. False with `error` otherwise.
 */
bool run_prepare_service_dir(const char *dir, GError **error);

/*
 * The address that the controller is to listen at (the caller frees). Its directory exists, and
 * members of service.group, if `config` names one, can reach it. NULL with `error`.
 */
char *run_prepare_service_address(const struct run_request *request, const struct config *config,
				  GError **error);
