/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/network_test.h"

/*
 * Whether VM i is cut off. An answer went both ways: if a VM reaches another, the other reaches it
 * too.
 */
static bool is_cut(const enum network_answer *answers, uint32_t count, uint32_t i)
{
	return answers[i] == NETWORK_CUT &&
	       (count > 2 || answers[(i + 1) % count] != NETWORK_REACHED);
}

bool network_test_judge(const enum network_answer *answers, uint32_t count, bool *ret_cut)
{
	bool any = false;
	bool found = false;

	for (uint32_t i = 0; i < count; i++) {
		any |= is_cut(answers, count, i);
		ret_cut[i] = is_cut(answers, count, i) &&
			     is_cut(answers, count, (i + count - 1) % count);
		found |= ret_cut[i];
	}
	for (uint32_t i = 0; !found && i < count; i++)
		if (is_cut(answers, count, i))
			ret_cut[i] = ret_cut[(i + 1) % count] = true;
	return any;
}
