/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/store/store.h"

/* The history of a task over all of its attempts. */
struct course {
	double started_s;  /* first start; NAN: never */
	double ended_s;    /* end of the last attempt; NAN: not started, or not ended */
	double executed_s; /* NAN: not started, or not ended */
	bool suspended;
	uint32_t attempts; /* number of attempts that started */
	const char *nodes; /* of the last of these */
};

/* What is read to find the courses of a run's tasks, and how far. */
struct courses {
	GPtrArray *suspensions; /* of struct store_suspension by task, attempt and n; borrowed */
	GPtrArray *lost;        /* of struct store_task by task and attempt; borrowed */
	guint at_suspension;
	guint at_lost;
};

/* The course of a task. Tasks are visited by number, as their records are. */
struct course courses_next(struct courses *courses, const struct store_task *task);
