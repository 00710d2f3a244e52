/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/input.h"

#include "common/json.h"
#include "controller/engine/engine_record.h"

const char *const engine_input_names[] = {
	[ENGINE_INPUT_NONE] = "none",       [ENGINE_INPUT_BEGIN] = "begin",
	[ENGINE_INPUT_TIME] = "time",       [ENGINE_INPUT_EVENT] = "event",
	[ENGINE_INPUT_STOP] = "stop",       [ENGINE_INPUT_LATE] = "late",
	[ENGINE_INPUT_FINISH] = "finish",   [ENGINE_INPUT_RESTORE] = "restore",
	[ENGINE_INPUT_SUBMIT] = "submit",   [ENGINE_INPUT_HOLD] = "hold",
	[ENGINE_INPUT_FREE] = "free",       [ENGINE_INPUT_CANCEL] = "cancel",
	[ENGINE_INPUT_SUSPEND] = "suspend", [ENGINE_INPUT_RESUME] = "resume",
	[ENGINE_INPUT_MIGRATE] = "migrate", [ENGINE_INPUT_DRAIN] = "drain",
	[ENGINE_INPUT_UNDRAIN] = "undrain", [ENGINE_INPUT_POLICY] = "policy",
	[ENGINE_INPUT_WINDOW] = "window",   [ENGINE_INPUT_SETTLE] = "settle",
	[ENGINE_INPUT_CORRECT] = "correct", [ENGINE_INPUT_SHIFT] = "shift",
	[ENGINE_INPUT_ENERGY] = "energy",   NULL,
};
G_STATIC_ASSERT(G_N_ELEMENTS(engine_input_names) == ENGINE_INPUT_KINDS + 1);

static engine_noting begin(struct engine *engine, const struct engine_input *input)
{
	struct engine_recorder *recorder = engine->setup.recorder;

	if (!engine_notes(engine))
		return (engine_noting){NULL};
	engine->noting = true;
	if (!recorder->input(recorder, input))
		engine_abort(engine, "an input could not be recorded");
	return (engine_noting){engine};
}

engine_noting engine_note_at(struct engine *engine, enum engine_input_kind kind, double time_s,
			     json_t *detail)
{
	g_autoptr(json_t) owned = detail;

	return begin(engine, &(struct engine_input){kind, time_s, NULL, owned});
}

engine_noting engine_note(struct engine *engine, enum engine_input_kind kind, json_t *detail)
{
	return engine_note_at(engine, kind, (double)NAN, detail);
}

engine_noting engine_note_event(struct engine *engine, enum engine_input_kind kind,
				const struct backend_event *event)
{
	return begin(engine, &(struct engine_input){kind, event->time_s, event, NULL});
}

engine_noting engine_note_task(struct engine *engine, enum engine_input_kind kind, uint32_t task)
{
	return engine_note(engine, kind,
			   engine_notes(engine) ? json_pack("{s:I}", "task", (json_int_t)task)
						: NULL);
}

void engine_noted(struct engine *engine)
{
	struct engine_recorder *recorder = engine->setup.recorder;

	engine->noting = false;
	if (recorder->input_done && !recorder->input_done(recorder))
		engine_abort(engine, "an input could not be recorded");
}
