/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/vm_step.h"

#include <math.h>

bool vm_step_next(const struct vm_step_table *table, guint step, guint event, guint *ret_next)
{
	const struct vm_step *current = &table->steps[step];

	for (guint i = 0; i < table->transitions_count; i++) {
		const struct vm_transition *transition = &table->transitions[i];

		if (transition->from == step && transition->event == event) {
			*ret_next = transition->to;
			return true;
		}
	}
	*ret_next = step;
	if ((event == table->limit && current->limit_s > 0) ||
	    (event == table->fail && current->is_rollback))
		*ret_next = table->lost;
	return *ret_next != step;
}

unsigned vm_step_limit_s(const struct vm_step_table *table, guint step, double patience_s)
{
	const struct vm_step *current = &table->steps[step];

	return current->patiences > 0 ? (unsigned)ceil(current->patiences * patience_s)
				      : current->limit_s;
}
