/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/*
 * Bounds how many nodes boot at once: a boot costs four CPU-seconds under TCG, and ten guests that
 * boot side by side all run into their deadlines. First come, first served. Main loop only.
 */
struct boot_queue;

/* Told when its turn has come. */
typedef void (*boot_queue_turn_f)(void *data);

/* A queue that lets `limit` (1 or more) boot at a time. */
struct boot_queue *boot_queue_new(guint limit);
/* NULL is allowed. */
void boot_queue_free(struct boot_queue *queue);

/* Asks for a turn; `turn` is called at once or later, and once. `data` names the asker. */
void boot_queue_enter(struct boot_queue *queue, boot_queue_turn_f turn, void *data);

/* Gives the turn back, or leaves the queue; no matter if `data` is in neither. */
void boot_queue_leave(struct boot_queue *queue, void *data);
