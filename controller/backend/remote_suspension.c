/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/backend/remote_suspension.h"

const struct task_suspension *remote_suspensions_find(const GPtrArray *suspensions, uint32_t n)
{
	for (guint i = 0; suspensions && i < suspensions->len; i++) {
		const struct task_suspension *one = g_ptr_array_index(suspensions, i);

		if (one->n == n)
			return one;
	}
	return NULL;
}

/* Whether a suspension succeeded. While a failed one froze the task, that counts as execution. */
static bool has_left(const struct task_suspension *suspension)
{
	return suspension->frozen_ns && suspension->suspended_ns;
}

double remote_suspensions_paused_s(const GPtrArray *suspensions, int64_t until_ns)
{
	double sum_s = 0;

	for (guint i = 0; suspensions && i < suspensions->len; i++) {
		const struct task_suspension *one = g_ptr_array_index(suspensions, i);
		int64_t end_ns = one->running_ns ? MIN(one->running_ns, until_ns) : until_ns;

		if (has_left(one) && end_ns > one->frozen_ns)
			sum_s += (double)(end_ns - one->frozen_ns) * 1e-9;
	}
	return sum_s;
}

GArray *remote_suspensions_intervals(const GPtrArray *suspensions, int64_t from_ns, int64_t to_ns)
{
	GArray *intervals = g_array_new(FALSE, FALSE, sizeof(struct remote_interval));
	struct remote_interval interval = {.from_ns = from_ns};

	for (guint i = 0; suspensions && i < suspensions->len; i++) {
		const struct task_suspension *one = g_ptr_array_index(suspensions, i);

		if (!has_left(one))
			continue;
		interval.to_ns = MIN(one->frozen_ns, to_ns);
		if (one->nodes) {
			interval.nodes = one->nodes;
			interval.count = one->count;
		}
		g_array_append_val(intervals, interval);
		if (!one->running_ns)
			return intervals;
		interval.from_ns = one->running_ns;
		interval.nodes = one->resumed_nodes;
		interval.count = one->count;
	}
	interval.to_ns = to_ns;
	g_array_append_val(intervals, interval);
	return intervals;
}
