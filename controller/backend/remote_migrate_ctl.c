/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Migrations of a running task. As with suspensions (remote_suspend_ctl.c) one request is under way
 * at a time, and the link repeats it until it is answered. The result of a migration arrives as an
 * event, or in any other description of the task. The local scheduler numbers the migrations that
 * moved a VM; `try` distinguishes the requests with one number.
 */
#include <inttypes.h>

#include "common/clock.h"
#include "common/json.h"
#include "controller/backend/remote_private.h"

/* For so long an answer to an older request may not show a migration that was accepted. */
#define CHECK_S 15.0

/* Twice the time after which a local scheduler ends a migration (docs/explanation/migrate.md). */
#define STUCK_S 1200.0

/* Ends the migration under way. */

static void end_migration(struct remote_attempt *entry)
{
	entry->migrating = false;
	if (entry->migrate_source)
		g_source_remove(entry->migrate_source);
	entry->migrate_source = 0;
	g_clear_pointer(&entry->migrate_nodes, g_free);
	g_clear_pointer(&entry->migrate_hosts, g_free);
	g_clear_pointer(&entry->migrate_reason, g_free);
}

/* Reports a failure in which no VM was moved, as far as is known. */
static void report_failure(struct remote_attempt *entry, const char *reason)
{
	struct backend_event event =
		remote_attempt_event(entry, BACKEND_EVENT_MIGRATION_FAILED, clock_now_ns());
	g_autofree char *why = g_strdup(reason);

	event.n = entry->migrate_n;
	event.reason = why;
	end_migration(entry);
	remote_push(entry->remote, &event);
	remote_share_ctl_continue(entry);
}

static void report_moved(struct remote_attempt *entry, const struct task_migration *one)
{
	const struct config_cluster *cluster = remote_link_cluster(remote_attempt_link(entry));
	struct backend_event event = remote_attempt_event(
		entry, one->reason ? BACKEND_EVENT_MIGRATION_FAILED : BACKEND_EVENT_MIGRATED,
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
	event.n = entry->migrate_n;
	event.reason = one->reason;
	event.moves = moves;
	event.moves_count = one->count;
	end_migration(entry);
	remote_push(entry->remote, &event);
	remote_share_ctl_continue(entry);
}

void remote_migrate_ctl_take(struct remote_attempt *entry, const struct remote_task *task)
{
	if (entry->adopted && !entry->described && task->migrations && !entry->migrate_past)
		entry->migrate_past = g_ptr_array_ref(task->migrations);
	entry->migrate_open_n = 0;
	for (guint i = 0; task->migrations && i < task->migrations->len; i++) {
		const struct task_migration *one = g_ptr_array_index(task->migrations, i);

		if (!one->settled_ns)
			entry->migrate_open_n = one->n;
		if (one->n <= entry->migrated || !one->settled_ns)
			continue;
		entry->migrated = one->n;
		if (entry->migrating && (!entry->adopted || entry->described) &&
		    one->count == entry->nodes_count)
			report_moved(entry, one);
	}
}

/*
 * The last migration of an adopted task if it was requested by an earlier controller for the wanted
 * hosts (or nodes) and has ended with any result; NULL otherwise.
 */
static const struct task_migration *find_past(const struct remote_attempt *entry,
					      const GPtrArray *past)
{
	const struct config_cluster *cluster = remote_link_cluster(remote_attempt_link(entry));
	const struct task_migration *last = past && past->len ? past->pdata[past->len - 1] : NULL;
	g_autofree bool *met = g_new0(bool, entry->nodes_count);

	if (!last || !last->settled_ns || last->n != entry->migrated ||
	    last->count != entry->nodes_count)
		return NULL;
	for (uint32_t i = 0; i < last->count; i++) {
		const uint32_t to = remote_slots_host(cluster, last->vms[i].to);
		uint32_t v = 0;

		while (v < entry->nodes_count &&
		       (met[v] || (entry->migrate_hosts ?: entry->migrate_nodes)[v] != to))
			v++;
		if (v == entry->nodes_count)
			return NULL;
		met[v] = true;
	}
	return last;
}

/*
 * Whether the migration that an earlier controller requested is under way or has ended, so that no
 * request is needed.
 */
static bool reattach(struct remote_attempt *entry)
{
	g_autoptr(GPtrArray) kept = g_steal_pointer(&entry->migrate_past); /* keeps `past` alive */
	const struct task_migration *past;

	if (!entry->adopted)
		return false;
	if (entry->migrate_open_n > entry->migrated) {
		entry->migrate_asked = true;
		return true;
	}
	past = find_past(entry, kept);
	if (past)
		report_moved(entry, past);
	return past != NULL;
}

void remote_migrate_ctl_failed(struct remote_attempt *entry, const char *reason)
{
	if (entry->ended || !entry->migrating)
		return;
	if (!entry->migrate_open) {
		report_failure(entry, reason);
		return;
	}
	/* The answer is still to come. */
	entry->migrate_failed = true;
	g_free(entry->migrate_reason);
	entry->migrate_reason = g_strdup(reason);
}

/* Requests. */

static void send_move(struct remote_attempt *entry);

static gboolean move_again(gpointer data)
{
	struct remote_attempt *entry = data;

	entry->migrate_source = 0;
	send_move(entry);
	return G_SOURCE_REMOVE;
}

/*
 * Silence and malformed answers say nothing about the task; an event or remote_migrate_ctl_guard()
 * will settle it.
 */
static void move_refused(struct remote_attempt *entry, int status, const GError *error)
{
	g_autofree char *reason = g_strdup_printf("not migrated: %s", error->message);

	if (remote_attempt_unknown(entry, status, error))
		return;
	if (status < 400 || status >= 500) {
		entry->migrate_asked = true;
		return;
	}
	if (status == 409 && !entry->kill_wanted &&
	    entry->migrate_conflicts++ < remote_slots_tries(entry)) {
		entry->migrate_source = g_timeout_add(REMOTE_CONFLICT_WAIT_MS, move_again, entry);
		return;
	}
	remote_note(entry->remote, "task-refused", "task %" PRIu32 " on cluster '%s' %s",
		    entry->task, remote_link_cluster(remote_attempt_link(entry))->name, reason);
	if (status == 409)
		remote_slots_give_up(entry, entry->migrate_nodes);
	report_failure(entry, reason);
}

static void move_done(int status, json_t *body, const GError *error, void *data)
{
	struct remote_attempt *entry = data;
	g_autoptr(GError) wrong = NULL;

	entry->migrate_open = false;
	if (!error && !remote_attempt_read(entry, body, NULL, &wrong))
		remote_attempt_note_protocol_error(entry, wrong);
	if (entry->ended || !entry->migrating)
		return;
	if (error) {
		move_refused(entry, status, error);
		return;
	}
	entry->migrate_asked = true;
	entry->migrate_ns = clock_now_ns(); /* older descriptions do not show it */
	if (entry->migrate_failed)
		report_failure(entry,
			       entry->migrate_reason ?: "its local scheduler rolled it back");
}

/* Whether an earlier controller's migration has moved the VMs to the wanted nodes already. */
static bool is_there(const struct remote_attempt *entry)
{
	for (uint32_t i = 0; i < entry->nodes_count; i++) {
		bool found = false;

		for (uint32_t j = 0; j < entry->nodes_count; j++)
			found = found || entry->migrate_nodes[i] == entry->nodes[j];
		if (!found)
			return false;
	}
	return true;
}

static void report_there(struct remote_attempt *entry)
{
	struct backend_event event =
		remote_attempt_event(entry, BACKEND_EVENT_MIGRATED, clock_now_ns());

	event.n = entry->migrate_n;
	end_migration(entry);
	remote_push(entry->remote, &event);
	remote_share_ctl_continue(entry);
}

static void send_move(struct remote_attempt *entry)
{
	g_autofree char *task = remote_attempt_path(entry);
	g_autofree char *path = NULL;
	g_autoptr(json_t) body = NULL;
	json_t *nodes;

	if (entry->migrate_open || !entry->started || (entry->adopted && !entry->described) ||
	    reattach(entry))
		return;
	if (entry->migrate_hosts) {
		g_free(entry->migrate_nodes);
		entry->migrate_nodes = NULL;
		entry->migrate_nodes =
			remote_slots_pick(entry, entry->migrate_hosts, entry->nodes);
	}
	if (entry->adopted && !entry->migrate_hosts && is_there(entry)) {
		report_there(entry);
		return;
	}
	nodes = json_array();
	for (uint32_t i = 0; i < entry->nodes_count; i++)
		json_array_append_new(nodes, json_integer(entry->migrate_nodes[i]));
	body = json_pack("{s:o, s:I}", "nodes", nodes, "try", remote_attempt_try(entry));
	path = g_strdup_printf("%s/migrations/%" PRIu32, task, entry->migrated + 1);
	entry->migrate_open = true;
	remote_link_send(remote_attempt_link(entry), "PUT", path, body, move_done, entry);
}

void remote_migrate_ctl_migrate(struct remote_attempt *entry, uint32_t n, const uint32_t *nodes,
			 uint32_t nodes_count)
{
	if (entry->ended || entry->kill_wanted || n <= entry->migrate_n)
		return;
	entry->migrate_n = n;
	if ((nodes_count != entry->nodes_count && !entry->hosts) || entry->migrating ||
	    entry->step != REMOTE_STEP_NONE) {
		report_failure(entry, "it does not run, or needs another number of nodes");
		return;
	}
	entry->migrating = true;
	entry->migrate_asked = entry->migrate_failed = false;
	entry->migrate_conflicts = 0;
	entry->migrate_ns = clock_now_ns();
	if (entry->hosts)
		entry->migrate_hosts =
			remote_slots_spread(nodes, nodes_count, entry->nodes_count);
	else
		entry->migrate_nodes = g_memdup2(nodes, sizeof(*nodes) * nodes_count);
	send_move(entry);
}

void remote_migrate_ctl_continue(struct remote_attempt *entry)
{
	if (entry->migrating && !entry->migrate_asked && !entry->migrate_source)
		send_move(entry);
	remote_share_ctl_continue(entry);
}

/* The event about its failure may have been read by an earlier controller. */
void remote_migrate_ctl_checked(struct remote_attempt *entry)
{
	if (!entry->ended && entry->migrating && entry->migrate_asked && !entry->migrate_open &&
	    entry->migrate_open_n <= entry->migrated &&
	    clock_elapsed_s(entry->migrate_ns, clock_now_ns()) > CHECK_S)
		report_failure(entry, "its local scheduler rolled it back");
}

void remote_migrate_ctl_guard(struct remote_attempt *entry, int64_t now_ns)
{
	double age_s = clock_elapsed_s(entry->migrate_ns, now_ns);

	if (!entry->migrating || !entry->migrate_asked || entry->killed_ns || age_s <= CHECK_S)
		return;
	if (age_s <= STUCK_S) {
		remote_attempt_check(entry);
		return;
	}
	remote_note(entry->remote, "task-stuck",
		    "task %" PRIu32
		    " of cluster '%s' has not been migrated for %.0f s and is killed",
		    entry->task, remote_link_cluster(remote_attempt_link(entry))->name, age_s);
	remote_attempt_delete(entry);
}
