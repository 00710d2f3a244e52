/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <stdbool.h>

/*
 * External programs as argument vectors, never a shell line: one helper with a deadline and
 * captured output, and others that spawn a child which dies with its parent.
 *
 * A child starts with standard input from /dev/null (unless piped), an empty signal mask, no file
 * descriptor but 0, 1 and 2 (and those that it is to keep), and a process group of its own, so that
 * Ctrl-C in our terminal reaches only this process, which stops the child in order. It gets
 * PR_SET_PDEATHSIG, which the kernel ties to the THREAD that spawned it: spawn from the main
 * thread, or from a thread that outlives the child.
 */

#define SUBPROCESS_ERROR (subprocess_error_quark())
GQuark subprocess_error_quark(void);
enum subprocess_error {
	SUBPROCESS_ERROR_START = 1, /* not found, not executable, no resources */
	SUBPROCESS_ERROR_STATUS,    /* exited with another status than 0, or by a signal */
	SUBPROCESS_ERROR_TIMEOUT,   /* did not end in time and was killed */
	SUBPROCESS_ERROR_OUTPUT,    /* wrote more than 16 MiB and was killed */
};

/*
 * Runs `argv` to its end; blocks without iterating any main context. Waits at most `timeout_s`,
 * then kills it and its process group. `environment` is a NULL-terminated list of KEY=VALUE that is
 * added to ours, or NULL. Standard output (at most 16 MiB) goes to `ret_output` if not NULL (the
 * caller frees); `error` quotes the end of standard error. Returns true if the program exited with
 * 0; otherwise `ret_output` is untouched.
 */
bool subprocess_run(const char *const *argv, const char *const *environment, double timeout_s,
		    char **ret_output, GError **error);

/*
 * Starts `argv` with its output appended to `log_path` (NULL: inherited). The child gets SIGTERM
 * when this process dies, however it dies. Returns its pid, or -1 with `error`; a program that
 * cannot be executed is an error here. The caller watches it with g_child_watch_add() or ends it
 * with subprocess_stop().
 */
GPid subprocess_spawn(const char *const *argv, const char *const *environment, const char *log_path,
		      GError **error);

/*
 * As subprocess_spawn(); the child also inherits the `kept_count` descriptors `kept_fds` (above 2),
 * such as a lock.
 */
GPid subprocess_spawn_keeping(const char *const *argv, const char *const *environment,
			      const char *log_path, const int *kept_fds, size_t kept_count,
			      GError **error);

/*
 * subprocess_spawn() with pipes to the child's standard input and output; standard error goes to
 * the output too if `merge`, else to ours. `ret_stdin` and `ret_stdout` are the caller's,
 * non-blocking and close-on-exec. From then on this process ignores SIGPIPE, as GLib's sockets make
 * it do too: writing to a child that is gone fails with EPIPE.
 */
GPid subprocess_spawn_pipes(const char *const *argv, const char *const *environment, bool merge,
			    int *ret_stdin, int *ret_stdout, GError **error);

/*
 * subprocess_spawn() with pipes from the child's standard output and error, in that order in
 * `ret_fds`. They are the caller's, non-blocking and close-on-exec. The child inherits `kept_fd`
 * (-1: none) by the same number, and gets SIGKILL when this process dies.
 */
GPid subprocess_spawn_outputs(const char *const *argv, const char *const *environment, int kept_fd,
			      int ret_fds[2], GError **error);

/*
 * Sends SIGTERM to the child, and SIGKILL to its process group after `grace_s`; returns when the
 * child was reaped. A g_child_watch_add() source for `pid` must be removed first. A pid that is not
 * (or no longer) our child is left alone.
 */
void subprocess_stop(GPid pid, double grace_s);
