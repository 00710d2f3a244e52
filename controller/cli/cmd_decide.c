/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/json.h"
#include "common/read_file.h"
#include "common/visible.h"
#include "controller/cli/commands.h"
#include "controller/cli/decide_queues.h"
#include "controller/plugin/plugin_config.h"
#include "controller/snapshot/snapshot_json.h"
#include "controller/report/table.h"

/* virtbed writes no larger snapshot. */
#define SIZE_MAX_BYTES (256u << 20)

/* Reads a file, or standard input for "-". NULL with `error` set. */
static char *read_text(const char *path, size_t *ret_length, GError **error)
{
	return strcmp(path, "-") == 0 ? read_file_from(STDIN_FILENO, "standard input",
						       SIZE_MAX_BYTES, ret_length, error)
				      : read_file(path, SIZE_MAX_BYTES, ret_length, error);
}

static struct snapshot_json *load(const char *path, GError **error)
{
	size_t length = 0;
	g_autofree char *text = read_text(path, &length, error);
	g_autoptr(json_t) object = text ? json_parse(text, length, path, error) : NULL;

	return object ? snapshot_json_read(object, path, error) : NULL;
}

static char *nodes_text(const struct sched_action *action)
{
	GString *text = g_string_new(NULL);

	for (uint32_t i = 0; i < action->nodes_count; i++)
		g_string_append_printf(text, "%s%u", i ? "," : "", action->nodes[i]);
	return g_string_free(text, FALSE);
}

static gint compare_hosts(gconstpointer left, gconstpointer right)
{
	const uint32_t a = *(const uint32_t *)left;
	const uint32_t b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

static void add_action(struct table *table, const struct sched_system *system,
		       const struct sched_action *action)
{
	g_autofree char *nodes = nodes_text(action);
	const bool placed = action->nodes_count > 0;

	table_row(table);
	table_text(table, sched_action_kind_name(action->kind));
	table_integer(table, action->task);
	table_text(table, placed ? system->clusters[action->cluster].name : NULL);
	table_text(table, placed ? nodes : NULL);
	table_number(table, placed ? action->start_s : (double)NAN, 1);
	table_number(table, placed ? action->end_s : (double)NAN, 1);
	table_number(table, placed ? action->utility : (double)NAN, 3);
	table_number(table, placed ? action->energy_j : (double)NAN, 0);
	table_textf(table, "%.6g", action->objective);
	table_text(table, sched_reason_text(action->reason));
}

/* On shared hosts: the VMs per host, as "0,1x2,5". */
static char *hosts_text(const struct sched_action *action)
{
	g_autoptr(GArray) hosts = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	GString *text = g_string_new(NULL);

	g_array_append_vals(hosts, action->nodes, action->nodes_count);
	g_array_sort(hosts, compare_hosts);
	for (guint i = 0, next; i < hosts->len; i = next) {
		const uint32_t host = g_array_index(hosts, uint32_t, i);

		for (next = i; next < hosts->len && g_array_index(hosts, uint32_t, next) == host;)
			next++;
		g_string_append_printf(text, "%s%u", i ? "," : "", host);
		if (next - i > 1)
			g_string_append_printf(text, "x%u", next - i);
	}
	return g_string_free(text, FALSE);
}

static void print_shares(const struct sched_plan *plan)
{
	g_autoptr(table_t) table = table_with("<action", ">task", "<hosts", ">yield", ">from s",
					      ">priority", "<why", NULL);

	for (uint32_t i = 0; i < plan->actions_count; i++) {
		const struct sched_action *action = &plan->actions[i];
		g_autofree char *hosts = hosts_text(action);

		table_row(table);
		table_text(table, sched_action_kind_name(action->kind));
		table_integer(table, action->task);
		table_text(table, action->nodes_count > 0 ? hosts : NULL);
		table_number(table, action->nodes_count > 0 ? action->yield : (double)NAN, 4);
		table_number(table, action->start_s, 1);
		table_textf(table, "%.6g", action->objective);
		table_text(table, sched_reason_text(action->reason));
	}
	table_print(table, 0, stdout);
}

static void print_actions(const struct sched_system *system, const struct sched_plan *plan)
{
	g_autoptr(table_t) table =
		table_with("<action", ">task", "<cluster", "<nodes", ">start s", ">end s",
			   ">utility", ">energy J", ">objective", "<why", NULL);

	if (system->shared) {
		print_shares(plan);
		return;
	}
	if (system->queueing) {
		decide_queues_print(system, plan);
		return;
	}
	for (uint32_t i = 0; i < plan->actions_count; i++)
		add_action(table, system, &plan->actions[i]);
	table_print(table, 0, stdout);
}

static void add_considered(struct table *table, const struct sched_system *system,
			   const struct sched_considered *considered)
{
	table_row(table);
	table_integer(table, considered->task);
	table_text(table, system->clusters[considered->cluster].name);
	table_integer(table, considered->pstate);
	table_number(table, considered->start_s, 1);
	table_number(table, considered->end_s, 1);
	table_number(table, considered->utility, 3);
	table_textf(table, "%.6g", considered->objective);
	table_text(table, sched_refusal_text(considered->refusal));
}

/* Prints the decision about every task that shares hosts. */
static void print_jobs(const struct sched_plan *plan)
{
	g_autoptr(table_t) table = table_with(">task", ">priority", ">yield", "<verdict", NULL);

	for (uint32_t i = 0; i < plan->considered_count; i++) {
		const struct sched_considered *considered = &plan->considered[i];

		table_row(table);
		table_integer(table, considered->task);
		table_textf(table, "%.6g", considered->objective);
		table_number(table, considered->utility, 4);
		table_text(table, sched_refusal_text(considered->refusal));
	}
	puts("\nwhat became of each task:");
	table_print(table, 0, stdout);
}

/*
 * Whether a policy that was asked for explanations gave none although tasks waited. Dropped tasks
 * carry their own explanation.
 */
static bool explains_nothing(const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	uint32_t tasks = snapshot->waiting_count + snapshot->suspended_count;

	for (uint32_t i = 0; tasks > 0 && i < plan->actions_count; i++)
		tasks -= plan->actions[i].kind == SCHED_ACTION_DROP;
	return tasks > 0 && plan->considered_count + plan->judged_count == 0;
}

/* Prints every option of a task as it stood when the task was decided. */
static void print_considered(const struct sched_system *system, const struct sched_plan *plan)
{
	g_autoptr(table_t) table = table_with(">task", "<cluster", ">P-state", ">start s", ">end s",
					      ">utility", ">objective", "<verdict", NULL);

	if (system->shared) {
		print_jobs(plan);
		return;
	}
	if (system->queueing) {
		decide_queues_explain(system, plan);
		return;
	}
	for (uint32_t i = 0; i < plan->considered_count; i++) {
		if (i > 0 && plan->considered[i].task != plan->considered[i - 1].task)
			table_rule(table);
		add_considered(table, system, &plan->considered[i]);
	}
	puts("\noptions of each task when it was decided:");
	table_print(table, 0, stdout);
}

/* `named`: by the snapshot. */
static int decide_and_print(const char *name, const struct snapshot_json *read,
			    const struct policy *policy, bool named, bool explain, bool json)
{
	const struct plugin_settings settings = plugin_config_snapshot(named, explain);
	g_autoptr(plugin_t) plugin = plugin_new(&settings, read->system, read->snapshot.seed);
	struct policy_context context = {
		.arena = arena_new(),
		.flags = explain ? POLICY_EXPLAIN : POLICY_PLAIN,
		.outside = plugin_outside(plugin),
	};
	g_autoptr(GError) error = NULL;
	struct sched_plan plan;
	int status = COMMAND_DONE;
	int result;

	if (!context.arena)
		return command_fail(COMMAND_FAILED, name, "out of memory");
	if (!plugin_start(plugin, policy, &error)) {
		arena_free(context.arena);
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	}
	result = policy_decide(policy, &read->snapshot, &context, &plan);
	if (result < 0) {
		status = command_fail(COMMAND_FAILED, name, "%s",
				      result == -EIO ? context.outside->problem : "out of memory");
	} else if (json) {
		g_autoptr(json_t) list = snapshot_json_actions(read->system, &plan, explain);
		g_autofree char *text = NULL;

		if (explain && explains_nothing(&read->snapshot, &plan))
			json_array_append_new(list, json_pack("{s:s, s:s}", "kind", "unexplained",
							      "policy", policy->name));
		text = json_text(list);
		puts(text);
	} else {
		g_autofree char *shown = visible_text(policy->name);
		g_autofree char *note = visible_text(plan.note ? plan.note : "");

		printf("%s at %g s, mapping event %" G_GUINT64_FORMAT "%s%s\n", shown,
		       read->snapshot.now_s, (guint64)read->snapshot.event,
		       plan.note ? ": chooses " : "", note);
		print_actions(read->system, &plan);
		if (explain && explains_nothing(&read->snapshot, &plan))
			printf("\nthe policy \"%s\" explains nothing: it notes no options that it "
			       "looked at\n",
			       policy->name);
		else if (explain)
			print_considered(read->system, &plan);
	}
	arena_free(context.arena);
	return status;
}

/* Loads the snapshot, finds the policy, decides and prints the plan. */
static int decide_file(const char *name, const char *path, const char *policy_name, bool explain,
		       bool json)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(snapshot_json_t) read = load(path, &error);
	const char *place = policy_name ? "--policy" : path;
	const bool named = !policy_name;
	struct policy policy;
	char message[512];

	if (!read)
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	if (!policy_name)
		policy_name = read->policy;
	if (!policy_name)
		return command_fail(COMMAND_BAD, name,
				    "%s: the snapshot names no policy; give one with --policy",
				    path);
	if (policy_parse(policy_name, &policy, message, sizeof(message)) < 0)
		return command_fail(COMMAND_BAD, name, "%s: %s", place, message);
	if (policy_misfit(&policy, read->system))
		return command_fail(COMMAND_BAD, name,
				    "%s: policy \"%s\" does not fit the snapshot: %s", place,
				    policy_name, policy_misfit(&policy, read->system));
	return decide_and_print(name, read, &policy, named, explain, json);
}

int cmd_decide(int argc, char **argv)
{
	const char *policy = NULL;
	bool explain = false;
	bool json = false;
	const struct command_option options[] = {
		{"policy", 'p', COMMAND_TEXT, &policy,
		 "instead of the one the snapshot was recorded with", "NAME"},
		{"explain", 'x', COMMAND_FLAG, &explain,
		 "also the options that were refused, and why; of queued tasks, their chances"},
		{"json", 0, COMMAND_FLAG, &json, "one JSON array"},
		{NULL},
	};

	if (!command_parse(&argc, &argv, "SNAPSHOT",
			   "Decides one mapping event on a snapshot (docs/reference/snapshot.md); "
			   "\"-\" reads standard input.",
			   options))
		return COMMAND_BAD;
	if (argc != 2)
		return command_fail(COMMAND_BAD, argv[0], "give one snapshot, or \"-\"");
	return decide_file(argv[0], argv[1], policy, explain, json);
}
