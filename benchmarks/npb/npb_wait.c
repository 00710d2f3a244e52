/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Turns the busy waiting of the MPI library into blocking, on request.
 *
 * MPICH waits by asking its transport again and again; with UCX over TCP that is an epoll_wait()
 * with a timeout of zero.  Under a CPU quota a rank that spins so uses up the very time that its
 * peer needs: CG.S on two VMs at 10 % was not done in 40 s, and took 21 s with what follows.
 * The linker redirects all calls of epoll_wait() here (--wrap).  After EMPTY_POLLS calls in a row
 * that found nothing, the next ones block, for at most VIRTBED_BLOCK_MS milliseconds: whatever
 * arrives on the connections ends the wait at once, what comes by another way is seen then.
 *
 * Without VIRTBED_BLOCK_MS in the environment nothing is changed: where ranks talk through shared
 * memory, spinning is what makes them fast.  The guest image sets it.
 */
#include <stdlib.h>
#include <sys/epoll.h>

#define EMPTY_POLLS 20
#define BLOCK_MS_MAX 1000

int __real_epoll_wait(int fd, struct epoll_event *events, int max_events, int timeout);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int max_events, int timeout);

/* Per thread: the library's helper threads have waits of their own. */
static __thread int empty_polls;

/* -1 until the environment has been looked at; 0 for no blocking. */
static int block_ms = -1;

static int read_block_ms(void)
{
	const char *text = getenv("VIRTBED_BLOCK_MS");
	long value = text ? strtol(text, NULL, 10) : 0;

	return value < 0 ? 0 : value > BLOCK_MS_MAX ? BLOCK_MS_MAX : (int)value;
}

int __wrap_epoll_wait(int fd, struct epoll_event *events, int max_events, int timeout)
{
	int n;

	if (timeout != 0)
		return __real_epoll_wait(fd, events, max_events, timeout);
	if (block_ms < 0)
		block_ms = read_block_ms();
	n = __real_epoll_wait(fd, events, max_events, empty_polls < EMPTY_POLLS ? 0 : block_ms);
	if (n != 0)
		empty_polls = 0;
	else if (empty_polls < EMPTY_POLLS)
		empty_polls++;
	return n;
}
