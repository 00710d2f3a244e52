/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Passes the output of a program on to the agent's client that started it, and copies it to a file
 * that the agent can read meanwhile. At most RELAY_MAX bytes of a stream are passed on. The rest is
 * read and dropped, so that the program does not block, and a line says so.
 */
#ifndef VIRTBED_GUEST_RELAY_H
#define VIRTBED_GUEST_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * The limit of each stream. The agent sends both in a single reply, in base64, and libvirt accepts
 * no text above 4 MiB (REMOTE_STRING_MAX).
 */
#define RELAY_MAX (1 << 20)

struct relay {
	int from;      /* end of a pipe; -1: the program's end was closed, or nothing is relayed */
	int to;
	int copy;      /* -1: none */
	size_t passed; /* bytes */
	bool cut;
};

/*
 * Serves the relays, @count of them (2 at most), until process @pid has ended, which the caller
 * reaps.
 */
void relay_until_end(struct relay *relays, size_t count, pid_t pid);

/* Passes on what the program has left in the pipe, and closes the pipe. */
void relay_finish(struct relay *relay);

/* Writes all of @bytes; false if that fails. */
bool relay_write(int fd, const char *bytes, size_t length);

#endif
