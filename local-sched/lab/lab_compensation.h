/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/lab/lab_cgroup.h"
#include "local-sched/lab/lab_spec.h"

/*
 * A steady lab: its emulated blades do the same work per second while the machine below them is now faster, now
 * slower. A metronome tells how much slower (lab_metronome.h, lab_speed.h), and the quotas of all VMs
 * follow it (lab_quotas.h) once in LAB_COMPENSATION_APART_S.
 */
struct lab_compensation;

#define LAB_COMPENSATION_APART_S 1.0

/* Where the pace stands, for `lab status`: RUN/pace, decimal, only while it is known. */
#define LAB_COMPENSATION_FILE "pace"

/*
 * Both are borrowed and live as long as it does, as long as the process. NULL with `error` if there can be no
 * metronome. One that ends later is no fault of the lab: the pace is 1 from then on, and not known.
 */
struct lab_compensation *lab_compensation_start(const struct lab_cgroup *cgroup, const struct lab_spec *spec,
				    GError **error);

/* To be called some times a second: does what is due. Returns the pace that the quotas have now. */
double lab_compensation_tick(struct lab_compensation *steady, int64_t now_ns);
