/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tasks in VMs: the cluster's hosts, its nodes and their VMs, and a job for each task. */
#include "common/json.h"
#include "local-sched/carrier/carrier.h"
#include "local-sched/carrier/libvirt_about.h"
#include "local-sched/carrier/libvirt_cpu.h"
#include "local-sched/cpu/cpu_cap.h"
#include "local-sched/cpu/host_caps.h"
#include "local-sched/hypervisor/pool.h"
#include "local-sched/hypervisor/site.h"
#include "local-sched/launch/job.h"
#include "local-sched/scheduler.h"

#define LOG_SUBSYSTEM "scheduler"
#include "common/log.h"

#define BOOTS_AT_ONCE 2
#define CLEAN_LIMIT_S 20

struct carrier_libvirt {
	struct carrier base;
	struct carrier_settings settings;
	const struct config_cluster *cluster;
	char *prefix; /* of VM names */
	struct cpu_cap cap;           /* of all nodes */
	struct cpu_cap *node_caps;    /* by index */
	struct host_caps *caps;
	struct boot_queue *boots;
	uint32_t sites_count;
	struct site **sites;
	struct usage_source *sources; /* by site */
	struct libvirt_cpu *cpus;     /* by site */
	struct pool *pool;            /* nodes and VMs */
	GHashTable *jobs;             /* task id -> struct job */
	struct patience *patience;    /* with ranks that are silent */
	/* While it cleans up. */
	bool clean;
	uint32_t cleans_pending;
	guint clean_source;
	void (*cleaned)(bool clean, void *data);
	void *cleaned_data;
};

static struct carrier_libvirt *of(const struct carrier *carrier)
{
	return (struct carrier_libvirt *)carrier;
}

static struct job *job_of(const struct carrier *carrier, const struct task *task)
{
	return g_hash_table_lookup(of(carrier)->jobs, task->id);
}

static struct node *node_at(const struct carrier *carrier, uint32_t index)
{
	return pool_node(of(carrier)->pool, index);
}

/* What nodes tell. */

static void on_node_ready(struct node *node, void *data)
{
	const struct carrier_libvirt *carrier = data;

	carrier->settings.events->node_ready(node_index(node), machine_boot_s(node_machine(node)),
					     carrier->settings.data);
}

static void on_node_down(struct node *node, const char *reason, void *data)
{
	const struct carrier_libvirt *carrier = data;

	carrier->settings.events->node_down(node_index(node), reason, carrier->settings.data);
}

/* Tasks may wait for other VMs on the nodes that they leave. */
static void on_node_settled(struct node *node, void *data)
{
	const struct carrier_libvirt *carrier = data;
	GList *list = g_hash_table_get_values(carrier->jobs);

	for (const GList *link = list; link; link = link->next)
		job_node_settled(link->data);
	g_list_free(list);
	carrier->settings.events->settled(carrier->settings.data);
}

static const struct node_events node_events = {
	.ready = on_node_ready, .down = on_node_down, .settled = on_node_settled};

/* What jobs tell. */

static void on_job_started(struct job *job, void *data)
{
	const struct carrier_libvirt *carrier = data;

	carrier->settings.events->started(job_task(job), carrier->settings.data);
}

static void on_job_ended(struct job *job, const char *output, size_t length, void *data)
{
	const struct carrier_libvirt *carrier = data;
	struct task *task = job_task(job);
	g_autofree char *kept = g_memdup2(output, length);

	if (job_results(job))
		carrier->settings.events->results(task, job_results(job), carrier->settings.data);
	g_hash_table_remove(carrier->jobs, task->id);
	job_free(job);
	carrier->settings.events->ended(task, kept, length, carrier->settings.data);
}

static void on_job_changed(struct job *job, enum suspension_end how, const char *reason, void *data)
{
	static const enum carrier_end ends[] = {
		[SUSPENSION_END_SUSPENDED] = CARRIER_END_SUSPENDED,
		[SUSPENSION_END_RESUMED] = CARRIER_END_RESUMED,
		[SUSPENSION_END_STAYED] = CARRIER_END_STAYED,
		[SUSPENSION_END_LOST] = CARRIER_END_STAYED, /* is not told: the job ends */
	};
	const struct carrier_libvirt *carrier = data;

	carrier->settings.events->changed(job_task(job), ends[how], reason, carrier->settings.data);
}

static void on_job_moved(struct job *job, enum migration_end how, const char *reason, void *data)
{
	const struct carrier_libvirt *carrier = data;

	carrier->settings.events->moved(job_task(job), how == MIGRATION_END_MOVED ? NULL : reason,
					carrier->settings.data);
}

static void on_job_printed(struct job *job, void *data)
{
	const struct carrier_libvirt *carrier = data;

	carrier->settings.events->printed(carrier->settings.data);
}

static void on_job_shared(struct job *job, const char *reason, void *data)
{
	const struct carrier_libvirt *carrier = data;

	carrier->settings.events->shared(job_task(job), reason, carrier->settings.data);
}

static const struct job_events job_events = {
	.started = on_job_started,
	.ended = on_job_ended,
	.changed = on_job_changed,
	.moved = on_job_moved,
	.printed = on_job_printed,
	.shared = on_job_shared,
};

/* Starting. */

static bool check_hosts(const struct config_cluster *cluster, GError **error)
{
	for (uint32_t i = 0; i < cluster->hosts_count; i++) {
		if (cluster->hosts[i].uri)
			continue;
		g_set_error(error, SCHEDULER_ERROR, SCHEDULER_ERROR_CONFIG,
			    "cluster '%s': host '%s' has no libvirt URI; give `uri`, or "
			    "bring the lab up",
			    cluster->name, cluster->hosts[i].name);
		return false;
	}
	return true;
}

static void libvirt_free(struct carrier *base)
{
	struct carrier_libvirt *carrier = of(base);
	GHashTableIter iter;
	gpointer job;

	if (!carrier)
		return;
	g_clear_handle_id(&carrier->clean_source, g_source_remove);
	g_hash_table_iter_init(&iter, carrier->jobs);
	while (g_hash_table_iter_next(&iter, NULL, &job))
		job_free(job);
	g_hash_table_destroy(carrier->jobs);
	patience_free(carrier->patience);
	host_caps_free(carrier->caps);
	for (uint32_t i = 0; i < carrier->sites_count; i++) {
		site_free(carrier->sites[i]);
		cpu_account_free(carrier->sources[i].account);
	}
	pool_free(carrier->pool);
	g_free(carrier->sites);
	g_free(carrier->sources);
	g_free(carrier->cpus);
	g_free(carrier->node_caps);
	boot_queue_free(carrier->boots);
	g_free(carrier->prefix);
	g_free(carrier);
}

static struct carrier *libvirt_open(const struct carrier_settings *settings, GError **error)
{
	const struct config_cluster *cluster = &settings->config->clusters[settings->cluster];
	struct carrier_libvirt *carrier;

	if (!check_hosts(cluster, error))
		return NULL;
	carrier = g_new0(struct carrier_libvirt, 1);
	carrier->base.ops = &carrier_libvirt_ops;
	carrier->settings = *settings;
	carrier->cluster = cluster;
	carrier->prefix =
		g_strdup_printf("virtbed-%s-%s-", settings->config->name, cluster->name);
	carrier->jobs = g_hash_table_new(g_str_hash, g_str_equal);
	carrier->patience = patience_new();
	carrier->boots = boot_queue_new(BOOTS_AT_ONCE);
	cpu_cap_init(&carrier->cap, cluster);
	carrier->caps = host_caps_new(cluster, settings->state_directory, &carrier->cap, error);
	if (carrier->caps)
		return &carrier->base;
	libvirt_free(&carrier->base);
	return NULL;
}

/* The id of the task that a VM works for at this moment. */
static const char *task_of_vm(const char *domain, void *data)
{
	const struct carrier_libvirt *carrier = data;
	GHashTableIter iter;
	gpointer job;

	g_hash_table_iter_init(&iter, carrier->jobs);
	while (g_hash_table_iter_next(&iter, NULL, &job))
		if (job_uses(job, domain))
			return job_task(job)->id;
	return NULL;
}

static void on_refused(const char *reason, void *data)
{
	const struct carrier_libvirt *carrier = data;

	carrier->settings.events->refused(reason, carrier->settings.data);
}

static void create_sites(struct carrier_libvirt *carrier, const struct power *power)
{
	carrier->sites_count = carrier->cluster->hosts_count;
	carrier->sites = g_new0(struct site *, carrier->sites_count);
	carrier->sources = g_new0(struct usage_source, carrier->sites_count);
	carrier->cpus = g_new0(struct libvirt_cpu, carrier->sites_count);
	for (uint32_t i = 0; i < carrier->sites_count; i++) {
		const struct site_settings site = {
			.host = &carrier->cluster->hosts[i],
			.cluster = carrier->cluster,
			.cluster_index = carrier->settings.cluster,
			.image = carrier->settings.image,
			.prefix = carrier->prefix,
			.virt_type = carrier->settings.virt_type,
			.keeper = task_store_incarnation(carrier->settings.store),
			.refused = on_refused,
			.refused_data = carrier,
		};

		carrier->sites[i] = site_new(&site);
		carrier->sources[i] = (struct usage_source){
			.host = site_host(carrier->sites[i]),
			.account = cpu_account_new(),
			.power = power,
		};
		cpu_account_set_owner(carrier->sources[i].account, task_of_vm, carrier);
		carrier->cpus[i] = (struct libvirt_cpu){
			.source = &carrier->sources[i],
			.whole_machine = !carrier->cluster->hosts[i].blade,
		};
	}
}

/* The number of the cluster's first VM among those of all clusters. */
static uint32_t first_vm(const struct carrier_libvirt *carrier)
{
	uint32_t vms = 0;

	for (uint32_t i = 0; i < carrier->settings.cluster; i++)
		vms += carrier->settings.config->clusters[i].nodes;
	return vms;
}

static char *home_of_vm(uint32_t number, void *data)
{
	return task_store_host(((struct carrier_libvirt *)data)->settings.store, number);
}

static char *other_home_of_vm(uint32_t number, void *data)
{
	return task_store_expected_host(((struct carrier_libvirt *)data)->settings.store, number);
}

static bool on_vm_moves(uint32_t number, const char *host, void *data)
{
	return task_store_expect_host(((struct carrier_libvirt *)data)->settings.store, number,
				      host);
}

static void on_vm_moved(uint32_t number, const char *host, void *data)
{
	task_store_keep_host(((struct carrier_libvirt *)data)->settings.store, number, host);
}

static void create_pool(struct carrier_libvirt *carrier)
{
	uint32_t count = carrier->cluster->nodes;
	const uint32_t first = first_vm(carrier);
	const struct pool_settings settings = {
		.cluster = carrier->cluster,
		.cluster_index = carrier->settings.cluster,
		.prefix = carrier->prefix,
		.keeper = task_store_incarnation(carrier->settings.store),
		.sites = carrier->sites,
		.caps = carrier->node_caps = g_new0(struct cpu_cap, count),
		.queue = carrier->boots,
		.boot_timeout_s = carrier->settings.boot_timeout_s,
		.home = home_of_vm,
		.other_home = other_home_of_vm,
		.moves = on_vm_moves,
		.moved = on_vm_moved,
		.data = carrier,
	};

	for (uint32_t i = 0; i < count; i++)
		carrier->node_caps[i] = cpu_cap_for_vm(&carrier->cap, first + i);
	carrier->pool = pool_new(&settings, &node_events, carrier);
}

static void libvirt_begin(struct carrier *base, const struct power *power)
{
	create_sites(of(base), power);
	create_pool(of(base));
}

/* Stopping. */

static void libvirt_stop(struct carrier *base)
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

static void end_clean(struct carrier_libvirt *carrier)
{
	void (*cleaned)(bool clean, void *data) = g_steal_pointer(&carrier->cleaned);

	g_clear_handle_id(&carrier->clean_source, g_source_remove);
	if (carrier->clean)
		task_store_forget_hosts(carrier->settings.store);
	if (cleaned)
		cleaned(carrier->clean, carrier->cleaned_data);
}

static gboolean clean_expired(gpointer data)
{
	struct carrier_libvirt *carrier = data;

	carrier->clean_source = 0;
	carrier->clean = false;
	log_error("hosts did not answer within %d s: VMs may be left; remove those named %s*",
		  CLEAN_LIMIT_S, carrier->prefix);
	end_clean(carrier);
	return G_SOURCE_REMOVE;
}

static void site_cleaned(struct site *site, const GError *error, void *data)
{
	struct carrier_libvirt *carrier = data;

	if (error) {
		carrier->clean = false;
		log_error_of(LOG_HOST(host_name(site_host(site))),
			     "%s: VMs may be left; remove those named %s*", error->message,
			     carrier->prefix);
	}
	if (--carrier->cleans_pending == 0)
		end_clean(carrier);
}

static void libvirt_clean(struct carrier *base, void (*done)(bool clean, void *data), void *data)
{
	struct carrier_libvirt *carrier = of(base);

	carrier->clean = true;
	carrier->cleaned = done;
	carrier->cleaned_data = data;
	carrier->cleans_pending = carrier->sites_count;
	carrier->clean_source = g_timeout_add_seconds(CLEAN_LIMIT_S, clean_expired, carrier);
	for (uint32_t i = 0; i < carrier->sites_count; i++)
		site_clean(carrier->sites[i], site_cleaned, carrier);
}

/* Nodes. */

static bool node_is_ready(const struct carrier *carrier, uint32_t node)
{
	return node_state(node_at(carrier, node)) == MACHINE_READY;
}

static const char *state_of_node(const struct carrier *carrier, uint32_t node)
{
	return node_public_state(node_at(carrier, node));
}

static const char *task_of_node(const struct carrier *carrier, uint32_t node)
{
	const struct machine *machine = node_machine(node_at(carrier, node));

	return machine ? machine_task(machine) : NULL;
}

/* What caps the node's host, and the node. */
static json_t *node_caps(const struct carrier_libvirt *carrier, uint32_t node)
{
	const enum machine_state state = node_state(pool_node(carrier->pool, node));

	return host_caps_json(carrier->caps, pool_host_of_node(carrier->pool, node),
			      &carrier->node_caps[node],
			      state == MACHINE_READY || state == MACHINE_BUSY ||
				      state == MACHINE_HELD);
}

static json_t *node_json(const struct carrier *carrier, uint32_t index)
{
	const struct node *node = node_at(carrier, index);
	const struct machine *machine = node_machine(node);
	json_t *item = json_object();

	json_object_set_new(item, "index", json_integer(index));
	json_object_set_new(item, "name", json_string(node_name(node)));
	json_object_set_new(item, "host", json_string(host_name(site_host(node_site(node)))));
	json_object_set_new(item, "state", json_string(node_public_state(node)));
	json_object_set_new(item, "step", json_string(machine_state_name(node_state(node))));
	json_object_set_new(item, "vm", json_string_or_null(machine ? machine_domain(machine) : NULL));
	json_object_set_new(item, "task", json_string_or_null(machine ? machine_task(machine) : NULL));
	json_object_set_new(item, "reason", json_string_or_null(node_reason(node)));
	json_object_set_new(item, "boot_s", json_real(machine ? machine_boot_s(machine) : 0));
	json_object_set_new(item, "caps", node_caps(of(carrier), index));
	return item;
}

/* Capabilities. */

static json_t *libvirt_describe(const struct carrier *base)
{
	const struct carrier_libvirt *carrier = of(base);
	json_t *object = json_object();

	libvirt_about(carrier->sites, carrier->sites_count, object);
	json_object_set_new(object, "boot_timeout_s", json_real(carrier->settings.boot_timeout_s));
	json_object_set_new(object, "cpu_cap", json_string(carrier->cap.ops->name));
	json_object_set_new(object, "cpu_cap_note", json_string(carrier->cap.ops->note));
	json_object_set_new(object, "cpu_cap_fraction", json_real(carrier->cap.fraction));
	json_object_set_new(object, "caps_effective",
			    json_string(host_caps_effective(carrier->caps)));
	return object;
}

static uint32_t libvirt_spares(const struct carrier *carrier)
{
	return pool_spares_booting(of(carrier)->pool);
}

/* Tasks. */

static bool libvirt_suits(struct carrier *carrier, const struct task *task, bool renew)
{
	bool all = true;

	for (uint32_t i = 0; i < task->nodes_count; i++) {
		struct machine *machine = node_machine(node_at(carrier, task->nodes[i]));

		if (!machine || machine_suits(machine, task->user))
			continue;
		all = false;
		if (renew)
			machine_renew(machine);
	}
	return all;
}

static void libvirt_start(struct carrier *base, struct task *task)
{
	struct carrier_libvirt *carrier = of(base);
	const struct job_settings settings = {
		.task = task,
		.pool = carrier->pool,
		.sources = carrier->sources,
		.sources_count = carrier->sites_count,
		.cores = carrier->cluster->cores,
		.patience = carrier->patience,
	};

	g_hash_table_insert(carrier->jobs, task->id,
			    job_start(&settings, &job_events, carrier));
}

static void libvirt_kill(struct carrier *carrier, struct task *task, enum task_outcome outcome,
			 const char *reason)
{
	job_kill(job_of(carrier, task), outcome, TASK_CAUSE_KILLED, reason);
}

static bool libvirt_may_step(const struct carrier *carrier, const struct task *task)
{
	return job_may_suspend(job_of(carrier, task));
}

static void libvirt_suspend(struct carrier *carrier, struct task *task)
{
	job_suspend(job_of(carrier, task));
}

static void libvirt_resume(struct carrier *carrier, struct task *task)
{
	job_resume(job_of(carrier, task));
}

static bool libvirt_match_nodes(const struct carrier *carrier, const struct task *task,
				uint32_t *nodes, GError **error)
{
	return job_match_nodes(job_of(carrier, task), nodes, error);
}

static bool libvirt_match_targets(const struct carrier *carrier, const struct task *task,
				  uint32_t *nodes, GError **error)
{
	return job_match_targets(job_of(carrier, task), nodes, error);
}

static void libvirt_migrate(struct carrier *carrier, struct task *task)
{
	job_migrate(job_of(carrier, task));
}

static void libvirt_share(struct carrier *carrier, struct task *task)
{
	job_share(job_of(carrier, task));
}

static void libvirt_look(struct carrier *carrier, const struct task *task)
{
	struct job *job = job_of(carrier, task);

	if (job)
		job_look(job);
}

static const char *libvirt_printed(const struct carrier *carrier, const struct task *task,
				   size_t *ret_length, uint32_t *ret_looks)
{
	const struct job *job = job_of(carrier, task);

	*ret_length = *ret_looks = 0;
	return job ? job_printed(job, ret_length, ret_looks) : "";
}

static void libvirt_read_cpu(struct carrier *carrier, uint32_t host, carrier_cpu_f done, void *data)
{
	libvirt_cpu_read(&of(carrier)->cpus[host], done, data);
}

const struct carrier_ops carrier_libvirt_ops = {
	.name = "libvirt",
	.open = libvirt_open,
	.begin = libvirt_begin,
	.stop = libvirt_stop,
	.clean = libvirt_clean,
	.free = libvirt_free,
	.node_is_ready = node_is_ready,
	.node_state = state_of_node,
	.node_task = task_of_node,
	.node_json = node_json,
	.describe = libvirt_describe,
	.read_cpu = libvirt_read_cpu,
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
