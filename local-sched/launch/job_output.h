/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/hypervisor/agent.h"

/*
 * What the ranks of a task printed, put together for people: the standard output of rank 0, then
 * whatever the others and standard error hold, each under a heading. Pure.
 */
struct job_output {
	char *out; /* NUL-terminated; NULL: none */
	size_t out_length;
	char *err;
	size_t err_length;
	bool truncated; /* the agent cut some of it */
};

/* Takes the texts over from an agent's status. */
void job_output_take(struct job_output *output, struct agent_status *status);

/* Frees the texts and empties it. */
void job_output_clear(struct job_output *output);

/* One rank in job_output_text(). */
struct job_output_rank {
	const struct job_output *output;
	int status; /* exit status */
	bool lost;  /* the output could not be fetched */
};

/* So much is kept of all of them: as JSON, six times as long at worst, it is still an answer that clients take. */
#define JOB_OUTPUT_MAX (8 << 20)

/*
 * The whole as text of *ret_length bytes, NUL-terminated, whose headings call each one a `what`, cut
 * after JOB_OUTPUT_MAX; the caller frees it.
 */
char *job_output_text(const struct job_output_rank *ranks, uint32_t count, const char *what,
		      size_t *ret_length);
