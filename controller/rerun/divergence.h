/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Where a run that is carried out again differs from what is stored of it. */
struct divergence {
	uint32_t input; /* the number of the input; 0: there is no divergence */
	char *kind;     /* of the input */
	double time_s;  /* that the input is about; NAN: no time */
	uint32_t task;  /* UINT32_MAX: about no single task */
	char *field;    /* such as "actions[2].start_s" */
	char *stored, *here;
};

void divergence_clear(struct divergence *divergence);

/*
 * The first difference between two JSON values, `stored` first: sets field (`path` and what is below
 * it), stored, here, and the task that it is about where an object around it says so. False: they
 * are equal.
 */
bool divergence_of_json(const json_t *stored, const json_t *here, const char *path,
			struct divergence *divergence);

/* Sets field and both values; the texts are copied. */
void divergence_set(struct divergence *divergence, const char *field, const char *stored,
		    const char *here);

/* The divergence as an object of --json, and as a sentence, which the caller frees. */
json_t *divergence_json(const struct divergence *divergence);
char *divergence_text(const struct divergence *divergence);
