/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/http_client.h"
#include "common/json.h"
#include "controller/cli/commands.h"
#include "controller/cli/run_address.h"

/*
 * `virtbed suspend` and `virtbed resume`: what a person wants of a task of the run under way, through
 * the controller's API (docs/run.md), and whether it came about.
 */

#define ASK_TIMEOUT_S 10.0
#define ASK_EVERY_MS 200
#define WAIT_S 60.0

struct arguments {
	char *at, *dir;
	double wait_s;
	gboolean json;
};

/* Asking. */

/* The outcome of a step, and how it can be told. */
struct asking {
	const char *name; /* of the command */
	bool resume;
	const char *task;
	const struct arguments *arguments;
	struct http_client *client;
};

static const char *state_of(const json_t *task)
{
	return json_string_value(json_object_get(task, "state")) ?: "";
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

static gboolean time_is_up(gpointer data)
{
	*(bool *)data = true;
	return G_SOURCE_REMOVE;
}

static void pause_asking(void)
{
	bool up = false;

	g_timeout_add(ASK_EVERY_MS, time_is_up, &up);
	while (!up)
		g_main_context_iteration(NULL, TRUE);
}

/* Follows the task until it is there, or cannot come there any more, or the time is up. */
static json_t *follow(const struct asking *asking, json_t *first, GError **error)
{
	g_autofree char *path = g_strdup_printf("/v1/tasks/%s", asking->task);
	int64_t from_ns = clock_now_ns();
	json_t *task = first;

	while (task && is_coming(asking, task) &&
	       clock_elapsed_s(from_ns, clock_now_ns()) < asking->arguments->wait_s) {
		json_decref(task);
		pause_asking();
		task = http_client_call(asking->client, "GET", path, NULL, ASK_TIMEOUT_S, error);
	}
	return task;
}

static int tell(const struct asking *asking, const json_t *task)
{
	bool come = has_come(asking, task);

	if (asking->arguments->json) {
		g_autofree char *text = json_pretty(task);

		puts(text);
	} else if (come || is_coming(asking, task)) {
		printf("task %s is %s%s\n", asking->task, state_of(task),
		       come				? ""
		       : asking->resume ? "; it goes on when its cluster has idle nodes for it"
					: "");
	}
	if (come || (is_coming(asking, task) && !(asking->arguments->wait_s > 0)))
		return COMMAND_DONE;
	return command_fail(COMMAND_FAILED, asking->name, "task %s was not %s%s: it is %s",
			    asking->task, asking->resume ? "resumed" : "suspended",
			    is_coming(asking, task) ? " in time" : "", state_of(task));
}

static int fail(const struct asking *asking, const GError *error)
{
	bool unknown = g_error_matches(error, HTTP_ERROR, HTTP_ERROR_STATUS) &&
		       strstr(error->message, "there is no task");

	return command_fail(unknown ? COMMAND_BAD : COMMAND_FAILED, asking->name, "%s",
			    error->message);
}

static int ask(struct asking *asking)
{
	g_autofree char *path = g_strdup_printf("/v1/tasks/%s/%s", asking->task,
						asking->resume ? "resume" : "suspend");
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) task = http_client_call(asking->client, "POST", path, NULL,
						  ASK_TIMEOUT_S, &error);

	if (task)
		task = follow(asking, task, &error);
	return task ? tell(asking, task) : fail(asking, error);
}

/* The tasks that can be asked for, when none is named. */
static int list(const struct asking *asking)
{
	static const char *const running[] = {"running", NULL};
	static const char *const suspended[] = {"suspending", "suspended", NULL};
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) answer = http_client_call(asking->client, "GET", "/v1/tasks", NULL,
						    ASK_TIMEOUT_S, &error);
	g_autoptr(json_t) chosen = json_array();
	json_t *task;
	size_t i;

	if (!answer)
		return fail(asking, error);
	json_array_foreach (json_object_get(answer, "tasks"), i, task) {
		if (g_strv_contains(asking->resume ? suspended : running, state_of(task)))
			json_array_append(chosen, task);
	}
	if (asking->arguments->json) {
		g_autoptr(json_t) document = json_pack("{s:O}", "tasks", chosen);
		g_autofree char *text = json_pretty(document);

		puts(text);
		return COMMAND_DONE;
	}
	printf("%6s %-14s %-10s %-12s %11s %s\n", "TASK", "TYPE", "STATE", "CLUSTER", "SUSPENSIONS",
	       "HELD");
	json_array_foreach (chosen, i, task) {
		printf("%6" JSON_INTEGER_FORMAT " %-14s %-10s %-12s %11" JSON_INTEGER_FORMAT " %s\n",
		       json_integer_value(json_object_get(task, "task")),
		       json_string_value(json_object_get(task, "type")) ?: "-", state_of(task),
		       json_string_value(json_object_get(task, "cluster")) ?: "-",
		       json_integer_value(json_object_get(task, "suspensions")),
		       is_held(task) ? "yes" : "no");
	}
	return COMMAND_DONE;
}

static bool parse(int *argc, char ***argv, bool resume, struct arguments *arguments, GError **error)
{
	const GOptionEntry entries[] = {
		{"run", 0, 0, G_OPTION_ARG_FILENAME, &arguments->dir,
		 "Directory of the run under way (default: the latest under runs/)", "DIR"},
		{"at", 0, 0, G_OPTION_ARG_STRING, &arguments->at,
		 "Address of its controller (default: $VIRTBED_URI, or the run's)",
		 "unix:PATH|http://HOST:PORT"},
		{"wait", 0, 0, G_OPTION_ARG_DOUBLE, &arguments->wait_s,
		 "How long to wait until it came about (default: 60; 0: do not wait)", "S"},
		{"json", 0, 0, G_OPTION_ARG_NONE, &arguments->json, "One JSON document", NULL},
		{NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("[TASK]");

	g_option_context_add_main_entries(context, entries, NULL);
	g_option_context_set_summary(
		context,
		resume ? "Lets a suspended task of the run under way go on, as soon as its cluster "
			 "has idle nodes.\nWithout TASK: lists the tasks that are suspended."
		       : "Suspends a task of the run under way: its VMs leave their cores, and it "
			 "keeps its progress\nuntil a person resumes it. Without TASK: lists the tasks "
			 "that run.");
	return g_option_context_parse(context, argc, argv, error);
}

static bool is_number(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

static int run(int argc, char **argv, bool resume, struct arguments *arguments)
{
	const char *name = argv[0];
	g_autoptr(GError) error = NULL;
	g_autofree char *address = NULL;
	g_autoptr(http_client_t) client = NULL;
	struct asking asking = {.name = name, .resume = resume, .arguments = arguments};

	if (!parse(&argc, &argv, resume, arguments, &error))
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	if (argc > 2 || (argc == 2 && !is_number(argv[1])) || !(arguments->wait_s >= 0) ||
	    (arguments->at && arguments->dir))
		return command_fail(COMMAND_BAD, name,
				    "give at most one TASK, a number; --wait from 0; --run or "
				    "--at; try --help");
	address = run_address_find(arguments->at, arguments->dir, &error);
	if (address)
		client = http_client_new(address, &error);
	if (!client)
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	asking.client = client;
	asking.task = argv[1];
	return argc == 2 ? ask(&asking) : list(&asking);
}

static int command(int argc, char **argv, bool resume)
{
	struct arguments arguments = {.wait_s = WAIT_S};
	int status = run(argc, argv, resume, &arguments);

	g_free(arguments.at);
	g_free(arguments.dir);
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
