/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/backend/remote_clock.h"

/*
 * A local scheduler's report about the time between two samples of a host's meter: by how much the
 * counter rose, and the CPU time of each task (docs/reference/api.md, "Usage").
 */

/* CPU time of one task. */
struct remote_usage_task {
	char *id;
	int64_t cpu_ns;
};

/* One interval. Times are on our clock; length_ns is by the host's clock. */
struct remote_usage {
	int64_t seq;
	char *host;
	/*
	 * name of the host's counter, another one for each counter that begins at 0; NULL: not
	 * reported
	 */
	char *counter;
	int64_t from_ns, to_ns;
	int64_t length_ns;
	int64_t from_uj, to_uj;
	bool gap;          /* the meter only estimates a part of it */
	bool read;         /* the CPU times are known */
	int64_t vms_ns;    /* CPU time of VMs without a task */
	int64_t others_ns; /* CPU time of processes that are no VMs; -1: not known */
	GArray *tasks;     /* struct remote_usage_task elements */
};

/*
 * Reads the answer to GET /v1/usage at `now_ns` of our clock. *ret_stream (borrowed from `body`)
 * names the numbering of its intervals, *ret_last is the highest number (0: none). An impossible
 * interval (for example, if it ends more than some seconds from now, or has more energy than any
 * host draws) is left out; *ret_wrong, owned by the caller, says why for the first such interval
 * (NULL: there is none). Returns GPtrArray of struct remote_usage, oldest first, owned by the
 * caller, or NULL with `error` (JSON_ERROR).
 */
GPtrArray *remote_usage_parse(const json_t *body, const struct remote_clock *clock, int64_t now_ns,
			      const char **ret_stream, int64_t *ret_last, GError **ret_wrong,
			      GError **error);

/* Frees an element. */
void remote_usage_free(void *usage);

/*
 * Parses a task's id, EXPERIMENT-RUN-TASK-ATTEMPT. False if it belongs to another experiment or
 * run, or is no id that the controller makes (numbers with leading zeros), so that no two ids name
 * the same attempt. The name of an experiment may end in such numbers itself.
 */
bool remote_usage_task_of(const char *experiment, int64_t run, const char *id, uint32_t *ret_task,
			  uint32_t *ret_attempt);
