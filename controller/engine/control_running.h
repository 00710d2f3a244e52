/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"

/* Requests of users about tasks under way, and what resumes suspended tasks without a policy. */

/* What a user asks for about a task. */
enum engine_request {
	ENGINE_REQUEST_CANCEL,
	ENGINE_REQUEST_HOLD,
	ENGINE_REQUEST_RELEASE,
	ENGINE_REQUEST_SUSPEND,
	ENGINE_REQUEST_MIGRATE,
	ENGINE_REQUESTS,
};

/*
 * The answer to a request about a task in that state; NONE: the state allows it. A state without an
 * answer is a defect, and aborts.
 */
enum engine_refusal engine_state_refusal(enum engine_task_state state, enum engine_request request);

/* Whether a request is refused because the run or the task has ended, or for the task's state. */
enum engine_refusal engine_check_request(const struct engine *engine, enum engine_request request,
					 uint32_t task);

/* Holds a task that is suspended or being suspended, at a user's request. */
void engine_hold_suspended(struct engine *engine, uint32_t task);

/*
 * Whether a suspended task that is not held is to be resumed without the policy: a user wants it,
 * or the policy does not know suspended tasks, having replaced the policy that suspended it.
 */
bool engine_is_wanted(const struct engine *engine, uint32_t task);

/* Resumes such tasks where nodes are idle. */
void engine_resume_wanted(struct engine *engine);
