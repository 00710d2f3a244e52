/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Whether anything of a lab is there: a supervisor, files or control groups. */
bool lab_clean_needed(const char *lab);

/*
 * Removes everything of a lab: kills its supervisor, with which every process of the lab and all
 * their mounts and network devices end, and removes its control groups, and last its files. The
 * caller holds the lab's lock, whose directory is removed as well.
 */
bool lab_clean(const char *lab, GError **error);
