/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/run/run_prepare.h"

/*
 * What run_prepare() does otherwise for a service: its state directory goes on if it is one, with
 * the experiment's id that its tasks' ids begin with, and the configuration may have changed since.
 */

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

/* Where the controller is to listen (the caller frees), in a directory that is there. */
char *run_prepare_service_address(const struct run_request *request, GError **error);
