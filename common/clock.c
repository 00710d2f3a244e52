/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/clock.h"

#include <time.h>

enum { NS_PER_S = 1000000000 };

int64_t clock_now_ns(void)
{
	struct timespec now;

	/* Cannot fail: the clock exists on every supported Linux, and the pointer is valid. */
	clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

double clock_elapsed_s(int64_t from_ns, int64_t to_ns)
{
	return (double)(to_ns - from_ns) / NS_PER_S;
}

char *clock_boot_id(void)
{
	char *id = NULL;

	if (!g_file_get_contents("/proc/sys/kernel/random/boot_id", &id, NULL, NULL))
		return g_strdup("unknown");
	return g_strstrip(id);
}

char *clock_utc(void)
{
	g_autoptr(GDateTime) now = g_date_time_new_now_utc();
	g_autofree char *seconds = g_date_time_format(now, "%Y-%m-%dT%H:%M:%S");

	return g_strdup_printf("%s.%03dZ", seconds, g_date_time_get_microsecond(now) / 1000);
}
