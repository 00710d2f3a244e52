/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Migrations of a running task: what the local scheduler reports of them. It numbers the migrations
 * that moved a VM.
 */
#include "common/clock.h"
#include "controller/backend/remote_private.h"

static void report_moved(struct remote_attempt *entry, const struct task_migration *one)
{
	const struct config_cluster *cluster = remote_link_cluster(remote_attempt_link(entry));
	struct backend_event event =
		remote_attempt_event(entry,
				     one->reason ? BACKEND_EVENT_MIGRATION_FAILED
						 : BACKEND_EVENT_MIGRATED,
				     one->settled_ns);
	g_autofree struct backend_vm_move *moves =
		g_new0(struct backend_vm_move, MAX(one->count, 1));

	for (uint32_t i = 0; i < one->count; i++) {
		const struct task_migration_vm *vm = &one->vms[i];
		uint32_t now = vm->moved ? vm->to : vm->from;

		moves[i] = (struct backend_vm_move){
			.from = remote_slots_host(cluster, vm->from),
			.to = remote_slots_host(cluster, now),
			.total_s = wire_seconds(vm->total_ns),
			.downtime_s = wire_seconds(vm->downtime_ns),
		};
		if (i < entry->nodes_count)
			entry->nodes[i] = now;
	}
	event.node = entry->nodes[0];
	event.n = entry->step.n;
	event.reason = one->reason;
	event.moves = moves;
	event.moves_count = one->count;
	remote_operation_end(&entry->step);
	remote_push(entry->remote, &event);
}

void remote_migrate_ctl_take(struct remote_attempt *entry, const struct task *task)
{
	struct remote_migrations *known = &entry->migrations;

	if (remote_attempt_is(entry, ATTEMPT_ANY_REATTACHED) && task->migrations && !known->past)
		known->past = g_ptr_array_ref(task->migrations);
	known->open = 0;
	for (guint i = 0; task->migrations && i < task->migrations->len; i++) {
		const struct task_migration *one = g_ptr_array_index(task->migrations, i);

		if (!one->settled_ns)
			known->open = one->n;
		if (one->n <= known->moved || !one->settled_ns)
			continue;
		known->moved = one->n;
		if (remote_operation_is(&entry->step, REMOTE_OPERATION_MIGRATE) &&
		    !remote_attempt_is(entry, ATTEMPT_ANY_REATTACHED) &&
		    one->count == entry->nodes_count)
			report_moved(entry, one);
	}
}

/*
 * The last migration of a reattached task if it was requested by an earlier controller for the
 * wanted hosts (or nodes) and has ended with any result; NULL otherwise.
 */
static const struct task_migration *find_past(const struct remote_attempt *entry,
					      const GPtrArray *past)
{
	const struct config_cluster *cluster = remote_link_cluster(remote_attempt_link(entry));
	const struct task_migration *last = past && past->len ? past->pdata[past->len - 1] : NULL;
	g_autofree bool *met = g_new0(bool, entry->nodes_count);

	if (!last || !last->settled_ns || last->n != entry->migrations.moved ||
	    last->count != entry->nodes_count)
		return NULL;
	for (uint32_t i = 0; i < last->count; i++) {
		const uint32_t to = remote_slots_host(cluster, last->vms[i].to);
		uint32_t v = 0;

		while (v < entry->nodes_count &&
		       (met[v] || (entry->step.hosts ?: entry->step.nodes)[v] != to))
			v++;
		if (v == entry->nodes_count)
			return NULL;
		met[v] = true;
	}
	return last;
}

/* Whether an earlier controller's migration has moved the VMs to the wanted nodes already. */
static bool is_there(const struct remote_attempt *entry)
{
	for (uint32_t i = 0; i < entry->nodes_count; i++) {
		bool found = false;

		for (uint32_t j = 0; j < entry->nodes_count; j++)
			found = found || entry->step.nodes[i] == entry->nodes[j];
		if (!found)
			return false;
	}
	return true;
}

bool remote_migrate_ctl_reattach(struct remote_attempt *entry)
{
	/* keeps `past` alive */
	g_autoptr(GPtrArray) kept = g_steal_pointer(&entry->migrations.past);
	const struct task_migration *past;

	if (!entry->reattached)
		return false;
	if (entry->migrations.open > entry->migrations.moved) {
		remote_operation_reattach(&entry->step, REMOTE_OPERATION_MIGRATE, entry->step.n);
		return true;
	}
	past = find_past(entry, kept);
	if (past) {
		report_moved(entry, past);
	} else if (!entry->step.hosts && is_there(entry)) {
		struct backend_event event = remote_attempt_event(entry, BACKEND_EVENT_MIGRATED,
								  remote_now_ns(entry->remote));

		event.n = entry->step.n;
		remote_operation_end(&entry->step);
		remote_push(entry->remote, &event);
	}
	return entry->step.state == OPERATION_NONE;
}
