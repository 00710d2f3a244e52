/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/boot_queue.h"

struct waiter {
	boot_queue_turn_f turn;
	void *data;
};

struct boot_queue {
	guint limit;
	GHashTable *active; /* set of data */
	GQueue waiting;     /* of struct waiter */
};

struct boot_queue *boot_queue_new(guint limit)
{
	struct boot_queue *queue = g_new0(struct boot_queue, 1);

	queue->limit = limit;
	queue->active = g_hash_table_new(NULL, NULL);
	g_queue_init(&queue->waiting);
	return queue;
}

void boot_queue_clear(struct boot_queue *queue)
{
	g_queue_clear_full(&queue->waiting, g_free);
}

void boot_queue_free(struct boot_queue *queue)
{
	if (!queue)
		return;
	boot_queue_clear(queue);
	g_hash_table_destroy(queue->active);
	g_free(queue);
}

static void serve(struct boot_queue *queue)
{
	while (g_hash_table_size(queue->active) < queue->limit &&
	       !g_queue_is_empty(&queue->waiting)) {
		g_autofree struct waiter *waiter = g_queue_pop_head(&queue->waiting);

		g_hash_table_add(queue->active, waiter->data);
		waiter->turn(waiter->data);
	}
}

void boot_queue_enter(struct boot_queue *queue, boot_queue_turn_f turn, void *data)
{
	struct waiter *waiter = g_new0(struct waiter, 1);

	waiter->turn = turn;
	waiter->data = data;
	g_queue_push_tail(&queue->waiting, waiter);
	serve(queue);
}

static gint names(gconstpointer waiter, gconstpointer data)
{
	return ((const struct waiter *)waiter)->data == data ? 0 : 1;
}

void boot_queue_leave(struct boot_queue *queue, void *data)
{
	GList *link = g_queue_find_custom(&queue->waiting, data, names);

	if (link) {
		g_free(link->data);
		g_queue_delete_link(&queue->waiting, link);
	}
	if (g_hash_table_remove(queue->active, data))
		serve(queue);
}
