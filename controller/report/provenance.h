/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "controller/store/store.h"

/*
 * What numbers rest on that is not the real thing: emulated processors, CPU quotas in place of
 * P-states, caps that do nothing, watts from a model or of a part. A measured run knows it of
 * itself; a simulation inherits it with estimates that were measured so. Every table, plot and
 * verdict says it in its heading.
 */
struct provenance {
	char *virt_type;      /* "kvm", "qemu" (TCG), "simulated", "mixed"; NULL: unknown */
	char *cpu_cap;        /* "cpufreq", "quota", "none", "mixed"; NULL: unknown */
	char *modelled_watts; /* "true", "false"; NULL: unknown */
	char *caps_effective; /* "yes", "no", "unknown", "none"; NULL: unknown */
	char *meter;          /* as docs/reference/store.md has it; NULL: unknown */
	char *steady_lab;     /* "true", "false"; NULL: unknown */
	char *unmeasured;     /* config_holes() with reasons; NULL: none */
	char *speed_changes;  /* measured: a line for each run while which the machine's speed changed; NULL: none */
	char *probe;          /* document of what the lab was fitted to (common/machine_probe.h); NULL: it was not */
};
typedef struct provenance provenance_t; /* for g_autoptr() */

/* What a store says of itself. */
struct provenance *provenance_of_store(struct store *store);

/*
 * What the estimates in file `path` rest on: told by the run directory in which the file lies.
 * Knows nothing (all NULL) where it lies in none.
 */
struct provenance *provenance_of_file(const char *path);

/* NULL is allowed. */
void provenance_free(struct provenance *origin);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(provenance_t, provenance_free)

/* Writes what is known into the store's meta. */
bool provenance_put(const struct provenance *origin, struct store *store, GError **error);

/* Takes the holes of the matrix from the configuration that is used. */
void provenance_set_holes(struct provenance *origin, const struct config *config);

/*
 * One line for each thing that is not the real one; `measured`: the numbers were measured so,
 * otherwise their estimates were. And one for each pair of type and cluster without an estimate, with
 * the reason; `brief`: one for all of them, without reasons. GPtrArray of char *, owned by the caller;
 * empty when all is real or unknown.
 */
GPtrArray *provenance_notes(const struct provenance *origin, bool measured, bool brief);
