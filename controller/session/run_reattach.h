/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/backend/backend.h"
#include "controller/engine/engine.h"

/*
 * For a controller that continues a run, after the tasks of `engine` were restored: makes
 * `backend`, a remote one, ask the local schedulers for the state of those of the first tasks_count
 * tasks that were under way. Tasks in queues are not included (engine_queue_again()).
 */
void run_reattach(const struct engine *engine, struct backend *backend, uint32_t tasks_count);
