/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Migrations of a task that runs, and the share of its nodes that its VMs get. As with suspensions
 * (remote_step.c) one request is under way at a time and is repeated by the link until it is answered;
 * what came of a migration is told by an event, or by any other description of the task that shows it.
 * The local scheduler counts those that moved a VM; `try` tells apart the requests of one number.
 */
#include <inttypes.h>
#include <math.h>

#include "common/clock.h"
#include "common/json.h"
#include "controller/backend/remote_private.h"

/* A migration that was answered may still be in the answer to an older question for so long. */
#define CHECK_S 15.0

/* Twice the time after which a local scheduler ends a migration (docs/migrate.md). */
#define STUCK_S 1200.0

/* A share that was refused is asked for again after this. */
#define SHARE_AGAIN_MS 500

/* Shares closer than this are one. */
#define SHARES_DIFFER 1e-6

/* What became of a migration. */

static void settle(struct remote_entry *entry)
{
	entry->migrating = false;
	if (entry->migrate_source)
		g_source_remove(entry->migrate_source);
	entry->migrate_source = 0;
	g_clear_pointer(&entry->migrate_nodes, g_free);
	g_clear_pointer(&entry->migrate_hosts, g_free);
	g_clear_pointer(&entry->migrate_reason, g_free);
}

/* Nothing was moved, as far as is known. */
static void stay(struct remote_entry *entry, const char *reason)
{
	struct backend_event event =
		remote_entry_event(entry, BACKEND_EVENT_UNMOVED, clock_now_ns());
	g_autofree char *why = g_strdup(reason);

	event.n = entry->migrate_n;
	event.reason = why;
	settle(entry);
	remote_push(entry->remote, &event);
	remote_share_go_on(entry);
}

static void report_moved(struct remote_entry *entry, const struct remote_migration *one)
{
	const struct config_cluster *cluster = remote_link_cluster(remote_entry_link(entry));
	struct backend_event event = remote_entry_event(
		entry, one->reason ? BACKEND_EVENT_UNMOVED : BACKEND_EVENT_MIGRATED,
		one->settled_ns);
	g_autofree struct backend_vm_move *moves =
		g_new0(struct backend_vm_move, MAX(one->vms->len, 1));

	for (guint i = 0; i < one->vms->len; i++) {
		const struct remote_vm_move *vm =
			&g_array_index(one->vms, struct remote_vm_move, i);
		uint32_t now = vm->moved ? vm->to : vm->from;

		moves[i] = (struct backend_vm_move){
			.from = remote_places_host(cluster, vm->from),
			.to = remote_places_host(cluster, now),
			.total_s = vm->total_s,
			.downtime_s = vm->downtime_s,
		};
		if (i < entry->nodes_count)
			entry->nodes[i] = now;
	}
	event.node = entry->nodes[0];
	event.n = entry->migrate_n;
	event.reason = one->reason;
	event.moves = moves;
	event.moves_count = one->vms->len;
	settle(entry);
	remote_push(entry->remote, &event);
	remote_share_go_on(entry);
}

void remote_move_take(struct remote_entry *entry, const struct remote_task *task)
{
	for (guint i = 0; task->migrations && i < task->migrations->len; i++) {
		const struct remote_migration *one = g_ptr_array_index(task->migrations, i);

		if (one->n <= entry->migrated || !one->settled_ns)
			continue;
		entry->migrated = one->n;
		if (entry->migrating && (!entry->adopted || entry->described) &&
		    one->vms->len == entry->nodes_count)
			report_moved(entry, one);
	}
}

void remote_move_stayed(struct remote_entry *entry, const char *reason)
{
	if (entry->ended || !entry->migrating)
		return;
	if (!entry->migrate_open) {
		stay(entry, reason);
		return;
	}
	/* The answer is still under way. */
	entry->migrate_failed = true;
	g_free(entry->migrate_reason);
	entry->migrate_reason = g_strdup(reason);
}

/* Requests for migrations. */

static void send_move(struct remote_entry *entry);

static gboolean move_again(gpointer data)
{
	struct remote_entry *entry = data;

	entry->migrate_source = 0;
	send_move(entry);
	return G_SOURCE_REMOVE;
}

/* Silence and rubbish say nothing about the task: an event will, or remote_move_guard(). */
static void move_refused(struct remote_entry *entry, int status, const GError *error)
{
	g_autofree char *reason = g_strdup_printf("not migrated: %s", error->message);

	if (status == 404) {
		remote_entry_end(entry, BACKEND_OUTCOME_LOST,
				 "the local scheduler has no memory of it");
		return;
	}
	if (status < 400 || status >= 500) {
		entry->migrate_asked = true;
		return;
	}
	if (status == 409 && !entry->kill_wanted &&
	    entry->migrate_conflicts++ < remote_places_tries(entry)) {
		entry->migrate_source = g_timeout_add(REMOTE_CONFLICT_WAIT_MS, move_again, entry);
		return;
	}
	remote_note(entry->remote, "task-refused", "task %" PRIu32 " on cluster '%s' %s",
		    entry->task, remote_link_cluster(remote_entry_link(entry))->name, reason);
	stay(entry, reason);
}

static void move_done(int status, json_t *body, const GError *error, void *data)
{
	struct remote_entry *entry = data;
	g_autoptr(GError) wrong = NULL;

	entry->migrate_open = false;
	if (!error && !remote_entry_read(entry, body, NULL, &wrong))
		remote_entry_note_rubbish(entry, wrong);
	if (entry->ended || !entry->migrating)
		return;
	if (error) {
		move_refused(entry, status, error);
		return;
	}
	entry->migrate_asked = true;
	if (entry->migrate_failed)
		stay(entry, entry->migrate_reason ?: "its local scheduler took it back");
}

/* Whether an earlier controller's request has brought the VMs where they are wanted already. */
static bool is_there(const struct remote_entry *entry)
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

static void report_there(struct remote_entry *entry)
{
	struct backend_event event =
		remote_entry_event(entry, BACKEND_EVENT_MIGRATED, clock_now_ns());

	event.n = entry->migrate_n;
	settle(entry);
	remote_push(entry->remote, &event);
	remote_share_go_on(entry);
}

/* Milliseconds of the run: of two tries the later one has the higher number. */
static json_int_t run_ms(const struct remote_entry *entry)
{
	double ms = 1e3 * remote_run_s(entry->remote, clock_now_ns());

	return 1 + (json_int_t)fmax(0, ms);
}

static void send_move(struct remote_entry *entry)
{
	g_autofree char *task = remote_entry_path(entry);
	g_autofree char *path = NULL;
	g_autoptr(json_t) body = NULL;
	json_t *nodes;

	if (entry->migrate_open || !entry->started || (entry->adopted && !entry->described))
		return;
	if (entry->migrate_hosts) {
		g_free(entry->migrate_nodes);
		entry->migrate_nodes = NULL;
		entry->migrate_nodes =
			remote_places_pick(entry, entry->migrate_hosts, entry->nodes);
	}
	if (entry->adopted && !entry->migrate_hosts && is_there(entry)) {
		report_there(entry);
		return;
	}
	nodes = json_array();
	for (uint32_t i = 0; i < entry->nodes_count; i++)
		json_array_append_new(nodes, json_integer(entry->migrate_nodes[i]));
	body = json_pack("{s:o, s:I}", "nodes", nodes, "try", run_ms(entry));
	path = g_strdup_printf("%s/migrations/%" PRIu32, task, entry->migrated + 1);
	entry->migrate_open = true;
	remote_link_send(remote_entry_link(entry), "PUT", path, body, move_done, entry);
}

void remote_move_migrate(struct remote_entry *entry, uint32_t n, const uint32_t *nodes,
			 uint32_t nodes_count)
{
	if (entry->ended || entry->kill_wanted || n <= entry->migrate_n)
		return;
	entry->migrate_n = n;
	if ((nodes_count != entry->nodes_count && !entry->hosts) || entry->migrating ||
	    entry->step != REMOTE_STEP_NONE) {
		stay(entry, "it does not run, or needs another number of nodes");
		return;
	}
	entry->migrating = true;
	entry->migrate_asked = entry->migrate_failed = false;
	entry->migrate_conflicts = 0;
	entry->migrate_ns = clock_now_ns();
	if (entry->hosts)
		entry->migrate_hosts =
			remote_places_spread(nodes, nodes_count, entry->nodes_count);
	else
		entry->migrate_nodes = g_memdup2(nodes, sizeof(*nodes) * nodes_count);
	send_move(entry);
}

void remote_move_go_on(struct remote_entry *entry)
{
	if (entry->migrating && !entry->migrate_asked && !entry->migrate_source)
		send_move(entry);
	remote_share_go_on(entry);
}

void remote_move_guard(struct remote_entry *entry, int64_t now_ns)
{
	double age_s = clock_elapsed_s(entry->migrate_ns, now_ns);

	if (!entry->migrating || !entry->migrate_asked || entry->killed_ns || age_s <= CHECK_S)
		return;
	if (age_s <= STUCK_S) {
		remote_entry_check(entry);
		return;
	}
	remote_note(entry->remote, "task-stuck",
		    "task %" PRIu32 " of cluster '%s' has not been migrated for %.0f s and is killed",
		    entry->task, remote_link_cluster(remote_entry_link(entry))->name, age_s);
	remote_entry_delete(entry);
}

/* Shares. */

static gboolean share_again(gpointer data)
{
	struct remote_entry *entry = data;

	entry->share_source = 0;
	remote_share_go_on(entry);
	return G_SOURCE_REMOVE;
}

static void share_done(int status, json_t *body, const GError *error, void *data)
{
	struct remote_entry *entry = data;

	entry->share_open = false;
	if (entry->ended)
		return;
	if (!error) {
		entry->share_given = entry->share_sent;
		remote_entry_read(entry, body, NULL, NULL);
	} else if (status >= 400 && status < 500 && status != 409) {
		remote_note(entry->remote, "task-refused",
			    "task %" PRIu32 " on cluster '%s' was not given its share: %s",
			    entry->task, remote_link_cluster(remote_entry_link(entry))->name,
			    error->message);
		entry->share_given = entry->share_sent; /* asked for again when it changes */
	} else if (!entry->share_source) { /* its VMs are on the move, or it ends */
		entry->share_source = g_timeout_add(SHARE_AGAIN_MS, share_again, entry);
		return;
	}
	if (!entry->ended)
		remote_share_go_on(entry);
}

void remote_share_go_on(struct remote_entry *entry)
{
	g_autofree char *task = NULL;
	g_autofree char *path = NULL;
	g_autoptr(json_t) body = NULL;

	if (entry->ended || entry->kill_wanted || !entry->started || entry->share_open ||
	    entry->share_source || entry->migrating || entry->step != REMOTE_STEP_NONE ||
	    fabs(entry->share_wanted - entry->share_given) < SHARES_DIFFER)
		return;
	entry->share_n = MAX(entry->share_n + 1, run_ms(entry));
	entry->share_sent = entry->share_wanted;
	entry->share_open = true;
	task = remote_entry_path(entry);
	path = g_strdup_printf("%s/shares/%" PRId64, task, entry->share_n);
	body = json_pack("{s:f}", "share", entry->share_sent);
	remote_link_send(remote_entry_link(entry), "PUT", path, body, share_done, entry);
}

void remote_share_want(struct remote_entry *entry, double yield)
{
	const struct config_type *type = &entry->remote->config->types[entry->type];

	entry->share_wanted = yield * type->cpu_need;
	remote_share_go_on(entry);
}

void remote_share_failed(struct remote_entry *entry, const char *reason)
{
	remote_note(entry->remote, "share-failed",
		    "task %" PRIu32 " of cluster '%s': its VMs did not get %.2f of their nodes: %s",
		    entry->task, remote_link_cluster(remote_entry_link(entry))->name,
		    entry->share_sent, reason ?: "no reason given");
}

void remote_share_take(struct remote_entry *entry, const struct remote_task *task)
{
	const struct remote_run *run = &entry->remote->run;
	const struct remote_share *share = &task->share;

	if (entry->adopted && !entry->described && share->n > 0) {
		entry->share_n = share->n;
		entry->share_given = share->share;
	}
	if (!run->delivered || !remote_places_shared(entry) || !share->set ||
	    task->state != REMOTE_TASK_RUNNING || isnan(share->given_cores))
		return;
	run->delivered(remote_run_s(entry->remote, clock_now_ns()), entry->task, entry->attempt,
		       share, run->data);
}
