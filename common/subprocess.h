/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <stdbool.h>

/*
 * External programs as argument vectors, never a shell line: one helper with a deadline and
 * captured output, and one that spawns a child which dies with its parent.
 */

/*
 * Runs `argv` to its end. Waits at most `timeout_s`, then kills it. `environment` is a
 * NULL-terminated list of KEY=VALUE that is added to ours, or NULL. Standard output (at most 16 MiB)
 * goes to `ret_output` if not NULL (the caller frees); standard error is quoted in `error`. Returns
 * true if the program exited with 0.
 */
bool subprocess_run(const char *const *argv, const char *const *environment, double timeout_s,
		    char **ret_output, GError **error);

/*
 * Starts `argv` with its output appended to `log_path` (NULL: inherited). The child gets SIGTERM
 * when this process dies, however it dies (PR_SET_PDEATHSIG). Returns its pid, or -1 with `error`.
 * The caller watches it with g_child_watch_add().
 */
GPid subprocess_spawn(const char *const *argv, const char *const *environment,
		      const char *log_path, GError **error);

/* Sends SIGTERM, and SIGKILL after `grace_s`; returns when the child was reaped. */
void subprocess_stop(GPid pid, double grace_s);
