/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/access/tokens.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/error_fail.h"
#include "controller/access/token_file.h"

#define SECRET_BYTES 32
#define ID_BYTES 4

/* A longer lifetime counts as unlimited. */
#define LIFETIME_MAX_S 3e9

void tokens_wipe(char *secret)
{
	if (secret)
		explicit_bzero(secret, strlen(secret));
	g_free(secret);
}

static char *hash(const char *secret)
{
	return g_compute_checksum_for_string(G_CHECKSUM_SHA256, secret, -1);
}

/* Compares two hashes of 64 characters in constant time. */
static bool is_same(const char *a, const char *b)
{
	unsigned char differ = 0;

	for (int i = 0; i < 64; i++)
		differ |= (unsigned char)(a[i] ^ b[i]);
	return differ == 0;
}

const struct token *tokens_find(const GPtrArray *tokens, const char *secret)
{
	g_autofree char *wanted = hash(secret);
	const struct token *found = NULL;

	for (guint i = 0; i < tokens->len; i++) {
		const struct token *token = g_ptr_array_index(tokens, i);

		if (is_same(token->sha256, wanted) && !found)
			found = token;
	}
	return found;
}

static bool draw_bytes(void *bytes, size_t length, GError **error)
{
	if (getentropy(bytes, length) == 0)
		return true;
	return error_fail(error, TOKEN_ERROR, TOKEN_ERROR_FILE,
			  "the kernel gives no random numbers: %s", g_strerror(errno));
}

/* Makes a secret: the prefix and 43 characters that are safe in headers, files and shells. */
static char *draw_secret(GError **error)
{
	guchar bytes[SECRET_BYTES];
	g_autofree char *text = NULL;
	char *secret;

	if (!draw_bytes(bytes, sizeof(bytes), error))
		return NULL;
	text = g_base64_encode(bytes, sizeof(bytes));
	explicit_bzero(bytes, sizeof(bytes));
	text[strcspn(text, "=")] = '\0';
	secret = g_strconcat(TOKENS_PREFIX, g_strdelimit(g_strdelimit(text, "+", '-'), "/", '_'),
			     NULL);
	explicit_bzero(text, strlen(text));
	return secret;
}

static char *draw_id(GError **error)
{
	guchar bytes[ID_BYTES];

	if (!draw_bytes(bytes, sizeof(bytes), error))
		return NULL;
	return g_strdup_printf("%02x%02x%02x%02x", bytes[0], bytes[1], bytes[2], bytes[3]);
}

/* Makes a token without a secret; NULL with `error`. */
static struct token *new_token(enum http_role role, const char *user, double lifetime_s,
			       GError **error)
{
	const struct passwd *account = getpwnam(user);
	g_autoptr(token_t) token = NULL;

	if (!account)
		return error_null(error, TOKEN_ERROR, TOKEN_ERROR_INPUT,
				  "this machine has no user '%s'; a token acts for a "
				  "user of this machine, and tasks submitted with it are theirs",
				  user);
	token = g_new0(struct token, 1);
	token->id = draw_id(error);
	token->role = role;
	token->user = g_strdup(account->pw_name);
	token->uid = account->pw_uid;
	token->created_s = g_get_real_time() / G_USEC_PER_SEC;
	token->expires_s =
		lifetime_s < LIFETIME_MAX_S ? token->created_s + (int64_t)lifetime_s : INT64_MAX;
	return token->id ? g_steal_pointer(&token) : NULL;
}

GPtrArray *tokens_list(const char *dir, GError **error)
{
	g_auto(file_t) fd = token_file_open_dir(dir, false, error);

	return token_file_read(fd, dir, error);
}

/* Adds the token (borrowed) to the file. */
static bool add_to_file(const char *dir, struct token *token, GError **error)
{
	g_auto(file_t) fd = token_file_open_dir(dir, true, error);
	g_autoptr(GPtrArray) tokens = token_file_read(fd, dir, error);
	bool written;

	if (!tokens)
		return false;
	if (tokens->len == TOKENS_MAX)
		return error_fail(error, TOKEN_ERROR, TOKEN_ERROR_INPUT,
				  "there are %d tokens, as many as can be; revoke some",
				  TOKENS_MAX);
	g_ptr_array_add(tokens, token);
	written = token_file_write(fd, dir, tokens, error);
	g_ptr_array_steal_index(tokens, tokens->len - 1);
	return written;
}

char *tokens_create(const char *dir, enum http_role role, const char *user, double lifetime_s,
		    struct token **ret_token, GError **error)
{
	g_autoptr(token_t) token = new_token(role, user, lifetime_s, error);
	char *secret = token ? draw_secret(error) : NULL;

	if (!secret)
		return NULL;
	token->sha256 = hash(secret);
	if (add_to_file(dir, token, error))
		*ret_token = g_steal_pointer(&token);
	else
		g_clear_pointer(&secret, tokens_wipe);
	return secret;
}

bool tokens_revoke(const char *dir, const char *id, GError **error)
{
	g_auto(file_t) fd = token_file_open_dir(dir, true, error);
	g_autoptr(GPtrArray) tokens = token_file_read(fd, dir, error);

	for (guint i = 0; tokens && i < tokens->len; i++)
		if (g_str_equal(((struct token *)g_ptr_array_index(tokens, i))->id, id)) {
			g_ptr_array_remove_index(tokens, i);
			return token_file_write(fd, dir, tokens, error);
		}
	if (tokens)
		g_set_error(error, TOKEN_ERROR, TOKEN_ERROR_INPUT,
			    "there is no token '%.32s' in '%s'; `virtbed token list` shows them",
			    id, dir);
	return false;
}
