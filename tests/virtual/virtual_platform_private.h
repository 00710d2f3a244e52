/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

#include "common/random.h"
#include "tests/virtual/virtual_platform.h"

/* What the platforms of one world share: its time, and the network between them. */
struct virtual_world {
	guint references; /* platforms */
	int64_t now_ns;
	GQueue timers; /* struct virtual_timer elements that are not destroyed, as they were set */
	GSource *jump; /* moves the clock when no other source is ready */
	GQueue platforms; /* struct virtual_platform elements */
	guint next_boot;
	guint next_port;
	GQueue places;      /* struct transport_place elements of platforms that live */
	GQueue connections; /* struct connection elements */
	const struct virtual_rules *rules; /* NULL: none */
	void *rules_data;
};

/* What the files of a virtual platform share. */
struct virtual_platform {
	struct platform base; /* first: operations cast back */
	struct virtual_world *world;
	int64_t shift_ns; /* of its boot clock against the time of the world */
	int64_t begun_ns;
	int64_t epoch_us; /* since 1970, when the boot clock is 0 */
	guint boot;       /* which one, from 1 */
	bool frozen;
	bool dead;
	int64_t dead_ns; /* the time of the world, as the dead one's clock has it */
	struct random_stream random;
	const struct virtual_program *programs; /* NULL: none */
	/* The disk; NULL: that of this machine. */
	struct virtual_disk *disk;
	guint disk_life; /* of the disk, which it belongs to */
	struct platform_disk disk_table;
	guint delay_ms; /* of the transport, where the world has no rules */
	GQueue workers; /* struct platform_worker elements that are not dismissed */
};

static inline struct virtual_platform *virtual_of(const struct platform *platform)
{
	return (struct virtual_platform *)platform;
}

/*
 * A timer of the world, or (not NULL) of a platform, by whose clock it rings, and with which it
 * goes. As platform_clock.timer().
 */
guint virtual_world_timer(struct virtual_world *world, struct virtual_platform *platform,
			  int priority, int64_t after_ns, GSourceFunc function, void *data);

/* The transport's part of virtual_platform_die() and virtual_platform_free(). */
void virtual_transport_die(struct virtual_platform *virtual, bool silent);
void virtual_transport_forget(struct virtual_platform *virtual);

extern const struct platform_transport virtual_transport;
extern const struct platform_children virtual_children;

/* The operations of workers (virtual_workers.h); the last one forgets those that are left. */
struct platform_worker *virtual_worker_hire(const struct platform *platform, const char *name);
void virtual_worker_give(struct platform_worker *worker, platform_work_f work, platform_work_f done,
			 void *data);
void virtual_worker_dismiss(const struct platform *platform, struct platform_worker *const *workers,
			    size_t count, guint limit_s);
void virtual_worker_pause(const struct platform *platform, guint ms);
void virtual_workers_drop(struct virtual_platform *virtual);
