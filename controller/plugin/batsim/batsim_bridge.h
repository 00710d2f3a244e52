/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

#include "controller/plugin/batsim/batsim_peer.h"
#include "controller/sched/policy.h"

/*
 * A policy that a scheduler of Batsim decides for: it tells the scheduler what has changed from one
 * snapshot to the next, as Batsim does, and reads its answer as a plan
 * (docs/reference/batsim.md). It starts a scheduler at the first event, and a new one where what
 * the old one was told does not hold any more.
 */
struct batsim_bridge;

/* Starts a scheduler; NULL with `error`. */
typedef struct batsim_peer *(*batsim_start_f)(void *data, GError **error);

/*
 * `cluster` is the one whose nodes the scheduler gets; NULL: the only one of the system. All is
 * borrowed.
 */
struct batsim_bridge *batsim_bridge_new(const char *cluster, batsim_start_f start, void *data);

/* Ends the scheduler. NULL is allowed. */
void batsim_bridge_free(struct batsim_bridge *bridge);

/* For policy_decide(); belongs to the bridge. */
struct policy_outside *batsim_bridge_outside(struct batsim_bridge *bridge);

/*
 * Why a scheduler of Batsim cannot decide in the system of a message `hello`
 * (docs/reference/policy-protocol.md), or cannot be started; the caller frees it. NULL: it can.
 */
char *batsim_bridge_refuses(struct policy_outside *outside, const json_t *hello);
