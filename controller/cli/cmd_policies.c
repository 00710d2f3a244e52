/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <jansson.h>
#include <stdio.h>

#include "common/json.h"
#include "controller/cli/commands.h"
#include "controller/report/table.h"
#include "controller/sched/policy.h"

static const char *future_name(const struct policy_ops *ops)
{
	switch (ops->future) {
	case POLICY_FUTURE_RESERVATIONS:
		return "reservations";
	case POLICY_FUTURE_NONE:
		return "none";
	default:
		return "placeholders";
	}
}

/* When the policy decides. */
static const char *moments_name(const struct policy_ops *ops)
{
	switch (ops->moments) {
	case POLICY_AT_PERIODS:
		return "periods";
	case POLICY_AT_CHANGES:
		return "changes";
	case POLICY_AT_BOTH:
		break;
	}
	return "both";
}

/* Prints the policies that share hosts; their columns differ from all others. */
static void print_sharing(const struct policy_ops *const *list, uint32_t count)
{
	static const char *const columns[] = { "policy", "paper, section", "decides at", "what" };
	g_autoptr(table_t) table = table_new();

	for (size_t i = 0; i < G_N_ELEMENTS(columns); i++)
		table_column(table, columns[i], TABLE_LEFT);
	for (uint32_t i = 0; i < count; i++) {
		if (!list[i]->decide_sharing)
			continue;
		table_row(table);
		table_text(table, list[i]->name);
		table_text(table, list[i]->section);
		table_text(table, moments_name(list[i]));
		table_text(table, list[i]->summary);
	}
	puts("\nThese share hosts in time (\"shared\" in a snapshot's system): VMs of several tasks on a\n"
	     "host, each with a share of its CPU, without knowing how long a task takes. They decide\n"
	     "at periodic events, at changes (tasks arrive or end) or at both, and take no modifiers:");
	table_print(table, 0, stdout);
}

/* Prints the policies for queueing clusters. */
static void print_queueing(const struct policy_ops *const *list, uint32_t count)
{
	static const char *const columns[] = { "policy", "paper, section", "what" };
	g_autoptr(table_t) table = table_new();

	for (size_t i = 0; i < G_N_ELEMENTS(columns); i++)
		table_column(table, columns[i], TABLE_LEFT);
	for (uint32_t i = 0; i < count; i++) {
		if (!list[i]->decide_queueing)
			continue;
		table_row(table);
		table_text(table, list[i]->name);
		table_text(table, list[i]->section);
		table_text(table, list[i]->summary);
	}
	puts("\nThese put tasks with hard deadlines into the queues of clusters, knowing how execution\n"
	     "times are distributed. They decide at changes and take no modifiers:");
	table_print(table, 0, stdout);
}

static void print_json(const struct policy_ops *const *list, uint32_t count)
{
	g_autoptr(json_t) array = json_array();
	g_autofree char *text = NULL;

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(
			array, json_pack("{s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:b, s:s?, s:s?}", "name",
					 list[i]->name, "section", list[i]->section, "summary",
					 list[i]->summary, "future", future_name(list[i]),
					 "future_fixed", list[i]->future_fixed, "reads_budget",
					 list[i]->reads_budget, "by_energy", list[i]->by_energy,
					 "cluster_order",
					 list[i]->cluster_order, "pairs", list[i]->pairs, "immediate_section",
					 list[i]->immediate_section, "immediate_summary",
					 list[i]->immediate_summary));
	for (uint32_t i = 0; i < count; i++)
		json_object_set_new(json_array_get(array, i), "decides",
				    json_string(moments_name(list[i])));
	text = json_pretty(array);
	puts(text);
}

/*
 * Prints what differs for policies whose tasks start at a mapping event or wait for the next one.
 */
static void print_immediate(const struct policy_ops *const *list, uint32_t count)
{
	static const char *const columns[] = { "policy", "paper, section", "what" };
	g_autoptr(table_t) table = table_new();

	for (size_t i = 0; i < G_N_ELEMENTS(columns); i++)
		table_column(table, columns[i], TABLE_LEFT);
	for (uint32_t i = 0; i < count; i++) {
		if (!list[i]->immediate_section)
			continue;
		table_row(table);
		table_text(table, list[i]->name);
		table_text(table, list[i]->immediate_section);
		table_text(table, list[i]->immediate_summary);
	}
	puts("\nIn an environment of serial tasks (environment.serial, or \"immediate\" in a\n"
	     "snapshot's system) no policy reserves nodes, nor do the -preempt- policies anywhere. The\n"
	     "modifiers of future starts have no effect there, and these names mean:");
	table_print(table, 0, stdout);
}

static void print_table(const struct policy_ops *const *list, uint32_t count)
{
	static const char *const columns[] = { "policy", "paper, section", "future starts",
					       "what" };
	g_autoptr(table_t) table = table_new();

	for (size_t i = 0; i < G_N_ELEMENTS(columns); i++)
		table_column(table, columns[i], TABLE_LEFT);
	for (uint32_t i = 0; i < count; i++) {
		if (list[i]->decide_sharing || list[i]->decide_queueing)
			continue;
		table_row(table);
		table_text(table, list[i]->name);
		table_text(table, list[i]->section);
		table_textf(table, "%s%s", future_name(list[i]),
			    list[i]->future_fixed ? " only" : "");
		table_text(table, list[i]->summary);
	}
	table_print(table, 0, stdout);
	print_immediate(list, count);
	puts("\nModifiers, as in max-upr+reservations+drop:0.5:\n"
	     "  +placeholders  future starts vanish at the next mapping event\n"
	     "  +reservations  future starts are permanent\n"
	     "  +drop:UTILITY  tasks that cannot earn as much any more leave, with 0 none do;\n"
	     "                 without it those that can earn nothing do\n"
	     "  +filter:task:LENIENCY      leaves out options that need more than LENIENCY times a\n"
	     "                             task's fair share of the remaining energy (3.8.2)\n"
	     "  +filter:resource:LENIENCY  the same per core-second (3.8.3)\n"
	     "  +filter-once               the share is found once per mapping event\n"
	     "  +reserve-now   reserved nodes are kept free from now until the reserved start: nothing else\n"
	     "                 starts on them, however soon it would end (only with reservations)\n"
	     "  +algorithm-3   of -preempt-pair: to the letter of Algorithm 3 (Machovec 2017, III.E.4), where a task\n"
	     "                 may be put off for a running task, or take the nodes of a task with as much utility;\n"
	     "                 +no-wait is the default, the paper's text, and does not show in the policy's name\n"
	     "The -preempt- policies take +drop and, those with -pair, +algorithm-3.");
	print_sharing(list, count);
	print_queueing(list, count);
}

int cmd_policies(int argc, char **argv)
{
	gboolean json = FALSE;
	const GOptionEntry entries[] = {
		{ "json", 0, 0, G_OPTION_ARG_NONE, &json, "one JSON array", NULL },
		G_OPTION_ENTRY_NULL,
	};
	g_autoptr(GOptionContext) context = g_option_context_new(NULL);
	g_autoptr(GError) error = NULL;
	uint32_t count;
	const struct policy_ops *const *list = policy_list(&count);

	g_option_context_set_summary(context,
				     "Lists the policies, with the paper's section for each.");
	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error))
		return command_fail(COMMAND_BAD, argv[0], "%s", error->message);
	if (argc != 1)
		return command_fail(COMMAND_BAD, argv[0], "unexpected argument \"%s\"", argv[1]);
	if (json)
		print_json(list, count);
	else
		print_table(list, count);
	return COMMAND_DONE;
}
