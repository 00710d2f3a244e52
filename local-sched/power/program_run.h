/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

#include "common/platform.h"

/* A run of a program that answers and ends, on the GLib main loop of the main thread. */
struct program_run;

/* The most bytes that it may print, on each of its two outputs. */
enum { PROGRAM_RUN_OUTPUT_MAX = 64 * 1024 };

/*
 * Called with the program's standard output and error (both borrowed, at most
 * PROGRAM_RUN_OUTPUT_MAX bytes each). `error` is NULL if it exited with 0, SUBPROCESS_ERROR_STATUS
 * if it ended otherwise, SUBPROCESS_ERROR_TIMEOUT or SUBPROCESS_ERROR_OUTPUT if it was killed since
 * it did not end in time or printed too much; SUBPROCESS_ERROR_OUTPUT also if its output has a zero
 * byte. The run is freed afterwards.
 */
typedef void (*program_run_done_f)(const char *output, const char *complaint, const GError *error,
				   void *data);

/*
 * Starts `argv` with `environment` (KEY=VALUE, added to that of this process); it inherits
 * `kept_fd` (-1: none). Calls `done` once,
 * never before returning, and at the latest at `deadline_ns` (platform_now_ns()). Then, or when the
 * program has exited, what is left of its process group is killed. NULL with `error`
 * (SUBPROCESS_ERROR_START) if it cannot be started.
 */
struct program_run *program_run_start(const struct platform *platform, const char *const *argv,
				      const char *const *environment, int kept_fd,
				      int64_t deadline_ns, program_run_done_f done, void *data,
				      GError **error);

/* Kills the program and its process group; `done` is not called. NULL is allowed. */
void program_run_cancel(struct program_run *run);
