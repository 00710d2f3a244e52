/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of placements, and what single placements are made of. */
#include <glib.h>
#include <stddef.h>
#include <string.h>

#include "controller/engine/cluster_queue.h"
#include "controller/engine/placement.h"
#include "controller/engine/shared_hosts.h"

static void test_systems(void)
{
	const struct sched_queueing queueing = {.length = 1};
	const struct sched_system exclusive = {.shared = false};
	const struct sched_system shared = {.shared = true};
	const struct sched_system queued = {.queueing = &queueing};

	g_assert_cmpstr(placement_of(&exclusive)->name, ==, "exclusive");
	g_assert_cmpstr(placement_of(&shared)->name, ==, "shared");
	g_assert_cmpstr(placement_of(&queued)->name, ==, "queued");
}

/* The functions of a table begin with init(). */
static void test_members(void)
{
	static const struct placement_ops *const all[] = {&placement_exclusive, &placement_shared,
							  &placement_queued};
	const size_t first = offsetof(struct placement_ops, init);

	for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
		for (size_t at = first; at < sizeof(*all[i]); at += sizeof(void (*)(void))) {
			void *function;

			memcpy(&function, (const char *)all[i] + at, sizeof(function));
			g_assert_nonnull(function);
		}
}

static void test_memory(void)
{
	struct shared_host hosts[2] = {0};
	const uint32_t both[] = {0, 1}, one[] = {1, 1};

	shared_hosts_promise(hosts, both, 2, 0.1, true);
	shared_hosts_promise(hosts, one, 2, 0.3, true);
	g_assert_cmpuint(shared_hosts_count_overfull(hosts, one, 2), ==, 0);
	g_assert_cmpfloat(shared_host_vms(&hosts[1], 0.3, false), ==, 1);
	g_assert_cmpfloat(shared_host_vms(&hosts[1], 0.3, true), ==, 3);
	/* A VM that stays needs no room; a VM that comes needs some. */
	g_assert_cmpuint(shared_hosts_find_full(hosts, one, one, 2, 0.9), ==, UINT32_MAX);
	g_assert_cmpuint(shared_hosts_find_full(hosts, both, one, 2, 0.4), ==, 1);
	g_assert_cmpuint(shared_hosts_find_full(hosts, both, one, 2, 0.3), ==, UINT32_MAX);
	/* Memory that is promised while VMs are leaving it. */
	shared_hosts_promise(hosts, one, 2, 0.3, false);
	shared_hosts_leave(hosts, one, 2, 0.3, true);
	g_assert_cmpuint(shared_hosts_count_overfull(hosts, both, 2), ==, 0);
	shared_hosts_promise(hosts, one, 2, 0.4, true);
	g_assert_cmpuint(shared_hosts_count_overfull(hosts, both, 2), ==, 1);
	shared_hosts_leave(hosts, one, 2, 0.3, false);
	g_assert_cmpuint(shared_hosts_count_overfull(hosts, both, 2), ==, 0);
	shared_hosts_promise(hosts, one, 2, 0.4, false);
	shared_hosts_promise(hosts, both, 2, 0.1, false);
	for (size_t h = 0; h < G_N_ELEMENTS(hosts); h++) {
		g_assert_cmpfloat(hosts[h].promised, ==, 0);
		g_assert_cmpfloat(hosts[h].leaving, ==, 0);
	}
}

static void assert_order(const struct cluster_queue *queue, const char *ids)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (uint32_t i = 0; i < queue->count; i++)
		g_string_append_printf(text, "%u", queue->tasks[i]->id);
	g_assert_cmpstr(text->str, ==, ids);
}

static void test_queue(void)
{
	const struct sched_task tasks[] = {{.id = 0}, {.id = 1}, {.id = 2}, {.id = 3}};
	struct cluster_queue queue;

	cluster_queue_init(&queue, G_N_ELEMENTS(tasks));
	for (uint32_t i = 0; i < 3; i++)
		cluster_queue_insert(&queue, queue.count, &tasks[i]);
	cluster_queue_insert(&queue, 1, &tasks[3]);
	assert_order(&queue, "0312");
	cluster_queue_execute(&queue, 1, 5);
	assert_order(&queue, "1032");
	g_assert_true(queue.executes);
	g_assert_cmpfloat(queue.start_s, ==, 5);
	g_assert_true(cluster_queue_remove(&queue, 3));
	g_assert_true(queue.executes);
	g_assert_true(cluster_queue_remove(&queue, 1));
	g_assert_false(queue.executes);
	g_assert_false(cluster_queue_remove(&queue, 1));
	assert_order(&queue, "02");
	cluster_queue_finish(&queue);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/placement/follows-from-the-system", test_systems);
	g_test_add_func("/placement/all-members-are-set", test_members);
	g_test_add_func("/placement/memory-of-shared-hosts", test_memory);
	g_test_add_func("/placement/order-of-a-queue", test_queue);
	return g_test_run();
}
