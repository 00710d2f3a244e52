/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Moments are multiples of a step, which is twice as long whenever there would be too many of them; all are looked up
 * anew then, and whenever a meter that had fallen silent tells again: in between its counter was taken to have risen at
 * its last watts, which it now says better.
 */
#include "controller/backend/remote_curve.h"

/* Shorter than any sampling interval. */
#define STEP_MIN_NS INT64_C(1000000)

struct remote_curve {
	GArray *points;    /* struct remote_curve_point; the last one may be between two steps */
	guint settled;     /* of them: those that all meters have told of */
	int64_t step_ns;
	int64_t silent_ns; /* the sum of the last times of the meters that were silent; 0: none was */
};

struct remote_curve *remote_curve_new(void)
{
	struct remote_curve *curve = g_new0(struct remote_curve, 1);

	curve->points = g_array_new(FALSE, FALSE, sizeof(struct remote_curve_point));
	return curve;
}

void remote_curve_free(struct remote_curve *curve)
{
	if (!curve)
		return;
	g_array_unref(curve->points);
	g_free(curve);
}

static int64_t time_of(const struct remote_curve *curve, guint i)
{
	return g_array_index(curve->points, struct remote_curve_point, i).t_ns;
}

static int64_t silent_since_ns(GPtrArray *meters, int64_t now_ns)
{
	int64_t sum_ns = 0;

	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);

		if (!remote_meter_fresh(meter, now_ns))
			sum_ns += remote_meter_last(meter)->t_ns;
	}
	return sum_ns;
}

static void look_up(struct remote_curve *curve, GPtrArray *meters, int64_t t_ns)
{
	struct remote_curve_point point = {.t_ns = t_ns};

	for (guint i = 0; i < meters->len; i++)
		point.sum_uj += remote_meter_counter_uj(g_ptr_array_index(meters, i), t_ns);
	g_array_append_val(curve->points, point);
}

/* Leaves what holds still. */
static void forget(struct remote_curve *curve, GPtrArray *meters, int64_t from_ns, int64_t now_ns)
{
	const int64_t silent_ns = silent_since_ns(meters, now_ns);
	int64_t step_ns = STEP_MIN_NS;
	guint old = 0;

	while ((now_ns - from_ns) / step_ns >= REMOTE_CURVE_POINTS - 1)
		step_ns *= 2;
	g_array_set_size(curve->points, curve->settled);
	if (step_ns != curve->step_ns || silent_ns != curve->silent_ns)
		g_array_set_size(curve->points, 0);
	while (old < curve->points->len && time_of(curve, old) <= from_ns)
		old++;
	if (old > 0)
		g_array_remove_range(curve->points, 0, old);
	curve->step_ns = step_ns;
	curve->silent_ns = silent_ns;
}

const GArray *remote_curve_read(struct remote_curve *curve, GPtrArray *meters, int64_t from_ns, int64_t now_ns)
{
	const int64_t told_ns = remote_meters_covered_ns(meters, now_ns);
	int64_t t_ns;

	forget(curve, meters, from_ns, now_ns);
	t_ns = curve->points->len ? time_of(curve, curve->points->len - 1) : from_ns;
	for (t_ns += curve->step_ns - t_ns % curve->step_ns; t_ns < now_ns; t_ns += curve->step_ns)
		look_up(curve, meters, t_ns);
	curve->settled = curve->points->len;
	while (curve->settled > 0 && time_of(curve, curve->settled - 1) > told_ns)
		curve->settled--;
	if (from_ns < now_ns)
		look_up(curve, meters, now_ns);
	return curve->points;
}
