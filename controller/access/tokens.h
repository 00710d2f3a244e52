/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <stdbool.h>

#include "controller/access/token.h"

/*
 * Tokens, by which a controller knows who asks over a network: a secret of 256 random bits that was given
 * to a user of this machine, with a role, until some time. A token acts for that user: tasks submitted
 * with it are theirs. Only its SHA-256 is written down, in DIR/tokens.json; a random secret of that length needs
 * neither salt nor a slow hash, since nobody can try them all.
 */

/* What every token begins with: so that people, and programs that look for lost secrets, know one. */
#define TOKENS_PREFIX "vbt_"

/*
 * The tokens of directory `dir`, in the order in which they were made; none where there is no file. Returns
 * a GPtrArray of struct token, or NULL with `error` (TOKEN_ERROR_FILE).
 */
GPtrArray *tokens_list(const char *dir, GError **error);

/*
 * Makes a token for the account `user` of this machine, good for `lifetime_s` seconds (INFINITY: for
 * ever). Returns the secret, which the caller wipes and frees, and nobody can have again; *ret_token is what
 * was written down. NULL with `error`.
 */
char *tokens_create(const char *dir, enum http_role role, const char *user, double lifetime_s,
		    struct token **ret_token, GError **error);

/* Takes a token back, at once. False with `error`: TOKEN_ERROR_INPUT if there is none of that id. */
bool tokens_revoke(const char *dir, const char *id, GError **error);

/* Overwrites a secret and frees it; NULL is allowed. */
void tokens_wipe(char *secret);

/* The first token of the list whose secret this is, expired or not; NULL: none. Takes the same time for all. */
const struct token *tokens_find(const GPtrArray *tokens, const char *secret);
