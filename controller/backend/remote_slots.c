/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nodes of hosts that tasks share in time. The engine uses hosts, the local scheduler nodes: every
 * host has the same number of nodes, and a VM takes any free one. The engine counts the memory of
 * hosts in nodes (sharing.h of the workload), so a host that it chooses always has a free node.
 */
#include "common/clock.h"
#include "controller/backend/remote_private.h"

static const struct config_cluster *cluster_of(const struct remote_attempt *entry)
{
	return &entry->remote->config->clusters[entry->cluster];
}

bool remote_slots_shared(const struct remote_attempt *entry)
{
	return cluster_of(entry)->shared;
}

guint remote_slots_tries(const struct remote_attempt *entry)
{
	return remote_slots_shared(entry) ? REMOTE_CONFLICT_TRIES_SHARED : REMOTE_CONFLICT_TRIES;
}

static void mark(bool *taken, const struct config_cluster *cluster, const uint32_t *nodes,
		 uint32_t count)
{
	for (uint32_t i = 0; nodes && i < count; i++)
		if (nodes[i] < cluster->nodes)
			taken[nodes[i]] = true;
}

/* The nodes of the attempt's cluster that other tasks have or are about to get. */
static bool *find_taken(const struct remote_attempt *entry)
{
	const struct config_cluster *cluster = cluster_of(entry);
	bool *taken = g_new0(bool, cluster->nodes);
	GHashTableIter iter;
	void *value;

	g_hash_table_iter_init(&iter, entry->remote->entries);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		const struct remote_attempt *other = value;

		if (other == entry || remote_attempt_is(other, ATTEMPT_OVER) ||
		    other->cluster != entry->cluster)
			continue;
		if (!remote_attempt_is(other, ATTEMPT_ANY_SUSPENDED))
			mark(taken, cluster, other->nodes, other->nodes_count);
		mark(taken, cluster, other->step.nodes, other->nodes_count);
	}
	return taken;
}

/* A free node of the host, preferably a node that is up. */
static uint32_t find_node(const struct remote_attempt *entry, const bool *taken, uint32_t host)
{
	const struct config_cluster *cluster = cluster_of(entry);
	const uint32_t each = config_cluster_places(cluster);
	uint32_t found = host * each;
	bool good = false;

	for (uint32_t node = (host + 1) * each; node-- > host * each;) {
		bool up = remote_link_node_up(remote_attempt_link(entry), node);

		if (taken[node] || (good && !up))
			continue;
		found = node;
		good = up;
	}
	return found;
}

uint32_t *remote_slots_pick(const struct remote_attempt *entry, const uint32_t *hosts,
			    const uint32_t *stay)
{
	g_autofree bool *taken = find_taken(entry);
	uint32_t *nodes = g_new(uint32_t, entry->nodes_count);

	if (stay)
		mark(taken, cluster_of(entry), stay, entry->nodes_count);
	for (uint32_t v = 0; v < entry->nodes_count; v++) {
		if (stay && remote_slots_host(cluster_of(entry), stay[v]) == hosts[v])
			nodes[v] = stay[v];
		else
			nodes[v] = find_node(entry, taken, hosts[v]);
		taken[nodes[v]] = true;
	}
	return nodes;
}

void remote_slots_give_up(const struct remote_attempt *entry, const uint32_t *nodes)
{
	const struct config_cluster *cluster = cluster_of(entry);
	const double now_s = remote_run_s(entry->remote, remote_now_ns(entry->remote));

	if (!cluster->shared || !nodes || remote_attempt_is_killed(entry))
		return;
	for (uint32_t i = 0; i < entry->nodes_count; i++) {
		const struct backend_event event = {
			.kind = BACKEND_EVENT_NODE_DOWN,
			.time_s = now_s,
			.cluster = entry->cluster,
			.node = remote_slots_host(cluster, nodes[i]),
			.reason = "not all of its nodes are ready",
		};

		if (!remote_link_node_up(remote_attempt_link(entry), nodes[i]))
			remote_push(entry->remote, &event);
	}
}

uint32_t *remote_slots_spread(const uint32_t *hosts, uint32_t hosts_count, uint32_t vms)
{
	uint32_t *each = g_new(uint32_t, vms);

	for (uint32_t v = 0; v < vms; v++)
		each[v] = hosts[(uint64_t)v * hosts_count / vms];
	return each;
}
