/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_speed.h"

#include <glib.h>
#include <string.h>

bool lab_speed_is_known(const struct lab_speed *pace)
{
	return pace->reference_s >= LAB_SPEED_REFERENCE_S && pace->reference_rounds > 0;
}

/* Adds the time from one reading to the next to the reference, if the VMs were busy in it. */
static void refer(struct lab_speed *pace, const struct lab_speed_reading *from,
		  const struct lab_speed_reading *to)
{
	const double dt_s = (double)(to->at_ns - from->at_ns) * 1e-9;

	if (lab_speed_is_known(pace) || to->vms_ns < from->vms_ns ||
	    (double)(to->vms_ns - from->vms_ns) * 1e-9 < LAB_SPEED_BUSY_CORES * dt_s)
		return;
	pace->reference_s += dt_s;
	pace->reference_rounds += (uint32_t)(to->rounds - from->rounds);
	pace->reference_ns += to->cpu_ns - from->cpu_ns;
}

static void append(struct lab_speed *pace, const struct lab_speed_reading *reading)
{
	if (pace->count == G_N_ELEMENTS(pace->readings)) {
		pace->count--;
		memmove(&pace->readings[0], &pace->readings[1],
			pace->count * sizeof pace->readings[0]);
	}
	pace->readings[pace->count++] = *reading;
}

double lab_speed_update(struct lab_speed *pace, const struct lab_speed_reading *reading)
{
	const struct lab_speed_reading *first = &pace->readings[0];
	double reference;
	uint32_t rounds;

	if (pace->count > 0)
		refer(pace, &pace->readings[pace->count - 1], reading);
	append(pace, reading);
	rounds = reading->rounds - first->rounds;
	if (!lab_speed_is_known(pace) || rounds == 0)
		return 1;
	reference = (double)pace->reference_ns / (double)pace->reference_rounds;
	return CLAMP((double)(reading->cpu_ns - first->cpu_ns) / (double)rounds / reference,
		     LAB_SPEED_MIN, LAB_SPEED_MAX);
}
