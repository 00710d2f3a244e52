/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/scheduler.h"

#include <inttypes.h>
#include <string.h>

#include "common/clock.h"
#include "common/json.h"
#include "local-sched/cpu/cpu_cap.h"
#include "local-sched/cpu/host_caps.h"
#include "local-sched/hypervisor/node.h"
#include "local-sched/hypervisor/site.h"
#include "local-sched/launch/job.h"
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
	struct node **nodes;          /* by index */
	char **node_names;
	char **domain_names;
	bool *was_ready; /* by node */
	struct power *power;
	GPtrArray *tasks;    /* owned, oldest first */
	GHashTable *by_id;   /* id -> task */
	GHashTable *jobs;    /* id -> struct job */
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

static uint32_t site_of_node(const struct scheduler *scheduler, uint32_t node)
{
	return (uint32_t)((uint64_t)node * scheduler->sites_count / scheduler->cluster->nodes);
}

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

static gboolean flush(gpointer data)
{
	struct scheduler *scheduler = data;

	task_store_flush(scheduler->settings.store);
	return G_SOURCE_CONTINUE;
}

static void on_node_ready(struct node *node, void *data)
{
	struct scheduler *scheduler = data;
	g_autoptr(json_t) detail = json_pack("{s:f}", "boot_s", node_boot_s(node));

	scheduler->was_ready[node_index(node)] = true;
	record(scheduler, "node-ready", node_index(node), host_name(node_host(node)), detail,
	       clock_now_ns());
}

static void on_node_down(struct node *node, const char *reason, void *data)
{
	struct scheduler *scheduler = data;
	g_autoptr(json_t) detail = json_object();

	json_object_set_new(detail, "reason", json_string(reason ? reason : "not known"));
	record(scheduler, "node-down", node_index(node), host_name(node_host(node)), detail,
	       clock_now_ns());
}

static const struct node_events node_events = {.ready = on_node_ready, .down = on_node_down};

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
	record_task(scheduler, task, "task-ended");
}

static const struct job_events job_events = {.started = on_job_started, .ended = on_job_ended};

/* The hosts that a task is on, with its VMs on each. */
static GArray *usage_parts(struct scheduler *scheduler, const struct task *task)
{
	GArray *parts = g_array_new(FALSE, TRUE, sizeof(struct usage_part));
	g_autofree guint *place = g_new0(guint, scheduler->sites_count); /* index + 1 */

	for (uint32_t i = 0; i < task->nodes_count; i++) {
		uint32_t site = site_of_node(scheduler, task->nodes[i]);

		if (place[site] == 0) {
			struct usage_part part = {.source = &scheduler->sources[site],
						  .domains = g_ptr_array_new()};

			g_array_append_val(parts, part);
			place[site] = parts->len;
		}
		g_ptr_array_add(g_array_index(parts, struct usage_part, place[site] - 1).domains,
				scheduler->domain_names[task->nodes[i]]);
	}
	return parts;
}

static void start_job(struct scheduler *scheduler, struct task *task)
{
	const struct job_settings settings = {
		.task = task,
		.nodes = scheduler->nodes,
		.cores = scheduler->cluster->cores,
	};

	g_hash_table_insert(
		scheduler->jobs, task->id,
		job_start(&settings, usage_parts(scheduler, task), &job_events, scheduler));
}

/* Requests. */

static bool nodes_ready(struct scheduler *scheduler, const struct task *task, GError **error)
{
	for (uint32_t i = 0; i < task->nodes_count; i++) {
		const struct node *node = scheduler->nodes[task->nodes[i]];

		if (node_state(node) == NODE_READY)
			continue;
		g_set_error(error, SCHEDULER_ERROR, SCHEDULER_ERROR_CONFLICT,
			    "node %u is not ready: it is %s%s%s", task->nodes[i],
			    node_state_public_name(node_state(node)),
			    node_task(node) ? " with task " : "",
			    node_task(node) ? node_task(node) : "");
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
	if (!nodes_ready(scheduler, task, error) || !store_task(scheduler, task, error))
		return NULL;
	*ret_new = true;
	known = g_steal_pointer(&task);
	g_ptr_array_add(scheduler->tasks, known);
	g_hash_table_insert(scheduler->by_id, known->id, known);
	start_job(scheduler, known);
	return known;
}

const struct task *scheduler_delete_task(struct scheduler *scheduler, const char *id)
{
	struct job *job = g_hash_table_lookup(scheduler->jobs, id);

	if (job)
		job_kill(job, TASK_OUTCOME_KILLED, "killed by request");
	return scheduler_task(scheduler, id);
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
	json_object_set_new(object, "pinned", json_boolean(site_pinned(scheduler->sites[0])));
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
	const enum node_state state = node_state(scheduler->nodes[node]);

	return host_caps_json(scheduler->caps, site_of_node(scheduler, node),
			      &scheduler->node_caps[node],
			      state == NODE_READY || state == NODE_BUSY);
}

json_t *scheduler_nodes(const struct scheduler *scheduler)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < scheduler->cluster->nodes; i++) {
		const struct node *node = scheduler->nodes[i];
		json_t *item = json_object();

		json_object_set_new(item, "index", json_integer(i));
		json_object_set_new(item, "name", json_string(node_name(node)));
		json_object_set_new(item, "host", json_string(host_name(node_host(node))));
		json_object_set_new(item, "state",
				    json_string(node_state_public_name(node_state(node))));
		json_object_set_new(item, "step", json_string(node_state_name(node_state(node))));
		json_object_set_new(item, "task", text_or_null(node_task(node)));
		json_object_set_new(item, "reason", text_or_null(node_reason(node)));
		json_object_set_new(item, "boot_s", json_real(node_boot_s(node)));
		json_object_set_new(item, "caps", node_caps(scheduler, i));
		json_array_append_new(array, item);
	}
	return json_pack("{s:o}", "nodes", array);
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

	if (cluster->hosts_count == 0 || cluster->nodes > DOMAIN_NODES_MAX ||
	    cluster->hosts_count > cluster->nodes || cluster->cores > DOMAIN_CORES_MAX ||
	    scheduler->settings.cluster >= DOMAIN_CLUSTERS_MAX) {
		g_set_error(error, SCHEDULER_ERROR, SCHEDULER_ERROR_CONFIG,
			    "cluster '%s': a local scheduler serves 1 to %d nodes of 1 to %d cores "
			    "on at least one host, and no more hosts than nodes",
			    cluster->name, DOMAIN_NODES_MAX, DOMAIN_CORES_MAX);
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

/* Tasks of the past; those that ran when the predecessor died are lost. */
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
		task->state = TASK_ENDED;
		task->outcome = TASK_OUTCOME_LOST;
		g_free(task->reason);
		task->reason = g_strdup("the local scheduler died while the task ran");
		task->ended_ns = clock_now_ns();
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

static void create_nodes(struct scheduler *scheduler)
{
	uint32_t count = scheduler->cluster->nodes;
	const uint32_t first = first_vm(scheduler);

	scheduler->nodes = g_new0(struct node *, count);
	scheduler->node_caps = g_new0(struct cpu_cap, count);
	scheduler->node_names = g_new0(char *, count + 1);
	scheduler->domain_names = g_new0(char *, count + 1);
	scheduler->was_ready = g_new0(bool, count);
	for (uint32_t i = 0; i < count; i++) {
		struct site *site = scheduler->sites[site_of_node(scheduler, i)];
		struct node_settings settings = {
			.index = i,
			.host = site_host(site),
			.queue = scheduler->boots,
			.cap = &scheduler->node_caps[i],
			.boot_timeout_s = scheduler->settings.boot_timeout_s,
		};

		scheduler->node_caps[i] = cpu_cap_for_vm(&scheduler->cap, first + i);
		scheduler->node_names[i] = g_strdup_printf("%s-n%u", scheduler->cluster->name, i);
		scheduler->domain_names[i] = g_strdup_printf("%sn%u", scheduler->prefix, i);
		settings.name = scheduler->node_names[i];
		settings.domain = scheduler->domain_names[i];
		scheduler->nodes[i] =
			node_new(&settings, scheduler->cluster->cores, &node_events, scheduler);
		site_add_node(site, scheduler->nodes[i]);
	}
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
	create_nodes(scheduler);
	scheduler->flush_source = g_timeout_add_seconds(FLUSH_INTERVAL_S, flush, scheduler);
	record(scheduler, "scheduler-started", -1, NULL, NULL, clock_now_ns());
	return g_steal_pointer(&scheduler);
}

/* Stopping. */

static void end_stop(struct scheduler *scheduler)
{
	void (*stopped)(bool clean, void *data) = g_steal_pointer(&scheduler->stopped);

	g_clear_handle_id(&scheduler->stop_source, g_source_remove);
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

	g_hash_table_iter_init(&iter, scheduler->jobs);
	while (g_hash_table_iter_next(&iter, NULL, &job)) {
		struct task *task = job_task(job);

		task->state = TASK_ENDED;
		task->outcome = TASK_OUTCOME_LOST;
		g_free(task->reason);
		task->reason = g_strdup("the local scheduler was stopped");
		task->ended_ns = clock_now_ns();
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
	for (uint32_t i = 0; i < scheduler->cluster->nodes; i++)
		node_freeze(scheduler->nodes[i]);
	drop_jobs(scheduler);
	for (uint32_t i = 0; i < scheduler->sites_count; i++)
		site_clean(scheduler->sites[i], site_cleaned, scheduler);
}

void scheduler_free(struct scheduler *scheduler)
{
	if (!scheduler)
		return;
	g_clear_handle_id(&scheduler->flush_source, g_source_remove);
	g_clear_handle_id(&scheduler->stop_source, g_source_remove);
	power_free(scheduler->power);
	host_caps_free(scheduler->caps);
	for (uint32_t i = 0; i < scheduler->sites_count; i++) {
		site_free(scheduler->sites[i]);
		cpu_account_free(scheduler->sources[i].account);
	}
	for (uint32_t i = 0; scheduler->nodes && i < scheduler->cluster->nodes; i++)
		node_free(scheduler->nodes[i]);
	g_free(scheduler->sites);
	g_free(scheduler->sources);
	g_free(scheduler->nodes);
	g_free(scheduler->node_caps);
	g_strfreev(scheduler->node_names);
	g_strfreev(scheduler->domain_names);
	g_free(scheduler->was_ready);
	boot_queue_free(scheduler->boots);
	g_hash_table_destroy(scheduler->jobs);
	g_hash_table_destroy(scheduler->by_id);
	if (scheduler->tasks)
		g_ptr_array_unref(scheduler->tasks);
	g_free(scheduler->prefix);
	g_free(scheduler);
}
