/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/*
 * Limits how many nodes boot at once. A boot costs four CPU-seconds under TCG; of ten guests that
 * boot side by side, all exceed their deadlines. Turns are given in the order of the requests. Main
 * loop only.
 */
struct boot_queue;

/* Called when the caller's turn has come. */
typedef void (*boot_queue_turn_f)(void *data);

/* A queue that lets `limit` (1 or more) boot at a time. */
struct boot_queue *boot_queue_new(guint limit);
/* NULL is allowed. */
void boot_queue_free(struct boot_queue *queue);

/* Requests a turn. `turn` is called once, at once or later. `data` identifies the request. */
void boot_queue_enter(struct boot_queue *queue, boot_queue_turn_f turn, void *data);

/* Gives the turn back, or leaves the queue. Does nothing if `data` is in neither. */
void boot_queue_leave(struct boot_queue *queue, void *data);

/* Drops all requests whose turn has not come. */
void boot_queue_clear(struct boot_queue *queue);
