/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/sharing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "controller/sched/rank_key.h"

double sharing_priority(double flow_s, double virtual_s)
{
	return virtual_s > 0 ? fmax(SHARING_BOUND_S, flow_s) / (virtual_s * virtual_s)
			     : (double)INFINITY;
}

/* A job in one of the snapshot's lists. */
struct source {
	uint32_t id;
	enum sharing_origin origin;
	uint32_t index;
};

static int compare_ids(const void *left, const void *right)
{
	const struct source *a = left;
	const struct source *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

/* Lists all jobs of the snapshot by id. NULL: out of memory. */
static struct source *list_sources(const struct sharing *sharing)
{
	const struct sched_snapshot *snapshot = sharing->snapshot;
	struct source *sources = arena_array(sharing->arena, sharing->jobs_count, sizeof(*sources));
	uint32_t count = 0;

	if (!sources)
		return NULL;
	for (uint32_t i = 0; i < snapshot->waiting_count; i++)
		sources[count++] = (struct source){snapshot->waiting[i]->id, SHARING_WAITING, i};
	for (uint32_t i = 0; i < snapshot->suspended_count; i++)
		sources[count++] =
			(struct source){snapshot->suspended[i].task->id, SHARING_PAUSED, i};
	for (uint32_t i = 0; i < snapshot->running_count; i++)
		sources[count++] = (struct source){snapshot->running[i].task->id, SHARING_RAN, i};
	qsort(sources, count, sizeof(*sources), compare_ids);
	return sources;
}

/* The job of an entry of the snapshot, not yet placed. */
static struct sharing_job read_job(const struct sched_snapshot *snapshot,
				   const struct source *source)
{
	struct sharing_job job = {
		.origin = source->origin,
		.deferred_s = -INFINITY,
		.put_off_s = NAN,
	};

	if (source->origin == SHARING_RAN) {
		const struct sched_allocation *running = &snapshot->running[source->index];

		job.task = running->task;
		job.virtual_s = running->virtual_s;
		job.before = running->nodes;
		job.yield = job.yield_before = running->yield;
		job.busy = running->busy;
	} else if (source->origin == SHARING_PAUSED) {
		job.task = snapshot->suspended[source->index].task;
		job.virtual_s = snapshot->suspended[source->index].virtual_s;
	} else {
		job.task = snapshot->waiting[source->index];
	}
	job.vms = job.task->demand.vms;
	job.cpu = job.task->demand.cpu;
	job.memory = job.task->demand.memory;
	job.flow_s = fmax(0, snapshot->now_s - job.task->arrival_s);
	job.priority = sharing_priority(job.flow_s, job.virtual_s);
	return job;
}

/* Reads the deferrals; both lists are in order of arrival, the jobs are by id. */
static void read_deferred(struct sharing *sharing)
{
	const struct sched_snapshot *snapshot = sharing->snapshot;

	for (uint32_t i = 0; i < snapshot->deferred_count; i++) {
		const struct sched_allocation *deferred = &snapshot->deferred[i];
		uint32_t low = 0;
		uint32_t high = sharing->jobs_count;

		while (low + 1 < high) {
			const uint32_t middle = low + (high - low) / 2;

			if (sharing->jobs[middle].task->id <= deferred->task->id)
				low = middle;
			else
				high = middle;
		}
		sharing->jobs[low].deferrals = deferred->deferrals;
		sharing->jobs[low].deferred_s = deferred->start_s;
	}
}

static int allocate(struct sharing *sharing)
{
	const struct sched_snapshot *snapshot = sharing->snapshot;

	sharing->hosts_count = snapshot->system->clusters[0].nodes;
	sharing->jobs_count =
		snapshot->waiting_count + snapshot->suspended_count + snapshot->running_count;
	sharing->jobs = arena_array(sharing->arena, sharing->jobs_count, sizeof(*sharing->jobs));
	sharing->hosts = arena_array(sharing->arena, sharing->hosts_count, sizeof(*sharing->hosts));
	sharing->counts = arena_array(sharing->arena, sharing->hosts_count, sizeof(uint32_t));
	sharing->room = arena_array(sharing->arena, sharing->hosts_count, sizeof(double));
	if (!sharing->jobs || !sharing->hosts || !sharing->counts || !sharing->room)
		return -ENOMEM;
	for (uint32_t h = 0; h < sharing->hosts_count; h++) {
		sharing->hosts[h] = (struct sharing_host){.up = true};
		sharing->counts[h] = 0;
	}
	for (uint32_t i = 0; i < snapshot->down_count; i++)
		sharing->hosts[snapshot->down[i].node].up = false;
	return 0;
}

static int read_jobs(struct sharing *sharing)
{
	const struct source *sources = list_sources(sharing);
	size_t vms = 0;

	if (!sources)
		return -ENOMEM;
	for (uint32_t i = 0; i < sharing->jobs_count; i++) {
		sharing->jobs[i] = read_job(sharing->snapshot, &sources[i]);
		vms += sharing->jobs[i].vms;
	}

	uint32_t *pool = arena_array(sharing->arena, vms, sizeof(uint32_t));

	if (!pool)
		return -ENOMEM;
	for (uint32_t i = 0; i < sharing->jobs_count; i++) {
		sharing->jobs[i].hosts = pool;
		pool += sharing->jobs[i].vms;
	}
	return 0;
}

int sharing_begin(struct sharing *sharing, const struct policy *policy,
		  const struct sched_snapshot *snapshot, struct policy_context *context)
{
	int result;

	*sharing = (struct sharing){
		.policy = policy,
		.snapshot = snapshot,
		.arena = context->arena,
		.flags = context->flags,
	};
	result = allocate(sharing);
	if (result == 0)
		result = read_jobs(sharing);
	if (result < 0)
		return result;
	read_deferred(sharing);
	for (uint32_t i = 0; i < sharing->jobs_count; i++) {
		struct sharing_job *job = &sharing->jobs[i];

		if (job->origin == SHARING_RAN)
			sharing_place(sharing, i, job->before, SCHED_REASON_NONE);
	}
	return 0;
}

/* A job with its sort key. */
struct ranked {
	double key; /* rank_key() of its priority */
	uint32_t job;
};

static int compare_priorities(const void *left, const void *right)
{
	const struct ranked *a = left;
	const struct ranked *b = right;

	if (a->key != b->key)
		return a->key < b->key ? 1 : -1;
	return (a->job > b->job) - (a->job < b->job);
}

uint32_t *sharing_by_priority(const struct sharing *sharing)
{
	const uint32_t count = sharing->jobs_count;
	struct ranked *ranked = arena_array(sharing->arena, count, sizeof(*ranked));
	uint32_t *order = arena_array(sharing->arena, count, sizeof(*order));

	if (!ranked || !order)
		return NULL;
	for (uint32_t i = 0; i < count; i++)
		ranked[i] = (struct ranked){rank_key(sharing->jobs[i].priority), i};
	qsort(ranked, count, sizeof(*ranked), compare_priorities);
	for (uint32_t i = 0; i < count; i++)
		order[i] = ranked[i].job;
	return order;
}

/* How many VMs of that memory a host still takes. */
static uint32_t host_room(const struct sharing_host *host, double memory)
{
	const double free = 1 + SCHED_SHARE_SLACK - host->memory;

	return host->up && free >= memory ? (uint32_t)(free / memory) : 0;
}

bool sharing_fits(const struct sharing *sharing, uint32_t job)
{
	const uint32_t vms = sharing->jobs[job].vms;
	uint64_t room = 0;

	for (uint32_t h = 0; h < sharing->hosts_count && room < vms; h++)
		room += host_room(&sharing->hosts[h], sharing->jobs[job].memory);
	return room >= vms;
}

static void enter(struct sharing *sharing, const struct sharing_job *job, uint32_t host)
{
	struct sharing_host *at = &sharing->hosts[host];

	at->memory += job->memory;
	at->load += job->cpu;
	at->vms++;
}

static void remove_vm(struct sharing *sharing, const struct sharing_job *job, uint32_t host)
{
	struct sharing_host *at = &sharing->hosts[host];

	at->memory -= job->memory;
	at->load -= job->cpu;
	if (--at->vms == 0)
		at->memory = at->load = 0; /* exactly 0, without rounding errors */
}

bool sharing_place_greedily(struct sharing *sharing, uint32_t index, enum sched_reason reason)
{
	struct sharing_job *job = &sharing->jobs[index];

	if (!sharing_fits(sharing, index))
		return false;
	for (uint32_t i = 0; i < job->vms; i++) {
		uint32_t best = UINT32_MAX;

		for (uint32_t h = 0; h < sharing->hosts_count; h++) {
			const struct sharing_host *host = &sharing->hosts[h];

			if ((best == UINT32_MAX ||
			     rank_key_compare(host->load, sharing->hosts[best].load) < 0) &&
			    host_room(host, job->memory) > 0)
				best = h;
		}
		job->hosts[i] = best;
		enter(sharing, job, best);
	}
	job->placed = true;
	job->reason = reason;
	return true;
}

void sharing_place(struct sharing *sharing, uint32_t index, const uint32_t *hosts,
		   enum sched_reason reason)
{
	struct sharing_job *job = &sharing->jobs[index];

	for (uint32_t i = 0; i < job->vms; i++) {
		job->hosts[i] = hosts[i];
		enter(sharing, job, hosts[i]);
	}
	job->placed = true;
	job->reason = reason;
}

void sharing_lift(struct sharing *sharing, uint32_t index, enum sched_reason reason,
		  enum sched_refusal refusal)
{
	struct sharing_job *job = &sharing->jobs[index];

	for (uint32_t i = 0; i < job->vms; i++)
		remove_vm(sharing, job, job->hosts[i]);
	job->placed = false;
	job->reason = reason;
	job->refusal = refusal;
}

void sharing_put_back(struct sharing *sharing, uint32_t index)
{
	struct sharing_job *job = &sharing->jobs[index];

	for (uint32_t i = 0; i < job->vms; i++)
		enter(sharing, job, job->hosts[i]);
	job->placed = true;
}

void sharing_defer(struct sharing *sharing, uint32_t job, double until_s)
{
	sharing->jobs[job].put_off_s = until_s;
}
