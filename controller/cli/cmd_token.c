/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/json.h"
#include "common/read_number.h"
#include "controller/access/tokens.h"
#include "controller/cli/client.h"
#include "controller/cli/commands.h"
#include "controller/cli/fields.h"
#include "controller/cli/tables.h"
#include "controller/run/run_paths.h"
#include "controller/store/store.h"

/*
 * `virtbed token`: makes, lists and revokes the tokens that authenticate users of a controller over
 * TCP. It works on the file in the state directory of the controller that the other commands would
 * find, whether that controller runs or not.
 */

#define LIFETIME "90d"

struct arguments {
	const struct client *client;
	const char *state; /* the state directory */
	const char *role, *user, *expires;
};

static int report_failure(const struct client *client, const GError *error)
{
	const bool bad = g_error_matches(error, TOKEN_ERROR, TOKEN_ERROR_INPUT);

	return command_fail(bad ? COMMAND_BAD : COMMAND_FAILED, client->name, "%s", error->message);
}

/* Finding the directory. */

/*
 * Whether a service was ever started in the directory; without this file it may be that of labs or
 * of a package.
 */
static bool was_served(const char *dir)
{
	g_autofree char *plan = g_build_filename(dir, "plan.json", NULL);
	g_autofree char *store = g_build_filename(dir, STORE_FILE, NULL);

	return g_file_test(plan, G_FILE_TEST_EXISTS) || g_file_test(store, G_FILE_TEST_EXISTS);
}

/*
 * Asks the controller at a socket for its state directory. It answers only its own user and root;
 * others get `otherwise`, or NULL. NULL after it printed why, with client->status.
 */
static char *ask_directory(struct client *client, const char *otherwise)
{
	g_autoptr(json_t) status = NULL;
	const char *directory;

	if (client_open(client))
		status = client_get(client, "/v1/status?after=1000000000000000");
	if (!status)
		return NULL;
	directory = field_text(status, "directory") ?: otherwise;
	if (!directory)
		client->status = command_fail(
			COMMAND_BAD, client->name,
			"the tokens of the controller at %s are for its operator to make",
			client->address);
	return g_strdup(directory);
}

/*
 * Returns the state directory: that of the controller found, or else of a service that may not run
 * now. NULL after it printed why, with client->status.
 */
static char *find_directory(struct client *client)
{
	g_autofree char *state = run_paths_service_state();
	const bool served = was_served(state);
	g_autoptr(GError) error = NULL;
	g_autofree char *address = NULL;

	client->status = COMMAND_BAD;
	if (client->dir && !client->uri)
		return g_strdup(client->dir);
	if (client->dir) {
		command_fail(COMMAND_BAD, client->name, "give --uri or --state, not both");
		return NULL;
	}
	address = client_find_address(client->uri, NULL, &error);
	if (!address && served)
		return g_steal_pointer(&state);
	if (!address) {
		command_fail(COMMAND_BAD, client->name, "%s", error->message);
	} else if (!g_str_has_prefix(address, "unix:")) {
		command_fail(
			COMMAND_BAD, client->name,
			"the directory of the controller at %s is on its machine; name it there with --state",
			address);
	} else {
		client->uri = g_intern_string(address);
		return ask_directory(client, served ? state : NULL);
	}
	return NULL;
}

static char *time_text(int64_t time_s)
{
	g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(time_s);

	return time ? g_date_time_format(time, "%Y-%m-%dT%H:%M:%SZ") : NULL;
}

static json_t *token_json(const struct token *token)
{
	g_autofree char *created = time_text(token->created_s);
	g_autofree char *expires = time_text(token->expires_s);

	return json_pack("{s:s, s:s, s:s, s:I, s:s?, s:s?, s:b}", "id", token->id, "role",
			 token_role_name(token->role), "user", token->user, "uid",
			 (json_int_t)token->uid, "created_utc", created, "expires_utc", expires,
			 "expired", token->expires_s <= g_get_real_time() / G_USEC_PER_SEC);
}

/* Prints only the secret to standard output, so that it can be redirected to a file. */
static void print_new(const struct client *client, const struct token *token, const char *secret)
{
	g_autofree char *expires = time_text(token->expires_s);
	g_autoptr(json_t) document = token_json(token);

	if (client->json) {
		json_object_set_new(document, "token", json_string(secret));
		command_print_json(document);
		return;
	}
	puts(secret);
	fflush(stdout);
	fprintf(stderr, "%s: token %s: %s, role %s, good %s%s; it is not shown again\n",
		client->name, token->id, token->user, token_role_name(token->role),
		expires ? "until " : "for ever", expires ?: "");
}

/* Warns of a token for root, which root may have made by mistake. */
static void warn_of_root(const struct client *client, const struct token *token)
{
	if (token->uid == 0 && token->role != HTTP_ROLE_VIEWER)
		fprintf(stderr,
			"%s: warning: it acts for root: what is submitted with it runs as root in its "
			"VMs; --user NAME makes one for another account\n",
			client->name);
}

static int create(const struct arguments *arguments, char **words)
{
	const struct client *client = arguments->client;
	const enum http_role role = token_role_parse(arguments->role ?: "user");
	const char *lifetime = arguments->expires ?: LIFETIME;
	g_autoptr(GError) error = NULL;
	g_autoptr(token_t) token = NULL;
	double lifetime_s = (double)INFINITY;
	char *secret;

	if (*words)
		return command_fail(COMMAND_BAD, client->name,
				    "\"%s\": nothing more is needed; try --help", *words);
	if (role == HTTP_ROLE_NONE)
		return command_fail(COMMAND_BAD, client->name,
				    "--role: '%s' is not one of viewer, user, operator",
				    arguments->role);
	if (strcmp(lifetime, "never") != 0 &&
	    (!read_number_duration(lifetime, &lifetime_s) || lifetime_s < 1))
		return command_fail(
			COMMAND_BAD, client->name,
			"--expires: '%s' is neither a time such as 90d or 12h nor never", lifetime);
	secret = tokens_create(arguments->state, role, arguments->user ?: g_get_user_name(),
			       lifetime_s, &token, &error);
	if (!secret)
		return report_failure(client, error);
	print_new(client, token, secret);
	warn_of_root(client, token);
	tokens_wipe(secret);
	return COMMAND_DONE;
}

static void fill_expires(struct table *table, const json_t *token, const json_t *document)
{
	const bool expired = json_is_true(json_object_get(token, "expired"));

	table_textf(table, "%s%s", field_text(token, "expires_utc") ?: "never",
		    expired ? " (expired)" : "");
}

static struct table *table_of_tokens(const json_t *document)
{
	static const struct tables_column columns[] = {
		{"<token", "id"},
		{"<role", "role"},
		{"<user", "user"},
		{"<created", "created_utc"},
		{"<expires", .fill = fill_expires},
	};

	return table_of_rows(columns, G_N_ELEMENTS(columns), document, "tokens");
}

static int list_tokens(const struct arguments *arguments, char **words)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) tokens = tokens_list(arguments->state, &error);
	g_autoptr(json_t) document = json_pack("{s:[]}", "tokens");

	if (!tokens)
		return report_failure(arguments->client, error);
	for (guint i = 0; i < tokens->len; i++)
		json_array_append_new(json_object_get(document, "tokens"),
				      token_json(tokens->pdata[i]));
	return client_print(arguments->client, document, table_of_tokens);
}

static int revoke_some(const struct arguments *arguments, char **words)
{
	const struct client *client = arguments->client;
	g_autoptr(GPtrArray) tokens = tokens_list(arguments->state, NULL);
	g_autoptr(json_t) revoked = json_array();
	int status = COMMAND_DONE;

	if (!*words)
		return command_fail(COMMAND_BAD, client->name,
				    "which token? `virtbed token list` shows them");
	for (; *words; words++) {
		g_autoptr(GError) error = NULL;

		if (!tokens_revoke(arguments->state, *words, &error))
			status = report_failure(client, error);
		else if (!client->json)
			printf("%s is revoked\n", *words);
		for (guint i = 0; !error && tokens && i < tokens->len; i++)
			if (g_str_equal(((struct token *)tokens->pdata[i])->id, *words))
				json_array_append_new(revoked, token_json(tokens->pdata[i]));
	}
	client_print_list(client, "tokens", revoked);
	return status;
}

static const struct {
	const char *word;
	int (*act)(const struct arguments *arguments, char **words);
} acts[] = {
	{"create", create},
	{"list", list_tokens},
	{"revoke", revoke_some},
};

int cmd_token(int argc, char **argv)
{
	g_auto(client_t) client = {.name = argv[0]};
	struct arguments arguments = {.client = &client};
	const struct command_option options[] = {
		{"state", 0, COMMAND_FILE, &client.dir,
		 "The same as --run; it need not be under way", "DIR"},
		{"role", 0, COMMAND_TEXT, &arguments.role, "viewer, user (default) or operator",
		 "ROLE"},
		{"user", 0, COMMAND_TEXT, &arguments.user,
		 "Account that it acts for (default: yours)", "NAME"},
		{"expires", 0, COMMAND_TEXT, &arguments.expires,
		 "How long it is good (default: " LIFETIME ")", "TIME|never"},
		{NULL},
	};
	g_autofree char *state = NULL;

	if (!client_parse(
		    &client, &argc, &argv,
		    "create|list|revoke [TOKEN...] - tokens for users of a controller over TCP",
		    "create prints a new token, once: only its hash is kept. A client with it may do\n"
		    "what the role allows, as that user. The controller need not be restarted.",
		    options))
		return COMMAND_BAD;
	if (argc > 1 && (arguments.role || arguments.user || arguments.expires) &&
	    strcmp(argv[1], "create") != 0)
		return command_fail(COMMAND_BAD, client.name,
				    "--role, --user and --expires are for \"create\"");
	for (gsize i = 0; argc > 1 && i < G_N_ELEMENTS(acts); i++) {
		if (strcmp(argv[1], acts[i].word) != 0)
			continue;
		arguments.state = state = find_directory(&client);
		return state ? acts[i].act(&arguments, argv + 2) : client.status;
	}
	return command_fail(COMMAND_BAD, client.name,
			    "give create, list or revoke; try: virtbed token --help");
}
