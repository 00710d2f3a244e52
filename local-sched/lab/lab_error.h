/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* The errors of a lab. */
#define LAB_ERROR (lab_error_quark())
GQuark lab_error_quark(void);
enum lab_error {
	LAB_ERROR_START = 1, /* a part of the lab did not start, or could not be changed */
	LAB_ERROR_OTHER,     /* a lab of this name is up, with different blades or budgets */
	LAB_ERROR_BUSY,      /* another `up` or `down` is under way, or a group holds processes */
	LAB_ERROR_CANCELLED,
	LAB_ERROR_LEFT,    /* something could not be removed */
	LAB_ERROR_INPUT,   /* the configuration has no usable lab */
	LAB_ERROR_BROKEN,  /* spec.json is not what it should be, or a blade did not start */
	LAB_ERROR_MISSING, /* cpu, cpuacct and cpuset are not all there */
};

/* Sets LAB_ERROR_START, 'cannot DOING "WHAT": REASON' by errno, which is kept. Returns false. */
bool lab_error_set_errno(GError **error, const char *doing, const char *what);

/* Sets an error. Returns false. */
bool lab_error_set(GError **error, enum lab_error code, const char *format, ...)
	G_GNUC_PRINTF(3, 4);
