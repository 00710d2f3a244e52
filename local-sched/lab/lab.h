/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>

#include "common/machine_probe.h"
#include "local-sched/lab/lab_error.h"
#include "local-sched/lab/lab_spec.h"

/*
 * Emulated blades on one machine. Each has a libvirtd, a bridge, a CPU budget, an identity and a
 * BMC of its own, and looks to the rest of the system like a real blade: a libvirt URI, a bridge,
 * and a meter's address (common/lab_state.h describes the file with these).
 *
 * The parts: lab_spec.h the specification, lab_paths.h the files, lab_roles.h the processes,
 * lab_cgroup.h the CPU budgets, lab_power.h the watts. Labs with different names may exist side by
 * side. Each step is recorded before it is done, so that `down` can undo it however `up` ended.
 *
 * A lab needs root. Its VMs' migrations and its guests' network stay inside it.
 */

#define LAB_BMC_USER "ADMIN"
#define LAB_PASSWORD_FILE "bmc-password"
/* The certificate of all BMCs that speak Redfish. */
#define LAB_CERTIFICATE_FILE "bmc-certificate.pem"
#define LAB_KEY_FILE "bmc-key.pem"

/* The observer of `up`, which may also cancel it. */
struct lab_observer {
	/* Called with one line of text (borrowed) per step; required. */
	void (*progress)(const char *text, void *data);
	void *data;
	const volatile sig_atomic_t *cancelled; /* not 0: cancel; required */
};

/*
 * Brings a lab up and returns when every blade's libvirt and BMC answers, or at once if an equal
 * lab is up. Chooses the BMC ports in `spec`. On failure nothing of the lab is left. `probe` is the
 * measurement to which the lab was fitted, which is kept in RUN/probe.json; NULL: none.
 */
bool lab_up(struct lab_spec *spec, const struct machine_probe *probe,
	    const struct lab_observer *observer, GError **error);

/*
 * Takes a lab down, in whatever state it is, also if its supervisor or its `up` was killed.
 * *ret_was: there was anything to take down.
 */
bool lab_down(const char *name, bool *ret_was, GError **error);

/*
 * The state of a lab: lab.json plus, for people and tests, "state" (up, starting, dead: parts are
 * left but not its supervisor, down), "fabric_pid", and per blade "address", "blade_pid",
 * "bmc_pid", "libvirt" (answers), "domains", "cpu_cores", "watts". A new reference.
 */
json_t *lab_status(const char *name);

/* The names of the labs that have any files, NULL-terminated; the caller frees them. */
char **lab_list(void);

/*
 * Whether this machine can run a lab. Returns NULL, or one line (the caller frees it) with what is
 * missing, what to do, and what works without it.
 */
char *lab_check(void);

/*
 * Measures what a lab can have of this machine, over `seconds` (1 to 60) and a little longer: how
 * much CPU time a group like a lab's gets, with a busy process for each CPU, and how fast emulated
 * work is. Requires the same as lab_check(), and leaves nothing behind. NULL with `error`; the
 * caller frees the result.
 */
struct machine_probe *lab_probe(double seconds, GError **error);
