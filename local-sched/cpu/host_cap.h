/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdint.h>

#include "common/platform.h"
#include "local-sched/cpu/host_knob.h"

/*
 * The caps on a machine's CPUs: the highest frequency and the deepest idle state. Sets them, checks
 * from time to time whether they are effective, and restores everything at the end. Knobs that a
 * dead process has left changed are restored by the next process, or by `virtbed lab down`. Only
 * for this machine: the knobs of a remote host are out of reach.
 */
struct host_cap;
typedef struct host_cap host_cap_t;

/* All borrowed for the call. */
struct host_cap_settings {
	const struct platform *platform;
	const char *host;       /* its name, for messages */
	const char *sys_root;   /* "/sys", or a test's */
	const char *dev_root;   /* "/dev", or a test's */
	const char *originals;  /* path of the file of cap_originals.h */
	uint32_t max_mhz;       /* 0: no cap */
	const char *max_cstate; /* NULL: no cap */
	double check_s;         /* between two checks; 0: HOST_CAP_CHECK_S */
	double settle_s;        /* until a frequency counts as set; 0: HOST_CAP_SETTLE_S */
};

#define HOST_CAP_CHECK_S 5.0
/* The first check comes sooner, because a run that starts now waits for its result. */
#define HOST_CAP_FIRST_CHECK_S 0.5
/* Drivers change frequencies within 10 ms, and daemons that meddle with them take longer. */
#define HOST_CAP_SETTLE_S 1.0

/*
 * Sets the caps. Returns NULL with CAP_ORIGINALS_ERROR if the originals cannot be stored; nothing
 * is changed then. A cap that cannot be set is no error: its knob says so.
 */
struct host_cap *host_cap_new(const struct host_cap_settings *settings, GError **error);

/* Restores everything; NULL is allowed. */
void host_cap_free(struct host_cap *cap);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(host_cap_t, host_cap_free)

/* Checks now. */
void host_cap_check(struct host_cap *cap);

/* The worst effect of the knobs: not effective, else unknown, else effective. */
enum host_knob_effect host_cap_effect(const struct host_cap *cap);

/*
 * The knobs for the API, a new reference:
 *
 *  [{"knob": "frequency", "requested": "1596 MHz", "set": "1596 MHz",
 *    "read_back": "1596 MHz", "effective": "yes", "reason": null}]
 */
json_t *host_cap_json(const struct host_cap *cap);
