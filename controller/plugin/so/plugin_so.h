/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "controller/sched/policy.h"

/*
 * A policy that is a shared object (controller/sched/virtbed_policy.h), loaded into this process.
 * It can do to the process whatever it likes, which is why `run` and `serve` load it in another one
 * (so_main.c), and why calls of it are guarded (so_guard.h). Several threads may decide with it at
 * once, as with policies of the tree.
 */
struct plugin_so;

#define PLUGIN_SO_ERROR (plugin_so_error_quark())
GQuark plugin_so_error_quark(void);
/* Codes of PLUGIN_SO_ERROR. */
enum plugin_so_error {
	PLUGIN_SO_ERROR_LOAD = 1, /* no file, no shared object, or a function is missing */
	PLUGIN_SO_ERROR_TABLE,    /* it has no table, one of another version, or a wrong one */
};

/* Loads the file; a path without "/" is one of the working directory. NULL with `error`. */
struct plugin_so *plugin_so_open(const char *file, GError **error);

/* Unloads it: nothing of it may be in use. NULL is allowed. */
void plugin_so_free(struct plugin_so *so);
typedef struct plugin_so plugin_so_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(plugin_so_t, plugin_so_free)

/*
 * policy_decide() of it; where that takes longer than deadline_s (0: however long) it ends this
 * process, with a message.
 */
int plugin_so_decide(const struct plugin_so *so, double deadline_s,
		     const struct sched_snapshot *snapshot, struct policy_context *context,
		     struct sched_plan *ret_plan);

/*
 * The policy, for policy_misfit() and policy_decide(), which call its functions; its name is
 * "so:FILE". Valid as long as it is loaded.
 */
const struct policy *plugin_so_policy(const struct plugin_so *so);
