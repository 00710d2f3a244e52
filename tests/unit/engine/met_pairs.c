/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Notes which pairs of state and event a test program meets. The linker passes calls of
 * engine_task_transition() here (-Wl,--wrap), so that the engine itself has no hook. A test must
 * not call engine_task_transition() itself, since the pair would then count as met: it looks pairs
 * up with fsm_transition(). At its end the program appends the pairs to the file that
 * VIRTBED_MET_PAIRS names, "state event" a line; test-met-pairs reads them.
 */
#include <glib.h>
#include <stdio.h>

#include "controller/engine/task_fsm.h"

const struct fsm_transition *__real_engine_task_transition(enum engine_task_state state,
							   enum engine_task_event event);
const struct fsm_transition *__wrap_engine_task_transition(enum engine_task_state state,
							   enum engine_task_event event);

/* Tests have engines on several threads. */
static gint met[ENGINE_TASK_STATES][ENGINE_TASK_EVENTS];

const struct fsm_transition *__wrap_engine_task_transition(enum engine_task_state state,
							   enum engine_task_event event)
{
	g_atomic_int_set(&met[state][event], 1);
	return __real_engine_task_transition(state, event);
}

__attribute__((destructor)) static void write_pairs(void)
{
	const char *path = g_getenv("VIRTBED_MET_PAIRS");
	FILE *file = path ? fopen(path, "a") : NULL;

	if (!file)
		return;
	for (int state = 0; state < ENGINE_TASK_STATES; state++)
		for (int event = 0; event < ENGINE_TASK_EVENTS; event++)
			if (met[state][event])
				fprintf(file, "%s %s\n",
					engine_task_state_name((enum engine_task_state)state),
					engine_task_event_name((enum engine_task_event)event));
	fclose(file);
}
