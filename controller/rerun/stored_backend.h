/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "controller/backend/backend.h"
#include "controller/journal/listener.h"

/*
 * The third backend: it answers from the inputs that are stored of a run. Its caller takes the next
 * stored input, tells the backend, and hands it to the engine. Requests are noted and have no
 * effect: what became of them is in the inputs that follow.
 */

/* `setup`: the detail of the run's input "begin", which says what the backend of the run can do. */
struct backend *stored_backend_new(const json_t *setup);

/*
 * The next input begins, about time_s (NAN: no time), with its stored answers. False: they are no
 * answers.
 */
bool stored_backend_begin(struct backend *backend, double time_s, const char *answers);

/* A full state was stored here: the differences of answers begin from 0 again. */
void stored_backend_restart(struct backend *backend);

/* The input was handled. False: the engine has not asked for all that was answered. */
bool stored_backend_end(struct backend *backend);

/* The most that a stored time can be, in either direction: no run lasts so long. */
#define STORED_TIME_MAX_S 1e11

/* Whether a clock or an energy was answered that no backend answers; it was left out. */
bool stored_backend_is_damaged(const struct backend *backend);

/* What the engine has requested since the input began. */
const struct requests *stored_backend_requests(const struct backend *backend);

/* The next answer that was no backend's (engine_recorder.answer()). */
double stored_backend_other(struct backend *backend);

/*
 * From now on `backend` passes everything on to `other`, which stays the caller's and can neither
 * migrate nor keep queues: the history ends here.
 */
void stored_backend_leave(struct backend *backend, struct backend *other);

/* What was answered last: the clock, and the energy. */
double stored_backend_last_s(const struct backend *backend);
double stored_backend_last_j(const struct backend *backend);
