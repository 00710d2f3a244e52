/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/service/run_service_private.h"
#include "tests/unit/store/run_dir.h"

/*
 * As much of a service as its ledger asks for, with its engine on the simulation and one task. The
 * clusters "a" and "b" have a metered host each, "ha" and "hb", that draws nothing idle; the host
 * of "c" has no meter.
 */

#define S INT64_C(1000000000)
/* How long the run has been under way when the service begins. */
#define AGE_S 1000

enum { CLUSTER_A, CLUSTER_B, CLUSTER_C };

struct bed {
	struct run_dir record;
	struct run_plan plan;
	struct run_session session;
	struct sched_system *system;
	struct run_service service;
	int64_t seqs[2];     /* the last report of each host */
	int64_t counters[2]; /* of each host, uJ */
};

/* For g_test_add(). */
void bed_set_up(struct bed *bed, const void *data);
void bed_tear_down(struct bed *bed, const void *data);

/* The host of a cluster. */
const char *bed_host(uint32_t cluster);

/* A service as it is before its account begins; bed_set_up() opens the first. */
void bed_open(struct bed *bed);
void bed_close(struct bed *bed);

/* Its account begins. */
void bed_begin(struct bed *bed);
