/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * A policy as a shared object, outside the tree ("policy: so:./mine.so"): the same tables and tools
 * as the policies of the tree, with a version. All of mine.c:
 *
 *     #include "controller/sched/virtbed_policy.h"
 *
 *     static int decide(struct mapping *mapping) { ... }
 *     static const struct policy_planning planning = {.decide = decide};
 *     static const struct policy_ops mine = {
 *         .name = "mine", .section = "none", .summary = "...", .planning = &planning};
 *     VIRTBED_POLICY(&mine);
 *
 *     cc -shared -fPIC $(pkg-config --cflags virtbed-policy) -o mine.so mine.c
 *
 * docs/first-day/policy-author.md goes through it. The functions of these headers come from the
 * program that loads the shared object.
 */
#include <errno.h>

#include "common/random.h"
#include "controller/sched/energy_target.h"
#include "controller/sched/fcfs.h"
#include "controller/sched/greedy.h"
#include "controller/sched/immediate.h"
#include "controller/sched/immediate_order.h"
#include "controller/sched/mapping.h"
#include "controller/sched/pet.h"
#include "controller/sched/policy.h"
#include "controller/sched/preempt.h"
#include "controller/sched/queueing.h"
#include "controller/sched/rank_key.h"
#include "controller/sched/sharing.h"
#include "controller/sched/sharing_pack.h"
#include "controller/sched/sharing_yield.h"

/* Of the tools: a function does something else, or is gone. */
#define VIRTBED_POLICY_VERSION 1

/*
 * A sum of the sizes of the structures that policies read and write: another one where they have
 * changed.
 */
#define VIRTBED_POLICY_LAYOUT                                                                      \
	(VIRTBED_POLICY_SIZE(1, sched_system) + VIRTBED_POLICY_SIZE(2, sched_option) +             \
	 VIRTBED_POLICY_SIZE(3, sched_task) + VIRTBED_POLICY_SIZE(4, sched_allocation) +           \
	 VIRTBED_POLICY_SIZE(5, sched_snapshot) + VIRTBED_POLICY_SIZE(6, sched_action) +           \
	 VIRTBED_POLICY_SIZE(7, policy) + VIRTBED_POLICY_SIZE(8, policy_ops) +                     \
	 VIRTBED_POLICY_SIZE(9, policy_planning) + VIRTBED_POLICY_SIZE(10, policy_immediate) +     \
	 VIRTBED_POLICY_SIZE(11, policy_sharing) + VIRTBED_POLICY_SIZE(12, policy_queueing) +      \
	 VIRTBED_POLICY_SIZE(13, mapping) + VIRTBED_POLICY_SIZE(14, immediate) +                   \
	 VIRTBED_POLICY_SIZE(15, sharing) + VIRTBED_POLICY_SIZE(16, queueing))
#define VIRTBED_POLICY_SIZE(n, type) (sizeof(struct type) * (UINT64_C(0x9e3779b97f4a7c15) * (n)))

/* What a shared object exports under the name "virtbed_policy". */
struct virtbed_policy {
	uint32_t version; /* VIRTBED_POLICY_VERSION */
	uint32_t size;    /* of struct policy_ops */
	uint64_t layout;  /* VIRTBED_POLICY_LAYOUT */
	const struct policy_ops *ops;
};

/* Set by VIRTBED_POLICY() in the shared object; the pkg-config file hides all other names. */
extern const struct virtbed_policy virtbed_policy __attribute__((visibility("default")));

/* Defines the policy of the shared object. */
#define VIRTBED_POLICY(ops_)                                                                       \
	const struct virtbed_policy virtbed_policy = {                                             \
		.version = VIRTBED_POLICY_VERSION,                                                 \
		.size = sizeof(struct policy_ops),                                                 \
		.layout = VIRTBED_POLICY_LAYOUT,                                                   \
		.ops = (ops_),                                                                     \
	}
