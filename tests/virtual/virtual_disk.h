/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "common/random.h"

/*
 * A disk in memory, for virtual platforms: files by their paths, databases among them. It outlives
 * the platforms that use it one after another, each of which is a life of the daemons on it.
 *
 * What is written to a file is on the disk once the file was synced, and the names of a directory
 * are (new, changed and removed ones) once the directory was. A crash loses all that was not.
 * Directories need not be made.
 */
struct virtual_disk;
typedef struct virtual_disk virtual_disk_t; /* for g_autoptr() */

/* An empty disk. */
struct virtual_disk *virtual_disk_new(void);

/* To be called after the platforms on it were freed, and its databases closed. */
void virtual_disk_free(struct virtual_disk *disk);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(virtual_disk_t, virtual_disk_free)

/* The name of its sqlite3_vfs, for tests that look into a database; borrowed. */
const char *virtual_disk_vfs(const struct virtual_disk *disk);

/*
 * The end of a life: what is open, and the platforms that use the disk, can neither read nor write
 * any more, so that daemons may be freed afterwards. After a kill all that was written is there;
 * after a crash (of the machine, or its power) only what was synced.
 */
void virtual_disk_kill(struct virtual_disk *disk);
void virtual_disk_crash(struct virtual_disk *disk);

/*
 * A crash in which a part of what was not synced is on the disk after all: of each file as many
 * writes as `random` says, in their order, and the first bytes of the next one. Names are lost as
 * in any crash.
 */
void virtual_disk_tear(struct virtual_disk *disk, struct random_stream *random);

/*
 * Has writes, syncs and changes of names fail with errno `code` (ENOSPC, EIO) once `after` more
 * have succeeded; 0: they succeed again.
 */
void virtual_disk_fail(struct virtual_disk *disk, int code, guint after);

/*
 * Calls `watch` in the `after`th change from now on (a write, a sync, a change of names), before it
 * is made; it may end the life of the disk, so that the change fails. The end of a life ends this,
 * too.
 */
void virtual_disk_watch(struct virtual_disk *disk, guint after, void (*watch)(void *data),
			void *data);
