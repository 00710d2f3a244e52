/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "controller/run/run_paths.h"

/*
 * The lock of a configuration's name: only its holder may use VMs and labs of that name. It is held
 * by an open file, which the daemons of a run share (run_child_keep()): where `virtbed run` is
 * killed, nobody else gets it before the last of them has ended and removed its VMs. The file holds
 * the process id of whom it belongs to, and is removed when it is let go; where its owner was
 * killed, by the next run of any name after the last daemon has ended.
 *
 * It lies in RUN_LOCK_DIR, root's and, where systemd-tmpfiles has made it, the group's of the service's user;
 * in the temporary directory for users who cannot write there.
 */
#define RUN_LOCK_DIR RUN_PATHS_OUR_DIR "/locks"

struct run_lock {
	int fd; /* -1: not held */
	char *path;
};

/* A lock that is not held. */
#define RUN_LOCK_INIT {.fd = -1}

/* How long to wait for what is left of a run that was killed: it ends its tasks and VMs first. */
#define RUN_LOCK_WAIT_S 120.0

/*
 * Takes the lock of `name`. Where its owner is dead and daemons of that run are not, says so on
 * standard error and waits for them, iterating the default main context, until `stopped` (NULL:
 * never) returns true. Returns false with `error` (RUN_SUPERVISOR_ERROR_FAILED, or _INTERRUPTED)
 * where somebody else holds it, or RUN_SUPERVISOR_ERROR_INPUT where a service manager's service cannot write
 * to RUN_LOCK_DIR.
 */
bool run_lock_take(struct run_lock *lock, const char *name, bool (*stopped)(void *data), void *data,
		   GError **error);

/* Lets it go; nothing where it is not held. */
void run_lock_drop(struct run_lock *lock);
