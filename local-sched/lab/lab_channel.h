/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * Messages between a process of the lab and its parent: short texts over a pair of SOCK_SEQPACKET
 * sockets. The end of the channel means that the other side is gone, for whatever reason. A process
 * that waits for "go" can therefore never outlive a parent that was killed before it.
 *
 *   go              down: the parent has recorded the child and prepared its surroundings
 *   keep            down, to the supervisor: `up` is done, the supervisor lives on
 *   error TEXT      up: a failure; TEXT is for the user
 *   started NAME    up: blade NAME has started its libvirtd
 *   dead NAME       up: the first process of blade NAME ended
 *   ready           up: all blades and BMCs are started
 */

/* The descriptor of the channel to the parent in a process of the lab. */
enum { LAB_CHANNEL_PARENT = 3, LAB_CHANNEL_TEXT_MAX = 2048 };

enum lab_channel_result {
	LAB_CHANNEL_TIMEOUT = 0,
	LAB_CHANNEL_MESSAGE,
	LAB_CHANNEL_END, /* the other side is gone */
};

/* Creates a pair of connected, close-on-exec sockets: [0] for the parent, [1] for the child. */
bool lab_channel_open(int ret_fds[2], GError **error);

/* Sends a message; false if the other side is gone. Text above LAB_CHANNEL_TEXT_MAX is cut. */
bool lab_channel_send(int fd, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Waits up to timeout_s (negative: without end) for a message; the caller frees its text. */
enum lab_channel_result lab_channel_receive(int fd, double timeout_s, char **ret_text);

/* Waits for "go" on the channel to the parent; ends this process if the parent is gone. */
void lab_channel_await_go(void);
