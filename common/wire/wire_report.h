/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/record/record.h"

/*
 * What a local scheduler says about its nodes and the meters of its hosts
 * (docs/reference/api.md, Nodes, Samples and Usage): it writes these records, the controller reads
 * them.
 */

/* A node. Texts are owned; NULL: none. */
struct wire_node {
	uint32_t index;
	char *name, *host;
	char *state; /* "ready", "busy", ... */
	char *step;  /* the state of its VM in detail */
	char *vm, *task;
	char *reason; /* why it is down */
	double boot_s;
	json_t *caps; /* owned; the CPU caps on its host and on its VM */
	/* The controller's own: whether it takes tasks, and when that was said last (their clock). */
	bool up;
	int64_t changed_ns;
};
extern const struct record wire_node_record;
/*
 * Reads a node of a cluster with `nodes` nodes into `ret_node`, which the caller clears with
 * record_clear(). False with `error` (JSON_ERROR), and there is nothing to clear.
 */
bool wire_node_read(const json_t *object, uint32_t nodes, struct wire_node *ret_node,
		    GError **error);

/* One sample of a host's meter. */
struct wire_sample {
	int64_t seq;
	int64_t t_ns; /* local scheduler: its clock; controller: our clock */
	int64_t mw;
	int64_t energy_uj; /* the host's counter just after the sample */
	uint32_t host;     /* index in the names that the reader or writer gives */
	/*
	 * part of the time since the previous sample is estimated: no sample for more than three
	 * intervals
	 */
	bool gap;
};
/* With the names of the hosts (const char *const *) as context; to be read, NULL-terminated. */
extern const struct record wire_sample_record;

/* CPU time of one task. */
struct wire_usage_task {
	const char *id; /* borrowed, as `host` */
	int64_t cpu_ns;
};

/*
 * The time between two samples of a host's meter: by how much the counter rose, and the CPU time of
 * each task.
 */
struct wire_usage {
	int64_t seq;      /* from 1 */
	const char *host; /* borrowed, when it is read from the JSON; also `counter` */
	/* name of the host's counter, another one for each that begins at 0; NULL: not reported */
	const char *counter;
	int64_t from_seq, to_seq; /* of the samples; 0: not reported */
	int64_t from_ns, to_ns;   /* local scheduler: its clock; controller: our clock */
	int64_t from_uj, to_uj;
	bool gap;  /* the meter only estimates a part of it */
	bool read; /* the CPU times are known */
	struct wire_usage_task *tasks;
	uint32_t tasks_count;
	int64_t vms_ns;    /* CPU time of VMs without a task */
	int64_t others_ns; /* CPU time of processes that are no VMs; -1: not known */
	int64_t length_ns; /* by the host's clock; the controller's own */
};
extern const struct record wire_usage_record;
/* NULL is allowed. */
void wire_usage_free(struct wire_usage *usage);

/* The highest number of a sample, an event or an interval of usage. */
#define WIRE_SEQ_MAX (INT64_C(1) << 53)

/* More than any clock shows (146 years), and too little for sums with an offset to overflow. */
#define WIRE_CLOCK_MAX_NS (INT64_C(1) << 62)
