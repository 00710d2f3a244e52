/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/*
 * Finds the controller that a command is for. It is, in this order: `uri`, if given; that of the run
 * or service in directory `dir`, if given; $VIRTBED_URI; that of this user's latest run under runs/, if it
 * is there; that of a service: where the one listens that keeps its state in run_paths_service_state(), then
 * run_paths_service_addresses(). What no person named is a Unix socket, where no token is
 * sent. Returns the address, which the caller frees, or NULL with `error` (RUN_PLAN_ERROR).
 */
char *run_address_find(const char *uri, const char *dir, GError **error);
