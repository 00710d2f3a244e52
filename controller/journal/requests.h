/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

#include "controller/backend/backend.h"

/*
 * What an engine requests of its backend while it handles an input: a sum, by which two engines are
 * compared. Of 47 bits, which SQLite stores in six bytes: the kinds of the requests, one bit each,
 * then a sum of all that they say, in their order.
 */

enum requests_kind {
	REQUESTS_START = 0,
	REQUESTS_KILL,
	REQUESTS_SUSPEND,
	REQUESTS_RESUME,
	REQUESTS_MIGRATE,
	REQUESTS_SHARE,
	REQUESTS_ENQUEUE,
	REQUESTS_LIMIT,
	REQUESTS_KINDS,
};
/* "start", "kill", ... */
extern const char *const requests_names[];

/* A request: an operation of backend.h with its arguments. Arguments it does not take are 0. */
struct request {
	enum requests_kind kind;
	/* Of all kinds but LIMIT, START and ENQUEUE the first; the second of all but LIMIT. */
	uint32_t task;
	uint32_t attempt;
	uint32_t n;
	const uint32_t *nodes;
	uint32_t nodes_count;
	/* START, ENQUEUE: in the place of the task and the nodes above. */
	const struct sched_allocation *placed;
	double start_before_s; /* ENQUEUE */
	double value;          /* SHARE: the yield; LIMIT: the limit */
};

struct requests {
	uint64_t sum;
	guint kinds; /* bits */
	/* Of the first requests, for messages; `tasks` is UINT32_MAX for LIMIT. */
	guint count;
	guint8 first_kinds[4];
	uint32_t first_tasks[4];
};

/* An input begins. */
void requests_begin(struct requests *requests);
void requests_add(struct requests *requests, const struct request *request);
/* The sum of the requests since then, above 0; -1: there were none. */
int64_t requests_sum(const struct requests *requests);
/* Bits of the kinds that a sum has; 0 of -1. */
guint requests_kinds_of(int64_t sum);
/* "start of task 3, kill of task 7", or "none"; the caller frees. */
char *requests_text(const struct requests *requests);
