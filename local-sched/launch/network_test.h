/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Which of the VMs of a task is cut off from the network: each one asks the next one for an answer, the last one the
 * first. Pure.
 */

/* Whether VM i got an answer from the one after it. */
enum network_answer {
	NETWORK_UNKNOWN = 0, /* it could not be asked to, or has gone */
	NETWORK_REACHED,
	NETWORK_CUT,
};

/*
 * Of the answers of `count` VMs, in a ring: ret_cut[i] is whether VM i is to be booted anew. It is where neither its own
 * question nor that to it was answered; where that holds of none, both ends of each question without an answer are.
 * Returns whether it holds of any.
 */
bool network_test_judge(const enum network_answer *answers, uint32_t count, bool *ret_cut);
