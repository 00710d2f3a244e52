/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Suspensions and resumptions of tasks without VMs, as docs/reference/api.md has them: numbered,
 * tried, over after a while, failing when the test says so.
 */
#include <stdlib.h>

#include "common/clock.h"
#include "tests/unit/backend/scripted_private.h"

/* A suspension or resumption under way. */
struct step {
	struct scripted_scheduler *scheduler;
	char *id;
	bool resume;
	bool half; /* frozen, or running again */
	guint source;
};

/* An answer that comes late. */
struct late {
	struct http_request *request;
	json_t *task;
	int status;
	guint source;
};

static void step_free(struct step *step)
{
	g_hash_table_remove(step->scheduler->steps, step);
	g_free(step->id);
	g_free(step);
}

void scripted_forget_steps(struct scripted_scheduler *scheduler)
{
	g_autoptr(GList) steps = g_hash_table_get_keys(scheduler->steps);

	for (GList *i = steps; i; i = i->next) {
		struct step *step = i->data;

		g_source_remove(step->source);
		step_free(step);
	}
}

static json_t *last_of(const json_t *task)
{
	const json_t *list = json_object_get(task, "suspensions");

	return json_array_get(list, json_array_size(list) - 1);
}

static int64_t time_of(const json_t *suspension, const char *key)
{
	return json_integer_value(json_object_get(suspension, key));
}

double scripted_paused_s(const json_t *task)
{
	const json_t *one;
	double sum_s = 0;
	size_t i;

	json_array_foreach (json_object_get(task, "suspensions"), i, one) {
		if (time_of(one, "running_ns"))
			sum_s += clock_elapsed_s(time_of(one, "frozen_ns"),
						 time_of(one, "running_ns"));
		else if (time_of(one, "frozen_ns"))
			sum_s += clock_elapsed_s(time_of(one, "frozen_ns"), clock_now_ns());
	}
	return sum_s;
}

static bool has_state(const json_t *task, const char *state)
{
	return g_strcmp0(json_string_value(json_object_get(task, "state")), state) == 0;
}

bool scripted_is_suspended(const json_t *task)
{
	return has_state(task, "suspended");
}

static void set_state(json_t *task, const char *state)
{
	json_object_set_new(task, "state", json_string(state));
}

static void set_now(json_t *object, const char *key)
{
	json_object_set_new(object, key, json_integer(clock_now_ns()));
}

static bool step_due(struct step *step);

static gboolean on_step_due(gpointer data)
{
	struct step *step = data;

	if (!step_due(step))
		step_free(step);
	return G_SOURCE_REMOVE;
}

static void wait_for(struct step *step)
{
	const struct scripted_scheduler *scheduler = step->scheduler;
	double wait_s = step->resume == step->half ? scheduler->freeze_s : scheduler->rest_s;

	step->source = g_timeout_add((guint)(1000 * wait_s), on_step_due, step);
}

/* What one VM takes: the test's times, a little different for each. */
static void set_vm_times(const struct step *step, json_t *suspension)
{
	const struct scripted_scheduler *scheduler = step->scheduler;
	json_t *vm;
	size_t i;

	json_array_foreach (json_object_get(suspension, "vms"), i, vm) {
		json_int_t freeze_ns = (json_int_t)(1e9 * scheduler->freeze_s / (double)(i + 1));
		json_int_t rest_ns = (json_int_t)(1e9 * scheduler->rest_s / (double)(i + 1));

		json_object_set_new(vm, step->resume ? "resume_ns" : "freeze_ns",
				    json_integer(freeze_ns));
		json_object_set_new(vm, step->resume ? "restore_ns" : "save_ns",
				    json_integer(rest_ns));
	}
}

static void fail(struct step *step, json_t *task)
{
	json_t *last = last_of(task);

	step->scheduler->failures--;
	set_state(task, step->resume ? "suspended" : "running");
	if (step->resume) {
		json_object_set_new(last, "running_ns", json_null());
		json_object_set_new(last, "resume_requested_ns", json_null());
		json_object_set_new(last, "resumed_nodes", json_null());
		scripted_pause(step->scheduler, step->id);
	} else {
		json_array_remove(json_object_get(task, "suspensions"),
				  json_array_size(json_object_get(task, "suspensions")) - 1);
		scripted_unpause(step->scheduler, step->id);
	}
	scripted_event(step->scheduler, step->resume ? "task-resume-failed" : "task-suspend-failed",
		       step->id, json_null(), json_pack("{s:s}", "reason", "as the test wants it"));
}

static void half_way(struct step *step, json_t *last)
{
	step->half = true;
	set_now(last, step->resume ? "running_ns" : "frozen_ns");
	if (step->resume)
		scripted_unpause(step->scheduler, step->id);
	else
		scripted_pause(step->scheduler, step->id);
}

/* Returns whether there is more to come. */
static bool step_due(struct step *step)
{
	json_t *task = json_object_get(step->scheduler->tasks, step->id);
	json_t *last = last_of(task);

	if (!task || has_state(task, "ended"))
		return false;
	if (!step->half) {
		half_way(step, last);
		wait_for(step);
		return true;
	}
	if (step->scheduler->failures) {
		fail(step, task);
		return false;
	}
	set_now(last, step->resume ? "resumed_ns" : "suspended_ns");
	set_vm_times(step, last);
	set_state(task, step->resume ? "running" : "suspended");
	if (step->resume)
		json_object_set(task, "nodes", json_object_get(last, "resumed_nodes"));
	scripted_event(step->scheduler, step->resume ? "task-resumed" : "task-suspended", step->id,
		       json_null(), json_copy(task));
	return false;
}

/* Answers. */

static gboolean late_due(gpointer data)
{
	struct late *late = data;

	scripted_reply(late->request, late->status, json_copy(late->task));
	json_decref(late->task);
	g_free(late);
	return G_SOURCE_REMOVE;
}

static void late_gone(struct http_request *request, void *data)
{
	struct late *late = data;

	g_source_remove(late->source);
	json_decref(late->task);
	g_free(late);
}

void scripted_answer(struct scripted_scheduler *scheduler, struct http_request *request, int status,
		     json_t *task)
{
	struct late *late;

	if (!(scheduler->late_s > 0)) {
		scripted_reply(request, status, json_copy(task));
		return;
	}
	late = g_new0(struct late, 1);
	late->request = request;
	late->status = status;
	late->task = json_incref(task);
	late->source = g_timeout_add((guint)(1000 * scheduler->late_s), late_due, late);
	http_request_on_cancel(request, late_gone, late);
}

static void begin(struct scripted_scheduler *scheduler, const char *id, bool resume)
{
	struct step *step = g_new0(struct step, 1);

	step->scheduler = scheduler;
	step->id = g_strdup(id);
	step->resume = resume;
	g_hash_table_add(scheduler->steps, step);
	wait_for(step);
}

static json_t *new_suspension(const json_t *task, json_int_t n, json_t *body)
{
	json_t *vms = json_array();
	json_t *node;
	size_t i;

	json_array_foreach (json_object_get(task, "nodes"), i, node) {
		json_array_append_new(vms, json_pack("{s:O}", "node", node));
	}
	return json_pack("{s:I, s:O, s:O, s:O, s:I, s:n, s:n, s:n, s:n, s:n, s:n, s:I, s:o}", "n",
			 n, "try", json_object_get(body, "try"), "keep",
			 json_object_get(body, "keep"), "nodes", json_object_get(task, "nodes"),
			 "requested_ns", (json_int_t)clock_now_ns(), "frozen_ns", "suspended_ns",
			 "resume_requested_ns", "running_ns", "resumed_ns", "resumed_nodes",
			 "skew_ns", (json_int_t)500000, "vms", vms);
}

/* The task that is spoken of, or NULL when the request was answered. */
static json_t *find_task(struct scripted_scheduler *scheduler, struct http_request *request,
			 const char *id)
{
	return scripted_moody(scheduler, request, true)
		       ? NULL
		       : scripted_find_task(scheduler, request, id);
}

void scripted_put_suspension(struct http_request *request, const char *const *arguments,
			     json_t *body, void *data)
{
	struct scripted_scheduler *scheduler = data;
	json_int_t n = atoll(arguments[1]);
	json_t *task = find_task(scheduler, request, arguments[0]);
	json_t *last = last_of(task);

	if (!task)
		return;
	if (last && json_integer_value(json_object_get(last, "n")) == n &&
	    json_equal(json_object_get(last, "try"), json_object_get(body, "try"))) {
		scripted_answer(scheduler, request, 200, task);
		return;
	}
	if (!has_state(task, "running") ||
	    n != (json_int_t)json_array_size(json_object_get(task, "suspensions")) + 1) {
		http_request_fail(request, 409, "it is not running, or that is not the next one");
		return;
	}
	scheduler->suspends++;
	set_state(task, "suspending");
	json_array_append_new(json_object_get(task, "suspensions"), new_suspension(task, n, body));
	begin(scheduler, arguments[0], false);
	scripted_answer(scheduler, request, 201, task);
}

void scripted_put_resumption(struct http_request *request, const char *const *arguments,
			     json_t *body, void *data)
{
	struct scripted_scheduler *scheduler = data;
	json_t *task = find_task(scheduler, request, arguments[0]);
	json_t *last = last_of(task);

	if (!task)
		return;
	if (last && json_equal(json_object_get(last, "resume_try"), json_object_get(body, "try"))) {
		scripted_answer(scheduler, request, 200, task);
		return;
	}
	if (!has_state(task, "suspended") ||
	    json_integer_value(json_object_get(last, "n")) != atoll(arguments[1])) {
		http_request_fail(request, 409, "it is not suspended, or that is not the last one");
		return;
	}
	scheduler->resumes++;
	set_state(task, "resuming");
	json_object_set(last, "resumed_nodes", json_object_get(body, "nodes"));
	json_object_set(last, "resume_try", json_object_get(body, "try"));
	set_now(last, "resume_requested_ns");
	begin(scheduler, arguments[0], true);
	scripted_answer(scheduler, request, 201, task);
}

void scripted_scheduler_set_steps(struct scripted_scheduler *scheduler, double freeze_s,
				  double rest_s)
{
	scheduler->freeze_s = freeze_s;
	scheduler->rest_s = rest_s;
}

void scripted_scheduler_fail_steps(struct scripted_scheduler *scheduler, uint32_t count)
{
	scheduler->failures = count;
}

void scripted_scheduler_set_late(struct scripted_scheduler *scheduler, double late_s)
{
	scheduler->late_s = late_s;
}

uint32_t scripted_scheduler_suspends(const struct scripted_scheduler *scheduler)
{
	return scheduler->suspends;
}

uint32_t scripted_scheduler_resumes(const struct scripted_scheduler *scheduler)
{
	return scheduler->resumes;
}
