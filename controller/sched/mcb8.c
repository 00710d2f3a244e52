/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/mcb8.h"

#include <errno.h>

#include "controller/sched/model.h"
#include "controller/sched/rank_key.h"

/* The two lists. */
enum { LIST_CPU = 0, LIST_MEMORY = 1 };

int mcb8_init(struct mcb8 *mcb8, struct arena *arena, uint32_t jobs_max, uint32_t hosts)
{
	*mcb8 = (struct mcb8){
		.hosts = hosts,
		.jobs_max = jobs_max,
		.order = arena_array(arena, jobs_max, sizeof(uint32_t)),
		.remaining = arena_array(arena, jobs_max, sizeof(uint32_t)),
		.taken = arena_array(arena, jobs_max, sizeof(uint32_t)),
		.lists = {arena_array(arena, jobs_max, sizeof(uint32_t)),
			  arena_array(arena, jobs_max, sizeof(uint32_t))},
	};
	if (!mcb8->order || !mcb8->remaining || !mcb8->taken || !mcb8->lists[LIST_CPU] ||
	    !mcb8->lists[LIST_MEMORY])
		return -ENOMEM;
	for (uint32_t i = 0; i < jobs_max; i++)
		mcb8->taken[i] = 0;
	return 0;
}

int mcb8_packing_init(const struct mcb8 *mcb8, struct arena *arena, uint32_t tasks,
		      struct mcb8_packing *ret_packing)
{
	struct mcb8_packing packing = {
		.fills = arena_array(arena, mcb8->hosts, sizeof(*packing.fills)),
		.entries = arena_array(arena, tasks, sizeof(*packing.entries)),
	};

	if (!packing.fills || !packing.entries)
		return -ENOMEM;
	*ret_packing = packing;
	return 0;
}

/* Whether a job belongs to the list of those that require more memory. */
static bool is_memory(const struct mcb8_job *job)
{
	return rank_key_compare(job->memory, job->cpu) > 0;
}

static double larger(const struct mcb8_job *job)
{
	return job->cpu > job->memory ? job->cpu : job->memory;
}

static bool goes_before(const struct mcb8_job *jobs, uint32_t a, uint32_t b)
{
	const int order = rank_key_compare(larger(&jobs[a]), larger(&jobs[b]));

	return order > 0 || (order == 0 && a < b);
}

/* Sorts by insertion: little changes from one packing of a search to the next. */
static void sort(struct mcb8 *mcb8, const struct mcb8_job *jobs, uint32_t count)
{
	uint32_t *order = mcb8->order;

	for (uint32_t i = 0; mcb8->order_count != count && i < count; i++)
		order[i] = i;
	mcb8->order_count = count;
	for (uint32_t i = 1; i < count; i++) {
		const uint32_t job = order[i];
		uint32_t at = i;

		for (; at > 0 && goes_before(jobs, job, order[at - 1]); at--)
			order[at] = order[at - 1];
		order[at] = job;
	}
}

/* The requirements of all tasks that are not packed yet. */
struct total {
	double cpu;
	double memory;
};

/* Sorts the jobs into their lists and sums up their requirements. */
static struct total split(struct mcb8 *mcb8, const struct mcb8_job *jobs, uint32_t count)
{
	struct total total = {0};

	sort(mcb8, jobs, count);
	mcb8->lists_count[LIST_CPU] = mcb8->lists_count[LIST_MEMORY] = 0;
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t job = mcb8->order[i];
		const int list = is_memory(&jobs[job]) ? LIST_MEMORY : LIST_CPU;

		mcb8->lists[list][mcb8->lists_count[list]++] = job;
		mcb8->remaining[job] = jobs[job].tasks;
		total.cpu += jobs[job].tasks * jobs[job].cpu;
		total.memory += jobs[job].tasks * jobs[job].memory;
	}
	return total;
}

/* A host that is being filled. */
struct host {
	double cpu; /* free CPU */
	double memory;
	uint32_t cursor[2]; /* per list: no job before it fits any more */
};

/* The first job of a list with a task that fits, or UINT32_MAX. */
static uint32_t find_fitting(const struct mcb8 *mcb8, const struct mcb8_job *jobs, int list,
			     struct host *host)
{
	for (uint32_t *at = &host->cursor[list]; *at < mcb8->lists_count[list]; ++*at) {
		const uint32_t job = mcb8->lists[list][*at];

		if (mcb8->taken[job] < mcb8->remaining[job] &&
		    jobs[job].cpu <= host->cpu + SCHED_SHARE_SLACK &&
		    jobs[job].memory <= host->memory + SCHED_SHARE_SLACK)
			return job;
	}
	return UINT32_MAX;
}

/*
 * Fills one host; `taken` has the number of its tasks per job, and the packing's entries from
 * `first` on list these jobs.
 */
static void fill_host(struct mcb8 *mcb8, const struct mcb8_job *jobs,
		      const struct mcb8_fixed *fixed, struct mcb8_packing *packing)
{
	struct host host = {.cpu = 1 - fixed->cpu, .memory = 1 - fixed->memory};

	for (;;) {
		const int list =
			host.memory > host.cpu + SCHED_SHARE_SLACK ? LIST_MEMORY : LIST_CPU;
		uint32_t job = find_fitting(mcb8, jobs, list, &host);

		if (job == UINT32_MAX)
			job = find_fitting(mcb8, jobs, 1 - list, &host);
		if (job == UINT32_MAX)
			break;
		if (mcb8->taken[job]++ == 0)
			packing->entries[packing->entries_count++].job = job;
		host.cpu -= jobs[job].cpu;
		host.memory -= jobs[job].memory;
	}
	if (1 - host.cpu > packing->load)
		packing->load = 1 - host.cpu;
}

/* How many of the remaining `hosts` hosts are filled like the host just filled. */
static uint32_t count_alike(const struct mcb8 *mcb8, const struct mcb8_packing *packing,
			    uint32_t first, uint32_t hosts)
{
	for (uint32_t i = first; i < packing->entries_count; i++) {
		const uint32_t job = packing->entries[i].job;
		const uint32_t times = mcb8->remaining[job] / mcb8->taken[job];

		if (times < hosts)
			hosts = times;
	}
	return hosts;
}

/* Subtracts the tasks of the last fill from the jobs and from the total. */
static void subtract_fill(struct mcb8 *mcb8, const struct mcb8_job *jobs,
			  struct mcb8_packing *packing, uint32_t first, uint32_t hosts,
			  struct total *total)
{
	packing->fills[packing->fills_count++] = (struct mcb8_fill){hosts, first};
	for (uint32_t i = first; i < packing->entries_count; i++) {
		struct mcb8_entry *entry = &packing->entries[i];

		entry->tasks = mcb8->taken[entry->job];
		mcb8->taken[entry->job] = 0;
		mcb8->remaining[entry->job] -= hosts * entry->tasks;
		total->cpu -= hosts * entry->tasks * jobs[entry->job].cpu;
		total->memory -= hosts * entry->tasks * jobs[entry->job].memory;
	}
	for (int list = LIST_CPU; list <= LIST_MEMORY; list++) {
		uint32_t kept = 0;

		for (uint32_t i = 0; i < mcb8->lists_count[list]; i++)
			if (mcb8->remaining[mcb8->lists[list][i]] > 0)
				mcb8->lists[list][kept++] = mcb8->lists[list][i];
		mcb8->lists_count[list] = kept;
	}
}

/* Whether the totals fit on that many hosts, which is necessary but not sufficient. */
static bool may_fit(const struct total *total, uint32_t hosts)
{
	const double most = hosts * (1 + 2 * SCHED_SHARE_SLACK) + SCHED_SHARE_SLACK;

	return total->cpu <= most && total->memory <= most;
}

bool mcb8_pack(struct mcb8 *mcb8, const struct mcb8_job *jobs, uint32_t jobs_count,
	       struct mcb8_packing *packing)
{
	static const struct mcb8_fixed empty = {0, 0};
	uint32_t hosts = mcb8->hosts;
	struct total total = split(mcb8, jobs, jobs_count);

	packing->fills_count = packing->entries_count = 0;
	packing->load = 0;
	while (mcb8->lists_count[LIST_CPU] + mcb8->lists_count[LIST_MEMORY] > 0) {
		const uint32_t first = packing->entries_count;
		const uint32_t host = mcb8->hosts - hosts;
		const bool fixed = host < mcb8->fixed_count;
		uint32_t alike = 1;

		if (hosts == 0 || !may_fit(&total, hosts))
			return false;
		fill_host(mcb8, jobs, fixed ? &mcb8->fixed[host] : &empty, packing);
		if (packing->entries_count == first && !fixed)
			return false; /* the remaining tasks fit on no host */
		if (!fixed)
			alike = count_alike(mcb8, packing, first, hosts);
		subtract_fill(mcb8, jobs, packing, first, alike, &total);
		hosts -= alike;
	}
	return true;
}
