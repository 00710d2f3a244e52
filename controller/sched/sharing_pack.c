/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/sharing_pack.h"

#include <errno.h>
#include <math.h>

#include "controller/sched/mcb8.h"
#include "controller/sched/sharing_yield.h"

/* A search in progress. */
struct search {
	struct sharing *sharing;
	struct mcb8 mcb8;
	uint32_t hosts_count;
	/* The hosts that are up: first those with VMs of busy jobs; each part ascending. */
	uint32_t *hosts;
	struct mcb8_fixed *fixed; /* what busy jobs take on the hosts of the first part */
	uint32_t *places;         /* per host: its index in `hosts`; UINT32_MAX: it is down */
	uint32_t jobs_count;
	/* The jobs that are not busy, by decreasing priority: jobs are left out from the end. */
	uint32_t *jobs;
	double busy_memory;     /* memory of all VMs of busy jobs */
	struct mcb8_job *items; /* requirements of `jobs` */
	double *yields;         /* yields of `jobs` for the target */
	double period_s;        /* period of a search for a stretch; 0: search for a yield */
	struct mcb8_packing tried;
	struct mcb8_packing found; /* the last possible packing */
	double *found_yields;
	double found_target; /* NAN: no packing was possible */
};

/* Appends the hosts that are up and have busy jobs, or have none. */
static void append_hosts(struct search *search, const bool *kept, bool with_busy)
{
	for (uint32_t h = 0; h < search->sharing->hosts_count; h++) {
		if (!search->sharing->hosts[h].up || kept[h] != with_busy)
			continue;
		search->places[h] = search->hosts_count;
		search->hosts[search->hosts_count++] = h;
	}
}

/* Sorts the hosts by whether busy jobs are on them. Returns 0, or -ENOMEM. */
static int list_search_hosts(struct search *search)
{
	const struct sharing *sharing = search->sharing;
	bool *kept = arena_array(sharing->arena, sharing->hosts_count, sizeof(*kept));

	if (!kept)
		return -ENOMEM;
	for (uint32_t h = 0; h < sharing->hosts_count; h++) {
		kept[h] = false;
		search->places[h] = UINT32_MAX;
	}
	for (uint32_t i = 0; i < sharing->jobs_count; i++) {
		const struct sharing_job *job = &sharing->jobs[i];

		for (uint32_t v = 0; job->busy && v < job->vms; v++)
			kept[job->hosts[v]] = true;
	}
	append_hosts(search, kept, true);
	search->mcb8.fixed_count = search->hosts_count;
	append_hosts(search, kept, false);
	return 0;
}

/* Leaves busy jobs out of the search; they stay where they are. */
static void leave_out_busy(struct search *search)
{
	const struct sharing *sharing = search->sharing;

	search->jobs_count = 0;
	for (uint32_t i = 0; i < sharing->jobs_count; i++) {
		const struct sharing_job *job = &sharing->jobs[i];

		for (uint32_t v = 0; job->busy && v < job->vms; v++)
			if (sharing->hosts[job->hosts[v]].up)
				search->busy_memory += job->memory;
		if (!sharing->jobs[search->jobs[i]].busy)
			search->jobs[search->jobs_count++] = search->jobs[i];
	}
}

static int init_search(struct search *search, struct sharing *sharing, double period_s)
{
	struct arena *arena = sharing->arena;
	const uint32_t count = sharing->jobs_count;
	uint32_t tasks = 0;
	uint32_t up = 0;
	int result;

	*search = (struct search){
		.sharing = sharing,
		.hosts = arena_array(arena, sharing->hosts_count, sizeof(uint32_t)),
		.fixed = arena_array(arena, sharing->hosts_count, sizeof(struct mcb8_fixed)),
		.places = arena_array(arena, sharing->hosts_count, sizeof(uint32_t)),
		.jobs = sharing_by_priority(sharing),
		.items = arena_array(arena, count, sizeof(struct mcb8_job)),
		.yields = arena_array(arena, count, sizeof(double)),
		.period_s = period_s,
		.found_yields = arena_array(arena, count, sizeof(double)),
		.found_target = NAN,
	};
	if (!search->hosts || !search->fixed || !search->places || !search->jobs ||
	    !search->items || !search->yields || !search->found_yields)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		tasks += sharing->jobs[i].vms;
	leave_out_busy(search);
	for (uint32_t h = 0; h < sharing->hosts_count; h++)
		up += sharing->hosts[h].up;
	result = mcb8_init(&search->mcb8, arena, count, up);
	search->mcb8.fixed = search->fixed;
	if (result == 0)
		result = list_search_hosts(search);
	if (result == 0)
		result = mcb8_packing_init(&search->mcb8, arena, tasks, &search->tried);
	if (result == 0)
		result = mcb8_packing_init(&search->mcb8, arena, tasks, &search->found);
	return result;
}

/* The yield that a job needs for the target, which is a yield or a stretch. */
static double target_yield(const struct search *search, const struct sharing_job *job,
			   double target)
{
	return search->period_s > 0 ? sharing_stretch_yield(job, target, search->period_s) : target;
}

/* Computes what busy jobs take for the target. Returns whether their hosts have as much. */
static bool reserve_busy(struct search *search, double target)
{
	const struct sharing *sharing = search->sharing;
	bool fits = true;

	for (uint32_t p = 0; p < search->mcb8.fixed_count; p++)
		search->fixed[p] = (struct mcb8_fixed){0};
	for (uint32_t i = 0; search->mcb8.fixed_count > 0 && i < sharing->jobs_count; i++) {
		const struct sharing_job *job = &sharing->jobs[i];

		for (uint32_t v = 0; job->busy && v < job->vms; v++) {
			const uint32_t place = search->places[job->hosts[v]];
			struct mcb8_fixed *fixed;

			if (place == UINT32_MAX)
				continue;
			fixed = &search->fixed[place];
			fixed->cpu += target_yield(search, job, target) * job->cpu;
			fixed->memory += job->memory;
			fits &= fixed->cpu <= 1 + SCHED_SHARE_SLACK;
		}
	}
	return fits;
}

/* Whether the jobs can be packed for the target; if so the packing is kept. */
static bool reaches(struct search *search, double target)
{
	if (!reserve_busy(search, target))
		return false;
	for (uint32_t i = 0; i < search->jobs_count; i++) {
		const struct sharing_job *job = &search->sharing->jobs[search->jobs[i]];

		search->yields[i] = target_yield(search, job, target);
		search->items[i] = (struct mcb8_job){
			.tasks = job->vms,
			.cpu = search->yields[i] * job->cpu,
			.memory = job->memory,
		};
	}
	if (!mcb8_pack(&search->mcb8, search->items, search->jobs_count, &search->tried))
		return false;

	const struct mcb8_packing packing = search->tried;
	double *yields = search->yields;

	search->tried = search->found;
	search->found = packing;
	search->yields = search->found_yields;
	search->found_yields = yields;
	search->found_target = target;
	return true;
}

/* The easiest target: the least yield, or the largest estimated stretch at it. */
static double easiest(const struct search *search)
{
	double stretch = 1;

	if (search->period_s <= 0)
		return SHARING_YIELD_MIN;
	for (uint32_t i = 0; i < search->jobs_count; i++)
		stretch = fmax(stretch, sharing_stretch(&search->sharing->jobs[search->jobs[i]],
							SHARING_YIELD_MIN, search->period_s));
	for (uint32_t i = 0; i < search->sharing->jobs_count; i++)
		if (search->sharing->jobs[i].busy)
			stretch =
				fmax(stretch, sharing_stretch(&search->sharing->jobs[i],
							      SHARING_YIELD_MIN, search->period_s));
	return stretch;
}

/* Halves the interval between a reachable and an unreachable target until it is small enough. */
static void bisect(struct search *search, double reached, double missed)
{
	const double step =
		search->period_s > 0 ? SHARING_PACK_STRETCH_STEP : SHARING_PACK_YIELD_STEP;

	while (fabs(missed - reached) > (search->period_s > 0 ? step * reached : step)) {
		const double middle = (reached + missed) / 2;

		if (reaches(search, middle))
			reached = middle;
		else
			missed = middle;
	}
}

/*
 * How many jobs have to be left out so that the others have enough memory altogether. Finding that
 * by packings, one job at a time, takes seconds with thousands of paused jobs.
 */
static uint32_t count_too_many(const struct search *search)
{
	const double most = search->hosts_count * (1 + 2 * SCHED_SHARE_SLACK) + 1e-6;
	double memory = search->busy_memory;

	for (uint32_t i = 0; i < search->jobs_count; i++) {
		const struct sharing_job *job = &search->sharing->jobs[search->jobs[i]];

		memory += job->vms * job->memory;
		if (memory > most)
			return search->jobs_count - i;
	}
	return 0;
}

/* Leaves out jobs until some target can be reached, and finds the best target. */
static void find_best_target(struct search *search)
{
	search->jobs_count -= count_too_many(search);
	while (search->jobs_count > 0) {
		const double easy = easiest(search);

		if (reaches(search, 1)) /* a yield of 1, or a stretch of 1 */
			return;
		if (reaches(search, easy)) {
			bisect(search, easy, 1);
			return;
		}
		search->jobs_count--;
	}
}

/* Lists the hosts of every job of the packing that was found; `next` is per job of the event. */
static void list_hosts(struct search *search, uint32_t *next)
{
	const struct mcb8_packing *packing = &search->found;
	const uint32_t *hosts = search->hosts;

	for (uint32_t f = 0; f < packing->fills_count; f++) {
		const struct mcb8_fill *fill = &packing->fills[f];
		const uint32_t end = f + 1 < packing->fills_count ? fill[1].entries_first
								  : packing->entries_count;

		for (uint32_t e = fill->entries_first; e < end; e++) {
			const struct mcb8_entry *entry = &packing->entries[e];
			const uint32_t index = search->jobs[entry->job];
			struct sharing_job *job = &search->sharing->jobs[index];

			for (uint32_t h = 0; h < fill->hosts; h++)
				for (uint32_t v = 0; v < entry->tasks; v++)
					job->hosts[next[index]++] = hosts[h];
		}
		hosts += fill->hosts;
	}
}

/* Places the jobs on the hosts of the packing. Returns 0, or -ENOMEM. */
static int place_packed(struct search *search)
{
	struct sharing *sharing = search->sharing;
	uint32_t *next = arena_array(sharing->arena, sharing->jobs_count, sizeof(*next));

	if (!next)
		return -ENOMEM;
	for (uint32_t i = 0; i < sharing->jobs_count; i++) {
		next[i] = 0;
		if (sharing->jobs[i].busy) {
			if (!isnan(search->found_target))
				sharing->jobs[i].yield = target_yield(search, &sharing->jobs[i],
								      search->found_target);
			continue;
		}
		if (sharing->jobs[i].placed)
			sharing_lift(sharing, i, SCHED_REASON_PRIORITY, SCHED_REFUSAL_PRIORITY);
		sharing->jobs[i].refusal = SCHED_REFUSAL_PRIORITY;
	}
	list_hosts(search, next);
	for (uint32_t i = 0; i < search->jobs_count; i++) {
		struct sharing_job *job = &sharing->jobs[search->jobs[i]];

		sharing_put_back(sharing, search->jobs[i]);
		job->reason = SCHED_REASON_PACKED;
		job->yield = search->found_yields[i];
	}
	return 0;
}

static int pack(struct sharing *sharing, double period_s)
{
	struct search search;
	int result = init_search(&search, sharing, period_s);

	if (result < 0)
		return result;
	find_best_target(&search);
	return place_packed(&search);
}

int sharing_pack_yield(struct sharing *sharing)
{
	const int result = pack(sharing, 0);

	return result < 0 ? result : sharing_yield_evenly(sharing);
}

int sharing_pack_stretch(struct sharing *sharing, double period_s)
{
	const int result = pack(sharing, period_s);

	return result < 0 ? result : sharing_raise_stretch(sharing, period_s);
}
