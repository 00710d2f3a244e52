/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Preloaded into MPI ranks: turns busy waiting into blocking.
 *
 * MPICH waits by asking its transport again and again; with TCP that is an epoll_wait() with a
 * timeout of zero.  Under a CPU quota a rank that spins so uses up the very time that its peer
 * needs.  After EMPTY_POLLS such calls in a row that found nothing, the next ones therefore block,
 * for at most BLOCK_MS: whatever arrives on the connections ends the wait at once, and what does
 * not come through them is seen after BLOCK_MS at the latest.
 * Measured: CG.S under a 10 % quota 21 s with this, not done in 40 s without.
 */
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EMPTY_POLLS 20
#define BLOCK_MS 2

/* Per thread: MPICH's helper threads have waits of their own. */
static __thread int empty_polls;

int epoll_wait(int fd, struct epoll_event *events, int max_events, int timeout)
{
	int block = timeout == 0 && empty_polls >= EMPTY_POLLS;
	int n = (int)syscall(SYS_epoll_wait, fd, events, max_events, block ? BLOCK_MS : timeout);

	if (timeout == 0) {
		if (n != 0)
			empty_polls = 0;
		else if (empty_polls < EMPTY_POLLS)
			empty_polls++;
	}
	return n;
}
