/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/workload/testbed_task.h"
#include "controller/workload/users.h"
#include "controller/workload/workload.h"

/*
 * Streams of the seed. Each property of a task has a stream of its own, so that a changed arrival
 * fraction or arrival rate does not shuffle the rest.
 */
enum stream { STREAM_GAP, STREAM_TYPE, STREAM_UTILITY, STREAMS };

/* Appends the tasks of the list: all, or only tasks that arrive at times of their own. */
static void take_tasks(const struct config *config, const struct sched_system *system, bool all,
		       GArray *tasks)
{
	const struct config_workload *spec = config->workload;
	g_autoptr(GHashTable) types = config_types_by_name(config);

	for (uint32_t i = 0; i < spec->list_count; i++) {
		const struct sched_task task =
			testbed_given_task(config, system, types, &spec->list[i]);

		if (all || !spec->list[i].user)
			g_array_append_val(tasks, task);
	}
}

/* Appends tasks that are drawn. */
static void draw_tasks(const struct config *config, const struct sched_system *system,
		       uint64_t seed, uint32_t trial, GArray *tasks)
{
	const struct config_workload *spec = config->workload;
	struct random_stream streams[STREAMS];

	for (uint32_t i = 0; i < STREAMS; i++)
		random_stream_init(&streams[i], seed, (uint64_t)trial * STREAMS + i);
	for (double time_s = 0;;) {
		time_s += random_stream_exponential(&streams[STREAM_GAP], spec->arrival_mean_s);
		if (time_s >= spec->duration_s)
			break;

		const struct sched_task task =
			testbed_draw_task(config, system, &streams[STREAM_TYPE],
					  &streams[STREAM_UTILITY], time_s);

		g_array_append_val(tasks, task);
	}
}

/* Verifies the tasks of users who react. */
static bool check_given(const struct config *config, const struct sched_system *system,
			const struct workload *workload, GError **error)
{
	g_autoptr(workload_t) all = NULL;
	GArray *tasks;

	if (!workload->users || config->workload->list_count == 0)
		return true;
	tasks = g_array_new(FALSE, FALSE, sizeof(struct sched_task));
	take_tasks(config, system, true, tasks);
	all = workload_of_tasks(tasks, 0, 0);
	return workload_check(all, system, error);
}

struct workload *workload_testbed_new(const struct config *config,
				      const struct sched_system *system, uint64_t seed,
				      uint32_t trial, GError **error)
{
	g_autoptr(workload_t) workload = NULL;
	GArray *tasks = g_array_new(FALSE, FALSE, sizeof(struct sched_task));

	seed = seed ? seed : config->workload->seed;
	if (config->workload->list_count > 0)
		take_tasks(config, system, false, tasks);
	else if (config->workload->users == 0)
		draw_tasks(config, system, seed, trial, tasks);
	workload = workload_of_tasks(tasks, seed, trial);
	workload->users = workload_users_new(config, system, seed, trial);
	if (workload->users)
		workload->tasks_max =
			workload->tasks_count + workload_users_tasks_max(workload->users);
	return workload_check(workload, system, error) &&
			       check_given(config, system, workload, error)
		       ? g_steal_pointer(&workload)
		       : NULL;
}
