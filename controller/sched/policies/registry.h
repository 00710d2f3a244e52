/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/policy.h"

/* The tables of all policies, which registry.def lists. */
#define POLICY(name) extern const struct policy_ops policy_##name;
#define POLICIES(name, count) extern const struct policy_ops policies_##name[count];
#include "controller/sched/policies/registry.def"
#undef POLICY
#undef POLICIES
