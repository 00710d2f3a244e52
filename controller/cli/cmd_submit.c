/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/cmd_submit.h"

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/error_fail.h"
#include "common/json.h"
#include "common/number_option.h"
#include "common/read_number.h"
#include "controller/cli/client.h"
#include "controller/cli/commands.h"
#include "controller/cli/fields.h"
#include "controller/cli/script_files.h"
#include "controller/cli/task_wait.h"
#include "controller/run/run_service_check.h"

/*
 * `virtbed submit`: submits tasks to a service. Each submission has a key, given by the user or
 * random, under which the controller accepts it once. A request whose answer was lost is sent again
 * under the same key.
 */

/* How long a request is repeated, in timeouts for an answer: a minute, by default. */
#define AGAIN_TIMES 2
#define AGAIN_EVERY_MS 500

#define FOR_SCRIPTS "--time, --cores, --nodes, --stage-in and --stage-out are for a --script"

/* The body. */

G_DEFINE_QUARK(virtbed_submission, submission_error)

static bool fail_option(GError **error, const char *words)
{
	return error_fail(error, SUBMISSION_ERROR, SUBMISSION_ERROR_OPTION, "%s", words);
}

/* What an option is in the body. */
struct row {
	const char *key;
	const char *option;
	int64_t min, max; /* of a whole number; both 0: it is a time span */
};

/* Texts and the utility are not in it. In the order in which they are checked. */
static const struct row rows[SUBMISSION_OPTIONS] = {
	[SUBMISSION_COUNT] = {"count", "--count", 1, SUBMISSION_COUNT_MAX},
	[SUBMISSION_ARRAY] = {"count", "--array", 1, SUBMISSION_COUNT_MAX},
	[SUBMISSION_PRIORITY] = {"priority", "--priority", INT32_MIN, INT32_MAX},
	[SUBMISSION_CONSTANT] = {"constant_s", "--constant"},
	[SUBMISSION_ZERO_AT] = {"zero_s", "--zero-at"},
	[SUBMISSION_DEADLINE] = {"deadline_s", "--deadline"},
	[SUBMISSION_CORES] = {"cores", "--cores", 1, INT32_MAX},
	[SUBMISSION_NODES] = {"nodes", "--nodes", 1, INT32_MAX},
	[SUBMISSION_TIME] = {"time_s", "--time"},
};

static json_t *read_duration(const char *option, const char *text, GError **error)
{
	double seconds;

	if (read_number_duration(text, &seconds) && seconds > 0)
		return json_real(seconds);
	error_fail(error, SUBMISSION_ERROR, SUBMISSION_ERROR_OPTION,
		   "%s: \"%s\" is no time span above 0; write 90s, 10m or 1h30m", option, text);
	return NULL;
}

/* Sets the numbers and time spans that were given. */
static bool set_numbers(json_t *body, const char *const *typed, GError **error)
{
	for (int i = 0; i < SUBMISSION_OPTIONS; i++) {
		const struct row *row = &rows[i];
		json_t *value = NULL;
		int64_t number;

		if (!row->key || !typed[i])
			continue;
		if (row->max == 0)
			value = read_duration(row->option, typed[i], error);
		else if (number_option_integer(row->option, typed[i], row->min, row->max, &number,
					       error))
			value = json_integer(number);
		if (!value)
			return false;
		json_object_set_new(body, row->key, value);
	}
	return true;
}

static bool set_utility(json_t *body, const char *typed, GError **error)
{
	double utility;

	if (!typed)
		return true;
	if (!read_number(typed, 0, RUN_SERVICE_UTILITY_MAX, &utility) || utility == 0)
		return error_fail(error, SUBMISSION_ERROR, SUBMISSION_ERROR_OPTION,
				  "--utility: \"%s\" is no number above 0 and at most %.0f", typed,
				  RUN_SERVICE_UTILITY_MAX);
	json_object_set_new(body, "utility_max", json_real(utility));
	return true;
}

static bool set_type(json_t *body, const char *type, GError **error)
{
	g_autofree char *shown = NULL;

	if (!type || json_object_set_new(body, "type", json_string(type)) == 0)
		return true;
	shown = g_utf8_make_valid(type, -1);
	return error_fail(error, SUBMISSION_ERROR, SUBMISSION_ERROR_OPTION,
			  "'%s' is not UTF-8, and no task type", shown);
}

/* Which options exclude each other, or need another one. */
static bool check_together(const char *const *typed, GError **error)
{
	const char *size = typed[SUBMISSION_CORES] ?: typed[SUBMISSION_NODES];
	const char *script = typed[SUBMISSION_SCRIPT];

	if (typed[SUBMISSION_COUNT] && typed[SUBMISSION_ARRAY])
		return fail_option(
			error,
			"--array and --count say the same, how many tasks; give one of them");
	if (typed[SUBMISSION_DEADLINE] && (typed[SUBMISSION_CONSTANT] || typed[SUBMISSION_ZERO_AT]))
		return fail_option(error,
				   "--deadline says all about when a task is worth something; "
				   "leave out --constant and --zero-at, or it");
	if (typed[SUBMISSION_CONSTANT] && !typed[SUBMISSION_ZERO_AT])
		return fail_option(error,
				   "--constant needs --zero-at, when the task is worth nothing "
				   "any more");
	if (!script && (size || typed[SUBMISSION_TIME]))
		return fail_option(error, FOR_SCRIPTS);
	if (typed[SUBMISSION_TYPE] && (size || typed[SUBMISSION_TIME]))
		return fail_option(error,
				   "--type says how large and for how long; leave out --cores, "
				   "--nodes and --time, or it");
	if (typed[SUBMISSION_CORES] && typed[SUBMISSION_NODES])
		return fail_option(error,
				   "--nodes: they are whole, with all their cores; leave out "
				   "--cores, or it");
	if (script && !typed[SUBMISSION_TYPE] && !typed[SUBMISSION_TIME])
		return fail_option(error,
				   "--script: say how long it may run with --time, or give its "
				   "--type");
	return true;
}

json_t *submission_body(const char *const typed[SUBMISSION_OPTIONS], GError **error)
{
	g_autoptr(json_t) body = json_pack("{s:i}", "count", 1);

	if (!check_together(typed, error) || !set_numbers(body, typed, error) ||
	    !set_utility(body, typed[SUBMISSION_UTILITY], error) ||
	    !set_type(body, typed[SUBMISSION_TYPE], error))
		return NULL;
	if (typed[SUBMISSION_CONSTANT] &&
	    json_number_value(json_object_get(body, "constant_s")) >
		    json_number_value(json_object_get(body, "zero_s"))) {
		fail_option(error, "--constant must not be longer than --zero-at");
		return NULL;
	}
	if (typed[SUBMISSION_NAME])
		json_object_set_new(body, "name", json_string(typed[SUBMISSION_NAME]));
	if (typed[SUBMISSION_KEY])
		json_object_set_new(body, "key", json_string(typed[SUBMISSION_KEY]));
	return g_steal_pointer(&body);
}

/* The command. */

/* Whether a failed request may have reached the controller; libcurl's message tells. */
static bool may_have_arrived(int status, const GError *error)
{
	return status == 0 && !strstr(error->message, "onnect to") &&
	       !strstr(error->message, "resolve host");
}

/* Submits, and repeats the request until its outcome is known. */
static json_t *submit_until_known(struct client *client, json_t *body)
{
	int64_t from_ns = clock_now_ns();
	bool unknown = false; /* whether an earlier try was accepted */

	for (;;) {
		g_autoptr(GError) error = NULL;
		int status;
		json_t *answer = client_ask(client, "POST", "/v1/tasks", body, &status, &error);

		if (answer)
			return answer;
		unknown = unknown || may_have_arrived(status, error);
		/* A controller that was just restarted answers 503 for a while. */
		if (!unknown || (status != 0 && status != 503)) {
			client_fail(client, status, error);
			return NULL;
		}
		if (!client_asks_again(client, status, from_ns, AGAIN_TIMES)) {
			client->status = command_fail(
				COMMAND_FAILED, client->name,
				"%s; whether the tasks were taken is not known: the same "
				"command with --key %s finds out, and submits nothing twice",
				error->message, field_text(body, "key"));
			return NULL;
		}
		client_pause(AGAIN_EVERY_MS);
	}
}

/* Returns the numbers in the answer, or NULL unless it has one for each of `count` tasks. */
static GArray *numbers_of(struct client *client, const json_t *answer, json_int_t count)
{
	g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(guint64));
	const json_t *list = json_object_get(answer, "tasks");

	if ((json_int_t)json_array_size(list) != count) {
		client->status =
			command_fail(COMMAND_FAILED, client->name,
				     "the controller at %s was handed %" JSON_INTEGER_FORMAT
				     " tasks and answers with %zu numbers",
				     client->address, count, json_array_size(list));
		return NULL;
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		guint64 number = (guint64)json_integer_value(json_array_get(list, i));

		g_array_append_val(numbers, number);
	}
	return g_steal_pointer(&numbers);
}

/* Prints which tasks did not complete; returns the exit status. */
static int report_incomplete(const struct client *client, const json_t *document)
{
	const json_t *task;
	int status = COMMAND_DONE;
	size_t i;

	json_array_foreach (json_object_get(document, "tasks"), i, task)
		if (g_strcmp0(field_text(task, "state"), "completed") != 0)
			status = client_fail_task(client, task, NULL);
	return status;
}

static int wait_for(struct client *client, const GArray *numbers)
{
	g_autoptr(json_t) document = task_wait(client, numbers);

	if (!document)
		return client->status;
	if (client->json)
		command_print_json(document);
	return report_incomplete(client, document);
}

static int submit(struct client *client, json_t *body, bool wait)
{
	g_autoptr(json_t) answer = submit_until_known(client, body);
	g_autoptr(GArray) numbers =
		answer ? numbers_of(client, answer, field_integer(body, "count")) : NULL;

	if (!numbers)
		return client->status;
	if (client->json && !wait)
		command_print_json(answer);
	for (guint i = 0; !client->json && i < numbers->len; i++)
		printf("%" PRIu64 "\n", g_array_index(numbers, guint64, i));
	fflush(stdout);
	return wait ? wait_for(client, numbers) : COMMAND_DONE;
}

/* The words are a type or, with a script, its arguments. The "--" before them stays in argv. */
static bool take_words(const char **typed, char **words)
{
	if (typed[SUBMISSION_SCRIPT])
		return true;
	if (typed[SUBMISSION_TYPE] || g_strv_length(words) != 1)
		return typed[SUBMISSION_TYPE] && g_strv_length(words) == 0;
	typed[SUBMISSION_TYPE] = words[0];
	return true;
}

/* Adds the script with its files to the body, if one is given. */
static bool add_script(json_t *body, const char *const *typed, char **arguments, char **stage_in,
		       char **stage_out, GError **error)
{
	json_t *script;

	if (!typed[SUBMISSION_SCRIPT])
		return (!stage_in && !stage_out) || fail_option(error, FOR_SCRIPTS);
	script = script_files_read(typed[SUBMISSION_SCRIPT], arguments, stage_in, stage_out, error);
	if (script)
		json_object_set_new(body, "script", script);
	return script != NULL;
}

int cmd_submit(int argc, char **argv)
{
	g_auto(client_t) client = {.name = argv[0]};
	g_autofree char *random = g_uuid_string_random();
	const char *typed[SUBMISSION_OPTIONS] = {[SUBMISSION_KEY] = random};
	char **stage_in = NULL;
	char **stage_out = NULL;
	char **words;
	bool held = false;
	bool wait = false;
	const struct command_option options[] = {
		{"count", 'n', COMMAND_TEXT, &typed[SUBMISSION_COUNT],
		 "How many such tasks (default 1)", "N"},
		{"array", 0, COMMAND_TEXT, &typed[SUBMISSION_ARRAY],
		 "The same; each script finds its place, from 0, in VIRTBED_INDEX", "N"},
		{"script", 's', COMMAND_FILE, &typed[SUBMISSION_SCRIPT],
		 "Run this script, on each of the task's nodes", "FILE"},
		{"type", 't', COMMAND_TEXT, &typed[SUBMISSION_TYPE],
		 "As a task of this type, which must be one for scripts", "TYPE"},
		{"time", 'T', COMMAND_TEXT, &typed[SUBMISSION_TIME],
		 "Instead of a type: it runs no longer than that", "TIME"},
		{"cores", 'C', COMMAND_TEXT, &typed[SUBMISSION_CORES],
		 "... on so many cores (default 1)", "N"},
		{"nodes", 'N', COMMAND_TEXT, &typed[SUBMISSION_NODES],
		 "... or on so many whole nodes of one cluster", "N"},
		{"stage-in", 'i', COMMAND_FILES, &stage_in,
		 "Put this file into its directory; may be repeated", "FILE"},
		{"stage-out", 'o', COMMAND_FILES, &stage_out,
		 "Keep this file or directory of its directory in the end; may be repeated",
		 "NAME"},
		{"name", 0, COMMAND_TEXT, &typed[SUBMISSION_NAME],
		 "A name for people, shown by queue", "NAME"},
		{"hold", 0, COMMAND_FLAG, &held, "They wait until they are released"},
		{"priority", 'p', COMMAND_TEXT, &typed[SUBMISSION_PRIORITY],
		 "Wait before tasks with a lower one (default 0; above is for operators)", "N"},
		{"utility", 'u', COMMAND_TEXT, &typed[SUBMISSION_UTILITY],
		 "What each is worth while it is in time (default 1)", "U"},
		{"constant", 'c', COMMAND_TEXT, &typed[SUBMISSION_CONSTANT],
		 "Worth all of it so long after now, then less and less until --zero-at", "TIME"},
		{"zero-at", 'z', COMMAND_TEXT, &typed[SUBMISSION_ZERO_AT],
		 "Worth nothing from then on", "TIME"},
		{"deadline", 'd', COMMAND_TEXT, &typed[SUBMISSION_DEADLINE],
		 "Worth all of it until then, nothing later", "TIME"},
		{"key", 'k', COMMAND_TEXT, &typed[SUBMISSION_KEY],
		 "Submit once: the same key again gives the same tasks", "KEY"},
		{"wait", 'w', COMMAND_FLAG, &wait,
		 "Wait until all have ended; exit status 0 if all completed"},
		{NULL},
	};
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) body = NULL;

	if (!client_parse(
		    &client, &argc, &argv, "TYPE | --script FILE ... [-- ARGUMENT...]",
		    "Submits tasks of a type, or a script, to the controller and prints their "
		    "numbers, one a line.\nTIME is seconds, or 90s, 10m, 1h30m, 2d.",
		    options))
		return COMMAND_BAD;
	words = argv + 1 + (argc > 1 && g_str_equal(argv[1], "--"));
	if (!take_words(typed, words))
		return command_fail(COMMAND_BAD, client.name,
				    "give one TYPE of task, as `virtbed clusters` lists them, or a "
				    "--script; try --help");
	body = submission_body(typed, &error);
	if (!body || !add_script(body, typed, words, stage_in, stage_out, &error))
		return command_fail(COMMAND_BAD, client.name, "%s", error->message);
	if (held)
		json_object_set_new(body, "held", json_true());
	return client_open(&client) ? submit(&client, body, wait) : client.status;
}
