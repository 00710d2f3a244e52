/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Notes the pairs of a task that a test program of the engine meets, as met_pairs.c those of the
 * other tables: the engine looks a task's transition up before it acts on it (lifecycle.c), so that
 * the linker passes calls of engine_task_transition() here (-Wl,--wrap).
 */
#include "controller/engine/task_fsm.h"
#include "tests/unit/met_pairs.h"

const struct fsm_transition *__real_engine_task_transition(enum engine_task_state state,
							   enum engine_task_event event);
const struct fsm_transition *__wrap_engine_task_transition(enum engine_task_state state,
							   enum engine_task_event event);

const struct fsm_transition *__wrap_engine_task_transition(enum engine_task_state state,
							   enum engine_task_event event)
{
	met_pairs_note(&engine_task_fsm, state, event);
	return __real_engine_task_transition(state, event);
}
