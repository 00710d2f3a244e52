/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/oracle/oracle.h"

#include <math.h>

bool oracle_take(struct oracle_cluster *cluster, const uint32_t *nodes, uint32_t count,
		 double start_s, double end_s)
{
	const struct oracle_interval taken = {start_s, end_s};
	bool free = true;

	for (uint32_t i = 0; i < count; i++) {
		GArray *busy = cluster->busy[nodes[i]];

		for (guint j = 0; j < busy->len; j++) {
			const struct oracle_interval *other =
				&g_array_index(busy, struct oracle_interval, j);

			free &= other->end_s <= start_s || other->start_s >= end_s;
		}
		g_array_append_val(busy, taken);
	}
	return free;
}

struct oracle_cluster *oracle_clusters_new(const struct sched_snapshot *snapshot)
{
	const struct sched_system *system = snapshot->system;
	struct oracle_cluster *clusters = g_new0(struct oracle_cluster, system->clusters_count);

	for (uint32_t c = 0; c < system->clusters_count; c++) {
		clusters[c].nodes = system->clusters[c].nodes;
		clusters[c].busy = g_new(GArray *, clusters[c].nodes);
		for (uint32_t n = 0; n < clusters[c].nodes; n++)
			clusters[c].busy[n] =
				g_array_new(FALSE, FALSE, sizeof(struct oracle_interval));
	}
	for (uint32_t i = 0; i < snapshot->running_count; i++) {
		const struct sched_allocation *r = &snapshot->running[i];

		oracle_take(&clusters[r->cluster], r->nodes, r->nodes_count, r->start_s, r->end_s);
	}
	for (uint32_t i = 0; i < snapshot->reservations_count; i++) {
		const struct sched_allocation *p = &snapshot->reservations[i];

		oracle_take(&clusters[p->cluster], p->nodes, p->nodes_count, p->start_s, p->end_s);
	}
	for (uint32_t i = 0; i < snapshot->down_count; i++)
		oracle_take(&clusters[snapshot->down[i].cluster], &snapshot->down[i].node, 1,
			    snapshot->now_s, (double)INFINITY);
	return clusters;
}

void oracle_clusters_free(struct oracle_cluster *clusters, const struct sched_system *system)
{
	for (uint32_t c = 0; c < system->clusters_count; c++) {
		for (uint32_t n = 0; n < clusters[c].nodes; n++)
			g_array_unref(clusters[c].busy[n]);
		g_free(clusters[c].busy);
	}
	g_free(clusters);
}

/* A node as a candidate for [start_s, end_s). */
struct candidate {
	uint32_t node;
	int voids;
	double size_s;
};

/* False when the node is busy then. */
static bool judge(const struct oracle_cluster *cluster, uint32_t node, double now_s, double start_s,
		  double end_s, struct candidate *ret_candidate)
{
	const GArray *busy = cluster->busy[node];
	double last_s = now_s;
	double next_s = (double)INFINITY;

	for (guint i = 0; i < busy->len; i++) {
		const struct oracle_interval *other =
			&g_array_index(busy, struct oracle_interval, i);

		if (other->start_s < end_s && other->end_s > start_s)
			return false;
		if (other->end_s <= start_s)
			last_s = fmax(last_s, other->end_s);
		else
			next_s = fmin(next_s, other->start_s);
	}
	ret_candidate->node = node;
	ret_candidate->voids = (start_s > last_s) + (isfinite(next_s) && next_s > end_s);
	ret_candidate->size_s = (isfinite(next_s) ? next_s : start_s) - last_s;
	return true;
}

static bool is_better(const struct candidate *a, const struct candidate *b)
{
	if (a->voids != b->voids)
		return a->voids < b->voids;
	if (a->size_s != b->size_s)
		return a->size_s < b->size_s;
	return a->node < b->node;
}

static int compare_nodes(const void *left, const void *right)
{
	return *(const uint32_t *)left < *(const uint32_t *)right ? -1 : 1;
}

/* Chooses nodes for a given start by picking the best one `width` times. */
static bool choose(const struct oracle_cluster *cluster, double now_s, double start_s,
		   uint32_t width, double duration_s, uint32_t *ret_nodes)
{
	g_autofree struct candidate *candidates = g_new(struct candidate, cluster->nodes);
	uint32_t count = 0;

	for (uint32_t node = 0; node < cluster->nodes; node++)
		if (judge(cluster, node, now_s, start_s, start_s + duration_s, &candidates[count]))
			count++;
	if (count < width)
		return false;
	for (uint32_t i = 0; i < width; i++) {
		uint32_t best = i;

		for (uint32_t j = i + 1; j < count; j++)
			if (is_better(&candidates[j], &candidates[best]))
				best = j;

		const struct candidate chosen = candidates[best];

		candidates[best] = candidates[i];
		candidates[i] = chosen;
		ret_nodes[i] = chosen.node;
	}
	qsort(ret_nodes, width, sizeof(*ret_nodes), compare_nodes);
	return true;
}

double oracle_earliest(const struct oracle_cluster *cluster, double now_s, uint32_t width,
		       double duration_s, uint32_t *ret_nodes)
{
	double tried_s = -(double)INFINITY;

	for (double start_s = now_s; isfinite(start_s);) {
		if (choose(cluster, now_s, start_s, width, duration_s, ret_nodes))
			return start_s;
		tried_s = start_s;
		start_s = (double)INFINITY;
		for (uint32_t node = 0; node < cluster->nodes; node++) {
			const GArray *busy = cluster->busy[node];

			for (guint i = 0; i < busy->len; i++) {
				const double end_s =
					g_array_index(busy, struct oracle_interval, i).end_s;

				if (end_s > tried_s && end_s < start_s)
					start_s = end_s;
			}
		}
	}
	return (double)INFINITY;
}
