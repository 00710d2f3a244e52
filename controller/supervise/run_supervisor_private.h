/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"
#include "controller/supervise/run_child.h"
#include "controller/supervise/run_prepare.h"
#include "controller/supervise/run_supervisor.h"
#include "controller/supervise/run_watch.h"

/*
 * The inside of a supervisor, for its files: run_supervisor.c (the sequence of steps, the lab and
 * the controller), run_supervisor_reload.c (a service's new configuration),
 * run_supervisor_schedulers.c (the local schedulers) and run_supervisor_end.c (its errors, and the
 * order in which it ends), which the others depend on.
 */
struct supervisor {
	const struct run_request *request;
	struct run_prepared prepared;
	bool own_lab;
	GPtrArray *schedulers; /* struct run_child */
	/* local schedulers that keep dying -> int64_t, time of the last message about it, ns */
	GHashTable *told;
	struct run_child *controller;
	int words;             /* memory for the controller's final error; -1: none yet */
	struct run_child *lab; /* `virtbed-lab up`, while it runs */
	struct run_watch *watch;
	GMainLoop *loop;
	GError *error;    /* why it ends; NULL: done */
	int64_t began_ns; /* start of the controller */
	bool stopping;
	guint signals;
	guint stop_source;
	char *fixed; /* of a service: the keys that a reload must not change */
	/*
	 * During a reload: the configuration that the controller still uses, until it reports the
	 * result.
	 */
	struct config *former;
	guint reload_source; /* timeout of a reload */
	bool reload_again;
	int lab_status;
};

/* How long local schedulers have to end, seconds: they take their VMs down. */
#define RUN_SUPERVISOR_SCHEDULER_GRACE_S 60.0

/* Makes this the error with which it ends, unless there is one already. */
void run_supervisor_give_up(struct supervisor *supervisor, enum run_supervisor_error code,
			    const char *format, ...) G_GNUC_PRINTF(3, 4);

/*
 * Ends in order: the lab that is being brought up, or the controller with its run; then the main
 * loop.
 */
void run_supervisor_stop(struct supervisor *supervisor);

/*
 * Starts a reload. It ends with a notice of the controller, or with a message of the supervisor if
 * it is refused here. A controller that is restarted meanwhile has read the new configuration. A
 * request during a reload is carried out after it.
 */
void run_supervisor_reload(struct supervisor *supervisor);

/* The reload was refused: the controller keeps its configuration, also after a restart. */
void run_supervisor_undo_reload(struct supervisor *supervisor);

/*
 * The result of the reload is known; starts the next one if it was requested. No effect without a
 * reload under way.
 */
void run_supervisor_end_reload(struct supervisor *supervisor);

/*
 * Starts a local scheduler for each cluster without one elsewhere, and restarts it when it dies.
 * False with `error`.
 */
bool run_supervisor_start_schedulers(struct supervisor *supervisor, GError **error);

/* Stops all at once, since each takes its VMs down. */
void run_supervisor_stop_schedulers(struct supervisor *supervisor);
