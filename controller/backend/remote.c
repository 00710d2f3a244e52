/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/backend/remote.h"

#include <inttypes.h>
#include <math.h>

#include "common/clock.h"
#include "common/http_client.h"
#include "common/json.h"

#define DEADLINE_X_ETC 10.0
#define DEADLINE_UNKNOWN_S 600.0

/* How long after its deadline, or after a kill, a task may stay silent. */
#define GRACE_S 30.0
#define GUARD_INTERVAL_S 2

/* How long the end of a run waits for what its tasks have come to. */
#define SETTLE_S 5.0

/* A node is let go a moment after its task's end was told; until then the answer is 409. */
#define CONFLICT_TRIES 15
#define CONFLICT_WAIT_MS 200

/* One attempt of a task. */
struct entry {
	struct remote_backend *remote;
	char *id;
	uint32_t task, attempt, type, cluster;
	uint32_t *nodes;
	uint32_t nodes_count;
	int64_t start_ns;  /* start() */
	int64_t killed_ns; /* DELETE sent; 0: not */
	double deadline_s;
	double last_s; /* time of its last event */
	guint conflicts;
	guint retry_source;
	bool adopted;
	bool asked; /* the PUT was answered */
	bool kill_wanted;
	bool started, ended;
	bool abandoned; /* given up; to be killed if it turns up again */
};

struct remote_backend {
	struct backend base;
	struct remote_fleet *fleet;
	const struct config *config;
	struct remote_run run;
	struct remote_listener listener;
	GHashTable *entries; /* id -> struct entry */
	GQueue events;       /* struct backend_event, by time */
	char *reason;        /* of the event that was delivered last */
	double limit_j;
	bool limit_reported, aborted;
	int64_t checked_ns; /* energy was compared with the limit up to here */
	guint guard_source;
};

static void send_put(struct entry *entry);
static void send_delete(struct entry *entry);

static double run_s(const struct remote_backend *remote, int64_t t_ns)
{
	return clock_elapsed_s(remote->run.t0_ns, t_ns);
}

static struct remote_link *link_of(const struct entry *entry)
{
	return remote_fleet_link(entry->remote->fleet, entry->cluster);
}

static void G_GNUC_PRINTF(3, 4)
	note(struct remote_backend *remote, const char *kind, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list arguments;

	if (!remote->run.note)
		return;
	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	remote->run.note(run_s(remote, clock_now_ns()), kind, text, remote->run.data);
}

/* Events. */

static void event_free(void *data)
{
	struct backend_event *event = data;

	g_free((char *)event->reason);
	g_free(event);
}

static int by_time(const void *a, const void *b, void *data)
{
	const struct backend_event *one = a;
	const struct backend_event *other = b;

	return one->time_s < other->time_s ? -1 : one->time_s > other->time_s;
}

/* Takes a copy of `event` with its reason. Equal times keep the order of arrival. */
static void push(struct remote_backend *remote, const struct backend_event *event)
{
	struct backend_event *copy = g_memdup2(event, sizeof(*event));
	GList *at = remote->events.tail;

	copy->reason = g_strdup(event->reason);
	while (at && by_time(at->data, copy, NULL) > 0)
		at = at->prev;
	if (at)
		g_queue_insert_after(&remote->events, at, copy);
	else
		g_queue_push_head(&remote->events, copy);
	g_main_context_wakeup(NULL);
}

static struct backend_event task_event(struct entry *entry, enum backend_event_kind kind,
				       int64_t t_ns)
{
	struct backend_event event = {
		.kind = kind,
		.task = entry->task,
		.attempt = entry->attempt,
		.cluster = entry->cluster,
		.node = entry->nodes[0],
	};

	entry->last_s = fmax(entry->last_s, run_s(entry->remote, t_ns));
	event.time_s = entry->last_s;
	return event;
}

static void report_started(struct entry *entry, int64_t t_ns)
{
	const struct remote_run *run = &entry->remote->run;
	struct backend_event event;

	if (entry->started || entry->ended)
		return;
	entry->started = true;
	event = task_event(entry, BACKEND_EVENT_STARTED, t_ns);
	push(entry->remote, &event);
	if (run->launched && !entry->adopted)
		run->launched(event.time_s, entry->task, entry->attempt,
			      clock_elapsed_s(entry->start_ns, t_ns), run->data);
}

/* The end of an attempt that the local scheduler has not told us about. */
static void report_end(struct entry *entry, enum backend_outcome outcome, const char *reason)
{
	int64_t now_ns = clock_now_ns();
	struct backend_event event;

	if (entry->ended)
		return;
	entry->ended = true;
	event = task_event(entry, BACKEND_EVENT_ENDED, now_ns);
	event.outcome = outcome;
	event.exec_s = clock_elapsed_s(entry->start_ns, now_ns);
	event.energy_j = (double)NAN;
	event.reason = reason;
	push(entry->remote, &event);
}

static void abandon(struct entry *entry, const char *reason)
{
	entry->abandoned = true;
	report_end(entry, BACKEND_OUTCOME_LOST, reason);
}

static void report_task_end(struct entry *entry, const struct remote_task *task)
{
	double idle_w = remote_link_idle_w(link_of(entry), entry->nodes, entry->nodes_count);
	int64_t end_ns = task->ended_ns ?: clock_now_ns();
	struct backend_event event;

	entry->ended = true;
	event = task_event(entry, BACKEND_EVENT_ENDED, end_ns);
	event.outcome = task->outcome;
	event.exec_s = fmax(0, clock_elapsed_s(entry->start_ns, end_ns));
	event.energy_j = remote_task_energy_j(task, idle_w);
	event.reason = task->reason;
	push(entry->remote, &event);
}

/* What the local scheduler says of the attempt, times on our clock. */
static void take_task(struct entry *entry, const struct remote_task *task)
{
	if (entry->ended)
		return;
	if (entry->adopted && task->requested_ns)
		entry->start_ns = task->requested_ns;
	if (task->started_ns && task->state != REMOTE_TASK_STARTING)
		report_started(entry, task->started_ns);
	if (task->state == REMOTE_TASK_ENDED)
		report_task_end(entry, task);
}

/* Requests. */

static char *task_path(const struct entry *entry)
{
	return g_strdup_printf("/v1/tasks/%s", entry->id);
}

static json_t *task_body(const struct entry *entry)
{
	const struct config_type *type = &entry->remote->config->types[entry->type];
	json_t *nodes = json_array();

	for (uint32_t i = 0; i < entry->nodes_count; i++)
		json_array_append_new(nodes, json_integer(entry->nodes[i]));
	return json_pack("{s:s, s:s, s:s, s:i, s:i, s:o, s:f}", "type", type->name, "benchmark",
			 type->benchmark, "class", type->class_, "ranks", (int)type->cores,
			 "repetitions", (int)type->repetitions, "nodes", nodes, "deadline_s",
			 entry->deadline_s);
}

static gboolean put_again(gpointer data)
{
	struct entry *entry = data;

	entry->retry_source = 0;
	send_put(entry);
	return G_SOURCE_REMOVE;
}

static void put_refused(struct entry *entry, int status, const GError *error)
{
	g_autofree char *reason = g_strdup_printf("not started: %s", error->message);

	if (status == 409 && !entry->kill_wanted && entry->conflicts++ < CONFLICT_TRIES) {
		entry->retry_source = g_timeout_add(CONFLICT_WAIT_MS, put_again, entry);
		return;
	}
	note(entry->remote, "task-refused", "task %" PRIu32 " on cluster '%s' %s", entry->task,
	     remote_link_cluster(link_of(entry))->name, reason);
	if (status == 409)
		report_end(entry, BACKEND_OUTCOME_LOST, reason);
	else if (status >= 400 && status < 500)
		report_end(entry, BACKEND_OUTCOME_FAILED, reason);
	else
		abandon(entry, reason);
}

static bool read_task(struct entry *entry, const json_t *body, GError **error)
{
	g_autoptr(remote_task_t) task = remote_task_parse(body, error);

	if (!task)
		return false;
	if (!g_str_equal(task->id, entry->id)) {
		g_set_error(error, JSON_ERROR, JSON_ERROR_KEY, "task '%.64s' instead of '%s'",
			    task->id, entry->id);
		return false;
	}
	remote_link_translate(link_of(entry), task);
	take_task(entry, task);
	return true;
}

static void put_done(int status, json_t *body, const GError *error, void *data)
{
	struct entry *entry = data;
	g_autoptr(GError) wrong = NULL;

	if (error) {
		put_refused(entry, status, error);
		if (entry->abandoned)
			send_delete(entry);
		return;
	}
	entry->asked = true;
	if (!read_task(entry, body, &wrong)) {
		note(entry->remote, "scheduler-rubbish",
		     "local scheduler of cluster '%s' answers rubbish: %s",
		     remote_link_cluster(link_of(entry))->name, wrong->message);
		abandon(entry, "the local scheduler answered rubbish");
		send_delete(entry);
		return;
	}
	if (entry->kill_wanted && !entry->ended)
		send_delete(entry);
}

static void send_put(struct entry *entry)
{
	g_autofree char *path = task_path(entry);
	g_autoptr(json_t) body = task_body(entry);

	remote_link_send(link_of(entry), "PUT", path, body, put_done, entry);
}

static void delete_done(int status, json_t *body, const GError *error, void *data)
{
	struct entry *entry = data;

	if (status == 404)
		report_end(entry, BACKEND_OUTCOME_KILLED, "not known to the local scheduler");
}

static void send_delete(struct entry *entry)
{
	g_autofree char *path = task_path(entry);

	entry->killed_ns = clock_now_ns();
	remote_link_send(link_of(entry), "DELETE", path, NULL, delete_done, entry);
}

static void check_done(int status, json_t *body, const GError *error, void *data)
{
	struct entry *entry = data;

	if (status == 404)
		report_end(entry, BACKEND_OUTCOME_LOST, "the local scheduler has no memory of it");
	else if (!error)
		read_task(entry, body, NULL);
}

static void send_check(struct entry *entry)
{
	g_autofree char *path = task_path(entry);

	remote_link_send(link_of(entry), "GET", path, NULL, check_done, entry);
}

/* What the links tell. */

static void on_task(struct remote_link *link, const struct remote_task *task, void *data)
{
	struct remote_backend *remote = data;
	struct entry *entry = g_hash_table_lookup(remote->entries, task->id);

	if (entry)
		take_task(entry, task);
}

static void on_node(struct remote_link *link, uint32_t node, bool up, int64_t t_ns,
		    const char *reason, void *data)
{
	struct remote_backend *remote = data;
	struct backend_event event = {
		.kind = up ? BACKEND_EVENT_NODE_UP : BACKEND_EVENT_NODE_DOWN,
		.time_s = fmax(0, run_s(remote, t_ns)),
		.cluster = remote_link_index(link),
		.node = node,
		.reason = reason,
	};

	push(remote, &event);
}

static void on_sample(struct remote_link *link, const struct remote_meter *meter,
		      const struct remote_sample *sample, void *data)
{
	struct remote_backend *remote = data;

	if (remote->run.sample)
		remote->run.sample(run_s(remote, sample->t_ns), meter, sample, remote->run.data);
	g_main_context_wakeup(NULL);
}

static void doubt_entry(struct entry *entry, bool away)
{
	if (away && !entry->ended)
		abandon(entry, "its local scheduler went away");
	else if (!away && entry->abandoned)
		send_delete(entry);
	else if (!away && !entry->ended && entry->asked)
		send_check(entry);
}

static void on_doubt(struct remote_link *link, void *data)
{
	struct remote_backend *remote = data;
	GHashTableIter iter;
	void *value;

	g_hash_table_iter_init(&iter, remote->entries);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		struct entry *entry = value;

		if (entry->cluster == remote_link_index(link))
			doubt_entry(entry, remote_link_away(link));
	}
}

static void on_note(struct remote_link *link, const char *kind, const char *text, void *data)
{
	note(data, kind, "%s", text);
}

/* A task that outlives every promise of its local scheduler is killed, then given up. */
static void guard_entry(struct entry *entry, int64_t now_ns)
{
	double age_s = clock_elapsed_s(entry->start_ns, now_ns);

	if (entry->ended || !entry->asked)
		return;
	if (entry->killed_ns) {
		if (clock_elapsed_s(entry->killed_ns, now_ns) > GRACE_S)
			abandon(entry, "killed, but its local scheduler never said so");
		else
			send_check(entry);
	} else if (age_s > entry->deadline_s + GRACE_S) {
		note(entry->remote, "task-overdue",
		     "task %" PRIu32 " of cluster '%s' is %.0f s old", entry->task,
		     remote_link_cluster(link_of(entry))->name, age_s);
		send_delete(entry);
	}
}

static gboolean guard(gpointer data)
{
	struct remote_backend *remote = data;
	int64_t now_ns = clock_now_ns();
	GHashTableIter iter;
	void *value;

	g_hash_table_iter_init(&iter, remote->entries);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		guard_entry(value, now_ns);
	return G_SOURCE_CONTINUE;
}

/* Operations. */

static struct remote_backend *of(struct backend *backend)
{
	return (struct remote_backend *)backend;
}

static double remote_now_s(struct backend *backend)
{
	return run_s(of(backend), clock_now_ns());
}

static void entry_free(void *data)
{
	struct entry *entry = data;

	remote_link_forget(link_of(entry), entry);
	if (entry->retry_source)
		g_source_remove(entry->retry_source);
	g_free(entry->id);
	g_free(entry->nodes);
	g_free(entry);
}

static char *entry_id(const struct remote_backend *remote, uint32_t task, uint32_t attempt)
{
	return g_strdup_printf("%s-%" PRId64 "-%" PRIu32 "-%" PRIu32, remote->run.experiment,
			       remote->run.run, task, attempt);
}

static void start_entry(struct backend *backend, const struct backend_start *start, bool adopted)
{
	struct remote_backend *remote = of(backend);
	g_autofree char *id = entry_id(remote, start->task, start->attempt);
	struct entry *entry;

	if (g_hash_table_contains(remote->entries, id))
		return;
	entry = g_new0(struct entry, 1);
	entry->remote = remote;
	entry->id = g_steal_pointer(&id);
	entry->task = start->task;
	entry->attempt = start->attempt;
	entry->type = start->type;
	entry->cluster = start->cluster;
	entry->nodes = g_memdup2(start->nodes, sizeof(*start->nodes) * start->nodes_count);
	entry->nodes_count = start->nodes_count;
	entry->adopted = adopted;
	entry->deadline_s = remote_deadline_s(remote->config, start->type, start->cluster);
	entry->start_ns = clock_now_ns();
	g_hash_table_insert(remote->entries, entry->id, entry);
	send_put(entry);
}

static void remote_start(struct backend *backend, const struct backend_start *start)
{
	start_entry(backend, start, false);
}

void remote_backend_adopt(struct backend *backend, const struct backend_start *start)
{
	start_entry(backend, start, true);
}

static void kill_entry(struct entry *entry)
{
	if (entry->ended || entry->kill_wanted)
		return;
	entry->kill_wanted = true;
	if (entry->retry_source) { /* refused so far: it never ran */
		g_source_remove(entry->retry_source);
		entry->retry_source = 0;
		report_end(entry, BACKEND_OUTCOME_KILLED, NULL);
	} else if (entry->asked) {
		send_delete(entry);
	}
}

static void remote_kill(struct backend *backend, uint32_t task, uint32_t attempt)
{
	g_autofree char *id = entry_id(of(backend), task, attempt);
	struct entry *entry = g_hash_table_lookup(of(backend)->entries, id);

	if (entry)
		kill_entry(entry);
}

/* Local schedulers know no suspensions: the task stays as it is. */
static void stay(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n)
{
	g_autofree char *id = entry_id(of(backend), task, attempt);
	struct entry *entry = g_hash_table_lookup(of(backend)->entries, id);
	struct backend_event event;

	if (!entry || entry->ended)
		return;
	event = task_event(entry, BACKEND_EVENT_STAYED, clock_now_ns());
	event.n = n;
	event.reason = "its local scheduler cannot suspend tasks";
	push(of(backend), &event);
}

static void remote_suspend(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n)
{
	stay(backend, task, attempt, n);
}

static void remote_resume(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n,
			  const uint32_t *nodes, uint32_t nodes_count)
{
	stay(backend, task, attempt, n);
}

static double remote_energy_j(struct backend *backend)
{
	return remote_meters_dynamic_j(remote_fleet_meters(of(backend)->fleet), clock_now_ns());
}

static void remote_set_limit(struct backend *backend, double limit_j)
{
	of(backend)->limit_j = limit_j;
	of(backend)->limit_reported = false;
}

static void check_limit(struct remote_backend *remote)
{
	GPtrArray *meters = remote_fleet_meters(remote->fleet);
	int64_t covered_ns = remote_meters_covered_ns(meters, clock_now_ns());
	struct backend_event event = {.kind = BACKEND_EVENT_ENERGY_LIMIT};
	int64_t t_ns;

	if (covered_ns <= remote->checked_ns)
		return;
	if (remote->limit_j > 0 && !remote->limit_reported &&
	    remote_meters_crossing(meters, remote->limit_j, remote->checked_ns, covered_ns,
				   &t_ns)) {
		remote->limit_reported = true;
		event.time_s = run_s(remote, t_ns);
		push(remote, &event);
	}
	remote->checked_ns = covered_ns;
}

static bool take_event(struct remote_backend *remote, double until_s,
		       struct backend_event *ret_event)
{
	struct backend_event *event = g_queue_peek_head(&remote->events);

	if (!event || event->time_s > until_s)
		return false;
	g_queue_pop_head(&remote->events);
	g_free(remote->reason);
	remote->reason = g_strdup(event->reason);
	*ret_event = *event;
	ret_event->reason = remote->reason;
	event_free(event);
	return true;
}

static bool take_abort(struct remote_backend *remote, struct backend_event *ret_event)
{
	const char *why = remote_fleet_stopped(remote->fleet);

	if (!why || remote->aborted)
		return false;
	remote->aborted = true;
	*ret_event = (struct backend_event){.kind = BACKEND_EVENT_ABORTED, .reason = why};
	ret_event->time_s = run_s(remote, clock_now_ns());
	return true;
}

static gboolean time_is_up(gpointer data)
{
	*(bool *)data = true;
	return G_SOURCE_REMOVE;
}

/* A task's end and the sample that shows the limit can be in one iteration: the limit is checked
 * first. */
static void remote_wait(struct backend *backend, double until_s, struct backend_event *ret_event)
{
	struct remote_backend *remote = of(backend);
	double left_s = until_s - remote_now_s(backend);
	bool up = left_s <= 0;
	guint source = 0;

	if (!up)
		source = g_timeout_add((guint)fmin(ceil(left_s * 1000), 1e9), time_is_up, &up);
	while (true) {
		while (g_main_context_iteration(NULL, FALSE))
			;
		check_limit(remote);
		if (take_event(remote, fmax(until_s, remote_now_s(backend)), ret_event) ||
		    take_abort(remote, ret_event))
			break;
		if (up) {
			*ret_event = (struct backend_event){.time_s = until_s};
			break;
		}
		g_main_context_iteration(NULL, TRUE);
	}
	if (source && !up)
		g_source_remove(source);
}

static bool is_ended(const struct entry *entry)
{
	return entry->ended;
}

static bool is_asked(const struct entry *entry)
{
	return entry->asked || entry->ended;
}

static bool all_are(struct remote_backend *remote, bool (*is)(const struct entry *entry))
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
	remote_fleet_until(of(backend)->fleet, all_asked, of(backend), timeout_s, true);
}

/*
 * A local scheduler does not kill a task whose ranks have all ended: what it tells after a kill is
 * the truth, whatever was still under way (fetching the output, say) when the kill came.
 */
static void remote_settle(struct backend *backend)
{
	remote_fleet_until(of(backend)->fleet, all_ended, of(backend), SETTLE_S, false);
}

static void kill_all(struct remote_backend *remote)
{
	GHashTableIter iter;
	void *value;

	g_hash_table_iter_init(&iter, remote->entries);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		kill_entry(value);
}

static void remote_destroy(struct backend *backend)
{
	struct remote_backend *remote = of(backend);

	kill_all(remote);
	remote_fleet_until(remote->fleet, all_ended, remote, GRACE_S + 5, false);
	remote_fleet_listen(remote->fleet, NULL);
	g_source_remove(remote->guard_source);
	g_hash_table_unref(remote->entries);
	g_queue_clear_full(&remote->events, event_free);
	g_free(remote->reason);
	g_free(remote);
}

static const struct backend_ops remote_ops = {
	.name = "remote",
	.now_s = remote_now_s,
	.start = remote_start,
	.kill = remote_kill,
	.suspend = remote_suspend,
	.resume = remote_resume,
	.energy_j = remote_energy_j,
	.set_limit = remote_set_limit,
	.wait = remote_wait,
	.settle = remote_settle,
	.destroy = remote_destroy,
};

double remote_deadline_s(const struct config *config, uint32_t type, uint32_t cluster)
{
	const struct config_estimate *estimate =
		config_estimate(config, config->types[type].name, config->clusters[cluster].name);

	if (config->experiment && config->experiment->task_deadline_s > 0)
		return config->experiment->task_deadline_s;
	return estimate ? DEADLINE_X_ETC * estimate->etc_s : DEADLINE_UNKNOWN_S;
}

/* A run takes all nodes to be up until it is told otherwise. */
static void report_down_nodes(struct remote_backend *remote)
{
	for (uint32_t i = 0; i < remote->config->clusters_count; i++) {
		struct remote_link *link = remote_fleet_link(remote->fleet, i);

		for (uint32_t j = 0; j < remote->config->clusters[i].nodes; j++)
			if (!remote_link_node_up(link, j))
				on_node(link, j, false, clock_now_ns(), "not ready", remote);
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
	remote->entries = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, entry_free);
	remote->listener = (struct remote_listener){
		.task = on_task,
		.node = on_node,
		.sample = on_sample,
		.doubt = on_doubt,
		.note = on_note,
		.data = remote,
	};
	remote->guard_source = g_timeout_add_seconds(GUARD_INTERVAL_S, guard, remote);
	remote_fleet_listen(fleet, &remote->listener);
	report_down_nodes(remote);
	return &remote->base;
}
