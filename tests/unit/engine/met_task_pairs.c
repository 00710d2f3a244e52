/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Notes the pairs of a task that a test program of the engine meets, as met_pairs.c those of the
 * other tables: the engine moves a task on by engine_task_move(), or looks its transition up before
 * it acts on it (lifecycle.c), and the linker passes calls of both functions here (-Wl,--wrap).
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

bool __real_engine_task_move(enum engine_task_state *state, enum engine_task_event event);
bool __wrap_engine_task_move(enum engine_task_state *state, enum engine_task_event event);

bool __wrap_engine_task_move(enum engine_task_state *state, enum engine_task_event event)
{
	met_pairs_note(&engine_task_fsm, *state, event);
	return __real_engine_task_move(state, event);
}
