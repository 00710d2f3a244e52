/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/backend/backend.h"
#include "controller/engine/engine.h"

/*
 * In a controller that takes over, once the tasks of `engine` were put back: has `backend`, a remote
 * one, ask the local schedulers what became of those of the first tasks_count that were under way;
 * not of those in queues (engine_queue_again()).
 */
void run_reattach(const struct engine *engine, struct backend *backend, uint32_t tasks_count);
