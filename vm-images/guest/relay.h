/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The output of a program, passed on to the client of the agent that started it, and copied to a
 * file that the agent can read meanwhile. At most RELAY_MAX bytes of a stream are passed on; the
 * rest is read and thrown away, so that the program can continue, and a line says so.
 */
#ifndef VIRTBED_GUEST_RELAY_H
#define VIRTBED_GUEST_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Of each stream.  The agent hands both over in one reply, in base64, and libvirt takes no text
 * above 4 MiB (REMOTE_STRING_MAX).
 */
#define RELAY_MAX (1 << 20)

struct relay {
	int from; /* end of a pipe; -1: the program's end was closed, or nothing is relayed */
	int to;
	int copy;      /* -1: none */
	size_t passed; /* bytes */
	bool cut;
};

/*
 * Passes on what the relays, @count of them (2 at most), get, until process @pid has ended, which
 * stays to be waited for.
 */
void relay_until_end(struct relay *relays, size_t count, pid_t pid);

/* Passes on what the program has left in the pipe, and closes it. */
void relay_finish(struct relay *relay);

/* Writes all of @bytes; false if that fails. */
bool relay_write(int fd, const char *bytes, size_t length);

#endif
