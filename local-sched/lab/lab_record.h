/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/lab_state.h"
#include "local-sched/lab/lab_spec.h"

/*
 * The record of a lab, lab.json (common/lab_state.h has its contents), and the lock that keeps two
 * commands from working on one lab.
 */

enum lab_record_state {
	LAB_RECORD_NONE = 0, /* no record, or one that cannot be read */
	LAB_RECORD_STARTING,
	LAB_RECORD_UP,
};

struct lab_record {
	enum lab_record_state state;
	struct lab_state_process supervisor; /* of this boot; pid 0: none */
};

/* Writes the record, whole or not at all. */
bool lab_record_save(const struct lab_spec *spec, const struct lab_record *record, GError **error);

/* Reads it. A supervisor of an earlier boot of the machine reads as none. */
struct lab_record lab_record_load(const char *lab);

/*
 * The lab's supervisor: the one in the record, or else any process that runs as such (a record that
 * somebody removed). pid 0: none alive.
 */
struct lab_state_process lab_record_supervisor(const char *lab);

/*
 * Kills the supervisor, whichever of both it is, and waits until it and with it every process of
 * the lab is gone. Returns false with LAB_ERROR_LEFT if that takes too long.
 */
bool lab_record_kill(const char *lab, GError **error);

/*
 * Makes the lab's directories and locks the lab: an flock() on RUN. Waits up to timeout_s for
 * another command to finish. Returns the lock's descriptor, to be closed, or -1 with
 * LAB_ERROR_BUSY.
 */
int lab_record_lock(const char *lab, double timeout_s, GError **error);

/* Removes RUN and DATA and, where they are empty then, the directories above. */
bool lab_record_remove(const char *lab, GError **error);
