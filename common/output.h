/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * Makes lost output an error: results that did not fit on a full disk are no results. Registers a
 * handler for exit() that closes standard output and, if anything could not be written, prints one
 * line on standard error and makes the exit status 1. To be called once, first thing in main(). It
 * works for every way out but _exit(), exec() and signals.
 */
void output_check_at_exit(void);

/*
 * Makes g_print() write three points for an ellipsis. GLib's help has one in "[OPTION...]", and
 * prints "?" for it where the locale has none, as in cron jobs and containers.
 */
void output_plain_help(void);
