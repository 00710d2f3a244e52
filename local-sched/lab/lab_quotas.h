/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "local-sched/lab/lab_cgroup.h"

/*
 * The CPU quotas of a lab's VMs, as configured and as they are: libvirt sets what is configured, and this here
 * scales it. A quota that is not the one written last is taken for a new one of libvirt's, and left alone until
 * the next time, so that whoever sets one reads back what was set.
 */
struct lab_quotas;

/* Knows of no VM yet. `cgroup` is borrowed. */
struct lab_quotas *lab_quotas_new(const struct lab_cgroup *cgroup, const char *lab,
				  uint32_t blades_count);
/* Leaves the quotas as they are. NULL is allowed. */
void lab_quotas_free(struct lab_quotas *quotas);
typedef struct lab_quotas lab_quotas_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(lab_quotas_t, lab_quotas_free)

/*
 * Lets every VM of the lab that has a quota use `pace` times as much until the next call, `apart_s` later. Writes
 * all of them each time: the kernel gives a group whose quota is written what it has used of one anew, and what that
 * is more is taken off each, which takes equal distances. It is reckoned as a whole quota, as of a VM that is
 * always busy and may use a small part of its cores; one that may use nearly all of them has up to 5 % less.
 */
void lab_quotas_scale(struct lab_quotas *quotas, double pace, double apart_s);
