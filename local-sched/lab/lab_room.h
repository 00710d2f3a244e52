/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

#include "common/config/config.h"

/* Memory and disk: what this machine has left, and what the lab of a configuration needs. */

/* Logs, sockets, and results of a run. */
#define LAB_ROOM_FILES_MIB 100

struct lab_room {
	uint64_t memory_mib; /* of the machine, or of our control groups if that is less; 0: not known */
	uint64_t disk_mib;   /* where labs keep their files, or where we are, whichever is less */
};

/* What is left. */
struct lab_room lab_room_left(void);

/*
 * What the lab of `config`, which has one, needs with all of its VMs up: RAM of nodes and spares with QEMU's own; a copy
 * of the guest image of `image_mib` for each blade, swap disks, and the saved memory of VMs that are suspended to disk.
 */
struct lab_room lab_room_needed(const struct config *config, uint64_t image_mib);

/* The size of the guest image that `config` names, or else is found; 0: there is none. */
uint64_t lab_room_image_mib(const struct config *config);

/* Why `needed` is too much for `left`, and what to do: one line, the caller's; NULL: there is room. */
char *lab_room_trouble(const struct lab_room *needed, const struct lab_room *left);
