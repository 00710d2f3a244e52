/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/lab_state.h"

/*
 * The lab's own processes. Each is this program in a role (lab_roles.h) and in new namespaces, tied
 * to its parent by a channel (lab_channel.h).
 */

/* Whether a child ends with its parent. */
enum lab_process_life {
	LAB_PROCESS_OWN_LIFE = 0, /* a new session, which outlives the parent */
	LAB_PROCESS_PARENTS_LIFE, /* SIGKILL when the thread that started it ends */
};

/*
 * Starts this program in `role` with `arguments` (NULL-terminated), in new namespaces (CLONE_NEW*
 * or 0). The child's descriptors are 0 = /dev/null, 1 and 2 = appended to `log_path`, 3 = the
 * channel. Of this process's environment it gets only VIRTBED_LOG and VIRTBED_DCMI_MODULE. It runs
 * at once and has to wait for "go". Returns its pid in the caller's namespace with the caller's end
 * of the channel, or -1.
 */
pid_t lab_process_start(const char *role, const char *const *arguments, int namespaces,
			enum lab_process_life life, const char *log_path, int *ret_channel,
			GError **error);

/*
 * Kills a process, by a handle that is safe against recycled pids, and waits until it is gone. For
 * the first process of a pid namespace that is when every process in it is gone. True also if it
 * was not alive; false if it still exists after `timeout_s`.
 */
bool lab_process_kill(struct lab_state_process process, double timeout_s);

/* The first process, child of `parent` (0: of any), whose command line begins so; 0: none. */
pid_t lab_process_find(pid_t parent, const char *const *arguments);

/* The process that runs as `role` of lab `lab` and its blade `number` (0: no blade's); 0: none. */
pid_t lab_process_in_role(pid_t parent, const char *role, const char *lab, uint32_t number);
