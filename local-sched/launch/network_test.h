/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Finds the VMs of a task that are cut off from the network. In a ring, each VM asks the next one
 * for an answer, and the last VM asks the first. Pure.
 */

/* Whether VM i got an answer from the next VM. */
enum network_answer {
	NETWORK_UNKNOWN = 0, /* VM i could not be asked, or is gone */
	NETWORK_REACHED,
	NETWORK_CUT,
};

/*
 * Evaluates the answers of `count` VMs in a ring. ret_cut[i] is whether VM i has to be booted
 * again: neither its own question was answered, nor the question to it. Where no VM is cut off by
 * that rule, both ends of each unanswered question are. Returns whether any VM is cut off.
 */
bool network_test_judge(const enum network_answer *answers, uint32_t count, bool *ret_cut);
