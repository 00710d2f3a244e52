/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * What a program has printed must arrive: results that did not fit on a full disk are no results.
 * Registers a handler for exit() that closes standard output and, when anything could not be
 * written, says so in one line on standard error and makes the exit status 1. Call it once, first
 * thing in main(). Holds for every way out but _exit(), exec() and signals.
 */
void output_check_at_exit(void);

/*
 * GLib's help has an ellipsis in "[OPTION...]", which it prints as "?" where the locale has none, as
 * in cron jobs and containers: from now on, g_print() writes three points for it.
 */
void output_plain_help(void);
