/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/sched/arena.h"

/*
 * MCB8: packing of vectors with two components, CPU and memory, onto equal hosts (Stillwell 2010,
 * III.B, after Leinberger et al.). The items are jobs of equal tasks.
 *
 * The tasks are in two lists, those that require at least as much CPU as memory, and those that
 * require more memory; each is sorted by the larger requirement, largest first, ties in the order
 * in which the caller lists the jobs. A host takes the first task that fits from the list that
 * reduces its imbalance (the memory list where more memory than CPU is free, else the CPU list),
 * then from the other list; when nothing fits the next host is filled.
 *
 * A host takes up to SCHED_SHARE_SLACK more than it has, and is balanced up to as much.
 *
 * Cost: equal tasks are never considered one by one. On one host a job that does not fit once does
 * not fit later, so each list is walked once per host; and hosts that would be filled alike, as
 * long as every job of the first has tasks left for them, are filled at once. With n jobs that is
 * at most about 2 n walks of n steps, whatever the numbers of hosts and tasks.
 */

/* One job to pack. Requirements are parts of a host, > 0; more than 1 never fits. */
struct mcb8_job {
	uint32_t tasks; /* > 0 */
	double cpu;     /* of each */
	double memory;  /* of each */
};

/* What is taken on a host already, as parts of it. */
struct mcb8_fixed {
	double cpu;
	double memory;
};

/* The number of tasks of a job on each host of a fill. */
struct mcb8_entry {
	uint32_t job;   /* index in the list of jobs */
	uint32_t tasks; /* > 0 */
};

/* Hosts that are filled alike. */
struct mcb8_fill {
	uint32_t hosts; /* > 0 */
	/* First of the packing's entries that belong to this fill, up to the next fill's first. */
	uint32_t entries_first;
};

/* A packing: the fills in the order of the hosts. Belongs to the arena that it was made in. */
struct mcb8_packing {
	uint32_t fills_count;
	struct mcb8_fill *fills;
	uint32_t entries_count;
	struct mcb8_entry *entries;
	double load; /* the largest sum of CPU requirements on a host */
};

/* Working memory for packings of up to jobs_max jobs. */
struct mcb8 {
	uint32_t hosts;
	uint32_t jobs_max;
	uint32_t order_count; /* number of jobs in the last packing */
	uint32_t *order;      /* these jobs by larger requirement: both lists in one */
	uint32_t *remaining;  /* unpacked tasks, per job */
	uint32_t *lists[2];   /* jobs with tasks left: CPU list, memory list */
	uint32_t lists_count[2];
	uint32_t *taken; /* per job: tasks on the present host */
	/* Set by the caller: what is taken on the first fixed_count hosts. The others are empty. */
	const struct mcb8_fixed *fixed;
	uint32_t fixed_count;
};

/*
 * Prepares packings of at most `jobs_max` jobs onto `hosts` empty hosts. Returns 0, or -ENOMEM.
 */
int mcb8_init(struct mcb8 *mcb8, struct arena *arena, uint32_t jobs_max, uint32_t hosts);

/*
 * Allocates a packing with room for jobs_max jobs with `tasks` tasks altogether. Returns 0, or
 * -ENOMEM.
 */
int mcb8_packing_init(const struct mcb8 *mcb8, struct arena *arena, uint32_t tasks,
		      struct mcb8_packing *ret_packing);

/*
 * Packs the jobs. Returns whether all fit. The packing is in *packing, which must have the room; if
 * not all fit its contents are undefined.
 */
bool mcb8_pack(struct mcb8 *mcb8, const struct mcb8_job *jobs, uint32_t jobs_count,
	       struct mcb8_packing *packing);
