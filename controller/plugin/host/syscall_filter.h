/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

/* The sockets that a filter leaves. */
enum syscall_sockets {
	SYSCALL_SOCKETS_PAIRS = 0, /* pairs of streams */
	SYSCALL_SOCKETS_LISTEN,    /* and Unix sockets to which others connect */
	SYSCALL_SOCKETS_UNIX,      /* Unix sockets of any path */
};

/*
 * Takes from this process and all that it starts, for good, the system calls by which a program
 * without other privileges reaches other processes, or changes files that it cannot write: they fail
 * with EPERM. Modes and times of files stay if `times_and_modes`, for a process that sees no files
 * of others but read-only ones; set-id bits do not. A call of another architecture (i386 or x32 on
 * x86-64) ends the process. PR_SET_NO_NEW_PRIVS has to be set. False with errno. A second
 * filter only takes more.
 */
bool syscall_filter_install(enum syscall_sockets sockets, bool times_and_modes);

/*
 * The environment of a program of virtbed that has SYSCALL_SOCKETS_UNIX has this variable: what it
 * starts itself is to get SYSCALL_SOCKETS_LISTEN.
 */
#define SYSCALL_FILTER_VARIABLE "VIRTBED_POLICY_SANDBOX"
