/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A local scheduler with VMs, on hosts in memory (tests/virtual/virtual_libvirt.h): in one process
 * and one thread, under virtual time. Its own code boots VMs, runs tasks in them, suspends, resumes
 * and migrates them, and finds out what VMs and hosts do to it.
 */
#include <glib/gstdio.h>
#include <string.h>

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#include "common/json.h"
#include "common/random.h"
#include "common/subprocess.h"
#include "local-sched/core/scheduler.h"
#include "tests/long.h"
#include "tests/virtual/virtual_libvirt.h"
#include "tests/virtual/virtual_platform.h"

/* What the meters print; setpriv(1) starts them. */
static const struct virtual_program programs[] = {
	{"setpriv", "80\n", 100, 0},
	{NULL, NULL, 0, 0},
};

static const char config_text[] =
	"name: v\n"
	"clusters:\n"
	"  - {name: c, nodes: 4, cores: 2, memory_mib: 256, swap_mib: 64, max_mhz: 1000,\n"
	"     base_mhz: 2000, preemption: {spares: 1},\n"
	"     hosts: [{name: h1, uri: 'qemu+ssh://h1/system', meter: {kind: command, command: watts}},\n"
	"             {name: h2, uri: 'qemu+ssh://h2/system', meter: {kind: command, command: watts}}]}\n"
	"types:\n"
	"  - {name: A, benchmark: is, class: S, cores: 4, memory_mib: 64, share: 1}\n"
	"  - {name: S, benchmark: script, cores: 1, memory_mib: 64, share: 0, time_s: 50}\n"
	"estimates:\n"
	"  - {type: A, cluster: c, etc_s: 20, eec_j: 40}\n"
	"workload: {arrival_mean_s: 1, duration_s: 1, utility_max: [1]}\n"
	"experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 1}\n";

enum { NODES = 4, CORES = 2, REPETITIONS = 20, BOOT_S = 60 };

struct bed {
	char *dir;
	struct virtual_platform *virtual;
	struct virtual_disk *disk;
	struct virtual_libvirt *libvirt;
	struct config *config;
	struct image *image;
	struct task_store *store;
	struct scheduler *scheduler;
	GString *record;
	guint tasks;
	double began_s; /* of the last wait */
};

/* Runs the main loop until `condition` holds, within `limit_s` of virtual time. */
#define UNTIL(bed, limit_s, condition)                                                             \
	do {                                                                                       \
		(bed)->began_s = virtual_platform_s((bed)->virtual);                               \
		while (!(condition)) {                                                             \
			if (virtual_platform_s((bed)->virtual) - (bed)->began_s > (limit_s))       \
				g_error("not within %d s: %s", (int)(limit_s), #condition);        \
			g_main_context_iteration(NULL, TRUE);                                      \
		}                                                                                  \
	} while (0)

static gboolean wake(gpointer data)
{
	*(bool *)data = true;
	return G_SOURCE_REMOVE;
}

static void pass_ms(struct bed *bed, guint ms)
{
	bool over = false;

	platform_after_ms(virtual_platform_of(bed->virtual), ms, wake, &over);
	while (!over)
		g_main_context_iteration(NULL, TRUE);
}

static void note(const char *text, void *data)
{
	struct bed *bed = data;

	g_string_append_printf(bed->record, "%.9f %s\n", virtual_platform_s(bed->virtual), text);
}

/* Begin and end. */

static void begin_scheduler(struct bed *bed)
{
	struct scheduler_settings settings = {.platform = virtual_platform_of(bed->virtual),
					      .boot_timeout_s = BOOT_S,
					      .virt_type = VIRT_TYPE_AUTO};
	g_autofree char *path = g_build_filename(bed->dir, "config.yaml", NULL);
	g_autofree char *state = g_build_filename(bed->dir, "state", NULL);
	g_autoptr(GError) error = NULL;

	bed->config = config_load(path, &error);
	g_assert_no_error(error);
	bed->image = image_load(bed->dir, &error);
	g_assert_no_error(error);
	bed->store = task_store_open(settings.platform, state, &error);
	g_assert_no_error(error);
	settings.config = bed->config;
	settings.image = bed->image;
	settings.store = bed->store;
	settings.state_directory = state;
	bed->scheduler = scheduler_new(&settings, &error);
	g_assert_no_error(error);
}

/* VMs stay as they are. */
static void end_scheduler(struct bed *bed)
{
	scheduler_free(bed->scheduler);
	task_store_close(bed->store);
	image_free(bed->image);
	config_free(bed->config);
}

static void set_up_seed(struct bed *bed, uint64_t seed, bool kvm)
{
	static const char *const hosts[] = {"h1", "h2"};
	g_autofree char *path = NULL;

	bed->dir = g_dir_make_tmp("virtbed-virtual-vms-XXXXXX", NULL);
	path = g_build_filename(bed->dir, "config.yaml", NULL);
	g_assert_true(g_file_set_contents(path, config_text, -1, NULL));
	virtual_image_write(bed->dir);
	bed->virtual = virtual_platform_new(seed);
	bed->disk = virtual_disk_new();
	virtual_platform_use_disk(bed->virtual, bed->disk);
	virtual_platform_programs(bed->virtual, programs);
	bed->libvirt = virtual_libvirt_new(seed);
	bed->record = g_string_new(NULL);
	bed->tasks = 0;
	virtual_libvirt_listen(bed->libvirt, note, bed);
	for (guint i = 0; i < G_N_ELEMENTS(hosts); i++)
		virtual_libvirt_add_host(bed->libvirt,
					 &(struct virtual_host_spec){
						 .platform = virtual_platform_of(bed->virtual),
						 .name = hosts[i],
						 .cpus = 8,
						 .memory_mib = 4096,
						 .pool_mib = 8192,
						 .kvm = kvm,
					 });
	begin_scheduler(bed);
}

/* A part of the story. */
struct part {
	const char *name;
	void (*play)(struct bed *bed);
	bool emulated; /* VMs run under QEMU's emulator */
};

static void set_up(struct bed *bed, gconstpointer data)
{
	const struct part *part = data;

	set_up_seed(bed, 1, !part->emulated);
}

static void stopped(bool clean, void *data)
{
	*(int *)data = clean ? 1 : -1;
}

static void tear_down(struct bed *bed, gconstpointer data)
{
	const char *const argv[] = {"rm", "-rf", bed->dir, NULL};

	end_scheduler(bed);
	pass_ms(bed, 60000);
	g_clear_pointer(&bed->libvirt, virtual_libvirt_free);
	g_clear_pointer(&bed->virtual, virtual_platform_free);
	g_clear_pointer(&bed->disk, virtual_disk_free);
	g_string_free(bed->record, TRUE);
	g_assert_true(subprocess_run(argv, NULL, 10, NULL, NULL));
	g_free(bed->dir);
}

/* What a user does. */

static guint ready_nodes(const struct bed *bed)
{
	g_autoptr(json_t) document = scheduler_document(bed->scheduler, SCHEDULER_NODES, 0);
	const json_t *nodes = json_object_get(document, "nodes");
	guint count = 0;

	for (size_t i = 0; i < json_array_size(nodes); i++)
		count += g_strcmp0(json_string_value(
					   json_object_get(json_array_get(nodes, i), "state")),
				   "ready") == 0;
	return count;
}

static const struct task *operate(struct bed *bed, enum scheduler_operation of, const char *id,
				  const char *n, json_t *body)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) own = body;
	bool is_new;
	const struct task *task =
		scheduler_operate(bed->scheduler, of, id, n, own, &is_new, &error);

	g_assert_no_error(error);
	return task;
}

/* The request for a task of whole nodes; a new reference. */
static json_t *task_body(guint first, guint count)
{
	json_t *nodes = json_array();

	for (guint i = 0; i < count; i++)
		json_array_append_new(nodes, json_integer(first + i));
	return json_pack("{s:s, s:s, s:s, s:i, s:i, s:o, s:f}", "type", "A", "benchmark", "is",
			 "class", "S", "ranks", (int)(count * CORES), "repetitions", REPETITIONS,
			 "nodes", nodes, "deadline_s", 3600.0);
}

static const struct task *start(struct bed *bed, guint first, guint count)
{
	g_autofree char *id = g_strdup_printf("t-%u", ++bed->tasks);

	return operate(bed, SCHEDULER_START, id, NULL, task_body(first, count));
}

static void await_end(struct bed *bed, const struct task *task, enum task_outcome outcome)
{
	UNTIL(bed, 600, task->state == TASK_ENDED);
	g_string_append_printf(bed->record, "%.9f task '%s' %s: %s\n",
			       virtual_platform_s(bed->virtual), task->id,
			       task_outcome_name(task->outcome), task->reason ?: "");
	if (task->outcome != outcome)
		g_error("task '%s' %s: %s", task->id, task_outcome_name(task->outcome),
			task->reason ?: "");
}

static void await_ready(struct bed *bed)
{
	UNTIL(bed, 900, ready_nodes(bed) == NODES);
}

/* A running task of `count` nodes, which has begun its work. */
static const struct task *run(struct bed *bed, guint first, guint count)
{
	const struct task *task;

	await_ready(bed);
	task = start(bed, first, count);
	UNTIL(bed, 60, task->progress.done > 2);
	return task;
}

/* Parts of the story. */

static void completes(struct bed *bed)
{
	const struct task *task;
	double began_s;

	await_ready(bed);
	began_s = virtual_platform_s(bed->virtual);
	task = start(bed, 0, 4);
	await_end(bed, task, TASK_OUTCOME_COMPLETED);
	/* Half of each core, by the quota. */
	g_assert_cmpfloat(virtual_platform_s(bed->virtual) - began_s, >=, 2 * REPETITIONS);
	g_assert_cmpfloat(task->cpu_s, >, 0);
}

static void suspend_and_resume(struct bed *bed, const char *keep)
{
	const struct task *task = run(bed, 0, 2);

	operate(bed, SCHEDULER_SUSPEND, task->id, "1", json_pack("{s:s}", "keep", keep));
	UNTIL(bed, 120, task->state == TASK_SUSPENDED);
	pass_ms(bed, 30000);
	operate(bed, SCHEDULER_RESUME, task->id, "1", json_pack("{s:[i,i]}", "nodes", 0, 1));
	UNTIL(bed, 120, task->state == TASK_RUNNING);
	await_end(bed, task, TASK_OUTCOME_COMPLETED);
}

static void suspends(struct bed *bed)
{
	suspend_and_resume(bed, "memory");
	suspend_and_resume(bed, "disk");
}

static const char *vm_at(struct bed *bed, guint node, char **ret_vm)
{
	g_autoptr(json_t) document = scheduler_document(bed->scheduler, SCHEDULER_NODES, 0);
	const json_t *one = json_array_get(json_object_get(document, "nodes"), node);

	*ret_vm = g_strdup(json_string_value(json_object_get(one, "vm")));
	return *ret_vm ? virtual_vm_host(bed->libvirt, *ret_vm) : NULL;
}

static void migrates(struct bed *bed)
{
	const struct task *task = run(bed, 0, 1);
	g_autofree char *vm = NULL;
	g_autofree char *same = NULL;

	g_assert_cmpstr(vm_at(bed, 0, &vm), ==, "h1");
	operate(bed, SCHEDULER_MIGRATE, task->id, "1", json_pack("{s:[i]}", "nodes", 2));
	UNTIL(bed, 300, !task_is_migrating(task));
	g_assert_cmpstr(vm_at(bed, 2, &same), ==, "h2");
	g_assert_cmpstr(vm, ==, same);
	await_end(bed, task, TASK_OUTCOME_COMPLETED);
}

/* A suspended task's VMs are carried to another host as files. */
static void resumes_elsewhere(struct bed *bed)
{
	const struct task *task = run(bed, 0, 2);

	operate(bed, SCHEDULER_SUSPEND, task->id, "1", json_pack("{s:s}", "keep", "disk"));
	UNTIL(bed, 120, task->state == TASK_SUSPENDED);
	operate(bed, SCHEDULER_RESUME, task->id, "1", json_pack("{s:[i,i]}", "nodes", 2, 3));
	UNTIL(bed, 300, task->state == TASK_RUNNING);
	await_end(bed, task, TASK_OUTCOME_COMPLETED);
}

/* What becomes of a task and its nodes by each trouble of a VM. */
static const struct {
	enum virtual_trouble trouble;
	enum task_outcome outcome;
	enum virtual_trouble after; /* 20 s later; VIRTUAL_TROUBLES: nothing */
} troubles[] = {
	{VIRTUAL_VM_VANISHES, TASK_OUTCOME_LOST, VIRTUAL_TROUBLES},
	{VIRTUAL_VM_DESTROYED, TASK_OUTCOME_LOST, VIRTUAL_TROUBLES},
	{VIRTUAL_GUEST_ENDS, TASK_OUTCOME_LOST, VIRTUAL_TROUBLES},
	{VIRTUAL_VM_PAUSED, TASK_OUTCOME_COMPLETED, VIRTUAL_VM_CONTINUED},
	{VIRTUAL_VM_IO_ERROR, TASK_OUTCOME_LOST, VIRTUAL_TROUBLES},
	{VIRTUAL_AGENT_HANGS, TASK_OUTCOME_LOST, VIRTUAL_TROUBLES},
	{VIRTUAL_AGENT_RUBBISH, TASK_OUTCOME_LOST, VIRTUAL_TROUBLES},
	{VIRTUAL_AGENT_GONE, TASK_OUTCOME_LOST, VIRTUAL_TROUBLES},
	{VIRTUAL_TASK_CRASHES, TASK_OUTCOME_FAILED, VIRTUAL_TROUBLES},
	{VIRTUAL_PORTS_RUBBISH, TASK_OUTCOME_FAILED, VIRTUAL_TROUBLES},
};

static void has_trouble(struct bed *bed)
{
	for (guint i = 0; i < G_N_ELEMENTS(troubles); i++) {
		const struct task *task = run(bed, 1, 2);
		g_autofree char *vm = NULL;

		g_assert_nonnull(vm_at(bed, 1, &vm));
		g_assert_true(virtual_vm_trouble(bed->libvirt, vm, troubles[i].trouble));
		if (troubles[i].after != VIRTUAL_TROUBLES) {
			pass_ms(bed, 20000);
			virtual_vm_trouble(bed->libvirt, vm, troubles[i].after);
		}
		await_end(bed, task, troubles[i].outcome);
	}
}

/* A host without power loses its VMs; tasks in others complete. */
static void loses_host(struct bed *bed)
{
	const struct task *here = run(bed, 0, 2);
	const struct task *there = start(bed, 2, 2);

	virtual_host_power(bed->libvirt, "h1", false);
	await_end(bed, there, TASK_OUTCOME_COMPLETED);
	g_assert_cmpuint(ready_nodes(bed), ==, 2);
	virtual_host_power(bed->libvirt, "h1", true);
	await_end(bed, here, TASK_OUTCOME_LOST);
	await_ready(bed);
}

/* VMs outlive their libvirtd, and a network that is cut, and so do tasks. */
static void outlives_libvirtd(struct bed *bed)
{
	const struct task *task = run(bed, 0, 4);

	virtual_host_restart(bed->libvirt, "h1", 3000);
	await_end(bed, task, TASK_OUTCOME_COMPLETED);
	task = run(bed, 0, 2);
	virtual_host_cut(bed->libvirt, "h1", true);
	pass_ms(bed, 20000);
	virtual_host_cut(bed->libvirt, "h1", false);
	await_end(bed, task, TASK_OUTCOME_COMPLETED);
	await_ready(bed);
}

/* Calls that fail once are made again. */
static void repeats_calls(struct bed *bed)
{
	g_autofree char *vm = NULL;
	const struct task *task;

	await_ready(bed);
	virtual_host_fail(bed->libvirt, "h1", "virDomainCreateXML", 2, VIR_ERR_INTERNAL_ERROR,
			  VIR_FROM_QEMU);
	virtual_host_fail(bed->libvirt, "h1", "virDomainQemuAgentCommand", 1,
			  VIR_ERR_AGENT_UNRESPONSIVE, VIR_FROM_QEMU);
	vm_at(bed, 0, &vm);
	virtual_vm_trouble(bed->libvirt, vm, VIRTUAL_VM_VANISHES);
	UNTIL(bed, 60, ready_nodes(bed) == NODES - 1);
	await_ready(bed);
	task = run(bed, 0, 4);
	virtual_host_slow(bed->libvirt, "h2", NULL, 500);
	await_end(bed, task, TASK_OUTCOME_COMPLETED);
	virtual_host_slow(bed->libvirt, "h2", NULL, 0);
	await_ready(bed);
}

/* A scheduler that crashed has left its VMs, which the next one takes over. */
static void begins_again(struct bed *bed)
{
	g_autofree char *vm = NULL;
	g_autofree char *same = NULL;
	const double before_s = virtual_platform_s(bed->virtual);

	await_ready(bed);
	vm_at(bed, 3, &vm);
	end_scheduler(bed);
	begin_scheduler(bed);
	await_ready(bed);
	vm_at(bed, 3, &same);
	g_assert_cmpstr(vm, ==, same);
	g_assert_cmpfloat(virtual_platform_s(bed->virtual) - before_s, <, 60);
	await_end(bed, start(bed, 0, 1), TASK_OUTCOME_COMPLETED);
}

/* Nothing is left on the hosts but the image. */
static void stops_clean(struct bed *bed)
{
	int is_stopped = 0;

	await_ready(bed);
	scheduler_stop(bed->scheduler, stopped, &is_stopped);
	UNTIL(bed, 60, is_stopped);
	g_assert_cmpint(is_stopped, ==, 1);
	for (guint i = 1; i <= 2; i++) {
		g_autofree char *host = g_strdup_printf("h%u", i);
		g_auto(GStrv) vms = virtual_host_vms(bed->libvirt, host);
		g_auto(GStrv) volumes = virtual_host_volumes(bed->libvirt, host);

		g_assert_cmpuint(g_strv_length(vms), ==, 0);
		g_assert_cmpuint(g_strv_length(volumes), ==, 6);
	}
}

/* What a task prints is read while it runs; with half of its cores it takes longer. */
static void shares_and_prints(struct bed *bed)
{
	const struct task *task = run(bed, 0, 2);
	g_autoptr(json_t) about = scheduler_document(bed->scheduler, SCHEDULER_CAPABILITIES, 0);
	struct scheduler_output output;
	const double began_s = virtual_platform_s(bed->virtual);

	g_assert_cmpstr(json_string_value(json_object_get(about, "virt_type")), ==, "kvm");
	g_assert_cmpstr(json_string_value(json_object_get(about, "qemu")), ==, "7.2.0");
	json_decref(scheduler_document(bed->scheduler, SCHEDULER_USAGE, 0));
	operate(bed, SCHEDULER_SHARE, task->id, "1", json_pack("{s:f}", "share", 0.5));
	for (guint i = 0; i < 2; i++) {
		scheduler_look(bed->scheduler, task);
		pass_ms(bed, 1000);
	}
	output = scheduler_output(bed->scheduler, task);
	g_assert_cmpuint(output.looks, ==, 2);
	g_assert_nonnull(g_strstr_len(g_bytes_get_data(output.bytes, NULL),
				      (gssize)g_bytes_get_size(output.bytes), "begun"));
	g_bytes_unref(output.bytes);
	await_end(bed, task, TASK_OUTCOME_COMPLETED);
	g_assert_cmpfloat(virtual_platform_s(bed->virtual) - began_s, >, 3 * REPETITIONS);
	g_assert_cmpfloat((double)task->host_energy_uj, >, 0);
}

static void runs_script(struct bed *bed)
{
	static const char script[] =
		"{'type':'S','benchmark':'script','class':'S','ranks':2,'repetitions':1,"
		"'nodes':[1],'deadline_s':600,'user':1000,"
		"'script':{'program':'x','files':[{'name':'x','data':'aGVsbG8='}]}}";
	g_auto(GStrv) quoted = g_strsplit(script, "'", -1);
	g_autofree char *body = g_strjoinv("\"", quoted);
	const struct task *task;

	await_ready(bed);
	task = operate(bed, SCHEDULER_START, "s-1", NULL, json_loads(body, 0, NULL));
	await_end(bed, task, TASK_OUTCOME_COMPLETED);
	await_ready(bed);
}

static void kill_task(struct bed *bed, const struct task *task)
{
	bool is_new;

	scheduler_operate(bed->scheduler, SCHEDULER_KILL, task->id, NULL, NULL, &is_new, NULL);
	await_end(bed, task, TASK_OUTCOME_KILLED);
}

/* The first VM of a task has a trouble. */
static void trouble_at(struct bed *bed, guint node, enum virtual_trouble trouble)
{
	g_autofree char *vm = NULL;

	vm_at(bed, node, &vm);
	g_assert_true(virtual_vm_trouble(bed->libvirt, vm, trouble));
}

/* A task is killed, the next one hangs, and the ranks of the last one end as its network is cut. */
static void is_killed(struct bed *bed)
{
	const struct task *task;

	kill_task(bed, run(bed, 0, 4));
	task = run(bed, 0, 2);
	trouble_at(bed, 0, VIRTUAL_TASK_HANGS);
	await_end(bed, task, TASK_OUTCOME_FAILED);
	task = run(bed, 2, 2);
	trouble_at(bed, 2, VIRTUAL_NETWORK_CUT);
	trouble_at(bed, 2, VIRTUAL_TASK_CRASHES);
	await_end(bed, task, TASK_OUTCOME_LOST);
	await_ready(bed);
}

static void suspend(struct bed *bed, const struct task *task, const char *keep, int try)
{
	operate(bed, SCHEDULER_SUSPEND, task->id, "1",
		json_pack("{s:s, s:i}", "keep", keep, "try", try));
}

static void resume(struct bed *bed, const struct task *task, int try)
{
	operate(bed, SCHEDULER_RESUME, task->id, "1",
		json_pack("{s:[i,i], s:i}", "nodes", 0, 1, "try", try));
}

/* VMs that cannot be saved run on, and those that cannot be restored stay saved. */
static void fails_to_suspend(struct bed *bed)
{
	const struct task *task = run(bed, 0, 2);

	virtual_host_fail(bed->libvirt, "h1", "virDomainSaveFlags", 1, VIR_ERR_OPERATION_FAILED,
			  VIR_FROM_QEMU);
	suspend(bed, task, "disk", 1);
	UNTIL(bed, 60, task->state == TASK_SUSPENDING);
	UNTIL(bed, 300, task->state == TASK_RUNNING);
	suspend(bed, task, "disk", 2);
	UNTIL(bed, 300, task->state == TASK_SUSPENDED);
	virtual_host_fail(bed->libvirt, "h1", "virDomainRestoreFlags", 1, VIR_ERR_OPERATION_FAILED,
			  VIR_FROM_QEMU);
	resume(bed, task, 1);
	UNTIL(bed, 60, task->state == TASK_RESUMING);
	UNTIL(bed, 300, task->state == TASK_SUSPENDED);
	resume(bed, task, 2);
	await_end(bed, task, TASK_OUTCOME_COMPLETED);
	await_ready(bed);
}

static void loses_suspended(struct bed *bed)
{
	const struct task *task = run(bed, 0, 2);
	g_autofree char *vm = NULL;

	vm_at(bed, 0, &vm);
	suspend(bed, task, "auto", 1);
	UNTIL(bed, 60, task->state == TASK_SUSPENDED);
	virtual_vm_trouble(bed->libvirt, vm, VIRTUAL_VM_VANISHES);
	await_end(bed, task, TASK_OUTCOME_LOST);
	task = run(bed, 2, 2);
	suspend(bed, task, "disk", 1);
	UNTIL(bed, 60, task->state == TASK_SUSPENDED);
	kill_task(bed, task);
	await_ready(bed);
}

/* A migration of half a minute is under way. */
static const struct task *begin_migration(struct bed *bed)
{
	const struct task *task = run(bed, 0, 1);

	virtual_libvirt_times(bed->libvirt)->memory_mib_per_s = 8;
	operate(bed, SCHEDULER_MIGRATE, task->id, "1", json_pack("{s:[i]}", "nodes", 2));
	UNTIL(bed, 60, task_is_migrating(task));
	pass_ms(bed, 10000);
	g_assert_true(task_is_migrating(task));
	return task;
}

static void fails_to_migrate(struct bed *bed)
{
	const struct task *task = begin_migration(bed);

	virtual_host_cut(bed->libvirt, "h2", true);
	UNTIL(bed, 300, !task_is_migrating(task));
	virtual_host_cut(bed->libvirt, "h2", false);
	await_end(bed, task, TASK_OUTCOME_COMPLETED);
	task = begin_migration(bed);
	virtual_host_restart(bed->libvirt, "h1", 1000);
	await_end(bed, task, TASK_OUTCOME_COMPLETED);
	task = begin_migration(bed);
	virtual_host_power(bed->libvirt, "h2", false);
	await_end(bed, task, TASK_OUTCOME_COMPLETED);
	virtual_host_power(bed->libvirt, "h2", true);
	await_ready(bed);
}

static void is_lost_on_its_way(struct bed *bed)
{
	const struct task *task = begin_migration(bed);

	virtual_host_power(bed->libvirt, "h1", false);
	pass_ms(bed, 60000);
	virtual_host_power(bed->libvirt, "h1", true);
	await_end(bed, task, TASK_OUTCOME_LOST);
	kill_task(bed, begin_migration(bed));
	await_ready(bed);
}

/* A claim on the cluster by a local scheduler of another machine. */
static void write_claim(struct bed *bed, const char *volume)
{
	g_autoptr(json_t) claim =
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:s, s:i}", "keeper", "k", "machine",
			  "m", "machine_id", "i", "boot_id", "b", "pids", "p", "pid", 7,
			  "start_ticks", 9, "since", "then", "beat", 1);
	g_autofree char *text = json_text(claim);

	virtual_host_write(bed->libvirt, "h1", volume, text);
}

/* The other one gives no sign of life: the cluster is taken over from it. */
static void takes_over(struct bed *bed)
{
	g_auto(GStrv) volumes = NULL;

	write_claim(bed, "virtbed-v-c-claim.7");
	pass_ms(bed, 20000);
	g_assert_cmpuint(ready_nodes(bed), ==, 2);
	await_ready(bed);
	volumes = virtual_host_volumes(bed->libvirt, "h1");
	g_assert_true(g_strv_contains((const char *const *)volumes, "virtbed-v-c-claim.8"));
	write_claim(bed, "virtbed-v-c-claim.9");
	UNTIL(bed, 60, ready_nodes(bed) == 2);
	await_ready(bed);
	await_end(bed, start(bed, 0, 4), TASK_OUTCOME_COMPLETED);
}

/* A file of the image that another program has written to is sent again. */
static void mends_image(struct bed *bed)
{
	g_auto(GStrv) volumes = NULL;

	await_ready(bed);
	volumes = virtual_host_volumes(bed->libvirt, "h1");
	for (guint i = 0; volumes[i]; i++)
		if (g_str_has_suffix(volumes[i], "-vmlinuz"))
			virtual_host_write(bed->libvirt, "h1", volumes[i], "no kernel");
	end_scheduler(bed);
	begin_scheduler(bed);
	await_ready(bed);
	trouble_at(bed, 0, VIRTUAL_VM_VANISHES);
	UNTIL(bed, 60, ready_nodes(bed) < NODES);
	await_ready(bed);
}

/* A predecessor's VM ends before it is known how VMs are started there. */
static void ends_early(struct bed *bed)
{
	g_autofree char *vm = NULL;

	await_ready(bed);
	vm_at(bed, 0, &vm);
	end_scheduler(bed);
	begin_scheduler(bed);
	pass_ms(bed, 1000);
	g_assert_true(virtual_vm_trouble(bed->libvirt, vm, VIRTUAL_VM_VANISHES));
	await_ready(bed);
}

/* A scheduler ends while VMs wait for their turn to boot. */
static void ends_while_booting(struct bed *bed)
{
	pass_ms(bed, 5000);
	g_assert_cmpuint(ready_nodes(bed), <, NODES);
	end_scheduler(bed);
	begin_scheduler(bed);
	await_ready(bed);
}

/* The VM that probes how VMs run there is removed, even if that fails twice. */
static void removes_probe(struct bed *bed)
{
	g_auto(GStrv) vms = NULL;

	virtual_host_fail(bed->libvirt, "h1", "virDomainDestroy", 2, VIR_ERR_SYSTEM_ERROR,
			  VIR_FROM_QEMU);
	await_ready(bed);
	pass_ms(bed, 30000);
	vms = virtual_host_vms(bed->libvirt, "h1");
	g_assert_false(g_strv_contains((const char *const *)vms, "virtbed-v-c-probe"));
	g_assert_cmpuint(g_strv_length(vms), ==, 3);
}

/* What a daemon had of libvirt is dropped when it crashes. */
static void forgets(struct bed *bed)
{
	g_auto(GStrv) names = NULL;
	virConnectPtr connection;

	await_ready(bed);
	names = virtual_host_vms(bed->libvirt, "h1");
	connection = virConnectOpen("qemu+ssh://h1/system");
	g_assert_nonnull(virDomainLookupByName(connection, names[0]));
	g_assert_nonnull(virStoragePoolLookupByName(connection, "virtbed"));
	g_assert_nonnull(virStreamNew(connection, 0));
	virtual_libvirt_forget(bed->libvirt, NULL);
	await_end(bed, start(bed, 0, 4), TASK_OUTCOME_COMPLETED);
}

/* Faults at random. */

/* A scheduler that ends drops calls that wait, with what they are for, as its process ends too. */
#ifdef __SANITIZE_ADDRESS__
#define LEAKS_COUNT true
#else
#define LEAKS_COUNT false
#endif

enum { STORM_ROUNDS = 40, STORM_SEEDS = 8, STORM_SEEDS_LONG = 2000 };

static const char *const functions[] = {
	"virDomainCreateXML",
	"virDomainQemuAgentCommand",
	"virDomainOpenChannel",
	"virDomainLookupByName",
	"virDomainSaveFlags",
	"virDomainRestoreFlags",
	"virDomainMigrateToURI3",
	"virStorageVolCreateXML",
	"virStoragePoolLookupByName",
	"virDomainSuspend",
	"virDomainResume",
	"virConnectListAllDomains",
	"virDomainDestroy",
	"virDomainSetSchedulerParametersFlags",
};

/* A request of a user, which may be refused. */
static void request_at_random(struct bed *bed, struct random_stream *random)
{
	static const char *const numbers[] = {"1", "2"};
	g_autofree char *id =
		g_strdup_printf("t-%u", 1 + (guint)random_stream_below(random, bed->tasks + 1));
	const char *n = numbers[random_stream_below(random, 2)];
	const int first = (int)random_stream_below(random, NODES);
	const enum scheduler_operation of =
		(enum scheduler_operation)random_stream_below(random, SCHEDULER_KILL + 1);
	g_autoptr(json_t) body = NULL;
	bool is_new;

	if (of == SCHEDULER_START) {
		g_free(id);
		id = g_strdup_printf("t-%u", ++bed->tasks);
		body = task_body((guint)first,
				 1 + (guint)random_stream_below(random, NODES - (guint)first));
	} else if (of == SCHEDULER_SUSPEND) {
		body = json_pack("{s:s}", "keep",
				 random_stream_below(random, 2) ? "disk" : "memory");
	} else if (of == SCHEDULER_RESUME || of == SCHEDULER_MIGRATE) {
		body = random_stream_below(random, 2) || first == 3
			       ? json_pack("{s:[i]}", "nodes", first)
			       : json_pack("{s:[i,i]}", "nodes", first, first + 1);
	} else if (of == SCHEDULER_SHARE) {
		body = json_pack("{s:f}", "share", 0.5);
	}
	scheduler_operate(bed->scheduler, of, id, of == SCHEDULER_KILL ? NULL : n, body, &is_new,
			  NULL);
}

static void fault_at_random(struct bed *bed, struct random_stream *random)
{
	const char *host = random_stream_below(random, 2) ? "h1" : "h2";
	g_auto(GStrv) vms = virtual_host_vms(bed->libvirt, host);
	const guint count = g_strv_length(vms);

	switch (random_stream_below(random, 9)) {
	case 0:
		virtual_host_power(bed->libvirt, host, random_stream_below(random, 3) > 0);
		break;
	case 1:
		virtual_host_cut(bed->libvirt, host, random_stream_below(random, 2));
		break;
	case 2:
		virtual_host_restart(bed->libvirt, host, (guint)random_stream_below(random, 20000));
		break;
	case 3:
		virtual_host_slow(
			bed->libvirt, host,
			random_stream_below(random, 2)
				? functions[random_stream_below(random, G_N_ELEMENTS(functions))]
				: NULL,
			(guint)random_stream_below(random, 3) * 400);
		break;
	case 4:
		virtual_host_fail(bed->libvirt, host,
				  functions[random_stream_below(random, G_N_ELEMENTS(functions))],
				  1 + (guint)random_stream_below(random, 3), VIR_ERR_INTERNAL_ERROR,
				  VIR_FROM_QEMU);
		break;
	case 5:
		if (!LEAKS_COUNT) {
			end_scheduler(bed);
			begin_scheduler(bed);
		}
		break;
	default:
		if (count > 0)
			virtual_vm_trouble(bed->libvirt, vms[random_stream_below(random, count)],
					   (enum virtual_trouble)
						   random_stream_below(random, VIRTUAL_TROUBLES));
	}
}

/* All that was done to hosts and VMs ends. */
static void mend(struct bed *bed)
{
	for (guint i = 1; i <= 2; i++) {
		g_autofree char *host = g_strdup_printf("h%u", i);
		g_auto(GStrv) vms = NULL;

		virtual_host_power(bed->libvirt, host, true);
		virtual_host_cut(bed->libvirt, host, false);
		virtual_host_slow(bed->libvirt, host, NULL, 0);
		for (guint k = 0; k < G_N_ELEMENTS(functions); k++) {
			virtual_host_slow(bed->libvirt, host, functions[k], 0);
			virtual_host_fail(bed->libvirt, host, functions[k], 0, 0, 0);
		}
		vms = virtual_host_vms(bed->libvirt, host);
		for (guint k = 0; vms[k]; k++) {
			virtual_vm_trouble(bed->libvirt, vms[k], VIRTUAL_AGENT_WELL);
		}
	}
}

/* Whether every task has ended or is suspended, and every node is ready. */
static bool is_quiet(struct bed *bed)
{
	const GPtrArray *tasks = scheduler_tasks(bed->scheduler);

	for (guint i = 0; i < tasks->len; i++) {
		const struct task *task = tasks->pdata[i];

		if (task->state != TASK_ENDED && task->state != TASK_SUSPENDED)
			return false;
	}
	return ready_nodes(bed) == NODES;
}

/* VMs are at nodes, spare, or of suspended tasks; none is left over. */
static void check_vms(struct bed *bed)
{
	const GPtrArray *tasks = scheduler_tasks(bed->scheduler);
	guint most = NODES + 2;
	guint count = 0;

	for (guint i = 0; i < tasks->len; i++) {
		const struct task *task = tasks->pdata[i];

		most += task->state == TASK_SUSPENDED ? task->nodes_count : 0;
	}
	for (guint i = 1; i <= 2; i++) {
		g_autofree char *host = g_strdup_printf("h%u", i);
		g_auto(GStrv) vms = virtual_host_vms(bed->libvirt, host);

		count += g_strv_length(vms);
	}
	g_assert_cmpuint(count, >=, NODES);
	g_assert_cmpuint(count, <=, most);
}

/*
 * Whatever happens, after the last fault every task ends, every node is ready again, and nothing is
 * left on the hosts in the end.
 */
static void storm(uint64_t seed)
{
	struct random_stream random;
	struct bed bed = {0};

	g_test_message("seed %u", (guint)seed);
	random_stream_init(&random, seed, 2);
	set_up_seed(&bed, seed, true);
	for (guint i = 0; i < STORM_ROUNDS; i++) {
		pass_ms(&bed, (guint)random_stream_below(&random, 10000));
		if (random_stream_below(&random, 2))
			request_at_random(&bed, &random);
		else
			fault_at_random(&bed, &random);
	}
	mend(&bed);
	pass_ms(&bed, 30000); /* libvirtd is back */
	UNTIL(&bed, 4 * 3600, is_quiet(&bed));
	pass_ms(&bed, 60000);
	check_vms(&bed);
	stops_clean(&bed);
	tear_down(&bed, NULL);
}

static void test_storms(void)
{
	const guint64 first = g_ascii_strtoull(g_getenv("VIRTBED_SEED") ?: "1", NULL, 10);
	const guint count = g_getenv("VIRTBED_SEED") ? 1
			    : tests_are_long()       ? STORM_SEEDS_LONG
						     : STORM_SEEDS;

	for (guint i = 0; i < count; i++)
		storm(first + i);
}

static void test_part(struct bed *bed, gconstpointer data)
{
	const struct part *part = data;

	part->play(bed);
}

/* All of it with one seed, as a record. */
static char *story(uint64_t seed)
{
	struct bed bed = {0};
	char *record;

	set_up_seed(&bed, seed, true);
	completes(&bed);
	suspends(&bed);
	migrates(&bed);
	has_trouble(&bed);
	loses_host(&bed);
	outlives_libvirtd(&bed);
	stops_clean(&bed);
	record = g_strdup(bed.record->str);
	tear_down(&bed, NULL);
	return record;
}

/* The same seed gives the same record, another seed another one. */
static void test_same_again(void)
{
	g_autofree char *first = story(7);
	g_autofree char *second = story(7);
	g_autofree char *other = story(8);
	g_auto(GStrv) lines = g_strsplit(first, "\n", -1);
	g_auto(GStrv) others = g_strsplit(second, "\n", -1);
	g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, first, -1);

	for (gsize i = 0; lines[i] && others[i]; i++)
		g_assert_cmpstr(lines[i], ==, others[i]);
	g_assert_cmpstr(first, ==, second);
	g_test_message("record %.16s, %zu bytes", hash, strlen(first));
	g_assert_cmpstr(first, !=, other);
}

static const struct part parts[] = {
	{"a task completes", completes},
	{"a task completes in emulated VMs", completes, .emulated = true},
	{"a task's output is read, and its share is set", shares_and_prints},
	{"a script runs", runs_script},
	{"a task is killed, hangs, and is cut off", is_killed},
	{"a suspension fails, and its task runs on", fails_to_suspend},
	{"a suspended task is lost with its VM", loses_suspended},
	{"a migration fails, and its task runs on", fails_to_migrate},
	{"a task is lost on its way", is_lost_on_its_way},
	{"another scheduler has the cluster", takes_over},
	{"the image on a host is damaged", mends_image},
	{"a VM ends before its host is prepared", ends_early},
	{"a scheduler ends while VMs boot", ends_while_booting},
	{"VMs that cannot be removed are, later", removes_probe},
	{"a daemon crashes", forgets},
	{"a task is suspended and resumed", suspends},
	{"a task is resumed on another host", resumes_elsewhere},
	{"a running VM is migrated", migrates},
	{"VMs, agents and ranks give trouble", has_trouble},
	{"a host loses its power", loses_host},
	{"libvirtd and the network come back", outlives_libvirtd},
	{"calls fail, and take long", repeats_calls},
	{"VMs are taken over", begins_again},
	{"nothing is left in the end", stops_clean},
};

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
		g_autofree char *path = g_strconcat("/virtual-vms/", parts[i].name, NULL);

		g_test_add(path, struct bed, &parts[i], set_up, test_part, tear_down);
	}
	g_test_add_func("/virtual-vms/the same seed, the same record", test_same_again);
	g_test_add_func("/virtual-vms/all is well after faults at random", test_storms);
	return g_test_run();
}
