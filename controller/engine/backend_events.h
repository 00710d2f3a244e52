/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"

/* What the backend reports about tasks and nodes. */

/*
 * The part, in [0, 1], of a task's execution that lies in the day (engine_setup.lead_s). The last
 * interval of the task is from start_s to end_s; the time for which it was suspended is no
 * execution (Machovec 2017, section II).
 */
double engine_day_share(const struct engine *engine, uint32_t task, double start_s, double end_s);

/*
 * Moves a node on by an event at `time_s`, and records it. If the node takes tasks no more, claims
 * and planned starts on it are cancelled; if it takes tasks again, reservations are recomputed at
 * the next event. `reason`: of a failure, or as for engine_move_node(). `user`: of a request, or
 * NULL. False, and no effect: the event is ignored.
 */
bool engine_change_node(struct engine *engine, const struct sched_node *node, enum node_event event,
			const char *reason, const char *user, double time_s);

/* As NODE_DRAIN, of which an interrupted run has the record already. */
void engine_redrain_node(struct engine *engine, const struct sched_node *node, const char *reason,
			 double time_s);

/* Handles an event of the backend. */
void engine_handle(struct engine *engine, const struct backend_event *event);
