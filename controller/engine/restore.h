/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"

/* Interrupted runs that are continued. */

/* Of a run that was interrupted: asks the backend once more for the steps that were under way. */
void engine_resend_steps(struct engine *engine);
