/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * Takes from this process and all that it starts, for good, the system calls by which a program
 * without other privileges reaches other processes, or changes files that it cannot write: they fail
 * with EPERM. A call of another architecture (i386 or x32 on x86-64) ends the process. Without
 * `unix_sockets` there are no sockets but pairs of their own; with it there are Unix sockets.
 * PR_SET_NO_NEW_PRIVS has to be set. False with errno; ENOSYS: not on this architecture.
 */
bool syscall_filter_install(bool unix_sockets);
