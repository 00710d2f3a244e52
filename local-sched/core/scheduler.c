/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/core/scheduler.h"

#include "common/json.h"
#include "common/platform.h"
#include "local-sched/core/scheduler_private.h"

#define LOG_SUBSYSTEM "scheduler"
#include "common/log.h"

/* not a whole number of seconds, whose timers expire in all processes at once (GLib) */
#define FLUSH_INTERVAL_MS 2000

G_DEFINE_QUARK(virtbed_scheduler, scheduler_error)

/* Events. */

static gboolean flush(gpointer data)
{
	struct scheduler *scheduler = data;

	task_store_flush(scheduler->settings.store);
	return G_SOURCE_CONTINUE;
}

static const char *host_of_node(const struct scheduler *scheduler, uint32_t node)
{
	return scheduler->cluster->hosts[config_cluster_host(scheduler->cluster, node)].name;
}

static void on_node_ready(uint32_t node, double boot_s, void *data)
{
	struct scheduler *scheduler = data;
	g_autoptr(json_t) detail = json_pack("{s:f}", "boot_s", boot_s);

	scheduler->was_ready[node] = true;
	scheduler_record(scheduler, "node-ready", node, host_of_node(scheduler, node), detail,
			 platform_now_ns(scheduler->settings.platform));
	scheduler_look_for_turns(scheduler);
}

static void on_node_down(uint32_t node, const char *reason, void *data)
{
	struct scheduler *scheduler = data;
	g_autoptr(json_t) detail = json_object();

	json_object_set_new(detail, "reason", json_string(reason ? reason : "not known"));
	scheduler_record(scheduler, "node-down", node, host_of_node(scheduler, node), detail,
			 platform_now_ns(scheduler->settings.platform));
}

static void on_settled(void *data)
{
	scheduler_look_for_turns(data);
}

static void on_refused(const char *reason, void *data)
{
	struct scheduler *scheduler = data;

	if (scheduler->refused && !scheduler->stopping)
		scheduler->refused(reason, scheduler->refused_data);
}

static const struct executor_events executor_events = {
	.node_ready = on_node_ready,
	.node_down = on_node_down,
	.settled = on_settled,
	.tasks =
		{
			.started = scheduler_task_started,
			.results = scheduler_task_results,
			.ended = scheduler_task_ended,
			.changed = scheduler_task_changed,
			.moved = scheduler_task_moved,
			.printed = scheduler_task_printed,
			.shared = scheduler_task_shared,
		},
	.refused = on_refused,
};

static void on_meter(const char *host, enum power_event event, const char *text, int64_t t_ns,
		     void *data)
{
	static const char *const kinds[] = {
		[POWER_EVENT_LOST] = "meter-lost",
		[POWER_EVENT_BACK] = "meter-back",
		[POWER_EVENT_PLACE_LOST] = "meter-place-lost",
		[POWER_EVENT_PLACE_FOUND] = "meter-place-found",
	};
	g_autoptr(json_t) detail = json_object();

	if (text)
		json_object_set_new(detail, event == POWER_EVENT_PLACE_FOUND ? "place" : "reason",
				    json_string(text));
	scheduler_record(data, kinds[event], -1, host, detail, t_ns);
}

void scheduler_listen(struct scheduler *scheduler, void (*tell)(void *data), void *data)
{
	scheduler->changed = tell;
	scheduler->changed_data = data;
}

void scheduler_on_refused(struct scheduler *scheduler,
			  void (*refused)(const char *reason, void *data), void *data)
{
	scheduler->refused = refused;
	scheduler->refused_data = data;
}

/* Starting. */

static bool check_config(const struct scheduler *scheduler, GError **error)
{
	const uint32_t index = scheduler->settings.cluster;
	g_autofree char *wrong = config_cluster_check_served(scheduler->settings.config, index);

	if (scheduler->cluster->hosts_count == 0)
		g_set_error(
			error, SCHEDULER_ERROR, SCHEDULER_ERROR_CONFIG,
			"clusters[%u] ('%s') has no hosts: a local scheduler needs at least one",
			index, scheduler->cluster->name);
	else if (wrong)
		g_set_error_literal(error, SCHEDULER_ERROR, SCHEDULER_ERROR_CONFIG, wrong);
	return scheduler->cluster->hosts_count > 0 && !wrong;
}

static void lose(const struct scheduler *scheduler, struct task *task, const char *reason)
{
	task_end(task, TASK_OUTCOME_LOST, reason, platform_now_ns(scheduler->settings.platform));
	scheduler_drop_open(task);
}

/*
 * Loads the tasks of the past. Those that ran, were suspended or waited for their turn when the
 * predecessor died are lost. (A task that started as soon as a VM was adopted would take the last
 * messages of ranks killed in it for its own.)
 */
static bool load_tasks(struct scheduler *scheduler, GError **error)
{
	g_autoptr(GError) cause = NULL;
	GPtrArray *tasks = task_store_load(scheduler->settings.store, &cause);

	if (!tasks) {
		g_set_error_literal(error, SCHEDULER_ERROR, SCHEDULER_ERROR_CONFIG, cause->message);
		return false;
	}
	scheduler->tasks = tasks;
	for (guint i = 0; i < tasks->len; i++) {
		struct task *task = tasks->pdata[i];

		g_hash_table_insert(scheduler->by_id, task->id, task);
		if (task->state == TASK_ENDED)
			continue;
		lose(scheduler, task,
		     task->state == TASK_SUSPENDED
			     ? "the local scheduler died while the task was suspended"
		     : task->state == TASK_QUEUED ? "the local scheduler died before its turn came"
						  : "the local scheduler died while the task ran");
		log_warning_of(LOG_LOCAL(task->id), "lost: %s", task->reason);
		task_store_update(scheduler->settings.store, task, "task-ended");
	}
	return true;
}

static struct power_meter *open_meter(uint32_t host, void *data)
{
	struct executor *executor = data;

	return executor->ops->meter(executor, host);
}

static bool runs_vm(const char *host, void *data)
{
	const struct scheduler *scheduler = data;

	for (uint32_t i = 0; i < scheduler->cluster->hosts_count; i++)
		if (g_str_equal(scheduler->cluster->hosts[i].name, host))
			return scheduler->executor->ops->runs_vm(scheduler->executor, i);
	return false;
}

static bool start_power(struct scheduler *scheduler, GError **error)
{
	const struct config_cluster *cluster = scheduler->cluster;
	g_autofree struct power_host *hosts = g_new0(struct power_host, cluster->hosts_count);
	g_autofree char *journal =
		g_build_filename(scheduler->settings.state_directory, "power.journal", NULL);

	for (uint32_t i = 0; i < cluster->hosts_count; i++)
		hosts[i] = (struct power_host){
			.name = cluster->hosts[i].name,
			.meter = cluster->hosts[i].meter,
			.open = scheduler->executor->ops->meter ? open_meter : NULL,
			.open_data = scheduler->executor,
		};
	scheduler->power = power_new(scheduler->settings.platform, hosts, cluster->hosts_count,
				     journal, on_meter, scheduler, error);
	return scheduler->power != NULL;
}

static bool open_executor(struct scheduler *scheduler, GError **error)
{
	const struct scheduler_settings *settings = &scheduler->settings;
	const struct executor_settings executor = {
		.platform = settings->platform,
		.config = settings->config,
		.cluster = settings->cluster,
		.state_directory = settings->state_directory,
		.store = settings->store,
		.image = settings->image,
		.virt_type = settings->virt_type,
		.boot_timeout_s = settings->boot_timeout_s,
		.events = &executor_events,
		.data = scheduler,
	};

	scheduler->executor = executor_find(scheduler->cluster)->open(&executor, error);
	return scheduler->executor != NULL;
}

static void read_cpu(uint32_t host, executor_cpu_f done, void *done_data, void *data)
{
	struct executor *executor = data;

	executor->ops->read_cpu(executor, host, done, done_data);
}

static void on_sample(uint32_t index, const struct sample_ring_entry *sample, void *data)
{
	host_usage_sampled(((struct scheduler *)data)->usage, index, sample);
}

static void watch_usage(struct scheduler *scheduler)
{
	scheduler->usage =
		host_usage_new(scheduler->cluster, scheduler->power, read_cpu, scheduler->executor);
	power_watch(scheduler->power, on_sample, scheduler);
}

const struct platform *scheduler_platform(const struct scheduler *scheduler)
{
	return scheduler->settings.platform;
}

struct scheduler *scheduler_new(const struct scheduler_settings *settings, GError **error)
{
	g_autoptr(scheduler_t) scheduler = g_new0(struct scheduler, 1);

	scheduler->settings = *settings;
	scheduler->cluster = &settings->config->clusters[settings->cluster];
	scheduler->by_id = g_hash_table_new(g_str_hash, g_str_equal);
	scheduler->queue = task_queue_new();
	scheduler->was_ready = g_new0(bool, scheduler->cluster->nodes);
	if (!check_config(scheduler, error) || !load_tasks(scheduler, error) ||
	    !open_executor(scheduler, error) || !start_power(scheduler, error))
		return NULL;
	scheduler_begin_retention(scheduler);
	scheduler->executor->ops->begin(scheduler->executor, scheduler->power);
	if (scheduler->executor->ops->runs_vm)
		power_ask_vms(scheduler->power, runs_vm, scheduler);
	watch_usage(scheduler);
	scheduler->flush_source = platform_after_ms(scheduler->settings.platform, FLUSH_INTERVAL_MS,
						    flush, scheduler);
	scheduler_record(scheduler, "scheduler-started", -1, NULL, NULL,
			 platform_now_ns(scheduler->settings.platform));
	return g_steal_pointer(&scheduler);
}

/* Stopping. */

static void drop_tasks(struct scheduler *scheduler)
{
	for (guint i = 0; i < scheduler->tasks->len; i++) {
		struct task *task = scheduler->tasks->pdata[i];

		if (task->state == TASK_ENDED)
			continue;
		if (task->state == TASK_QUEUED) {
			scheduler_end_queued(scheduler, task, TASK_OUTCOME_LOST,
					     "the local scheduler was stopped");
			continue;
		}
		lose(scheduler, task, "the local scheduler was stopped");
		scheduler_record_task(scheduler, task, "task-ended");
	}
}

void scheduler_stop(struct scheduler *scheduler, void (*done)(bool clean, void *data), void *data)
{
	if (scheduler->stopping)
		return;
	scheduler->stopping = true;
	scheduler->executor->ops->stop(scheduler->executor);
	drop_tasks(scheduler);
	scheduler->executor->ops->clean(scheduler->executor, done, data);
}

void scheduler_free(struct scheduler *scheduler)
{
	if (!scheduler)
		return;
	g_clear_handle_id(&scheduler->flush_source, g_source_remove);
	g_clear_handle_id(&scheduler->turn_source, g_source_remove);
	g_clear_handle_id(&scheduler->retention_source, g_source_remove);
	retention_free(scheduler->retention);
	power_free(scheduler->power);
	if (scheduler->executor)
		scheduler->executor->ops->free(scheduler->executor);
	host_usage_free(scheduler->usage);
	g_free(scheduler->was_ready);
	task_queue_free(scheduler->queue);
	g_hash_table_destroy(scheduler->by_id);
	if (scheduler->tasks)
		g_ptr_array_unref(scheduler->tasks);
	g_free(scheduler);
}
