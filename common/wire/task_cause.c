/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/wire/task_cause.h"

#include <stddef.h>
#include <string.h>

static const char *const names[] = {
	[TASK_CAUSE_NONE] = NULL,         [TASK_CAUSE_DEADLINE] = "deadline",
	[TASK_CAUSE_STALLED] = "stalled", [TASK_CAUSE_KILLED] = "killed",
	[TASK_CAUSE_VM] = "vm",           [TASK_CAUSE_EXIT] = "exit",
	[TASK_CAUSE_OTHER] = "other",
};

const char *task_cause_name(enum task_cause cause)
{
	return names[cause];
}

enum task_cause task_cause_find(const char *name)
{
	for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++)
		if (names[i] && strcmp(names[i], name) == 0)
			return (enum task_cause)i;
	return TASK_CAUSE_NONE;
}
