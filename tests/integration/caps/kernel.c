/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A kernel for the test's own /sys, to be preloaded: what is written to a file below CAPS_SYS is
 * shown to the program CAPS_KERNEL, which may refuse it or change other files:
 *
 *   CAPS_KERNEL before PATH VALUE    an exit status other than 0 is the errno of the write
 *   CAPS_KERNEL after PATH VALUE     the value is in the file
 *
 * A file CAPS_DEV/cpu/N/msr of the text "BUSY GHZ" has the counters of a CPU that is busy for the
 * part BUSY of the time, at GHZ, and whose TSC goes at 2 GHz.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TSC_GHZ 2.0

/* Whether a path is below the directory that a variable names, and ends with `end`. */
static bool is_below(const char *path, const char *variable, const char *end)
{
	const char *root = getenv(variable);
	const size_t length = root ? strlen(root) : 0;
	const size_t all = strlen(path);

	return length > 0 && strncmp(path, root, length) == 0 && path[length] == '/' &&
	       all >= strlen(end) && strcmp(path + all - strlen(end), end) == 0;
}

static void path_of(int fd, char *ret_path)
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	length = readlink(link, ret_path, PATH_MAX - 1);
	ret_path[length > 0 ? length : 0] = '\0';
}

/* Runs the program. Returns its exit status. */
static int ask(const char *when, const char *path, const char *value)
{
	const char *program = getenv("CAPS_KERNEL");
	const pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		unsetenv("LD_PRELOAD");
		execl(program, program, when, path, value, (char *)NULL);
		_exit(ENOSYS);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return EIO;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

/* Files of sysfs are not shortened by opening them. */
static int open_with(const char *name, const char *path, int flags, mode_t mode)
{
	int (*real)(const char *, int, ...) =
		(int (*)(const char *, int, ...))dlsym(RTLD_NEXT, name);

	return real(path, is_below(path, "CAPS_SYS", "") ? flags & ~O_TRUNC : flags, mode);
}

#define OPEN(name)                                                                                 \
	int name(const char *path, int flags, ...)                                                 \
	{                                                                                          \
		va_list arguments;                                                                 \
		mode_t mode;                                                                       \
                                                                                                   \
		va_start(arguments, flags);                                                        \
		mode = va_arg(arguments, mode_t);                                                  \
		va_end(arguments);                                                                 \
		return open_with(#name, path, flags, mode);                                        \
	}
OPEN(open)
OPEN(open64)

ssize_t write(int fd, const void *bytes, size_t count)
{
	ssize_t (*real)(int, const void *, size_t) =
		(ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	char path[PATH_MAX];
	char value[256];
	int refused;
	ssize_t written;

	path_of(fd, path);
	if (!is_below(path, "CAPS_SYS", "") || count >= sizeof value)
		return real(fd, bytes, count);
	memcpy(value, bytes, count);
	value[count] = '\0';
	refused = ask("before", path, value);
	if (refused) {
		errno = refused;
		return -1;
	}
	if (ftruncate(fd, 0) < 0)
		return -1;
	written = real(fd, bytes, count);
	ask("after", path, value);
	return written;
}

static ssize_t pread_with(const char *name, int fd, void *bytes, size_t count, off_t offset)
{
	ssize_t (*real)(int, void *, size_t, off_t) =
		(ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, name);
	char path[PATH_MAX];
	char text[64] = "";
	double busy, ghz;
	struct timespec now;
	uint64_t value;

	path_of(fd, path);
	if (!is_below(path, "CAPS_DEV", "/msr") || count != sizeof value)
		return real(fd, bytes, count, offset);
	if (real(fd, text, sizeof text - 1, 0) <= 0 || sscanf(text, "%lf %lf", &busy, &ghz) != 2) {
		errno = EIO;
		return -1;
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	value = (uint64_t)(((double)now.tv_sec * 1e9 + (double)now.tv_nsec) *
			   (offset == 0x10   ? TSC_GHZ
			    : offset == 0xe7 ? TSC_GHZ * busy
					     : ghz * busy));
	memcpy(bytes, &value, sizeof value);
	return sizeof value;
}

ssize_t pread(int fd, void *bytes, size_t count, off_t offset)
{
	return pread_with("pread", fd, bytes, count, offset);
}

ssize_t pread64(int fd, void *bytes, size_t count, off_t offset)
{
	return pread_with("pread64", fd, bytes, count, offset);
}
