/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/backend/remote_clock.h"

#include <glib.h>

#define WINDOW_NS (60 * INT64_C(1000000000))

void remote_clock_init(struct remote_clock *clock, bool same)
{
	*clock = (struct remote_clock){.same = same, .previous_ns = INT64_MAX};
}

void remote_clock_observe(struct remote_clock *clock, int64_t theirs_ns, int64_t ours_ns)
{
	int64_t offset_ns = ours_ns - theirs_ns;

	if (!clock->known) {
		clock->known = true;
		clock->window_start_ns = ours_ns;
		clock->current_ns = offset_ns;
		clock->previous_ns = INT64_MAX;
		return;
	}
	if (ours_ns - clock->window_start_ns >= WINDOW_NS) {
		clock->window_start_ns = ours_ns;
		clock->previous_ns = clock->current_ns;
		clock->current_ns = offset_ns;
		return;
	}
	clock->current_ns = MIN(clock->current_ns, offset_ns);
}

int64_t remote_clock_ours_ns(const struct remote_clock *clock, int64_t theirs_ns)
{
	if (clock->same || !clock->known)
		return theirs_ns;
	return theirs_ns + MIN(clock->current_ns, clock->previous_ns);
}
