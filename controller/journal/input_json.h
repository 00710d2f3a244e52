/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"
#include "controller/store/store.h"

/* Inputs of an engine as they are stored: docs/reference/store.md, `input`. */

/*
 * The name of an input as it is stored: of its event, else of its kind; NULL: TIME. Those of
 * STARTED and ENDED, which most events are, have one letter: "s" and "e".
 */
const char *input_name(const struct engine_input *input);

/* The name of an input for messages, from its stored name. */
const char *input_title(const char *name);

/*
 * The kind of an input of that stored name, and of its event, else NONE; false: there is no such
 * name. Version 11 of the store had "started" and "ended" whole.
 */
bool input_find(const char *name, enum engine_input_kind *ret_kind,
		enum backend_event_kind *ret_event);

/*
 * Sets the fields of a row that describe an event, `detail` among them, which the row owns.
 */
void input_write_event(const struct backend_event *event, struct store_input *row);

/*
 * Sets the fields of a row that say what ENGINE_INPUT_ENERGY does, of which a service has several
 * for each task: the task, the energy, its kind as the attempt, and its change as exec_s. And its
 * detail of a row, a new reference.
 */
void input_write_energy(const json_t *detail, struct store_input *row);
json_t *input_read_energy(const struct store_input *row);

/* The lists and texts of an event that was read. */
struct input_event {
	struct backend_event event;
	struct backend_vm_overhead *vms;
	struct backend_vm_move *moves;
};

/*
 * Reads an event of that kind, LATE or not, from its row and from the row's detail (NULL: none), of
 * which texts are borrowed. The caller clears it. False: it is not what input_write_event() writes.
 */
bool input_read_event(enum backend_event_kind kind, const struct store_input *row,
		      const json_t *detail, struct input_event *ret_event);
void input_event_clear(struct input_event *event);

/*
 * What a run begins with: its settings and sums of its system and its tasks, so that a run that
 * is made again is known to be the same. `backend`: what the engine drives. New reference.
 */
json_t *input_write_setup(const struct engine_setup *setup, const struct backend *backend);
