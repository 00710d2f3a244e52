/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * Below which group the groups of labs are in version 2, where a group has either processes or groups with
 * controllers (cgroup-v2.rst, "No Internal Process Constraint"), so that it cannot simply be the caller's own: it is
 * the nearest group, from the caller's upwards, that can have such groups. A quota is never escaped, nor
 * the top of what is mounted: where the search ends at one of the two, the processes of that group move to a group
 * of their own in it.
 */

/* What groups of labs need, as cgroup.subtree_control takes it. */
#define LAB_CGROUP_CONTROLLERS "+cpu +cpuset"

/* Where processes go that are in the way: below the group that they were in. No lab has such a name. */
#define LAB_CGROUP_REST "virtbed-.rest"

/* The group for labs, of a caller in `group`, which is `mount` or below it. Changes nothing. A new string. */
char *lab_cgroup_parent_find(const char *mount, const char *group);

/* Moves away what is in the way, and has the controllers reach groups below `parent`, as found. */
bool lab_cgroup_parent_prepare(const char *mount, const char *parent, GError **error);

/* Writes to a control file, which takes each setting in one write. */
bool lab_cgroup_write(const char *group, const char *file, const char *text, GError **error);

/* Makes a group; one that is there already will do. */
bool lab_cgroup_make(const char *path, GError **error);
