/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * The parent of the groups of labs in version 2. A group has either processes or groups with
 * controllers (cgroup-v2.rst, "No Internal Process Constraint"), so the parent cannot simply be the
 * caller's group. It is the nearest group, from the caller's upwards, that can have such groups.
 * The search never leaves a group with a quota, nor the top of the mounted hierarchy: where it ends
 * at one of these, the processes of that group move to a group of their own in it.
 */

/* The controllers that groups of labs need, in the form of cgroup.subtree_control. */
#define LAB_CGROUP_CONTROLLERS "+cpu +cpuset"

/*
 * The group for processes that have to move, below the group that they were in. No lab has such a
 * name.
 */
#define LAB_CGROUP_REST "virtbed-.rest"

/*
 * The parent for a caller in `group`, which is `mount` or below it. Changes nothing. A new string.
 */
char *lab_cgroup_parent_find(const char *mount, const char *group);

/*
 * Moves processes out of `parent` (from lab_cgroup_parent_find()), and enables the controllers for
 * the groups below it.
 */
bool lab_cgroup_parent_prepare(const char *mount, const char *parent, GError **error);

/* Writes to a control file; a setting has to be a single write. */
bool lab_cgroup_write(const char *group, const char *file, const char *text, GError **error);

/* Creates a group; an existing group is success. */
bool lab_cgroup_make(const char *path, GError **error);
