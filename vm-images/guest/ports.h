/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Virtio-serial ports by name.  There is no udev in the guest: names are read from
 * /sys/class/virtio-ports, and links to the devices are kept below /dev/virtio-ports.
 */
#ifndef VIRTBED_GUEST_PORTS_H
#define VIRTBED_GUEST_PORTS_H

#include <stdbool.h>
#include <stddef.h>

/* Room for the path of a port's device. */
#define PORT_PATH_SIZE 300

/*
 * Find the device of the port called @name and store its path in @ret_path (@size bytes).
 * False, and @ret_path untouched, while there is no such port.
 */
bool port_find(const char *name, char *ret_path, size_t size);

/* Bring the links in /dev/virtio-ports up to date; links that are right stay untouched. */
void port_link_all(void);

#endif
