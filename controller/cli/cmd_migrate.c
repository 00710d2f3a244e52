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

/*
 * `virtbed migrate`: brings the VMs of tasks that run to other hosts, one task after another, through the controller's API
 * (docs/how-to/run.md).
 */

#define ASK_EVERY_MS 200
#define WAIT_S 600.0

/* What was asked for. */
struct asking {
	struct client client;
	char **to; /* lists of hosts, separated by commas */
	double wait_s;
};

static bool is_migrating(const json_t *task)
{
	return g_strcmp0(field_text(task, "state"), "migrating") == 0;
}

/* All hosts that were named, in `to` and behind the task. */
static json_t *list_hosts(const struct asking *asking, char **more)
{
	json_t *list = json_array();

	for (char **one = asking->to; one && *one; one++) {
		g_auto(GStrv) names = g_strsplit(*one, ",", -1);

		for (char **name = names; *name; name++)
			json_array_append_new(list, json_string(*name));
	}
	for (; *more; more++)
		json_array_append_new(list, json_string(*more));
	return list;
}

/* The last migration that the task object tells of, or NULL. */
static const json_t *last_migration(const json_t *task)
{
	const json_t *list = json_object_get(task, "migrated");

	return json_array_get(list, json_array_size(list) - 1);
}

static int tell(const struct asking *asking, guint64 number, const json_t *task)
{
	const char *name = asking->client.name;
	g_autofree char *state = field_line(task, "state");
	const json_t *last = last_migration(task);
	g_autofree char *reason = field_line(last, "reason");

	if (is_migrating(task) && asking->wait_s > 0)
		return command_fail(COMMAND_FAILED, name,
				    "task %" PRIu64 " was not migrated in time", number);
	if (field_text(last, "reason"))
		return command_fail(COMMAND_FAILED, name, "task %" PRIu64 " was not migrated: %s",
				    number, reason);
	if (!is_migrating(task) && !json_is_number(json_object_get(last, "ended_s")))
		return command_fail(COMMAND_FAILED, name,
				    "task %" PRIu64 " was not migrated: it is %s", number, state);
	if (!asking->client.json) {
		g_autofree char *hosts = field_names(task, "hosts");

		printf("task %" PRIu64 " is %s on %s\n", number, state, hosts);
	}
	return COMMAND_DONE;
}

/* Waits until it came about. What the controller said last, or NULL where it refused, and why was printed. */
static json_t *migrate(struct asking *asking, guint64 number, json_t *hosts)
{
	g_autofree char *path = g_strdup_printf("/v1/tasks/%" PRIu64, number);
	g_autofree char *asked = g_strdup_printf("%s/migrate", path);
	g_autoptr(json_t) body = json_pack("{s:O}", "to", hosts);
	int64_t from_ns = clock_now_ns();
	json_t *task = client_post(&asking->client, asked, body);

	while (task && is_migrating(task) &&
	       clock_elapsed_s(from_ns, clock_now_ns()) < asking->wait_s) {
		json_decref(task);
		client_pause(ASK_EVERY_MS);
		task = client_get(&asking->client, path);
	}
	return task;
}

/* All of them, also where one is refused, until nobody answers; the worst exit status. */
static int migrate_all(struct asking *asking, const GArray *numbers, char **more)
{
	g_autoptr(json_t) hosts = list_hosts(asking, more);
	g_autoptr(json_t) answers = json_array();
	int status = COMMAND_DONE;

	for (guint i = 0; i < numbers->len && !asking->client.lost; i++) {
		const guint64 number = g_array_index(numbers, guint64, i);
		json_t *task = migrate(asking, number, hosts);
		const int outcome = task ? tell(asking, number, task) : asking->client.status;

		status = MAX(status, outcome);
		if (task)
			json_array_append_new(answers, task);
	}
	client_print_tasks(&asking->client, answers);
	return status;
}

static bool parse(struct asking *asking, int *argc, char ***argv, GError **error)
{
	g_autofree char *wait = NULL;
	const GOptionEntry entries[] = {
		{"to", 0, 0, G_OPTION_ARG_STRING_ARRAY, &asking->to,
		 "Hosts for its VMs, which are dealt out over them", "HOST..."},
		{"wait", 0, 0, G_OPTION_ARG_STRING, &wait,
		 "How long to wait until it came about (default: 600; 0: do not wait)", "S"},
		{NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("TASK[,TASK...] --to HOST...");

	client_add_options(&asking->client, context, entries);
	g_option_context_set_summary(
		context, "Brings the VMs of a running task to other hosts of its cluster while it "
			 "runs on. As few VMs\nas possible move. " CLIENT_TASKS_HELP);
	return g_option_context_parse(context, argc, argv, error) &&
	       number_option("--wait", wait, 0, NUMBER_OPTION_SECONDS_MAX, &asking->wait_s, error);
}

/* The first of the hosts behind the task that is not UTF-8, as JSON's texts are, or NULL; GLib looks at --to. */
static const char *find_no_host(char *const *hosts)
{
	for (; *hosts; hosts++)
		if (!g_utf8_validate(*hosts, -1, NULL))
			return *hosts;
	return NULL;
}

/* The first of the hosts behind the task that is written as tasks are, or NULL. A host of such a name goes to --to. */
static const char *find_task(char *const *hosts)
{
	for (; *hosts; hosts++)
		if (g_ascii_isdigit(**hosts) && strspn(*hosts, "0123456789,-") == strlen(*hosts))
			return *hosts;
	return NULL;
}

static int run(struct asking *asking, int argc, char **argv)
{
	char *first[] = {NULL, NULL};
	const char *no_host;
	const char *task;
	g_autoptr(GArray) numbers = NULL;
	g_autoptr(GError) error = NULL;

	if (!parse(asking, &argc, &argv, &error))
		return command_fail(COMMAND_BAD, asking->client.name, "%s", error->message);
	if (argc < 2 || !asking->to)
		return command_fail(COMMAND_BAD, asking->client.name,
				    "give a TASK, a number (or several: 3,5-7), then --to and hosts; try --help");
	no_host = find_no_host(argv + 2);
	if (no_host) {
		g_autofree char *shown = g_utf8_make_valid(no_host, -1);

		return command_fail(COMMAND_BAD, asking->client.name, "'%s' is not UTF-8, and no host", shown);
	}
	task = find_task(argv + 2);
	if (task)
		return command_fail(COMMAND_BAD, asking->client.name,
				    "'%s' stands where hosts do; several tasks: %s,%s; several hosts: --to HOST,HOST", task,
				    argv[1], task);
	first[0] = argv[1];
	numbers = client_task_numbers(&asking->client, first);
	if (!numbers || !client_open(&asking->client))
		return asking->client.status;
	return migrate_all(asking, numbers, argv + 2);
}

int cmd_migrate(int argc, char **argv)
{
	struct asking asking = {.client = {.name = argv[0]}, .wait_s = WAIT_S};
	int status = run(&asking, argc, argv);

	client_clear(&asking.client);
	g_strfreev(asking.to);
	return status;
}
