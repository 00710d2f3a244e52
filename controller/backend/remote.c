/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <limits.h>
#include <math.h>

#include "common/clock.h"
#include "common/loop.h"
#include "controller/backend/remote_private.h"

#define DEADLINE_X_ETC 10.0

/*
 * Deadline of a task without an estimate: a day. A task without progress is ended long before by
 * its local scheduler.
 */
#define DEADLINE_UNKNOWN_S 86400.0

#define GUARD_INTERVAL_S 2

/* The longest wait for an event: 31 years. */
#define WAIT_MAX_S 1e9

/* How long the end of a run waits for the results of its tasks. */
#define SETTLE_S 5.0

/* Callbacks of the links. */

/*
 * The attempt that a link reports about. If the record of its start was lost (a loss of power),
 * another cluster may have an attempt with the same id, whose end does not concern this one.
 */
static struct remote_attempt *find_reported(struct remote_backend *remote, struct remote_link *link,
					    const char *id)
{
	struct remote_attempt *entry = g_hash_table_lookup(remote->entries, id);

	return entry && entry->cluster == remote_link_index(link) ? entry : NULL;
}

static void on_task(struct remote_link *link, const struct task *task, void *data)
{
	struct remote_backend *remote = data;
	struct remote_attempt *entry = find_reported(remote, link, task->id);

	if (!entry)
		return;
	remote_attempt_take(entry, task);
	remote_request_due(entry);
}

static void on_failed(struct remote_link *link, const char *id, enum remote_failure what,
		      const char *reason, void *data)
{
	static const enum remote_operation_kind steps[REMOTE_FAILURES] = {
		[REMOTE_FAILURE_SUSPENSION] = REMOTE_OPERATION_SUSPEND,
		[REMOTE_FAILURE_RESUMPTION] = REMOTE_OPERATION_RESUME,
		[REMOTE_FAILURE_MIGRATION] = REMOTE_OPERATION_MIGRATE,
	};
	struct remote_attempt *entry = find_reported(data, link, id);

	if (!entry || remote_attempt_is(entry, ATTEMPT_OVER))
		return;
	g_assert(what == REMOTE_FAILURE_SHARE || steps[what] != REMOTE_OPERATION_START);
	if (what == REMOTE_FAILURE_SHARE)
		remote_share_failed(entry, reason);
	else
		remote_operation_failed(&entry->step, steps[what], reason);
	remote_request_due(entry);
}

/* Whether any node of the host of `node` is up; without shared hosts, whether `node` is. */
static bool host_up(const struct remote_link *link, uint32_t node)
{
	const struct config_cluster *cluster = remote_link_cluster(link);

	for (uint32_t i = 0; i < cluster->nodes; i++)
		if (remote_slots_host(cluster, i) == remote_slots_host(cluster, node) &&
		    remote_link_node_up(link, i))
			return true;
	return false;
}

static void on_node(struct remote_link *link, uint32_t node, bool up, int64_t t_ns,
		    const char *reason, void *data)
{
	const struct config_cluster *cluster = remote_link_cluster(link);
	struct remote_backend *remote = data;
	struct backend_event event = {
		.kind = up ? BACKEND_EVENT_NODE_UP : BACKEND_EVENT_NODE_DOWN,
		.time_s = fmax(0, remote_run_s(remote, t_ns)),
		.cluster = remote_link_index(link),
		.node = remote_slots_host(cluster, node),
		.reason = reason,
	};

	if (!cluster->shared || up || !host_up(link, node))
		remote_push(remote, &event);
}

/* Reports that the limit of energy is reached if the samples so far show it. O(meters). */
static void check_limit(struct remote_backend *remote)
{
	GPtrArray *meters = remote_fleet_meters(remote->fleet);
	int64_t covered_ns = remote_meters_covered_ns(meters, remote_now_ns(remote));
	struct backend_event event = {.kind = BACKEND_EVENT_ENERGY_LIMIT};
	int64_t t_ns;

	if (covered_ns <= remote->checked_ns)
		return;
	if (remote->limit_j > 0 && !remote->limit_reported &&
	    remote_meters_crossing(meters, remote->limit_j, remote->checked_ns, covered_ns,
				   &t_ns)) {
		remote->limit_reported = true;
		event.time_s = remote_run_s(remote, t_ns);
		remote_push(remote, &event);
	}
	remote->checked_ns = covered_ns;
}

static void on_sample(struct remote_link *link, const struct remote_meter *meter,
		      const struct wire_sample *sample, void *data)
{
	struct remote_backend *remote = data;

	if (remote->run.sample)
		remote->run.sample(remote_run_s(remote, sample->t_ns), meter, sample,
				   remote->run.data);
	check_limit(remote);
}

static void on_usage(struct remote_link *link, const char *stream, const GPtrArray *intervals,
		     void *data)
{
	const struct remote_backend *remote = data;

	if (remote->run.usage)
		remote->run.usage(remote_link_index(link), stream, intervals, remote->run.data);
}

static void resync_attempt(struct remote_attempt *entry, bool away)
{
	const bool over = remote_attempt_is(entry, ATTEMPT_OVER);

	if (away && !over)
		remote_attempt_abandon(entry, "its local scheduler went away");
	else if (!away && entry->state == ATTEMPT_ABANDONED &&
		 (!entry->kill.called_ns || entry->kill.state == OPERATION_FAILED))
		remote_request_delete(entry);
	else if (!away && !over && remote_attempt_is_asked(entry))
		remote_request_check(entry);
}

static void on_resync(struct remote_link *link, void *data)
{
	struct remote_backend *remote = data;
	GHashTableIter iter;
	void *value;

	g_hash_table_iter_init(&iter, remote->entries);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		struct remote_attempt *entry = value;

		if (entry->cluster == remote_link_index(link))
			resync_attempt(entry, remote_link_away(link));
	}
	if (!remote_link_away(link))
		remote_orphans_search(remote, remote_link_index(link));
}

static void on_note(struct remote_link *link, const char *kind, const char *text, void *data)
{
	remote_note(data, kind, "%s", text);
}

static gboolean guard(gpointer data)
{
	struct remote_backend *remote = data;
	int64_t now_ns = remote_now_ns(remote);
	GHashTableIter iter;
	void *value;

	g_hash_table_iter_init(&iter, remote->entries);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		remote_guard_attempt(value, now_ns);
	remote_orphans_guard(remote, now_ns);
	check_limit(remote); /* a meter may have become silent */
	return G_SOURCE_CONTINUE;
}

/* The operations of the backend. */

static struct remote_backend *remote_of(struct backend *backend)
{
	return (struct remote_backend *)backend;
}

static double remote_now_s(struct backend *backend)
{
	return remote_run_s(remote_of(backend), remote_now_ns(remote_of(backend)));
}

char *remote_attempt_id(const char *experiment, int64_t run, uint32_t task, uint32_t attempt)
{
	return g_strdup_printf("%s-%" PRId64 "-%" PRIu32 "-%" PRIu32, experiment, run, task,
			       attempt);
}

/*
 * Sets the attempt's nodes. Under policies that do not share, its VMs get all the CPU that they
 * need.
 */
static void set_nodes(struct remote_attempt *entry, const struct sched_allocation *placed)
{
	const struct config *config = entry->remote->config;
	const struct config_type *type = &config->types[entry->type];

	if (!remote_slots_shared(entry)) {
		entry->nodes =
			g_memdup2(placed->nodes, sizeof(*placed->nodes) * placed->nodes_count);
		entry->nodes_count = placed->nodes_count;
		return;
	}
	entry->nodes_count = config_type_nodes(type, &config->clusters[entry->cluster]);
	entry->hosts = remote_slots_spread(placed->nodes, placed->nodes_count, entry->nodes_count);
	entry->nodes = remote_slots_pick(entry, entry->hosts, NULL);
	remote_share_want(entry, 1);
}

static struct remote_attempt *attempt_new(struct remote_backend *remote,
					  const struct sched_allocation *placed, uint32_t attempt)
{
	struct remote_attempt *entry = g_new0(struct remote_attempt, 1);

	entry->remote = remote;
	entry->id = remote_attempt_id(remote->run.experiment, remote->run.run, placed->task->id,
				      attempt);
	entry->task = placed->task->id;
	entry->attempt = attempt;
	entry->type = placed->task->row;
	entry->cluster = placed->cluster;
	entry->start.entry = entry->step.entry = entry;
	entry->kill.entry = entry->share.operation.entry = entry;
	entry->kill.kind = REMOTE_OPERATION_KILL;
	entry->share.operation.kind = REMOTE_OPERATION_SHARE;
	entry->share.wanted = entry->share.sent = entry->share.given = 1;
	set_nodes(entry, placed);
	entry->deadline_s =
		remote_deadline_s(remote->config, entry->type, entry->cluster, remote->run.profile);
	entry->start_ns = remote_now_ns(remote);
	return entry;
}

static struct remote_attempt *find_attempt(struct backend *backend, uint32_t task, uint32_t attempt)
{
	const struct remote_backend *remote = remote_of(backend);
	g_autofree char *id =
		remote_attempt_id(remote->run.experiment, remote->run.run, task, attempt);

	return g_hash_table_lookup(remote->entries, id);
}

/* A new attempt in the backend's list, or NULL: it is there already. */
static struct remote_attempt *add_attempt(struct backend *backend,
					  const struct sched_allocation *placed, uint32_t attempt)
{
	struct remote_attempt *entry;

	if (find_attempt(backend, placed->task->id, attempt))
		return NULL;
	entry = attempt_new(remote_of(backend), placed, attempt);
	g_hash_table_insert(remote_of(backend)->entries, entry->id, entry);
	return entry;
}

static void remote_start(struct backend *backend, const struct sched_allocation *placed,
			 uint32_t attempt)
{
	struct remote_attempt *entry = add_attempt(backend, placed, attempt);

	if (!entry)
		return;
	remote_attempt_move(entry, ATTEMPT_START);
	remote_request_start(entry);
}

static void remote_enqueue(struct backend *backend, const struct sched_allocation *placed,
			   uint32_t attempt, double start_before_s)
{
	struct remote_attempt *entry = add_attempt(backend, placed, attempt);

	if (!entry)
		return;
	remote_attempt_move(entry, ATTEMPT_ENQUEUE);
	entry->enqueued = true;
	entry->start_before_s = start_before_s;
	remote_request_start(entry);
}

/*
 * After a suspension or a migration the nodes differ from those of the start, so the start is not
 * repeated; the attempt's state is requested instead.
 */
void remote_backend_adopt(struct backend *backend, const struct sched_allocation *placed,
			  uint32_t attempt, const struct remote_past *past)
{
	struct remote_attempt *entry = add_attempt(backend, placed, attempt);

	if (!entry)
		return;
	remote_attempt_move(entry, ATTEMPT_REATTACH);
	entry->reattached = true;
	entry->enqueued = past->queued;
	remote_suspend_adopt(entry, past);
	if (past->suspended || past->migrated || entry->hosts)
		remote_request_check(entry);
	else
		remote_request_start(entry);
}

static void remote_kill(struct backend *backend, uint32_t task, uint32_t attempt)
{
	struct remote_attempt *entry = find_attempt(backend, task, attempt);

	if (entry)
		remote_request_kill(entry);
}

static void call(struct backend *backend, uint32_t task, uint32_t attempt,
		 enum remote_operation_kind kind, uint32_t n, const char *keep,
		 const uint32_t *nodes, uint32_t nodes_count)
{
	struct remote_attempt *entry = find_attempt(backend, task, attempt);

	if (!entry)
		return;
	remote_operation_call(entry, kind, n, keep, nodes, nodes_count);
	remote_request_due(entry);
}

void remote_backend_suspend(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n,
			    const char *keep)
{
	call(backend, task, attempt, REMOTE_OPERATION_SUSPEND, n, keep, NULL, 0);
}

static void remote_suspend(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n)
{
	remote_backend_suspend(backend, task, attempt, n, "auto");
}

static void remote_resume(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n,
			  const uint32_t *nodes, uint32_t nodes_count)
{
	call(backend, task, attempt, REMOTE_OPERATION_RESUME, n, NULL, nodes, nodes_count);
}

static void remote_migrate(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n,
			   const uint32_t *nodes, uint32_t nodes_count)
{
	call(backend, task, attempt, REMOTE_OPERATION_MIGRATE, n, NULL, nodes, nodes_count);
}

static void remote_share(struct backend *backend, uint32_t task, uint32_t attempt, double yield)
{
	struct remote_attempt *entry = find_attempt(backend, task, attempt);

	if (!entry || remote_attempt_is(entry, ATTEMPT_OVER))
		return;
	remote_share_want(entry, yield);
	remote_request_due(entry);
}

static double remote_energy_j(struct backend *backend)
{
	return remote_meters_dynamic_j(remote_fleet_meters(remote_of(backend)->fleet),
				       remote_now_ns(remote_of(backend)));
}

static double remote_energy_at_j(struct backend *backend, double time_s)
{
	return remote_meters_dynamic_j(remote_fleet_meters(remote_of(backend)->fleet),
				       remote_of(backend)->run.t0_ns + (int64_t)(time_s * 1e9));
}

static struct backend_watermark remote_watermark(struct backend *backend)
{
	const struct remote_backend *remote = remote_of(backend);
	GPtrArray *meters = remote_fleet_meters(remote->fleet);
	const int64_t now_ns = remote_now_ns(remote);

	return (struct backend_watermark){
		.from_s = remote_run_s(remote, remote_meters_kept_ns(meters)),
		.until_s = remote_run_s(remote, remote_meters_covered_ns(meters, now_ns)),
		.all_s = remote_run_s(remote, remote_meters_known_ns(meters, now_ns)),
	};
}

static void remote_set_limit(struct backend *backend, double limit_j)
{
	remote_of(backend)->limit_j = limit_j;
	remote_of(backend)->limit_reported = false;
}

static bool take_event(struct remote_backend *remote, double until_s,
		       struct backend_event *ret_event)
{
	struct backend_event *event = g_queue_peek_head(&remote->events);

	if (!event || event->time_s > until_s)
		return false;
	g_queue_pop_head(&remote->events);
	remote_event_free(remote->delivered);
	remote->delivered = event;
	*ret_event = *event;
	return true;
}

static bool take_abort(struct remote_backend *remote, struct backend_event *ret_event)
{
	const char *why = remote_fleet_stopped(remote->fleet);

	if (!why || remote->aborted)
		return false;
	remote->aborted = true;
	*ret_event = (struct backend_event){.kind = BACKEND_EVENT_ABORTED, .reason = why};
	ret_event->time_s = remote_run_s(remote, remote_now_ns(remote));
	return true;
}

/*
 * The end of a task and the sample that shows the limit can arrive in one turn of the loop, so the
 * limit is checked first.
 */
bool remote_backend_take(struct backend *backend, double until_s, struct backend_event *ret_event)
{
	struct remote_backend *remote = remote_of(backend);

	check_limit(remote);
	return take_event(remote, fmax(until_s, remote_now_s(backend)), ret_event) ||
	       take_abort(remote, ret_event);
}

bool remote_backend_has_event(struct backend *backend, double until_s)
{
	const struct remote_backend *remote = remote_of(backend);
	const struct backend_event *event = remote->events.head ? remote->events.head->data : NULL;

	return (event && event->time_s <= fmax(until_s, remote_now_s(backend))) ||
	       (remote_fleet_stopped(remote->fleet) && !remote->aborted);
}

/* An event that remote_backend_wait() waits for. */
struct wait {
	struct backend *backend;
	double until_s;
};

static bool has_event(void *data)
{
	const struct wait *wait = data;

	return remote_backend_has_event(wait->backend, wait->until_s);
}

void remote_backend_wait(struct backend *backend, double until_s, struct backend_event *ret_event)
{
	struct wait wait = {backend, until_s};
	const double left_s = until_s - remote_now_s(backend);

	loop_until(remote_fleet_platform(remote_of(backend)->fleet), has_event, &wait,
		   remote_now_ns(remote_of(backend)) +
			   (int64_t)(fmin(fmax(left_s, 0), WAIT_MAX_S) * 1e9),
		   INT_MAX);
	if (!remote_backend_take(backend, until_s, ret_event))
		*ret_event = (struct backend_event){.time_s = until_s};
}

bool remote_backend_is_drained(const struct backend *backend)
{
	return g_queue_is_empty(&((struct remote_backend *)backend)->events);
}

static void hold(struct backend *backend, bool held)
{
	const struct remote_backend *remote = remote_of(backend);

	for (uint32_t i = 0; i < remote->config->clusters_count; i++)
		remote_link_hold(remote_fleet_link(remote->fleet, i), held);
}

void remote_backend_hold(struct backend *backend)
{
	hold(backend, true);
}

void remote_backend_flush(struct backend *backend)
{
	hold(backend, false);
}

static bool is_ended(const struct remote_attempt *entry)
{
	return remote_attempt_is(entry, ATTEMPT_OVER);
}

static bool is_asked(const struct remote_attempt *entry)
{
	return remote_attempt_is_asked(entry) || is_ended(entry);
}

static bool all_are(struct remote_backend *remote, bool (*is)(const struct remote_attempt *entry))
{
	GHashTableIter iter;
	void *value;

	g_hash_table_iter_init(&iter, remote->entries);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		if (!is(value))
			return false;
	return true;
}

static bool all_ended(void *data)
{
	return all_are(data, is_ended);
}

static bool all_asked(void *data)
{
	return all_are(data, is_asked);
}

void remote_backend_wait_asked(struct backend *backend, double timeout_s)
{
	remote_fleet_until(remote_of(backend)->fleet, all_asked, remote_of(backend), timeout_s,
			   true);
}

/*
 * A local scheduler does not kill a task whose ranks have all ended: its report after a kill is
 * right, whatever was still under way (fetching the output, for example) when the kill arrived.
 */
void remote_backend_settle(struct backend *backend)
{
	remote_fleet_until(remote_of(backend)->fleet, all_ended, remote_of(backend), SETTLE_S,
			   false);
}

static void kill_all(struct remote_backend *remote)
{
	GHashTableIter iter;
	void *value;

	g_hash_table_iter_init(&iter, remote->entries);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		remote_request_kill(value);
}

static void remote_destroy(struct backend *backend)
{
	struct remote_backend *remote = remote_of(backend);

	remote_orphans_free(remote);
	kill_all(remote);
	remote_fleet_until(remote->fleet, all_ended, remote,
			   config_patience(remote->config, REMOTE_GRACE_S) + 5, false);
	remote_fleet_listen(remote->fleet, NULL);
	g_source_remove(remote->guard_source);
	g_hash_table_unref(remote->entries);
	g_queue_clear_full(&remote->events, remote_event_free);
	remote_event_free(remote->delivered);
	g_free(remote);
}

static const struct backend_ops remote_ops = {
	.name = "remote",
	.now_s = remote_now_s,
	.start = remote_start,
	.kill = remote_kill,
	.suspend = remote_suspend,
	.resume = remote_resume,
	.enqueue = remote_enqueue,
	.share = remote_share,
	.migrate = remote_migrate,
	.energy_j = remote_energy_j,
	.energy_at_j = remote_energy_at_j,
	.watermark = remote_watermark,
	.set_limit = remote_set_limit,
	.destroy = remote_destroy,
};

double remote_deadline_s(const struct config *config, uint32_t type, uint32_t cluster, bool profile)
{
	const struct config_estimate *estimate;

	if (config_type_is_script(&config->types[type]))
		return config->types[type].time_s;
	if (config->experiment && config->experiment->task_deadline_s > 0)
		return config->experiment->task_deadline_s;
	estimate = profile ? NULL
			   : config_estimate(config, config->types[type].name,
					     config->clusters[cluster].name);
	return estimate ? DEADLINE_X_ETC * estimate->etc_s
			: config_patience(config, DEADLINE_UNKNOWN_S);
}

/* A run assumes that all nodes are up until it gets an event. */
static void report_down_nodes(struct remote_backend *remote)
{
	for (uint32_t i = 0; i < remote->config->clusters_count; i++) {
		struct remote_link *link = remote_fleet_link(remote->fleet, i);

		for (uint32_t j = 0; j < remote->config->clusters[i].nodes; j++)
			if (!remote_link_node_up(link, j))
				on_node(link, j, false, remote_now_ns(remote), "not ready", remote);
	}
}

struct backend *remote_backend_new(struct remote_fleet *fleet, const struct remote_run *run)
{
	struct remote_backend *remote = g_new0(struct remote_backend, 1);

	remote->base.ops = &remote_ops;
	remote->fleet = fleet;
	remote->config = remote_fleet_config(fleet);
	remote->run = *run;
	remote->checked_ns = run->t0_ns;
	remote->entries = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, remote_attempt_free);
	remote->listener = (struct remote_listener){
		.task = on_task,
		.failed = on_failed,
		.node = on_node,
		.sample = on_sample,
		.usage = on_usage,
		.resync = on_resync,
		.note = on_note,
		.data = remote,
	};
	remote->guard_source = platform_after_s(remote_fleet_platform(remote->fleet),
						GUARD_INTERVAL_S, guard, remote);
	remote_fleet_listen(fleet, &remote->listener);
	report_down_nodes(remote);
	return &remote->base;
}
