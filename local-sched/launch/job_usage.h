/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/cpu/cpu_account.h"
#include "local-sched/hypervisor/vm.h"
#include "local-sched/power/power.h"

/*
 * What a task used: CPU time of its VMs and of all VMs on the hosts concerned, and the hosts'
 * energy, from its request to its end, suspended stretches left out. Of the energy of a host the
 * controller gives a task the part that its VMs have of the CPU time.
 */

/* A host whose counters are read; owned by the caller and kept over all tasks. */
struct usage_source {
	struct host *host;
	struct cpu_account *account;
	const struct power *power; /* NULL: no meters */
};

/* One of the hosts that a task is on, with its VMs there. */
struct usage_part {
	struct usage_source *source;
	GPtrArray *domains; /* of char *, borrowed */
	GPtrArray *coming;  /* of struct vm, borrowed: only these come here; NULL: others too */
};

/* NAN: not known. */
struct usage {
	double cpu_s;
	double host_cpu_s;
	double host_energy_uj;
	double host_gap_ns;
};

/* Adds what was used in another stretch of time. */
void usage_add(struct usage *total, const struct usage *stretch);

/* The hosts that `vms` (count of them) are on, of `sources_count` ones: struct usage_part. */
GArray *usage_parts_new(struct usage_source *sources, uint32_t sources_count,
			struct vm *const *vms, uint32_t count);

/*
 * The same, with the host that one of the vms is coming to. Where it does not come, a host whose
 * counters cannot be read does not matter.
 */
void usage_parts_expect(GArray *parts, struct usage_source *sources, uint32_t sources_count,
			const struct vm *vm, const char *host);

struct job_usage;

/*
 * Reads the counters for a task that was requested at `t_ns`; takes over `parts` (struct
 * usage_part).
 */
struct job_usage *job_usage_start(GArray *parts, int64_t t_ns);

typedef void (*job_usage_done_f)(const struct usage *usage, void *data);

/* Reads them again for the end at `t_ns` and tells the differences once, from the main loop. */
void job_usage_finish(struct job_usage *usage, int64_t t_ns, job_usage_done_f done, void *data);

/*
 * Whether what a VM uses from now on is not the task's: the reading at the end is there, of the host where the VM is.
 * One that was under way before it may come while it is taken, and does not end anything: what the VM used between the
 * two is the task's.
 */
bool job_usage_is_over(const struct job_usage *usage, const struct vm *vm);

/* Reads the CPU times in between: those of a VM that leaves its host cannot be read afterwards. */
void job_usage_look(struct job_usage *usage);

/* Frees it, also while a reading is under way (nothing is told then). NULL is allowed. */
void job_usage_free(struct job_usage *usage);
