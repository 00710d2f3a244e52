/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "controller/store/store.h"

/*
 * What numbers rest on instead of real hardware: emulated processors, CPU quotas in place of
 * P-states, caps without effect, watts from a model or of a part. A measured run records its own; a
 * simulation inherits that of its measured estimates. Every table, plot and verdict says it in its
 * heading.
 */
struct provenance {
	char *virt_type;      /* "kvm", "qemu" (TCG), "simulated", "mixed"; NULL: unknown */
	char *cpu_cap;        /* "cpufreq", "quota", "none", "mixed"; NULL: unknown */
	char *modelled_watts; /* "true", "false"; NULL: unknown */
	char *caps_effective; /* "yes", "no", "unknown", "none"; NULL: unknown */
	char *meter;          /* as in docs/reference/store.md; NULL: unknown */
	char *meter_mean_s;   /* what readings are means over, a number of seconds; NULL: unknown */
	char *meter_mean_unknown; /* "true": some are over a time that is not known; "false"; NULL */
	char *steady_lab;         /* "true", "false"; NULL: unknown */
	char *unmeasured;         /* config_holes() with reasons; NULL: none */
	/* measured: a line for each run during which the machine's speed changed; NULL: none */
	char *speed_changes;
	/* the probe that the lab was fitted to (common/machine_probe.h), a document; NULL: none */
	char *probe;
};
typedef struct provenance provenance_t; /* for g_autoptr() */

/* Reads the provenance of a store. */
struct provenance *provenance_of_store(struct store *store);

/*
 * Reads the provenance of the estimates in file `path` from the run directory that contains it. All
 * NULL where it is in none.
 */
struct provenance *provenance_of_file(const char *path);

/*
 * What the readings of meters are means over, as store.md has it in `meter_mean_s` and
 * `meter_mean_unknown` (NULL is allowed), if a reader of watts has to know: from 10 s, or where it
 * is not known. The caller frees; NULL: nothing to say.
 */
char *provenance_words_of_mean(const char *meter_mean_s, const char *meter_mean_unknown);

/* NULL is allowed. */
void provenance_free(struct provenance *origin);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(provenance_t, provenance_free)

/* Writes the known parts to the store's meta. */
bool provenance_put(const struct provenance *origin, struct store *store, GError **error);

/* Sets the holes of the matrix from the configuration in use. */
void provenance_set_holes(struct provenance *origin, const struct config *config);

/*
 * A line for each part that is not real hardware. `measured`: it applies to the numbers themselves,
 * otherwise to their estimates. Also a line for each pair of type and cluster without an estimate,
 * with the reason; `brief`: a single line for all of them, without reasons. GPtrArray of char *,
 * owned by the caller; empty when all is real or unknown.
 */
GPtrArray *provenance_notes(const struct provenance *origin, bool measured, bool brief);
