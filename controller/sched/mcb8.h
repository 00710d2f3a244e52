/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/sched/arena.h"

/*
 * MCB8: packing of vectors with two components, CPU and memory, onto equal hosts (Stillwell 2010, III.B,
 * after Leinberger et al.). What is packed are jobs of equal tasks.
 *
 * The tasks are in two lists, those that require more CPU than memory or as much, and those that
 * require more memory; each is sorted by the larger requirement, largest first, ties in the order in which
 * the caller lists the jobs. A host takes the first task that fits from the list that goes against its
 * imbalance (the memory list where more memory than CPU is free, else the CPU list), then from the other
 * list; when nothing fits the next host has its turn.
 *
 * SCHED_SHARE_SLACK more than a host has still fits, and what is free is in balance up to as much.
 *
 * Cost: equal tasks are never looked at one by one. On one host a job that does not fit once does not
 * fit again, so each list is walked once per host; and hosts that would be filled alike, which is
 * as often as every job of the first has tasks for, are filled at once. With n jobs that is at most
 * about 2 n walks of n steps, whatever the numbers of hosts and tasks.
 */

/* One job to pack. Requirements are shares of a host, > 0; more than 1 never fits. */
struct mcb8_job {
	uint32_t tasks; /* > 0 */
	double cpu;     /* of each */
	double memory;  /* of each */
};

/* What a host has not got to give, shares of it. */
struct mcb8_fixed {
	double cpu;
	double memory;
};

/* On each of some hosts: so many tasks of a job. */
struct mcb8_entry {
	uint32_t job;   /* index in the list of jobs */
	uint32_t tasks; /* > 0 */
};

/* Hosts that are filled alike. */
struct mcb8_fill {
	uint32_t hosts;         /* > 0 */
	uint32_t entries_first; /* in the packing's entries, those up to the next fill's first */
};

/* A packing: the fills in the order of the hosts. Belongs to the arena that it was made in. */
struct mcb8_packing {
	uint32_t fills_count;
	struct mcb8_fill *fills;
	uint32_t entries_count;
	struct mcb8_entry *entries;
	double load; /* the largest sum of CPU requirements on a host */
};

/* Working memory for packings of up to so many jobs. */
struct mcb8 {
	uint32_t hosts;
	uint32_t jobs_max;
	uint32_t order_count;    /* of jobs in the last packing */
	uint32_t *order;         /* they, by larger requirement: both lists in one */
	uint32_t *remaining;     /* tasks, per job */
	uint32_t *lists[2];      /* of jobs with tasks left: CPU, memory */
	uint32_t lists_count[2];
	uint32_t *taken;         /* per job: on the present host */
	/* Of the first fixed_count hosts, by the caller; the others are empty. */
	const struct mcb8_fixed *fixed;
	uint32_t fixed_count;
};

/*
 * Prepares packings of at most `jobs_max` jobs onto `hosts` empty hosts. Returns 0, or -ENOMEM.
 */
int mcb8_init(struct mcb8 *mcb8, struct arena *arena, uint32_t jobs_max, uint32_t hosts);

/*
 * Room for any packing of jobs_max jobs with `tasks` tasks altogether. Returns 0, or -ENOMEM.
 */
int mcb8_packing_init(const struct mcb8 *mcb8, struct arena *arena, uint32_t tasks,
		      struct mcb8_packing *ret_packing);

/*
 * Packs the jobs. Returns whether all fit, with the packing in *packing, which must have the room;
 * its contents are lost otherwise.
 */
bool mcb8_pack(struct mcb8 *mcb8, const struct mcb8_job *jobs, uint32_t jobs_count,
	       struct mcb8_packing *packing);
