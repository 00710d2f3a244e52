/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/http_server.h"

/*
 * Tokens, by which a controller knows who asks over a network: a secret of 256 random bits that was given
 * to a user of this machine, with a role, until some time. A token acts for that user: tasks submitted
 * with it are theirs. Only its SHA-256 is written down, in DIR/tokens.json; a random secret of that length needs
 * neither salt nor a slow hash, since nobody can try them all.
 */

#define TOKENS_FILE "tokens.json"

/* What every token begins with: so that people, and programs that look for lost secrets, know one. */
#define TOKENS_PREFIX "vbt_"

/* So many there can be: all are compared for every request. */
#define TOKENS_MAX 10000

#define TOKENS_ERROR (tokens_error_quark())
GQuark tokens_error_quark(void);
enum tokens_error {
	TOKENS_ERROR_FILE = 1, /* the file, or its directory, cannot be used; the message says why */
	TOKENS_ERROR_INPUT,    /* what was asked for makes no sense */
};

/* A token, as it is written down. */
struct token {
	char *id; /* 8 hexadecimal digits that people call it by; tells nothing of the secret */
	char *sha256; /* of the whole token, 64 lower-case hexadecimal digits */
	enum http_role role; /* viewer, user or operator */
	char *user; /* name of the account when it was made, for people */
	int64_t uid; /* of that account: whose tasks are its own */
	int64_t created_s; /* UTC, seconds since 1970 */
	int64_t expires_s; /* the same: it is good until then; INT64_MAX: for ever */
};

/* Frees a token; NULL is allowed. */
void token_free(struct token *token);
typedef struct token token_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(token_t, token_free)

/* "viewer", "user", "operator"; HTTP_ROLE_NONE for any other text. */
enum http_role tokens_role_parse(const char *text);
const char *tokens_role_name(enum http_role role);

/*
 * The tokens of directory `dir`, in the order in which they were made; none where there is no file. Returns
 * a GPtrArray of struct token, or NULL with `error` (TOKENS_ERROR_FILE).
 */
GPtrArray *tokens_list(const char *dir, GError **error);

/*
 * Makes a token for the account `user` of this machine, good for `lifetime_s` seconds (INFINITY: for
 * ever). Returns the secret, which the caller wipes and frees, and nobody can have again; *ret_token is what
 * was written down. NULL with `error`.
 */
char *tokens_create(const char *dir, enum http_role role, const char *user, double lifetime_s,
		    struct token **ret_token, GError **error);

/* Takes a token back, at once. False with `error`: TOKENS_ERROR_INPUT if there is none of that id. */
bool tokens_revoke(const char *dir, const char *id, GError **error);

/* Overwrites a secret and frees it; NULL is allowed. */
void tokens_wipe(char *secret);

/* The first token of the list whose secret this is, expired or not; NULL: none. Takes the same time for all. */
const struct token *tokens_find(const GPtrArray *tokens, const char *secret);
