/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* A knob of a machine's CPUs as people and the API see it: four columns and a reason. */

/* Whether a knob does what it says. Read-back is no proof: haltpoll reads back and ignores. */
enum host_knob_effect {
	HOST_KNOB_UNKNOWN = 0, /* nothing was seen that tells */
	HOST_KNOB_EFFECTIVE,
	HOST_KNOB_NOT_EFFECTIVE,
};

struct host_knob {
	const char *name; /* "frequency", "boost", "idle" */
	char *requested;  /* as the configuration asks: "1596 MHz", "C1" */
	char *set;        /* what was written; NULL: nothing could be */
	char *read_back;  /* what it reads now; NULL: cannot be read */
	enum host_knob_effect effect;
	char *reason; /* why it is not effective, or not known to be; NULL: nothing to say */
};

/* "yes", "no", "unknown". */
const char *host_knob_effect_name(enum host_knob_effect effect);

/* Sets a text of the knob, which takes it over. */
void host_knob_set_text(char **text, char *value);

/* Sets effect and reason; the reason is taken over and may be NULL. */
void host_knob_judge(struct host_knob *knob, enum host_knob_effect effect, char *reason);

/* Frees the texts. */
void host_knob_clear(struct host_knob *knob);

/* The CPUs below `sys_root` ("cpu0" ...): their directories, NULL-terminated; the caller frees. */
char **host_knob_cpus(const char *sys_root);
