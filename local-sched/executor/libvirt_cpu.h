/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/executor/executor.h"
#include "local-sched/launch/job_usage.h"

/*
 * CPU time on a host as its libvirt reports it: that of all VMs and, with `whole_vm`, that of
 * everything else, which is the host's CPU time less that of its VMs. Emulated blades share a
 * machine, whose whole CPU time the libvirt of each blade would report.
 */
struct libvirt_cpu {
	const struct usage_source *source;
	bool whole_vm;
	uint64_t vms_ns;     /* of all VMs, when the host's time was read last */
	uint64_t host_ns;    /* the host's whole CPU time at that reading; 0: not read */
	executor_cpu_f done; /* of the reading under way */
	void *data;
};

/* Like executor_ops.read_cpu. `cpu` has to exist until the host is freed. */
void libvirt_cpu_read(struct libvirt_cpu *cpu, executor_cpu_f done, void *data);
