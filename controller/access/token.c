/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/access/token.h"

G_DEFINE_QUARK(virtbed_token_error, token_error)

static const char *const role_names[] = {
	[HTTP_ROLE_VIEWER] = "viewer",
	[HTTP_ROLE_USER] = "user",
	[HTTP_ROLE_OPERATOR] = "operator",
};

void token_free(struct token *token)
{
	if (!token)
		return;
	g_free(token->id);
	g_free(token->sha256);
	g_free(token->user);
	g_free(token);
}

enum http_role token_role_parse(const char *text)
{
	for (enum http_role role = HTTP_ROLE_VIEWER; role <= HTTP_ROLE_OPERATOR; role++)
		if (g_str_equal(text, role_names[role]))
			return role;
	return HTTP_ROLE_NONE;
}

const char *token_role_name(enum http_role role)
{
	return role_names[role];
}
