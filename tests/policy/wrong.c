/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A policy outside the tree, as test-policy-check builds it: in order of arrival, each task on its
 * first option. With -DFAULT=... it is wrong in one way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "controller/sched/virtbed_policy.h"

#define NONE 0
#define ILLEGAL 1  /* starts a task on nodes that another one has */
#define TWICE 2    /* starts a task twice */
#define CHANCE 3   /* goes by a clock */
#define STACK 4    /* reads a variable that it has not set */
#define HEAP 5     /* reads memory that it has not set */
#define KEEPS 6    /* remembers how many events there were */
#define CRASH 7    /* reads where nothing is */
#define HANG 8     /* never returns */
#define ADDRESS 9  /* goes by an address */
#define NOT_NOW 10 /* starts a task in the future */
#define PRINTS 11  /* prints to standard output */
#define DEEP 12    /* uses up its stack */
#define SLOW 13    /* sleeps where many tasks wait */
#define FLAG 14    /* takes memory that it has not set for true or false */
#define SIGN 15    /* asks whether such memory is above 0 */
#ifndef FAULT
#define FAULT NONE
#endif

static unsigned events;

/* What is on the stack below the frames of all functions that the policy has called. */
static __attribute__((noinline)) uint32_t left_on_stack(void)
{
	volatile uint32_t left[4096];

	return left[7];
}

static __attribute__((noinline)) uint32_t left_on_heap(void)
{
	volatile uint32_t *left = malloc(4096);
	const uint32_t value = left[512];

	free((void *)left);
	return value;
}

static uint32_t deeper(volatile uint32_t *outer)
{
	volatile uint32_t own[1024];

	own[0] = *outer + 1;
	return own[0] ? deeper(own) + own[0] : 0;
}

/* What the fault makes of the choice between options: 0 in a policy that is right. */
static uint32_t bias(void)
{
	struct timespec now;

	switch (FAULT) {
	case CHANCE:
		clock_gettime(CLOCK_MONOTONIC, &now);
		return (uint32_t)now.tv_nsec / 64;
	case STACK:
		return left_on_stack() & 1;
	case HEAP:
		return left_on_heap() & 1;
	case FLAG:
		return left_on_heap() != 0;
	case SIGN:
		return (int32_t)left_on_heap() > 0;
	case KEEPS:
		return events / 2 % 2; /* the first process is asked twice about each */
	case ADDRESS:
		return (uint32_t)((uintptr_t)&events >> 12);
	case CRASH:
		return *(volatile uint32_t *)(uintptr_t)events;
	case DEEP:
		return deeper(&events);
	case PRINTS:
		return puts("[\"printed\"]") < 0;
	case HANG:
		for (;;)
			pause();
	default:
		return 0;
	}
}

static int decide(struct mapping *mapping)
{
	const uint32_t by = bias();
	int result = 0;

	events++;
	if (FAULT == SLOW && mapping->tasks_count >= 1000)
		usleep(1100000);
	for (uint32_t i = 0; result == 0 && i < mapping->tasks_count; i++) {
		const struct sched_task *task = mapping->tasks[i];
		uint32_t count;
		const struct sched_option *options =
			sched_system_options(mapping->system, task->row, &count);
		const struct sched_option *option = &options[by % count];

		if (mapping_start_s(mapping, task->row, option) >= mapping->snapshot->end_s ||
		    energy_judge(&mapping->energy, option) != SCHED_REFUSAL_TAKEN)
			continue;
		result = mapping_place(mapping, task, option, 0, SCHED_REASON_FIRST);
		if (FAULT == TWICE && result == 0)
			result = mapping_place(mapping, task, option, 0, SCHED_REASON_FIRST);
	}
	for (uint32_t i = 0; i < mapping->actions_count; i++) {
		struct sched_action *action = &mapping->actions[i];

		if (FAULT == ILLEGAL && action->kind == SCHED_ACTION_PLACEHOLDER) {
			const double takes_s = action->end_s - action->start_s;

			action->kind = SCHED_ACTION_START;
			action->start_s = mapping->snapshot->now_s;
			action->end_s = action->start_s + takes_s;
			for (uint32_t t = 0; t < mapping->tasks_count; t++)
				if (mapping->tasks[t]->id == action->task)
					action->utility = sched_task_utility(mapping->tasks[t],
									     action->end_s);
		}
		if (FAULT == NOT_NOW && action->kind == SCHED_ACTION_START)
			action->start_s += 1;
	}
	return result == 0 ? 0 : -ENOMEM;
}

static const struct policy_planning planning = {.decide = decide};
static const struct policy_ops first_option = {
	.name = "first-option",
	.section = "none",
	.summary = "In order of arrival, each task on its first option",
	.planning = &planning,
};
VIRTBED_POLICY(&first_option);
