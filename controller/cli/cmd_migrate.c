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
#include "controller/cli/task_wait.h"

/*
 * `virtbed migrate` (docs/how-to/run.md): brings the VMs of running tasks to other hosts, one task
 * after another.
 */

#define WAIT_S 600.0

/* The command's arguments. */
struct migrating {
	struct client client;
	char **to; /* lists of hosts, separated by commas */
	double wait_s;
};

static bool is_migrating(const json_t *task, const void *data)
{
	return g_strcmp0(field_text(task, "state"), "migrating") == 0;
}

/* The hosts of --to, and those named after the task. */
static json_t *list_hosts(const struct migrating *migrating, char **more)
{
	json_t *list = json_array();

	for (char **one = migrating->to; one && *one; one++) {
		g_auto(GStrv) names = g_strsplit(*one, ",", -1);

		for (char **name = names; *name; name++)
			json_array_append_new(list, json_string(*name));
	}
	for (; *more; more++)
		json_array_append_new(list, json_string(*more));
	return list;
}

/* The latest entry of the task's list of migrations, or NULL. */
static const json_t *last_migration(const json_t *task)
{
	const json_t *list = json_object_get(task, "migrated");

	return json_array_get(list, json_array_size(list) - 1);
}

/* Prints the outcome; returns the exit status. */
static int report_task(const struct migrating *migrating, guint64 number, const json_t *task)
{
	const char *name = migrating->client.name;
	g_autofree char *state = field_line(task, "state");
	const json_t *last = last_migration(task);
	g_autofree char *reason = field_line(last, "reason");

	if (is_migrating(task, NULL) && migrating->wait_s > 0)
		return command_fail(COMMAND_FAILED, name,
				    "task %" PRIu64 " was not migrated in time", number);
	if (field_text(last, "reason"))
		return command_fail(COMMAND_FAILED, name, "task %" PRIu64 " was not migrated: %s",
				    number, reason);
	if (!is_migrating(task, NULL) && !json_is_number(json_object_get(last, "ended_s")))
		return command_fail(COMMAND_FAILED, name,
				    "task %" PRIu64 " was not migrated: it is %s", number, state);
	if (!migrating->client.json) {
		g_autofree char *hosts = field_names(task, "hosts");

		printf("task %" PRIu64 " is %s on %s\n", number, state, hosts);
	}
	return COMMAND_DONE;
}

/*
 * Waits for the end of the migration. Returns the last answer, or NULL after a failure was printed.
 */
static json_t *migrate(struct migrating *migrating, guint64 number, json_t *hosts)
{
	g_autofree char *path = g_strdup_printf("/v1/tasks/%" PRIu64 "/migrate", number);
	g_autoptr(json_t) body = json_pack("{s:O}", "to", hosts);
	int64_t from_ns = clock_now_ns();
	json_t *task = client_post(&migrating->client, path, body);

	return task_wait_while(&migrating->client, number, task, is_migrating, NULL, from_ns,
			       migrating->wait_s);
}

/*
 * A refused migration does not keep the next from being requested; a controller that does not
 * answer ends the command. Returns the worst exit status.
 */
static int migrate_all(struct migrating *migrating, const GArray *numbers, char **more)
{
	g_autoptr(json_t) hosts = list_hosts(migrating, more);
	g_autoptr(json_t) answers = json_array();
	int status = COMMAND_DONE;

	for (guint i = 0; i < numbers->len && !migrating->client.lost; i++) {
		const guint64 number = g_array_index(numbers, guint64, i);
		json_t *task = migrate(migrating, number, hosts);
		const int outcome = task ? report_task(migrating, number, task) : migrating->client.status;

		status = MAX(status, outcome);
		if (task)
			json_array_append_new(answers, task);
	}
	client_print_tasks(&migrating->client, answers);
	return status;
}

static bool parse(struct migrating *migrating, int *argc, char ***argv, GError **error)
{
	g_autofree char *wait = NULL;
	const GOptionEntry entries[] = {
		{"to", 0, 0, G_OPTION_ARG_STRING_ARRAY, &migrating->to,
		 "Hosts for its VMs, which are dealt out over them", "HOST..."},
		{"wait", 0, 0, G_OPTION_ARG_STRING, &wait,
		 "How long to wait until it is done (default: 600; 0: do not wait)", "S"},
		{NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("TASK[,TASK...] --to HOST...");

	client_add_options(&migrating->client, context, entries);
	g_option_context_set_summary(
		context, "Brings the VMs of a running task to other hosts of its cluster without "
			 "stopping it. As few VMs\nas possible move. " CLIENT_TASKS_HELP);
	return g_option_context_parse(context, argc, argv, error) &&
	       number_option("--wait", wait, 0, NUMBER_OPTION_SECONDS_MAX, &migrating->wait_s, error);
}

/*
 * The first host after the task that is not UTF-8, as texts of JSON have to be, or NULL. GLib
 * checks the value of --to.
 */
static const char *find_no_host(char *const *hosts)
{
	for (; *hosts; hosts++)
		if (!g_utf8_validate(*hosts, -1, NULL))
			return *hosts;
	return NULL;
}

/*
 * The first host after the task that is written like a task, or NULL. A host with such a name can
 * only be given with --to.
 */
static const char *find_task(char *const *hosts)
{
	for (; *hosts; hosts++)
		if (g_ascii_isdigit(**hosts) && strspn(*hosts, "0123456789,-") == strlen(*hosts))
			return *hosts;
	return NULL;
}

static int run_migrate(struct migrating *migrating, int argc, char **argv)
{
	char *first[] = {NULL, NULL};
	const char *no_host;
	const char *task;
	g_autoptr(GArray) numbers = NULL;
	g_autoptr(GError) error = NULL;

	if (!parse(migrating, &argc, &argv, &error))
		return command_fail(COMMAND_BAD, migrating->client.name, "%s", error->message);
	if (argc < 2 || !migrating->to)
		return command_fail(COMMAND_BAD, migrating->client.name,
				    "give a TASK, a number (or several: 3,5-7), then --to and hosts; try --help");
	no_host = find_no_host(argv + 2);
	if (no_host) {
		g_autofree char *shown = g_utf8_make_valid(no_host, -1);

		return command_fail(COMMAND_BAD, migrating->client.name, "'%s' is not UTF-8, and no host", shown);
	}
	task = find_task(argv + 2);
	if (task)
		return command_fail(COMMAND_BAD, migrating->client.name,
				    "'%s' stands where hosts do; several tasks: %s,%s; several hosts: --to HOST,HOST", task,
				    argv[1], task);
	first[0] = argv[1];
	numbers = client_task_numbers(&migrating->client, first);
	if (!numbers || !client_open(&migrating->client))
		return migrating->client.status;
	return migrate_all(migrating, numbers, argv + 2);
}

int cmd_migrate(int argc, char **argv)
{
	struct migrating migrating = {.client = {.name = argv[0]}, .wait_s = WAIT_S};
	int status = run_migrate(&migrating, argc, argv);

	client_clear(&migrating.client);
	g_strfreev(migrating.to);
	return status;
}
