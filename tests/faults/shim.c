/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Preloaded into the daemons under test (LD_PRELOAD), told what to do by files in the directory
 * VIRTBED_FAULTS, which are read again each time:
 *
 *   kill   "PROGRAM N before ROUND" or "PROGRAM N after ROUND": PROGRAM kills itself at the Nth
 *          commit of its store that it makes while the file is there, before the commit is written
 *          or once it is. The file is then gone, and `killed` is there. Another ROUND, any word, is
 *          counted from 1.
 *   clock  seconds, by which the wall clock is wrong; the monotonic and the boot clock are not
 *
 * A commit is known by the header of its last frame in SQLite's write-ahead log: 24 bytes, whose
 * second word is the size of the database and 0 in all other frames (sqlite.org/fileformat2.html,
 * 4.1).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define FRAME_HEADER 24

static const char *directory(void)
{
	return getenv("VIRTBED_FAULTS");
}

/* The content of one of the files; false: it is not there. */
static bool read_file(const char *name, char *ret_text, size_t size)
{
	char path[512];
	ssize_t length;
	int file;

	if (!directory())
		return false;
	snprintf(path, sizeof(path), "%s/%s", directory(), name);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return false;
	length = read(file, ret_text, size - 1);
	close(file);
	ret_text[length > 0 ? length : 0] = '\0';
	return length > 0;
}

/* Killing. */

static bool is_log(int file)
{
	char link[64];
	char path[512];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
	length = readlink(link, path, sizeof(path) - 1);
	return length > 4 && memcmp(path + length - 4, "-wal", 4) == 0;
}

static void die(void)
{
	char from[512];
	char to[512];

	snprintf(from, sizeof(from), "%s/kill", directory());
	snprintf(to, sizeof(to), "%s/killed", directory());
	rename(from, to);
	kill(getpid(), SIGKILL);
}

/* Whether this commit is the one. Sets *ret_after: to die once it is written. */
static bool is_the_one(bool *ret_after)
{
	static int commits; /* in this round */
	static char counted[64];
	char round[64];
	char text[256];
	char program[64];
	char when[16];
	int number;

	if (!read_file("kill", text, sizeof(text)) ||
	    sscanf(text, "%63s %d %15s %63s", program, &number, when, round) != 4 ||
	    strcmp(program, program_invocation_short_name) != 0)
		return false;
	if (strcmp(round, counted) != 0)
		commits = 0;
	strcpy(counted, round);
	*ret_after = strcmp(when, "after") == 0;
	return ++commits == number;
}

ssize_t pwrite64(int file, const void *data, size_t size, off64_t offset)
{
	static int ending = -1; /* the file whose next write completes the commit to die after */
	const unsigned char *bytes = data;
	ssize_t written;
	bool after;

	if (size == FRAME_HEADER && (bytes[4] | bytes[5] | bytes[6] | bytes[7]) && is_log(file) &&
	    is_the_one(&after)) {
		if (!after)
			die();
		ending = file;
	}
	written = syscall(SYS_pwrite64, file, data, size, offset);
	if (file == ending && size != FRAME_HEADER)
		die();
	return written;
}

/* Wall clocks that are wrong. */

static long wrong_by_s(void)
{
	char text[32];

	return read_file("clock", text, sizeof(text)) ? atol(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int result = (int)syscall(SYS_clock_gettime, clock, time);

	if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		time->tv_sec += wrong_by_s();
	return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
	int result = (int)syscall(SYS_gettimeofday, time, zone);

	if (result == 0)
		time->tv_sec += wrong_by_s();
	return result;
}

time_t time(time_t *ret_time)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (ret_time)
		*ret_time = now.tv_sec;
	return now.tv_sec;
}
