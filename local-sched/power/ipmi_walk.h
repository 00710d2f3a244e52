/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

#include "local-sched/power/ipmi_sdr.h"
#include "local-sched/power/ipmi_shell.h"

/*
 * Finds sensors by their names: a walk along a BMC's chain of sensor data records, which takes half
 * a minute with a slow BMC. It asks for each record at once (or, from a BMC that refuses this, in
 * pieces), and after a failure continues where it was. What it has found is kept, until a record
 * that is read again turns out to be of another sensor: numbers and factors change with the
 * firmware, and with what is plugged in.
 */
struct ipmi_walk;

/* Creates a walk by `shell` for the sensors `wanted`; both outlive it. */
struct ipmi_walk *ipmi_walk_new(struct ipmi_shell *shell, const char *const *wanted,
				uint32_t count);

/* Drops what is under way, without a callback. NULL is allowed. */
void ipmi_walk_free(struct ipmi_walk *walk);

/*
 * Called when all sensors are found, or with `error` (POWER_METER_ERROR): SETUP where one is not in
 * the records, not in watts, or where several have its name; other codes where the walk stopped.
 */
typedef void (*ipmi_walk_done_f)(const GError *error, void *data);

/* Begins, or continues after an error. Calls `done` once, perhaps before returning. */
void ipmi_walk_go(struct ipmi_walk *walk, ipmi_walk_done_f done, void *data);

/*
 * Reads the records of the sensors found once more, one request for each, and takes their factors,
 * which may be others. Calls `done` once, perhaps before returning: with an error where that was
 * not possible, after which ipmi_walk_sensors() is still what it was, or NULL because a record is
 * not there, or is not that of its sensor (by name, number, owner and unit): all are forgotten.
 */
void ipmi_walk_check(struct ipmi_walk *walk, ipmi_walk_done_f done, void *data);

/*
 * When the login began by which the first of the records was read that were checked last: a login
 * after that came between them, or later.
 */
int64_t ipmi_walk_session_ns(const struct ipmi_walk *walk);

/* The sensors found, in the order of `wanted`; NULL: not all are. Borrowed. */
const struct ipmi_sensor *ipmi_walk_sensors(const struct ipmi_walk *walk);

/* Forgets what was found: the next ipmi_walk_go() begins at the first record. */
void ipmi_walk_forget(struct ipmi_walk *walk);

/* How many records were read, and how many there are (0: not known). */
void ipmi_walk_progress(const struct ipmi_walk *walk, uint32_t *ret_read, uint32_t *ret_all);
