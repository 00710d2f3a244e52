/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/platform.h"
#include "controller/access/tokens.h"

/*
 * The tokens as a running service knows them. The file is read again after a change, so a token
 * that is made or revoked counts from the next request on. A file that cannot be used (truncated,
 * readable by others, in a directory that others can write to) makes every token invalid, and one
 * message is logged. It is read again when it or its directory changes, and after a second, since a
 * lack of descriptors may have been the cause.
 */
struct token_book;

/* For the tokens of directory `dir`; reads nothing yet. */
struct token_book *token_book_new(const struct platform *platform, const char *dir);
/* NULL is allowed. */
void token_book_free(struct token_book *book);
typedef struct token_book token_book_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(token_book_t, token_book_free)

/*
 * Returns the token of a header "Authorization: Bearer TOKEN" if it is known and valid now; else
 * NULL. `authorization` NULL: there is no header. Borrowed until the next call.
 */
const struct token *token_book_look_up(struct token_book *book, const char *authorization);
