/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"

/*
 * The yield of a task on shared hosts and its virtual time, the integral of the yield (Stillwell
 * 2010, III.A).
 */

/* The virtual time of a task at `time_s`, in seconds. */
double engine_virtual_s(const struct engine_task *task, double time_s);

/* Sets the yield of a task from now on, and records it; the caller tells the backend. */
void engine_set_yield(struct engine *engine, uint32_t task, double yield);
