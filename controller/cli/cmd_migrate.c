/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/json.h"
#include "controller/cli/client.h"
#include "controller/cli/commands.h"
#include "controller/cli/fields.h"

/*
 * `virtbed migrate`: brings the VMs of a task that runs to other hosts, through the controller's API
 * (docs/run.md).
 */

#define ASK_EVERY_MS 200
#define WAIT_S 600.0

/* What was asked for. */
struct asking {
	struct client client;
	char **to; /* lists of hosts, separated by commas */
	double wait_s;
	guint64 task;
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

static int tell(const struct asking *asking, const json_t *task)
{
	const char *name = asking->client.name;
	g_autofree char *state = field_line(task, "state");
	const json_t *last = last_migration(task);
	g_autofree char *reason = field_line(last, "reason");

	if (asking->client.json)
		client_print_json(task);
	if (is_migrating(task) && asking->wait_s > 0)
		return command_fail(COMMAND_FAILED, name,
				    "task %" PRIu64 " was not migrated in time", asking->task);
	if (field_text(last, "reason"))
		return command_fail(COMMAND_FAILED, name, "task %" PRIu64 " was not migrated: %s",
				    asking->task, reason);
	if (!is_migrating(task) && !json_is_number(json_object_get(last, "ended_s")))
		return command_fail(COMMAND_FAILED, name,
				    "task %" PRIu64 " was not migrated: it is %s", asking->task,
				    state);
	if (!asking->client.json) {
		g_autofree char *hosts = field_names(task, "hosts");

		printf("task %" PRIu64 " is %s on %s\n", asking->task, state, hosts);
	}
	return COMMAND_DONE;
}

static int migrate(struct asking *asking, char **more)
{
	g_autofree char *path = g_strdup_printf("/v1/tasks/%" PRIu64, asking->task);
	g_autofree char *asked = g_strdup_printf("%s/migrate", path);
	g_autoptr(json_t) body = json_pack("{s:o}", "to", list_hosts(asking, more));
	int64_t from_ns = clock_now_ns();
	g_autoptr(json_t) task = client_post(&asking->client, asked, body);

	while (task && is_migrating(task) &&
	       clock_elapsed_s(from_ns, clock_now_ns()) < asking->wait_s) {
		json_decref(task);
		client_pause(ASK_EVERY_MS);
		task = client_get(&asking->client, path);
	}
	return task ? tell(asking, task) : asking->client.status;
}

static bool parse(struct asking *asking, int *argc, char ***argv, GError **error)
{
	const GOptionEntry entries[] = {
		{"to", 0, 0, G_OPTION_ARG_STRING_ARRAY, &asking->to,
		 "Hosts for its VMs, which are dealt out over them", "HOST..."},
		{"wait", 0, 0, G_OPTION_ARG_DOUBLE, &asking->wait_s,
		 "How long to wait until it came about (default: 600; 0: do not wait)", "S"},
		{NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("TASK --to HOST...");

	client_add_options(&asking->client, context, entries);
	g_option_context_set_summary(
		context, "Brings the VMs of a running task to other hosts of its cluster while it "
			 "runs on. As few VMs\nas possible move.");
	return g_option_context_parse(context, argc, argv, error);
}

/* The first of the hosts behind the task that is not UTF-8, as JSON's texts are, or NULL; GLib looks at --to. */
static const char *find_no_host(char *const *hosts)
{
	for (; *hosts; hosts++)
		if (!g_utf8_validate(*hosts, -1, NULL))
			return *hosts;
	return NULL;
}

static int run(struct asking *asking, int argc, char **argv)
{
	char *first[] = {NULL, NULL};
	const char *no_host;
	g_autoptr(GArray) numbers = NULL;
	g_autoptr(GError) error = NULL;

	if (!parse(asking, &argc, &argv, &error))
		return command_fail(COMMAND_BAD, asking->client.name, "%s", error->message);
	if (argc < 2 || !(asking->wait_s >= 0) || !asking->to)
		return command_fail(COMMAND_BAD, asking->client.name,
				    "give a TASK, a number, then --to and hosts; --wait from 0; try "
				    "--help");
	no_host = find_no_host(argv + 2);
	if (no_host) {
		g_autofree char *shown = g_utf8_make_valid(no_host, -1);

		return command_fail(COMMAND_BAD, asking->client.name, "'%s' is not UTF-8, and no host", shown);
	}
	first[0] = argv[1];
	numbers = client_task_numbers(&asking->client, first);
	if (!numbers || !client_open(&asking->client))
		return asking->client.status;
	asking->task = g_array_index(numbers, guint64, 0);
	return migrate(asking, argv + 2);
}

int cmd_migrate(int argc, char **argv)
{
	struct asking asking = {.client = {.name = argv[0]}, .wait_s = WAIT_S};
	int status = run(&asking, argc, argv);

	client_clear(&asking.client);
	g_strfreev(asking.to);
	return status;
}
