/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/access/token.h"

/*
 * The file of the tokens, for the files of this folder: read and written as a whole, replaced in one step,
 * so that a reader never sees half of it. Its owner is that of the directory, also where root writes it for
 * a service that runs as another user; that user is not trusted with what root can reach: no link is followed.
 */

/*
 * Opens the directory, which no group and no others may write to, and with `lock` waits until nobody else
 * changes the file. Returns a descriptor whose close gives the lock back, or -1 with `error`.
 */
int token_file_open_dir(const char *dir, bool lock, GError **error);

/* Reads the file of an opened directory `dir`: a list as tokens_list() says; NULL with `error`. */
GPtrArray *token_file_read(int dir_fd, const char *dir, GError **error);

/* Replaces it, on disk when this returns. */
bool token_file_write(int dir_fd, const char *dir, const GPtrArray *tokens, GError **error);

/* The list that a text holds, of the file called `what`; for tests. */
GPtrArray *token_file_parse(const char *text, size_t length, const char *what, GError **error);
