/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The executor for a simulated cluster. Its nodes are always ready. A task runs for the time of
 * simulated_host.h and then succeeds, and its hosts draw the power of the tasks on them. Time is
 * real time, `speed` times as fast as the estimates. Starting, suspending, resuming and migrating take
 * the time of the configuration (`operation_s`), in which the task stands still.
 */
#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/platform.h"
#include "local-sched/executor/executor.h"
#include "local-sched/executor/simulated_host.h"
#include "local-sched/launch/task_fsm.h"

/* The operation of a task that ends when its timer expires. */
enum step {
	STEP_START = 0,
	STEP_RUN,
	STEP_SUSPEND,
	STEP_NONE,
	STEP_RESUME,
	STEP_MIGRATE,
	STEP_END
};

struct executor_simulated;

struct simulated_job {
	struct executor_simulated *executor;
	struct task *task;
	struct simulated_run run;    /* its whole execution */
	double left_s;               /* seconds left on nodes of its own */
	double ran_s;                /* wall time so far, except for suspensions */
	int64_t since_ns;            /* it runs since then; 0: it is suspended */
	bool is_cut;                 /* its deadline comes before its end, at its current speed */
	int64_t counted_ns;          /* its CPU time is in the accounts up to then */
	double share;                /* its CPU share */
	struct simulated_use before; /* use of its hosts when this interval began */
	struct simulated_use used;   /* use of its hosts in earlier intervals */
	enum step step;
	guint timer;
	guint share_timer;
	enum task_outcome outcome; /* of STEP_END */
	char *reason;
};

struct executor_simulated {
	struct executor base;
	struct executor_settings settings;
	const struct config_cluster *cluster;
	struct simulated_host *hosts;  /* as configured */
	struct cpu_account **accounts; /* CPU time by task, in the same order */
	struct simulated_job **nodes;  /* the task of each node, or NULL */
	GHashTable *jobs;              /* task id -> struct simulated_job, owned */
	guint begin_source;
	guint clean_source;
	bool up;
	void (*cleaned)(bool clean, void *data);
	void *cleaned_data;
};

static struct executor_simulated *of(const struct executor *executor)
{
	return (struct executor_simulated *)executor;
}

static const struct platform *platform_of(const struct simulated_job *job)
{
	return job->executor->settings.platform;
}

static struct simulated_job *job_of(const struct executor *executor, const struct task *task)
{
	return g_hash_table_lookup(of(executor)->jobs, task->id);
}

static void job_free(gpointer data)
{
	struct simulated_job *job = data;

	g_clear_handle_id(&job->timer, g_source_remove);
	g_clear_handle_id(&job->share_timer, g_source_remove);
	g_free(job->reason);
	g_free(job);
}

/* Hosts and their power. */

static struct simulated_host *host_of_node(const struct executor_simulated *executor, uint32_t node)
{
	return &executor->hosts[config_cluster_host(executor->cluster, node)];
}

/* The use so far of the hosts of its nodes; each host counts once. */
static struct simulated_use hosts_use(const struct simulated_job *job, int64_t now_ns)
{
	const struct executor_simulated *executor = job->executor;
	const uint32_t *nodes = task_placed(job->task);
	struct simulated_use sum = {0};

	for (uint32_t h = 0; h < executor->cluster->hosts_count; h++) {
		bool is_on = false;

		for (uint32_t i = 0; i < job->task->nodes_count && !is_on; i++)
			is_on = config_cluster_host(executor->cluster, nodes[i]) == h;
		if (is_on)
			simulated_use_add(&sum, simulated_host_use(&executor->hosts[h], now_ns), 1);
	}
	return sum;
}

/* Adds (sign 1) or removes (-1) its power and CPUs, node by node. */
static void load_hosts(const struct simulated_job *job, int sign, int64_t now_ns)
{
	const uint32_t *nodes = task_placed(job->task);
	const uint32_t count = job->task->nodes_count;

	for (uint32_t i = 0; i < count; i++)
		simulated_host_load(host_of_node(job->executor, nodes[i]), now_ns,
				    sign * job->share * job->run.watts / count,
				    sign * job->share * job->task->ranks / count);
}

/* Adds its CPU time until now to the accounts. */
static void count_cpu(struct simulated_job *job, int64_t now_ns)
{
	const struct executor_simulated *executor = job->executor;
	const uint32_t *nodes = task_placed(job->task);
	const uint32_t count = job->task->nodes_count;
	const double node_ns =
		(double)(now_ns - job->counted_ns) * job->share * job->task->ranks / count;

	for (uint32_t i = 0; i < count; i++)
		cpu_account_note(
			executor->accounts[config_cluster_host(executor->cluster, nodes[i])],
			job->task->id, (uint64_t)node_ns);
	job->counted_ns = now_ns;
}

static void simulated_read_cpu(struct executor *base, uint32_t host, executor_cpu_f done,
			       void *data)
{
	const int64_t now_ns = platform_now_ns(of(base)->settings.platform);
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, of(base)->jobs);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		if (((struct simulated_job *)value)->since_ns)
			count_cpu(value, now_ns);
	done(cpu_account_take(of(base)->accounts[host]), 0, data);
}

static void take_nodes(struct simulated_job *job)
{
	const uint32_t *nodes = task_placed(job->task);

	for (uint32_t i = 0; i < job->task->nodes_count; i++)
		job->executor->nodes[nodes[i]] = job;
}

/* Also the nodes to which it is migrated. */
static void leave_nodes(struct simulated_job *job)
{
	for (uint32_t i = 0; i < job->executor->cluster->nodes; i++)
		if (job->executor->nodes[i] == job)
			job->executor->nodes[i] = NULL;
}

/* Run and suspend. */

/* Negligible: the rest is the difference of two sums, and a timer counts milliseconds. */
#define SLACK_S 1e-3

static void set_timer(struct simulated_job *job, enum step step, double after_s);

/* Runs until the task is done or its deadline comes. */
static void run_until_next_step(struct simulated_job *job)
{
	const double left_s = job->left_s / job->share;
	const double until_deadline_s = job->task->deadline_s - job->ran_s;

	job->is_cut = left_s > until_deadline_s + SLACK_S;
	job->since_ns = job->counted_ns = platform_now_ns(platform_of(job));
	job->before = hosts_use(job, job->since_ns);
	load_hosts(job, 1, job->since_ns);
	set_timer(job, STEP_RUN, MIN(left_s, until_deadline_s));
}

static void stand_still(struct simulated_job *job, int64_t now_ns)
{
	const double ran_s = clock_elapsed_s(job->since_ns, now_ns);
	struct simulated_use use;

	if (job->since_ns == 0)
		return;
	g_clear_handle_id(&job->timer, g_source_remove);
	count_cpu(job, now_ns);
	load_hosts(job, -1, now_ns);
	use = hosts_use(job, now_ns);
	simulated_use_add(&use, job->before, -1);
	simulated_use_add(&job->used, use, 1);
	job->ran_s += ran_s;
	job->left_s = fmax(job->left_s - ran_s * job->share, 0);
	job->since_ns = 0;
}

/* Progress. */

/* The steps of any task; scripts report none. */
#define STEPS 1000

static void note_progress(struct simulated_job *job)
{
	struct task *task = job->task;
	const int64_t now_ns = platform_now_ns(platform_of(job));
	double left_s = job->left_s;

	if (task->script_summary || !task->started_ns || !(job->run.time_s > 0))
		return;
	if (job->since_ns)
		left_s -= clock_elapsed_s(job->since_ns, now_ns) * job->share;
	task->progress.total = STEPS;
	task->progress.done = (int64_t)(STEPS * CLAMP(1 - left_s / job->run.time_s, 0, 1));
	if (job->since_ns)
		task->progress.t_ns = now_ns;
}

static void simulated_update(const struct executor *executor, struct task *task)
{
	note_progress(job_of(executor, task));
}

/* Ends. */

static char *output_of(const struct task *task)
{
	return g_strdup_printf(" %s of class %c on a simulated cluster: nothing was computed\n"
			       " Time in seconds = %.2f\n",
			       task->benchmark, task->class_, task->benchmark_time_s);
}

/* Reports the result files of a script: there are none, as its output says. */
static void report_results(const struct executor_simulated *executor, struct task *task)
{
	g_autoptr(GString) stream = g_string_new(NULL); /* vm-images/guest/bundle.h */
	g_autoptr(GBytes) bytes = NULL;

	if (!task->script || !task->script->results[0])
		return;
	for (char **name = task->script->results; *name; name++)
		g_string_append_printf(stream, "skip %s: the cluster is simulated\n", *name);
	g_string_append(stream, "end\n");
	bytes = g_bytes_new(stream->str, stream->len);
	executor->settings.events->tasks.results(task, bytes, executor->settings.data);
}

static void tell_end(struct simulated_job *job)
{
	struct executor_simulated *executor = job->executor;
	struct task *task = job->task;
	g_autofree char *output = NULL;

	task_end(task, job->outcome, job->reason, platform_now_ns(platform_of(job)));
	task->cpu_s = job->ran_s * job->task->ranks * job->share;
	task->host_cpu_s = job->used.cpu_s;
	task->host_energy_uj = job->used.energy_j * 1e6;
	task->host_gap_ns = 0;
	if (task->outcome == TASK_OUTCOME_COMPLETED) {
		task->benchmark_time_s = job->ran_s;
		output = output_of(task);
	} else {
		output = g_strdup("");
	}
	g_hash_table_remove(executor->jobs, task->id);
	report_results(executor, task);
	executor->settings.events->tasks.ended(task, output, strlen(output),
					       executor->settings.data);
}

static void end(struct simulated_job *job, enum task_outcome outcome, const char *reason)
{
	if (job->step == STEP_END)
		return;
	note_progress(job);
	stand_still(job, platform_now_ns(platform_of(job)));
	leave_nodes(job);
	job->outcome = outcome;
	if (outcome == TASK_OUTCOME_COMPLETED)
		job->task->progress.done = job->task->progress.total;
	job->reason = g_strdup(reason);
	set_timer(job, STEP_END, 0);
}

/* Steps. */

static void started(struct simulated_job *job)
{
	const struct executor_simulated *executor = job->executor;

	task_fsm_move(job->task, TASK_FSM_STARTED);
	job->task->started_ns = platform_now_ns(platform_of(job));
	run_until_next_step(job);
	executor->settings.events->tasks.started(job->task, executor->settings.data);
}

static void ran(struct simulated_job *job)
{
	g_autofree char *text = NULL;

	stand_still(job, platform_now_ns(platform_of(job)));
	if (job->is_cut) {
		text = g_strdup_printf("ran longer than its deadline of %g s",
				       job->task->deadline_s);
		end(job, TASK_OUTCOME_DEADLINE, text);
	} else {
		end(job, TASK_OUTCOME_COMPLETED, NULL);
	}
}

static void suspended(struct simulated_job *job)
{
	const struct executor_simulated *executor = job->executor;
	struct task_suspension *record = task_last_suspension(job->task);

	job->step = STEP_NONE;
	leave_nodes(job);
	record->keep = CONFIG_KEEP_MEMORY;
	record->skew_ns = 0;
	record->suspended_ns = platform_now_ns(platform_of(job));
	executor->settings.events->tasks.changed(job->task, NULL, executor->settings.data);
}

static void resumed(struct simulated_job *job)
{
	const struct executor_simulated *executor = job->executor;
	struct task_suspension *record = task_last_suspension(job->task);

	record->resumed_ns = platform_now_ns(platform_of(job));
	run_until_next_step(job);
	executor->settings.events->tasks.changed(job->task, NULL, executor->settings.data);
}

static void migrated(struct simulated_job *job)
{
	const struct executor_simulated *executor = job->executor;
	struct task_migration *record = task_last_migration(job->task);

	leave_nodes(job);
	for (uint32_t i = 0; i < record->count; i++)
		task_migration_set_moved(record, i, true);
	record->moved_ns = record->settled_ns = platform_now_ns(platform_of(job));
	take_nodes(job);
	run_until_next_step(job);
	executor->settings.events->tasks.moved(job->task, NULL, executor->settings.data);
}

static gboolean timer_came(gpointer data)
{
	static void (*const ends[])(struct simulated_job * job) = {
		[STEP_START] = started,  [STEP_RUN] = ran,          [STEP_SUSPEND] = suspended,
		[STEP_RESUME] = resumed, [STEP_MIGRATE] = migrated, [STEP_END] = tell_end,
	};
	struct simulated_job *job = data;

	job->timer = 0;
	ends[job->step](job);
	return G_SOURCE_REMOVE;
}

static void set_timer(struct simulated_job *job, enum step step, double after_s)
{
	g_clear_handle_id(&job->timer, g_source_remove);
	job->step = step;
	job->timer = platform_after_ms(platform_of(job), (guint)ceil(CLAMP(after_s, 0, 4e6) * 1e3),
				       timer_came, job);
}

/* A start, suspension, resumption or migration. */
static void begin_operation(struct simulated_job *job, enum step step)
{
	const struct config_simulated *simulated = job->executor->cluster->simulated;

	set_timer(job, step, simulated->operation_s / simulated->speed);
}

/* Tasks. */

static void simulated_start(struct executor *base, struct task *task)
{
	struct executor_simulated *executor = of(base);
	struct simulated_job *job = g_new0(struct simulated_job, 1);
	g_autofree char *unknown = NULL;

	job->executor = executor;
	job->task = task;
	job->share = 1;
	g_hash_table_insert(executor->jobs, task->id, job);
	take_nodes(job);
	if (simulated_run_find(executor->settings.config, executor->cluster, task, &job->run)) {
		job->left_s = job->run.time_s;
		begin_operation(job, STEP_START);
		return;
	}
	unknown = g_strdup_printf("the configuration has no estimate of type '%s' on cluster '%s', "
				  "which a simulated cluster goes by",
				  task->type, executor->cluster->name);
	end(job, TASK_OUTCOME_FAILED, unknown);
}

static void simulated_kill(struct executor *executor, struct task *task, enum task_outcome outcome,
			   const char *reason)
{
	end(job_of(executor, task), outcome, reason);
}

static bool simulated_may_step(const struct executor *executor, const struct task *task)
{
	return job_of(executor, task)->step == STEP_RUN;
}

static void simulated_suspend(struct executor *executor, struct task *task)
{
	struct simulated_job *job = job_of(executor, task);
	const int64_t now_ns = platform_now_ns(platform_of(job));

	note_progress(job);
	stand_still(job, now_ns);
	task_last_suspension(task)->frozen_ns = now_ns;
	begin_operation(job, STEP_SUSPEND);
}

static void simulated_resume(struct executor *executor, struct task *task)
{
	struct simulated_job *job = job_of(executor, task);

	/* it is at its new nodes from then on */
	task_last_suspension(task)->running_ns = platform_now_ns(platform_of(job));
	take_nodes(job);
	begin_operation(job, STEP_RESUME);
}

static bool match_any(const struct executor *executor, const struct task *task, uint32_t *nodes,
		      GError **error)
{
	return true;
}

static void simulated_migrate(struct executor *executor, struct task *task)
{
	struct simulated_job *job = job_of(executor, task);
	const struct task_migration *record = task_last_migration(task);

	stand_still(job, platform_now_ns(platform_of(job)));
	task_last_migration(task)->begun_ns = platform_now_ns(platform_of(job));
	for (uint32_t i = 0; i < record->count; i++)
		of(executor)->nodes[record->vms[i].to] = job;
	begin_operation(job, STEP_MIGRATE);
}

static gboolean share_is_set(gpointer data)
{
	struct simulated_job *job = data;
	const struct executor_simulated *executor = job->executor;

	job->share_timer = 0;
	job->task->share.set_ns = platform_now_ns(platform_of(job));
	executor->settings.events->tasks.shared(job->task, NULL, executor->settings.data);
	return G_SOURCE_REMOVE;
}

static void simulated_share(struct executor *executor, struct task *task)
{
	struct simulated_job *job = job_of(executor, task);

	stand_still(job, platform_now_ns(platform_of(job)));
	job->share = task->share.fraction;
	task->share.asked_cores = task->share.given_cores = task->share.fraction * task->ranks;
	run_until_next_step(job);
	if (!job->share_timer)
		job->share_timer = platform_after_ms(platform_of(job), 0, share_is_set, job);
}

/* Nodes. */

static bool node_is_ready(const struct executor *executor, uint32_t node)
{
	return of(executor)->up && !of(executor)->nodes[node];
}

static void describe_node(const struct executor *executor, uint32_t node,
			  struct wire_node *ret_node)
{
	const struct config_cluster *cluster = of(executor)->cluster;
	const struct simulated_job *job = of(executor)->nodes[node];
	const char *state = !of(executor)->up ? "booting" : job ? "busy" : "ready";

	*ret_node = (struct wire_node){
		.index = node,
		.name = g_strdup_printf("%s-n%u", cluster->name, node),
		.host = g_strdup(cluster->hosts[config_cluster_host(cluster, node)].name),
		.state = g_strdup(state),
		.step = g_strdup(state),
		.task = g_strdup(job ? job->task->id : NULL),
		.caps = json_array(),
	};
}

static json_t *simulated_describe(const struct executor *executor)
{
	return json_pack("{s:s, s:s, s:{}, s:n, s:n, s:b, s:s, s:s, s:f, s:s, s:f}", "virt_type",
			 "simulated", "virt_reason", "the configuration says so", "hosts",
			 "libvirt", "qemu", "pinned", 0, "cpu_cap", "none", "cpu_cap_note",
			 "tasks take what the estimates say", "cpu_cap_fraction", 1.0,
			 "caps_effective", "none", "speed",
			 of(executor)->cluster->simulated->speed);
}

static uint32_t simulated_spares(const struct executor *executor)
{
	return 0;
}

/* Life. */

static struct power_meter *simulated_meter(struct executor *executor, uint32_t host)
{
	return meter_simulated_new(of(executor)->settings.platform, &of(executor)->hosts[host]);
}

static struct executor *simulated_open(const struct executor_settings *settings, GError **error)
{
	struct executor_simulated *executor = g_new0(struct executor_simulated, 1);
	const struct config_cluster *cluster = &settings->config->clusters[settings->cluster];

	executor->base.ops = &executor_simulated_ops;
	executor->settings = *settings;
	executor->cluster = cluster;
	executor->hosts = g_new0(struct simulated_host, cluster->hosts_count);
	executor->accounts = g_new0(struct cpu_account *, cluster->hosts_count);
	for (uint32_t i = 0; i < cluster->hosts_count; i++)
		executor->accounts[i] = cpu_account_new();
	for (uint32_t i = 0; i < cluster->hosts_count; i++)
		simulated_host_init(&executor->hosts[i], cluster->simulated->idle_w,
				    platform_now_ns(settings->platform));
	executor->nodes = g_new0(struct simulated_job *, cluster->nodes);
	executor->jobs = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, job_free);
	return &executor->base;
}

static gboolean come_up(gpointer data)
{
	struct executor_simulated *executor = data;

	executor->begin_source = 0;
	executor->up = true;
	for (uint32_t i = 0; i < executor->cluster->nodes; i++)
		executor->settings.events->node_ready(i, 0, executor->settings.data);
	return G_SOURCE_REMOVE;
}

static void simulated_begin(struct executor *base, const struct power *power)
{
	of(base)->begin_source = platform_soon(of(base)->settings.platform, G_PRIORITY_DEFAULT_IDLE,
					       come_up, of(base));
}

static void simulated_stop(struct executor *base)
{
	g_clear_handle_id(&of(base)->begin_source, g_source_remove);
	g_hash_table_remove_all(of(base)->jobs);
	of(base)->up = false;
}

static gboolean is_clean(gpointer data)
{
	struct executor_simulated *executor = data;

	executor->clean_source = 0;
	executor->cleaned(true, executor->cleaned_data);
	return G_SOURCE_REMOVE;
}

static void simulated_clean(struct executor *base, void (*done)(bool clean, void *data), void *data)
{
	of(base)->cleaned = done;
	of(base)->cleaned_data = data;
	of(base)->clean_source = platform_soon(of(base)->settings.platform, G_PRIORITY_DEFAULT_IDLE,
					       is_clean, of(base));
}

static void simulated_free(struct executor *base)
{
	struct executor_simulated *executor = of(base);

	if (!executor)
		return;
	g_clear_handle_id(&executor->begin_source, g_source_remove);
	g_clear_handle_id(&executor->clean_source, g_source_remove);
	g_hash_table_destroy(executor->jobs);
	g_free(executor->nodes);
	for (uint32_t i = 0; i < executor->cluster->hosts_count; i++)
		cpu_account_free(executor->accounts[i]);
	g_free(executor->accounts);
	g_free(executor->hosts);
	g_free(executor);
}

const struct executor_ops executor_simulated_ops = {
	.name = "simulated",
	.open = simulated_open,
	.meter = simulated_meter,
	.begin = simulated_begin,
	.stop = simulated_stop,
	.clean = simulated_clean,
	.free = simulated_free,
	.node_is_ready = node_is_ready,
	.describe_node = describe_node,
	.describe = simulated_describe,
	.read_cpu = simulated_read_cpu,
	.spares_booting = simulated_spares,
	.start = simulated_start,
	.kill = simulated_kill,
	.may_step = simulated_may_step,
	.suspend = simulated_suspend,
	.resume = simulated_resume,
	.match_nodes = match_any,
	.match_targets = match_any,
	.migrate = simulated_migrate,
	.update = simulated_update,
	.share = simulated_share,
};
