/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/config/config.h"

/*
 * Which keys of a service's configuration may change while it runs: scheduling (service.policy,
 * service.mapping_interval_s), how long records are kept (service.retention_days), the energy
 * limit, and the number of tasks (service.tasks_max, which can be raised). All other keys have
 * determined nodes, VMs, sockets or records, and need a restart. The supervisor reads the file,
 * refuses a wrong or too large change, and writes the result into the run directory, where the
 * controller reads it, now or at its next start.
 */

#define RUN_RELOAD_ERROR (run_reload_error_quark())
GQuark run_reload_error_quark(void);
enum run_reload_error {
	RUN_RELOAD_ERROR_RESTART = 1, /* a key changed that only a restart can change */
};

/* The keys of `config` that must not change, as text; the caller frees. */
char *run_reload_fixed(const struct config *config);

/*
 * Reads `path` again. `fixed` is run_reload_fixed() of the file's first reading. Writes `running`
 * with the changed keys to `saved`, then changes `running`, which may have more than the file.
 * Returns true, or false with `error` (CONFIG_ERROR, RUN_RELOAD_ERROR, G_FILE_ERROR), with
 * `running` and the file at `saved` unchanged.
 */
bool run_reload(const char *path, const char *fixed, struct config *running, const char *saved,
		GError **error);

/* Copies to `to` the keys of `from` that may change. */
void run_reload_take(struct config *to, const struct config *from);
