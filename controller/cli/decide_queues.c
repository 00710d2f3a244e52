/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/decide_queues.h"

#include <math.h>
#include <stdio.h>

#include "controller/report/table.h"

void decide_queues_print(const struct sched_system *system, const struct sched_plan *plan)
{
	g_autoptr(table_t) table = table_with("<action", ">task", "<machine", ">start s", ">end s",
					      ">chance", ">threshold", "<why", NULL);

	for (uint32_t i = 0; i < plan->actions_count; i++) {
		const struct sched_action *action = &plan->actions[i];
		const bool placed = action->kind == SCHED_ACTION_ENQUEUE;

		table_row(table);
		table_text(table, sched_action_kind_name(action->kind));
		table_integer(table, action->task);
		table_text(table, placed ? system->clusters[action->cluster].name : NULL);
		table_number(table, placed ? action->start_s : (double)NAN, 1);
		table_number(table, placed ? action->end_s : (double)NAN, 1);
		table_number(table, action->chance, 4);
		table_number(table, action->threshold, 4);
		table_text(table, sched_reason_text(action->reason));
	}
	table_print(table, 0, stdout);
	printf("oversubscription level %.3f: dropping is %s\n", plan->pruner.level,
	       plan->pruner.dropping ? "on" : "off");
}

static void print_judged(const struct sched_system *system, const struct sched_plan *plan)
{
	g_autoptr(table_t) table =
		table_with("<machine", ">place", ">task", ">mean end s", ">skewness", ">threshold",
			   ">chance", "<verdict", NULL);

	for (uint32_t i = 0; i < plan->judged_count; i++) {
		const struct sched_judged *judged = &plan->judged[i];

		if (i > 0 && judged->cluster != plan->judged[i - 1].cluster)
			table_rule(table);
		table_row(table);
		table_text(table, system->clusters[judged->cluster].name);
		table_integer(table, judged->position);
		table_integer(table, judged->task);
		table_number(table, judged->mean_s, 2);
		table_number(table, judged->skewness, 4);
		table_number(table, judged->threshold, 4);
		table_number(table, judged->chance, 4);
		table_text(table, judged->dropped ? "dropped" : "stays");
	}
	puts("\ntasks that were queued, from the heads of the queues; thresholds count while dropping "
	     "is on:");
	table_print(table, 0, stdout);
}

void decide_queues_explain(const struct sched_system *system, const struct sched_plan *plan)
{
	g_autoptr(table_t) table =
		table_with(">task", "<machine", ">end s", ">chance", "<verdict", NULL);

	print_judged(system, plan);
	for (uint32_t i = 0; i < plan->considered_count; i++) {
		const struct sched_considered *considered = &plan->considered[i];

		if (i > 0 && considered->task != plan->considered[i - 1].task)
			table_rule(table);
		table_row(table);
		table_integer(table, considered->task);
		table_text(table, system->clusters[considered->cluster].name);
		table_number(table, considered->end_s, 2);
		table_number(table, considered->objective, 4);
		table_text(table, sched_refusal_text(considered->refusal));
	}
	puts("\nmachines of each waiting task when it was decided:");
	table_print(table, 0, stdout);
}
