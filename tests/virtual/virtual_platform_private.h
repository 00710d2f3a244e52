/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

#include "common/random.h"
#include "tests/virtual/virtual_platform.h"

/* What the files of a virtual platform share. */
struct virtual_platform {
	struct platform base; /* first: operations cast back */
	int64_t now_ns;
	int64_t begun_ns;
	int64_t epoch_us; /* since 1970, when the boot clock is 0 */
	guint boot;       /* from 1 */
	GQueue timers; /* struct virtual_timer elements that are not destroyed, as they were set */
	GSource *jump; /* moves the clock when no other source is ready */
	struct random_stream random;
	const struct virtual_program *programs; /* NULL: none */
	/* The disk; NULL: that of this machine. */
	struct virtual_disk *disk;
	guint disk_life; /* of the disk, which it belongs to */
	struct platform_disk disk_table;
	/* The transport. */
	guint delay_ms;
	guint next_port;
	GQueue places;      /* struct transport_place elements */
	GQueue connections; /* struct connection elements that are open */
};

static inline struct virtual_platform *virtual_of(const struct platform *platform)
{
	return (struct virtual_platform *)platform;
}

extern const struct platform_transport virtual_transport;
extern const struct platform_children virtual_children;
