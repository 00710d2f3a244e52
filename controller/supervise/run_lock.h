/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "controller/run/run_paths.h"

/*
 * The lock of a configuration's name: only its holder may use VMs and labs of that name. It is held
 * by an open file that the daemons of a run inherit (run_child_keep()): after `virtbed run` was
 * killed, the lock becomes free when the last of them has ended and removed its VMs. The file holds
 * the owner's process id and is removed when the lock is released; if its owner was killed, the
 * next run of any name removes it after the last daemon has ended.
 *
 * It is in RUN_LOCK_DIR, which belongs to root and, where systemd-tmpfiles made it, to the group of
 * the service's user; users who cannot write there use the temporary directory.
 */
#define RUN_LOCK_DIR RUN_PATHS_OUR_DIR "/locks"

struct run_lock {
	int fd; /* -1: not held */
	char *path;
};

/* A lock that is not held. */
#define RUN_LOCK_INIT                                                                              \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* How long to wait for the daemons of a killed run, which end their tasks and VMs first. */
#define RUN_LOCK_WAIT_S 120.0

/*
 * Takes the lock of `name`. If its owner is dead and daemons of that run are alive, prints so on
 * standard error and waits for them, iterating the default main context, until `stopped` (NULL:
 * never) returns true. Returns false with `error`: RUN_SUPERVISOR_ERROR_FAILED if another run holds
 * it, _INTERRUPTED if stopped, _INPUT if a service of the service manager cannot write to
 * RUN_LOCK_DIR.
 */
bool run_lock_take(struct run_lock *lock, const char *name, bool (*stopped)(void *data), void *data,
		   GError **error);

/* Releases it; no effect if it is not held. */
void run_lock_drop(struct run_lock *lock);
