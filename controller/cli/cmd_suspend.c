/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/number_option.h"
#include "controller/cli/client.h"
#include "controller/cli/commands.h"
#include "controller/cli/fields.h"
#include "controller/cli/tables.h"
#include "controller/cli/task_list.h"
#include "controller/cli/task_wait.h"

/*
 * `virtbed suspend` and `virtbed resume` (docs/how-to/run.md): they send all requests to the
 * controller first, then wait until every task is suspended, or runs again.
 */

#define WAIT_S 60.0

/* The command's arguments, and when it began to send requests. */
struct step {
	struct client client;
	bool resume; /* else suspend */
	double wait_s;
	int64_t from_ns;
};

static const char *state_of(const json_t *task)
{
	return field_text(task, "state") ?: "";
}

static bool is_held(const json_t *task)
{
	return json_is_true(json_object_get(task, "held"));
}

static bool is_done(const struct step *step, const json_t *task)
{
	if (step->resume)
		return g_str_equal(state_of(task), "running") && !is_held(task);
	return g_str_equal(state_of(task), "suspended") && is_held(task);
}

static bool is_pending(const json_t *task, const void *data)
{
	static const char *const suspending[] = {"suspending", NULL};
	static const char *const resuming[] = {"suspending", "suspended", "resuming", NULL};
	const struct step *step = data;

	return step->resume ? g_strv_contains(resuming, state_of(task)) && !is_held(task)
			    : g_strv_contains(suspending, state_of(task));
}

/* Prints how far the task is; returns the exit status. */
static int report_task(const struct step *step, guint64 number, const json_t *task)
{
	const bool done = is_done(step, task);
	const bool pending = is_pending(task, step);
	const bool waits = pending && step->resume;

	if (!step->client.json && (done || pending))
		printf("task %" PRIu64 " is %s%s\n", number, state_of(task),
		       waits ? "; it is resumed when its cluster has idle nodes for it" : "");
	if (done || (pending && !(step->wait_s > 0)))
		return COMMAND_DONE;
	return command_fail(COMMAND_FAILED, step->client.name,
			    "task %" PRIu64 " was not %s%s: it is %s", number,
			    step->resume ? "resumed" : "suspended", pending ? " in time" : "",
			    state_of(task));
}

/* The controller's answer, or NULL after it refused and why was printed. */
static json_t *send_request(struct step *step, guint64 number)
{
	g_autofree char *path = g_strdup_printf("/v1/tasks/%" PRIu64 "/%s", number,
						step->resume ? "resume" : "suspend");

	return client_post(&step->client, path, NULL);
}

/*
 * A refused request does not keep the others from being sent; a controller that does not answer
 * ends the command. Returns the worst exit status.
 */
static int step_all(struct step *step, const GArray *numbers)
{
	g_autoptr(GPtrArray) first_answers = g_ptr_array_new();
	g_autoptr(json_t) answers = json_array();
	int status = COMMAND_DONE;

	step->from_ns = clock_now_ns();
	for (guint i = 0; i < numbers->len && !step->client.lost; i++) {
		json_t *task = send_request(step, g_array_index(numbers, guint64, i));

		status = MAX(status, task ? COMMAND_DONE : step->client.status);
		g_ptr_array_add(first_answers, task);
	}
	for (guint i = 0; i < first_answers->len; i++) {
		const guint64 number = g_array_index(numbers, guint64, i);
		json_t *task = first_answers->pdata[i];
		int outcome;

		if (!task)
			continue;
		if (!step->client.lost)
			task = task_wait_while(&step->client, number, task, is_pending, step,
					       step->from_ns, step->wait_s);
		outcome = task ? report_task(step, number, task) : step->client.status;
		status = MAX(status, outcome);
		if (task)
			json_array_append_new(answers, task);
	}
	client_print_tasks(&step->client, answers);
	return status;
}

/* Without a TASK: the tasks that can be suspended, or resumed. */
static int print_list(struct step *step)
{
	g_autoptr(json_t) answer =
		task_list_get(&step->client, step->resume ? "suspending,suspended" : "running",
			      NULL, NULL);
	g_autoptr(table_t) table = NULL;

	if (!answer)
		return step->client.status;
	if (step->client.json) {
		client_print_json(answer);
		return COMMAND_DONE;
	}
	table = table_of_suspensions(answer);
	table_print(table, 0, stdout);
	return COMMAND_DONE;
}

static bool parse(struct step *step, int *argc, char ***argv, GError **error)
{
	g_autofree char *wait = NULL;
	const GOptionEntry entries[] = {
		{"wait", 0, 0, G_OPTION_ARG_STRING, &wait,
		 "How long to wait until it is done (default: 60; 0: do not wait)", "S"},
		{NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("[TASK...]");

	client_add_options(&step->client, context, entries);
	g_option_context_set_summary(
		context,
		step->resume ? "Resumes suspended tasks, as soon as their clusters have idle nodes.\n"
			       "Without TASK: lists the tasks that are suspended. " CLIENT_TASKS_HELP
			       : "Suspends running tasks: their VMs leave their cores, and they keep their "
			       "progress until a user\nresumes them. Without TASK: lists the tasks "
			       "that run. " CLIENT_TASKS_HELP);
	return g_option_context_parse(context, argc, argv, error) &&
	       number_option("--wait", wait, 0, NUMBER_OPTION_SECONDS_MAX, &step->wait_s, error);
}

static int run_step(struct step *step, int argc, char **argv)
{
	const char *name = step->client.name;
	g_autoptr(GError) error = NULL;
	g_autoptr(GArray) numbers = NULL;

	if (!parse(step, &argc, &argv, &error))
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	if (argc > 1 && !(numbers = client_task_numbers(&step->client, argv + 1)))
		return COMMAND_BAD;
	if (!client_open(&step->client))
		return step->client.status;
	return numbers ? step_all(step, numbers) : print_list(step);
}

static int run_command(int argc, char **argv, bool resume)
{
	struct step step = {
		.client = {.name = argv[0]}, .resume = resume, .wait_s = WAIT_S};
	int status = run_step(&step, argc, argv);

	client_clear(&step.client);
	return status;
}

int cmd_suspend(int argc, char **argv)
{
	return run_command(argc, argv, false);
}

int cmd_resume(int argc, char **argv)
{
	return run_command(argc, argv, true);
}
