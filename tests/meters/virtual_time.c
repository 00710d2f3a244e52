/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/meters/virtual_time.h"

#include <dirent.h>
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Milliseconds of real time until other threads are looked at again. */
enum { LOOK_MS = 1 };

/* What all monotonic clocks show while they stand still; 0: they advance. */
static gint64 now_ns;
/* How far they are ahead of the real ones since then. */
static gint64 ahead_ns;

static gint64 real_ns(void)
{
	struct timespec time;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
	return (gint64)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Stands for the C library's, for all libraries of the process. */
int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	const bool is_monotonic = clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW ||
				  clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_BOOTTIME;
	const gint64 time_ns = now_ns ? now_ns : real_ns() + ahead_ns;

	if (!is_monotonic || (now_ns == 0 && ahead_ns == 0))
		return (int)syscall(SYS_clock_gettime, clock, ret_time);
	ret_time->tv_sec = time_ns / 1000000000;
	ret_time->tv_nsec = time_ns % 1000000000;
	return 0;
}

/* Whether every thread but the calling one sleeps. */
static bool others_sleep(void)
{
	const pid_t self = (pid_t)syscall(SYS_gettid);
	DIR *directory = opendir("/proc/self/task");
	const struct dirent *entry;
	bool sleep = true;

	while (sleep && (entry = readdir(directory))) {
		char path[300], text[256] = "";
		const char *end;
		FILE *file;

		if (entry->d_name[0] == '.' || g_ascii_strtoll(entry->d_name, NULL, 10) == self)
			continue;
		snprintf(path, sizeof path, "/proc/self/task/%s/stat", entry->d_name);
		file = fopen(path, "re");
		if (!file)
			continue; /* it has ended */
		if (!fgets(text, sizeof text, file))
			text[0] = '\0';
		fclose(file);
		end = strrchr(text, ')');
		sleep = !end || end[2] == 'S' || end[2] == 'Z';
	}
	closedir(directory);
	return sleep;
}

static gint poll_virtually(GPollFD *fds, guint count, gint timeout_ms)
{
	for (;;) {
		gint ready = g_poll(fds, count, 0);

		if (ready != 0 || timeout_ms == 0)
			return ready;
		if (!others_sleep()) {
			ready = g_poll(fds, count, LOOK_MS);
			if (ready != 0)
				return ready;
			continue;
		}
		/* What the others did before they fell asleep. */
		ready = g_poll(fds, count, 0);
		if (ready != 0)
			return ready;
		g_assert_cmpint(timeout_ms, >, 0); /* otherwise nothing would ever happen again */
		now_ns += (gint64)timeout_ms * 1000000;
		return 0;
	}
}

void virtual_time_begin(void)
{
	now_ns = g_get_monotonic_time() * 1000;
	g_main_context_set_poll_func(NULL, poll_virtually);
}

void virtual_time_end(void)
{
	if (now_ns == 0)
		return;
	ahead_ns = now_ns - real_ns();
	now_ns = 0;
	g_main_context_set_poll_func(NULL, NULL);
}
