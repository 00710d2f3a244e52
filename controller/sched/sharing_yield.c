/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/sharing_yield.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "controller/sched/rank_key.h"

/* A job is raised as far as possible if at most this much CPU is left for it. */
#define NOTHING SCHED_SHARE_SLACK

/* Computes the CPU that is left on every host. */
static void find_room(struct sharing *sharing)
{
	for (uint32_t h = 0; h < sharing->hosts_count; h++)
		sharing->room[h] = 1;
	for (uint32_t i = 0; i < sharing->jobs_count; i++) {
		const struct sharing_job *job = &sharing->jobs[i];

		for (uint32_t v = 0; job->placed && v < job->vms; v++)
			sharing->room[job->hosts[v]] -= job->yield * job->cpu;
	}
}

/* By how much the yield of a placed job can be raised. */
static double find_rise(struct sharing *sharing, const struct sharing_job *job)
{
	double rise = 1 - job->yield;

	if (rise <= NOTHING)
		return 0;
	for (uint32_t v = 0; v < job->vms; v++)
		sharing->counts[job->hosts[v]]++;
	for (uint32_t v = 0; v < job->vms; v++) {
		const uint32_t host = job->hosts[v];

		if (sharing->counts[host] == 0)
			continue; /* looked at with another VM */
		rise = fmin(rise, sharing->room[host] / (sharing->counts[host] * job->cpu));
		sharing->counts[host] = 0;
	}
	return rise > NOTHING ? rise : 0;
}

static void raise_yield(struct sharing *sharing, struct sharing_job *job, double rise)
{
	for (uint32_t v = 0; v < job->vms; v++)
		sharing->room[job->hosts[v]] -= rise * job->cpu;
	job->yield = fmin(1, job->yield + rise);
}

/* A placed job and its total CPU need. */
struct needy {
	double need;
	uint32_t job;
};

static int compare_needs(const void *left, const void *right)
{
	const struct needy *a = left;
	const struct needy *b = right;

	const int order = rank_key_compare(a->need, b->need);

	if (order != 0)
		return order;
	return (a->job > b->job) - (a->job < b->job);
}

int sharing_raise_average(struct sharing *sharing)
{
	struct needy *needy = arena_array(sharing->arena, sharing->jobs_count, sizeof(*needy));
	uint32_t count = 0;

	if (!needy)
		return -ENOMEM;
	for (uint32_t i = 0; i < sharing->jobs_count; i++) {
		const struct sharing_job *job = &sharing->jobs[i];

		if (job->placed)
			needy[count++] = (struct needy){job->vms * job->cpu, i};
	}
	qsort(needy, count, sizeof(*needy), compare_needs);
	find_room(sharing);
	for (uint32_t i = 0; i < count; i++) {
		struct sharing_job *job = &sharing->jobs[needy[i].job];
		const double rise = find_rise(sharing, job);

		if (rise > 0)
			raise_yield(sharing, job, rise);
	}
	return 0;
}

int sharing_yield_evenly(struct sharing *sharing)
{
	double load = 1;

	for (uint32_t h = 0; h < sharing->hosts_count; h++)
		load = fmax(load, sharing->hosts[h].load);
	for (uint32_t i = 0; i < sharing->jobs_count; i++)
		if (sharing->jobs[i].placed)
			sharing->jobs[i].yield = 1 / load;
	return sharing_raise_average(sharing);
}

double sharing_stretch(const struct sharing_job *job, double yield, double period_s)
{
	return (job->flow_s + period_s) / (job->virtual_s + yield * period_s);
}

double sharing_stretch_yield(const struct sharing_job *job, double stretch, double period_s)
{
	const double yield = ((job->flow_s + period_s) / stretch - job->virtual_s) / period_s;

	if (yield <= 0)
		return SHARING_YIELD_MIN;
	return fmin(1, yield);
}

/* How much the estimated stretch falls per unit of CPU when the yield rises by `rise`. */
static double find_gain(const struct sharing_job *job, double rise, double period_s)
{
	const double fall = sharing_stretch(job, job->yield, period_s) -
			    sharing_stretch(job, job->yield + rise, period_s);

	return fall / (rise * job->cpu * job->vms);
}

int sharing_raise_stretch(struct sharing *sharing, double period_s)
{
	bool *full = arena_array(sharing->arena, sharing->jobs_count, sizeof(*full));

	if (!full)
		return -ENOMEM;
	for (uint32_t i = 0; i < sharing->jobs_count; i++)
		full[i] = !sharing->jobs[i].placed;
	find_room(sharing);
	for (;;) {
		uint32_t best = UINT32_MAX;
		double best_rise = 0;
		double best_gain = -INFINITY;

		for (uint32_t i = 0; i < sharing->jobs_count; i++) {
			const struct sharing_job *job = &sharing->jobs[i];
			const double rise = full[i] ? 0 : find_rise(sharing, job);
			double gain;

			full[i] = !(rise > 0);
			if (full[i])
				continue;
			gain = find_gain(job, rise, period_s);
			if (rank_key_compare(gain, best_gain) > 0) {
				best = i;
				best_rise = rise;
				best_gain = gain;
			}
		}
		if (best == UINT32_MAX)
			return 0;
		raise_yield(sharing, &sharing->jobs[best], best_rise);
		full[best] = true;
	}
}
