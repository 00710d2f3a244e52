/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/users.h"

#include <jansson.h>
#include <math.h>

#include "controller/engine/engine_private.h"
#include "controller/engine/engine_record.h"
#include "controller/engine/places.h"
#include "controller/workload/users.h"

#define NONE UINT32_MAX

/* A user: waits for a task, or thinks. */
struct user {
	uint32_t next; /* number of the next task */
	uint32_t task; /* index of the task that it waits for; NONE: it thinks */
	double due_s;  /* when it submits the next one; INFINITY: never, or not yet known */
};

struct users {
	const struct workload *given; /* as set up: tasks with times of their own, and the users */
	uint32_t given_next;          /* of these tasks */
	struct workload *own;
	uint32_t count;
	struct user *list;
};

/* The user thinks from `since_s` on. */
static void think(struct users *users, uint32_t index, double since_s)
{
	struct user *user = &users->list[index];
	struct sched_task unused;
	double think_s;

	user->task = NONE;
	user->due_s = INFINITY;
	if (workload_users_task(users->given->users, index, user->next, &unused, &think_s) &&
	    since_s + think_s < workload_users_until_s(users->given->users))
		user->due_s = since_s + think_s;
}

void engine_users_init(struct engine *engine)
{
	const struct workload *given = engine->setup.workload;
	struct users *users;

	if (!given->users)
		return;
	engine->users = users = g_new0(struct users, 1);
	users->given = given;
	users->own = workload_open_new(workload_room(given));
	users->own->seed = given->seed;
	users->own->trial = given->trial;
	engine->setup.workload = users->own;
	users->count = workload_users_count(given->users);
	users->list = g_new0(struct user, users->count);
	for (uint32_t i = 0; i < users->count; i++)
		think(users, i, 0);
}

void engine_users_finish(struct engine *engine)
{
	if (!engine->users)
		return;
	workload_free(engine->users->own);
	g_free(engine->users->list);
	g_free(engine->users);
}

/* Has the users whose tasks have ended think. */
static void settle(const struct engine *engine)
{
	struct users *users = engine->users;

	for (uint32_t i = 0; i < users->count; i++) {
		const struct user *user = &users->list[i];

		if (user->task != NONE && engine_task_over(&engine->tasks[user->task]))
			think(users, i, engine->tasks[user->task].ended_s);
	}
}

/* The user that submits next; NONE: none does. */
static uint32_t first_user(const struct users *users)
{
	uint32_t first = NONE;

	for (uint32_t i = 0; i < users->count; i++)
		if (isfinite(users->list[i].due_s) &&
		    (first == NONE || users->list[i].due_s < users->list[first].due_s))
			first = i;
	return first;
}

static double given_next_s(const struct users *users)
{
	return users->given_next < users->given->tasks_count
		       ? users->given->tasks[users->given_next].arrival_s
		       : (double)INFINITY;
}

double engine_users_next_s(const struct engine *engine)
{
	const struct users *users = engine->users;
	uint32_t first;

	if (!users)
		return INFINITY;
	settle(engine);
	first = first_user(users);
	return fmin(given_next_s(users),
		    first == NONE ? (double)INFINITY : users->list[first].due_s);
}

/* Appends a task that arrives then; of a user, or NONE. */
static void append(struct engine *engine, uint32_t user, double arrival_s)
{
	struct users *users = engine->users;
	struct workload *own = users->own;
	const uint32_t index = own->tasks_count++;
	struct sched_task *task = &own->tasks[index];
	double unused;

	g_assert(index < workload_room(own)); /* it is for all that the users may submit */
	if (user == NONE) {
		*task = users->given->tasks[users->given_next++];
	} else {
		workload_users_task(users->given->users, user, users->list[user].next++, task,
				    &unused);
		users->list[user].task = index;
		users->list[user].due_s = INFINITY;
	}
	task->id = index;
	task->arrival_s = arrival_s;
	engine_init_task(engine, index);
}

/* An end that is reported late is followed by the next task at once, after those that came. */
static double after_last(const struct users *users, double time_s)
{
	const struct workload *own = users->own;

	return own->tasks_count > 0 ? fmax(time_s, own->tasks[own->tasks_count - 1].arrival_s)
				    : time_s;
}

static void record(struct engine *engine, uint32_t user)
{
	const struct workload *own = engine->users->own;
	const uint32_t index = own->tasks_count - 1;
	json_t *detail;

	if (!engine->setup.recorder)
		return;
	detail = json_pack("{s:I}", "task", (json_int_t)index);
	if (user != NONE)
		json_object_set_new(detail, "user", json_integer(user));
	engine_record_object(engine, own->tasks[index].arrival_s, ENGINE_EVENT_USER_SUBMITTED,
			     detail);
}

void engine_users_submit(struct engine *engine, double time_s)
{
	struct users *users = engine->users;

	if (!users)
		return;
	settle(engine);
	for (;;) {
		const uint32_t first = first_user(users);
		const double due_s = first == NONE ? (double)INFINITY : users->list[first].due_s;
		const double given_s = given_next_s(users);
		const uint32_t user = given_s <= due_s ? NONE : first;

		if (fmin(given_s, due_s) > time_s)
			return;
		append(engine, user, after_last(users, fmin(given_s, due_s)));
		record(engine, user);
	}
}

bool engine_restore_submission(struct engine *engine, uint32_t task, uint32_t user,
			       double arrival_s)
{
	struct users *users = engine->users;
	struct sched_task unused;
	double think_s;

	if (!users || task != users->own->tasks_count ||
	    users->own->tasks_count == workload_room(users->own) ||
	    after_last(users, arrival_s) != arrival_s)
		return false;
	if (user == NONE ? users->given_next == users->given->tasks_count
			 : user >= users->count ||
				   !workload_users_task(users->given->users, user,
							users->list[user].next, &unused, &think_s))
		return false;
	append(engine, user, arrival_s);
	return true;
}
