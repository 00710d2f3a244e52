/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"

/* Inputs of an engine as they are stored: docs/reference/store.md, `input`. */

/* The name of an input: of its event, else of its kind. */
const char *input_name(const struct engine_input *input);

/* The kind of a stored input, and of its event, else NONE; false: there is no such name. */
bool input_find(const char *name, enum engine_input_kind *ret_kind,
		enum backend_event_kind *ret_event);

/* An event without its kind and time. New reference; NULL: there is nothing to say. */
json_t *input_write_event(const struct backend_event *event);

/* The lists and texts of an event that was read. */
struct input_event {
	struct backend_event event;
	struct backend_vm_overhead *vms;
	struct backend_vm_move *moves;
};

/*
 * Reads the rest of an event whose kind and time are set; texts are borrowed from `detail`, which
 * may be NULL. The caller clears it. False: it is not what input_write_event() writes.
 */
bool input_read_event(const json_t *detail, struct input_event *event);
void input_event_clear(struct input_event *event);

/*
 * What a run begins with: its settings and sums of its system and its tasks, so that a run that
 * is made again is known to be the same. `backend`: what the engine drives. New reference.
 */
json_t *input_write_setup(const struct engine_setup *setup, const struct backend *backend);
