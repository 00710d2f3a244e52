/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/scheduler.h"

#include "common/clock.h"
#include "common/json.h"
#include "local-sched/scheduler_private.h"

#define LOG_SUBSYSTEM "scheduler"
#include "common/log.h"

#define BOOTS_AT_ONCE 2
#define STOP_LIMIT_S 20
#define FLUSH_INTERVAL_S 2

G_DEFINE_QUARK(virtbed-scheduler, scheduler_error)

/* Events. */

static void changed(struct scheduler *scheduler)
{
	if (scheduler->changed)
		scheduler->changed(scheduler->changed_data);
}

void scheduler_record(struct scheduler *scheduler, const char *kind, int64_t node, const char *host,
		      json_t *detail, int64_t t_ns)
{
	task_store_event(scheduler->settings.store, kind, t_ns, NULL, node, host, detail);
	changed(scheduler);
}

void scheduler_record_task(struct scheduler *scheduler, const struct task *task, const char *kind)
{
	task_store_update(scheduler->settings.store, task, kind);
	changed(scheduler);
}

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
	scheduler_record(scheduler, "node-ready", node_index(node),
			 host_name(site_host(node_site(node))), detail, clock_now_ns());
	scheduler_look_for_turns(scheduler);
}

static void on_node_down(struct node *node, const char *reason, void *data)
{
	struct scheduler *scheduler = data;
	g_autoptr(json_t) detail = json_object();

	json_object_set_new(detail, "reason", json_string(reason ? reason : "not known"));
	scheduler_record(scheduler, "node-down", node_index(node),
			 host_name(site_host(node_site(node))), detail, clock_now_ns());
}

/* Tasks may wait for other VMs on the nodes that they leave. */
static void on_node_settled(struct node *node, void *data)
{
	struct scheduler *scheduler = data;
	GList *list = g_hash_table_get_values(scheduler->jobs);

	for (const GList *link = list; link; link = link->next)
		job_node_settled(link->data);
	g_list_free(list);
	scheduler_look_for_turns(scheduler);
}

static const struct node_events node_events = {
	.ready = on_node_ready, .down = on_node_down, .settled = on_node_settled};

static void on_meter(const char *host, bool lost, const char *reason, int64_t t_ns, void *data)
{
	g_autoptr(json_t) detail = json_object();

	if (reason)
		json_object_set_new(detail, "reason", json_string(reason));
	scheduler_record(data, lost ? "meter-lost" : "meter-back", -1, host, detail, t_ns);
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
		scheduler_drop_suspension(task);
	scheduler_drop_unmoved(task);
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
	scheduler_record(scheduler, "scheduler-started", -1, NULL, NULL, clock_now_ns());
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
			scheduler_end_queued(scheduler, queued, TASK_OUTCOME_LOST,
					     "the local scheduler was stopped");
	}
	g_hash_table_iter_init(&iter, scheduler->jobs);
	while (g_hash_table_iter_next(&iter, NULL, &job)) {
		struct task *task = job_task(job);

		lose(task, "the local scheduler was stopped");
		scheduler_record_task(scheduler, task, "task-ended");
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
