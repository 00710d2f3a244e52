/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/run/run_session.h"

/*
 * How fast the machine below a lab is while a run is measured. A steady lab's metronome tells all the while, in windows of
 * RUN_SPEED_WINDOW_S, or of a part of a shorter run; where there is none and the lab was fitted to a probe, a short one is made before the run and one
 * after it. Other labs, and real hosts, have no speed. Energy and times are those of the machine as it was: a run in
 * which it changed much says so.
 */
struct run_speed;

#define RUN_SPEED_WINDOW_S 10.0
/* A change that headings tell. */
#define RUN_SPEED_CHANGE 0.2

/* In the store's meta: a line for each run in which the speed changed by more than that. */
#define RUN_SPEED_META "speed_changes"

/* Begins with a run that is about to start, whose baseline does not count: an idle machine is a faster one. NULL where there is no speed. Needs the main context to be iterated. */
struct run_speed *run_speed_begin(struct run_session *session);

/*
 * Ends with the run: records an event "speed" of it, and if the speed changed, tells so and adds a line to the store's meta
 * data, which names it `run`. NULL is allowed.
 */
void run_speed_end(struct run_speed *speed, const char *run);

/*
 * The relative change from the first of `count` speeds to the one that is farthest from it, as a factor: -0.25 is a
 * quarter slower. 0 where there are less than two.
 */
double run_speed_change(const double *speeds, guint count);
