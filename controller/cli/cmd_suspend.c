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
#include "controller/cli/task_list.h"

/*
 * `virtbed suspend` and `virtbed resume`: what a person wants of tasks that run, through the controller's API
 * (docs/how-to/run.md), and whether it came about. All are asked for before any is waited for.
 */

#define ASK_EVERY_MS 200
#define WAIT_S 60.0

/* A step of tasks, and how long to wait for it. */
struct asking {
	struct client client;
	bool resume;
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

/* Whether the task is where it was wanted. */
static bool has_come(const struct asking *asking, const json_t *task)
{
	if (asking->resume)
		return g_str_equal(state_of(task), "running") && !is_held(task);
	return g_str_equal(state_of(task), "suspended") && is_held(task);
}

/* Whether it is on its way there. */
static bool is_coming(const struct asking *asking, const json_t *task)
{
	static const char *const suspending[] = {"suspending", NULL};
	static const char *const resuming[] = {"suspending", "suspended", "resuming", NULL};

	return asking->resume ? g_strv_contains(resuming, state_of(task)) && !is_held(task)
			      : g_strv_contains(suspending, state_of(task));
}

/* Follows the task until it is there, or cannot come there any more, or the time is up. */
static json_t *follow(struct asking *asking, guint64 number, json_t *first)
{
	g_autofree char *path = g_strdup_printf("/v1/tasks/%" PRIu64, number);
	json_t *task = first;

	while (task && is_coming(asking, task) &&
	       clock_elapsed_s(asking->from_ns, clock_now_ns()) < asking->wait_s) {
		json_decref(task);
		client_pause(ASK_EVERY_MS);
		task = client_get(&asking->client, path);
	}
	return task;
}

static int tell(const struct asking *asking, guint64 number, const json_t *task)
{
	bool come = has_come(asking, task);

	if (!asking->client.json && (come || is_coming(asking, task)))
		printf("task %" PRIu64 " is %s%s\n", number, state_of(task),
		       come		? ""
		       : asking->resume ? "; it goes on when its cluster has idle nodes for it"
					: "");
	if (come || (is_coming(asking, task) && !(asking->wait_s > 0)))
		return COMMAND_DONE;
	return command_fail(COMMAND_FAILED, asking->client.name,
			    "task %" PRIu64 " was not %s%s: it is %s", number,
			    asking->resume ? "resumed" : "suspended",
			    is_coming(asking, task) ? " in time" : "", state_of(task));
}

/* What the controller says of a task that is asked for; NULL: it refused, and why was printed. */
static json_t *ask(struct asking *asking, guint64 number)
{
	g_autofree char *path = g_strdup_printf("/v1/tasks/%" PRIu64 "/%s", number,
						asking->resume ? "resume" : "suspend");

	return client_post(&asking->client, path, NULL);
}

/* Asks for all, also where one is refused, and waits for the others, until nobody answers; the worst exit status. */
static int ask_all(struct asking *asking, const GArray *numbers)
{
	g_autoptr(GPtrArray) asked = g_ptr_array_new();
	g_autoptr(json_t) answers = json_array();
	int status = COMMAND_DONE;

	asking->from_ns = clock_now_ns();
	for (guint i = 0; i < numbers->len && !asking->client.lost; i++) {
		json_t *task = ask(asking, g_array_index(numbers, guint64, i));

		status = MAX(status, task ? COMMAND_DONE : asking->client.status);
		g_ptr_array_add(asked, task);
	}
	for (guint i = 0; i < asked->len; i++) {
		const guint64 number = g_array_index(numbers, guint64, i);
		json_t *task = asked->pdata[i];
		int outcome;

		if (!task)
			continue;
		if (!asking->client.lost)
			task = follow(asking, number, task);
		outcome = task ? tell(asking, number, task) : asking->client.status;
		status = MAX(status, outcome);
		if (task)
			json_array_append_new(answers, task);
	}
	client_print_tasks(&asking->client, answers);
	return status;
}

/* The tasks that can be asked for, when none is named. */
static int list(struct asking *asking)
{
	g_autoptr(json_t) answer =
		task_list_get(&asking->client, asking->resume ? "suspending,suspended" : "running",
			      NULL, NULL);
	json_t *task;
	size_t i;

	if (!answer)
		return asking->client.status;
	if (asking->client.json) {
		client_print_json(answer);
		return COMMAND_DONE;
	}
	printf("%6s %-14s %-10s %-12s %11s %s\n", "TASK", "TYPE", "STATE", "CLUSTER", "SUSPENSIONS",
	       "HELD");
	json_array_foreach (json_object_get(answer, "tasks"), i, task) {
		g_autofree char *type = field_line(task, "type");
		g_autofree char *cluster = field_line(task, "cluster");

		printf("%6" JSON_INTEGER_FORMAT " %-14s %-10s %-12s %11" JSON_INTEGER_FORMAT " %s\n",
		       field_integer(task, "task"), type, state_of(task), cluster,
		       field_integer(task, "suspensions"), is_held(task) ? "yes" : "no");
	}
	return COMMAND_DONE;
}

static bool parse(struct asking *asking, int *argc, char ***argv, GError **error)
{
	g_autofree char *wait = NULL;
	const GOptionEntry entries[] = {
		{"wait", 0, 0, G_OPTION_ARG_STRING, &wait,
		 "How long to wait until it came about (default: 60; 0: do not wait)", "S"},
		{NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("[TASK...]");

	client_add_options(&asking->client, context, entries);
	g_option_context_set_summary(
		context,
		asking->resume ? "Lets suspended tasks go on, as soon as their clusters have idle nodes.\n"
				 "Without TASK: lists the tasks that are suspended. " CLIENT_TASKS_HELP
			       : "Suspends running tasks: their VMs leave their cores, and they keep their "
				 "progress until a person\nresumes them. Without TASK: lists the tasks "
				 "that run. " CLIENT_TASKS_HELP);
	return g_option_context_parse(context, argc, argv, error) &&
	       number_option("--wait", wait, 0, NUMBER_OPTION_SECONDS_MAX, &asking->wait_s, error);
}

static int run(struct asking *asking, int argc, char **argv)
{
	const char *name = asking->client.name;
	g_autoptr(GError) error = NULL;
	g_autoptr(GArray) numbers = NULL;

	if (!parse(asking, &argc, &argv, &error))
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	if (argc > 1 && !(numbers = client_task_numbers(&asking->client, argv + 1)))
		return COMMAND_BAD;
	if (!client_open(&asking->client))
		return asking->client.status;
	return numbers ? ask_all(asking, numbers) : list(asking);
}

static int command(int argc, char **argv, bool resume)
{
	struct asking asking = {
		.client = {.name = argv[0]}, .resume = resume, .wait_s = WAIT_S};
	int status = run(&asking, argc, argv);

	client_clear(&asking.client);
	return status;
}

int cmd_suspend(int argc, char **argv)
{
	return command(argc, argv, false);
}

int cmd_resume(int argc, char **argv)
{
	return command(argc, argv, true);
}
