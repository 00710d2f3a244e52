/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/config/config.h"

/*
 * What of a service's configuration may change while it runs: how it schedules (service.policy,
 * service.mapping_interval_s), how long records are kept (service.retention_days), the limit of energy, and how
 * many tasks there may be (service.tasks_max, which can be raised). Everything else has
 * become nodes, VMs, sockets or records, and takes a restart. The supervisor reads the file again,
 * refuses what is wrong or too much, and writes the result into the run directory, where the controller
 * finds it, now or when it is started again.
 */

#define RUN_RELOAD_ERROR (run_reload_error_quark())
GQuark run_reload_error_quark(void);
enum run_reload_error {
	RUN_RELOAD_ERROR_RESTART = 1, /* changes what only a restart can change */
};

/* All of `config` that must not change, as text; the caller frees. */
char *run_reload_fixed(const struct config *config);

/*
 * Reads `path` again, whose configuration was `fixed` when it was first read (run_reload_fixed()), and
 * gives `running`, which may have got more than is in the file, what may change, once that is saved at
 * `saved`. Returns true, or false with `error` (CONFIG_ERROR, RUN_RELOAD_ERROR, G_FILE_ERROR), and `running`
 * and the file at `saved` are as they were.
 */
bool run_reload(const char *path, const char *fixed, struct config *running, const char *saved,
		GError **error);

/* Gives `to` what may change of `from`. */
void run_reload_take(struct config *to, const struct config *from);
