/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <stdbool.h>

#include "controller/access/token.h"

/*
 * Tokens authenticate users of a controller over a network. A token is a secret of 256 random bits
 * that is given to a user of this machine, with a role and an expiry time. It acts for that user,
 * who owns the tasks submitted with it. Only its SHA-256 is recorded, in DIR/tokens.json; a random
 * secret of that length needs neither salt nor a slow hash, since all values cannot be tried.
 */

/*
 * The prefix of every secret, by which people and programs that search for leaked secrets recognize
 * one.
 */
#define TOKENS_PREFIX "vbt_"

/*
 * Returns the tokens of directory `dir` in the order in which they were made, a GPtrArray of struct
 * token; empty where there is no file; NULL with `error` (TOKEN_ERROR_FILE).
 */
GPtrArray *tokens_list(const char *dir, GError **error);

/*
 * Makes a token for the account `user` of this machine, valid for `lifetime_s` seconds (INFINITY:
 * without end). Returns the secret, which the caller wipes and frees and which cannot be had again;
 * *ret_token is the recorded token, owned by the caller. NULL with `error`.
 */
char *tokens_create(const char *dir, enum http_role role, const char *user, double lifetime_s,
		    struct token **ret_token, GError **error);

/* Revokes a token at once. False with `error`; TOKEN_ERROR_INPUT: no token has this id. */
bool tokens_revoke(const char *dir, const char *id, GError **error);

/* Overwrites a secret and frees it; NULL is allowed. */
void tokens_wipe(char *secret);

/*
 * Returns the first token of the list with this secret, expired or not, or NULL. Takes the same
 * time for all.
 */
const struct token *tokens_find(const GPtrArray *tokens, const char *secret);
