/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <stdint.h>

#include "common/http_server.h"

/* A token as it is recorded (see tokens.h), the names of roles, and the error domain. */

/* The file of a directory that holds its tokens. */
#define TOKENS_FILE "tokens.json"

/* The most tokens of a directory: each request is compared with all of them. */
#define TOKENS_MAX 10000

#define TOKEN_ERROR (token_error_quark())
GQuark token_error_quark(void);
enum token_error {
	TOKEN_ERROR_FILE = 1, /* the file or its directory cannot be used; the message says why */
	TOKEN_ERROR_INPUT,    /* an argument is wrong, such as an unknown user or id */
};

/* A token, as it is recorded. */
struct token {
	char *id;     /* 8 hexadecimal digits by which people name it; independent of the secret */
	char *sha256; /* of the whole secret with its prefix, 64 lower-case hexadecimal digits */
	enum http_role role; /* viewer, user or operator */
	char *user;          /* name of the account when the token was made, for people */
	int64_t uid;         /* of that account: its tasks are the token's own */
	int64_t created_s;   /* UTC, seconds since 1970 */
	int64_t expires_s; /* UTC, seconds since 1970, the end of its validity; INT64_MAX: never */
};

/* Frees a token; NULL is allowed. */
void token_free(struct token *token);
typedef struct token token_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(token_t, token_free)

/* "viewer", "user", "operator"; HTTP_ROLE_NONE for any other text. */
enum http_role token_role_parse(const char *text);
const char *token_role_name(enum http_role role);
