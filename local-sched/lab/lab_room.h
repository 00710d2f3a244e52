/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "common/config/config.h"

/* Memory and disk: what is free on this machine, and what the lab of a configuration needs. */

/* Logs, sockets, and results of a run. */
#define LAB_ROOM_FILES_MIB 100

struct lab_room {
	/* free on the machine, or in our control groups if that is less; 0: not known */
	uint64_t memory_mib;
	/* free where labs keep their files, or in the current directory, whichever is less */
	uint64_t disk_mib;
};

/* The free memory and disk. */
struct lab_room lab_room_left(void);

/*
 * The needs of the lab of `config`, which has one, with all of its VMs up: RAM of nodes and spares
 * with QEMU's own; a copy of the guest image of `image_mib` for each blade, swap disks, and the
 * saved memory of VMs that are suspended to disk.
 */
struct lab_room lab_room_needed(const struct config *config, uint64_t image_mib);

/*
 * The size of the guest image that `config` names, or of the one found by default; 0: there is
 * none.
 */
uint64_t lab_room_image_mib(const struct config *config);

/*
 * Why `left` is too little for `needed`, and what to do: one line, which the caller frees; NULL: it
 * is enough.
 */
char *lab_room_trouble(const struct lab_room *needed, const struct lab_room *left);
