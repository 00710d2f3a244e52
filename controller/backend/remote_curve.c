/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Moments are multiples of a step, which doubles whenever there would be too many of them; all
 * points are then computed again. So they are when a silent meter reports again: meanwhile its
 * counter was extrapolated from its last watts.
 */
#include "controller/backend/remote_curve.h"

/* shorter than any sampling interval */
#define STEP_MIN_NS INT64_C(1000000)

struct remote_curve {
	GArray *points; /* struct remote_curve_point; the last one may be between two steps */
	guint settled;  /* number of points at the start that samples of all meters cover */
	int64_t step_ns;
	/* sum of the times of the last samples of silent meters; 0: no meter is silent */
	int64_t silent_ns;
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

static void add_point(struct remote_curve *curve, GPtrArray *meters, int64_t t_ns)
{
	struct remote_curve_point point = {.t_ns = t_ns};

	for (guint i = 0; i < meters->len; i++)
		point.sum_uj += remote_meter_counter_uj(g_ptr_array_index(meters, i), t_ns);
	g_array_append_val(curve->points, point);
}

/* Drops the points that may change. */
static void drop_unsettled(struct remote_curve *curve, GPtrArray *meters, int64_t from_ns,
			   int64_t now_ns)
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

const GArray *remote_curve_read(struct remote_curve *curve, GPtrArray *meters, int64_t from_ns,
				int64_t now_ns)
{
	const int64_t covered_ns = remote_meters_covered_ns(meters, now_ns);
	int64_t t_ns;

	drop_unsettled(curve, meters, from_ns, now_ns);
	t_ns = curve->points->len ? time_of(curve, curve->points->len - 1) : from_ns;
	for (t_ns += curve->step_ns - t_ns % curve->step_ns; t_ns < now_ns; t_ns += curve->step_ns)
		add_point(curve, meters, t_ns);
	curve->settled = curve->points->len;
	while (curve->settled > 0 && time_of(curve, curve->settled - 1) > covered_ns)
		curve->settled--;
	if (from_ns < now_ns)
		add_point(curve, meters, now_ns);
	return curve->points;
}
