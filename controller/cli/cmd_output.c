/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/json.h"
#include "controller/cli/client.h"
#include "controller/cli/commands.h"
#include "controller/cli/fields.h"
#include "controller/cli/script_files.h"

/* `virtbed output`: what a task has printed so far; with -f also what follows until it ends. */

#define WAIT_MAX_S 5
#define AGAIN_MS 500

/* How long a controller that does not answer is asked again, in timeouts for an answer. */
#define PATIENCE_TIMES 20

/* The state of reading the output piece by piece. */
struct reading {
	struct client *client;
	guint64 task;
	json_int_t attempt; /* 0: none yet */
	json_int_t next;    /* offset in bytes of the next piece */
	/*
	 * how long the controller may wait for more output: at most half the timeout for an answer
	 */
	int wait_s;
	bool fresh;          /* the last answer contained output */
	bool whole;          /* all of this attempt's output was read, and the attempt has ended */
	int64_t answered_ns; /* time of the controller's last answer; 0: none yet */
};

/*
 * Returns the next piece, or NULL with `error`. A further attempt of the task begins at offset 0;
 * the controller takes care of that.
 */
static json_t *read_piece(struct reading *reading, int wait_s, int *ret_http, GError **error)
{
	g_autofree char *path =
		g_strdup_printf("/v1/tasks/%" PRIu64 "/output?from=%" JSON_INTEGER_FORMAT
				"&attempt=%" JSON_INTEGER_FORMAT "&wait_s=%d",
				reading->task, reading->next, reading->attempt, wait_s);
	json_t *answer = client_ask(reading->client, "GET", path, NULL, ret_http, error);

	if (answer)
		reading->answered_ns = clock_now_ns();
	return answer;
}

static void note_piece(struct reading *reading, const json_t *answer)
{
	reading->attempt = field_integer(answer, "attempt");
	reading->next = field_integer(answer, "next");
	reading->whole = json_is_true(json_object_get(answer, "ended"));
	reading->fresh = reading->next > field_integer(answer, "from");
}

static void print_piece(struct reading *reading, const json_t *answer)
{
	json_int_t attempt = field_integer(answer, "attempt");

	if (reading->attempt != 0 && attempt != reading->attempt)
		printf("--- attempt %" JSON_INTEGER_FORMAT "\n", attempt);
	note_piece(reading, answer);
	fputs(field_text(answer, "output") ?: "", stdout);
	fflush(stdout);
}

/* Following. */

/*
 * The exit status for a task that has ended. `missing` says why its output is not available; NULL:
 * it is.
 */
static int exit_status(const struct client *client, const json_t *task, const char *missing)
{
	/* A task that was never started has no output. */
	const bool lacks = missing && field_integer(task, "attempts") != 0;
	g_autofree char *more =
		lacks ? g_strconcat("; what it has printed cannot be had: ", missing, NULL) : NULL;

	if (g_strcmp0(field_text(task, "state"), "completed") != 0)
		return client_fail_task(client, task, more);
	return !lacks ? COMMAND_DONE
		      : command_fail(COMMAND_FAILED, client->name,
				     "what task %" JSON_INTEGER_FORMAT
				     " has printed cannot be had: %s",
				     field_integer(task, "task"), missing);
}

/*
 * Whether to repeat a failed request: only for a controller that has answered before, which may
 * come back.
 */
static bool is_patient(const struct reading *reading, int http)
{
	return reading->answered_ns > 0 &&
	       client_asks_again(reading->client, http, reading->answered_ns, PATIENCE_TIMES);
}

/* Whether a failed request for output ends the command, whatever became of the task. */
static bool is_over(const struct reading *reading, bool ended, int http, const GError *error)
{
	if (g_error_matches(error, HTTP_ERROR, HTTP_ERROR_STATUS) && (ended || http == 404))
		return false;
	return !is_patient(reading, http);
}

/* Returns the task, or NULL where it is not known (*ret_status 0: to be asked again). */
static json_t *ask_task(struct reading *reading, int *ret_status)
{
	g_autofree char *path = g_strdup_printf("/v1/tasks/%" PRIu64, reading->task);
	g_autoptr(GError) error = NULL;
	int http;
	json_t *task = client_ask(reading->client, "GET", path, NULL, &http, &error);

	*ret_status = 0;
	if (task)
		reading->answered_ns = clock_now_ns();
	else if (!is_patient(reading, http))
		*ret_status = client_fail(reading->client, http, error);
	return task;
}

/*
 * Reads one more piece; *ret_status is the exit status where it returns false. Where the task may
 * have ended, it is asked about before the output, so that no output is missed.
 */
static bool follow_once(struct reading *reading, int *ret_status)
{
	bool quiet = reading->whole || !reading->fresh;
	g_autoptr(json_t) task = quiet ? ask_task(reading, ret_status) : NULL;
	bool ended = task && field_state_ended(field_text(task, "state"));
	g_autoptr(json_t) answer = NULL;
	g_autoptr(GError) error = NULL;
	int http;

	if (quiet && *ret_status != 0)
		return false;
	answer = read_piece(reading, ended ? 0 : reading->wait_s, &http, &error);
	if (answer)
		print_piece(reading, answer);
	/* 404: the task or its VMs have not been started yet, so there is no output. */
	else if (is_over(reading, ended, http, error))
		*ret_status = client_fail(reading->client, http, error);
	if (*ret_status != 0)
		return false;
	/*
	 * An ended task whose output the controller does not have is not asked about again; a
	 * controller that does not answer is.
	 */
	if (ended && (answer ? reading->whole || !reading->fresh : http != 0)) {
		*ret_status =
			exit_status(reading->client, task,
				    answer ? NULL : client_reason(reading->client, http, error));
		return false;
	}
	if (!answer || reading->whole || (reading->wait_s == 0 && !reading->fresh))
		client_pause(AGAIN_MS);
	return true;
}

static int follow(struct reading *reading)
{
	int status = COMMAND_DONE;

	reading->wait_s = (int)MIN(WAIT_MAX_S, reading->client->timeout_s / 2);
	while (follow_once(reading, &status))
		;
	return status;
}

/*
 * Prints the present output, which may take several answers. As JSON it is one answer, about the
 * last attempt.
 */
static int print_output(struct reading *reading)
{
	struct client *client = reading->client;
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(json_t) answer = NULL;

	do {
		const json_int_t attempt = reading->attempt;
		g_autoptr(GError) error = NULL;
		int http;

		json_decref(answer);
		answer = read_piece(reading, 0, &http, &error);
		if (!answer)
			return client_fail(client, http, error);
		if (!client->json) {
			print_piece(reading, answer);
			continue;
		}
		note_piece(reading, answer);
		if (reading->attempt != attempt)
			g_string_truncate(text, 0);
		g_string_append(text, field_text(answer, "output") ?: "");
	} while (reading->fresh && !reading->whole);
	if (client->json) {
		json_object_set_new(answer, "output", json_string(text->str));
		json_object_set_new(answer, "from", json_integer(0));
		command_print_json(answer);
	}
	return COMMAND_DONE;
}

/* Files. */

/* A guest's texts about its files are shown without control characters, as all texts of guests. */
static int write_files(const struct client *client, const char *directory, const json_t *answer)
{
	int status = COMMAND_DONE;
	const json_t *entry;
	size_t i;

	json_array_foreach (json_object_get(answer, "files"), i, entry) {
		g_autoptr(GError) error = NULL;
		g_autofree char *name = field_line(entry, "name");

		if (script_files_write(directory, entry, &error))
			printf("%s\n", name);
		else
			status = command_fail(COMMAND_FAILED, client->name, "%s", error->message);
	}
	json_array_foreach (json_object_get(answer, "skipped"), i, entry) {
		g_autoptr(json_t) object = json_pack("{s:O}", "why", entry);
		g_autofree char *line = field_line(object, "why");

		status = command_fail(COMMAND_FAILED, client->name, "not kept: %s", line);
	}
	return status;
}

static int fetch_files(struct reading *reading, const char *directory)
{
	struct client *client = reading->client;
	g_autofree char *path = g_strdup_printf("/v1/tasks/%" PRIu64 "/files", reading->task);
	g_autoptr(json_t) answer = client_get(client, path);

	if (!answer)
		return client->status;
	if (g_mkdir_with_parents(directory, 0777) < 0)
		return command_fail(COMMAND_FAILED, client->name, "cannot make '%s': %s", directory,
				    g_strerror(errno));
	return write_files(client, directory, answer);
}

int cmd_output(int argc, char **argv)
{
	g_auto(client_t) client = {.name = argv[0]};
	bool follows = false;
	const char *files = NULL;
	struct reading reading = {.client = &client};
	const struct command_option options[] = {
		{"follow", 'f', COMMAND_FLAG, &follows,
		 "Print what comes until the task has ended; exit status 0 if it completed"},
		{"files", 'F', COMMAND_FILE, &files,
		 "Put the files that came out of a script below this directory, and print their "
		 "names",
		 "DIR"},
		{NULL},
	};

	if (!client_parse(&client, &argc, &argv, "TASK", "Prints what a task has printed so far.",
			  options))
		return COMMAND_BAD;
	if (follows && client.json)
		return command_fail(COMMAND_BAD, client.name, "give --follow or --json, not both");
	if (follows && files)
		return command_fail(COMMAND_BAD, client.name, "give --follow or --files, not both");
	if (files && client.json)
		return command_fail(COMMAND_BAD, client.name,
				    "give --files, which writes them, or --json, not both");
	if (!client_open_for_task(&client, argv + 1, &reading.task))
		return client.status;
	if (files)
		return fetch_files(&reading, files);
	return (follows ? follow : print_output)(&reading);
}
