/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/oracle/sharing_oracle.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#include "tests/oracle/printed.h"

#define SLACK 1e-9

static gint compare_jobs(gconstpointer left, gconstpointer right)
{
	const struct oracle_job *a = left;
	const struct oracle_job *b = right;

	return (a->task->id > b->task->id) - (a->task->id < b->task->id);
}

static void add_job(GArray *jobs, const struct sched_snapshot *snapshot,
		    const struct sched_task *task, double virtual_s)
{
	const struct oracle_job job = {
		.task = task,
		.flow_s = snapshot->now_s - task->arrival_s,
		.virtual_s = virtual_s,
		.hosts = g_new0(uint32_t, task->demand.vms),
	};

	g_array_append_val(jobs, job);
}

static struct oracle_job *last(GArray *jobs)
{
	return &g_array_index(jobs, struct oracle_job, jobs->len - 1);
}

struct oracle_state *oracle_state_new(const struct sched_snapshot *snapshot)
{
	struct oracle_state *state = g_new0(struct oracle_state, 1);
	GArray *jobs = g_array_new(FALSE, FALSE, sizeof(struct oracle_job));

	for (uint32_t i = 0; i < snapshot->waiting_count; i++) {
		add_job(jobs, snapshot, snapshot->waiting[i], 0);
		last(jobs)->waited = true;
		for (uint32_t d = 0; d < snapshot->deferred_count; d++) {
			if (snapshot->deferred[d].task != snapshot->waiting[i])
				continue;
			last(jobs)->tries = snapshot->deferred[d].deferrals;
			last(jobs)->until_s = snapshot->deferred[d].start_s;
		}
	}
	for (uint32_t i = 0; i < snapshot->suspended_count; i++)
		add_job(jobs, snapshot, snapshot->suspended[i].task,
			snapshot->suspended[i].virtual_s);
	for (uint32_t i = 0; i < snapshot->running_count; i++) {
		const struct sched_allocation *running = &snapshot->running[i];

		add_job(jobs, snapshot, running->task, running->virtual_s);
		last(jobs)->ran = last(jobs)->placed = true;
		last(jobs)->yield = running->yield;
		memcpy(last(jobs)->hosts, running->nodes,
		       running->nodes_count * sizeof(*running->nodes));
	}
	g_array_sort(jobs, compare_jobs);
	state->hosts_count = snapshot->system->clusters[0].nodes;
	state->down = g_new0(bool, state->hosts_count);
	for (uint32_t i = 0; i < snapshot->down_count; i++)
		state->down[snapshot->down[i].node] = true;
	state->jobs_count = jobs->len;
	state->jobs = (struct oracle_job *)(void *)g_array_free(jobs, FALSE);
	return state;
}

void oracle_state_free(struct oracle_state *state)
{
	for (uint32_t i = 0; i < state->jobs_count; i++)
		g_free(state->jobs[i].hosts);
	g_free(state->jobs);
	g_free(state->down);
	g_free(state);
}

static struct oracle_job *find_job(const struct oracle_state *state, uint32_t id)
{
	for (uint32_t i = 0; i < state->jobs_count; i++)
		if (state->jobs[i].task->id == id)
			return &state->jobs[i];
	g_assert_not_reached();
}

void oracle_carry_out(struct oracle_state *state, const struct sched_plan *plan)
{
	for (uint32_t i = 0; i < plan->actions_count; i++) {
		const struct sched_action *action = &plan->actions[i];
		struct oracle_job *job = find_job(state, action->task);

		if (action->kind == SCHED_ACTION_DEFER) {
			job->put_off_s = action->start_s;
			continue;
		}
		job->placed = action->kind != SCHED_ACTION_PAUSE;
		if (!job->placed)
			continue;
		job->yield = action->yield;
		memcpy(job->hosts, action->nodes, action->nodes_count * sizeof(uint32_t));
	}
}

/* What is on a host: `what` of every VM there, times the yield if asked for. */
static double sum(const struct oracle_state *state, uint32_t host, bool memory, bool shares)
{
	double total = 0;

	for (uint32_t i = 0; i < state->jobs_count; i++) {
		const struct oracle_job *job = &state->jobs[i];

		for (uint32_t v = 0; job->placed && v < job->task->demand.vms; v++)
			if (job->hosts[v] == host)
				total += memory ? job->task->demand.memory
						: job->task->demand.cpu * (shares ? job->yield : 1);
	}
	return total;
}

double oracle_load(const struct oracle_state *state)
{
	double most = 0;

	for (uint32_t h = 0; h < state->hosts_count; h++)
		most = fmax(most, sum(state, h, false, false));
	return most;
}

double oracle_memory(const struct oracle_state *state)
{
	double most = 0;

	for (uint32_t h = 0; h < state->hosts_count; h++)
		most = fmax(most, sum(state, h, true, false));
	return most;
}

static double priority(const struct oracle_job *job)
{
	return job->virtual_s > 0 ? fmax(30, job->flow_s) / (job->virtual_s * job->virtual_s)
				  : (double)INFINITY;
}

/* By how much the job's yield can rise. */
static double rise_of(const struct oracle_state *state, const struct oracle_job *job)
{
	double rise = 1 - job->yield;

	for (uint32_t v = 0; v < job->task->demand.vms; v++) {
		uint32_t here = 0;

		for (uint32_t w = 0; w < job->task->demand.vms; w++)
			here += job->hosts[w] == job->hosts[v];
		rise = fmin(rise, (1 - sum(state, job->hosts[v], false, true)) /
					  (here * job->task->demand.cpu));
	}
	return rise > SLACK ? rise : 0;
}

static double stretch(const struct oracle_job *job, double yield, double period_s)
{
	return (job->flow_s + period_s) / (job->virtual_s + yield * period_s);
}

/* How much a rise is worth: least total need first, or the largest fall of the stretch. */
static double worth(const struct oracle_job *job, double rise, double period_s)
{
	const double need = job->task->demand.vms * job->task->demand.cpu;

	if (period_s <= 0)
		return -need;
	return (stretch(job, job->yield, period_s) - stretch(job, job->yield + rise, period_s)) /
	       (rise * need);
}

static void raise_yields(struct oracle_state *state, double period_s)
{
	for (;;) {
		struct oracle_job *best = NULL;
		double best_rise = 0;

		for (uint32_t i = 0; i < state->jobs_count; i++) {
			struct oracle_job *job = &state->jobs[i];
			const double rise = job->placed ? rise_of(state, job) : 0;

			if (rise > 0 &&
			    (!best || printed_compare(worth(job, rise, period_s),
						      worth(best, best_rise, period_s)) > 0)) {
				best = job;
				best_rise = rise;
			}
		}
		if (!best)
			return;
		best->yield += best_rise;
	}
}

static void set_yields(struct oracle_state *state)
{
	const double yield = 1 / fmax(1, oracle_load(state));

	for (uint32_t i = 0; i < state->jobs_count; i++)
		if (state->jobs[i].placed)
			state->jobs[i].yield = yield;
	raise_yields(state, 0);
}

/* GREEDY for one job. */
static bool place(struct oracle_state *state, struct oracle_job *job)
{
	const struct sched_demand *demand = &job->task->demand;
	g_autofree double *memory = g_new(double, state->hosts_count);
	g_autofree double *load = g_new(double, state->hosts_count);

	for (uint32_t h = 0; h < state->hosts_count; h++) {
		memory[h] = state->down[h] ? 2 : sum(state, h, true, false);
		load[h] = sum(state, h, false, false);
	}
	for (uint32_t v = 0; v < demand->vms; v++) {
		uint32_t best = UINT32_MAX;

		for (uint32_t h = 0; h < state->hosts_count; h++)
			if (memory[h] + demand->memory <= 1 + SLACK &&
			    (best == UINT32_MAX || printed_compare(load[h], load[best]) < 0))
				best = h;
		if (best == UINT32_MAX)
			return false;
		job->hosts[v] = best;
		memory[best] += demand->memory;
		load[best] += demand->cpu;
	}
	return job->placed = true;
}

/* Whether GREEDY would place it, things being as they are. */
static bool would_fit(struct oracle_state *state, const struct oracle_job *job)
{
	struct oracle_job copy = *job;
	g_autofree uint32_t *hosts = g_new(uint32_t, job->task->demand.vms);

	copy.hosts = hosts;
	return place(state, &copy);
}

/* The jobs by decreasing priority, ties by id. */
static struct oracle_job **ranked(struct oracle_state *state)
{
	struct oracle_job **list = g_new(struct oracle_job *, state->jobs_count);

	for (uint32_t i = 0; i < state->jobs_count; i++) {
		uint32_t at = i;

		for (; at > 0 &&
		       printed_compare(priority(list[at - 1]), priority(&state->jobs[i])) < 0;
		     at--)
			list[at] = list[at - 1];
		list[at] = &state->jobs[i];
	}
	return list;
}

static bool force(struct oracle_state *state, struct oracle_job *incoming)
{
	g_autofree struct oracle_job **list = ranked(state);
	g_autoptr(GPtrArray) marked = g_ptr_array_new();
	bool fits;

	for (uint32_t i = state->jobs_count; i-- > 0 && !would_fit(state, incoming);) {
		if (!list[i]->placed)
			continue;
		list[i]->placed = false;
		g_ptr_array_add(marked, list[i]);
	}
	fits = would_fit(state, incoming);
	for (guint i = marked->len; i-- > 0;) {
		struct oracle_job *job = marked->pdata[i];

		job->placed = true;
		if (fits && !would_fit(state, incoming))
			job->placed = false;
	}
	return fits && place(state, incoming);
}

static void share_greedily(struct oracle_state *state, double now_s, bool pauses, bool moves)
{
	for (uint32_t i = 0; i < state->jobs_count; i++) {
		struct oracle_job *job = &state->jobs[i];

		if (!job->waited || (pauses ? job->tries > 0 : job->until_s > now_s))
			continue;
		if (place(state, job) || (pauses && force(state, job)))
			continue;
		job->put_off_s = now_s + pow(2, fmin(12, job->tries + 1));
	}

	g_autofree struct oracle_job **list = ranked(state);

	for (uint32_t i = 0; i < state->jobs_count; i++) {
		struct oracle_job *job = list[i];

		if (job->placed || (job->ran && !moves) || (job->waited && !pauses))
			continue;
		if (!place(state, job) && job->waited && job->tries == 0 && job->put_off_s == 0)
			job->put_off_s = now_s;
	}
	set_yields(state);
}

/* A task to pack. */
struct plain_task {
	struct oracle_job *job;
	uint32_t vm;
	double cpu;
	double memory;
	bool packed;
};

static gint compare_tasks(gconstpointer left, gconstpointer right)
{
	const struct plain_task *a = left;
	const struct plain_task *b = right;
	const int order = printed_compare(fmax(a->cpu, a->memory), fmax(b->cpu, b->memory));
	const int by_priority = printed_compare(priority(a->job), priority(b->job));

	if (order != 0)
		return -order;
	if (by_priority != 0)
		return -by_priority;
	if (a->job != b->job)
		return a->job->task->id > b->job->task->id ? 1 : -1;
	return (a->vm > b->vm) - (a->vm < b->vm);
}

/* The first task of a list that fits. */
static struct plain_task *first_fit(GArray *list, double cpu, double memory)
{
	for (guint i = 0; i < list->len; i++) {
		struct plain_task *task = &g_array_index(list, struct plain_task, i);

		if (!task->packed && task->cpu <= cpu + SLACK && task->memory <= memory + SLACK)
			return task;
	}
	return NULL;
}

/* Fills a host. Returns how many tasks it got. */
static uint32_t fill(GArray *cpu_list, GArray *memory_list, uint32_t host)
{
	double cpu = 1;
	double memory = 1;

	for (uint32_t count = 0;; count++) {
		GArray *first = memory > cpu + SLACK ? memory_list : cpu_list;
		GArray *second = first == cpu_list ? memory_list : cpu_list;
		struct plain_task *task = first_fit(first, cpu, memory);

		if (!task)
			task = first_fit(second, cpu, memory);
		if (!task)
			return count;
		task->packed = true;
		task->job->hosts[task->vm] = host;
		cpu -= task->cpu;
		memory -= task->memory;
	}
}

/* MCB8 on the jobs of `list` at their yields. Returns whether all fit; they know their hosts. */
static bool pack(const struct oracle_state *state, GPtrArray *list)
{
	g_autoptr(GArray) cpu_list = g_array_new(FALSE, FALSE, sizeof(struct plain_task));
	g_autoptr(GArray) memory_list = g_array_new(FALSE, FALSE, sizeof(struct plain_task));
	uint32_t left = 0;

	for (guint i = 0; i < list->len; i++) {
		struct oracle_job *job = list->pdata[i];
		const struct sched_demand *demand = &job->task->demand;

		for (uint32_t v = 0; v < demand->vms; v++, left++) {
			const struct plain_task task = {job, v, job->yield * demand->cpu,
							demand->memory, false};

			g_array_append_val(printed_compare(task.memory, task.cpu) > 0 ? memory_list
										      : cpu_list,
					   task);
		}
	}
	g_array_sort(cpu_list, compare_tasks);
	g_array_sort(memory_list, compare_tasks);
	for (uint32_t h = 0; h < state->hosts_count; h++)
		if (!state->down[h])
			left -= fill(cpu_list, memory_list, h);
	return left == 0;
}

/* The packing of the jobs for a target; those that succeed are kept. */
static bool try_target(struct oracle_state *state, GPtrArray *list, double target, double period_s)
{
	uint32_t **before = g_new(uint32_t *, list->len);
	g_autofree double *yields = g_new(double, list->len);
	bool fits;

	for (guint i = 0; i < list->len; i++) {
		struct oracle_job *job = list->pdata[i];

		before[i] = g_memdup2(job->hosts, job->task->demand.vms * sizeof(uint32_t));
		yields[i] = job->yield;
		job->yield = target;
		if (period_s > 0) {
			job->yield =
				((job->flow_s + period_s) / target - job->virtual_s) / period_s;
			if (job->yield <= 0)
				job->yield = 0.01;
			job->yield = fmin(1, job->yield);
		}
	}
	fits = pack(state, list);
	for (guint i = 0; i < list->len; i++) {
		struct oracle_job *job = list->pdata[i];

		if (!fits) {
			memcpy(job->hosts, before[i], job->task->demand.vms * sizeof(uint32_t));
			job->yield = yields[i];
		}
		g_free(before[i]);
	}
	g_free(before);
	return fits;
}

/* The search for the best target among the jobs of the list. Returns whether there is any. */
static bool search(struct oracle_state *state, GPtrArray *list, double period_s)
{
	double reached = period_s > 0 ? 1 : 0.01;
	double missed = 1;

	for (guint i = 0; period_s > 0 && i < list->len; i++)
		reached = fmax(reached, stretch(list->pdata[i], 0.01, period_s));
	if (try_target(state, list, 1, period_s))
		return true;
	if (!try_target(state, list, reached, period_s))
		return false;
	while (fabs(missed - reached) > (period_s > 0 ? 0.01 * reached : 0.01)) {
		const double middle = (reached + missed) / 2;

		if (try_target(state, list, middle, period_s))
			reached = middle;
		else
			missed = middle;
	}
	return true;
}

static void share_packed(struct oracle_state *state, double period_s)
{
	g_autofree struct oracle_job **order = ranked(state);
	g_autoptr(GPtrArray) list = g_ptr_array_new();
	uint32_t left_out = state->jobs_count;

	for (uint32_t i = 0; i < state->jobs_count; i++)
		g_ptr_array_add(list, &state->jobs[i]);
	while (list->len > 0 && !search(state, list, period_s))
		g_ptr_array_remove(list, order[--left_out]);
	for (uint32_t i = 0; i < state->jobs_count; i++)
		state->jobs[i].placed = g_ptr_array_find(list, &state->jobs[i], NULL);
	if (period_s > 0)
		raise_yields(state, period_s);
	else
		set_yields(state);
}

static void share_asap(struct oracle_state *state, const struct sched_snapshot *snapshot)
{
	for (uint32_t i = 0; i < state->jobs_count; i++) {
		struct oracle_job *job = &state->jobs[i];

		if (job->waited && job->tries == 0 && !place(state, job))
			job->put_off_s = snapshot->next_event_s;
	}
	set_yields(state);
}

bool oracle_shares(const char *policy)
{
	static const char *const known[] = {
		"greedy",      "greedy-pmtn",      "greedy-pmtn-migr",    "dynmcb8",
		"dynmcb8-per", "dynmcb8-asap-per", "dynmcb8-stretch-per", NULL};

	return g_strv_contains(known, policy);
}

void oracle_share(struct oracle_state *state, const struct sched_snapshot *snapshot,
		  const char *policy)
{
	const bool stretches = g_str_equal(policy, "dynmcb8-stretch-per");

	if (g_str_has_prefix(policy, "greedy"))
		share_greedily(state, snapshot->now_s, !g_str_equal(policy, "greedy"),
			       g_str_equal(policy, "greedy-pmtn-migr"));
	else if (g_str_equal(policy, "dynmcb8") || !snapshot->between)
		share_packed(state, stretches ? snapshot->next_event_s - snapshot->now_s : 0);
	else if (g_str_equal(policy, "dynmcb8-asap-per"))
		share_asap(state, snapshot);
	else if (g_str_equal(policy, "dynmcb8-per"))
		set_yields(state);
	else
		g_assert_true(stretches);
}

/* Tries all hosts for the VMs from (job, vm) on; *best is the best yield so far. */
static void try_all(struct oracle_state *state, uint32_t job, uint32_t vm, double *best)
{
	if (job == state->jobs_count) {
		if (oracle_memory(state) <= 1 + SLACK)
			*best = fmax(*best, 1 / fmax(1, oracle_load(state)));
		return;
	}

	struct oracle_job *at = &state->jobs[job];
	const bool full = vm + 1 == at->task->demand.vms;

	at->placed = true;
	for (uint32_t h = vm > 0 ? at->hosts[vm - 1] : 0; h < state->hosts_count; h++) {
		if (state->down[h])
			continue;
		at->hosts[vm] = h;
		try_all(state, full ? job + 1 : job, full ? 0 : vm + 1, best);
	}
}

double oracle_best_yield(const struct oracle_state *state)
{
	struct oracle_state copy = *state;
	double best = 0;

	copy.jobs = g_memdup2(state->jobs, state->jobs_count * sizeof(*state->jobs));
	for (uint32_t i = 0; i < copy.jobs_count; i++) {
		copy.jobs[i].hosts = g_new0(uint32_t, copy.jobs[i].task->demand.vms);
		copy.jobs[i].placed = false;
	}
	try_all(&copy, 0, 0, &best);
	for (uint32_t i = 0; i < copy.jobs_count; i++)
		g_free(copy.jobs[i].hosts);
	g_free(copy.jobs);
	return best;
}
