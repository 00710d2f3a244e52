/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads what a snapshot of a shared system has in place of types, utilities and placements. */
#include <math.h>

#include "common/json.h"
#include "controller/engine/snapshot_reader.h"

/* Reads a part of a host: above 0, at most 1. */
static bool get_share(const struct snapshot_reader *reader, const json_t *object, const char *key,
		      uint32_t id, double *ret_share)
{
	if (!snapshot_get_number(reader, object, key, ret_share))
		return false;
	return (*ret_share > 0 && *ret_share <= 1) ||
	       snapshot_refuse(reader,
			       "task %u: \"%s\" is %g; give the share of a host, above 0 and at "
			       "most 1",
			       id, key, *ret_share);
}

bool snapshot_read_demand(const struct snapshot_reader *reader, const json_t *object, uint32_t id,
			  struct sched_demand *ret_demand)
{
	const uint32_t hosts = reader->read->system->clusters[0].nodes;
	double most;

	if (!snapshot_get_count(reader, object, "vms", &ret_demand->vms) ||
	    !get_share(reader, object, "cpu", id, &ret_demand->cpu) ||
	    !get_share(reader, object, "memory", id, &ret_demand->memory))
		return false;
	if (ret_demand->vms == 0)
		return snapshot_refuse(reader, "task %u has no VMs", id);
	most = hosts * floor((1 + SCHED_SHARE_SLACK) / ret_demand->memory);
	return ret_demand->vms <= most ||
	       snapshot_refuse(reader,
			       "task %u could never run: %u VMs that take %g of a host's memory "
			       "each do not fit on %u hosts",
			       id, ret_demand->vms, ret_demand->memory, hosts);
}

bool snapshot_check_shared(const struct snapshot_reader *reader)
{
	const struct sched_system *system = reader->read->system;

	if (system->immediate)
		return snapshot_refuse(reader,
				       "a system is \"shared\" or \"immediate\", not both");
	if (system->clusters_count != 1 || system->clusters[0].pstates != 1 ||
	    system->rows_count != 0)
		return snapshot_refuse(reader,
				       "a shared system has one cluster with one P-state and no "
				       "types");
	return true;
}

static bool get_virtual(const struct snapshot_reader *reader, const json_t *object, uint32_t id,
			double *ret_virtual_s)
{
	return snapshot_get_number(reader, object, "virtual_s", ret_virtual_s) &&
	       (*ret_virtual_s >= 0 ||
		snapshot_refuse(reader, "task %u: virtual_s is below 0", id));
}

static bool read_suspended_one(const struct snapshot_reader *reader, const json_t *object,
			       struct sched_suspended *ret_suspended)
{
	uint32_t id;

	if (!snapshot_get_count(reader, object, "task", &id) ||
	    !snapshot_find_task(reader, id, &ret_suspended->task) ||
	    !snapshot_get_cluster(reader, object, &ret_suspended->cluster) ||
	    !get_virtual(reader, object, id, &ret_suspended->virtual_s))
		return false;
	ret_suspended->nodes_count = ret_suspended->task->demand.vms;
	return true;
}

/* Reads the host of every VM of a running task. */
static bool read_hosts(const struct snapshot_reader *reader, const json_t *object,
		       struct sched_running *running)
{
	const struct sched_cluster *cluster = &reader->read->system->clusters[running->cluster];
	json_t *list;
	json_t *entry;
	size_t i;

	if (!snapshot_get_list(reader, object, "nodes", &list))
		return false;
	if (json_array_size(list) != running->task->demand.vms)
		return snapshot_refuse(reader, "task %u has %u VMs on %zu hosts: give one for each",
				       running->task->id, running->task->demand.vms,
				       json_array_size(list));

	uint32_t *hosts = g_new(uint32_t, json_array_size(list));

	g_ptr_array_add(reader->read->places, hosts);
	json_array_foreach(list, i, entry) {
		const json_int_t host = json_integer_value(entry);

		if (!json_is_integer(entry) || host < 0 || host >= cluster->nodes)
			return snapshot_refuse(reader,
					       "task %u: the hosts must be indices below %u",
					       running->task->id, cluster->nodes);
		hosts[i] = (uint32_t)host;
	}
	running->nodes = hosts;
	running->nodes_count = (uint32_t)json_array_size(list);
	return true;
}

static bool read_running_one(const struct snapshot_reader *reader, const json_t *object,
			     struct sched_running *running)
{
	uint32_t id;

	if (!snapshot_get_count(reader, object, "task", &id) ||
	    !snapshot_find_task(reader, id, &running->task) ||
	    !snapshot_get_cluster(reader, object, &running->cluster) ||
	    !get_virtual(reader, object, id, &running->virtual_s) ||
	    !get_share(reader, object, "yield", id, &running->yield) ||
	    !snapshot_get_flag(reader, object, "busy", &running->busy) ||
	    !read_hosts(reader, object, running))
		return false;
	running->start_s = running->end_s = NAN;
	return true;
}

static bool read_running(const struct snapshot_reader *reader)
{
	struct snapshot_json *read = reader->read;
	json_t *list;
	json_t *object;
	size_t i;

	if (!snapshot_get_list(reader, reader->object, "running", &list))
		return false;
	read->running = g_new0(struct sched_running, json_array_size(list));
	json_array_foreach(list, i, object)
		if (!read_running_one(reader, object, &read->running[i]))
			return false;
	read->snapshot.running = read->running;
	read->snapshot.running_count = (uint32_t)json_array_size(list);
	return true;
}

/* Finds a task among the waiting ones from *at on, and moves *at behind it. */
static bool pass_waiting(const struct snapshot_json *read, const struct sched_task *task,
			 uint32_t *at)
{
	while (*at < read->snapshot.waiting_count)
		if (read->waiting[(*at)++] == task)
			return true;
	return false;
}

static bool read_deferred(const struct snapshot_reader *reader)
{
	struct snapshot_json *read = reader->read;
	json_t *list;
	json_t *object;
	size_t i;
	uint32_t at = 0;
	uint32_t id;

	if (!json_object_get(reader->object, "deferred"))
		return true;
	if (!snapshot_get_list(reader, reader->object, "deferred", &list))
		return false;
	read->deferred = g_new0(struct sched_deferred, json_array_size(list));
	json_array_foreach(list, i, object) {
		struct sched_deferred *deferred = &read->deferred[i];

		if (!snapshot_get_count(reader, object, "task", &id) ||
		    !snapshot_find_task(reader, id, &deferred->task) ||
		    !snapshot_get_count(reader, object, "count", &deferred->count) ||
		    !snapshot_get_number(reader, object, "until_s", &deferred->until_s))
			return false;
		if (deferred->count == 0)
			return snapshot_refuse(reader, "\"deferred\": task %u: count is 0", id);
		if (!pass_waiting(read, deferred->task, &at))
			return snapshot_refuse(reader,
					       "\"deferred\": task %u is not among \"waiting\", or "
					       "not in its order",
					       id);
	}
	read->snapshot.deferred = read->deferred;
	read->snapshot.deferred_count = (uint32_t)json_array_size(list);
	return true;
}

/* The memory and CPU that are promised on the hosts so far. */
struct promised {
	double *cpu;
	double *memory;
	bool *down;
};

static bool add_running(const struct snapshot_reader *reader, const struct promised *promised,
			const struct sched_running *running)
{
	const struct sched_demand *demand = &running->task->demand;

	for (uint32_t v = 0; v < running->nodes_count; v++) {
		const uint32_t host = running->nodes[v];

		promised->cpu[host] += running->yield * demand->cpu;
		promised->memory[host] += demand->memory;
		if (promised->down[host])
			return snapshot_refuse(reader, "task %u is on host %u, which is down",
					       running->task->id, host);
		if (promised->memory[host] > 1 + SCHED_SHARE_SLACK)
			return snapshot_refuse(reader,
					       "host %u has more VMs than memory, task %u's "
						       "among them",
					       host, running->task->id);
		if (promised->cpu[host] > 1 + SCHED_SHARE_SLACK)
			return snapshot_refuse(reader,
					       "the shares of host %u are more than its CPU, task "
					       "%u's among them",
					       host, running->task->id);
	}
	return true;
}

/* Checks that hosts with VMs are up, and that their memory and CPU are not overcommitted. */
static bool check_hosts(const struct snapshot_reader *reader)
{
	const struct sched_snapshot *snapshot = &reader->read->snapshot;
	const uint32_t hosts = reader->read->system->clusters[0].nodes;
	g_autofree double *cpu = g_new0(double, hosts);
	g_autofree double *memory = g_new0(double, hosts);
	g_autofree bool *down = g_new0(bool, hosts);
	const struct promised promised = { cpu, memory, down };

	for (uint32_t i = 0; i < snapshot->down_count; i++)
		down[snapshot->down[i].node] = true;
	for (uint32_t i = 0; i < snapshot->running_count; i++)
		if (!add_running(reader, &promised, &snapshot->running[i]))
			return false;
	return true;
}

bool snapshot_read_shared_places(const struct snapshot_reader *reader)
{
	return snapshot_read_suspended(reader, read_suspended_one) && read_running(reader) &&
	       read_deferred(reader);
}

bool snapshot_check_shared_places(const struct snapshot_reader *reader)
{
	if (json_array_size(json_object_get(reader->object, "reservations")) > 0 ||
	    json_array_size(json_object_get(reader->object, "placeholders")) > 0)
		return snapshot_refuse(reader, "a shared system has no reservations and place-holders");
	return check_hosts(reader);
}
