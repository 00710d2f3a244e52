/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "local-sched/lab/lab_cgroup.h"

/*
 * The CPU quotas of a lab's VMs. libvirt sets the configured quotas, and this scales them. A quota
 * that differs from the last value written here is a new one of libvirt's. It is left alone until
 * the next call, so that the client that set it reads it back unchanged.
 */
struct lab_quotas;

/* Creates it without VMs. `cgroup` is borrowed. */
struct lab_quotas *lab_quotas_new(const struct lab_cgroup *cgroup, const char *lab,
				  uint32_t blades_count);
/* Frees it and leaves the quotas as they are. NULL is allowed. */
void lab_quotas_free(struct lab_quotas *quotas);
typedef struct lab_quotas lab_quotas_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(lab_quotas_t, lab_quotas_free)

/*
 * Lets every VM of the lab that has a quota use `pace` times as much until the next call, `apart_s`
 * later. Writes all quotas at each call. When a quota is written, the kernel grants its group the
 * whole quota again for the running period. That excess is subtracted from each quota, which
 * requires calls at equal distances. It is estimated as a whole quota, as of a VM that is always
 * busy and may use a small part of its cores. A VM that may use nearly all of its cores gets up to
 * 5 % less.
 */
void lab_quotas_scale(struct lab_quotas *quotas, double pace, double apart_s);
