/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The executor for VMs under libvirt: the cluster's hosts, its nodes and their VMs, and a job for
 * each task.
 */
#include "common/error_fail.h"
#include "common/json.h"
#include "common/platform.h"
#include "local-sched/executor/executor.h"
#include "local-sched/executor/libvirt_about.h"
#include "local-sched/executor/libvirt_cpu.h"
#include "local-sched/cpu/cpu_cap.h"
#include "local-sched/cpu/host_caps.h"
#include "local-sched/hypervisor/pool.h"
#include "local-sched/hypervisor/vm_host.h"
#include "local-sched/launch/job.h"

#define LOG_SUBSYSTEM "scheduler"
#include "common/log.h"

#define BOOTS_AT_ONCE 2
#define CLEAN_LIMIT_S 20

struct executor_libvirt {
	struct executor base;
	struct executor_settings settings;
	const struct config_cluster *cluster;
	char *prefix;              /* of VM names */
	struct cpu_cap cap;        /* of all nodes */
	struct cpu_cap *node_caps; /* by index */
	struct host_caps *caps;
	struct boot_queue *boots;
	uint32_t sites_count;
	struct vm_host **vm_hosts;
	struct usage_source *sources; /* by vm_host */
	struct libvirt_cpu *cpus;     /* by vm_host */
	struct pool *pool;            /* nodes and VMs */
	GHashTable *jobs;             /* task id -> struct job */
	struct patience *patience;    /* learned from ranks that were silent */
	/* During the cleanup. */
	bool clean;
	uint32_t cleans_pending;
	guint clean_source;
	void (*cleaned)(bool clean, void *data);
	void *cleaned_data;
};

static struct executor_libvirt *of(const struct executor *executor)
{
	return (struct executor_libvirt *)executor;
}

static struct job *job_of(const struct executor *executor, const struct task *task)
{
	return g_hash_table_lookup(of(executor)->jobs, task->id);
}

static struct node *node_at(const struct executor *executor, uint32_t index)
{
	return pool_node(of(executor)->pool, index);
}

/* Events of nodes. */

static void on_node_ready(struct node *node, void *data)
{
	const struct executor_libvirt *executor = data;

	executor->settings.events->node_ready(node_index(node), vm_boot_s(node_vm(node)),
					      executor->settings.data);
}

static void on_node_down(struct node *node, const char *reason, void *data)
{
	const struct executor_libvirt *executor = data;

	executor->settings.events->node_down(node_index(node), reason, executor->settings.data);
}

/* Tasks may wait for the next VMs on the nodes. */
static void on_node_settled(struct node *node, void *data)
{
	const struct executor_libvirt *executor = data;
	GList *list = g_hash_table_get_values(executor->jobs);

	for (const GList *link = list; link; link = link->next)
		job_node_settled(link->data);
	g_list_free(list);
	executor->settings.events->settled(executor->settings.data);
}

static const struct node_events node_events = {.ready = on_node_ready,
					       .down = on_node_down,
					       .settled = on_node_settled};

static void release_job(struct job *job, void *owner)
{
	const struct executor_libvirt *executor = owner;

	g_hash_table_remove(executor->jobs, job_task(job)->id);
	job_free(job);
}

/* Starting. */

static bool check_hosts(const struct config_cluster *cluster, GError **error)
{
	for (uint32_t i = 0; i < cluster->hosts_count; i++) {
		if (cluster->hosts[i].uri)
			continue;
		return error_fail(error, EXECUTOR_ERROR, EXECUTOR_ERROR_CONFIG,
				  "cluster '%s': host '%s' has no libvirt URI; give `uri`, or "
				  "bring the lab up",
				  cluster->name, cluster->hosts[i].name);
	}
	return true;
}

static void libvirt_free(struct executor *base)
{
	struct executor_libvirt *executor = of(base);
	GHashTableIter iter;
	gpointer job;

	if (!executor)
		return;
	g_clear_handle_id(&executor->clean_source, g_source_remove);
	if (executor->pool)
		pool_stop(executor->pool);
	g_hash_table_iter_init(&iter, executor->jobs);
	while (g_hash_table_iter_next(&iter, NULL, &job))
		job_free(job);
	g_hash_table_destroy(executor->jobs);
	patience_free(executor->patience);
	host_caps_free(executor->caps);
	for (uint32_t i = 0; i < executor->sites_count; i++) {
		vm_host_free(executor->vm_hosts[i]);
		cpu_account_free(executor->sources[i].account);
	}
	pool_free(executor->pool);
	g_free(executor->vm_hosts);
	g_free(executor->sources);
	g_free(executor->cpus);
	g_free(executor->node_caps);
	boot_queue_free(executor->boots);
	g_free(executor->prefix);
	g_free(executor);
}

static struct executor *libvirt_open(const struct executor_settings *settings, GError **error)
{
	const struct config_cluster *cluster = &settings->config->clusters[settings->cluster];
	struct executor_libvirt *executor;

	if (!check_hosts(cluster, error))
		return NULL;
	executor = g_new0(struct executor_libvirt, 1);
	executor->base.ops = &executor_libvirt_ops;
	executor->settings = *settings;
	executor->cluster = cluster;
	executor->prefix = g_strdup_printf("virtbed-%s-%s-", settings->config->name, cluster->name);
	executor->jobs = g_hash_table_new(g_str_hash, g_str_equal);
	executor->patience = patience_new();
	executor->boots = boot_queue_new(BOOTS_AT_ONCE);
	cpu_cap_init(&executor->cap, cluster);
	executor->caps = host_caps_new(executor->settings.platform, cluster,
				       settings->state_directory, &executor->cap, error);
	if (executor->caps)
		return &executor->base;
	libvirt_free(&executor->base);
	return NULL;
}

/* The id of the task that has a VM at this moment. */
static const char *task_of_vm(const char *domain, void *data)
{
	const struct executor_libvirt *executor = data;
	GHashTableIter iter;
	gpointer job;

	g_hash_table_iter_init(&iter, executor->jobs);
	while (g_hash_table_iter_next(&iter, NULL, &job))
		if (job_uses(job, domain))
			return job_task(job)->id;
	return NULL;
}

static void on_refused(const char *reason, void *data)
{
	const struct executor_libvirt *executor = data;

	executor->settings.events->refused(reason, executor->settings.data);
}

static void create_sites(struct executor_libvirt *executor, const struct power *power)
{
	executor->sites_count = executor->cluster->hosts_count;
	executor->vm_hosts = g_new0(struct vm_host *, executor->sites_count);
	executor->sources = g_new0(struct usage_source, executor->sites_count);
	executor->cpus = g_new0(struct libvirt_cpu, executor->sites_count);
	for (uint32_t i = 0; i < executor->sites_count; i++) {
		const struct vm_host_settings vm_host = {
			.platform = executor->settings.platform,
			.host = &executor->cluster->hosts[i],
			.cluster = executor->cluster,
			.cluster_index = executor->settings.cluster,
			.image = executor->settings.image,
			.prefix = executor->prefix,
			.virt_type = executor->settings.virt_type,
			.keeper = task_store_incarnation(executor->settings.store),
			.refused = on_refused,
			.refused_data = executor,
		};

		executor->vm_hosts[i] = vm_host_new(&vm_host);
		executor->sources[i] = (struct usage_source){
			.host = vm_host_host(executor->vm_hosts[i]),
			.account = cpu_account_new(),
			.power = power,
		};
		cpu_account_set_owner(executor->sources[i].account, task_of_vm, executor);
		executor->cpus[i] = (struct libvirt_cpu){
			.source = &executor->sources[i],
			.whole_vm = !executor->cluster->hosts[i].blade,
		};
	}
}

/* The number of the cluster's first VM among those of all clusters. */
static uint32_t first_vm(const struct executor_libvirt *executor)
{
	uint32_t vms = 0;

	for (uint32_t i = 0; i < executor->settings.cluster; i++)
		vms += executor->settings.config->clusters[i].nodes;
	return vms;
}

static char *home_of_vm(uint32_t number, void *data)
{
	return task_store_host(((struct executor_libvirt *)data)->settings.store, number);
}

static char *other_home_of_vm(uint32_t number, void *data)
{
	return task_store_expected_host(((struct executor_libvirt *)data)->settings.store, number);
}

static bool on_vm_moves(uint32_t number, const char *host, void *data)
{
	return task_store_expect_host(((struct executor_libvirt *)data)->settings.store, number,
				      host);
}

static void on_vm_moved(uint32_t number, const char *host, void *data)
{
	task_store_keep_host(((struct executor_libvirt *)data)->settings.store, number, host);
}

static void create_pool(struct executor_libvirt *executor)
{
	uint32_t count = executor->cluster->nodes;
	const uint32_t first = first_vm(executor);
	const struct pool_settings settings = {
		.platform = executor->settings.platform,
		.cluster = executor->cluster,
		.cluster_index = executor->settings.cluster,
		.prefix = executor->prefix,
		.keeper = task_store_incarnation(executor->settings.store),
		.vm_hosts = executor->vm_hosts,
		.caps = executor->node_caps = g_new0(struct cpu_cap, count),
		.queue = executor->boots,
		.boot_timeout_s = executor->settings.boot_timeout_s,
		.home = home_of_vm,
		.other_home = other_home_of_vm,
		.moves = on_vm_moves,
		.moved = on_vm_moved,
		.data = executor,
	};

	for (uint32_t i = 0; i < count; i++)
		executor->node_caps[i] = cpu_cap_for_vm(&executor->cap, first + i);
	executor->pool = pool_new(&settings, &node_events, executor);
}

static void libvirt_begin(struct executor *base, const struct power *power)
{
	create_sites(of(base), power);
	create_pool(of(base));
}

/* Stopping. */

static void libvirt_stop(struct executor *base)
{
	GHashTableIter iter;
	gpointer job;

	pool_stop(of(base)->pool);
	g_hash_table_iter_init(&iter, of(base)->jobs);
	while (g_hash_table_iter_next(&iter, NULL, &job)) {
		g_hash_table_iter_steal(&iter);
		job_free(job);
	}
}

static void end_clean(struct executor_libvirt *executor)
{
	void (*cleaned)(bool clean, void *data) = g_steal_pointer(&executor->cleaned);

	g_clear_handle_id(&executor->clean_source, g_source_remove);
	if (executor->clean)
		task_store_forget_hosts(executor->settings.store);
	if (cleaned)
		cleaned(executor->clean, executor->cleaned_data);
}

static gboolean clean_expired(gpointer data)
{
	struct executor_libvirt *executor = data;

	executor->clean_source = 0;
	executor->clean = false;
	log_error("hosts did not answer within %d s: VMs may be left; remove those named %s*",
		  CLEAN_LIMIT_S, executor->prefix);
	end_clean(executor);
	return G_SOURCE_REMOVE;
}

static void vm_host_cleaned(struct vm_host *vm_host, const GError *error, void *data)
{
	struct executor_libvirt *executor = data;

	if (error) {
		executor->clean = false;
		log_error_of(LOG_HOST(host_name(vm_host_host(vm_host))),
			     "%s: VMs may be left; remove those named %s*", error->message,
			     executor->prefix);
	}
	if (--executor->cleans_pending == 0)
		end_clean(executor);
}

static void libvirt_clean(struct executor *base, void (*done)(bool clean, void *data), void *data)
{
	struct executor_libvirt *executor = of(base);

	executor->clean = true;
	executor->cleaned = done;
	executor->cleaned_data = data;
	executor->cleans_pending = executor->sites_count;
	executor->clean_source = platform_after_s(executor->settings.platform, CLEAN_LIMIT_S,
						  clean_expired, executor);
	for (uint32_t i = 0; i < executor->sites_count; i++)
		vm_host_clean(executor->vm_hosts[i], vm_host_cleaned, executor);
}

/* Nodes. */

static bool node_is_ready(const struct executor *executor, uint32_t node)
{
	return node_state(node_at(executor, node)) == VM_READY;
}

/* The caps on the node's host and on the node. */
static json_t *node_caps(const struct executor_libvirt *executor, uint32_t node)
{
	const enum vm_state state = node_state(pool_node(executor->pool, node));

	return host_caps_json(executor->caps, pool_host_of_node(executor->pool, node),
			      &executor->node_caps[node],
			      state == VM_READY || state == VM_BUSY || state == VM_HELD);
}

static void describe_node(const struct executor *executor, uint32_t index,
			  struct wire_node *ret_node)
{
	const struct node *node = node_at(executor, index);
	const struct vm *vm = node_vm(node);

	*ret_node = (struct wire_node){
		.index = index,
		.name = g_strdup(node_name(node)),
		.host = g_strdup(host_name(vm_host_host(node_vm_host(node)))),
		.state = g_strdup(node_public_state(node)),
		.step = g_strdup(vm_state_name(node_state(node))),
		.vm = g_strdup(vm ? vm_domain(vm) : NULL),
		.task = g_strdup(vm ? vm_task(vm) : NULL),
		.reason = g_strdup(node_reason(node)),
		.boot_s = vm ? vm_boot_s(vm) : 0,
		.caps = node_caps(of(executor), index),
	};
}

/* Capabilities. */

static json_t *libvirt_describe(const struct executor *base)
{
	const struct executor_libvirt *executor = of(base);
	json_t *object = json_object();

	libvirt_about(executor->vm_hosts, executor->sites_count, object);
	json_object_set_new(object, "boot_timeout_s", json_real(executor->settings.boot_timeout_s));
	json_object_set_new(object, "cpu_cap", json_string(cpu_cap_name(&executor->cap)));
	json_object_set_new(object, "cpu_cap_note", json_string(cpu_cap_note(&executor->cap)));
	json_object_set_new(object, "cpu_cap_fraction", json_real(executor->cap.fraction));
	json_object_set_new(object, "caps_effective",
			    json_string(host_caps_effective(executor->caps)));
	return object;
}

static bool libvirt_runs_vm(const struct executor *executor, uint32_t host)
{
	return pool_runs_vm(of(executor)->pool, host);
}

static uint32_t libvirt_spares(const struct executor *executor)
{
	return pool_spares_booting(of(executor)->pool);
}

/* Tasks. */

static bool libvirt_suits(struct executor *executor, const struct task *task, bool renew)
{
	bool all = true;

	for (uint32_t i = 0; i < task->nodes_count; i++) {
		struct vm *vm = node_vm(node_at(executor, task->nodes[i]));

		if (!vm || vm_usable_by(vm, task->user))
			continue;
		all = false;
		if (renew)
			vm_recycle(vm);
	}
	return all;
}

static void libvirt_start(struct executor *base, struct task *task)
{
	struct executor_libvirt *executor = of(base);
	const struct job_settings settings = {
		.platform = executor->settings.platform,
		.task = task,
		.pool = executor->pool,
		.sources = executor->sources,
		.sources_count = executor->sites_count,
		.cores = executor->cluster->cores,
		.patience = executor->patience,
		.release = release_job,
		.owner = executor,
	};

	g_hash_table_insert(executor->jobs, task->id,
			    job_start(&settings, &executor->settings.events->tasks,
				      executor->settings.data));
}

static void libvirt_kill(struct executor *executor, struct task *task, enum task_outcome outcome,
			 const char *reason)
{
	job_kill(job_of(executor, task), outcome, TASK_CAUSE_KILLED, reason);
}

static bool libvirt_may_step(const struct executor *executor, const struct task *task)
{
	return job_may_suspend(job_of(executor, task));
}

static void libvirt_suspend(struct executor *executor, struct task *task)
{
	job_suspend(job_of(executor, task));
}

static void libvirt_resume(struct executor *executor, struct task *task)
{
	job_resume(job_of(executor, task));
}

static bool libvirt_match_nodes(const struct executor *executor, const struct task *task,
				uint32_t *nodes, GError **error)
{
	return job_match_nodes(job_of(executor, task), nodes, error);
}

static bool libvirt_match_targets(const struct executor *executor, const struct task *task,
				  uint32_t *nodes, GError **error)
{
	return job_match_targets(job_of(executor, task), nodes, error);
}

static void libvirt_migrate(struct executor *executor, struct task *task)
{
	job_migrate(job_of(executor, task));
}

static void libvirt_share(struct executor *executor, struct task *task)
{
	job_share(job_of(executor, task));
}

static void libvirt_look(struct executor *executor, const struct task *task)
{
	struct job *job = job_of(executor, task);

	if (job)
		job_look(job);
}

static const char *libvirt_printed(const struct executor *executor, const struct task *task,
				   size_t *ret_length, uint32_t *ret_looks)
{
	const struct job *job = job_of(executor, task);

	*ret_length = *ret_looks = 0;
	return job ? job_printed(job, ret_length, ret_looks) : "";
}

static void libvirt_read_cpu(struct executor *executor, uint32_t host, executor_cpu_f done,
			     void *data)
{
	libvirt_cpu_read(&of(executor)->cpus[host], done, data);
}

const struct executor_ops executor_libvirt_ops = {
	.name = "libvirt",
	.open = libvirt_open,
	.begin = libvirt_begin,
	.stop = libvirt_stop,
	.clean = libvirt_clean,
	.free = libvirt_free,
	.node_is_ready = node_is_ready,
	.describe_node = describe_node,
	.describe = libvirt_describe,
	.read_cpu = libvirt_read_cpu,
	.runs_vm = libvirt_runs_vm,
	.spares_booting = libvirt_spares,
	.suits = libvirt_suits,
	.start = libvirt_start,
	.kill = libvirt_kill,
	.may_step = libvirt_may_step,
	.suspend = libvirt_suspend,
	.resume = libvirt_resume,
	.match_nodes = libvirt_match_nodes,
	.match_targets = libvirt_match_targets,
	.migrate = libvirt_migrate,
	.share = libvirt_share,
	.look = libvirt_look,
	.printed = libvirt_printed,
};
