/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <unistd.h>

#include "controller/access/token.h"

/*
 * The file of the tokens, for the files of this folder. It is read and written as a whole and
 * replaced in one step, so that a reader never sees half of it. Its owner is that of the directory,
 * also where root writes it for a service that runs as another user. That user is not trusted with
 * what root can reach: no link is followed.
 */

/* A descriptor that is closed at the end of its block, as g_auto(file_t); -1: there is none. */
typedef int file_t;
static inline void file_close(const file_t *file)
{
	if (*file >= 0)
		close(*file);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(file_t, file_close)

/*
 * Opens the directory `dir`, to which neither its group nor others may write. With `lock` it waits
 * until no other process changes the file. Returns a descriptor, whose close releases the lock, or
 * -1 with `error`.
 */
int token_file_open_dir(const char *dir, bool lock, GError **error);

/*
 * Reads the file in `dir_fd`, the opened directory `dir` (-1: it could not be opened, with
 * `error`). Returns a list as tokens_list() does, or NULL with `error`.
 */
GPtrArray *token_file_read(int dir_fd, const char *dir, GError **error);

/* Replaces the file; it is on disk on return. False with `error`. */
bool token_file_write(int dir_fd, const char *dir, const GPtrArray *tokens, GError **error);

/* Parses the text of a file; `what` names it in errors. For tests. */
GPtrArray *token_file_parse(const char *text, size_t length, const char *what, GError **error);
