/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "local-sched/hypervisor/pool.h"

/* How near a node is to a VM at node `from` (NULL: at none). */
enum distance { AT_IT = 0, ON_ITS_HOST, ELSEWHERE };

static enum distance distance(const struct vm *vm, const uint32_t *from, const struct node *node)
{
	if (from && *from == node_index(node))
		return AT_IT;
	return vm_current_host(vm) == vm_host_host(node_vm_host(node)) ? ON_ITS_HOST : ELSEWHERE;
}

bool pool_match(const struct pool *pool, struct vm *const *vms, const uint32_t *from,
		uint32_t count, uint32_t *to, GError **error)
{
	g_autofree uint32_t *matched = g_new0(uint32_t, count);
	g_autofree bool *taken = g_new0(bool, count);
	g_autofree bool *done = g_new0(bool, count);

	for (int near = AT_IT; near <= ELSEWHERE; near++) {
		for (uint32_t k = 0; k < count * count; k++) {
			const uint32_t i = k / count;
			const uint32_t j = k % count;
			const struct node *node = pool_node(pool, to[j]);

			if (done[i] || taken[j] ||
			    (int)distance(vms[i], from ? &from[i] : NULL, node) != near)
				continue;
			if (near == ELSEWHERE && !pool_may_move(pool, vms[i], node, error))
				return false;
			done[i] = taken[j] = true;
			matched[i] = to[j];
		}
	}
	memcpy(to, matched, count * sizeof(*to));
	return true;
}
