/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/client.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <gio/gunixsocketaddress.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error_fail.h"
#include "common/json.h"
#include "common/read_file.h"
#include "common/read_number.h"
#include "controller/cli/command.h"
#include "controller/cli/fields.h"
#include "controller/run/run_api.h"
#include "controller/run/run_paths.h"
#include "controller/run/run_plan.h"

/* Used unless VIRTBED_TIMEOUT is set. */
#define ASK_TIMEOUT_S 30.0

/*
 * The HTTP status of a controller that limits the rate of requests, and how often the client
 * retries.
 */
#define TOO_MANY 429
#define AGAIN_MAX 30

/* The most tasks of one command; more is taken for a mistyped range. */
#define TASKS_NAMED_MAX 1000000

/* More than any token and the newline after it. */
#define TOKEN_FILE_MAX 256

/* Which controller. */

/*
 * Returns the address of a run directory's controller, which is its socket. Another address in the
 * directory is ignored: its author would get the token of any user who only inspects the directory.
 */
static char *address_of(const char *dir, GError **error)
{
	g_autoptr(run_plan_t) plan = run_plan_load(dir, error);

	if (!plan)
		return NULL;
	if (g_str_has_prefix(plan->api, "unix:"))
		return g_strdup(plan->api);
	return error_null(
		error, RUN_PLAN_ERROR, RUN_PLAN_ERROR_READ,
		"%s/plan.json: api: \"%s\" is no socket, as a run's controller has; if you trust "
		"it, give that address with --uri",
		dir, plan->api);
}

/* The run directory under runs/ with the latest plan of this user, or NULL. */
static char *latest_dir(void)
{
	g_autoptr(GDir) dir = g_dir_open("runs", 0, NULL);
	g_autofree char *latest = NULL;
	const char *entry;
	gint64 latest_s = -1;

	while (dir && (entry = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename("runs", entry, NULL);
		g_autofree char *plan = g_build_filename(path, "plan.json", NULL);
		GStatBuf about;

		if (g_stat(plan, &about) < 0 || about.st_uid != geteuid() ||
		    (gint64)about.st_mtime <= latest_s)
			continue;
		latest_s = (gint64)about.st_mtime;
		g_free(latest);
		latest = g_steal_pointer(&path);
	}
	return g_steal_pointer(&latest);
}

/* Whether a process listens on a socket and accepts this user's connection. */
static bool is_there(const char *address, GError **error)
{
	g_autoptr(GSocketClient) client = g_socket_client_new();
	g_autoptr(GSocketAddress) socket = g_unix_socket_address_new(address + strlen("unix:"));
	g_autoptr(GSocketConnection) connection = NULL;

	connection = g_socket_client_connect(client, G_SOCKET_CONNECTABLE(socket), NULL, error);
	return connection != NULL;
}

/*
 * The address of the latest run under runs/; NULL with `error` where that run is over or its
 * directory is broken.
 */
static char *latest_address(GError **error)
{
	g_autofree char *dir = latest_dir();
	g_autofree char *address = NULL;

	if (!dir)
		return error_null(
			error, RUN_PLAN_ERROR, RUN_PLAN_ERROR_READ,
			"which controller? there is no run of yours under runs/ and no service on "
			"this machine (`virtbed serve` is one); name its directory with --run, or "
			"its address with --uri");
	address = address_of(dir, error);
	if (!address)
		return NULL;
	if (is_there(address, NULL))
		return g_steal_pointer(&address);
	return error_null(
		error, RUN_PLAN_ERROR, RUN_PLAN_ERROR_READ,
		"the latest run, %s, is not under way, and there is no service on this machine; "
		"name a directory with --run, or an address with --uri",
		dir);
}

/*
 * The last address of the service of this user whose state is in the default directory, or NULL.
 * The service may listen elsewhere than at its default address, which differs from session to
 * session.
 */
static char *recorded_address(void)
{
	g_autofree char *state = run_paths_service_state();
	g_autofree char *plan = g_build_filename(state, "plan.json", NULL);
	g_autofree char *address = NULL;
	GStatBuf about;

	if (g_stat(plan, &about) < 0 || about.st_uid != geteuid())
		return NULL;
	address = address_of(state, NULL);
	if (!address || g_stat(address + strlen("unix:"), &about) < 0 || about.st_uid != geteuid())
		return NULL;
	return g_steal_pointer(&address);
}

/*
 * The address of a service of this user, or of this machine. NULL where there is none: `error` is
 * left as it is, or replaced if a service exists that only others may use.
 */
static char *service_address(GError **error)
{
	g_auto(GStrv) addresses = run_paths_service_addresses();
	g_autofree char *recorded = recorded_address();
	/* the first service that refuses this user; a later one may accept */
	g_autoptr(GError) closed = NULL;

	if (recorded && is_there(recorded, NULL))
		return g_steal_pointer(&recorded);
	for (char **address = addresses; *address; address++) {
		g_autoptr(GError) reason = NULL;

		if (is_there(*address, &reason))
			return g_strdup(*address);
		if (!closed && g_error_matches(reason, G_IO_ERROR, G_IO_ERROR_PERMISSION_DENIED))
			g_set_error(
				&closed, RUN_PLAN_ERROR, RUN_PLAN_ERROR_READ,
				"which controller? there is no run of yours under way, and if there is a "
				"service at %s, it is not open to you: its operator can share it with a "
				"group that you are in (`group` of its `service:`)",
				*address);
	}
	if (closed) {
		g_clear_error(error);
		g_propagate_error(error, g_steal_pointer(&closed));
	}
	return NULL;
}

char *client_find_address(const char *uri, const char *dir, GError **error)
{
	const char *given = g_getenv("VIRTBED_URI");
	g_autoptr(GError) reason = NULL;
	char *address;

	if (uri)
		return g_strdup(uri);
	if (dir)
		return address_of(dir, error);
	if (given && *given)
		return g_strdup(given);
	address = latest_address(&reason);
	if (!address)
		address = service_address(&reason);
	if (!address)
		g_propagate_error(error, g_steal_pointer(&reason));
	return address;
}

/*
 * The token that commands present to a controller over TCP. It comes from a file that only its
 * owner can read: $VIRTBED_TOKEN_FILE, or virtbed/token in the user's directory for configuration.
 * It is not taken from the command line, which every user of the machine can read.
 */

#define fail_token(error_, ...) error_fail(error_, G_FILE_ERROR, G_FILE_ERROR_FAILED, __VA_ARGS__)

/* Reads at most `size` - 1 bytes; false with `error`: the file is not private, or too long. */
static bool read_private(int fd, const char *path, char *buffer, size_t size, GError **error)
{
	struct stat status;
	ssize_t length;

	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return fail_token(error, "'%s' is no file", path);
	if (status.st_mode & 0077)
		return fail_token(error,
				  "others can read the token in '%s'; chmod 600 it, and have the "
				  "token replaced if they did",
				  path);
	length = read(fd, buffer, size - 1);
	if (length < 0)
		return fail_token(error, "cannot read '%s': %s", path, g_strerror(errno));
	buffer[length] = '\0';
	return true;
}

static bool read_token_file(const char *path, bool needed, char **ret_token, GError **error)
{
	char text[TOKEN_FILE_MAX];
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool good;

	if (fd < 0 && errno == ENOENT && !needed)
		return true;
	if (fd < 0)
		return fail_token(error, "cannot open the file '%s' of the token: %s", path,
				  g_strerror(errno));
	good = read_private(fd, path, text, sizeof(text), error);
	close(fd);
	if (!good)
		return false;
	g_strstrip(text);
	good = *text &&
	       strspn(text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_.~+/=") == strlen(text);
	if (good)
		*ret_token = g_strdup(text);
	explicit_bzero(text, sizeof(text));
	return good || fail_token(error,
				  "'%s' holds no token: one line, as `virtbed token create` prints "
				  "it",
				  path);
}

/*
 * Reads the token for the controller at `address`. *ret_token is NULL on a Unix socket, which needs
 * none, and where there is no file. Returns false with `error` (G_FILE_ERROR): others can read the
 * file, or it holds no token. The caller wipes and frees *ret_token. The client makes sure that the
 * token is not sent unencrypted (http_client_check_address()).
 */
static bool read_token(const char *address, char **ret_token, GError **error)
{
	const char *given = g_getenv("VIRTBED_TOKEN_FILE");
	const bool needed = given && *given;
	g_autofree char *path =
		needed ? g_strdup(given)
		       : g_build_filename(g_get_user_config_dir(), "virtbed", "token", NULL);

	*ret_token = NULL;
	return g_str_has_prefix(address, "unix:") ||
	       read_token_file(path, needed, ret_token, error);
}

/* The client. */

void client_clear(struct client *client)
{
	http_client_free(client->http);
	g_free(client->address);
}

bool client_parse(struct client *client, int *argc, char ***argv, const char *usage,
		  const char *summary, const struct command_option *options)
{
	const struct command_option shared[] = {
		{"uri", 0, COMMAND_TEXT, &client->uri,
		 "Address of the controller (default: $VIRTBED_URI, the run's, the service's)",
		 "unix:PATH|http://HOST:PORT"},
		{"run", 0, COMMAND_FILE, &client->dir,
		 "Directory of the run or service (default: the latest under runs/)", "DIR"},
		{"json", 0, COMMAND_FLAG, &client->json, "One JSON document"},
		/* The former name of --uri. */
		{"at", 0, COMMAND_TEXT, &client->uri},
	};
	g_autoptr(GArray) all = g_array_new(TRUE, FALSE, sizeof(struct command_option));
	bool other_at = false;

	for (; options && options->name; options++) {
		other_at = other_at || g_str_equal(options->name, "at");
		g_array_append_val(all, *options);
	}
	g_array_append_vals(all, shared, G_N_ELEMENTS(shared) - other_at);
	return command_parse(argc, argv, usage, summary,
			     (const struct command_option *)(void *)all->data);
}

/* Overwrites a secret and frees it. */
static void wipe(char *secret)
{
	if (secret)
		explicit_bzero(secret, strlen(secret));
	g_free(secret);
}

/*
 * Authenticates the client over TCP by its token or certificate; on a Unix socket the kernel does
 * so.
 */
static bool identify(struct client *client, GError **error)
{
	const char *ca_file = g_getenv("VIRTBED_CA_FILE");
	struct http_client_identity identity = {.ca_file = ca_file && *ca_file ? ca_file : NULL};
	char *header = NULL;
	char *token;

	if (identity.ca_file && !read_file_check(identity.ca_file, READ_FILE_SMALL_MAX, error)) {
		g_prefix_error(error, "VIRTBED_CA_FILE: ");
		return false;
	}
	if (!read_token(client->address, &token, error))
		return false;
	if (token)
		header = g_strconcat("Authorization: Bearer ", token, NULL);
	identity.header = header;
	http_client_identify(client->http, &identity);
	wipe(header);
	wipe(token);
	return true;
}

bool client_open(struct client *client)
{
	g_autoptr(GError) error = NULL;

	client->status = COMMAND_BAD;
	if (client->uri && client->dir)
		return client_refuse(client, "give --uri or --run, not both");
	client->address = client_find_address(client->uri, client->dir, &error);
	if (client->address && http_client_timeout(ASK_TIMEOUT_S, &client->timeout_s, &error))
		client->http = http_client_new(&platform_machine, client->address, &error);
	if (client->http && identify(client, &error)) {
		http_client_expect(client->http, run_api);
		return true;
	}
	return client_refuse(client, "%s", error->message);
}

/* Requests. */

json_t *client_ask(struct client *client, const char *method, const char *path, json_t *body,
		   int *ret_status, GError **error)
{
	g_autoptr(json_t) empty = !body && g_str_equal(method, "POST") ? json_object() : NULL;

	for (int i = 0;; i++) {
		json_t *answer = http_client_ask(client->http, method, path, body ?: empty,
						 client->timeout_s, ret_status, error);

		if (*ret_status != TOO_MANY || i == AGAIN_MAX)
			return answer;
		/*
		 * The controller refused without side effects, and accepts again within a second.
		 */
		g_clear_error(error);
		client_pause(1000);
	}
}

/* Strips the address from a message that already names it. */
static const char *without_address(const struct client *client, const char *message)
{
	const size_t length = strlen(client->address);

	return g_str_has_prefix(message, client->address) &&
			       g_str_has_prefix(message + length, ": ")
		       ? message + length + strlen(": ")
		       : message;
}

const char *client_reason(const struct client *client, int http_status, const GError *error)
{
	g_autofree char *mark = g_strdup_printf("status %d: ", http_status);
	const char *said = without_address(client, error->message);

	return g_str_has_prefix(said, mark) ? said + strlen(mark) : said;
}

int client_fail(struct client *client, int http_status, const GError *error)
{
	const bool stranger = g_error_matches(error, HTTP_ERROR, HTTP_ERROR_BODY);

	client->lost = http_status == 0 || stranger;
	client->status = !stranger && (http_status == 400 || http_status == 404) ? COMMAND_BAD
										 : COMMAND_FAILED;
	if (http_status == 401)
		return command_fail(
			COMMAND_FAILED, client->name,
			"the controller at %s wants a token: write yours into a file that only "
			"you can read, and its name into VIRTBED_TOKEN_FILE",
			client->address);
	if (http_status == 0)
		return command_fail(client->status, client->name,
				    "the controller at %s gives no answer (is it running?): %s",
				    client->address, without_address(client, error->message));
	if (stranger)
		return command_fail(
			client->status, client->name,
			"what answers at %s does not answer as a controller (is that its address?): %s",
			client->address, without_address(client, error->message));
	return command_fail(client->status, client->name, "%s",
			    client_reason(client, http_status, error));
}

static json_t *ask_or_tell(struct client *client, const char *method, const char *path,
			   json_t *body)
{
	g_autoptr(GError) error = NULL;
	int status;
	json_t *answer = client_ask(client, method, path, body, &status, &error);

	if (!answer)
		client_fail(client, status, error);
	return answer;
}

json_t *client_get(struct client *client, const char *path)
{
	return ask_or_tell(client, "GET", path, NULL);
}

json_t *client_post(struct client *client, const char *path, json_t *body)
{
	return ask_or_tell(client, "POST", path, body);
}

bool client_asks_again(const struct client *client, int http_status, int64_t since_ns, double times)
{
	return (http_status == 0 || http_status == 503) &&
	       clock_elapsed_s(since_ns, clock_now_ns()) < times * client->timeout_s;
}

int client_fail_task(const struct client *client, const json_t *task, const char *more)
{
	g_autofree char *reason = field_line(task, "reason");
	const bool reasoned = field_text(task, "reason");

	return command_fail(COMMAND_FAILED, client->name,
			    "task %" JSON_INTEGER_FORMAT " did not complete: %s%s%s%s",
			    field_integer(task, "task"), field_text(task, "state") ?: "?",
			    reasoned ? ": " : "", reasoned ? reason : "", more ?: "");
}

static gboolean time_is_up(gpointer data)
{
	*(bool *)data = true;
	return G_SOURCE_REMOVE;
}

void client_pause(guint ms)
{
	bool up = false;

	g_timeout_add(ms, time_is_up, &up);
	while (!up)
		g_main_context_iteration(NULL, TRUE);
}

int client_print(const struct client *client, const json_t *document,
		 struct table *(*table_of)(const json_t *document))
{
	g_autoptr(table_t) table = NULL;

	if (!document)
		return client->status;
	if (client->json) {
		command_print_json(document);
		return COMMAND_DONE;
	}
	table = table_of(document);
	table_print(table, 0, stdout);
	return COMMAND_DONE;
}

void client_print_list(const struct client *client, const char *key, const json_t *answers)
{
	g_autoptr(json_t) document = json_pack("{s:O}", key, answers);

	if (client->json)
		command_print_json(document);
}

void client_print_tasks(const struct client *client, const json_t *answers)
{
	if (client->several)
		client_print_list(client, "tasks", answers);
	else if (client->json && json_array_size(answers) > 0)
		command_print_json(json_array_get(answers, 0));
}

/* Task numbers. */

bool client_read_range(const char *word, guint64 max, guint64 *ret_first, guint64 *ret_last)
{
	g_auto(GStrv) ends = g_strsplit(word, "-", 2);
	guint64 first;

	if (!ends[0] || !read_number_unsigned(ends[0], 0, max, &first))
		return false;
	*ret_first = *ret_last = first;
	return !ends[1] || read_number_unsigned(ends[1], first, max, ret_last);
}

/*
 * Adds the tasks of "7", "3-5" or "3,5-7" that are not in `known`; false after the error was
 * printed.
 */
static bool add_numbers(struct client *client, const char *word, GHashTable *known, GArray *numbers)
{
	g_auto(GStrv) parts = g_strsplit(word, ",", -1);

	for (char **part = parts; *part; part++) {
		guint64 first, last;

		if (!client_read_range(*part, G_MAXUINT32, &first, &last))
			return client_refuse(
				client,
				"\"%s\" names no task: give a number, as `virtbed queue` "
				"lists them, or several such as 3,5-7",
				word);
		if (last - first >= TASKS_NAMED_MAX - numbers->len)
			return client_refuse(client, "\"%s\" names too many tasks", word);
		for (; first <= last; first++)
			if (g_hash_table_add(known, GSIZE_TO_POINTER((gsize)first)))
				g_array_append_val(numbers, first);
	}
	return true;
}

GArray *client_task_numbers(struct client *client, char *const *words)
{
	g_autoptr(GHashTable) known = g_hash_table_new(NULL, NULL);
	g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(guint64));

	client->status = COMMAND_BAD;
	client->several = *words && (words[1] || strpbrk(*words, ",-"));
	for (; *words; words++)
		if (!add_numbers(client, *words, known, numbers))
			return NULL;
	if (numbers->len > 0)
		return g_steal_pointer(&numbers);
	command_fail(COMMAND_BAD, client->name, "which TASK? give its number; try --help");
	return NULL;
}

bool client_open_for_task(struct client *client, char *const *words, guint64 *ret_number)
{
	g_autoptr(GArray) numbers = client_task_numbers(client, words);

	if (!numbers)
		return false;
	if (numbers->len > 1)
		return client_refuse(client, "give one TASK");
	*ret_number = g_array_index(numbers, guint64, 0);
	return client_open(client);
}
