/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/sim_users.h"

#include <glib/gstdio.h>
#include <string.h>

#include "controller/engine/engine.h"
#include "controller/service/run_service.h"
#include "controller/session/view.h"

/* A user waits so long for an answer, and then asks again after so long. */
#define TIMEOUT_S 15
#define AGAIN_S 3

struct sim_users {
	struct sim_world *world;
	struct http_client *client;
	GArray *tasks;   /* struct sim_task, as they were acknowledged */
	GPtrArray *asks; /* struct ask elements under way */
	guint open;      /* submissions without an answer */
};

/* A request under way. */
struct ask {
	struct sim_users *users;
	enum sim_action_kind kind;
	guint action;  /* of the plan, which a submission is named by */
	bool surely;   /* repeated until it is answered */
	bool tidies;   /* by sim_users_tidy() */
	uint32_t task; /* its number */
	json_t *body;  /* NULL: none */
	char *path;
	const char *method;
	guint timer; /* until it is repeated */
};

static void ask_free(gpointer data)
{
	struct ask *ask = data;

	g_clear_handle_id(&ask->timer, g_source_remove);
	json_decref(ask->body);
	g_free(ask->path);
	g_free(ask);
}

struct sim_users *sim_users_new(struct sim_world *world)
{
	struct sim_users *users = g_new0(struct sim_users, 1);

	users->world = world;
	users->client = http_client_new(virtual_platform_of(world->parts[SIM_USERS].virtual),
					world->parts[SIM_CONTROLLER].address, NULL);
	users->tasks = g_array_new(FALSE, TRUE, sizeof(struct sim_task));
	users->asks = g_ptr_array_new_with_free_func(ask_free);
	return users;
}

void sim_users_free(struct sim_users *users)
{
	if (!users)
		return;
	http_client_free(users->client);
	g_ptr_array_unref(users->asks);
	g_array_unref(users->tasks);
	g_free(users);
}

const GArray *sim_users_tasks(const struct sim_users *users)
{
	return users->tasks;
}

guint sim_users_open(const struct sim_users *users)
{
	return users->open;
}

struct sim_task *sim_users_find(const struct sim_users *users, uint32_t number)
{
	for (guint i = 0; i < users->tasks->len; i++) {
		struct sim_task *task = &g_array_index(users->tasks, struct sim_task, i);

		if (task->number == number)
			return task;
	}
	return NULL;
}

/* Answers. */

static void take_numbers(const struct ask *ask, const json_t *numbers)
{
	struct sim_users *users = ask->users;
	const json_int_t wanted = json_integer_value(json_object_get(ask->body, "count"));

	if (json_array_size(numbers) != (size_t)MAX(wanted, 1))
		sim_violate(users->world, "an answer says what was done",
			    "%" JSON_INTEGER_FORMAT " tasks were submitted, %zu numbers came",
			    wanted, json_array_size(numbers));
	for (size_t i = 0; i < json_array_size(numbers); i++) {
		const struct sim_task task = {
			.number = (uint32_t)json_integer_value(json_array_get(numbers, i)),
			.submission = ask->action,
			.hold = json_is_true(json_object_get(ask->body, "held")),
		};

		if (sim_users_find(users, task.number))
			sim_violate(users->world, "a number is given once",
				    "%u was given to two submissions", task.number);
		g_array_append_val(users->tasks, task);
	}
}

/* What users know of a task that they sent a request about. */
static void note_sent(const struct ask *ask)
{
	struct sim_task *task = sim_users_find(ask->users, ask->task);

	if (!task)
		return;
	if (ask->kind == SIM_HOLD || ask->kind == SIM_RELEASE)
		task->moved = true;
	if (ask->kind == SIM_SUSPEND) {
		task->suspends++;
		task->suspended = true;
	}
	if (ask->kind == SIM_CANCEL)
		task->cancel_sent = true;
}

static void note_answer(const struct ask *ask, int status)
{
	struct sim_task *task = sim_users_find(ask->users, ask->task);
	const bool granted = status >= 200 && status < 300;

	ask->users->world->counts.acknowledged += granted;
	if (task && ask->kind == SIM_SUSPEND) {
		task->suspends--;
		task->unsure = task->unsure || status <= 0 || status >= 500;
	}
	if (!task || status <= 0 || status >= 500)
		return;
	if (ask->kind == SIM_HOLD || ask->kind == SIM_RELEASE) {
		task->moved = false;
		if (granted)
			task->hold = ask->kind == SIM_HOLD;
	}
	if (ask->kind == SIM_RESUME && granted)
		task->suspended = task->suspends > 0;
	if (ask->kind == SIM_CANCEL && granted)
		task->cancel = true;
}

static void send_ask(struct ask *ask);

static gboolean on_again(gpointer data)
{
	struct ask *ask = data;

	ask->timer = 0;
	send_ask(ask);
	return G_SOURCE_REMOVE;
}

static void on_answer(int status, json_t *body, const GError *error, void *data)
{
	struct ask *ask = data;
	struct sim_users *users = ask->users;

	if (users->world->over) {
		g_ptr_array_remove_fast(users->asks, ask);
		return;
	}
	note_answer(ask, status);
	if (ask->kind == SIM_SUBMIT && status == 201)
		take_numbers(ask, json_object_get(body, "tasks"));
	if (ask->surely && (status <= 0 || status >= 500)) {
		ask->timer = platform_after_s(virtual_platform_of(
						      users->world->parts[SIM_USERS].virtual),
					      AGAIN_S, on_again, ask);
		return;
	}
	users->open -= ask->kind == SIM_SUBMIT;
	g_ptr_array_remove_fast(users->asks, ask);
}

static void send_ask(struct ask *ask)
{
	note_sent(ask);
	http_client_request(ask->users->client, ask->method, ask->path, ask->body, TIMEOUT_S,
			    on_answer, ask);
}

/* `path` and `body` are taken over. */
static struct ask *ask_new(struct sim_users *users, enum sim_action_kind kind, const char *method,
			   char *path, json_t *body)
{
	struct ask *ask = g_new0(struct ask, 1);

	ask->users = users;
	ask->kind = kind;
	ask->method = method;
	ask->path = path;
	ask->body = body;
	g_ptr_array_add(users->asks, ask);
	return ask;
}

/* Actions. */

static void submit(struct sim_users *users, const struct sim_action *action, guint index)
{
	static const char *const types[] = {"SHORT", "SHORT", "WIDE", "LONG"};
	g_autofree char *name = g_strdup_printf("a%u", index);
	json_t *body = json_pack("{s:s, s:s}", "type", types[action->numbers[0] % 4], "name", name);
	struct ask *ask;

	if (action->numbers[1] % 4 == 0)
		json_object_set_new(body, "count", json_integer(2 + action->numbers[1] / 4 % 4));
	if (action->numbers[2] % 8 == 0)
		json_object_set_new(body, "held", json_true());
	if (action->numbers[3] % 3 == 0)
		json_object_set_new(body, "priority", json_integer(-(int)(action->numbers[3] % 9)));
	ask = ask_new(users, SIM_SUBMIT, "POST", g_strdup("/v1/tasks"), body);
	ask->action = index;
	ask->surely = action->numbers[2] % 4 != 1;
	if (ask->surely)
		json_object_set_new(body, "key", json_string(name));
	users->open++;
	send_ask(ask);
}

static void about_task(struct sim_users *users, enum sim_action_kind kind, uint32_t number)
{
	struct ask *ask =
		ask_new(users, kind, "POST",
			g_strdup_printf("/v1/tasks/%u/%s", number, sim_action_names[kind]), NULL);

	ask->task = number;
	send_ask(ask);
}

/*
 * A task that runs, where operations take time, so that more of them are under way when something
 * fails; NULL: none, or it is not for this seed.
 */
static const struct engine_task *running_task(const struct sim_users *users,
					      const struct sim_action *action)
{
	struct run_session *session = users->world->session;
	const uint32_t count = sim_serves(users->world) ? view_tasks_count(session) : 0;

	for (uint32_t k = 0; users->world->plan->operation_s > 0 && k < count; k++) {
		const struct engine_task *task =
			view_task(session, (action->numbers[3] + k) % count);

		if (task && task->state == ENGINE_TASK_RUNNING)
			return task;
	}
	return NULL;
}

/* To a host of the cluster where it is. */
static void migrate(struct sim_users *users, const struct sim_action *action, uint32_t number)
{
	const struct engine_task *task = running_task(users, action);
	const uint32_t cluster =
		task ? task->cluster : action->numbers[1] % users->world->plan->clusters;
	g_autofree char *host =
		g_strdup_printf("h%u-%u", cluster + 1,
				action->numbers[2] % users->world->plan->hosts[cluster]);
	struct ask *ask =
		ask_new(users, SIM_MIGRATE, "POST", g_strdup_printf("/v1/tasks/%u/migrate", number),
			json_pack("{s:[s]}", "to", host));

	ask->task = number;
	send_ask(ask);
}

static void about_node(struct sim_users *users, enum sim_action_kind kind, uint32_t cluster,
		       uint32_t node)
{
	send_ask(ask_new(users, kind, "POST",
			 g_strdup_printf("/v1/nodes/c%u/%u/%s", cluster + 1, node,
					 sim_action_names[kind]),
			 NULL));
}

static void list(struct sim_users *users, const struct sim_action *action)
{
	static const char *const paths[] = {
		"/v1/tasks",
		"/v1/nodes",
		"/v1/status",
		"/v1/energy",
		"/v1/clusters",
		"/v1/power",
		"/v1/events?after=0&wait_s=0",
	};

	send_ask(ask_new(users, SIM_LIST, "GET",
			 g_strdup(paths[action->numbers[0] % G_N_ELEMENTS(paths)]), NULL));
}

/* The operator replaces what `pattern` finds in the configuration, and has it read again. */
static void change_config(struct sim_world *world, const char *pattern, const char *text)
{
	g_autofree char *path =
		g_build_filename(world->parts[SIM_CONTROLLER].dir, "wanted.yaml", NULL);
	g_autofree char *before = NULL;
	g_autoptr(GRegex) key = g_regex_new(pattern, 0, 0, NULL);
	g_autofree char *changed = NULL;

	g_assert_true(g_file_get_contents(path, &before, NULL, NULL));
	changed = g_regex_replace_literal(key, before, -1, 0, text, 0, NULL);
	g_assert_true(g_file_set_contents(path, changed, -1, NULL));
	sim_say(&world->parts[SIM_CONTROLLER], "its configuration changes: '%s'", text);
	if (world->session && !world->parts[SIM_CONTROLLER].dying && !world->stopping)
		run_service_reload(world->session);
}

static void reload(struct sim_world *world, const struct sim_action *action)
{
	/* One without suspensions. */
	const bool other = world->plan->other_policy && action->numbers[1] % 2;
	g_autofree char *value =
		g_strdup_printf("{policy: %s, mapping_interval_s: %u",
				other ? "easy" : world->plan->policy, 1 + action->numbers[0] % 20);

	change_config(world, "\\{policy: [-a-z]+, mapping_interval_s: [0-9.]+", value);
}

void sim_users_lift_limit(struct sim_users *users)
{
	if (users->world->plan->energy_limit_j > 0)
		change_config(users->world, ", energy_limit_j: [0-9]+, energy_window_s: [0-9]+",
			      "");
}

void sim_users_act(struct sim_users *users, guint index)
{
	const struct sim_action *action =
		&g_array_index(users->world->plan->actions, struct sim_action, index);
	const uint32_t cluster = action->numbers[0] % users->world->plan->clusters;
	const struct engine_task *running = running_task(users, action);
	uint32_t number = 0;

	if (running && (action->kind == SIM_MIGRATE || action->kind == SIM_SUSPEND))
		number = running->task->id;
	else if (users->tasks->len > 0) /* one of the last, most often */
		number = g_array_index(users->tasks, struct sim_task,
				       users->tasks->len - 1 -
					       action->numbers[0] % MIN(users->tasks->len, 12))
				 .number;
	switch (action->kind) {
	case SIM_SUBMIT:
		submit(users, action, index);
		break;
	case SIM_DRAIN:
	case SIM_UNDRAIN:
		about_node(users, action->kind, cluster,
			   action->numbers[1] % users->world->plan->nodes[cluster]);
		break;
	case SIM_LIST:
		list(users, action);
		break;
	case SIM_RELOAD:
		reload(users->world, action);
		break;
	case SIM_MIGRATE:
		if (users->tasks->len > 0)
			migrate(users, action, number);
		break;
	default:
		if (users->tasks->len > 0)
			about_task(users, action->kind, number);
	}
}

/* Whether it is for users to resume a task that is suspended. */
static bool is_users(const struct sim_users *users, uint32_t number)
{
	const struct sim_task *task = sim_users_find(users, number);

	return !task || task->suspended || task->unsure;
}

void sim_users_tidy(struct sim_users *users)
{
	struct run_session *session = users->world->session;
	const struct sim_plan *plan = users->world->plan;

	if (!sim_serves(users->world))
		return;
	for (uint32_t i = 0; i < view_tasks_count(session); i++) {
		const struct engine_task *task = view_task(session, i);

		if (!task || engine_task_over(task))
			continue;
		if (task->state == ENGINE_TASK_SUSPENDED && is_users(users, i))
			about_task(users, SIM_RESUME, i);
		else if (view_is_held(session, task))
			about_task(users, SIM_RELEASE, i);
	}
	for (uint32_t c = 0; c < plan->clusters; c++)
		for (uint32_t n = 0; n < plan->nodes[c]; n++) {
			const enum view_node_state state = view_node_state(session, c, n, NULL);

			if (state == VIEW_NODE_DRAINED || state == VIEW_NODE_DRAINING)
				about_node(users, SIM_UNDRAIN, c, n);
		}
}
