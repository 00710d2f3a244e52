/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/plugin/so/plugin_so.h"

#include <dlfcn.h>
#include <string.h>

#include "common/error_fail.h"
#include "controller/plugin/so/so_guard.h"
#include "controller/sched/virtbed_policy.h"

#define SYMBOL "virtbed_policy"

struct plugin_so {
	void *handle;
	struct policy policy;
};

GQuark plugin_so_error_quark(void)
{
	return g_quark_from_static_string("plugin-so-error");
}

/* What is wrong with the tables; NULL: nothing. */
static const char *find_fault(const struct policy_ops *ops)
{
	if (!ops)
		return "has no policy in its table: VIRTBED_POLICY() is given the address of a "
		       "struct policy_ops";
	if (!ops->name || !*ops->name || !ops->section || !ops->summary)
		return "has a policy without a .name, .section or .summary";
	if (!ops->planning && !ops->immediate && !ops->sharing && !ops->queueing)
		return "decides in no model: it has no .planning, .immediate, .sharing or "
		       ".queueing";
	if ((ops->planning && !ops->planning->decide) ||
	    (ops->immediate && !ops->immediate->decide) ||
	    (ops->sharing && !ops->sharing->decide) || (ops->queueing && !ops->queueing->decide))
		return "has a model without .decide";
	return NULL;
}

/* Checks what the shared object exports. */
static bool check_table(const char *file, const struct virtbed_policy *table, GError **error)
{
	const char *fault;

	if (!table)
		return error_fail(error, PLUGIN_SO_ERROR, PLUGIN_SO_ERROR_TABLE,
				  "\"%s\" is no policy: it exports no \"" SYMBOL
				  "\", which VIRTBED_POLICY() of controller/sched/virtbed_policy.h "
				  "defines",
				  file);
	if (table->version != VIRTBED_POLICY_VERSION || table->size != sizeof(struct policy_ops) ||
	    table->layout != VIRTBED_POLICY_LAYOUT)
		return error_fail(error, PLUGIN_SO_ERROR, PLUGIN_SO_ERROR_TABLE,
				  "\"%s\" was built for another virtbed (interface %u, here it is "
				  "%u, or other structures): build it again with the headers of "
				  "this one",
				  file, table->version, VIRTBED_POLICY_VERSION);
	fault = find_fault(table->ops);
	return !fault ||
	       error_fail(error, PLUGIN_SO_ERROR, PLUGIN_SO_ERROR_TABLE, "\"%s\" %s", file, fault);
}

struct plugin_so *plugin_so_open(const char *file, GError **error)
{
	g_autofree char *path = g_canonicalize_filename(file, NULL);
	g_autoptr(plugin_so_t) so = g_new0(struct plugin_so, 1);
	const struct virtbed_policy *table;
	struct so_guard guard = {.policy = so->policy.name};

	g_snprintf(so->policy.name, sizeof(so->policy.name), "so:%s", file);
	so_guard_enter(&guard);
	so->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	so_guard_leave(&guard);
	if (!so->handle)
		return error_null(error, PLUGIN_SO_ERROR, PLUGIN_SO_ERROR_LOAD,
				  "cannot load the shared object \"%s\": %s", file, dlerror());
	table = dlsym(so->handle, SYMBOL);
	if (!check_table(file, table, error))
		return NULL;
	so->policy.ops = table->ops;
	if (table->ops->planning)
		so->policy.future = table->ops->planning->future;
	return g_steal_pointer(&so);
}

void plugin_so_free(struct plugin_so *so)
{
	if (!so)
		return;
	if (so->handle) {
		struct so_guard guard = {.policy = so->policy.name};

		so_guard_enter(&guard);
		dlclose(so->handle);
		so_guard_leave(&guard);
	}
	g_free(so);
}

int plugin_so_decide(const struct plugin_so *so, double deadline_s,
		     const struct sched_snapshot *snapshot, struct policy_context *context,
		     struct sched_plan *ret_plan)
{
	struct so_guard guard = {
		.policy = so->policy.name,
		.event = snapshot->event,
		.now_s = snapshot->now_s,
		.deadline_s = deadline_s,
	};
	int result;

	so_guard_enter(&guard);
	result = policy_decide(&so->policy, snapshot, context, ret_plan);
	so_guard_leave(&guard);
	return result;
}

const struct policy *plugin_so_policy(const struct plugin_so *so)
{
	return &so->policy;
}
