/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/platform.h"

/*
 * Programs that a daemon starts beside its main loop, by its platform: their output and their end
 * are events of the default main context. children_machine starts them on this machine
 * (subprocess.h); a simulation may have programs of its own.
 */
struct child_process {
	/* First member of the struct of each implementation, which has the functions. */
	const struct platform *platform;
};

/* A stream from the child. */
enum child_stream {
	CHILD_OUTPUT = 0,
	CHILD_COMPLAINT, /* standard error, unless it is merged into the output */
	CHILD_STREAMS,
};

/* What to start, and where its output goes. All but `data` is borrowed for the call. */
struct child_setup {
	const char *const *argv;        /* argv[0] is found in PATH */
	const char *const *environment; /* KEY=VALUE, added to ours; NULL: none */
	bool dialogue; /* it has a pipe as input, and standard error goes to its output */
	int kept_fd;   /* a descriptor that it inherits; -1: none */
	/*
	 * Bytes have arrived; none: the end of the stream. May call child_kill() and
	 * child_dismiss().
	 */
	void (*heard)(enum child_stream stream, const char *bytes, size_t length, void *data);
	/*
	 * The child has ended, with `status` as by waitpid(2), and all that it wrote was heard;
	 * output of a process that it has started, which comes later, is dropped.
	 * NULL: it ends with its output. May call child_dismiss().
	 */
	void (*ended)(int status, void *data);
	void *data;
};

/* All are required. The functions below call them. */
struct platform_children {
	struct child_process *(*start)(const struct platform *platform,
				       const struct child_setup *setup, GError **error);
	void (*say)(struct child_process *child, const char *text);
	void (*kill)(struct child_process *child);
	bool (*settle)(struct child_process *child, double timeout_s);
	void (*dismiss)(struct child_process *child, guint term_ms, guint kill_ms);
	bool (*run)(const struct platform *platform, const char *const *argv, double timeout_s,
		    char **ret_output, GError **error);
};

extern const struct platform_children children_machine;

/* Starts a program. NULL with `error` (SUBPROCESS_ERROR). */
struct child_process *child_start(const struct platform *platform, const struct child_setup *setup,
				  GError **error);

/*
 * Writes to the input of a dialogue. What does not fit, or comes after its end, is lost: the end of
 * its output shows it.
 */
void child_say(struct child_process *child, const char *text);

/* Kills it and its process group; its end is reported as any other. */
void child_kill(struct child_process *child);

/*
 * Waits at most `timeout_s` (0: only looks) until it has ended; no event is handled meanwhile, and
 * what it writes is lost. Returns whether it has. Not for a child whose `ended` is set.
 */
bool child_settle(struct child_process *child, double timeout_s);

/*
 * Closes its streams and frees it; it calls no callback any more. A child that has not ended gets
 * SIGTERM after `term_ms` and SIGKILL after `kill_ms` (0: neither), and is reaped.
 */
void child_dismiss(struct child_process *child, guint term_ms, guint kill_ms);

/*
 * Runs a program to its end, at most `timeout_s`, as subprocess_run(): no other event is handled
 * meanwhile.
 */
bool child_run(const struct platform *platform, const char *const *argv, double timeout_s,
	       char **ret_output, GError **error);
