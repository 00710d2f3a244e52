/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdint.h>

#include "local-sched/executor/executor.h"
#include "local-sched/power/power.h"
#include "local-sched/power/sample_ring.h"

/*
 * Who used the CPUs of each host while its meter counted: for every sample of a meter the CPU times of
 * all VMs are read at once, and from one sample with such a reading to the next there is an interval, with
 * the joules that the counter rose by and the CPU time of each task. Intervals of a host follow one another
 * without a hole.
 *
 * The reading comes a moment after its sample, and when a host is slow no sooner than its answer: samples
 * that come meanwhile have none, and the interval goes on over them. Where no reading came for
 * HOST_USAGE_UNREAD_S, an interval is told of whose CPU times are not known.
 *
 * Nothing is read before somebody asks (host_usage_json()). All is in memory: with the scheduler its
 * tasks end, and whoever keeps accounts has a hole that nobody's tasks ran in. Main loop only.
 */
struct host_usage;

/* The longest interval that waits for a reading, seconds. */
#define HOST_USAGE_UNREAD_S 30

/* Reads whose CPU time was used on a host since the last time; executor.h says more. */
typedef void (*host_usage_read_f)(uint32_t host, executor_cpu_f done, void *done_data, void *data);

/* For the hosts of `cluster` and their meters, which are borrowed. */
struct host_usage *host_usage_new(const struct config_cluster *cluster, const struct power *power,
				  host_usage_read_f read, void *data);

/* To be called when the executor was freed, which answers no more questions. NULL is allowed. */
void host_usage_free(struct host_usage *usage);

/* A sample of the host at `index` was counted (power_watch()). */
void host_usage_sampled(struct host_usage *usage, uint32_t index,
			const struct sample_ring_entry *sample);

/*
 * The answer to GET /v1/usage?after=AFTER but for `now_ns`, a new reference: at most 1,000 intervals.
 * From the first call on intervals are kept.
 */
json_t *host_usage_json(struct host_usage *usage, uint64_t after);
