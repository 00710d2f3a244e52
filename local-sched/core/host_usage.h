/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "local-sched/executor/executor.h"
#include "local-sched/power/power.h"
#include "local-sched/power/sample_ring.h"

/*
 * Which tasks used the CPUs of each host while its meter counted. For every sample of a meter the
 * CPU times of all VMs are read at once. Two successive samples with such a reading bound an
 * interval, which has the joules by which the counter rose and the CPU time of each task. The
 * intervals of a host follow one another without a gap.
 *
 * A reading arrives a moment after its sample, on a slow host even after later samples. Those
 * samples have no reading, and the interval extends over them. If no reading arrives for
 * HOST_USAGE_UNREAD_S, the interval is reported with unknown CPU times.
 *
 * Reading begins with the first host_usage_json(). All intervals are in memory only: the tasks end
 * with the scheduler, and the controller's energy account has a hole in which no task ran. Main
 * loop only.
 */
struct host_usage;

/* The longest interval that waits for a reading, seconds. */
#define HOST_USAGE_UNREAD_S 30

/* Reads the CPU time used on a host since the last reading, by task (executor.h). */
typedef void (*host_usage_read_f)(uint32_t host, executor_cpu_f done, void *done_data, void *data);

/* Creates it for the hosts of `cluster` and their meters, which are borrowed. */
struct host_usage *host_usage_new(const struct config_cluster *cluster, const struct power *power,
				  host_usage_read_f read, void *data);

/* Call it after the executor was freed, when no reading can arrive any more. NULL is allowed. */
void host_usage_free(struct host_usage *usage);

/* Reports that a sample of the host at `index` was counted (power_watch()). */
void host_usage_sampled(struct host_usage *usage, uint32_t index,
			const struct sample_ring_entry *sample);

/*
 * The response to GET /v1/usage?after=AFTER without `now_ns`, a new reference: at most 1,000
 * intervals. Intervals are kept from the first call on, as many as there are samples
 * (power_samples_kept()).
 */
json_t *host_usage_json(struct host_usage *usage, uint64_t after);
