/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/workload/users.h"

#include <math.h>

#include "common/random.h"
#include "controller/workload/testbed_task.h"

/* So that no user draws what the workload draws. */
#define USERS_SEED UINT64_C(0x7573657273)

/* Tasks of a user whose tasks are drawn, at the most: a task may fail at once, again and again. */
#define TASKS_MAX 10000

/* A task that is given. */
struct given {
	struct sched_task task;
	double think_s;
};

struct workload_users {
	const struct config *config;
	const struct sched_system *system;
	double pace;      /* think times are divided by it */
	uint32_t count;   /* of users */
	GPtrArray *given; /* per user: GArray of struct given; NULL: they are drawn */
	uint64_t seed;    /* of what is drawn */
};

/* Users in the order of their first tasks in the list. */
static GPtrArray *take_given(const struct config *config, const struct sched_system *system)
{
	const struct config_workload *spec = config->workload;
	g_autoptr(GHashTable) types = config_types_by_name(config);
	g_autoptr(GHashTable) numbers = g_hash_table_new(g_str_hash, g_str_equal);
	GPtrArray *users = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);

	for (uint32_t i = 0; i < spec->list_count; i++) {
		const struct config_workload_task *listed = &spec->list[i];
		const struct given given = {testbed_given_task(config, system, types, listed)};
		guint number;

		if (!listed->user)
			continue;
		number = GPOINTER_TO_UINT(g_hash_table_lookup(numbers, listed->user));
		if (number == 0) {
			g_ptr_array_add(users, g_array_new(FALSE, FALSE, sizeof(struct given)));
			number = users->len;
			g_hash_table_insert(numbers, listed->user, GUINT_TO_POINTER(number));
		}
		g_array_append_val((GArray *)users->pdata[number - 1], given);
	}
	return users;
}

static int compare_arrivals(gconstpointer left, gconstpointer right)
{
	const struct given *a = left;
	const struct given *b = right;

	return (a->task.arrival_s > b->task.arrival_s) - (a->task.arrival_s < b->task.arrival_s);
}

/*
 * The think times that the arrivals of a user imply: a task that started at once where it is
 * fastest would have ended after its least execution time.
 */
static void find_thinks(GArray *tasks, const struct sched_system *system)
{
	double ended_s = 0;

	g_array_sort(tasks, compare_arrivals);
	for (guint i = 0; i < tasks->len; i++) {
		struct given *given = &g_array_index(tasks, struct given, i);

		given->think_s = fmax(0, given->task.arrival_s - ended_s);
		ended_s = given->task.arrival_s + system->etc_min_s[given->task.row];
	}
}

struct workload_users *workload_users_new(const struct config *config,
					  const struct sched_system *system, uint64_t seed,
					  uint32_t trial)
{
	const struct config_workload *spec = config->workload;
	struct workload_users *users;
	struct random_stream random;

	if (!config_workload_reacts(spec))
		return NULL;
	users = g_new0(struct workload_users, 1);
	users->config = config;
	users->system = system;
	users->pace = 1;
	random_stream_init(&random, seed ^ USERS_SEED, trial);
	users->seed = random_stream_next(&random);
	users->count = spec->users;
	if (spec->list_count > 0) {
		users->given = take_given(config, system);
		users->count = users->given->len;
		for (guint i = 0; i < users->count; i++)
			find_thinks(users->given->pdata[i], system);
	}
	return users;
}

void workload_users_free(struct workload_users *users)
{
	if (!users)
		return;
	g_clear_pointer(&users->given, g_ptr_array_unref);
	g_free(users);
}

uint32_t workload_users_count(const struct workload_users *users)
{
	return users->count;
}

uint32_t workload_users_tasks_max(const struct workload_users *users)
{
	uint32_t sum = 0;

	if (!users->given)
		return users->count * MIN(TASKS_MAX, CONFIG_TASKS_MAX / users->count);
	for (guint i = 0; i < users->count; i++)
		sum += ((GArray *)users->given->pdata[i])->len;
	return sum;
}

double workload_users_until_s(const struct workload_users *users)
{
	return users->given ? (double)INFINITY : users->config->workload->duration_s;
}

void workload_users_hurry(struct workload_users *users, double times)
{
	users->pace *= times;
}

static bool draw(const struct workload_users *users, uint32_t user, uint32_t n,
		 struct sched_task *ret_task, double *ret_think_s)
{
	const struct config_workload *spec = users->config->workload;
	struct random_stream random;

	if (n >= workload_users_tasks_max(users) / users->count)
		return false;
	random_stream_init(&random, users->seed, (uint64_t)user << 32 | n);
	*ret_task = testbed_draw_task(users->config, users->system, &random, &random, 0);
	*ret_think_s = spec->think_mean_s > 0
			       ? random_stream_exponential(&random, spec->think_mean_s)
		       /* Users who begin together would stay together. */
		       : n == 0 ? spec->think_s * random_stream_uniform(&random)
				: spec->think_s;
	return true;
}

bool workload_users_task(const struct workload_users *users, uint32_t user, uint32_t n,
			 struct sched_task *ret_task, double *ret_think_s)
{
	if (!users->given) {
		if (!draw(users, user, n, ret_task, ret_think_s))
			return false;
	} else {
		const GArray *tasks = users->given->pdata[user];

		if (n >= tasks->len)
			return false;
		*ret_task = g_array_index(tasks, struct given, n).task;
		*ret_think_s = g_array_index(tasks, struct given, n).think_s;
	}
	*ret_think_s /= users->pace;
	return true;
}
