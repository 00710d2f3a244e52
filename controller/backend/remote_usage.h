/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/backend/remote_clock.h"

/*
 * What a local scheduler says of the time between two samples of a host's meter: what the counter rose
 * by, and whose CPU time it was (docs/reference/api.md, "Usage").
 */

/* CPU time of one task. */
struct remote_usage_task {
	char *id;
	int64_t cpu_ns;
};

/* One interval. Times are on our clock; its length is as the host's clock has it. */
struct remote_usage {
	int64_t seq;
	char *host;
	char *counter; /* which one the host's is: another that begins at 0 has another name; NULL: not told */
	int64_t from_ns, to_ns;
	int64_t length_ns;
	int64_t from_uj, to_uj;
	bool gap;          /* the meter only estimates a part of it */
	bool read;         /* the CPU times are known */
	int64_t vms_ns;    /* CPU time of VMs that no task had */
	int64_t others_ns; /* ... of what is no VM; -1: not known */
	GArray *tasks;     /* struct remote_usage_task */
};

/*
 * Reads the answer to GET /v1/usage at `now_ns` of our clock: *ret_stream (borrowed from `body`) says which
 * numbers its intervals have, *ret_last is the highest one (0: none). An interval that makes no sense (which
 * ends later than some seconds from now, say, or has more energy than any host draws) is left out;
 * *ret_wrong (NULL: there is none) is why the first such one is, the caller's. Returns GPtrArray of struct
 * remote_usage, oldest first, owned by the caller, or NULL with `error` (JSON_ERROR).
 */
GPtrArray *remote_usage_parse(const json_t *body, const struct remote_clock *clock, int64_t now_ns,
			      const char **ret_stream, int64_t *ret_last, GError **ret_wrong,
			      GError **error);

/* Frees an element. */
void remote_usage_free(void *usage);

/*
 * Takes a task's id apart, EXPERIMENT-RUN-TASK-ATTEMPT: false where it is of another experiment, or run, or
 * no id that we would give (numbers with leading zeros): no two ids are of the same attempt.
 * Names of experiments may end in such numbers, too.
 */
bool remote_usage_task_of(const char *experiment, int64_t run, const char *id, uint32_t *ret_task,
			  uint32_t *ret_attempt);
