/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/policies/registry.h"

#define TABLES_2(tables) &(tables)[0], &(tables)[1],
#define TABLES_3(tables) TABLES_2(tables) & (tables)[2],
#define TABLES_4(tables) TABLES_3(tables) & (tables)[3],
#define TABLES_5(tables) TABLES_4(tables) & (tables)[4],
#define TABLES_6(tables) TABLES_5(tables) & (tables)[5],
#define TABLES_7(tables) TABLES_6(tables) & (tables)[6],
#define TABLES_8(tables) TABLES_7(tables) & (tables)[7],

#define POLICY(name) &policy_##name,
#define POLICIES(name, count) TABLES_##count(policies_##name)

static const struct policy_ops *const policies[] = {
#include "controller/sched/policies/registry.def"
};

const struct policy_ops *const *policy_list(uint32_t *ret_count)
{
	*ret_count = sizeof(policies) / sizeof(policies[0]);
	return policies;
}
