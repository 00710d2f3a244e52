/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_power.h"

#include <string.h>

void lab_power_init(struct lab_power *power, double idle_w, double core_w)
{
	*power = (struct lab_power){.idle_w = idle_w, .core_w = core_w};
}

static const struct lab_power_reading *last(const struct lab_power *power)
{
	return &power->readings[power->count - 1];
}

static void drop_first(struct lab_power *power)
{
	power->count--;
	memmove(&power->readings[0], &power->readings[1], power->count * sizeof power->readings[0]);
}

static void append(struct lab_power *power, int64_t now_ns, uint64_t counter_ns, double pace)
{
	uint64_t busy_ns = 0;

	if (power->count > 0) {
		uint64_t from = counter_ns < power->counter_ns ? 0 : power->counter_ns;

		busy_ns = last(power)->busy_ns + (uint64_t)((double)(counter_ns - from) / pace);
	}
	if (power->count == LAB_POWER_READINGS)
		drop_first(power);
	power->counter_ns = counter_ns;
	power->readings[power->count++] = (struct lab_power_reading){now_ns, busy_ns};
}

/*
 * Drops old readings. The oldest that is kept is the latest one at least a window old, if there is
 * such a reading.
 */
static void drop_old(struct lab_power *power, int64_t now_ns)
{
	while (power->count > 1 && now_ns - power->readings[1].at_ns >= LAB_POWER_WINDOW_NS)
		drop_first(power);
}

static double watts(const struct lab_power *power)
{
	const struct lab_power_reading *from = &power->readings[0];
	const struct lab_power_reading *to = last(power);

	if (to->at_ns <= from->at_ns)
		return power->idle_w;
	return power->idle_w + power->core_w * (double)(to->busy_ns - from->busy_ns) /
				       (double)(to->at_ns - from->at_ns);
}

double lab_power_update(struct lab_power *power, int64_t now_ns, uint64_t counter_ns, double pace)
{
	if (power->count == 0 || now_ns > last(power)->at_ns) {
		append(power, now_ns, counter_ns, pace);
		drop_old(power, now_ns);
	}
	return watts(power);
}
