/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/number_option.h"
#include "common/wire/wire_task.h"
#include "controller/cli/client.h"
#include "controller/cli/commands.h"
#include "controller/cli/fields.h"
#include "controller/cli/tables.h"
#include "controller/cli/task_list.h"

/*
 * The orders about tasks (docs/how-to/run.md): `virtbed cancel`, `hold`, `release`, `suspend`,
 * `resume` and `migrate`. An order is a request for each task, POST /v1/tasks/N/VERB, and for some
 * verbs a wait until the task has done what was asked.
 */

#define STEP_WAIT_S 60.0
#define MIGRATE_WAIT_S 600.0

/* Between two requests about a task that is being suspended, resumed or migrated. */
#define STEP_PAUSE_MS 200

struct order;

/* What differs between the orders. */
struct verb {
	const char *path; /* the last part of the request's path, and the name of the command */
	const char *done; /* what the task then is, for messages */
	/* Prints the outcome; returns the exit status. */
	int (*report)(const struct order *order, guint64 number, const json_t *task);
	const char *summary;
	double wait_s;          /* the default; 0: the order is done with the answer */
	const char *pending[6]; /* states of tasks that have yet to do what was asked */
	bool frees;             /* the task is then not held any more; else it is */
	const char *listed; /* states of the tasks that are listed without a TASK; NULL: none are */
};

/* An order as given on the command line. */
struct order {
	struct client *client;
	const struct verb *verb;
	double wait_s;
	json_t *body;    /* of the requests; NULL: none */
	json_t *answers; /* the last one about each task whose request was accepted */
	int status;      /* the worst exit status so far */
};

static const char *state_of(const json_t *task)
{
	return field_text(task, "state") ?: "";
}

static bool is_held(const json_t *task)
{
	return json_is_true(json_object_get(task, "held"));
}

static bool is_pending(const struct verb *verb, const json_t *task)
{
	return g_strv_contains(verb->pending, state_of(task)) && !(verb->frees && is_held(task));
}

/* Cancelling, holding and releasing. A running task ends a little after the request. */

static int report_done(const struct order *order, guint64 number, const json_t *task)
{
	if (!order->client->json)
		printf("task %" PRIu64 " is %s\n", number, order->verb->done);
	return COMMAND_DONE;
}

static int report_cancelled(const struct order *order, guint64 number, const json_t *task)
{
	if (field_state_ended(field_text(task, "state")))
		return report_done(order, number, task);
	if (!order->client->json)
		printf("task %" PRIu64 " is being cancelled: it is %s\n", number,
		       field_text(task, "state") ?: "-");
	return COMMAND_DONE;
}

static int report_hold(const struct order *order, guint64 number, const json_t *task)
{
	if (is_held(task) != order->verb->frees)
		return report_done(order, number, task);
	return command_fail(COMMAND_FAILED, order->client->name,
			    "the controller does not say that task %" PRIu64 " is %s", number,
			    order->verb->done);
}

/* Suspending and resuming. */

static int report_step(const struct order *order, guint64 number, const json_t *task)
{
	const bool frees = order->verb->frees;
	const bool done = g_str_equal(state_of(task), frees ? "running" : "suspended") &&
			  is_held(task) != frees;
	const bool pending = is_pending(order->verb, task);

	if (!order->client->json && (done || pending))
		printf("task %" PRIu64 " is %s%s\n", number, state_of(task),
		       pending && frees ? "; it is resumed when its cluster has idle nodes for it"
					: "");
	if (done || (pending && !(order->wait_s > 0)))
		return COMMAND_DONE;
	return command_fail(COMMAND_FAILED, order->client->name,
			    "task %" PRIu64 " was not %s%s: it is %s", number, order->verb->done,
			    pending ? " in time" : "", state_of(task));
}

/* Migrating. */

static int report_migration(const struct order *order, guint64 number, const json_t *task)
{
	const char *name = order->client->name;
	const bool pending = is_pending(order->verb, task);
	const json_t *list = json_object_get(task, "migrated");
	const json_t *last = json_array_get(list, json_array_size(list) - 1);
	g_autofree char *state = field_line(task, "state");
	g_autofree char *reason = field_line(last, "reason");
	g_autofree char *hosts = field_names(task, "hosts");

	if (pending && order->wait_s > 0)
		return command_fail(COMMAND_FAILED, name,
				    "task %" PRIu64 " was not migrated in time", number);
	if (field_text(last, "reason"))
		return command_fail(COMMAND_FAILED, name, "task %" PRIu64 " was not migrated: %s",
				    number, reason);
	if (!pending && !json_is_number(json_object_get(last, "ended_s")))
		return command_fail(COMMAND_FAILED, name,
				    "task %" PRIu64 " was not migrated: it is %s", number, state);
	if (!order->client->json)
		printf("task %" PRIu64 " is %s on %s\n", number, state, hosts);
	return COMMAND_DONE;
}

/* The verbs, by the names of their commands. */
static const struct verb verbs[] = {
	{
		.path = "cancel",
		.done = "cancelled",
		.report = report_cancelled,
		.summary =
			"Ends tasks for good. A task that waits, or is held or quarantined, has ended when the command\n"
			"returns. A task that runs, starts, migrates or is suspended is killed a moment later, and its\n"
			"progress is lost. Cancelling an ended task is an error. " CLIENT_TASKS_HELP,
	},
	{
		.path = "hold",
		.done = "held",
		.report = report_hold,
		.summary =
			"Keeps waiting tasks from being started until they are released. " CLIENT_TASKS_HELP,
	},
	{
		.path = "release",
		.done = "released",
		.report = report_hold,
		.summary = "Lets tasks that are held be started. " CLIENT_TASKS_HELP,
		.frees = true,
	},
	{
		.path = "suspend",
		.done = "suspended",
		.report = report_step,
		.summary =
			"Suspends running tasks: their VMs leave their cores, and they keep their "
			"progress until a user\nresumes them. Without TASK: lists the tasks "
			"that run. " CLIENT_TASKS_HELP,
		.wait_s = STEP_WAIT_S,
		.pending = {TASK_WORD_SUSPENDING},
		.listed = "running",
	},
	{
		.path = "resume",
		.done = "resumed",
		.report = report_step,
		.summary = "Resumes suspended tasks, as soon as their clusters have idle nodes.\n"
			   "Without TASK: lists the tasks that are suspended. " CLIENT_TASKS_HELP,
		.wait_s = STEP_WAIT_S,
		.pending = {TASK_WORD_SUSPENDING, TASK_WORD_SUSPENDING_CLAIMED, TASK_WORD_SUSPENDED,
			    TASK_WORD_SUSPENDED_CLAIMED, TASK_WORD_RESUMING},
		.frees = true,
		.listed = TASK_WORD_SUSPENDING "," TASK_WORD_SUSPENDING_CLAIMED
					       "," TASK_WORD_SUSPENDED
					       "," TASK_WORD_SUSPENDED_CLAIMED,
	},
};

static const struct verb migrate = {
	.path = "migrate",
	.done = "migrated",
	.report = report_migration,
	.summary = "Brings the VMs of a running task to other hosts of its cluster without "
		   "stopping it. As few VMs\nas possible move. " CLIENT_TASKS_HELP,
	.wait_s = MIGRATE_WAIT_S,
	.pending = {"migrating"},
};

static void note_status(struct order *order, int status)
{
	order->status = MAX(order->status, status);
}

/*
 * Asks for the task again while it is pending and the time since `from_ns` is not over, and reports
 * the outcome. `task` is the first answer, taken over, or NULL after a refusal was printed.
 */
static void finish(struct order *order, guint64 number, json_t *task, int64_t from_ns)
{
	g_autofree char *path = g_strdup_printf("/v1/tasks/%" PRIu64, number);

	if (!task)
		return;
	while (task && !order->client->lost && is_pending(order->verb, task) &&
	       clock_elapsed_s(from_ns, clock_now_ns()) < order->wait_s) {
		json_decref(task);
		client_pause(STEP_PAUSE_MS);
		task = client_get(order->client, path);
	}
	note_status(order, task ? order->verb->report(order, number, task) : order->client->status);
	if (task)
		json_array_append_new(order->answers, task);
}

/*
 * A refused request does not keep the others from being sent; a controller that does not answer
 * ends the command. Suspending and resuming tasks takes its time: all requests are sent before any
 * task is waited for. Other orders are carried out task by task. Returns the worst exit status.
 */
static int carry_out(struct order *order, const GArray *numbers)
{
	const bool at_once = order->verb->listed;
	const int64_t begun_ns = clock_now_ns();
	g_autoptr(GPtrArray) tasks = g_ptr_array_new();
	g_autoptr(json_t) answers = json_array();

	order->answers = answers;
	for (guint i = 0; i < numbers->len && !order->client->lost; i++) {
		const guint64 number = g_array_index(numbers, guint64, i);
		g_autofree char *path =
			g_strdup_printf("/v1/tasks/%" PRIu64 "/%s", number, order->verb->path);
		const int64_t from_ns = clock_now_ns();
		json_t *task = client_post(order->client, path, order->body);

		if (!task)
			note_status(order, order->client->status);
		if (at_once)
			g_ptr_array_add(tasks, task);
		else
			finish(order, number, task, from_ns);
	}
	for (guint i = 0; i < tasks->len; i++)
		finish(order, g_array_index(numbers, guint64, i), tasks->pdata[i], begun_ns);
	if (order->verb->wait_s > 0)
		client_print_tasks(order->client, answers);
	else
		client_print_list(order->client, "tasks", answers);
	return order->status;
}

static bool parse(struct order *order, int *argc, char ***argv, const char *usage, char ***hosts)
{
	g_autofree char *help =
		g_strdup_printf("How long to wait until it is done (default: %.0f; 0: do not wait)",
				order->verb->wait_s);
	const struct command_option options[] = {
		{"to", 0, COMMAND_TEXTS, hosts, "Hosts for its VMs, which are dealt out over them",
		 "HOST..."},
		{"wait", 0, COMMAND_NUMBER, &order->wait_s, help, "S", 0,
		 NUMBER_OPTION_SECONDS_MAX},
		{NULL},
	};

	order->wait_s = order->verb->wait_s;
	return client_parse(order->client, argc, argv, usage, order->verb->summary,
			    order->verb->wait_s > 0 ? options + (hosts ? 0 : 1) : NULL);
}

int cmd_order(int argc, char **argv)
{
	g_auto(client_t) client = {.name = argv[0]};
	const struct verb *verb = verbs;
	struct order order = {.client = &client};
	g_autoptr(GArray) numbers = NULL;
	g_autoptr(json_t) listed = NULL;

	while (!g_str_has_suffix(argv[0], verb->path))
		verb++;
	order.verb = verb;
	if (!parse(&order, &argc, &argv, verb->listed ? "[TASK...]" : "TASK...", NULL))
		return COMMAND_BAD;
	if ((argc > 1 || !verb->listed) && !(numbers = client_task_numbers(&client, argv + 1)))
		return COMMAND_BAD;
	if (!client_open(&client))
		return client.status;
	if (numbers)
		return carry_out(&order, numbers);
	listed = task_list_get(&client, verb->listed, NULL, NULL);
	return client_print(&client, listed, table_of_suspensions);
}

/* The hosts of --to, lists separated by commas, and those named after the task. */
static json_t *list_hosts(char *const *to, char *const *more)
{
	json_t *list = json_array();

	for (; *to; to++) {
		g_auto(GStrv) names = g_strsplit(*to, ",", -1);

		for (char **name = names; *name; name++)
			json_array_append_new(list, json_string(*name));
	}
	for (; *more; more++)
		json_array_append_new(list, json_string(*more));
	return list;
}

/*
 * Checks the hosts after the task: they are UTF-8, as texts of JSON have to be, and not written
 * like tasks. GLib checked those of --to; a host with a name like a task's can only be given there.
 */
static int check_hosts(const char *name, const char *task, char *const *hosts)
{
	for (char *const *host = hosts; *host; host++) {
		g_autofree char *shown = g_utf8_make_valid(*host, -1);

		if (!g_utf8_validate(*host, -1, NULL))
			return command_fail(COMMAND_BAD, name, "'%s' is not UTF-8, and no host",
					    shown);
	}
	for (; *hosts; hosts++)
		if (g_ascii_isdigit(**hosts) && strspn(*hosts, "0123456789,-") == strlen(*hosts))
			return command_fail(
				COMMAND_BAD, name,
				"'%s' stands where hosts do; several tasks: %s,%s; several "
				"hosts: --to HOST,HOST",
				*hosts, task, *hosts);
	return COMMAND_DONE;
}

int cmd_migrate(int argc, char **argv)
{
	g_auto(client_t) client = {.name = argv[0]};
	struct order order = {.client = &client, .verb = &migrate};
	char *first[] = {NULL, NULL};
	char **to = NULL;
	g_autoptr(GArray) numbers = NULL;
	g_autoptr(json_t) body = NULL;

	if (!parse(&order, &argc, &argv, "TASK[,TASK...] --to HOST...", &to))
		return COMMAND_BAD;
	if (argc < 2 || !to)
		return command_fail(
			COMMAND_BAD, client.name,
			"give a TASK, a number (or several: 3,5-7), then --to and hosts; try --help");
	first[0] = argv[1];
	if (check_hosts(client.name, argv[1], argv + 2) != COMMAND_DONE ||
	    !(numbers = client_task_numbers(&client, first)))
		return COMMAND_BAD;
	if (!client_open(&client))
		return client.status;
	order.body = body = json_pack("{s:o}", "to", list_hosts(to, argv + 2));
	return carry_out(&order, numbers);
}
