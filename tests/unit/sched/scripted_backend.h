/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "controller/backend/backend.h"
#include "controller/sched/model.h"

/*
 * A backend that plays out a script in virtual time: which attempt of which task takes how long and
 * how it ends, and when nodes go down. What the script does not mention completes after its ETC. It
 * asserts that nothing is started on nodes that are taken or down.
 */

/* How one attempt goes. */
struct script_attempt {
	uint32_t task;
	uint32_t attempt;
	double exec_s;
	enum backend_outcome outcome;
	bool late; /* its end is told after settle() alone */
};

/* Something that happens by itself. */
struct script_event {
	double time_s;
	enum backend_event_kind kind;
	uint32_t cluster;
	uint32_t node;
	const char *reason;
};

struct script {
	const struct sched_system *system;
	double now_s;          /* when the backend begins */
	double watts;          /* dynamic power, always */
	const struct script_attempt *attempts;
	uint32_t attempts_count;
	const struct script_event *events; /* in order of time */
	uint32_t events_count;
	bool twice;            /* says everything that ends twice */
};

/* `script` is borrowed. */
struct backend *scripted_backend_new(const struct script *script);

/* Takes on a task that a former backend started at `start_s`. */
void scripted_backend_adopt(struct backend *backend, const struct backend_start *start,
			    double start_s);

/* What was asked for, a line per call: "50 start 3.1 c0 0,1", "60 kill 3.1". Borrowed. */
const char *scripted_backend_log(struct backend *backend);
