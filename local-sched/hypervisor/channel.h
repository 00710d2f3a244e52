/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "local-sched/hypervisor/host.h"

/*
 * A virtio-serial port of a VM as a stream of bytes on the main loop (virDomainOpenChannel). The
 * guest's end waits while ours is closed, so a channel can be opened again after libvirtd was
 * restarted; bytes that were in libvirtd's hands then are gone.
 */
struct channel;

/* What a channel tells its owner. All are required. */
struct channel_events {
	/* channel_open() is done; `error` is NULL if it worked. */
	void (*opened)(struct channel *channel, const GError *error, void *data);
	/* Bytes from the guest. */
	void (*input)(struct channel *channel, const char *bytes, size_t length, void *data);
	/* The stream ended: the VM or libvirtd is gone, or someone else took the port. */
	void (*broken)(struct channel *channel, const char *reason, void *data);
};

/* A closed channel to `port` of the VM `domain`. `host` and `events` are borrowed. */
struct channel *channel_new(struct host *host, const char *domain, const char *port,
			    const struct channel_events *events, void *data);

/* Closes and frees; to be called after host_free() or when no channel_open() is under way. */
void channel_free(struct channel *channel);

/*
 * Opens the channel; one that is open is closed first, and what QEMU still held for the guest is
 * thrown away by that; one that is being opened is left alone. Ends with `opened`.
 */
void channel_open(struct channel *channel);

/* Closes the channel; nothing is told. What is to be opened is closed when it is. */
void channel_close(struct channel *channel);

/* Closes it; from now on it is a port of the same VM on another host. */
void channel_move(struct channel *channel, struct host *host);

/* Whether bytes can be sent: `opened` was told, and neither close nor `broken` since. */
bool channel_is_open(const struct channel *channel);

/* Sends bytes; those to a closed channel are dropped. */
void channel_send(struct channel *channel, const char *bytes, size_t length);
