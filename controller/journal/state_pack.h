/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/*
 * A full state as it is stored: a byte of 0, then what zlib packed: a line of JSON with all but the
 * tasks, and a line for each task. Tasks are packed one by one, so that a million take no more
 * memory than what is stored. zlib's check sum finds damage. A line of more than 64 KiB for a task,
 * and more tasks than a service can have, are refused, too.
 */
struct state_packer;

/* A state that begins with `head`. */
struct state_packer *state_packer_new(const json_t *head);
/* Adds a task; `data` is the packer, as for engine_save_tasks(). */
void state_packer_add(const json_t *task, void *data);
/* The state, which the caller frees; the packer is freed. */
GBytes *state_packer_end(struct state_packer *packer);

/*
 * The head, with the tasks in engine.tasks: a new reference. Version 12 of the store had texts,
 * "1234 eJyr...", a number of bytes and Base64, which are read as well. NULL: it is neither.
 */
json_t *state_unpack(GBytes *state);
