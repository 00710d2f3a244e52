/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Preloaded into the daemons (LD_PRELOAD) by `soak`, so that days pass in minutes; never installed.
 *
 *   VIRTBED_FASTER=N        all clocks of the daemons run N times as fast as the machine's, and
 *                           their timers fire as much sooner
 *   VIRTBED_FASTER_FROM=NS  the CLOCK_BOOTTIME at which the clocks begin to run faster; all daemons
 *                           have the same value, also after a restart
 *
 *   VIRTBED_HEAP=DIR        twice a second (of the machine's) each writes into DIR/PID how many
 *                           bytes of its heap are in use
 *
 * The work itself takes as long as ever, so that to the daemons the machine seems N times slower.
 * `virtbed serve`, which watches over them, stays in the time of the machine: it would take them
 * for dead.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MS 1e6

#define TELL_NS (NS_PER_S / 2)

struct acceleration {
	double faster; /* 0: this process goes by the clocks of the machine */
	int64_t from_ns;
	const char *heap; /* NULL: not wanted */
};

static int real_clock(clockid_t clock, struct timespec *ret_time)
{
	return (int)syscall(SYS_clock_gettime, clock, ret_time);
}

static struct acceleration acceleration;

__attribute__((constructor)) static void begin(void)
{
	const char *faster = getenv("VIRTBED_FASTER");
	const char *from = getenv("VIRTBED_FASTER_FROM");

	if (!faster || !from ||
	    strncmp(program_invocation_short_name, "virtbed-", strlen("virtbed-")) != 0)
		return;
	acceleration.from_ns = strtoll(from, NULL, 10);
	acceleration.heap = getenv("VIRTBED_HEAP");
	acceleration.faster = strtod(faster, NULL);
}

static int64_t since_ns(void)
{
	struct timespec now;

	real_clock(CLOCK_BOOTTIME, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec - acceleration.from_ns;
}

static int64_t ahead_ns(void)
{
	return (int64_t)((acceleration.faster - 1) * (double)since_ns());
}

/*
 * What is in use, not what was taken from the kernel: that hardly ever becomes less. On the main
 * thread, which waits.
 */
static void tell_heap(void)
{
	static int64_t told_ns;
	const int64_t now_ns = since_ns();
	struct mallinfo2 heap;
	char text[256];
	int file;

	if (!acceleration.heap || gettid() != getpid() || now_ns < told_ns + TELL_NS)
		return;
	told_ns = now_ns;
	heap = mallinfo2();
	snprintf(text, sizeof(text), "%s/%d", acceleration.heap, (int)getpid());
	file = open(text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (file < 0)
		return;
	dprintf(file, "%zu\n", heap.uordblks + heap.hblkhd);
	close(file);
}

static bool is_time(clockid_t clock)
{
	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
		return true;
	default:
		return false; /* CPU time is what it is */
	}
}

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	const int code = real_clock(clock, ret_time);
	int64_t ns;

	if (code != 0 || acceleration.faster <= 0 || !is_time(clock))
		return code;
	ns = ret_time->tv_sec * NS_PER_S + ret_time->tv_nsec + ahead_ns();
	ret_time->tv_sec = ns / NS_PER_S;
	ret_time->tv_nsec = ns % NS_PER_S;
	return 0;
}

/* The zone is not used any more. */
int gettimeofday(struct timeval *restrict ret_time, void *restrict zone)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	ret_time->tv_sec = now.tv_sec;
	ret_time->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *ret_time)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (ret_time)
		*ret_time = now.tv_sec;
	return now.tv_sec;
}

static int wait_for(struct pollfd *files, nfds_t count, double ms)
{
	const double ns = ms * NS_PER_MS / acceleration.faster;
	const struct timespec left = {.tv_sec = (time_t)(ns / 1e9), .tv_nsec = (long)fmod(ns, 1e9)};

	return (int)syscall(SYS_ppoll, files, count, &left, NULL, 0);
}

int poll(struct pollfd *files, nfds_t count, int ms)
{
	tell_heap();
	if (acceleration.faster > 0 && ms > 0)
		return wait_for(files, count, ms);
	return (int)syscall(SYS_poll, files, count, ms);
}

int ppoll(struct pollfd *files, nfds_t count, const struct timespec *time, const sigset_t *mask)
{
	tell_heap();
	if (acceleration.faster > 0 && time && !mask)
		return wait_for(files, count,
				(double)time->tv_sec * 1e3 + (double)time->tv_nsec * 1e-6);
	return (int)syscall(SYS_ppoll, files, count, time, mask, 8);
}
