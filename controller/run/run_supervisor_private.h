/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"
#include "controller/run/run_child.h"
#include "controller/run/run_prepare.h"
#include "controller/run/run_supervisor.h"
#include "controller/run/run_watch.h"

/*
 * The inside of a supervisor, for its files: run_supervisor.c (from beginning to end, the lab and the controller),
 * run_supervisor_reload.c (a service's new configuration) and run_supervisor_schedulers.c (the local schedulers).
 */
struct supervisor {
	const struct run_request *request;
	struct run_prepared prepared;
	bool own_lab;
	GPtrArray *schedulers; /* struct run_child */
	GHashTable *told;      /* those that do not stay -> int64_t, when that was told last, ns */
	struct run_child *controller;
	int words; /* memory that the controller's last word goes to; -1: none yet */
	struct run_child *lab; /* `virtbed-lab up`, while it runs */
	struct run_watch *watch;
	GMainLoop *loop;
	GError *error;    /* why it ends, unless done */
	int64_t began_ns; /* the controller was started */
	bool stopping;
	guint signals;
	guint stop_source;
	char *fixed; /* of a service's configuration: what a reload must not change */
	/* By which the controller works that is told to reload, until it says what became of that. */
	struct config *former;
	guint reload_source;   /* gives up waiting for that */
	bool reload_again;
	int lab_status;
};

/* How long local schedulers, which take their VMs down, have to end. */
#define RUN_SUPERVISOR_SCHEDULER_GRACE_S 60.0

/* It ends because of that, unless there was a reason before. */
void run_supervisor_give_up(struct supervisor *supervisor, enum run_supervisor_error code,
			    const char *format, ...) G_GNUC_PRINTF(3, 4);

/* Ends in order: the lab that is brought up, or the controller, its run; and then the main loop. */
void run_supervisor_stop(struct supervisor *supervisor);

/* The file that a daemon logs to, which the caller frees; NULL: the journal, which our own errors go to. */
char *run_supervisor_log_path(const struct supervisor *supervisor, const char *daemon);

/*
 * Reloading: the controller's notice of it ends it, or a word of ours where it comes to nothing. One that is started
 * again meanwhile has read the new configuration. While one is under way another waits for its end.
 */
void run_supervisor_reload(struct supervisor *supervisor);

/* It was refused: the controller goes by what it went by, and so does one that is started again. */
void run_supervisor_undo_reload(struct supervisor *supervisor);

/* What became of it is known; does the one that waits. Without one under way it has no effect. */
void run_supervisor_end_reload(struct supervisor *supervisor);

/* Starts a local scheduler for each cluster that has none elsewhere, and again when it dies. False with `error`. */
bool run_supervisor_start_schedulers(struct supervisor *supervisor, GError **error);

/* Stops all at once, since each takes its VMs down. */
void run_supervisor_stop_schedulers(struct supervisor *supervisor);
