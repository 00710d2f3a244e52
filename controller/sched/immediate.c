/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/immediate.h"

#include "controller/sched/heap.h"
#include "controller/sched/immediate_private.h"
#include "controller/sched/rank_key.h"

static void block(struct immediate *immediate, uint32_t cluster, uint32_t node)
{
	struct immediate_cluster *c = &immediate->clusters[cluster];

	immediate_set(c->blocked, node);
	c->any_blocked = true;
	immediate->serial = false;
}

/* Marks all nodes idle except those that are down or reserved. */
static int init_cluster(struct immediate *immediate, uint32_t cluster)
{
	struct immediate_cluster *c = &immediate->clusters[cluster];
	const uint32_t nodes = immediate->system->clusters[cluster].nodes;

	*c = (struct immediate_cluster){.words = nodes / 64 + 1};
	c->idle_mask = arena_array(immediate->arena, c->words, sizeof(uint64_t));
	c->blocked = arena_array(immediate->arena, c->words, sizeof(uint64_t));
	if (!c->idle_mask || !c->blocked)
		return -ENOMEM;
	memset(c->idle_mask, 0xff, c->words * sizeof(uint64_t));
	memset(c->blocked, 0, c->words * sizeof(uint64_t));
	c->idle_mask[nodes / 64] = (UINT64_C(1) << (nodes % 64)) - 1;
	return 0;
}

static int init_clusters(struct immediate *immediate)
{
	const struct sched_snapshot *snapshot = immediate->snapshot;
	const uint32_t count = immediate->system->clusters_count;
	int result = 0;

	immediate->clusters = arena_array(immediate->arena, count, sizeof(*immediate->clusters));
	if (!immediate->clusters)
		return -ENOMEM;
	for (uint32_t c = 0; result == 0 && c < count; c++)
		result = init_cluster(immediate, c);
	if (result < 0)
		return result;
	for (uint32_t i = 0; i < snapshot->down_count; i++)
		block(immediate, snapshot->down[i].cluster, snapshot->down[i].node);
	for (uint32_t i = 0; i < snapshot->reservations_count; i++)
		for (uint32_t n = 0; n < snapshot->reservations[i].nodes_count; n++)
			block(immediate, snapshot->reservations[i].cluster,
			      snapshot->reservations[i].nodes[n]);
	return 0;
}

/* Counts the idle nodes after the occupants' nodes were removed. */
static void count_idle(struct immediate *immediate)
{
	for (uint32_t c = 0; c < immediate->system->clusters_count; c++) {
		struct immediate_cluster *cluster = &immediate->clusters[c];

		for (uint32_t w = 0; w < cluster->words; w++) {
			cluster->idle_mask[w] &= ~cluster->blocked[w];
			cluster->idle += (uint32_t)__builtin_popcountll(cluster->idle_mask[w]);
		}
		immediate->idle += cluster->idle;
	}
}

static int init_occupants(struct immediate *immediate)
{
	const struct sched_snapshot *snapshot = immediate->snapshot;

	immediate->occupants_capacity = 2 * snapshot->running_count + 64;
	immediate->occupants = arena_array(immediate->arena, immediate->occupants_capacity,
					   sizeof(*immediate->occupants));
	if (!immediate->occupants)
		return -ENOMEM;
	immediate->occupants_count = snapshot->running_count;
	for (uint32_t i = 0; i < snapshot->running_count; i++) {
		const struct sched_allocation *running = &snapshot->running[i];
		struct immediate_cluster *cluster = &immediate->clusters[running->cluster];

		immediate->occupants[i] = (struct immediate_occupant){
			.task = running->task,
			.present = true,
			.nodes_count = running->nodes_count,
			.nodes = running->nodes,
			.class = IMMEDIATE_NONE,
			.action = IMMEDIATE_NONE,
		};
		for (uint32_t n = 0; n < running->nodes_count; n++)
			immediate_clear(cluster->idle_mask, running->nodes[n]);
		immediate->serial &= running->nodes_count == 1;
	}
	return 0;
}

/*
 * Begins the energy account; the filter's averages are over the mappable tasks that were not
 * dropped.
 */
static int begin_energy(struct immediate *immediate)
{
	const struct sched_snapshot *snapshot = immediate->snapshot;
	const struct sched_task **tasks = NULL;
	uint32_t count = 0;

	if (immediate->policy->filter != POLICY_FILTER_NONE) {
		tasks = arena_array(immediate->arena, snapshot->waiting_count, sizeof(*tasks));
		if (!tasks)
			return -ENOMEM;
		for (uint32_t i = 0; i < snapshot->waiting_count; i++)
			if (immediate->waiting_class[i] != IMMEDIATE_NONE)
				tasks[count++] = snapshot->waiting[i];
	}
	energy_begin(&immediate->energy, immediate->policy, snapshot, tasks, count);
	return 0;
}

int immediate_begin(struct immediate *immediate, const struct policy *policy,
		    const struct sched_snapshot *snapshot, struct policy_context *context)
{
	const struct sched_system *system = snapshot->system;
	const size_t widths = (size_t)system->rows_count * system->clusters_count;

	*immediate = (struct immediate){
		.policy = policy,
		.snapshot = snapshot,
		.system = system,
		.arena = context->arena,
		.flags = context->flags,
		.serial = true,
	};
	for (size_t i = 0; i < widths; i++)
		immediate->serial &= system->nodes[i] <= 1;
	if (init_clusters(immediate) < 0 || init_occupants(immediate) < 0 ||
	    immediate_form_classes(immediate) < 0 || begin_energy(immediate) < 0)
		return -ENOMEM;
	count_idle(immediate);
	return 0;
}

static bool gives_way_after(const struct immediate_victim *a, const struct immediate_victim *b)
{
	return a->key != b->key ? a->key > b->key : a->node > b->node;
}

/* Moves victim `i` of a heap, whose top is the last to be preempted, down to where it belongs. */
static void sift(struct immediate_victim *victims, uint32_t count, uint32_t i)
{
	const struct immediate_victim victim = victims[i];

	HEAP_DOWN(victims, count, i, &victim, gives_way_after, 0);
}

static void sort_victims(struct immediate_victim *victims, uint32_t count)
{
	for (uint32_t i = count / 2; i-- > 0;)
		sift(victims, count, i);
	while (count > 1) {
		const struct immediate_victim last = victims[0];

		victims[0] = victims[--count];
		victims[count] = last;
		sift(victims, count, 0);
	}
}

/* The victim entry of an occupant, with the key of its value. */
static struct immediate_victim as_victim(const struct immediate *immediate, uint32_t occupant,
					 double key)
{
	const struct immediate_occupant *o = &immediate->occupants[occupant];
	const struct immediate_cluster *cluster = &immediate->clusters[o->rest.cluster];
	uint32_t i = 0;

	while (immediate_has(cluster->blocked, o->nodes[i]))
		i++;
	return (struct immediate_victim){key, o->nodes[i], o->usable, occupant};
}

void immediate_add_victim(struct immediate *immediate, uint32_t occupant)
{
	const struct immediate_victim victim =
		as_victim(immediate, occupant, rank_key(immediate->occupants[occupant].value));
	struct immediate_cluster *cluster =
		&immediate->clusters[immediate->occupants[occupant].rest.cluster];
	uint32_t i = cluster->victims_count++;

	for (; i > 0 && gives_way_after(&cluster->victims[i - 1], &victim); i--)
		cluster->victims[i] = cluster->victims[i - 1];
	cluster->victims[i] = victim;
}

/*
 * Computes the rest and the value of an occupant of the snapshot, and whether it may be preempted.
 */
static void value_running(struct immediate *immediate, uint32_t index)
{
	const struct sched_snapshot *snapshot = immediate->snapshot;
	const struct sched_allocation *running = &snapshot->running[index];
	struct immediate_occupant *occupant = &immediate->occupants[index];
	const struct immediate_cluster *cluster = &immediate->clusters[running->cluster];
	const struct sched_option *option =
		sched_system_option(immediate->system, running->task->row, running->cluster,
				    running->pstate);

	if (!option)
		return;
	occupant->usable = running->nodes_count;
	for (uint32_t n = 0; cluster->any_blocked && n < running->nodes_count; n++)
		occupant->usable -= immediate_has(cluster->blocked, running->nodes[n]);
	occupant->executed_s = running->executed_s + (snapshot->now_s - running->start_s);
	occupant->rest = sched_option_rest(option, occupant->executed_s);
	occupant->rest.nodes = running->nodes_count;
	occupant->value =
		objective_at(immediate->objective, running->task,
			     snapshot->now_s + occupant->rest.etc_s, occupant->rest.etc_s);
	occupant->preemptible =
		running->task->preemptible && occupant->rest.etc_s > 0 && occupant->usable > 0;
}

static int value_occupants(struct immediate *immediate)
{
	double value = 0; /* of the occupant before: those of a burst have the same value */
	double key = 0;

	for (uint32_t c = 0; c < immediate->system->clusters_count; c++) {
		struct immediate_cluster *cluster = &immediate->clusters[c];

		cluster->victims =
			arena_array(immediate->arena, immediate->system->clusters[c].nodes,
				    sizeof(*cluster->victims));
		if (!cluster->victims)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < immediate->snapshot->running_count; i++) {
		struct immediate_cluster *cluster =
			&immediate->clusters[immediate->snapshot->running[i].cluster];

		value_running(immediate, i);
		if (!immediate->occupants[i].preemptible)
			continue;
		if (immediate->occupants[i].value != value) {
			value = immediate->occupants[i].value;
			key = rank_key(value);
		}
		cluster->victims[cluster->victims_count++] = as_victim(immediate, i, key);
	}
	for (uint32_t c = 0; c < immediate->system->clusters_count; c++)
		sort_victims(immediate->clusters[c].victims, immediate->clusters[c].victims_count);
	return 0;
}

int immediate_value(struct immediate *immediate, enum objective objective, bool preempts)
{
	immediate->objective = objective;
	immediate->preempts = preempts;
	for (uint32_t i = 0; i < immediate->classes_count; i++) {
		struct immediate_class *class = &immediate->classes[i];
		const uint32_t row = class->tasks[0]->row;
		double least_s = immediate->system->etc_min_s[row];

		if (class->origin != IMMEDIATE_WAITING) {
			const struct sched_option *option =
				sched_system_option(immediate->system, row, class->cluster,
						    class->pstate);

			least_s = sched_option_rest(option, class->executed_s).etc_s;
		}
		class->bound = objective == OBJECTIVE_UTIL ? class->utility
			       : least_s > 0               ? class->utility / least_s
							   : (double)INFINITY;
		class->bound *=
			objective_margin(class->tasks[0], immediate->snapshot->now_s + least_s);
	}
	return preempts ? value_occupants(immediate) : 0;
}

double immediate_beat(const struct immediate *immediate, uint32_t cluster, uint32_t nodes,
		      uint32_t *ret_victims)
{
	const struct immediate_cluster *c = &immediate->clusters[cluster];
	uint32_t got = c->idle;
	double sum = 0;
	uint32_t i = 0;

	for (; got < nodes && i < c->victims_count; i++) {
		got += c->victims[i].nodes;
		sum += immediate->occupants[c->victims[i].occupant].value;
	}
	*ret_victims = i;
	return got < nodes ? (double)INFINITY : sum;
}

uint32_t immediate_victims(const struct immediate *immediate, const struct immediate_choice *choice,
			   uint32_t *ret_victims)
{
	const struct sched_option *rest = &immediate->classes[choice->class].ways[choice->way].rest;
	const struct immediate_cluster *cluster = &immediate->clusters[rest->cluster];
	uint32_t got = cluster->idle;
	uint32_t count = 0;

	if (choice->anchor != IMMEDIATE_NONE) {
		got += immediate->occupants[choice->anchor].usable;
		ret_victims[count++] = choice->anchor;
	}
	for (uint32_t i = 0; got < rest->nodes && i < cluster->victims_count; i++) {
		if (cluster->victims[i].occupant == choice->anchor)
			continue;
		got += cluster->victims[i].nodes;
		ret_victims[count++] = cluster->victims[i].occupant;
	}
	return got < rest->nodes ? IMMEDIATE_NONE : count;
}
