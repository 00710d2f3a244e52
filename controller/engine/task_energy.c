/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tasks have used. */
#include <jansson.h>
#include <math.h>

#include "common/json.h"
#include "controller/engine/counters.h"
#include "controller/engine/engine_private.h"
#include "controller/engine/engine_record.h"
#include "controller/engine/input.h"
#include "controller/engine/task_energy.h"

const char *const engine_energy_names[] = {"estimated", "provisional", "final", NULL};

void engine_take_energy(struct engine *engine, uint32_t index, double event_j)
{
	const struct engine_setup *setup = &engine->setup;
	struct engine_task *task = &engine->tasks[index];
	enum engine_energy_kind kind = ENGINE_ENERGY_PROVISIONAL;
	const double account_j = setup->task_ended_j
					 ? setup->task_ended_j(index, &kind, setup->task_ended_data)
					 : (double)NAN;

	if (setup->task_ended_j && setup->recorder && setup->recorder->answer)
		setup->recorder->answer(setup->recorder, account_j);
	task->energy_kind = isfinite(account_j) ? kind : ENGINE_ENERGY_ESTIMATED;
	task->energy_j = isfinite(account_j) ? account_j : event_j;
}

/*
 * What ENGINE_INPUT_ENERGY says. A full state has no task whose energy was final: of such a task the
 * change of what completed tasks have used is said as well.
 */
static json_t *describe_energy(const struct engine_task *task, double energy_j,
			       enum engine_energy_kind kind)
{
	struct engine_task after = *task;
	json_t *detail = json_pack("{s:I, s:o, s:i}", "task", (json_int_t)task->task->id,
				   "energy_j", json_number_or_null(energy_j), "kind", (int)kind);

	after.energy_j = energy_j;
	after.energy_kind = kind;
	if (task->energy_kind == ENGINE_ENERGY_FINAL && task->nodes_count > 0)
		json_object_set_new(detail, "change_j",
				    json_real(engine_counted_j(&after) - engine_counted_j(task)));
	return detail;
}

void engine_set_energy(struct engine *engine, uint32_t index, double energy_j,
		       enum engine_energy_kind kind)
{
	struct engine_task *task = &engine->tasks[index];
	const double before_j = engine_counted_j(task);
	const bool same = task->energy_j == energy_j;
	struct engine_recorder *recorder = engine->setup.recorder;

	/* Policies see the energy of completed tasks alone. */
	g_auto(engine_noting) noting = {NULL};

	if (task->state == ENGINE_TASK_COMPLETED && (!same || task->energy_kind != kind) &&
	    engine_notes(engine))
		noting = engine_note(engine, ENGINE_INPUT_ENERGY,
				     describe_energy(task, energy_j, kind));
	task->energy_j = energy_j;
	task->energy_kind = kind;
	/* A task whose place is not configured any more is not counted, and its record stays. */
	if (task->nodes_count == 0)
		return;
	if (task->state == ENGINE_TASK_COMPLETED)
		engine_correct_completed_j(engine, engine_counted_j(task) - before_j);
	if (same)
		return;
	engine_untouch(engine, index);
	if (recorder && recorder->task && !recorder->task(recorder, task))
		engine_abort(engine, "the energy of task %u could not be recorded", index);
}
