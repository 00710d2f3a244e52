/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/lab_state.h"
#include "local-sched/lab/lab_spec.h"

/*
 * The record of a lab, lab.json (common/lab_state.h has its contents), and the lock that allows one
 * command at a time on a lab.
 */

/* Writes the record atomically. */
bool lab_record_save(const struct lab_spec *spec, const struct lab_state *state, GError **error);

/*
 * The lab's supervisor: the process in the record, or else any process that runs as such (if the
 * record was removed). pid 0: none lives.
 */
struct lab_state_process lab_record_supervisor(const char *lab);

/*
 * Kills the supervisor of lab_record_supervisor(), and waits until every process of the lab is gone
 * with it. Returns false with LAB_ERROR_LEFT if that takes too long.
 */
bool lab_record_kill(const char *lab, GError **error);

/*
 * Creates the lab's directories and locks the lab: an flock() on RUN. Waits up to timeout_s for
 * another command to finish. Returns the lock's descriptor, which the caller closes, or -1 with
 * LAB_ERROR_BUSY.
 */
int lab_record_lock(const char *lab, double timeout_s, GError **error);

/* Removes RUN and DATA, and the directories above that are empty then. */
bool lab_record_remove(const char *lab, GError **error);
