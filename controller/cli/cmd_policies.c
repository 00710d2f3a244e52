/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <jansson.h>
#include <stdio.h>

#include "common/json.h"
#include "controller/cli/commands.h"
#include "controller/report/table.h"
#include "controller/sched/policy.h"

static const char *const future_names[] = {
	[POLICY_FUTURE_PLACEHOLDERS] = "placeholders",
	[POLICY_FUTURE_RESERVATIONS] = "reservations",
};

static const char *const moment_names[] = {
	[POLICY_AT_PERIODS] = "periods",
	[POLICY_AT_CHANGES] = "changes",
	[POLICY_AT_BOTH] = "both",
};

static const char *future_name(const struct policy_ops *ops)
{
	return ops->planning ? future_names[ops->planning->future] : "none";
}

/* When the policy decides. */
static const char *moments_name(const struct policy_ops *ops)
{
	if (ops->sharing)
		return moment_names[ops->sharing->moments];
	return moment_names[ops->queueing ? POLICY_AT_CHANGES : POLICY_AT_PERIODS];
}

static void print_json(const struct policy_ops *const *list, uint32_t count)
{
	static const struct policy_planning none;
	static const struct policy_immediate never;
	g_autoptr(json_t) array = json_array();

	for (uint32_t i = 0; i < count; i++) {
		const struct policy_ops *ops = list[i];
		const struct policy_planning *planning = ops->planning ? ops->planning : &none;
		const struct policy_immediate *immediate = ops->immediate ? ops->immediate : &never;

		json_array_append_new(
			array,
			json_pack("{s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:b, s:s?, s:s?, s:s}",
				  "name", ops->name, "section", ops->section, "summary",
				  ops->summary, "future", future_name(ops), "future_fixed",
				  planning->future_fixed, "reads_budget", planning->reads_budget,
				  "by_energy", planning->by_energy, "cluster_order",
				  planning->cluster_order, "pairs", immediate->pairs,
				  "immediate_section", immediate->section, "immediate_summary",
				  immediate->summary, "decides", moments_name(ops)));
	}
	command_print_json(array);
}

/* The tables: policies of one kind each. */
enum kind { PLANNING, IMMEDIATE, SHARING, QUEUEING };

static bool is_of_kind(const struct policy_ops *ops, enum kind kind)
{
	switch (kind) {
	case IMMEDIATE:
		return ops->planning && ops->immediate;
	case SHARING:
		return ops->sharing;
	case QUEUEING:
		return ops->queueing;
	default:
		return ops->planning || ops->immediate;
	}
}

/* Prints the policies of a kind; planning and sharing ones have a column of their own. */
static void print_kind(const struct policy_ops *const *list, uint32_t count, enum kind kind)
{
	g_autoptr(table_t) table = table_with("<policy", "<paper, section", NULL);

	if (kind == PLANNING || kind == SHARING)
		table_column(table, kind == SHARING ? "decides at" : "future starts", TABLE_LEFT);
	table_column(table, "what", TABLE_LEFT);
	for (uint32_t i = 0; i < count; i++) {
		const struct policy_ops *ops = list[i];

		if (!is_of_kind(ops, kind))
			continue;
		table_row(table);
		table_text(table, ops->name);
		table_text(table, kind == IMMEDIATE ? ops->immediate->section : ops->section);
		if (kind == PLANNING)
			table_textf(table, "%s%s", future_name(ops),
				    ops->planning && ops->planning->future_fixed ? " only" : "");
		else if (kind == SHARING)
			table_text(table, moments_name(ops));
		table_text(table, kind == IMMEDIATE ? ops->immediate->summary : ops->summary);
	}
	table_print(table, 0, stdout);
}

static void print_tables(const struct policy_ops *const *list, uint32_t count)
{
	print_kind(list, count, PLANNING);
	puts("\nIn an environment of serial tasks (environment.serial, or \"immediate\" in a\n"
	     "snapshot's system) no policy reserves nodes, nor do the -preempt- policies anywhere. The\n"
	     "modifiers of future starts have no effect there, and these names mean:");
	print_kind(list, count, IMMEDIATE);
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
	     "  +easy          of sjf to value-per-watt: EASY Backfilling in that order, tasks may overtake\n"
	     "                 the first that waits where they do not delay its planned start\n"
	     "  +algorithm-3   of -preempt-pair: to the letter of Algorithm 3 (Machovec 2017, III.E.4), where a task\n"
	     "                 may be put off for a running task, or take the nodes of a task with as much utility;\n"
	     "                 +no-wait is the default, the paper's text, and does not show in the policy's name\n"
	     "The -preempt- policies take +drop and, those with -pair, +algorithm-3.");
	puts("\nThese share hosts in time (\"shared\" in a snapshot's system): VMs of several tasks on a\n"
	     "host, each with a share of its CPU, without knowing how long a task takes. They decide\n"
	     "at periodic events, at changes (tasks arrive or end) or at both, and take no modifiers:");
	print_kind(list, count, SHARING);
	puts("\nThese put tasks with hard deadlines into the queues of clusters, knowing how execution\n"
	     "times are distributed. They decide at changes. mm, msd, mmu and moc take +prune: tasks\n"
	     "that are unlikely to be on time are dropped and deferred, as pam does:");
	print_kind(list, count, QUEUEING);
	puts("\nPolicies from outside, in every model (docs/reference/policy-protocol.md):\n"
	     "  exec:COMMAND   a program that answers each snapshot with a plan, by lines of JSON\n"
	     "  so:FILE        a shared object with the table of a policy\n"
	     "and where tasks have nodes of their own (docs/reference/batsim.md):\n"
	     "  batsim:COMMAND    a scheduler of Batsim 2 to 4, with {socket} among its arguments,\n"
	     "                    and with init=TEXT before it a component of Batsim 5\n"
	     "  batsim-edc:FILE   a decision component of Batsim 5");
}

int cmd_policies(int argc, char **argv)
{
	bool json = false;
	const struct command_option options[] = {
		{"json", 0, COMMAND_FLAG, &json, "one JSON array"},
		{NULL},
	};
	uint32_t count;
	const struct policy_ops *const *list = policy_list(&count);

	if (!command_parse(&argc, &argv, NULL,
			   "Lists the policies, with the paper's section for each.", options))
		return COMMAND_BAD;
	if (argc != 1)
		return command_fail(COMMAND_BAD, argv[0], "unexpected argument \"%s\"", argv[1]);
	(json ? print_json : print_tables)(list, count);
	return COMMAND_DONE;
}
