/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "vm-images/guest/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHUNK 16384
#define RELAYS_MAX 2
#define PIPE_SIZE 65536
#define CUT_LINE "\nvirtbed: the output continues, but only its first MiB is kept\n"

bool relay_write(int fd, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t written = write(fd, bytes, length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		bytes += written;
		length -= (size_t)written;
	}
	return true;
}

/* Writes the copy. A copy for which there is no room must not stop the original. */
static void write_copy(struct relay *relay, const char *bytes, size_t length)
{
	relay_write(relay->to, bytes, length);
	if (relay->copy < 0 || relay_write(relay->copy, bytes, length))
		return;
	close(relay->copy);
	relay->copy = -1;
}

static void pass(struct relay *relay, const char *bytes, size_t length)
{
	size_t room = RELAY_MAX - relay->passed;

	if (length > room && !relay->cut) {
		write_copy(relay, bytes, room);
		write_copy(relay, CUT_LINE, strlen(CUT_LINE));
		relay->passed = RELAY_MAX;
		relay->cut = true;
	} else if (!relay->cut) {
		write_copy(relay, bytes, length);
		relay->passed += length;
	}
}

/* Passes on a piece of the available bytes, if there are any. */
static void step(struct relay *relay)
{
	char buffer[CHUNK];
	ssize_t length = read(relay->from, buffer, sizeof(buffer));

	if (length > 0) {
		pass(relay, buffer, (size_t)length);
	} else if (length == 0 || (errno != EAGAIN && errno != EINTR)) {
		close(relay->from);
		relay->from = -1;
	}
}

static bool any_open(const struct relay *relays, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (relays[i].from >= 0)
			return true;
	return false;
}

void relay_until_end(struct relay *relays, size_t count, pid_t pid)
{
	struct pollfd fds[RELAYS_MAX + 1] = {0};
	int process = (int)syscall(SYS_pidfd_open, pid, 0);

	for (size_t i = 0; i < count; i++)
		fcntl(relays[i].from, F_SETFL, O_NONBLOCK);
	/* A process that cannot be watched has ended when its pipes are closed. */
	while (process >= 0 || any_open(relays, count)) {
		for (size_t i = 0; i < count; i++)
			fds[i] = (struct pollfd){.fd = relays[i].from, .events = POLLIN};
		fds[count] = (struct pollfd){.fd = process, .events = POLLIN};
		if (poll(fds, count + 1, -1) < 0)
			continue;
		for (size_t i = 0; i < count; i++)
			if (fds[i].revents)
				step(&relays[i]);
		if (fds[count].revents)
			break;
	}
	if (process >= 0)
		close(process);
}

/* No more than a pipe holds: a process that escaped may still write. */
void relay_finish(struct relay *relay)
{
	for (int i = 0; relay->from >= 0 && i < PIPE_SIZE / CHUNK; i++)
		step(relay);
	if (relay->from >= 0)
		close(relay->from);
	relay->from = -1;
}
