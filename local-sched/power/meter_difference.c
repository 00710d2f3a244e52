/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/meter_difference.h"

#include "common/clock.h"

static void end(struct meter_difference *meter, int64_t mw, const GError *error)
{
	const struct power_reading reading = { .mw = mw, .t_ns = clock_now_ns() };

	meter->done(error ? NULL : &reading, error, meter->data);
}

static gboolean on_second(gpointer data)
{
	struct meter_difference *meter = data;
	g_autoptr(GError) error = NULL;
	int64_t mw = -1;

	meter->timer_id = 0;
	if (meter->sample(meter, &mw, &error) && mw < 0)
		g_set_error(&error, POWER_METER_ERROR, POWER_METER_ERROR_GARBAGE,
			    "host \"%s\": its counter cannot be compared with itself %d ms before",
			    meter->host, METER_DIFFERENCE_FIRST_MS);
	end(meter, mw, error);
	return G_SOURCE_REMOVE;
}

static gboolean on_first(gpointer data)
{
	struct meter_difference *meter = data;
	g_autoptr(GError) error = NULL;
	int64_t mw = -1;

	if (meter->sample(meter, &mw, &error) && mw < 0) {
		meter->timer_id = g_timeout_add(METER_DIFFERENCE_FIRST_MS, on_second, meter);
		return G_SOURCE_REMOVE;
	}
	meter->timer_id = 0;
	end(meter, mw, error);
	return G_SOURCE_REMOVE;
}

void meter_difference_read(struct power_meter *base, power_meter_done_f done, void *data)
{
	struct meter_difference *meter = (struct meter_difference *)base;

	meter->done = done;
	meter->data = data;
	meter->timer_id = g_timeout_add(0, on_first, meter);
}

void meter_difference_stop(struct meter_difference *meter)
{
	g_clear_handle_id(&meter->timer_id, g_source_remove);
}
