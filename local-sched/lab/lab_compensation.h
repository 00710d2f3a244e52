/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/lab/lab_cgroup.h"
#include "local-sched/lab/lab_spec.h"

/*
 * Speed compensation (a steady lab): emulated blades do constant work per second while the machine
 * below them changes its speed. A gauge measures how much slower the machine is (lab_metronome.h,
 * lab_speed.h), and the quotas of all VMs follow it (lab_quotas.h) once in
 * LAB_COMPENSATION_APART_S.
 */
struct lab_compensation;

#define LAB_COMPENSATION_APART_S 1.0

/* The current speed factor, for `lab status`: RUN/pace, decimal, only while it is known. */
#define LAB_COMPENSATION_FILE "pace"

/*
 * Starts the compensation. Both arguments are borrowed for its life, which is that of the process.
 * NULL with `error` if the gauge cannot be started. If the gauge ends later, the lab runs on: the
 * factor is 1 from then on, and not known.
 */
struct lab_compensation *lab_compensation_start(const struct lab_cgroup *cgroup,
						const struct lab_spec *spec, GError **error);

/* Does what is due; call it several times a second. Returns the factor that the quotas have now. */
double lab_compensation_tick(struct lab_compensation *steady, int64_t now_ns);
