/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/session/run_session.h"

/*
 * The speed of the machine below a lab while a run is measured. A steady lab measures it
 * continuously, in windows of RUN_SPEED_WINDOW_S, or of a part of a shorter run. Without that, if
 * the lab was fitted to a probe, a short probe is made before the run and another one after it.
 * Other labs, and real hosts, have no speed. Energy and times are not corrected; a run in which the
 * speed changed much is marked.
 */
struct run_speed;

#define RUN_SPEED_WINDOW_S 10.0
/* A change above this fraction is shown in headings of reports. */
#define RUN_SPEED_CHANGE 0.2

/*
 * Key in the store's meta: a line for each run whose speed changed by more than RUN_SPEED_CHANGE.
 */
#define RUN_SPEED_META "speed_changes"

/*
 * Starts with a run whose baseline is over: an idle machine is faster. NULL if there is no speed.
 * The main context must be iterated.
 */
struct run_speed *run_speed_begin(struct run_session *session);

/*
 * Ends with the run: records an event "speed" of it, and if the speed changed, makes a note and
 * adds a line to the store's meta, which names the run as `run`. NULL is allowed.
 */
void run_speed_end(struct run_speed *speed, const char *run);

/*
 * The relative change from the first of `count` speeds to the most different one: -0.25 is a
 * quarter slower. 0 if there are fewer than two.
 */
double run_speed_change(const double *speeds, guint count);
