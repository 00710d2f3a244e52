/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "local-sched/hypervisor/host.h"

/*
 * A virtio-serial port of a VM as a stream of bytes on the main loop (virDomainOpenChannel). While
 * the host's end is closed the guest's end waits, so a channel can be opened again after libvirtd
 * was restarted. Bytes that libvirtd held at that moment are lost.
 */
struct channel;

/* The events of a channel, for its owner. All are required. */
struct channel_events {
	/* channel_open() has ended; `error` is NULL if the channel is open. */
	void (*opened)(struct channel *channel, const GError *error, void *data);
	/* Bytes from the guest. */
	void (*input)(struct channel *channel, const char *bytes, size_t length, void *data);
	/* The stream ended: the VM or libvirtd is gone, or another program opened the port. */
	void (*broken)(struct channel *channel, const char *reason, void *data);
};

/* A closed channel to `port` of the VM `domain`. `host` and `events` are borrowed. */
struct channel *channel_new(struct host *host, const char *domain, const char *port,
			    const struct channel_events *events, void *data);

/*
 * Closes and frees the channel. Call it after host_free(), or when no channel_open() is under way.
 */
void channel_free(struct channel *channel);

/*
 * Opens the channel and reports the end by `opened`. An open channel is closed first, and with that
 * the bytes that QEMU still held for the guest are dropped. A channel that is being opened is left
 * alone.
 */
void channel_open(struct channel *channel);

/* Closes the channel without an event. A channel that is being opened is closed once it is open. */
void channel_close(struct channel *channel);

/* Closes the channel and sets it to the same port of the VM on another host. */
void channel_move(struct channel *channel, struct host *host);

/* Whether bytes can be sent: the channel is open. */
bool channel_is_open(const struct channel *channel);

/* Sends bytes; on a closed channel they are dropped. */
void channel_send(struct channel *channel, const char *bytes, size_t length);
