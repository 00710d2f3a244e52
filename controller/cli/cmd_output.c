/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/json.h"
#include "controller/cli/client.h"
#include "controller/cli/commands.h"
#include "controller/cli/fields.h"

/* `virtbed output`: what a task has printed; with -f what comes until it has ended. */

#define FOLLOW_MS 1000

/* A controller that is away for longer is not waited for. */
#define PATIENCE_S 600.0

/* What of the output was printed: of which attempt, how many bytes. */
struct shown {
	json_int_t attempt;
	size_t bytes;
};

/* Prints what is new. A further attempt of the task begins from nothing. */
static void print_new(struct shown *shown, const json_t *answer)
{
	const char *text = field_text(answer, "output") ?: "";
	json_int_t attempt = field_integer(answer, "attempt");

	if (attempt != shown->attempt && shown->bytes > 0)
		printf("--- attempt %" JSON_INTEGER_FORMAT "\n", attempt);
	if (attempt != shown->attempt || strlen(text) < shown->bytes)
		shown->bytes = 0;
	shown->attempt = attempt;
	fputs(text + shown->bytes, stdout);
	fflush(stdout);
	shown->bytes = strlen(text);
}

/* Following: asks whether it has ended before what it printed, so that nothing is missed. */
struct following {
	struct client *client;
	char *task, *output; /* paths */
	struct shown shown;
	int64_t answered_ns;
	bool ended;
};

/* 0: go on, also where nobody answered or there is no output yet; else the exit status. */
static int follow_once(struct following *following)
{
	struct client *client = following->client;
	g_autoptr(GError) error = NULL;
	int http;
	g_autoptr(json_t) task =
		client_ask(client, "GET", following->task, NULL, &http, &error);
	g_autoptr(json_t) answer = NULL;

	if (task)
		answer = client_ask(client, "GET", following->output, NULL, &http, &error);
	if (answer)
		print_new(&following->shown, answer);
	if (task) {
		following->answered_ns = clock_now_ns();
		following->ended = field_state_ended(field_text(task, "state"));
	}
	/* 404: it has not been started, or its VMs have not yet: there is nothing to print. */
	if (answer || (task && http == 404 && !following->ended))
		return 0;
	if ((http == 0 || http == 503) &&
	    clock_elapsed_s(following->answered_ns, clock_now_ns()) < PATIENCE_S) {
		following->ended = false;
		return 0;
	}
	return client_fail(client, http, error);
}

static int follow(struct client *client, guint64 number)
{
	g_autofree char *task = g_strdup_printf("/v1/tasks/%" PRIu64, number);
	g_autofree char *output = g_strdup_printf("%s/output", task);
	struct following following = {.client = client, .task = task, .output = output,
				      .answered_ns = clock_now_ns()};

	for (;;) {
		int status = follow_once(&following);

		if (status != 0 || following.ended)
			return status;
		client_pause(FOLLOW_MS);
	}
}

static int print(struct client *client, guint64 number)
{
	g_autofree char *path = g_strdup_printf("/v1/tasks/%" PRIu64 "/output", number);
	g_autoptr(json_t) answer = client_get(client, path);

	if (!answer)
		return client->status;
	if (client->json)
		client_print_json(answer);
	else
		fputs(field_text(answer, "output") ?: "", stdout);
	return COMMAND_DONE;
}

int cmd_output(int argc, char **argv)
{
	g_auto(client_t) client = {.name = argv[0]};
	gboolean follows = FALSE;
	const GOptionEntry entries[] = {
		{"follow", 'f', 0, G_OPTION_ARG_NONE, &follows,
		 "Wait for it until the task has ended", NULL},
		{NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("TASK");
	g_autoptr(GError) error = NULL;
	guint64 number;

	client_add_options(&client, context, entries);
	g_option_context_set_summary(context, "Prints what a task has printed.");
	if (!g_option_context_parse(context, &argc, &argv, &error))
		return command_fail(COMMAND_BAD, client.name, "%s", error->message);
	if (follows && client.json)
		return command_fail(COMMAND_BAD, client.name, "give --follow or --json, not both");
	if (!client_open_for_task(&client, argv + 1, &number))
		return client.status;
	return (follows ? follow : print)(&client, number);
}
