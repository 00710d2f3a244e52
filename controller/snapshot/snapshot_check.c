/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Verifies what the rows of a snapshot cannot: how values, lists and the system belong together. */
#include <math.h>

#include "controller/snapshot/snapshot_rows.h"
#include "controller/sched/queueing.h"

/* The latest time, in bins: sums of a few such times are still valid bins. */
#define BINS_MAX 0x1p48

#define refuse record_refuse

/* The system. */

static bool add_option(const struct record_reading *reading, struct sched_system *system,
		       uint32_t row, const struct sched_option *option)
{
	const struct sched_cluster *cluster = &system->clusters[option->cluster];
	const size_t cell = (size_t)row * system->columns_count + cluster->column + option->pstate;
	uint32_t *width = &system->nodes[row * system->clusters_count + option->cluster];

	if (option->pstate >= cluster->pstates)
		return refuse(reading, "cluster \"%s\" has no P-state %u", cluster->name,
			      option->pstate);
	if (!isnan(system->etc_s[cell]) || (*width != 0 && *width != option->nodes))
		return refuse(reading, "type \"%s\" has contradicting options on cluster \"%s\"",
			      system->row_names[row], cluster->name);
	system->etc_s[cell] = option->etc_s;
	system->eec_j[cell] = option->eec_j;
	*width = option->nodes;
	return true;
}

static bool make_system(const struct record_reading *reading, const struct snapshot_system *parts)
{
	struct snapshot_json *read = reading->context;
	enum sched_system_fault fault;
	uint64_t columns = 0, nodes = 0;
	uint32_t index = 0;

	for (uint32_t c = 0; c < parts->clusters_count; c++) {
		columns += MAX(parts->clusters[c].pstates, 1);
		nodes += parts->clusters[c].nodes;
	}
	if (columns * parts->types_count > COUNT_MAX)
		return refuse(reading, "too many clusters, P-states and types");
	if (nodes > COUNT_MAX)
		return refuse(reading, "the clusters have more than %d nodes", COUNT_MAX);
	read->system = sched_system_new(parts->clusters, parts->clusters_count, parts->types_count);
	if (!read->system)
		return refuse(reading, "out of memory");
	for (uint32_t row = 0; row < parts->types_count; row++) {
		read->system->row_names[row] = parts->types[row].name;
		for (uint32_t i = 0; i < parts->types[row].options_count; i++)
			if (!add_option(reading, read->system, row, &parts->types[row].options[i]))
				return false;
	}
	read->system->immediate = parts->immediate;
	read->system->shared = parts->shared;
	fault = sched_system_finish(read->system, &index);
	return fault == SCHED_SYSTEM_OK ||
	       refuse(reading, "%s \"%s\": %s", fault == SCHED_SYSTEM_CLUSTER ? "cluster" : "type",
		      fault == SCHED_SYSTEM_CLUSTER ? read->system->clusters[index].name
						    : read->system->row_names[index],
		      sched_system_fault_text(fault));
}

static bool add_pair(const struct record_reading *reading, struct pet *pet,
		     const struct snapshot_pair *pair)
{
	const struct pmf *pmf = &pair->pmf;
	enum pmf_fault fault = pmf_check(pmf);
	const char *says = NULL;

	if (fault == PMF_OK && (pmf->mass[0] <= 0 || pmf->mass[pmf->count - 1] <= 0))
		says = "the first and the last mass must be above 0";
	else if (fault == PMF_OK && pet_at(pet, pair->row, pair->cluster)->pmf.count > 0)
		says = "it is there twice";
	else if (fault == PMF_OK)
		fault = pet_set(pet, pair->row, pair->cluster, pmf);
	if (fault != PMF_OK)
		says = pmf_fault_text(fault);
	return !says || refuse(reading, "\"pet\": type \"%s\" on cluster \"%s\": %s",
			       reading_parts(reading)->types[pair->row].name,
			       reading_parts(reading)->clusters[pair->cluster].name, says);
}

/* Whether completion times of queues of so many tasks fit in a PMF. */
static bool check_length(const struct record_reading *reading, uint32_t tasks)
{
	const struct snapshot_json *read = reading->context;

	return queueing_fits(read->pet, tasks) ||
	       refuse(reading,
		      "the completion times of queues of %u tasks may have more than %u bins; "
		      "take larger bins",
		      tasks, PMF_BINS_MAX);
}

static bool check_queueing(const struct record_reading *reading, struct snapshot_system *parts)
{
	struct snapshot_json *read = reading->context;
	struct sched_queueing *queueing = &parts->queueing;
	uint32_t row, cluster;

	if (parts->immediate || parts->shared)
		return refuse(reading, "a system with \"queueing\" is neither \"immediate\" nor "
				       "\"shared\"");
	if (!(queueing->bin_s > 0))
		return refuse(reading, "\"bin_s\" is %g; it must be above 0", queueing->bin_s);
	if (queueing->length == 0)
		return refuse(reading, "\"length\" is 0; a queue has the executing task at least");
	if (!(queueing->pruning.toggle > 0))
		return refuse(reading, "\"toggle\" is %g; it must be above 0",
			      queueing->pruning.toggle);
	read->pet = pet_new(parts->types_count, parts->clusters_count);
	if (!read->pet)
		return refuse(reading, "out of memory");
	for (uint32_t i = 0; i < parts->pet_count; i++)
		if (!add_pair(reading, read->pet, &parts->pet[i]))
			return false;
	if (pet_check(read->pet, &row, &cluster) != PMF_OK)
		return refuse(reading, "\"pet\": nothing for type \"%s\" on cluster \"%s\"",
			      parts->types[row].name, parts->clusters[cluster].name);
	queueing->pet = read->pet;
	read->system->queueing = queueing;
	return check_length(reading, queueing->length);
}

bool snapshot_check_system(const struct record_reading *reading, void *data)
{
	struct snapshot_system *parts = data;

	if (!make_system(reading, parts))
		return false;
	if (reading->variant == QUEUES)
		return check_queueing(reading, parts);
	if (parts->shared && parts->immediate)
		return refuse(reading, "a system is \"shared\" or \"immediate\", not both");
	if (parts->shared && (parts->clusters_count != 1 || parts->clusters[0].pstates != 1 ||
			      parts->types_count != 0))
		return refuse(reading,
			      "a shared system has one cluster with one P-state and no types");
	return true;
}

/* Tasks and their places. */

static bool check_time(const struct record_reading *reading, const char *what, double time_s)
{
	return fabs(time_s) / reading_parts(reading)->queueing.bin_s < BINS_MAX ||
	       refuse(reading, "%s of %g s is out of range", what, time_s);
}

/* Checks a part of a host. */
static bool check_share(const struct record_reading *reading, uint32_t id, const char *key,
			double share)
{
	return (share > 0 && share <= 1) ||
	       refuse(reading,
		      "task %u: \"%s\" is %g; give the share of a host, above 0 and at most 1", id,
		      key, share);
}

/* Checks the demand of a task in a shared system, which must fit on otherwise empty hosts. */
static bool check_demand(const struct record_reading *reading, const struct sched_task *task)
{
	const struct sched_demand *demand = &task->demand;
	const uint32_t hosts = reading_parts(reading)->clusters[0].nodes;

	if (!check_share(reading, task->id, "cpu", demand->cpu) ||
	    !check_share(reading, task->id, "memory", demand->memory))
		return false;
	if (demand->vms == 0)
		return refuse(reading, "task %u has no VMs", task->id);
	return demand->vms <= hosts * floor((1 + SCHED_SHARE_SLACK) / demand->memory) ||
	       refuse(reading,
		      "task %u could never run: %u VMs that take %g of a host's memory each do not "
		      "fit on %u hosts",
		      task->id, demand->vms, demand->memory, hosts);
}

bool snapshot_check_task(const struct record_reading *reading, void *data)
{
	struct snapshot_json *read = reading->context;
	struct sched_task *task = data;
	enum utility_fault fault;
	uint32_t at;

	if (!g_hash_table_insert(read->by_id, GUINT_TO_POINTER(task->id), task))
		return refuse(reading, "task %u is there twice", task->id);
	if (reading->variant == SHARED)
		return check_demand(reading, task);
	sched_system_options(read->system, task->row, &at);
	if (at == 0)
		return refuse(reading, "type \"%s\" has no options: tasks cannot have this type",
			      read->parts.types[task->row].name);
	if (reading->variant == QUEUES)
		return check_time(reading, "a deadline", task->deadline_s) &&
		       (task->deadline_s > task->arrival_s ||
			refuse(reading, "task %u: its deadline is not after its arrival",
			       task->id));
	fault = utility_check(&task->utility, &at);
	return fault == UTILITY_FAULT_NONE || refuse(reading, "task %u: utility, segment %u: %s",
						     task->id, at, utility_fault_text(fault));
}

/* Checks that a time is not negative. */
static bool check_spent(const struct record_reading *reading, const struct sched_task *task,
			const char *key, double spent_s)
{
	return spent_s >= 0 || refuse(reading, "task %u: %s is below 0", task->id, key);
}

bool snapshot_check_suspended(const struct record_reading *reading, void *data)
{
	const struct snapshot_json *read = reading->context;
	struct sched_allocation *suspended = data;
	const struct sched_task *task = suspended->task;
	const struct sched_option *option;

	if (reading->variant == SHARED) {
		suspended->nodes_count = task->demand.vms;
		return check_spent(reading, task, "virtual_s", suspended->virtual_s);
	}
	option =
		sched_system_option(read->system, task->row, suspended->cluster, suspended->pstate);
	if (!option)
		return refuse(reading, "task %u cannot run in cluster \"%s\" at P-state %u",
			      task->id, read->parts.clusters[suspended->cluster].name,
			      suspended->pstate);
	suspended->nodes_count = option->nodes;
	return check_spent(reading, task, "executed_s", suspended->executed_s);
}

/* Checks that a task has as many nodes as its option needs, in ascending order. */
static bool check_place(const struct record_reading *reading, const struct sched_task *task,
			uint32_t in, uint32_t pstate, const uint32_t *nodes, uint32_t count)
{
	const struct snapshot_json *read = reading->context;
	const struct sched_cluster *cluster = &read->parts.clusters[in];
	const struct sched_option *option =
		sched_system_option(read->system, task->row, in, pstate);

	if (!option || count != option->nodes)
		return refuse(reading,
			      "task %u cannot have %u nodes of cluster \"%s\" at P-state %u",
			      task->id, count, cluster->name, pstate);
	for (uint32_t i = 0; i < count; i++)
		if (nodes[i] >= cluster->nodes || (i > 0 && nodes[i] <= nodes[i - 1]))
			return refuse(reading,
				      "task %u: the nodes must be ascending indices below %u",
				      task->id, cluster->nodes);
	return true;
}

bool snapshot_check_planned(const struct record_reading *reading, void *data)
{
	const struct sched_allocation *place = data;

	return check_place(reading, place->task, place->cluster, place->pstate, place->nodes,
			   place->nodes_count) &&
	       (place->end_s > place->start_s ||
		refuse(reading, "task %u ends before it starts", place->task->id));
}

/* Checks a running task in a shared system: the host of every VM, its yield and virtual time. */
static bool check_sharing(const struct record_reading *reading,
			  const struct sched_allocation *running)
{
	const struct sched_task *task = running->task;
	const uint32_t hosts = reading_parts(reading)->clusters[running->cluster].nodes;

	if (running->nodes_count != task->demand.vms)
		return refuse(reading, "task %u has %u VMs on %u hosts: give one for each",
			      task->id, task->demand.vms, running->nodes_count);
	for (uint32_t i = 0; i < running->nodes_count; i++)
		if (running->nodes[i] >= hosts)
			return refuse(reading, "task %u: the hosts must be indices below %u",
				      task->id, hosts);
	return check_spent(reading, task, "virtual_s", running->virtual_s) &&
	       check_share(reading, task->id, "yield", running->yield);
}

bool snapshot_check_running(const struct record_reading *reading, void *data)
{
	const struct snapshot_json *read = reading->context;
	struct sched_allocation *running = data;

	if (reading->variant == SHARED) {
		running->start_s = running->end_s = NAN;
		return check_sharing(reading, running);
	}
	return check_place(reading, running->task, running->cluster, running->pstate,
			   running->nodes, running->nodes_count) &&
	       (running->end_s >= running->start_s ||
		refuse(reading, "task %u ends before it starts", running->task->id)) &&
	       (running->end_s >= read->snapshot.now_s ||
		refuse(reading, "running task %u ends before now_s", running->task->id)) &&
	       check_spent(reading, running->task, "executed_s", running->executed_s);
}

bool snapshot_check_down(const struct record_reading *reading, void *data)
{
	const struct sched_node *node = data;
	const struct sched_cluster *cluster = &reading_parts(reading)->clusters[node->cluster];

	return node->node < cluster->nodes ||
	       refuse(reading, "\"down\": there is no node %u in cluster \"%s\"", node->node,
		      cluster->name);
}

bool snapshot_check_queue(const struct record_reading *reading, void *data)
{
	const struct snapshot_json *read = reading->context;
	const char *name = read->parts.clusters[reading->index].name;
	const struct sched_queue *queue = data;

	if (!check_length(reading, queue->count))
		return false;
	if (queue->executes && queue->count == 0)
		return refuse(reading, "cluster \"%s\" executes nothing: its queue is empty", name);
	if (queue->executes && queue->start_s > read->snapshot.now_s)
		return refuse(reading, "cluster \"%s\" executes a task from %g s on, after now_s",
			      name, queue->start_s);
	return !queue->executes || check_time(reading, "a start", queue->start_s);
}

/* The snapshot. */

static bool check_numbers(const struct record_reading *reading,
			  const struct sched_snapshot *snapshot)
{
	if (snapshot->budget_j < 0)
		return refuse(reading, "budget_j is below 0; write null for no budget");
	if (snapshot->next_event_s <= snapshot->now_s)
		return refuse(reading, "next_event_s must be above now_s");
	if (snapshot->end_s <= snapshot->day_start_s)
		return refuse(reading, "end_s must be above day_start_s");
	if (isinf(snapshot->end_s) && isfinite(snapshot->budget_j))
		return refuse(reading, "a budget needs an end_s, which is null");
	if (snapshot->completed_j < 0 || snapshot->completed_resources < 0)
		return refuse(reading, "\"completed\": a number below 0");
	return true;
}

/* Checks that a mappable task may follow the one before it, if any. */
static bool check_order(const struct record_reading *reading, const char *list,
			const struct sched_task *before, const struct sched_task *task)
{
	if (!before || sched_task_before(before, task))
		return true;
	return refuse(reading,
		      before->priority < task->priority
			      ? "\"%s\": task %u stands before task %u, which has a higher "
				"priority; sort by priority, then arrival, then id"
			      : "\"%s\": task %u stands before task %u, which arrived earlier; "
				"sort by arrival, then id",
		      list, before->id, task->id);
}

/* Checks that the deferred tasks are waiting ones, in their order. */
static bool check_deferred(const struct record_reading *reading,
			   const struct sched_snapshot *snapshot)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < snapshot->deferred_count; i++) {
		const struct sched_allocation *deferred = &snapshot->deferred[i];

		if (deferred->deferrals == 0)
			return refuse(reading, "\"deferred\": task %u: count is 0",
				      deferred->task->id);
		while (at < snapshot->waiting_count && snapshot->waiting[at] != deferred->task)
			at++;
		if (at++ >= snapshot->waiting_count)
			return refuse(reading,
				      "\"deferred\": task %u is not among \"waiting\", or not in "
				      "its order",
				      deferred->task->id);
	}
	return true;
}

/* Notes that a task is in a list. Fails if it is in another one already. */
static bool note_task(const struct record_reading *reading, GHashTable *noted,
		      const struct sched_task *task)
{
	return g_hash_table_add(noted, (gpointer)task) ||
	       refuse(reading,
		      "task %u is in two of \"waiting\", \"suspended\", \"queues\", \"running\" "
		      "and \"reservations\", or twice in one",
		      task->id);
}

/* Checks the order of mappable tasks, and that a task is in one list only. */
static bool check_lists(const struct record_reading *reading, const struct sched_snapshot *snapshot)
{
	const struct snapshot_json *read = reading->context;
	g_autoptr(GHashTable) noted = g_hash_table_new(NULL, NULL);

	for (uint32_t i = 0; i < snapshot->waiting_count; i++)
		if (!check_order(reading, "waiting", i > 0 ? snapshot->waiting[i - 1] : NULL,
				 snapshot->waiting[i]) ||
		    !note_task(reading, noted, snapshot->waiting[i]))
			return false;
	for (uint32_t i = 0; i < snapshot->suspended_count; i++)
		if (!check_order(reading, "suspended",
				 i > 0 ? snapshot->suspended[i - 1].task : NULL,
				 snapshot->suspended[i].task) ||
		    !note_task(reading, noted, snapshot->suspended[i].task))
			return false;
	for (uint32_t c = 0; c < read->queues_count; c++)
		for (uint32_t i = 0; i < snapshot->queues[c].count; i++)
			if (!note_task(reading, noted, snapshot->queues[c].tasks[i]))
				return false;
	for (uint32_t i = 0; i < snapshot->running_count; i++) {
		const struct sched_allocation *running = &snapshot->running[i];
		const struct sched_queue *queue =
			read->queues_count ? &snapshot->queues[running->cluster] : NULL;

		/* The executing task of a queue is in the queue as well. */
		if (!(queue && queue->executes && queue->tasks[0] == running->task) &&
		    !note_task(reading, noted, running->task))
			return false;
	}
	for (uint32_t i = 0; i < snapshot->reservations_count; i++)
		if (!note_task(reading, noted, snapshot->reservations[i].task))
			return false;
	return true;
}

/* Checks that place-holders are of mappable tasks, each of another one. */
static bool check_placeholders(const struct record_reading *reading,
			       const struct sched_snapshot *snapshot)
{
	g_autoptr(GHashTable) mappable = g_hash_table_new(NULL, NULL);

	for (uint32_t i = 0; i < snapshot->waiting_count; i++)
		g_hash_table_add(mappable, (gpointer)snapshot->waiting[i]);
	for (uint32_t i = 0; i < snapshot->suspended_count; i++)
		g_hash_table_add(mappable, (gpointer)snapshot->suspended[i].task);
	for (uint32_t i = 0; i < snapshot->placeholders_count; i++)
		if (!g_hash_table_remove(mappable, snapshot->placeholders[i].task))
			return refuse(reading,
				      "\"placeholders\": task %u is neither in \"waiting\" nor in "
				      "\"suspended\", or it is there twice",
				      snapshot->placeholders[i].task->id);
	return true;
}

/* Checks that a node has one task. */
static bool check_nodes(const struct record_reading *reading, const struct sched_snapshot *snapshot)
{
	const struct sched_cluster *clusters = reading_parts(reading)->clusters;
	g_autoptr(GHashTable) taken = g_hash_table_new(NULL, NULL);

	for (uint32_t i = 0; i < snapshot->running_count; i++) {
		const struct sched_allocation *running = &snapshot->running[i];

		for (uint32_t n = 0; n < running->nodes_count; n++) {
			const gsize node = (gsize)running->cluster * COUNT_MAX + running->nodes[n];

			if (!g_hash_table_add(taken, GSIZE_TO_POINTER(node)))
				return refuse(
					reading,
					"\"running\": task %u is on node %u of cluster \"%s\" "
					"beside another task",
					running->task->id, running->nodes[n],
					clusters[running->cluster].name);
		}
	}
	return true;
}

/* Checks that hosts with VMs are up, and that their memory and CPU are not overcommitted. */
static bool check_hosts(const struct record_reading *reading, const struct sched_snapshot *snapshot)
{
	const uint32_t hosts = reading_parts(reading)->clusters[0].nodes;
	g_autofree double *cpu = g_new0(double, hosts);
	g_autofree double *memory = g_new0(double, hosts);
	g_autofree bool *down = g_new0(bool, hosts);

	for (uint32_t i = 0; i < snapshot->down_count; i++)
		down[snapshot->down[i].node] = true;
	for (uint32_t i = 0; i < snapshot->running_count; i++) {
		const struct sched_allocation *running = &snapshot->running[i];
		const struct sched_task *task = running->task;

		for (uint32_t v = 0; v < running->nodes_count; v++) {
			const uint32_t host = running->nodes[v];

			cpu[host] += running->yield * task->demand.cpu;
			memory[host] += task->demand.memory;
			if (down[host])
				return refuse(reading, "task %u is on host %u, which is down",
					      task->id, host);
			if (memory[host] > 1 + SCHED_SHARE_SLACK)
				return refuse(reading,
					      "host %u has more VMs than memory, task %u's among "
					      "them",
					      host, task->id);
			if (cpu[host] > 1 + SCHED_SHARE_SLACK)
				return refuse(reading,
					      "the shares of host %u are more than its CPU, task "
					      "%u's among them",
					      host, task->id);
		}
	}
	return true;
}

/* Checks what a snapshot of a system with queues has. */
static bool check_queues(const struct record_reading *reading, const struct snapshot_json *read)
{
	if (read->queues_count != read->parts.clusters_count)
		return refuse(reading, "\"queues\" must have one entry per cluster");
	if (read->snapshot.sufferage && read->sufferage_count != read->parts.types_count)
		return refuse(reading, "\"sufferage\" must have one entry per type");
	if (read->snapshot.pruner.level < 0)
		return refuse(reading, "\"pruner\": level is below 0");
	return check_time(reading, "a present", read->snapshot.now_s);
}

bool snapshot_check(const struct record_reading *reading, void *data)
{
	const struct snapshot_json *read = data;
	const struct sched_snapshot *snapshot = &read->snapshot;

	return check_numbers(reading, snapshot) &&
	       (reading->variant != QUEUES || check_queues(reading, read)) &&
	       check_deferred(reading, snapshot) && check_lists(reading, snapshot) &&
	       check_placeholders(reading, snapshot) &&
	       (reading->variant == SHARED ? check_hosts(reading, snapshot)
					   : check_nodes(reading, snapshot));
}
