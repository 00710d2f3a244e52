/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/platform.h"

#include <time.h>

#include "common/clock.h"

/* This machine. */

static int64_t machine_now_ns(const struct platform *platform)
{
	return clock_now_ns();
}

static int64_t machine_utc_us(const struct platform *platform)
{
	return g_get_real_time();
}

static int64_t machine_thread_ns(const struct platform *platform)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static char *machine_boot_id(const struct platform *platform)
{
	return clock_boot_id();
}

static guint machine_timer(const struct platform *platform, int priority, guint ms,
			   GSourceFunc function, void *data)
{
	return ms ? g_timeout_add_full(priority, ms, function, data, NULL)
		  : g_idle_add_full(priority, function, data, NULL);
}

static const struct platform_clock machine_clock = {
	.now_ns = machine_now_ns,
	.utc_us = machine_utc_us,
	.thread_ns = machine_thread_ns,
	.boot_id = machine_boot_id,
	.timer = machine_timer,
};

const struct platform platform_machine = {.clock = &machine_clock};

/* Clock. */

int64_t platform_now_ns(const struct platform *platform)
{
	return platform->clock->now_ns(platform);
}

int64_t platform_utc_us(const struct platform *platform)
{
	return platform->clock->utc_us(platform);
}

int64_t platform_thread_ns(const struct platform *platform)
{
	return platform->clock->thread_ns(platform);
}

char *platform_boot_id(const struct platform *platform)
{
	return platform->clock->boot_id(platform);
}

char *platform_utc(const struct platform *platform)
{
	const int64_t utc_us = platform_utc_us(platform);
	g_autoptr(GDateTime) now = g_date_time_new_from_unix_utc(utc_us / G_USEC_PER_SEC);
	g_autofree char *seconds = g_date_time_format(now, "%Y-%m-%dT%H:%M:%S");

	return g_strdup_printf("%s.%03dZ", seconds, (int)(utc_us % G_USEC_PER_SEC / 1000));
}

guint platform_after_ms(const struct platform *platform, guint ms, GSourceFunc function, void *data)
{
	return platform->clock->timer(platform, G_PRIORITY_DEFAULT, ms, function, data);
}

guint platform_after_s(const struct platform *platform, guint s, GSourceFunc function, void *data)
{
	return platform_after_ms(platform, s * 1000, function, data);
}

void platform_due_now(guint timer)
{
	g_source_set_ready_time(g_main_context_find_source_by_id(NULL, timer), 0);
}

guint platform_soon(const struct platform *platform, int priority, GSourceFunc function, void *data)
{
	return platform->clock->timer(platform, priority, 0, function, data);
}
