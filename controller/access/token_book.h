/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/access/tokens.h"

/*
 * The tokens as a running service knows them: the file is read again when it was changed, so what was made or
 * revoked counts from the next request on. A file that cannot be gone by (half of it is missing, others
 * can read it, or write to its directory) makes no token good, and is complained of once. It is read again when it or
 * its directory was changed, and after a second: there may have been no descriptors left.
 */
struct token_book;

/* Of directory `dir`; nothing is read yet. */
struct token_book *token_book_new(const char *dir);
/* NULL is allowed. */
void token_book_free(struct token_book *book);
typedef struct token_book token_book_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(token_book_t, token_book_free)

/*
 * The token of a header "Authorization: Bearer TOKEN" (`authorization` NULL: there is none), if it is known
 * and good now; else NULL. Borrowed until the next call.
 */
const struct token *token_book_look_up(struct token_book *book, const char *authorization);
