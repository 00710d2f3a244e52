/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

/*
 * Guards this process against the shared object of a policy while a function of it is called:
 *
 * - what it prints to standard output goes to standard error, so that results stay what they are;
 * - a crash is put in words, with the policy's name, before it ends the process as it would;
 * - a call that takes longer than its deadline ends the process, with exit status 1 and the words
 *   that a program gets (policy-protocol.md, "late").
 *
 * Nothing else of the process writes to standard output during a call. Several threads may call at
 * once. The first call installs handlers of the signals of crashes and, with a deadline, a thread.
 */

/* A call; of the caller, until so_guard_leave(). */
struct so_guard {
	const char *policy; /* its name, borrowed */
	uint64_t event;     /* mapping event; 0: it is not asked, but loaded or unloaded */
	double now_s;       /* time of that */
	double deadline_s;  /* of the call; 0: none */
	/* Of so_guard.c: */
	int64_t begun_ns;
	const char *command; /* what messages begin with */
	struct so_guard *next;
};

void so_guard_enter(struct so_guard *guard);
void so_guard_leave(struct so_guard *guard);
