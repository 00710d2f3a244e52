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

/* The body. */

G_DEFINE_QUARK(virtbed_submission, submission_error)

static bool fail_option(GError **error, const char *words)
{
	return error_fail(error, SUBMISSION_ERROR, SUBMISSION_ERROR_OPTION, "%s", words);
}

/* Sets `key` to an option's duration in seconds, if the option was given. */
static bool set_duration(json_t *body, const char *key, const char *option, const char *text,
			 GError **error)
{
	double seconds;

	if (!text)
		return true;
	if (!read_number_duration(text, &seconds) || !(seconds > 0))
		return error_fail(error, SUBMISSION_ERROR, SUBMISSION_ERROR_OPTION,
				  "%s: \"%s\" is no time span above 0; write 90s, 10m or 1h30m",
				  option, text);
	json_object_set_new(body, key, json_real(seconds));
	return true;
}

static bool set_utility(json_t *body, const struct submission *submission, GError **error)
{
	double utility;

	if (!submission->utility)
		return true;
	if (!read_number(submission->utility, 0, RUN_SERVICE_UTILITY_MAX, &utility) || utility == 0)
		return error_fail(error, SUBMISSION_ERROR, SUBMISSION_ERROR_OPTION,
				  "--utility: \"%s\" is no number above 0 and at most %.0f",
				  submission->utility, RUN_SERVICE_UTILITY_MAX);
	json_object_set_new(body, "utility_max", json_real(utility));
	return true;
}

/* Sets the utility function: constant, then falling to 0; or constant until a deadline. */
static bool set_worth(json_t *body, const struct submission *submission, GError **error)
{
	if (submission->deadline && (submission->constant || submission->zero_at))
		return fail_option(error,
				   "--deadline says all about when a task is worth something; "
				   "leave out --constant and --zero-at, or it");
	if (submission->constant && !submission->zero_at)
		return fail_option(error,
				   "--constant needs --zero-at, when the task is worth nothing "
				   "any more");
	if (!set_duration(body, "constant_s", "--constant", submission->constant, error) ||
	    !set_duration(body, "zero_s", "--zero-at", submission->zero_at, error) ||
	    !set_duration(body, "deadline_s", "--deadline", submission->deadline, error))
		return false;
	if (submission->constant && json_number_value(json_object_get(body, "constant_s")) >
					    json_number_value(json_object_get(body, "zero_s")))
		return fail_option(error, "--constant must not be longer than --zero-at");
	return set_utility(body, submission, error);
}

/* Sets `key` to an option's number, if the option was given. */
static bool set_number(json_t *body, const char *key, const char *option, const char *text,
		       int64_t min, int64_t max, GError **error)
{
	int64_t number;

	if (!text)
		return true;
	if (!number_option_integer(option, text, min, max, &number, error))
		return false;
	json_object_set_new(body, key, json_integer(number));
	return true;
}

/* Sets the number of tasks, by default one. */
static bool set_count(json_t *body, const struct submission *submission, GError **error)
{
	if (submission->count && submission->array)
		return fail_option(
			error,
			"--array and --count say the same, how many tasks; give one of them");
	json_object_set_new(body, "count", json_integer(1));
	return set_number(body, "count", "--count", submission->count, 1, SUBMISSION_COUNT_MAX,
			  error) &&
	       set_number(body, "count", "--array", submission->array, 1, SUBMISSION_COUNT_MAX,
			  error);
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

/* Sets the type, or the script, which has a type or is given one by its size. */
static bool set_work(json_t *body, const struct submission *submission, GError **error)
{
	const bool sized = submission->time || submission->cores || submission->nodes;
	json_t *script;

	if (!submission->script && (sized || submission->stage_in || submission->stage_out))
		return fail_option(error,
				   "--time, --cores, --nodes, --stage-in and --stage-out are for "
				   "a --script");
	if (submission->type && sized)
		return fail_option(error,
				   "--type says how large and for how long; leave out --cores, "
				   "--nodes and --time, or it");
	if (submission->cores && submission->nodes)
		return fail_option(error,
				   "--nodes: they are whole, with all their cores; leave out "
				   "--cores, or it");
	if (submission->script && !submission->type && !submission->time)
		return fail_option(error,
				   "--script: say how long it may run with --time, or give its "
				   "--type");
	if (!set_type(body, submission->type, error) ||
	    !set_number(body, "cores", "--cores", submission->cores, 1, INT32_MAX, error) ||
	    !set_number(body, "nodes", "--nodes", submission->nodes, 1, INT32_MAX, error) ||
	    !set_duration(body, "time_s", "--time", submission->time, error))
		return false;
	if (!submission->script)
		return true;
	script = script_files_read(submission->script, submission->arguments, submission->stage_in,
				   submission->stage_out, error);
	if (script)
		json_object_set_new(body, "script", script);
	return script != NULL;
}

json_t *submission_body(const struct submission *submission, GError **error)
{
	g_autoptr(json_t) body = json_object();

	if (!set_count(body, submission, error) ||
	    !set_number(body, "priority", "--priority", submission->priority, INT32_MIN, INT32_MAX,
			error) ||
	    !set_worth(body, submission, error) || !set_work(body, submission, error))
		return NULL;
	if (submission->name)
		json_object_set_new(body, "name", json_string(submission->name));
	if (submission->key)
		json_object_set_new(body, "key", json_string(submission->key));
	if (submission->held)
		json_object_set_new(body, "held", json_true());
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

/*
 * Takes the words as a type or, with a script, as its arguments. The "--" before them stays in
 * argv.
 */
static bool take_words(struct submission *submission, int argc, char **argv)
{
	char **words = argv + 1 + (argc > 1 && g_str_equal(argv[1], "--"));

	if (submission->script) {
		submission->arguments = words;
		return true;
	}
	if (submission->type || g_strv_length(words) != 1)
		return submission->type && g_strv_length(words) == 0;
	submission->type = words[0];
	return true;
}

int cmd_submit(int argc, char **argv)
{
	g_auto(client_t) client = {.name = argv[0]};
	g_autofree char *random = g_uuid_string_random();
	struct submission submission = {.key = random};
	bool wait = false;
	const struct command_option options[] = {
		{"count", 'n', COMMAND_TEXT, &submission.count, "How many such tasks (default 1)",
		 "N"},
		{"array", 0, COMMAND_TEXT, &submission.array,
		 "The same; each script finds its place, from 0, in VIRTBED_INDEX", "N"},
		{"script", 's', COMMAND_FILE, &submission.script,
		 "Run this script, on each of the task's nodes", "FILE"},
		{"type", 't', COMMAND_TEXT, &submission.type,
		 "As a task of this type, which must be one for scripts", "TYPE"},
		{"time", 'T', COMMAND_TEXT, &submission.time,
		 "Instead of a type: it runs no longer than that", "TIME"},
		{"cores", 'C', COMMAND_TEXT, &submission.cores, "... on so many cores (default 1)",
		 "N"},
		{"nodes", 'N', COMMAND_TEXT, &submission.nodes,
		 "... or on so many whole nodes of one cluster", "N"},
		{"stage-in", 'i', COMMAND_FILES, &submission.stage_in,
		 "Put this file into its directory; may be repeated", "FILE"},
		{"stage-out", 'o', COMMAND_FILES, &submission.stage_out,
		 "Keep this file or directory of its directory in the end; may be repeated",
		 "NAME"},
		{"name", 0, COMMAND_TEXT, &submission.name, "A name for people, shown by queue",
		 "NAME"},
		{"hold", 0, COMMAND_FLAG, &submission.held, "They wait until they are released"},
		{"priority", 'p', COMMAND_TEXT, &submission.priority,
		 "Wait before tasks with a lower one (default 0; above is for operators)", "N"},
		{"utility", 'u', COMMAND_TEXT, &submission.utility,
		 "What each is worth while it is in time (default 1)", "U"},
		{"constant", 'c', COMMAND_TEXT, &submission.constant,
		 "Worth all of it so long after now, then less and less until --zero-at", "TIME"},
		{"zero-at", 'z', COMMAND_TEXT, &submission.zero_at, "Worth nothing from then on",
		 "TIME"},
		{"deadline", 'd', COMMAND_TEXT, &submission.deadline,
		 "Worth all of it until then, nothing later", "TIME"},
		{"key", 'k', COMMAND_TEXT, &submission.key,
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
	if (!take_words(&submission, argc, argv))
		return command_fail(COMMAND_BAD, client.name,
				    "give one TYPE of task, as `virtbed clusters` lists them, or a "
				    "--script; try --help");
	body = submission_body(&submission, &error);
	if (!body)
		return command_fail(COMMAND_BAD, client.name, "%s", error->message);
	return client_open(&client) ? submit(&client, body, wait) : client.status;
}
