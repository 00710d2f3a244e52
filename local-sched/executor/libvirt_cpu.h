/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/executor/executor.h"
#include "local-sched/launch/job_usage.h"

/*
 * CPU time on a host as its libvirt tells: of all VMs, and where `whole_vm` of what is none of them,
 * which is all that the host used less theirs. Emulated blades share one vm, whose libvirt would tell
 * of that.
 */
struct libvirt_cpu {
	const struct usage_source *source;
	bool whole_vm;
	uint64_t vms_ns;  /* of all VMs, when the host's time was read last */
	uint64_t host_ns; /* all of the host's CPU time, then; 0: not read */
	executor_cpu_f done; /* of the reading under way */
	void *data;
};

/* As executor_ops.read_cpu; `cpu` stays until the host is freed. */
void libvirt_cpu_read(struct libvirt_cpu *cpu, executor_cpu_f done, void *data);
