/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/task_api.h"

#include <math.h>

#include "common/json.h"
#include "controller/engine/engine.h"

static json_t *number_json(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *place_json(const struct run_session *session, const struct engine_task *task)
{
	json_t *nodes = json_array();

	for (uint32_t i = 0; i < task->nodes_count; i++)
		json_array_append_new(nodes, json_integer(task->nodes[i]));
	return json_pack("{s:s, s:o}", "cluster", session->config->clusters[task->cluster].name,
			 "nodes", nodes);
}

static json_t *task_json(const struct run_session *session, uint32_t index)
{
	const struct engine_task *task = engine_task(session->engine, index);
	json_t *object = json_pack(
		"{s:i, s:s, s:s, s:i, s:i, s:b, s:b, s:o, s:o, s:o}", "task", (int)index, "type",
		session->config->types[task->task->row].name, "state",
		engine_task_state_name(task->state), "attempts", (int)task->attempts,
		"suspensions", (int)task->suspensions, "held", task->held, "preemptible",
		task->task->preemptible, "arrival_s", number_json(task->task->arrival_s),
		"started_s", number_json(task->started_s), "executed_s",
		number_json(task->executed_s));

	if (task->nodes_count) {
		g_autoptr(json_t) place = place_json(session, task);

		json_object_update(object, place);
	}
	return object;
}

static bool is_under_way(struct http_request *request, const struct run_session *session)
{
	if (!session->engine)
		http_request_fail(request, 503, "no run is under way; look at /v1/status");
	return session->engine != NULL;
}

void task_api_list(struct http_request *request, const struct run_session *session)
{
	json_t *list;

	if (!is_under_way(request, session))
		return;
	list = json_array();
	for (uint32_t i = 0; i < session->tasks_count; i++)
		if (engine_task(session->engine, i)->state != ENGINE_TASK_COMING)
			json_array_append_new(list, task_json(session, i));
	http_request_reply(request, 200,
			   json_pack("{s:I, s:o}", "run", (json_int_t)session->run, "tasks", list));
}

/* Finds the task, or answers the request. */
static bool find(struct http_request *request, const struct run_session *session,
		 const char *number, uint32_t *ret_index)
{
	guint64 index;

	if (!is_under_way(request, session))
		return false;
	if (g_ascii_string_to_unsigned(number, 10, 0, G_MAXUINT32, &index, NULL) &&
	    index < session->tasks_count &&
	    engine_task(session->engine, (uint32_t)index)->state != ENGINE_TASK_COMING) {
		*ret_index = (uint32_t)index;
		return true;
	}
	http_request_fail(request, 404, "there is no task '%.32s' in the run under way", number);
	return false;
}

void task_api_get(struct http_request *request, const struct run_session *session,
		  const char *number)
{
	uint32_t index;

	if (find(request, session, number, &index))
		http_request_reply(request, 200, task_json(session, index));
}

void task_api_ask(struct http_request *request, const struct run_session *session,
		  const char *number, bool resume)
{
	const char *why_not;
	uint32_t index;

	if (!find(request, session, number, &index))
		return;
	why_not = resume ? engine_request_resume(session->engine, index)
			 : engine_request_suspend(session->engine, index);
	if (why_not)
		http_request_fail(request, 409, "task %u cannot be %s: %s", index,
				  resume ? "resumed" : "suspended", why_not);
	else
		http_request_reply(request, 202, task_json(session, index));
}
