/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/*
 * Finds the controller for a command. It is the first of: `uri`, if given; that of the run or
 * service in directory `dir`, if given; $VIRTBED_URI; that of this user's latest run under runs/,
 * if it runs; that of a service, at the address recorded in run_paths_service_state(), then at
 * run_paths_service_addresses(). Except for `uri` and $VIRTBED_URI these are Unix sockets, to which
 * no token is sent. Returns the address, which the caller frees, or NULL with `error`
 * (RUN_PLAN_ERROR).
 */
char *run_address_find(const char *uri, const char *dir, GError **error);
