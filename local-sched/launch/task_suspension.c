/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/task_suspension.h"

#include "common/error_fail.h"
#include "common/json.h"
#include "common/read_number.h"
#include "local-sched/launch/task.h"

#define WHAT "suspension"
#define NUMBER_MAX 1000000
#define TRY_MAX (G_MAXINT64 / 2) /* clients may count in milliseconds */

struct task_suspension *task_suspension_new(uint32_t n, const uint32_t *nodes, uint32_t count,
					    int64_t now_ns)
{
	struct task_suspension *suspension = record_new(&task_suspension_record);

	suspension->n = n;
	suspension->attempt = 1;
	suspension->count = count;
	suspension->nodes = g_memdup2(nodes, count * sizeof(*nodes));
	suspension->vms = g_new0(struct task_vm_durations, count);
	for (uint32_t i = 0; i < count; i++)
		suspension->vms[i].node = nodes[i];
	suspension->requested_ns = now_ns;
	return suspension;
}

void task_suspension_undo(struct task_suspension *suspension)
{
	g_clear_pointer(&suspension->resumed_nodes, g_free);
	suspension->resume_requested_ns = suspension->running_ns = 0;
	for (uint32_t i = 0; i < suspension->count; i++)
		suspension->vms[i].move_ns = suspension->vms[i].restore_ns =
			suspension->vms[i].resume_ns = 0;
}

/* Requests. */

static bool bad_request(GError **error, const char *key, const char *what)
{
	return error_fail(error, TASK_ERROR, TASK_ERROR_REQUEST, WHAT ": %s: %s", key, what);
}

/* The common part of both requests. */
static bool parse_numbers(const char *n, const json_t *body, uint32_t *ret_n, int64_t *ret_attempt,
			  GError **error)
{
	guint64 number = 0;
	int64_t attempt = 1;

	if (!read_number_unsigned(n, 1, NUMBER_MAX, &number))
		return bad_request(error, "number", "must be a whole number from 1");
	if (!json_is_object(body))
		return bad_request(error, "body", "must be an object");
	if (json_object_get(body, "try") &&
	    !json_get_integer(body, "try", WHAT, 1, TRY_MAX, &attempt, error))
		return false;
	*ret_n = (uint32_t)number;
	*ret_attempt = attempt;
	return true;
}

bool task_suspend_request_parse(const char *n, const json_t *body,
				struct task_suspend_request *ret_request, GError **error)
{
	struct task_suspend_request request = {0};
	const char *keep = "auto";
	int word;

	if (!parse_numbers(n, body, &request.n, &request.attempt, error))
		return false;
	if (json_object_get(body, "keep") && !json_get_string(body, "keep", WHAT, &keep, error))
		return false;
	word = record_word_find(task_keep_names, keep);
	if (word < 0)
		return bad_request(error, "keep", "not known; give auto, memory or disk");
	request.keep = (enum config_keep)word;
	*ret_request = request;
	return true;
}

bool task_resume_request_parse(const char *n, const json_t *body, uint32_t nodes,
			       struct task_resume_request *ret_request, GError **error)
{
	struct task_resume_request request = {0};

	if (!parse_numbers(n, body, &request.n, &request.attempt, error) ||
	    !task_parse_nodes(body, WHAT, nodes, &request.nodes, &request.count, error))
		return false;
	*ret_request = request;
	return true;
}
