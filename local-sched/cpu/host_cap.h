/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/cpu/host_knob.h"

/*
 * The caps of one machine's CPUs: its highest frequency and its deepest idle state. Sets them,
 * looks from time to time whether they do what they say, and puts everything back at the end; what
 * a process that died left turned is put back by the next one, or by `virtbed lab down`. Only for
 * the machine that we run on: a remote one's knobs are out of reach.
 */
struct host_cap;
typedef struct host_cap host_cap_t;

/* All borrowed for the call. */
struct host_cap_settings {
	const char *host;      /* its name, for messages */
	const char *sys_root;  /* "/sys" */
	const char *dev_root;  /* "/dev" */
	const char *originals; /* file of cap_originals.h */
	uint32_t max_mhz;      /* 0: no cap */
	const char *max_cstate; /* NULL: no cap */
	double check_s;        /* between two looks; 0: HOST_CAP_CHECK_S */
};

#define HOST_CAP_CHECK_S 5.0
/* The first look comes sooner: a run that starts now wants to know. */
#define HOST_CAP_FIRST_CHECK_S 0.5

/*
 * Sets the caps. Returns NULL with CAP_ORIGINALS_ERROR if the originals cannot be kept: nothing is
 * touched then. A cap that cannot be set is no error: its knob says so.
 */
struct host_cap *host_cap_new(const struct host_cap_settings *settings, GError **error);

/* Puts everything back; NULL is allowed. */
void host_cap_free(struct host_cap *cap);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(host_cap_t, host_cap_free)

/* Looks now. */
void host_cap_check(struct host_cap *cap);

/* The least of the knobs: one that is not effective, else one that is not known to be. */
enum host_knob_effect host_cap_effect(const struct host_cap *cap);

/*
 * [{"knob": "frequency", "requested": "1596 MHz", "set": "1596 MHz", "read_back": "1596 MHz",
 * "effective": "yes", "reason": null}], a new reference.
 */
json_t *host_cap_json(const struct host_cap *cap);
