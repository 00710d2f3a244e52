/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files that go into a guest and out of it again, as one stream of bytes: of each file a line
 * "file SIZE MODE NAME" (MODE in octal) and then its SIZE bytes; of a file that is left out a line
 * "skip NAME: REASON"; at the end the line "end".  Names are paths below a directory.  The host's
 * side is common/task_script.h.
 */
#ifndef VIRTBED_GUEST_BUNDLE_H
#define VIRTBED_GUEST_BUNDLE_H

#include <stdbool.h>

/* Of all files that come out.  With a program's output they share a reply: relay.h. */
#define BUNDLE_OUT_MAX (1 << 20)
#define BUNDLE_FILES_MAX 256

/*
 * Unpacks what comes on @fd into @directory. False if the stream makes no sense or a file cannot be
 * written; one line on standard error says so.
 */
bool bundle_unpack(int fd, const char *directory);

/*
 * Writes the files @names, @count of them, of @directory to @fd, and all regular files in those
 * that are directories. Follows no symbolic links. Files that are not there, are none, or are too
 * large are left out, and it says so.
 */
void bundle_pack(int fd, const char *directory, char *const *names, int count);

#endif
