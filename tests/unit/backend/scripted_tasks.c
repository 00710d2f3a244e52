/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tasks of a scripted scheduler: they end when the test says so, or by themselves after a while. */
#include "common/clock.h"
#include "tests/unit/backend/scripted_private.h"

static json_t *new_task(const char *id, json_t *body)
{
	int64_t now_ns = clock_now_ns();

	return json_pack("{s:s, s:s, s:O, s:I, s:I, s:n, s:n, s:n, s:O, s:[]}", "id", id, "state",
			 "running", "nodes", json_object_get(body, "nodes"), "requested_ns",
			 (json_int_t)now_ns, "started_ns", (json_int_t)now_ns, "ended_ns",
			 "outcome", "reason", "body", body, "suspensions");
}

static void ending_free(void *data)
{
	struct ending *ending = data;

	g_hash_table_remove(ending->scheduler->endings, ending);
	g_free(ending->id);
	g_free(ending);
}

/* Tasks that still run do not outlive their scheduler. */
void scripted_forget_endings(struct scripted_scheduler *scheduler)
{
	g_autoptr(GList) endings = g_hash_table_get_keys(scheduler->endings);

	for (GList *i = endings; i; i = i->next) {
		struct ending *ending = i->data;

		if (ending->source)
			g_source_remove(ending->source);
		ending_free(ending);
	}
	g_hash_table_unref(scheduler->endings);
}

static const char *end_of(const struct scripted_scheduler *scheduler, const json_t *body)
{
	return scheduler->end ? scheduler->end(body, scheduler->end_data) : NULL;
}

/* Steps of a task that ends otherwise than well. */
#define STEPS 100

static void end_badly(struct ending *ending, const char *end, const json_t *body)
{
	const struct scripted_scheduler *scheduler = ending->scheduler;
	const double deadline_s = json_number_value(json_object_get(body, "deadline_s"));

	if (g_str_equal(end, "deadline"))
		scripted_scheduler_fail_task(
			ending->scheduler, ending->id, end,
			(int64_t)(STEPS * deadline_s /
				  scheduler->duration_s(body, scheduler->duration_data)),
			STEPS);
	else if (g_str_equal(end, "stalled"))
		scripted_scheduler_fail_task(ending->scheduler, ending->id, end, STEPS / 10, STEPS);
	else
		scripted_scheduler_end_task(ending->scheduler, ending->id, end, false);
}

static gboolean ending_due(gpointer data)
{
	struct ending *ending = data;
	const json_t *task = json_object_get(ending->scheduler->tasks, ending->id);
	const json_t *body = json_object_get(task, "body");
	const char *end = end_of(ending->scheduler, body);

	if (end)
		end_badly(ending, end, body);
	else
		scripted_scheduler_end_task(ending->scheduler, ending->id, "completed", false);
	ending_free(ending);
	return G_SOURCE_REMOVE;
}

static void end_after(struct ending *ending)
{
	ending->due_ns = clock_now_ns() + (int64_t)(1e9 * ending->left_s);
	ending->source = g_timeout_add((guint)(1000 * ending->left_s), ending_due, ending);
}

static void end_later(struct scripted_scheduler *scheduler, const char *id, const json_t *body)
{
	struct ending *ending = g_new0(struct ending, 1);

	ending->scheduler = scheduler;
	ending->id = g_strdup(id);
	ending->left_s = scheduler->duration_s(body, scheduler->duration_data);
	if (g_strcmp0(end_of(scheduler, body), "deadline") == 0)
		ending->left_s = json_number_value(json_object_get(body, "deadline_s"));
	else if (end_of(scheduler, body))
		ending->left_s = 0;
	g_hash_table_add(scheduler->endings, ending);
	end_after(ending);
}

static struct ending *find_ending(const struct scripted_scheduler *scheduler, const char *id)
{
	GHashTableIter iter;
	void *key;

	g_hash_table_iter_init(&iter, scheduler->endings);
	while (g_hash_table_iter_next(&iter, &key, NULL))
		if (g_str_equal(((struct ending *)key)->id, id))
			return key;
	return NULL;
}

void scripted_pause(struct scripted_scheduler *scheduler, const char *id)
{
	struct ending *ending = find_ending(scheduler, id);

	if (!ending || !ending->source)
		return;
	g_source_remove(ending->source);
	ending->source = 0;
	ending->left_s = MAX(0, clock_elapsed_s(clock_now_ns(), ending->due_ns));
}

void scripted_unpause(struct scripted_scheduler *scheduler, const char *id)
{
	struct ending *ending = find_ending(scheduler, id);

	if (ending && !ending->source)
		end_after(ending);
}

void scripted_scheduler_hurry(struct scripted_scheduler *scheduler, double left_s)
{
	GHashTableIter iter;
	void *key;

	g_hash_table_iter_init(&iter, scheduler->endings);
	while (g_hash_table_iter_next(&iter, &key, NULL)) {
		struct ending *ending = key;
		const bool runs = ending->source != 0;

		if (runs)
			scripted_pause(scheduler, ending->id);
		ending->left_s = MIN(ending->left_s, left_s);
		if (runs)
			end_after(ending);
	}
}

void scripted_put_task(struct http_request *request, const char *const *arguments, json_t *body,
		       void *data)
{
	struct scripted_scheduler *scheduler = data;
	json_t *task = json_object_get(scheduler->tasks, arguments[0]);

	if (scripted_task_moody(scheduler, request, true))
		return;
	if (task && !json_equal(json_object_get(task, "body"), body)) {
		http_request_fail(request, 409, "another body");
		return;
	}
	if (task) {
		scripted_reply(request, 200, json_copy(task));
		return;
	}
	if (scheduler->refusals) {
		scheduler->refusals--;
		http_request_fail(request, 409, "node 0 is not ready");
		return;
	}
	scheduler->starts++;
	task = new_task(arguments[0], body);
	json_object_set_new(scheduler->tasks, arguments[0], task);
	scripted_event(scheduler, "task-started", arguments[0], json_null(), json_null());
	if (scheduler->duration_s)
		end_later(scheduler, arguments[0], body);
	scripted_reply(request, 201, json_copy(task));
}

json_t *scripted_find_task(const struct scripted_scheduler *scheduler, struct http_request *request,
			   const char *id)
{
	json_t *task = json_object_get(scheduler->tasks, id);

	if (!task && json_object_get(scheduler->past, id))
		http_request_fail(request, 410, "task '%s' ended long ago", id);
	else if (!task)
		http_request_fail(request, 404, "no such task");
	return task;
}

void scripted_get_task(struct http_request *request, const char *const *arguments, json_t *body,
		       void *data)
{
	struct scripted_scheduler *scheduler = data;
	json_t *task;

	if (scripted_task_moody(scheduler, request, false))
		return;
	task = scripted_find_task(scheduler, request, arguments[0]);
	if (task)
		scripted_reply(request, 200, json_copy(task));
}

/* In pieces, as a local scheduler gives it. */
#define PIECE_MAX (512 << 10)

static void reply_output(struct http_request *request, const char *text, gsize length, bool ended)
{
	const gsize from =
		MIN(g_ascii_strtoull(http_request_query(request, "from") ?: "0", NULL, 10), length);
	const gsize count = MIN(length - from, (gsize)PIECE_MAX);

	scripted_reply(request, 200,
		       json_pack("{s:s%, s:I, s:I, s:b}", "output", text + from, count, "from",
				 (json_int_t)from, "next", (json_int_t)(from + count), "ended",
				 ended && from + count == length));
}

void scripted_get_output(struct http_request *request, const char *const *arguments, json_t *body,
			 void *data)
{
	struct scripted_scheduler *scheduler = data;
	g_autofree char *text = NULL;
	gsize length = 0;
	const json_t *task;

	if (scripted_moody(scheduler, request, false))
		return;
	task = scripted_find_task(scheduler, request, arguments[0]);
	if (!task)
		return;
	if (g_getenv("VIRTBED_OUTPUT"))
		g_file_get_contents(g_getenv("VIRTBED_OUTPUT"), &text, &length, NULL);
	reply_output(request, text ?: "", length, json_is_string(json_object_get(task, "outcome")));
}

void scripted_get_tasks(struct http_request *request, const char *const *arguments, json_t *body,
			void *data)
{
	struct scripted_scheduler *scheduler = data;
	json_t *list;
	const char *id;
	json_t *task;

	if (scripted_task_moody(scheduler, request, false))
		return;
	list = json_array();
	json_object_foreach (scheduler->tasks, id, task) {
		json_array_append(list, task);
	}
	scripted_reply(request, 200, json_pack("{s:o}", "tasks", list));
}

/* Half of what the host used in the task's time is the task's. */
static void set_end(struct scripted_scheduler *scheduler, json_t *task, const char *outcome,
		    int64_t end_ns)
{
	int64_t from_ns = json_integer_value(json_object_get(task, "requested_ns"));
	double dt_s = clock_elapsed_s(from_ns, end_ns) - scripted_paused_s(task);

	json_object_set_new(task, "state", json_string("ended"));
	json_object_set_new(task, "outcome", json_string(outcome));
	json_object_set_new(task, "ended_ns", json_integer(end_ns));
	json_object_set_new(task, "cpu_s", json_real(dt_s));
	json_object_set_new(task, "host_cpu_s", json_real(2 * dt_s));
	json_object_set_new(task, "host_energy_uj",
			    json_integer((json_int_t)((scheduler->watts + 2 * scheduler->busy_w) *
						      dt_s * 1e6)));
}

static void end_task(struct scripted_scheduler *scheduler, const char *id, const char *outcome,
		     int64_t end_ns, int times)
{
	json_t *task = json_object_get(scheduler->tasks, id);

	g_assert_nonnull(task);
	if (!json_is_null(json_object_get(task, "outcome")))
		return;
	set_end(scheduler, task, outcome, end_ns);
	json_object_update(task, json_object_get(scheduler->spoilt_ends, id));
	for (int i = 0; i < times; i++)
		scripted_event(scheduler, "task-ended", id, json_null(), json_copy(task));
}

void scripted_scheduler_end_task(struct scripted_scheduler *scheduler, const char *id,
				 const char *outcome, bool repeat)
{
	end_task(scheduler, id, outcome, clock_now_ns(), repeat ? 2 : 1);
}

void scripted_scheduler_spoil_task(struct scripted_scheduler *scheduler, const char *id,
				   const char *key, json_t *value)
{
	json_t *members = json_object_get(scheduler->spoilt_ends, id);

	if (!scheduler->spoilt_ends)
		scheduler->spoilt_ends = json_object();
	if (!members) {
		members = json_object();
		json_object_set_new(scheduler->spoilt_ends, id, members);
	}
	json_object_set_new(members, key, value);
}

void scripted_scheduler_fail_task(struct scripted_scheduler *scheduler, const char *id,
				  const char *cause, int64_t done, int64_t total)
{
	json_t *task = json_object_get(scheduler->tasks, id);

	g_assert_nonnull(task);
	json_object_set_new(task, "cause", json_string(cause));
	json_object_set_new(task, "progress",
			    json_pack("{s:I, s:I, s:f}", "done", (json_int_t)done, "total",
				      (json_int_t)total, "age_s", 1.0));
	end_task(scheduler, id, "failed", clock_now_ns(), 1);
}

void scripted_scheduler_forget(struct scripted_scheduler *scheduler, const char *id)
{
	g_assert_cmpint(json_object_del(scheduler->tasks, id), ==, 0);
	json_object_set_new(scheduler->past, id, json_true());
}

void scripted_scheduler_hold_end(struct scripted_scheduler *scheduler, const char *id)
{
	g_assert_true(scripted_scheduler_runs(scheduler, id));
	json_object_set_new(scheduler->held, id, json_integer(clock_now_ns()));
}

void scripted_delete_task(struct http_request *request, const char *const *arguments, json_t *body,
			  void *data)
{
	struct scripted_scheduler *scheduler = data;
	json_t *held = json_object_get(scheduler->held, arguments[0]);
	json_t *task;

	if (scripted_task_moody(scheduler, request, true))
		return;
	scheduler->deletes++;
	task = scripted_find_task(scheduler, request, arguments[0]);
	if (!task)
		return;
	end_task(scheduler, arguments[0], held ? "completed" : "killed",
		 held ? json_integer_value(held) : clock_now_ns(), 1);
	scripted_reply(request, 200, json_copy(task));
}

void scripted_scheduler_refuse(struct scripted_scheduler *scheduler, uint32_t count)
{
	scheduler->refusals = count;
}

void scripted_scheduler_set_auto(struct scripted_scheduler *scheduler,
				 double (*duration_s)(const json_t *request, void *data),
				 void *data)
{
	scheduler->duration_s = duration_s;
	scheduler->duration_data = data;
}

void scripted_scheduler_set_end(struct scripted_scheduler *scheduler,
				const char *(*end)(const json_t *request, void *data), void *data)
{
	scheduler->end = end;
	scheduler->end_data = data;
}

uint32_t scripted_scheduler_starts(const struct scripted_scheduler *scheduler)
{
	return scheduler->starts;
}

uint32_t scripted_scheduler_deletes(const struct scripted_scheduler *scheduler)
{
	return scheduler->deletes;
}

bool scripted_scheduler_runs(const struct scripted_scheduler *scheduler, const char *id)
{
	const json_t *task = json_object_get(scheduler->tasks, id);

	return task && json_is_null(json_object_get(task, "outcome"));
}
