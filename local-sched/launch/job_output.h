/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/hypervisor/agent.h"

/*
 * The output of a task's ranks as one text for people: the standard output of rank 0, then the
 * output of the other ranks and all standard error, each under a heading. Pure.
 */
struct job_output {
	char *out; /* NUL-terminated; NULL: none */
	size_t out_length;
	char *err;
	size_t err_length;
	bool truncated; /* the agent cut some of it */
};

/* Takes the texts out of an agent's status. */
void job_output_take(struct job_output *output, struct agent_status *status);

/* Frees the texts and empties it. */
void job_output_clear(struct job_output *output);

/* A rank for job_output_text(). */
struct job_output_rank {
	const struct job_output *output;
	int status; /* exit status */
	bool lost;  /* the output could not be fetched */
};

/*
 * The most bytes of a task's output. As JSON it is up to six times as long, which is still a
 * response that clients accept.
 */
#define JOB_OUTPUT_MAX (8 << 20)

/*
 * The output of all ranks as text of *ret_length bytes, NUL-terminated, cut after JOB_OUTPUT_MAX.
 * Headings call a rank `what`. The caller frees it.
 */
char *job_output_text(const struct job_output_rank *ranks, uint32_t count, const char *what,
		      size_t *ret_length);
