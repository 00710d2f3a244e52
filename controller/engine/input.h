/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine_private.h"

/*
 * Inputs: what the engine takes from outside is noted as it comes, so that a run can be carried out
 * again from its record, that of a service from a full state on (docs/reference/store.md, `input`).
 * A function that is called from outside and changes the engine begins with
 *
 *    g_auto(engine_noting) noting = engine_note(engine, KIND, NULL);
 *
 * Where it is called by another such function nothing is noted: it belongs to that one's input.
 */

/* An input that is being handled. */
typedef struct {
	struct engine *engine; /* NULL: nothing was noted */
} engine_noting;

/* Whether an input that begins now is noted: otherwise its detail need not be made. */
static inline bool engine_notes(const struct engine *engine)
{
	const struct engine_recorder *recorder = engine->setup.recorder;

	return recorder && recorder->input && !engine->noting;
}

/* Begins an input; takes over `detail`, which may be NULL. */
engine_noting engine_note(struct engine *engine, enum engine_input_kind kind, json_t *detail);
/* The same about a time. */
engine_noting engine_note_at(struct engine *engine, enum engine_input_kind kind, double time_s,
			     json_t *detail);
/* The same about an event of the backend. */
engine_noting engine_note_event(struct engine *engine, enum engine_input_kind kind,
				const struct backend_event *event);
/* The same about a task. */
engine_noting engine_note_task(struct engine *engine, enum engine_input_kind kind, uint32_t task);

/* The input that was noted has been handled. */
void engine_noted(struct engine *engine);

static inline void engine_noting_end(engine_noting *noting)
{
	if (noting->engine)
		engine_noted(noting->engine);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(engine_noting, engine_noting_end)
