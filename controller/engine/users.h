/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"

/*
 * The engine's internals: users who react (workload/users.h). The engine has a workload of its
 * own then, to which each task is appended when it is submitted: numbers are in the
 * order of arrivals, and other runs number the same task otherwise. Tasks that arrive at their own
 * times are submitted among them.
 */
struct users;

/* Sets engine->users, and engine->setup.workload to the engine's own; nothing without users. */
void engine_users_init(struct engine *engine);
void engine_users_finish(struct engine *engine);

/*
 * When the next task is submitted, as far as tasks have ended by now; INFINITY: none. O(users).
 */
double engine_users_next_s(const struct engine *engine);

/* Appends the tasks that are submitted at or before `time_s`, in the order of their submissions. */
void engine_users_submit(struct engine *engine, double time_s);
