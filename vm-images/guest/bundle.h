/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files on their way into a guest and out of it, as a stream of bytes: for each file a line "file
 * SIZE MODE NAME" (MODE in octal) and then its SIZE bytes, for each omitted file a line "skip NAME:
 * REASON", and at the end the line "end". Names are paths below a directory. The host's side is
 * common/task_script.h.
 */
#ifndef VIRTBED_GUEST_BUNDLE_H
#define VIRTBED_GUEST_BUNDLE_H

#include <stdbool.h>

/*
 * The most bytes of all files that come out. They share a reply with a program's output: relay.h.
 */
#define BUNDLE_OUT_MAX (1 << 20)
#define BUNDLE_FILES_MAX 256

/*
 * Unpacks the stream on @fd into @directory. False if the stream is invalid or a file cannot be
 * written; a line on standard error says so.
 */
bool bundle_unpack(int fd, const char *directory);

/*
 * Writes to @fd the files @names, @count of them, of @directory, and all regular files in those
 * that are directories. Follows no symbolic links. A file that does not exist, is not a regular
 * file, or is too large is omitted, and the stream says so.
 */
void bundle_pack(int fd, const char *directory, char *const *names, int count);

#endif
