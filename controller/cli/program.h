/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * Where the project's other programs are: "virtbed-lab", "virtbed-controller",
 * "virtbed-local-sched". Looks beside our own executable (an installation), then where the build tree
 * has it, then in PATH. Returns the path, which the caller frees with g_free(), or NULL.
 */
char *program_find(const char *name);
