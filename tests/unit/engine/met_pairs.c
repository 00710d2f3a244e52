/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Notes which pairs of state and event a test program meets. The linker passes calls of
 * engine_task_transition() and fsm_move() here (-Wl,--wrap), so that the engine itself has no hook.
 * A test must not call these itself, since the pair would then count as met: it looks pairs up with
 * fsm_transition(). At its end the program appends the pairs to the file that VIRTBED_MET_PAIRS
 * names, "what: state event" a line; test-met-pairs reads them.
 */
#include <glib.h>
#include <stdio.h>

#include "controller/engine/migration_fsm.h"
#include "controller/engine/resumption_fsm.h"
#include "controller/engine/suspension_fsm.h"
#include "controller/engine/task_fsm.h"

const struct fsm_transition *__real_engine_task_transition(enum engine_task_state state,
							   enum engine_task_event event);
const struct fsm_transition *__wrap_engine_task_transition(enum engine_task_state state,
							   enum engine_task_event event);
bool __real_fsm_move(const struct fsm *fsm, unsigned int *state, unsigned int event,
		     const char *subject);
bool __wrap_fsm_move(const struct fsm *fsm, unsigned int *state, unsigned int event,
		     const char *subject);

static const struct fsm *const tables[] = {
	&engine_task_fsm,
	&suspension_fsm,
	&resumption_fsm,
	&migration_fsm,
};

/* No table is longer. Tests have engines on several threads. */
static gint met[G_N_ELEMENTS(tables)][ENGINE_TASK_STATES][ENGINE_TASK_EVENTS];

const struct fsm_transition *__wrap_engine_task_transition(enum engine_task_state state,
							   enum engine_task_event event)
{
	g_atomic_int_set(&met[0][state][event], 1);
	return __real_engine_task_transition(state, event);
}

bool __wrap_fsm_move(const struct fsm *fsm, unsigned int *state, unsigned int event,
		     const char *subject)
{
	for (size_t i = 0; i < G_N_ELEMENTS(tables); i++)
		if (tables[i] == fsm)
			g_atomic_int_set(&met[i][*state][event], 1);
	return __real_fsm_move(fsm, state, event, subject);
}

static void write_table(FILE *file, size_t table)
{
	const struct fsm *fsm = tables[table];

	for (unsigned int state = 0; state < fsm->states; state++)
		for (unsigned int event = 0; event < fsm->events; event++)
			if (met[table][state][event])
				fprintf(file, "%s: %s %s\n", fsm->what, fsm->state_names[state],
					fsm->event_names[event]);
}

__attribute__((destructor)) static void write_pairs(void)
{
	const char *path = g_getenv("VIRTBED_MET_PAIRS");
	FILE *file = path ? fopen(path, "a") : NULL;

	if (!file)
		return;
	for (size_t i = 0; i < G_N_ELEMENTS(tables); i++)
		write_table(file, i);
	fclose(file);
}
