/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "common/config/config.h"

/*
 * The file of tasks that workload.arrivals names. Each line is a task: when it arrives, its type,
 * its utility and the user who submits it, with commas between and blanks allowed.
 *
 *     # comment; empty lines do not count
 *     arrival_s,type,utility,user
 *     0.5, IS.S.2, 4, ann
 *     3, CG.S.2
 *
 * A first line with these names, or the first three, is a heading. The utility may be left out
 * where the type has a utility_max, and the user where the task arrives at its own time.
 */

/*
 * Reads the file into workload->list; its path begins at the directory of the configuration `path`.
 * False with `error` (CONFIG_ERROR), which names file, line and field. The function does not look
 * the types up: the check of the configuration does, and names the lines of unknown ones.
 */
bool config_arrivals_read(struct config_workload *workload, const char *path, GError **error);
