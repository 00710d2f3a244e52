/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/*
 * Finds the controller of the run under way: `at`, if given, is its address; else that of the run in
 * directory `dir`; else $VIRTBED_URI; else that of the latest run under runs/. Both may be NULL. Returns
 * the address, which the caller frees, or NULL with `error` (RUN_PLAN_ERROR).
 */
char *run_address_find(const char *at, const char *dir, GError **error);
