/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/workload/workload.h"

#include <math.h>

#include "controller/workload/users.h"

G_DEFINE_QUARK(workload_error_quark, workload_error)

struct workload *workload_open_new(uint32_t tasks_max)
{
	struct workload *workload = g_new0(struct workload, 1);

	workload->tasks = g_new(struct sched_task, tasks_max);
	workload->tasks_max = tasks_max;
	return workload;
}

static int compare_arrivals(gconstpointer left, gconstpointer right, gpointer data)
{
	const struct sched_task *a = left;
	const struct sched_task *b = right;

	return (a->arrival_s > b->arrival_s) - (a->arrival_s < b->arrival_s);
}

struct workload *workload_of_tasks(GArray *tasks, uint64_t seed, uint32_t trial)
{
	struct workload *workload = g_new0(struct workload, 1);

	workload->seed = seed;
	workload->trial = trial;
	workload->tasks_count = tasks->len;
	workload->tasks = (struct sched_task *)(void *)g_array_free(tasks, FALSE);
	g_qsort_with_data(workload->tasks, (gint)workload->tasks_count, sizeof(*workload->tasks),
			  compare_arrivals, NULL);
	for (uint32_t i = 0; i < workload->tasks_count; i++)
		workload->tasks[i].id = i;
	return workload;
}

void workload_free(struct workload *workload)
{
	if (!workload)
		return;
	workload_users_free(workload->users);
	g_free(workload->tasks);
	g_free(workload);
}

static gboolean task_check(const struct workload *workload, uint32_t i,
			   const struct sched_system *system, GError **error)
{
	const struct sched_task *task = &workload->tasks[i];
	uint32_t segment;
	const enum utility_fault fault = utility_check(&task->utility, &segment);
	g_autofree char *wrong = NULL;

	if (task->id != i)
		wrong = g_strdup_printf("has id %u", task->id);
	else if (!isfinite(task->arrival_s) || task->arrival_s < 0)
		wrong = g_strdup_printf("arrives at %g s; give a time from 0", task->arrival_s);
	else if (i > 0 && task->arrival_s < workload->tasks[i - 1].arrival_s)
		wrong = g_strdup_printf("arrives at %g s, before task %u at %g s; sort by arrival",
					task->arrival_s, i - 1, workload->tasks[i - 1].arrival_s);
	else if (task->row >= system->rows_count)
		wrong = g_strdup_printf("is of type %u; there are %u", task->row,
					system->rows_count);
	else if (system->options_first[task->row] == system->options_first[task->row + 1])
		wrong = g_strdup_printf("is of type \"%s\", which can run nowhere",
					system->row_names[task->row]);
	else if (system->queueing && !(task->deadline_s > task->arrival_s))
		wrong = g_strdup_printf("has its deadline at %g s, not after its arrival at %g s",
					task->deadline_s, task->arrival_s);
	else if (fault != UTILITY_FAULT_NONE)
		wrong = g_strdup_printf("has a wrong utility function, segment %u: %s", segment,
					utility_fault_text(fault));
	if (!wrong)
		return TRUE;
	g_set_error(error, WORKLOAD_ERROR, WORKLOAD_ERROR_TASK, "workload: task %u %s", i, wrong);
	return FALSE;
}

gboolean workload_check(const struct workload *workload, const struct sched_system *system,
			GError **error)
{
	for (uint32_t i = 0; i < workload->tasks_count; i++)
		if (!task_check(workload, i, system, error))
			return FALSE;
	return TRUE;
}
