/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"

/*
 * The specification of a lab: its blades with their budgets and power coefficients (from the
 * configuration), and the identities drawn for this start (UUIDs, BMC ports). The lab's processes
 * read it from RUN/spec.json; no other process does.
 */

enum {
	LAB_SPEC_BLADES_MAX = CONFIG_BLADES_MAX,
};

struct lab_spec_blade {
	char *name;
	uint32_t number;     /* from 1; the blade's address is 10.77.0.NUMBER */
	double cpu_cores;    /* CPU budget in host cores, > 0 */
	double idle_w;       /* watts at no load, >= 0 */
	double core_w;       /* watts per busy core, >= 0 */
	char *uuid;          /* the host UUID that libvirt reports */
	enum config_bmc bmc; /* protocol of its BMC */
	uint32_t bmc_port;   /* on 127.0.0.1, UDP for IPMI and TCP for Redfish; 0: not chosen yet */
};

struct lab_spec {
	char *name;
	struct lab_spec_blade *blades; /* blades_count of them */
	uint32_t blades_count;
	bool steady;     /* with speed compensation (lab_compensation.h) */
	double patience; /* factor on the time that a start may take on this machine, from 1 */
};

/*
 * The lab that `config` describes, under the name `name` (NULL: the configuration's). Draws new
 * UUIDs and leaves the ports at 0. Returns NULL with `error` set if the configuration has no lab,
 * or a lab that is not possible on this machine.
 */
struct lab_spec *lab_spec_new(const struct config *config, const char *name, GError **error);

/* NULL is allowed. */
void lab_spec_free(struct lab_spec *spec);
typedef struct lab_spec lab_spec_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(lab_spec_t, lab_spec_free)

/*
 * Whether both specify equal blades: names, order, budgets, watts, BMCs, steady; not UUIDs or
 * ports.
 */
bool lab_spec_same(const struct lab_spec *a, const struct lab_spec *b);

/* Writes RUN/spec.json. */
bool lab_spec_save(const struct lab_spec *spec, GError **error);
/* Reads RUN/spec.json of lab `lab`. NULL with `error` that names the file. */
struct lab_spec *lab_spec_load(const char *lab, GError **error);

/* The text of RUN/spec.json; the caller frees it. */
char *lab_spec_text(const struct lab_spec *spec);
/* Reads `length` bytes of such text. `what` names it in errors. NULL with `error`. */
struct lab_spec *lab_spec_parse(const char *text, gsize length, const char *what, GError **error);
