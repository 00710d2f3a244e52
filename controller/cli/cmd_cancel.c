/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/json.h"
#include "controller/cli/client.h"
#include "controller/cli/commands.h"
#include "controller/cli/fields.h"

/* `virtbed cancel`, `hold` and `release`: one request for each task. */

struct verb {
	const char *path;    /* the last part of POST /v1/tasks/N/... */
	const char *summary;
	/* what is printed after "task N" when the controller accepted the request */
	const char *done;
};

static const struct verb cancel = {
	"cancel",
	"Ends tasks for good. A task that waits, or is held or quarantined, has ended when the command\n"
	"returns. A task that runs, starts, migrates or is suspended is killed a moment later, and its\n"
	"progress is lost. Cancelling an ended task is an error. " CLIENT_TASKS_HELP,
	"is cancelled"};
static const struct verb hold = {
	"hold", "Keeps waiting tasks from being started until they are released. " CLIENT_TASKS_HELP, "is held"};
static const struct verb release = {
	"release", "Lets tasks that are held be started. " CLIENT_TASKS_HELP, "is released"};

/* Whether the task in the answer is in the state that the request asks for. */
static bool is_done(const struct verb *verb, const json_t *task)
{
	return verb == &cancel || json_is_true(json_object_get(task, "held")) == (verb == &hold);
}

/* Prints the outcome; returns the exit status. A running task ends a little after the request. */
static int report_task(const struct client *client, const struct verb *verb, const json_t *task,
		       guint64 number)
{
	const char *state = field_text(task, "state");

	if (!is_done(verb, task))
		return command_fail(COMMAND_FAILED, client->name,
				    "the controller does not say that task %" PRIu64 " %s", number, verb->done);
	if (client->json)
		return COMMAND_DONE;
	if (verb == &cancel && !field_state_ended(state))
		printf("task %" PRIu64 " is being cancelled: it is %s\n", number, state ?: "-");
	else
		printf("task %" PRIu64 " %s\n", number, verb->done);
	return COMMAND_DONE;
}

/*
 * A refused request does not keep the others from being sent; a controller that does not answer
 * ends the command. Returns the worst exit status.
 */
static int send_all(struct client *client, const struct verb *verb, const GArray *numbers)
{
	g_autoptr(json_t) answers = json_array();
	int status = COMMAND_DONE;

	for (guint i = 0; i < numbers->len && !client->lost; i++) {
		guint64 number = g_array_index(numbers, guint64, i);
		g_autofree char *path =
			g_strdup_printf("/v1/tasks/%" PRIu64 "/%s", number, verb->path);
		g_autoptr(json_t) task = client_post(client, path, NULL);
		int outcome;

		if (!task) {
			status = MAX(status, client->status);
			continue;
		}
		json_array_append(answers, task);
		outcome = report_task(client, verb, task, number);
		status = MAX(status, outcome);
	}
	if (client->json) {
		g_autoptr(json_t) document = json_pack("{s:O}", "tasks", answers);

		client_print_json(document);
	}
	return status;
}

static int run_verb(const struct verb *verb, int argc, char **argv)
{
	g_auto(client_t) client = {.name = argv[0]};
	g_autoptr(GOptionContext) context = g_option_context_new("TASK...");
	g_autoptr(GArray) numbers = NULL;
	g_autoptr(GError) error = NULL;

	client_add_options(&client, context, NULL);
	g_option_context_set_summary(context, verb->summary);
	if (!g_option_context_parse(context, &argc, &argv, &error))
		return command_fail(COMMAND_BAD, client.name, "%s", error->message);
	numbers = client_task_numbers(&client, argv + 1);
	if (!numbers || !client_open(&client))
		return client.status;
	return send_all(&client, verb, numbers);
}

int cmd_cancel(int argc, char **argv)
{
	return run_verb(&cancel, argc, argv);
}

int cmd_hold(int argc, char **argv)
{
	return run_verb(&hold, argc, argv);
}

int cmd_release(int argc, char **argv)
{
	return run_verb(&release, argc, argv);
}
