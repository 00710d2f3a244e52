/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"

/* What tasks have used: engine_set_energy(). */

/* Sets the energy of a task whose attempt has ended: the account's, or the backend's `event_j`. */
void engine_take_energy(struct engine *engine, uint32_t task, double event_j);
