/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/scheduler.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "common/json.h"
#include "local-sched/cpu/cpu_cap.h"
#include "local-sched/cpu/host_caps.h"
#include "local-sched/hypervisor/pool.h"
#include "local-sched/hypervisor/site.h"
#include "local-sched/launch/job.h"
#include "local-sched/launch/task_queue.h"
#include "local-sched/power/power.h"

#define LOG_SUBSYSTEM "scheduler"
#include "common/log.h"

#define BOOTS_AT_ONCE 2
#define STOP_LIMIT_S 20
#define FLUSH_INTERVAL_S 2

struct scheduler {
	struct scheduler_settings settings;
	const struct config_cluster *cluster;
	char *prefix; /* of VM names */
	struct cpu_cap cap;           /* of all nodes */
	struct cpu_cap *node_caps;    /* by index */
	struct host_caps *caps;
	struct boot_queue *boots;
	uint32_t sites_count;
	struct site **sites;
	struct usage_source *sources; /* by site */
	struct pool *pool;            /* nodes and VMs */
	bool *was_ready; /* by node */
	struct power *power;
	GPtrArray *tasks;    /* owned, oldest first */
	GHashTable *by_id;   /* id -> task */
	GHashTable *jobs;    /* id -> struct job */
	struct task_queue *queue; /* of the tasks that wait for their turn */
	guint turn_source;
	guint flush_source;
	void (*changed)(void *data);
	void *changed_data;
	bool stopping;
	bool clean;
	uint32_t stops_pending;
	guint stop_source;
	void (*stopped)(bool clean, void *data);
	void *stopped_data;
};

G_DEFINE_QUARK(virtbed-scheduler, scheduler_error)

/* Events. */

static void changed(struct scheduler *scheduler)
{
	if (scheduler->changed)
		scheduler->changed(scheduler->changed_data);
}

static void record(struct scheduler *scheduler, const char *kind, int64_t node, const char *host,
		   json_t *detail, int64_t t_ns)
{
	task_store_event(scheduler->settings.store, kind, t_ns, NULL, node, host, detail);
	changed(scheduler);
}

static void record_task(struct scheduler *scheduler, const struct task *task, const char *kind)
{
	task_store_update(scheduler->settings.store, task, kind);
	changed(scheduler);
}

static void look_for_turns(struct scheduler *scheduler);

static gboolean flush(gpointer data)
{
	struct scheduler *scheduler = data;

	task_store_flush(scheduler->settings.store);
	return G_SOURCE_CONTINUE;
}

static void on_node_ready(struct node *node, void *data)
{
	struct scheduler *scheduler = data;
	g_autoptr(json_t) detail =
		json_pack("{s:f}", "boot_s", machine_boot_s(node_machine(node)));

	scheduler->was_ready[node_index(node)] = true;
	record(scheduler, "node-ready", node_index(node), host_name(site_host(node_site(node))),
	       detail, clock_now_ns());
	look_for_turns(scheduler);
}

static void on_node_down(struct node *node, const char *reason, void *data)
{
	struct scheduler *scheduler = data;
	g_autoptr(json_t) detail = json_object();

	json_object_set_new(detail, "reason", json_string(reason ? reason : "not known"));
	record(scheduler, "node-down", node_index(node), host_name(site_host(node_site(node))),
	       detail, clock_now_ns());
}

/* Tasks may wait for other VMs on the nodes that they leave. */
static void on_node_settled(struct node *node, void *data)
{
	struct scheduler *scheduler = data;
	GList *list = g_hash_table_get_values(scheduler->jobs);

	for (const GList *link = list; link; link = link->next)
		job_node_settled(link->data);
	g_list_free(list);
	look_for_turns(scheduler);
}

static const struct node_events node_events = {
	.ready = on_node_ready, .down = on_node_down, .settled = on_node_settled};

static void on_meter(const char *host, bool lost, const char *reason, int64_t t_ns, void *data)
{
	g_autoptr(json_t) detail = json_object();

	if (reason)
		json_object_set_new(detail, "reason", json_string(reason));
	record(data, lost ? "meter-lost" : "meter-back", -1, host, detail, t_ns);
}

/* Jobs. */

static void on_job_started(struct job *job, void *data)
{
	struct task *task = job_task(job);

	log_info("task '%s': started after %.3f s", task->id,
		 clock_elapsed_s(task->requested_ns, task->started_ns));
	record_task(data, task, "task-started");
}

/* A suspension that was asked for did not come about. */
static void drop_suspension(struct task *task)
{
	const struct task_suspension *last = task_last_suspension(task);

	task->refused_n = last->n;
	task->refused_attempt = last->attempt;
	g_ptr_array_remove_index(task->suspensions, task->suspensions->len - 1);
}

/* A migration that failed for all VMs leaves no record. */
static void drop_unmoved(struct task *task)
{
	const struct task_migration *last = task_last_migration(task);

	if (!last || task_migration_came_about(last) || (last->settled_ns && !last->reason))
		return;
	task_migration_free(task->unmoved);
	task->unmoved = g_ptr_array_steal_index(task->migrations, task->migrations->len - 1);
}

static void on_job_ended(struct job *job, const char *output, size_t length, void *data)
{
	struct scheduler *scheduler = data;
	struct task *task = job_task(job);
	g_autoptr(GError) error = NULL;

	if (!task_store_save_output(scheduler->settings.store, task->id, output, length, &error))
		log_error("task '%s': output not kept: %s", task->id, error->message);
	log_info("task '%s': %s after %.3f s%s%s", task->id, task_outcome_name(task->outcome),
		 clock_elapsed_s(task->requested_ns, task->ended_ns), task->reason ? ": " : "",
		 task->reason ? task->reason : "");
	g_hash_table_remove(scheduler->jobs, task->id);
	job_free(job);
	if (task_last_suspension(task) && task_last_suspension(task)->frozen_ns == 0)
		drop_suspension(task);
	drop_unmoved(task);
	record_task(scheduler, task, "task-ended");
	look_for_turns(scheduler);
}

/* The detail of such an event is the task object, with the reason of the failure. */
static void record_stayed(struct scheduler *scheduler, struct task *task, const char *kind,
			  const char *reason)
{
	char *own = task->reason;

	log_warning("task '%s': %s: %s", task->id, kind, reason);
	task->reason = (char *)reason;
	record_task(scheduler, task, kind);
	task->reason = own;
}

static void on_job_changed(struct job *job, enum suspension_end how, const char *reason, void *data)
{
	struct scheduler *scheduler = data;
	struct task *task = job_task(job);
	struct task_suspension *last = task_last_suspension(task);
	bool suspends = task->state == TASK_SUSPENDING;

	if (how == SUSPENSION_END_SUSPENDED) {
		task->state = TASK_SUSPENDED;
		log_info("task '%s': suspended, kept %s", task->id,
			 last->keep == CONFIG_KEEP_DISK ? "on disk" : "in memory");
		record_task(scheduler, task, "task-suspended");
	} else if (how == SUSPENSION_END_RESUMED) {
		task->state = TASK_RUNNING;
		record_task(scheduler, task, "task-resumed");
	} else if (suspends) {
		drop_suspension(task);
		task->state = TASK_RUNNING;
		record_stayed(scheduler, task, "task-suspend-failed", reason);
	} else {
		task_suspension_undo(last);
		task->state = TASK_SUSPENDED;
		record_stayed(scheduler, task, "task-resume-failed", reason);
	}
}

static void on_job_moved(struct job *job, enum migration_end how, const char *reason, void *data)
{
	struct scheduler *scheduler = data;
	struct task *task = job_task(job);
	g_autofree char *why = g_strdup(reason); /* the record's, which may go */

	drop_unmoved(task);
	if (how == MIGRATION_END_MOVED)
		record_task(scheduler, task, "task-migrated");
	else
		record_stayed(scheduler, task, "task-migrate-failed", why);
}

static void on_job_shared(struct job *job, const char *reason, void *data)
{
	struct task *task = job_task(job);

	if (reason)
		record_stayed(data, task, "task-share-failed", reason);
	else
		record_task(data, task, "task-shared");
}

static const struct job_events job_events = {
	.started = on_job_started,
	.ended = on_job_ended,
	.changed = on_job_changed,
	.moved = on_job_moved,
	.shared = on_job_shared,
};

static void start_job(struct scheduler *scheduler, struct task *task)
{
	const struct job_settings settings = {
		.task = task,
		.pool = scheduler->pool,
		.sources = scheduler->sources,
		.sources_count = scheduler->sites_count,
		.cores = scheduler->cluster->cores,
	};

	g_hash_table_insert(scheduler->jobs, task->id,
			    job_start(&settings, &job_events, scheduler));
}

/* Turns. */

static bool node_is_free(uint32_t node, void *data)
{
	const struct scheduler *scheduler = data;

	return node_state(pool_node(scheduler->pool, node)) == MACHINE_READY;
}

/* Its time counts from here on; the intent is stored before its ranks are started. */
static void take_turn(struct scheduler *scheduler, struct task *task)
{
	task->state = TASK_STARTING;
	task->requested_ns = clock_now_ns();
	log_info("task '%s': its turn has come after %.3f s", task->id,
		 clock_elapsed_s(task->queued_ns, task->requested_ns));
	record_task(scheduler, task, "task-begun");
	start_job(scheduler, task);
}

static void take_turns(struct scheduler *scheduler)
{
	struct task *task;

	while (!scheduler->stopping && (task = task_queue_take(scheduler->queue, clock_now_ns(),
								node_is_free, scheduler)))
		take_turn(scheduler, task);
}

static gboolean turns_are_due(gpointer data)
{
	struct scheduler *scheduler = data;

	scheduler->turn_source = 0;
	take_turns(scheduler);
	return G_SOURCE_REMOVE;
}

/* Something happened to nodes; whoever tells of it comes to its end first. */
static void look_for_turns(struct scheduler *scheduler)
{
	if (!scheduler->turn_source)
		scheduler->turn_source = g_idle_add_full(G_PRIORITY_HIGH, turns_are_due, scheduler,
							 NULL);
}

/* A task that waits for its turn is over; it never ran. */
static void end_queued(struct scheduler *scheduler, struct task *task, enum task_outcome outcome,
		       const char *reason)
{
	task_queue_remove(scheduler->queue, task);
	task->state = TASK_ENDED;
	task->outcome = outcome;
	g_free(task->reason);
	task->reason = g_strdup(reason);
	task->ended_ns = clock_now_ns();
	record_task(scheduler, task, "task-ended");
	look_for_turns(scheduler); /* of those that it kept waiting */
}

/* Requests. */

static bool nodes_ready(struct scheduler *scheduler, const uint32_t *nodes, uint32_t count,
			GError **error)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct node *node = pool_node(scheduler->pool, nodes[i]);
		const struct machine *machine = node_machine(node);
		const char *task = machine ? machine_task(machine) : NULL;

		if (node_state(node) == MACHINE_READY)
			continue;
		g_set_error(error, SCHEDULER_ERROR, SCHEDULER_ERROR_CONFLICT,
			    "node %u is not ready: it is %s%s%s", nodes[i],
			    node_public_state(node), task ? " with task " : "", task ? task : "");
		return false;
	}
	return true;
}

static bool same_request(const struct task *a, const struct task *b)
{
	g_autofree char *text_a = task_request_text(a);
	g_autofree char *text_b = task_request_text(b);

	return g_str_equal(text_a, text_b);
}

static struct task *parse(struct scheduler *scheduler, const char *id, const json_t *body,
			  GError **error)
{
	g_autoptr(GError) cause = NULL;
	struct task *task = task_parse_request(id, body, scheduler->cluster->nodes,
					       scheduler->cluster->cores, &cause);

	if (!task)
		g_set_error_literal(error, SCHEDULER_ERROR, SCHEDULER_ERROR_REQUEST,
				    cause->message);
	return task;
}

static bool store_task(struct scheduler *scheduler, const struct task *task, GError **error)
{
	g_autoptr(GError) cause = NULL;

	if (task_store_add(scheduler->settings.store, task, &cause))
		return true;
	g_set_error(error, SCHEDULER_ERROR, SCHEDULER_ERROR_NOT_NOW, "task cannot be stored: %s",
		    cause->message);
	return false;
}

const struct task *scheduler_put_task(struct scheduler *scheduler, const char *id,
				      const json_t *body, bool *ret_new, GError **error)
{
	int64_t now_ns = clock_now_ns();
	g_autoptr(task_t) task = parse(scheduler, id, body, error);
	struct task *known;

	if (!task)
		return NULL;
	known = g_hash_table_lookup(scheduler->by_id, id);
	if (known && same_request(known, task)) {
		*ret_new = false;
		return known;
	}
	if (known) {
		g_set_error(error, SCHEDULER_ERROR, SCHEDULER_ERROR_CONFLICT,
			    "task '%s' is known with another body", id);
		return NULL;
	}
	if (scheduler->stopping) {
		g_set_error(error, SCHEDULER_ERROR, SCHEDULER_ERROR_NOT_NOW, "shutting down");
		return NULL;
	}
	task->requested_ns = now_ns;
	if (task->queue) {
		task->queued_ns = now_ns;
		task->state = TASK_QUEUED;
	}
	if ((!task->queue &&
	     !nodes_ready(scheduler, task->nodes, task->nodes_count, error)) ||
	    !store_task(scheduler, task, error))
		return NULL;
	*ret_new = true;
	known = g_steal_pointer(&task);
	g_ptr_array_add(scheduler->tasks, known);
	g_hash_table_insert(scheduler->by_id, known->id, known);
	if (known->state == TASK_QUEUED) {
		task_queue_push(scheduler->queue, known);
		take_turns(scheduler);
	} else {
		start_job(scheduler, known);
	}
	return known;
}

const struct task *scheduler_delete_task(struct scheduler *scheduler, const char *id)
{
	struct job *job = g_hash_table_lookup(scheduler->jobs, id);
	struct task *task = g_hash_table_lookup(scheduler->by_id, id);

	if (job)
		job_kill(job, TASK_OUTCOME_KILLED, "killed by request");
	else if (task && task->state == TASK_QUEUED)
		end_queued(scheduler, task, TASK_OUTCOME_KILLED, "killed before its turn came");
	return task;
}

/* Suspending and resuming. */

static bool conflict(GError **error, const struct task *task, const char *what)
{
	g_set_error(error, SCHEDULER_ERROR, SCHEDULER_ERROR_CONFLICT, "task '%s' is %s: %s",
		    task->id, task_state_name(task->state), what);
	return false;
}

static struct task *find_task(struct scheduler *scheduler, const char *id, GError **error)
{
	struct task *task = g_hash_table_lookup(scheduler->by_id, id);

	if (!task)
		g_set_error(error, SCHEDULER_ERROR, SCHEDULER_ERROR_UNKNOWN,
			    "task '%s' is not known", id);
	else if (scheduler->stopping)
		g_set_error(error, SCHEDULER_ERROR, SCHEDULER_ERROR_NOT_NOW, "shutting down");
	else
		return task;
	return NULL;
}

/* Translates what the parsers say. */
static const struct task *bad_body(GError **error, GError *cause)
{
	g_set_error_literal(error, SCHEDULER_ERROR, SCHEDULER_ERROR_REQUEST, cause->message);
	g_error_free(cause);
	return NULL;
}

/* The intent is stored before anything is done. */
static bool store_intent(struct scheduler *scheduler, const struct task *task, GError **error)
{
	task_store_update(scheduler->settings.store, task, NULL);
	if (task_store_flush(scheduler->settings.store))
		return true;
	g_set_error(error, SCHEDULER_ERROR, SCHEDULER_ERROR_NOT_NOW, "request cannot be stored");
	return false;
}

static bool was_asked_to_suspend(const struct task *task,
				 const struct task_suspend_request *request)
{
	if (task->refused_n == request->n && task->refused_attempt >= request->attempt)
		return true;
	for (guint i = 0; i < task->suspensions->len; i++) {
		const struct task_suspension *known = task->suspensions->pdata[i];

		if (known->n == request->n && known->attempt >= request->attempt &&
		    known->asked == request->keep)
			return true;
	}
	return false;
}

static bool may_suspend(struct scheduler *scheduler, const struct task *task,
			const struct task_suspend_request *request, GError **error)
{
	const struct job *job = g_hash_table_lookup(scheduler->jobs, task->id);
	uint32_t next = task->suspensions->len + 1;
	g_autofree char *what = NULL;

	if (task->state != TASK_RUNNING)
		return conflict(error, task, "only a running task can be suspended");
	if (task_is_migrating(task))
		return conflict(error, task, "its VMs are being moved to other nodes");
	if (!job || !job_may_suspend(job))
		return conflict(error, task, "it is coming to its end");
	if (request->n == next)
		return true;
	what = g_strdup_printf("its next suspension is number %u, not %u", next, request->n);
	return conflict(error, task, what);
}

const struct task *scheduler_suspend_task(struct scheduler *scheduler, const char *id,
					  const char *n, const json_t *body, bool *ret_new,
					  GError **error)
{
	struct task *task = find_task(scheduler, id, error);
	struct task_suspend_request request;
	struct task_suspension *suspension;
	GError *cause = NULL;

	if (!task)
		return NULL;
	if (!task_suspend_request_parse(n, body, &request, &cause))
		return bad_body(error, cause);
	*ret_new = false;
	if (was_asked_to_suspend(task, &request))
		return task;
	if (!may_suspend(scheduler, task, &request, error))
		return NULL;
	suspension = task_suspension_new(request.n, task_placed(task), task->nodes_count,
					 clock_now_ns());
	suspension->attempt = request.attempt;
	suspension->keep = suspension->asked = request.keep;
	g_ptr_array_add(task->suspensions, suspension);
	task->state = TASK_SUSPENDING;
	if (!store_intent(scheduler, task, error)) {
		drop_suspension(task);
		task->refused_n = 0;
		task->state = TASK_RUNNING;
		return NULL;
	}
	*ret_new = true;
	job_suspend(g_hash_table_lookup(scheduler->jobs, id));
	return task;
}

static bool may_resume(struct scheduler *scheduler, const struct task *task,
		       const struct task_resume_request *request, GError **error)
{
	const struct job *job = g_hash_table_lookup(scheduler->jobs, task->id);
	g_autoptr(GError) cause = NULL;

	if (task->state != TASK_SUSPENDED || !job)
		return conflict(error, task, "only a suspended task can be resumed");
	if (request->n != task->suspensions->len)
		return conflict(error, task, "another suspension is its last one");
	if (request->count != task->nodes_count)
		return conflict(error, task, "it has another number of nodes");
	if (!nodes_ready(scheduler, request->nodes, request->count, error))
		return false;
	if (!job_match_nodes(job, request->nodes, &cause))
		return conflict(error, task, cause->message);
	return true;
}

const struct task *scheduler_resume_task(struct scheduler *scheduler, const char *id,
					 const char *n, const json_t *body, bool *ret_new,
					 GError **error)
{
	struct task *task = find_task(scheduler, id, error);
	struct task_resume_request request = {0};
	g_autofree uint32_t *nodes = NULL;
	struct task_suspension *last;
	GError *cause = NULL;

	if (!task)
		return NULL;
	if (!task_resume_request_parse(n, body, scheduler->cluster->nodes, &request, &cause))
		return bad_body(error, cause);
	nodes = request.nodes;
	last = task_last_suspension(task);
	*ret_new = false;
	if (last && (request.n < last->n ||
		     (request.n == last->n && request.attempt <= last->resume_attempt)))
		return task;
	if (!may_resume(scheduler, task, &request, error))
		return NULL;
	last->resume_attempt = request.attempt;
	last->resumed_nodes = g_steal_pointer(&nodes);
	last->resume_requested_ns = clock_now_ns();
	task->state = TASK_RESUMING;
	if (!store_intent(scheduler, task, error)) {
		task_suspension_undo(last);
		last->resume_attempt--;
		task->state = TASK_SUSPENDED;
		return NULL;
	}
	*ret_new = true;
	job_resume(g_hash_table_lookup(scheduler->jobs, id));
	return task;
}

/* Migrating. */

/* What is known of a request, or of a later try; NULL: nothing. */
static const struct task_migration *known_migration(const struct task *task,
						    const struct task_resume_request *request)
{
	const struct task_migration *known = task->unmoved;

	if (known && known->n == request->n && known->attempt >= request->attempt)
		return known;
	for (guint i = 0; i < task->migrations->len; i++) {
		known = task->migrations->pdata[i];
		if (known->n == request->n && known->attempt >= request->attempt)
			return known;
	}
	return NULL;
}

static bool is_one_of(const uint32_t *nodes, uint32_t count, uint32_t node)
{
	for (uint32_t i = 0; i < count; i++)
		if (nodes[i] == node)
			return true;
	return false;
}

/* Those that are the task's already need not be ready. */
static bool targets_ready(struct scheduler *scheduler, const struct task *task,
			  const struct task_resume_request *request, GError **error)
{
	for (uint32_t i = 0; i < request->count; i++)
		if (!is_one_of(task_placed(task), task->nodes_count, request->nodes[i]) &&
		    !nodes_ready(scheduler, &request->nodes[i], 1, error))
			return false;
	return true;
}

static bool may_migrate(struct scheduler *scheduler, const struct task *task,
			const struct task_resume_request *request, GError **error)
{
	const struct job *job = g_hash_table_lookup(scheduler->jobs, task->id);
	uint32_t next = task->migrations->len + 1;
	g_autofree char *what = NULL;
	g_autoptr(GError) cause = NULL;

	if (task->state != TASK_RUNNING)
		return conflict(error, task, "only VMs of a running task can be moved");
	if (task_is_migrating(task))
		return conflict(error, task, "its VMs are being moved already");
	if (!job || !job_may_suspend(job))
		return conflict(error, task, "it is coming to its end");
	what = g_strdup_printf("its next migration is number %u, not %u", next, request->n);
	if (request->n != next)
		return conflict(error, task, what);
	if (request->count != task->nodes_count)
		return conflict(error, task, "it has another number of nodes");
	if (!targets_ready(scheduler, task, request, error))
		return false;
	if (!job_match_targets(job, request->nodes, &cause))
		return conflict(error, task, cause->message);
	return true;
}

const struct task *scheduler_migrate_task(struct scheduler *scheduler, const char *id,
					  const char *n, const json_t *body, bool *ret_new,
					  GError **error)
{
	struct task *task = find_task(scheduler, id, error);
	struct task_resume_request request = {0};
	g_autofree uint32_t *nodes = NULL;
	const struct task_migration *known;
	struct task_migration *migration;
	GError *cause = NULL;

	if (!task)
		return NULL;
	if (!task_resume_request_parse(n, body, scheduler->cluster->nodes, &request, &cause))
		return bad_body(error, cause);
	nodes = request.nodes;
	*ret_new = false;
	known = known_migration(task, &request);
	if (known && known->attempt == request.attempt &&
	    !task_migration_goes_to(known, nodes, request.count)) {
		conflict(error, task, "this migration is known with other nodes");
		return NULL;
	}
	if (known)
		return task;
	if (!may_migrate(scheduler, task, &request, error))
		return NULL;
	migration = task_migration_new(request.n, task_placed(task), nodes, request.count,
				       clock_now_ns());
	migration->attempt = request.attempt;
	g_ptr_array_add(task->migrations, migration);
	if (!store_intent(scheduler, task, error)) {
		g_ptr_array_remove_index(task->migrations, task->migrations->len - 1);
		return NULL;
	}
	*ret_new = true;
	job_migrate(g_hash_table_lookup(scheduler->jobs, id));
	return task;
}

/* Sharing. */

static bool may_share(struct scheduler *scheduler, const struct task *task, GError **error)
{
	const struct job *job = g_hash_table_lookup(scheduler->jobs, task->id);

	if (task->state != TASK_RUNNING)
		return conflict(error, task, "only a running task can be given a share");
	if (task_is_migrating(task))
		return conflict(error, task, "its VMs are being moved to other nodes");
	return (job && job_may_suspend(job)) ||
	       conflict(error, task, "it is coming to its end");
}

const struct task *scheduler_share_task(struct scheduler *scheduler, const char *id, const char *n,
					const json_t *body, bool *ret_new, GError **error)
{
	struct task *task = find_task(scheduler, id, error);
	struct task before;
	GError *cause = NULL;
	uint32_t number;
	double share;

	if (!task)
		return NULL;
	if (!task_share_request_parse(n, body, &number, &share, &cause))
		return bad_body(error, cause);
	*ret_new = false;
	if (number <= task->share_n)
		return task;
	if (!may_share(scheduler, task, error))
		return NULL;
	before = *task;
	task->share_n = number;
	task->share = share;
	task->share_requested_ns = clock_now_ns();
	task->share_set_ns = 0;
	task->given_cores = task->asked_cores = (double)NAN;
	if (!store_intent(scheduler, task, error)) {
		*task = before;
		return NULL;
	}
	*ret_new = true;
	job_share(g_hash_table_lookup(scheduler->jobs, id));
	return task;
}

const struct task *scheduler_task(const struct scheduler *scheduler, const char *id)
{
	return g_hash_table_lookup(scheduler->by_id, id);
}

GPtrArray *scheduler_tasks(const struct scheduler *scheduler)
{
	return scheduler->tasks;
}

struct task_store *scheduler_store(const struct scheduler *scheduler)
{
	return scheduler->settings.store;
}

/* Answers. */

/* Type and reason over all hosts: the same, or "mixed". */
static void describe_virt_type(const struct scheduler *scheduler, json_t *object)
{
	const struct virt_type *first = NULL;
	const char *name = "unknown";
	const char *reason = "no host was reached yet";

	for (uint32_t i = 0; i < scheduler->sites_count; i++) {
		const struct virt_type *type = site_virt_type(scheduler->sites[i]);

		if (type && first && !g_str_equal(type->name, first->name)) {
			name = "mixed";
			reason = "the hosts differ";
			break;
		}
		if (type && !first) {
			first = type;
			name = type->name;
			reason = type->reason;
		}
	}
	json_object_set_new(object, "virt_type", json_string(name));
	json_object_set_new(object, "virt_reason", json_string(reason));
}

/* A version that all hosts share, "mixed", or NULL where none is known. */
static const char *common_version(const char *common, const char *one)
{
	return common && one && !g_str_equal(common, one) ? "mixed" : one ?: common;
}

/* What each host is, and what all of them run. */
static void describe_hosts(const struct scheduler *scheduler, json_t *object)
{
	json_t *hosts = json_object();
	const char *libvirt = NULL;
	const char *qemu = NULL;

	for (uint32_t i = 0; i < scheduler->sites_count; i++) {
		const struct host_about *about = site_about(scheduler->sites[i]);

		if (!about)
			continue;
		json_object_set(hosts, host_name(site_host(scheduler->sites[i])), about->facts);
		libvirt = common_version(libvirt, about->libvirt);
		qemu = common_version(qemu, about->hypervisor);
	}
	json_object_set_new(object, "hosts", hosts);
	json_object_set_new(object, "libvirt", libvirt ? json_string(libvirt) : json_null());
	json_object_set_new(object, "qemu", qemu ? json_string(qemu) : json_null());
}

static bool all_were_ready(const struct scheduler *scheduler)
{
	for (uint32_t i = 0; i < scheduler->cluster->nodes; i++)
		if (!scheduler->was_ready[i])
			return false;
	return true;
}

static bool all_are_pinned(const struct scheduler *scheduler)
{
	for (uint32_t i = 0; i < scheduler->sites_count; i++)
		if (!site_pinned(scheduler->sites[i]))
			return false;
	return true;
}

/* A lab's meters answer with the watts of a model, and a host may have a model for a meter. */
static bool has_modelled_watts(const struct scheduler *scheduler)
{
	for (uint32_t i = 0; i < scheduler->cluster->hosts_count; i++) {
		const struct config_host *host = &scheduler->cluster->hosts[i];

		if (host->blade || (host->meter && host->meter->kind == CONFIG_METER_MODEL))
			return true;
	}
	return false;
}

json_t *scheduler_capabilities(const struct scheduler *scheduler)
{
	g_autofree char *boot_id = clock_boot_id();
	json_t *object = json_object();

	json_object_set_new(object, "cluster", json_string(scheduler->cluster->name));
	json_object_set_new(object, "version", json_string(VIRTBED_VERSION));
	json_object_set_new(object, "boot_id", json_string(boot_id));
	json_object_set_new(object, "incarnation",
			    json_string(task_store_incarnation(scheduler->settings.store)));
	describe_virt_type(scheduler, object);
	describe_hosts(scheduler, object);
	json_object_set_new(object, "pinned", json_boolean(all_are_pinned(scheduler)));
	json_object_set_new(object, "cpu_cap", json_string(scheduler->cap.ops->name));
	json_object_set_new(object, "cpu_cap_note", json_string(scheduler->cap.ops->note));
	json_object_set_new(object, "cpu_cap_fraction", json_real(scheduler->cap.fraction));
	json_object_set_new(object, "caps_effective",
			    json_string(host_caps_effective(scheduler->caps)));
	json_object_set_new(object, "meter", json_string(power_source(scheduler->power)));
	json_object_set_new(object, "modelled_watts", json_boolean(has_modelled_watts(scheduler)));
	json_object_set_new(object, "ready", json_boolean(all_were_ready(scheduler)));
	return object;
}

static json_t *text_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

/* What caps the node's host, and the node. */
static json_t *node_caps(const struct scheduler *scheduler, uint32_t node)
{
	const enum machine_state state = node_state(pool_node(scheduler->pool, node));

	return host_caps_json(scheduler->caps, pool_host_of_node(scheduler->pool, node),
			      &scheduler->node_caps[node],
			      state == MACHINE_READY || state == MACHINE_BUSY ||
				      state == MACHINE_HELD);
}

static json_t *node_json(const struct scheduler *scheduler, uint32_t index)
{
	const struct node *node = pool_node(scheduler->pool, index);
	const struct machine *machine = node_machine(node);
	json_t *item = json_object();

	json_object_set_new(item, "index", json_integer(index));
	json_object_set_new(item, "name", json_string(node_name(node)));
	json_object_set_new(item, "host", json_string(host_name(site_host(node_site(node)))));
	json_object_set_new(item, "state", json_string(node_public_state(node)));
	json_object_set_new(item, "step", json_string(machine_state_name(node_state(node))));
	json_object_set_new(item, "vm", text_or_null(machine ? machine_domain(machine) : NULL));
	json_object_set_new(item, "task", text_or_null(machine ? machine_task(machine) : NULL));
	json_object_set_new(item, "reason", text_or_null(node_reason(node)));
	json_object_set_new(item, "boot_s", json_real(machine ? machine_boot_s(machine) : 0));
	json_object_set_new(item, "caps", node_caps(scheduler, index));
	return item;
}

json_t *scheduler_nodes(const struct scheduler *scheduler)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < scheduler->cluster->nodes; i++)
		json_array_append_new(array, node_json(scheduler, i));
	return json_pack("{s:o, s:i}", "nodes", array, "spares_booting",
			 (int)pool_spares_booting(scheduler->pool));
}

json_t *scheduler_energy(const struct scheduler *scheduler)
{
	return power_energy_json(scheduler->power);
}

json_t *scheduler_samples(const struct scheduler *scheduler, uint64_t after)
{
	return power_samples_json(scheduler->power, after);
}

void scheduler_listen(struct scheduler *scheduler, void (*tell)(void *data), void *data)
{
	scheduler->changed = tell;
	scheduler->changed_data = data;
}

/* Starting. */

static bool check_config(const struct scheduler *scheduler, GError **error)
{
	const struct config_cluster *cluster = scheduler->cluster;

	if (cluster->hosts_count == 0 || cluster->nodes >= DOMAIN_NODES_MAX ||
	    cluster->hosts_count > cluster->nodes || cluster->cores > DOMAIN_CORES_MAX ||
	    scheduler->settings.cluster >= DOMAIN_CLUSTERS_MAX) {
		g_set_error(error, SCHEDULER_ERROR, SCHEDULER_ERROR_CONFIG,
			    "cluster '%s': a local scheduler serves 1 to %d nodes of 1 to %d cores "
			    "on at least one host, and no more hosts than nodes",
			    cluster->name, DOMAIN_NODES_MAX - 1, DOMAIN_CORES_MAX);
		return false;
	}
	for (uint32_t i = 0; i < cluster->hosts_count; i++) {
		if (!cluster->hosts[i].uri) {
			g_set_error(error, SCHEDULER_ERROR, SCHEDULER_ERROR_CONFIG,
				    "cluster '%s': host '%s' has no libvirt URI; give `uri`, or "
				    "bring the lab up",
				    cluster->name, cluster->hosts[i].name);
			return false;
		}
	}
	return true;
}

static void lose(struct task *task, const char *reason)
{
	task->state = TASK_ENDED;
	task->outcome = TASK_OUTCOME_LOST;
	g_free(task->reason);
	task->reason = g_strdup(reason);
	task->ended_ns = clock_now_ns();
	if (task_last_suspension(task) && task_last_suspension(task)->frozen_ns == 0)
		drop_suspension(task);
	drop_unmoved(task);
}

/*
 * Tasks of the past; those that ran, were suspended or waited for their turn when the predecessor died are
 * lost. (A turn that comes as soon as a VM was adopted would take the last words of the ranks that were
 * killed in it for its own.)
 */
static bool load_tasks(struct scheduler *scheduler, GError **error)
{
	g_autoptr(GError) cause = NULL;
	GPtrArray *tasks = task_store_load(scheduler->settings.store, &cause);

	if (!tasks) {
		g_set_error_literal(error, SCHEDULER_ERROR, SCHEDULER_ERROR_CONFIG,
				    cause->message);
		return false;
	}
	scheduler->tasks = tasks;
	for (guint i = 0; i < tasks->len; i++) {
		struct task *task = tasks->pdata[i];

		g_hash_table_insert(scheduler->by_id, task->id, task);
		if (task->state == TASK_ENDED)
			continue;
		lose(task, task->state == TASK_SUSPENDED ?
				   "the local scheduler died while the task was suspended" :
			   task->state == TASK_QUEUED ?
				   "the local scheduler died before its turn came" :
				   "the local scheduler died while the task ran");
		log_warning("task '%s': lost: %s", task->id, task->reason);
		task_store_update(scheduler->settings.store, task, "task-ended");
	}
	return true;
}

static bool start_power(struct scheduler *scheduler, GError **error)
{
	const struct config_cluster *cluster = scheduler->cluster;
	g_autofree struct power_host *hosts = g_new0(struct power_host, cluster->hosts_count);
	g_autofree char *journal =
		g_build_filename(scheduler->settings.state_directory, "power.journal", NULL);

	for (uint32_t i = 0; i < cluster->hosts_count; i++)
		hosts[i] = (struct power_host){.name = cluster->hosts[i].name,
					       .meter = cluster->hosts[i].meter};
	scheduler->power = power_new(hosts, cluster->hosts_count, journal, on_meter, scheduler,
				     error);
	return scheduler->power != NULL;
}

static void create_sites(struct scheduler *scheduler)
{
	const struct scheduler_settings *settings = &scheduler->settings;

	scheduler->sites_count = scheduler->cluster->hosts_count;
	scheduler->sites = g_new0(struct site *, scheduler->sites_count);
	scheduler->sources = g_new0(struct usage_source, scheduler->sites_count);
	for (uint32_t i = 0; i < scheduler->sites_count; i++) {
		const struct site_settings site = {
			.host = &scheduler->cluster->hosts[i],
			.cluster = scheduler->cluster,
			.cluster_index = settings->cluster,
			.image = settings->image,
			.prefix = scheduler->prefix,
			.virt_type = settings->virt_type,
		};

		scheduler->sites[i] = site_new(&site);
		scheduler->sources[i] = (struct usage_source){
			.host = site_host(scheduler->sites[i]),
			.account = cpu_account_new(),
			.power = scheduler->power,
		};
	}
}

/* The number of the cluster's first VM among those of all clusters. */
static uint32_t first_vm(const struct scheduler *scheduler)
{
	uint32_t vms = 0;

	for (uint32_t i = 0; i < scheduler->settings.cluster; i++)
		vms += scheduler->settings.config->clusters[i].nodes;
	return vms;
}

static char *home_of_vm(uint32_t number, void *data)
{
	return task_store_host(((struct scheduler *)data)->settings.store, number);
}

static char *other_home_of_vm(uint32_t number, void *data)
{
	return task_store_expected_host(((struct scheduler *)data)->settings.store, number);
}

static bool on_vm_moves(uint32_t number, const char *host, void *data)
{
	return task_store_expect_host(((struct scheduler *)data)->settings.store, number, host);
}

static void on_vm_moved(uint32_t number, const char *host, void *data)
{
	task_store_keep_host(((struct scheduler *)data)->settings.store, number, host);
}

static void create_pool(struct scheduler *scheduler)
{
	uint32_t count = scheduler->cluster->nodes;
	const uint32_t first = first_vm(scheduler);
	const struct pool_settings settings = {
		.cluster = scheduler->cluster,
		.cluster_index = scheduler->settings.cluster,
		.prefix = scheduler->prefix,
		.sites = scheduler->sites,
		.caps = scheduler->node_caps = g_new0(struct cpu_cap, count),
		.queue = scheduler->boots,
		.boot_timeout_s = scheduler->settings.boot_timeout_s,
		.home = home_of_vm,
		.other_home = other_home_of_vm,
		.moves = on_vm_moves,
		.moved = on_vm_moved,
		.data = scheduler,
	};

	for (uint32_t i = 0; i < count; i++)
		scheduler->node_caps[i] = cpu_cap_for_vm(&scheduler->cap, first + i);
	scheduler->was_ready = g_new0(bool, count);
	scheduler->pool = pool_new(&settings, &node_events, scheduler);
}

struct scheduler *scheduler_new(const struct scheduler_settings *settings, GError **error)
{
	g_autoptr(scheduler_t) scheduler = g_new0(struct scheduler, 1);

	scheduler->settings = *settings;
	scheduler->cluster = &settings->config->clusters[settings->cluster];
	scheduler->prefix = g_strdup_printf("virtbed-%s-%s-", settings->config->name,
					    scheduler->cluster->name);
	scheduler->by_id = g_hash_table_new(g_str_hash, g_str_equal);
	scheduler->jobs = g_hash_table_new(g_str_hash, g_str_equal);
	scheduler->queue = task_queue_new();
	scheduler->boots = boot_queue_new(BOOTS_AT_ONCE);
	cpu_cap_init(&scheduler->cap, scheduler->cluster);
	if (!check_config(scheduler, error) || !load_tasks(scheduler, error) ||
	    !start_power(scheduler, error))
		return NULL;
	scheduler->caps = host_caps_new(scheduler->cluster, settings->state_directory,
					&scheduler->cap, error);
	if (!scheduler->caps)
		return NULL;
	create_sites(scheduler);
	create_pool(scheduler);
	scheduler->flush_source = g_timeout_add_seconds(FLUSH_INTERVAL_S, flush, scheduler);
	record(scheduler, "scheduler-started", -1, NULL, NULL, clock_now_ns());
	return g_steal_pointer(&scheduler);
}

/* Stopping. */

static void end_stop(struct scheduler *scheduler)
{
	void (*stopped)(bool clean, void *data) = g_steal_pointer(&scheduler->stopped);

	g_clear_handle_id(&scheduler->stop_source, g_source_remove);
	if (scheduler->clean)
		task_store_forget_hosts(scheduler->settings.store);
	if (stopped)
		stopped(scheduler->clean, scheduler->stopped_data);
}

static gboolean stop_expired(gpointer data)
{
	struct scheduler *scheduler = data;

	scheduler->stop_source = 0;
	scheduler->clean = false;
	log_error("hosts did not answer within %d s: VMs may be left; remove those named %s*",
		  STOP_LIMIT_S, scheduler->prefix);
	end_stop(scheduler);
	return G_SOURCE_REMOVE;
}

static void site_cleaned(struct site *site, const GError *error, void *data)
{
	struct scheduler *scheduler = data;

	if (error) {
		scheduler->clean = false;
		log_error("host '%s': %s: VMs may be left; remove those named %s*",
			  host_name(site_host(site)), error->message, scheduler->prefix);
	}
	if (--scheduler->stops_pending == 0)
		end_stop(scheduler);
}

static void drop_jobs(struct scheduler *scheduler)
{
	GHashTableIter iter;
	gpointer job;

	for (guint i = 0; i < scheduler->tasks->len; i++) {
		struct task *queued = scheduler->tasks->pdata[i];

		if (queued->state == TASK_QUEUED)
			end_queued(scheduler, queued, TASK_OUTCOME_LOST,
				   "the local scheduler was stopped");
	}
	g_hash_table_iter_init(&iter, scheduler->jobs);
	while (g_hash_table_iter_next(&iter, NULL, &job)) {
		struct task *task = job_task(job);

		lose(task, "the local scheduler was stopped");
		record_task(scheduler, task, "task-ended");
		g_hash_table_iter_steal(&iter);
		job_free(job);
	}
}

void scheduler_stop(struct scheduler *scheduler, void (*done)(bool clean, void *data), void *data)
{
	if (scheduler->stopping)
		return;
	scheduler->stopping = true;
	scheduler->clean = true;
	scheduler->stopped = done;
	scheduler->stopped_data = data;
	scheduler->stops_pending = scheduler->sites_count;
	scheduler->stop_source = g_timeout_add_seconds(STOP_LIMIT_S, stop_expired, scheduler);
	pool_stop(scheduler->pool);
	drop_jobs(scheduler);
	for (uint32_t i = 0; i < scheduler->sites_count; i++)
		site_clean(scheduler->sites[i], site_cleaned, scheduler);
}

void scheduler_free(struct scheduler *scheduler)
{
	if (!scheduler)
		return;
	g_clear_handle_id(&scheduler->flush_source, g_source_remove);
	g_clear_handle_id(&scheduler->turn_source, g_source_remove);
	g_clear_handle_id(&scheduler->stop_source, g_source_remove);
	power_free(scheduler->power);
	host_caps_free(scheduler->caps);
	for (uint32_t i = 0; i < scheduler->sites_count; i++) {
		site_free(scheduler->sites[i]);
		cpu_account_free(scheduler->sources[i].account);
	}
	pool_free(scheduler->pool);
	g_free(scheduler->sites);
	g_free(scheduler->sources);
	g_free(scheduler->node_caps);
	g_free(scheduler->was_ready);
	boot_queue_free(scheduler->boots);
	task_queue_free(scheduler->queue);
	g_hash_table_destroy(scheduler->jobs);
	g_hash_table_destroy(scheduler->by_id);
	if (scheduler->tasks)
		g_ptr_array_unref(scheduler->tasks);
	g_free(scheduler->prefix);
	g_free(scheduler);
}
