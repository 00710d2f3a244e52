/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_SUBSYSTEM "lab"

#include "local-sched/lab/lab_quotas.h"

#include <math.h>

#include "common/log.h"

/* The kernel's minimum. */
enum { QUOTA_MIN_US = 1000 };

struct lab_quotas {
	const struct lab_cgroup *cgroup;
	char *lab;
	uint32_t blades_count;
	GHashTable *vms; /* group to struct vm */
	bool complained;
};

/* A VM's quota. */
struct vm {
	int64_t configured_us;
	int64_t written_us;
	bool there; /* in this call */
};

struct lab_quotas *lab_quotas_new(const struct lab_cgroup *cgroup, const char *lab,
				  uint32_t blades_count)
{
	struct lab_quotas *quotas = g_new0(struct lab_quotas, 1);

	quotas->cgroup = cgroup;
	quotas->lab = g_strdup(lab);
	quotas->blades_count = blades_count;
	quotas->vms = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	return quotas;
}

void lab_quotas_free(struct lab_quotas *quotas)
{
	if (!quotas)
		return;
	g_hash_table_unref(quotas->vms);
	g_free(quotas->lab);
	g_free(quotas);
}

/* A VM may disappear at any time. For any other failure, missing a single scaling does no harm. */
static void complain(struct lab_quotas *quotas, const char *group, const GError *error)
{
	struct lab_cgroup_quota now;

	if (quotas->complained || !lab_cgroup_get_quota(quotas->cgroup, group, &now))
		return;
	log_warning("a VM's quota does not follow the machine's speed: %s", error->message);
	quotas->complained = true;
}

static void scale(struct lab_quotas *quotas, const char *group, double pace, double apart_s)
{
	struct vm *vm = g_hash_table_lookup(quotas->vms, group);
	g_autoptr(GError) error = NULL;
	struct lab_cgroup_quota quota;
	double periods;

	if (!lab_cgroup_get_quota(quotas->cgroup, group, &quota) || quota.quota_us < 0)
		return;
	if (!vm) {
		vm = g_new0(struct vm, 1);
		g_hash_table_insert(quotas->vms, g_strdup(group), vm);
	}
	vm->there = true;
	if (quota.quota_us != vm->written_us) {
		vm->configured_us = vm->written_us = quota.quota_us;
		return;
	}
	/* As many periods begin until the next call, and this write grants an additional quota. */
	periods = apart_s * 1e6 / (double)quota.period_us;
	quota.quota_us =
		MAX((int64_t)round((double)vm->configured_us * pace * periods / (periods + 1)),
		    QUOTA_MIN_US);
	if (lab_cgroup_set_quota(quotas->cgroup, group, &quota, &error))
		vm->written_us = quota.quota_us;
	else
		complain(quotas, group, error);
}

static gboolean forget(gpointer group, gpointer data, gpointer ignored)
{
	struct vm *vm = data;
	const bool gone = !vm->there;

	vm->there = false;
	return gone;
}

void lab_quotas_scale(struct lab_quotas *quotas, double pace, double apart_s)
{
	for (uint32_t i = 0; i < quotas->blades_count; i++) {
		g_auto(GStrv) groups = lab_cgroup_vms(quotas->cgroup, quotas->lab, i + 1);

		for (gsize g = 0; groups[g]; g++)
			scale(quotas, groups[g], pace, apart_s);
	}
	g_hash_table_foreach_remove(quotas->vms, forget, NULL);
}
