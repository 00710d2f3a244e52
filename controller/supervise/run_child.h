/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/run/run_usage.h"

/*
 * A process that `virtbed run` supervises: started with its output in a log file, watched on the
 * default main context, restarted when it dies unless it dies too often.
 */
struct run_child;

/* The process ended without a request; `status` as of waitpid(2). May call run_child_start(). */
typedef void (*run_child_died_f)(struct run_child *child, int status, void *data);

/* Creates a child without starting it. `argv` is copied. */
struct run_child *run_child_new(const char *name, const char *const *argv, const char *log_path,
				run_child_died_f died, void *data);
/* Stops it first if it runs, as run_child_stop(). NULL is allowed. */
void run_child_free(struct run_child *child);

/* Its name for messages. */
const char *run_child_name(const struct run_child *child);
/* Its process id; 0: it does not run. */
GPid run_child_pid(const struct run_child *child);
/* Whether it runs: false before its start, after its end, and while a restart is due. */
bool run_child_running(const struct run_child *child);

/*
 * The resources used since run_child_new(), over all restarts: the sum of CPU times, the largest
 * resident set.
 */
struct run_usage run_child_usage(const struct run_child *child);

/*
 * Lets its next starts inherit file descriptor `fd` (above 2; -1: none) as well; at most
 * RUN_CHILD_KEPT_MAX of them.
 */
#define RUN_CHILD_KEPT_MAX 2
void run_child_keep(struct run_child *child, int fd);

/* Adds a last argument for the next start, unless it is there already. */
void run_child_add_argument(struct run_child *child, const char *argument);

/* Starts it; it must not run. Returns false with an `error` that names it. */
bool run_child_start(struct run_child *child, GError **error);

/*
 * Restarts it after a delay that grows with the number of deaths. Returns false if it has died more
 * than RUN_CHILD_DEATHS times within RUN_CHILD_WINDOW_S: another restart would not help.
 */
bool run_child_restart_soon(struct run_child *child);
#define RUN_CHILD_DEATHS 5
#define RUN_CHILD_WINDOW_S 120.0

/* Restarts it after `delay_s`, however often it has died. */
void run_child_restart_in(struct run_child *child, guint delay_s);

/* How often it has died, or could not be started. */
guint run_child_deaths(const struct run_child *child);

/* Sends SIGTERM without waiting; died() is called at its end. */
void run_child_ask_to_stop(struct run_child *child);

/*
 * Ends it: SIGTERM, then SIGKILL after `grace_s`. Returns when it was reaped; died() is not called.
 */
void run_child_stop(struct run_child *child, double grace_s);

/* A wait status as text: "exit status 1", "signal 9 (Killed)". The caller frees. */
char *run_child_status_text(int status);

/* The last line of its log that is not empty, or NULL. The caller frees. */
char *run_child_last_words(const struct run_child *child);
