/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/migrations.h"

#include <math.h>

#include "controller/report/stats.h"

static const struct record_field policy_fields[] = {
	{RECORD_AT(migrations_policy, policy), .type = RECORD_BORROWED},
	{RECORD_FIELD_REAL(migrations_policy, limit)},
	{RECORD_FIELD_U32(migrations_policy, asked)},
	{RECORD_FIELD_U32(migrations_policy, by_person)},
	{RECORD_FIELD_U32(migrations_policy, moved)},
	{RECORD_FIELD_U32(migrations_policy, failed)},
	{RECORD_FIELD_REAL(migrations_policy, total_median_s)},
	{RECORD_FIELD_REAL(migrations_policy, total_max_s)},
	{RECORD_FIELD_U32(migrations_policy, vms)},
	{RECORD_FIELD_REAL(migrations_policy, downtime_median_s)},
	{RECORD_FIELD_REAL(migrations_policy, downtime_max_s)},
	{NULL},
};
static const struct record policy_record = {.size = sizeof(struct migrations_policy),
					    .fields = policy_fields};

static const struct listing_column policy_columns[] = {
	{"limit %", "limit", 0, 100},
	{"policy", "policy"},
	{"asked", "asked"},
	{"by people", "by_person"},
	{"moved", "moved"},
	{"failed", "failed"},
	{"median s", "total_median_s", 2},
	{"max s", "total_max_s", 2},
	{"VMs", "vms"},
	{"down median s", "downtime_median_s", 2},
	{"down max s", "downtime_max_s", 2},
	{NULL},
};

static const struct listing policies = {
	.title = MIGRATIONS_POLICIES_TITLE,
	.key = "policies",
	.csv = "migrations-by-policy",
	.record = &policy_record,
	.columns = policy_columns,
	.note = "median and max: from the request until all VMs had moved; down: while a VM ran "
		"nowhere",
	.scoped = true,
};

static const char *const by_names[] = {"policy", "person", NULL};

static const struct record_field one_fields[] = {
	{RECORD_AT(migrations_one, policy), .type = RECORD_BORROWED},
	{RECORD_FIELD_REAL(migrations_one, limit)},
	{RECORD_FIELD_U32(migrations_one, repeat)},
	{RECORD_FIELD_U32(migrations_one, task)},
	{RECORD_FIELD_TEXT(migrations_one, type)},
	{RECORD_FIELD_U32(migrations_one, attempt)},
	{RECORD_FIELD_WORD(migrations_one, by, by_names)},
	{RECORD_FIELD_TEXT(migrations_one, cluster)},
	{RECORD_FIELD_TEXT(migrations_one, nodes)},
	{RECORD_FIELD_TEXT(migrations_one, to_nodes)},
	{RECORD_FIELD_REAL(migrations_one, requested_s)},
	{RECORD_FIELD_REAL(migrations_one, total_s)},
	{RECORD_AT(migrations_one, downtimes_s), .type = RECORD_REALS,
	 .count_offset = offsetof(struct migrations_one, downtimes_count)},
	{RECORD_FIELD_TEXT(migrations_one, reason)},
	{NULL},
};
static const struct record one_record = {.size = sizeof(struct migrations_one),
					 .fields = one_fields};

static const struct listing_column one_columns[] = {
	{"limit %", "limit", 0, 100},
	{"policy", "policy"},
	{"repeat", "repeat"},
	{"at s", "requested_s", 1},
	{"task", "task"},
	{"type", "type"},
	{"by", "by"},
	{"from", "nodes"},
	{"to", "to_nodes"},
	{"total s", "total_s", 2},
	{"VMs down s", "downtimes_s", 2},
	{"not moved", "reason"},
	{NULL},
};

static const struct listing list = {
	.title = MIGRATIONS_LIST_TITLE,
	.key = "migrations",
	.csv = "migrations",
	.record = &one_record,
	.columns = one_columns,
	.shown = 40,
};

/* Adds the downtimes of a migration's VMs; `vms` are those of the run, in order. */
static void add_downtimes(struct migrations_one *one, const struct store_migration *migration,
			  const GPtrArray *vms)
{
	for (guint i = 0; i < vms->len; i++) {
		const struct store_migration_vm *vm = vms->pdata[i];

		if (vm->task == migration->task && vm->attempt == migration->attempt &&
		    vm->n == migration->n && isfinite(vm->downtime_s))
			listing_add_real(&one->downtimes_s, &one->downtimes_count, vm->downtime_s);
	}
}

static bool add_run(const struct summary *summary, const struct summary_cell *cell,
		    const struct store_run *run, void *data, GError **error)
{
	g_autoptr(GPtrArray) found = store_migrations(summary->store, run->run, error);
	g_autoptr(GPtrArray) vms = NULL;
	g_autoptr(GHashTable) types = NULL;

	if (!found || found->len == 0)
		return found != NULL;
	vms = store_migration_vms(summary->store, run->run, error);
	types = vms ? summary_task_types(summary, run, error) : NULL;
	for (guint i = 0; types && i < found->len; i++) {
		const struct store_migration *migration = found->pdata[i];
		struct migrations_one one = {
			.policy = cell->policy,
			.limit = cell->limit,
			.repeat = run->repeat,
			.task = migration->task,
			.attempt = migration->attempt,
			.type = g_strdup(
				g_hash_table_lookup(types, GUINT_TO_POINTER(migration->task))),
			.by = migration->by_person ? MIGRATIONS_BY_PERSON : MIGRATIONS_BY_POLICY,
			.cluster = g_strdup(migration->cluster),
			.nodes = g_strdup(migration->nodes),
			.to_nodes = g_strdup(migration->to_nodes),
			.requested_s = migration->requested_s,
			.total_s = migration->ended_s - migration->requested_s,
			.reason = g_strdup(migration->reason),
		};

		add_downtimes(&one, migration, vms);
		g_array_append_val(((GArray **)data)[1], one);
	}
	return types != NULL;
}

/* The sums of the migrations from `*first` on that have its policy and limit; moves `first` on. */
static struct migrations_policy sum(const GArray *all, guint *first)
{
	const struct migrations_one *one = &g_array_index(all, struct migrations_one, *first);
	struct migrations_policy row = {.policy = one->policy, .limit = one->limit};
	g_autofree double *totals_s = NULL;
	g_autofree double *downtimes_s = NULL;

	for (; *first < all->len; (*first)++) {
		one = &g_array_index(all, struct migrations_one, *first);
		if (one->policy != row.policy || one->limit != row.limit)
			break;
		row.asked++;
		row.by_person += one->by == MIGRATIONS_BY_PERSON;
		row.failed += one->reason != NULL;
		for (uint32_t i = 0; i < one->downtimes_count; i++)
			listing_add_real(&downtimes_s, &row.vms, one->downtimes_s[i]);
		if (!one->reason && isfinite(one->total_s))
			listing_add_real(&totals_s, &row.moved, one->total_s);
	}
	row.total_median_s = stats_median(totals_s, row.moved);
	row.total_max_s = stats_quantile(totals_s, row.moved, 1);
	row.downtime_median_s = stats_median(downtimes_s, row.vms);
	row.downtime_max_s = stats_quantile(downtimes_s, row.vms, 1);
	return row;
}

static bool read_migrations(const struct summary *summary, GArray **arrays, GError **error)
{
	guint first = 0;

	if (!summary_each_run(summary, add_run, arrays, error))
		return false;
	while (first < arrays[1]->len) {
		const struct migrations_policy row = sum(arrays[1], &first);

		g_array_append_val(arrays[0], row);
	}
	return true;
}

const struct listing_part migrations_part = {"migrations", {&policies, &list}, read_migrations};
