/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>

#include "common/machine_probe.h"
#include "local-sched/lab/lab_spec.h"

/*
 * Emulated blades on one machine: each has a libvirtd, a bridge, a CPU budget, an identity and a
 * BMC of its own, and to the rest of the system looks as a real blade does: a libvirt URI, a
 * bridge, and a meter's address (common/lab_state.h has the file that says so). The figures behind
 * the choices here are in the project's feasibility notes on emulated blades.
 *
 * What is where: lab_spec.h what is asked for, lab_paths.h the files, lab_roles.h the processes,
 * lab_cgroup.h the CPU budgets, lab_power.h the watts. A lab may stand beside others of other
 * names. Whatever is about to be done is written down before, so that `down` can undo it however
 * `up` ended.
 *
 * A lab needs root. Its VMs' migrations and its guests' network stay inside of it.
 */

#define LAB_BMC_USER "ADMIN"
#define LAB_PASSWORD_FILE "bmc-password"
/* Of the BMCs that speak Redfish, one for all. */
#define LAB_CERTIFICATE_FILE "bmc-certificate.pem"
#define LAB_KEY_FILE "bmc-key.pem"

#define LAB_ERROR (lab_error_quark())
GQuark lab_error_quark(void);
enum lab_error {
	LAB_ERROR_START = 1, /* a part of the lab did not start */
	LAB_ERROR_OTHER,     /* a lab of this name is up, with other blades or budgets */
	LAB_ERROR_BUSY,      /* another `up` or `down` of this lab is under way */
	LAB_ERROR_CANCELLED,
	LAB_ERROR_LEFT,      /* something could not be removed */
};

/* Whom `up` tells how far it is, and who may stop it. */
struct lab_observer {
	/* Called with one line of text (borrowed) per step; required. */
	void (*progress)(const char *text, void *data);
	void *data;
	const volatile sig_atomic_t *cancelled; /* not 0: give up; required */
};

/*
 * Brings a lab up and returns when every blade's libvirt and BMC answers; at once if the same lab
 * is up. Chooses the BMC ports in `spec`. On failure nothing of the lab is left. `probe` is what it was fitted to,
 * which stays with it, in RUN/probe.json; NULL: it was not.
 */
bool lab_up(struct lab_spec *spec, const struct machine_probe *probe, const struct lab_observer *observer,
	    GError **error);

/*
 * Takes a lab down, in whatever state it is, also one whose supervisor or `up` was killed.
 * `ret_was` tells whether there was anything.
 */
bool lab_down(const char *name, bool *ret_was, GError **error);

/*
 * What is there, as lab.json plus, for people and tests: "state" (up, starting, dead: parts are
 * left but not its supervisor, down), "fabric_pid", and per blade "address", "blade_pid",
 * "bmc_pid", "libvirt" (answers), "domains", "cpu_cores", "watts". A new reference.
 */
json_t *lab_status(const char *name);

/* The names of the labs that have any files, NULL-terminated; the caller frees. */
char **lab_list(void);

/*
 * Whether this machine can run a lab. Returns NULL, or one line (the caller frees) that says what
 * is missing, what to do, and what works without.
 */
char *lab_check(void);

/*
 * Measures what a lab can have of this machine, over `seconds` (1 to 60) and a little: how much CPU time a group
 * like a lab's gets, with a busy process for each CPU, and how fast emulated work is. Needs what lab_check() asks for,
 * and nothing of it stays. NULL with `error`; the caller frees.
 */
struct machine_probe *lab_probe(double seconds, GError **error);
