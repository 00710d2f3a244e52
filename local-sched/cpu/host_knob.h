/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* A knob of a machine's CPUs for people and the API: four columns and a reason. */

/*
 * Whether a knob has its effect. Reading it back is no proof: haltpoll returns the setting and
 * ignores it.
 */
enum host_knob_effect {
	HOST_KNOB_UNKNOWN = 0, /* no evidence yet */
	HOST_KNOB_EFFECTIVE,
	HOST_KNOB_NOT_EFFECTIVE,
};

struct host_knob {
	const char *name; /* "frequency", "boost", "idle" */
	char *requested;  /* the configured value: "1596 MHz", "C1" */
	char *set;        /* the value that was written; NULL: none */
	char *read_back;  /* the value that is read now; NULL: not readable */
	enum host_knob_effect effect;
	char *reason; /* why it is not effective, or not known to be; NULL: no reason */
};

/* "yes", "no", "unknown". */
const char *host_knob_effect_name(enum host_knob_effect effect);

/* Sets a text of the knob; takes `value` over. */
void host_knob_set_text(char **text, char *value);

/* Sets effect and reason; takes the reason over, which may be NULL. */
void host_knob_judge(struct host_knob *knob, enum host_knob_effect effect, char *reason);

/* Frees the texts. */
void host_knob_clear(struct host_knob *knob);

/*
 * The directories of the CPUs below `sys_root` that are online ("cpu0" ...), NULL-terminated; the
 * caller frees them. An offline CPU runs no code, and the kernel keeps no frequency and no idle
 * states for it.
 */
char **host_knob_cpus(const char *sys_root);
