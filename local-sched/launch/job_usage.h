/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/cpu/cpu_account.h"
#include "local-sched/hypervisor/vm.h"
#include "local-sched/power/power.h"

/*
 * What a task used: the CPU time of its VMs, and the CPU time of all VMs and the energy on their
 * hosts, from its request to its end except for suspensions. The controller gives a task the part
 * of a host's energy that its VMs have of the CPU time.
 */

/* A host whose counters are read. The caller owns it and keeps it for all tasks. */
struct usage_source {
	struct host *host;
	struct cpu_account *account;
	const struct power *power; /* NULL: no meters */
};

/* A host of a task, with the task's VMs there. */
struct usage_part {
	struct usage_source *source;
	GPtrArray *domains; /* of char *, borrowed */
	/*
	 * of struct vm, borrowed: the VMs of the part are all on their way here; NULL: some are
	 * here
	 */
	GPtrArray *coming;
};

/* NAN: not known. */
struct usage {
	double cpu_s;
	double host_cpu_s;
	double host_energy_uj;
	double host_gap_ns;
};

/* Adds the usage of another interval. */
void usage_add(struct usage *total, const struct usage *interval);

/*
 * The hosts of `vms` (count of them), of `sources_count` sources: struct usage_part. The caller
 * frees it.
 */
GArray *usage_parts_new(struct usage_source *sources, uint32_t sources_count, struct vm *const *vms,
			uint32_t count);

/*
 * Adds the host that a VM is migrated to. If the VM does not arrive, it does not matter whether
 * that host's counters can be read.
 */
void usage_parts_expect(GArray *parts, struct usage_source *sources, uint32_t sources_count,
			const struct vm *vm, const char *host);

struct job_usage;

/*
 * Reads the counters for a task that was requested at `t_ns`. Takes over `parts` (struct
 * usage_part).
 */
struct job_usage *job_usage_start(GArray *parts, int64_t t_ns);

typedef void (*job_usage_done_f)(const struct usage *usage, void *data);

/*
 * Reads the counters again for the end at `t_ns`, and calls `done` with the differences, once, from
 * the main loop.
 */
void job_usage_finish(struct job_usage *usage, int64_t t_ns, job_usage_done_f done, void *data);

/*
 * Whether the CPU time that a VM uses from now on does not count: the final reading of its host has
 * arrived. A reading that was under way before the final one may arrive first, and ends nothing:
 * what the VM used between the two is the task's.
 */
bool job_usage_is_over(const struct job_usage *usage, const struct vm *vm);

/*
 * Reads the CPU times in between, because those of a VM cannot be read any more after it left its
 * host.
 */
void job_usage_look(struct job_usage *usage);

/* Frees it, also while a reading is under way (`done` is not called then). NULL is allowed. */
void job_usage_free(struct job_usage *usage);
