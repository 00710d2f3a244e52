/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config_key.h"

struct config;

/* A task of a list, instead of a drawn one. */
struct config_workload_task {
	char *type;
	double arrival_s;
	uint32_t utility; /* its maximum; 0: the type's */
	/*
	 * The user that submits it, after the end of the task before and a think time that follows from the
	 * arrivals; NULL: it arrives at its time.
	 */
	char *user;
	uint32_t line; /* of the file that it was read from; 0: the configuration itself */
};

/* Arrivals and utility functions (Machovec 2018, section 6.2). */
struct config_workload {
	double arrival_mean_s; /* mean of the exponential inter-arrival time */
	double duration_s;     /* arrivals happen in [0, duration_s) */
	/*
	 * Instead of these, both 0 unless given: the work that arrives over what all clusters can
	 * do in that time, and the mean number of tasks. The two above follow from the estimates
	 * then.
	 */
	double load;
	double tasks;
	/*
	 * Instead of drawn arrivals: so many users who react submit tasks until duration_s. Each
	 * waits for its task's end, thinks (think_mean_s: exponential; or think_s each time), and
	 * submits the next one. 0: tasks arrive at their own times.
	 */
	uint32_t users;
	double think_mean_s, think_s;
	/*
	 * Instead of all these: a file of tasks, and the tasks. The controller reads the file into
	 * the list when it loads the configuration, and sets `arrivals` to NULL; a local scheduler
	 * leaves it alone.
	 */
	char *arrivals;
	struct config_workload_task *list;
	uint32_t list_count;
	uint64_t seed; /* default 1 */
	/* maxima drawn from uniformly; utility_max_count of them; none where tasks are listed */
	uint32_t *utility_max;
	uint32_t utility_max_count;
	double constant_until; /* x minimum execution time of the type, from arrival; default 2.5 */
	double zero_at;        /* x minimum execution time; default 4 */
};

/* Whether its tasks are given, in a file or a list, instead of drawn. */
static inline bool config_workload_is_given(const struct config_workload *workload)
{
	return workload->arrivals || workload->list_count > 0;
}

/* Whether users react: tasks are submitted after the ends of others. */
bool config_workload_reacts(const struct config_workload *workload);

/* The time in which tasks arrive; of a list until its last one. */
double config_workload_duration_s(const struct config_workload *workload);

/*
 * The SHA-256 of the tasks that are given, in hexadecimal: of a line "ARRIVAL_S,TYPE,UTILITY" for
 * each, with 17 significant digits and utility 0 where it is the type's, followed by ",USER" where
 * one submits it. The caller frees. NULL: tasks are drawn.
 */
char *config_workload_digest(const struct config_workload *workload);

/*
 * The SHA-256 of what users who react do, but for the seed: of the tasks that are given, or of what
 * tasks and think times are drawn from. The caller frees. NULL: no user reacts.
 */
char *config_workload_users_digest(const struct config *config);

/* The rows of the structures above. */
extern const struct config_section config_workload_section;

/* The most tasks of a workload. */
#define CONFIG_TASKS_MAX 1000000
