/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/task_operation.h"

#include "common/error_fail.h"
#include "common/json.h"
#include "common/read_number.h"
#include "local-sched/launch/task.h"

#define STEP "suspension"
#define SHARE "task"
#define STEPS_MAX 1000000
/* Clients may count shares and tries in milliseconds. */
#define SHARES_MAX (G_MAXINT64 / 2)
#define TRY_MAX (G_MAXINT64 / 2)

static bool bad_request(GError **error, const char *of, const char *key, const char *what)
{
	return error_fail(error, TASK_ERROR, TASK_ERROR_REQUEST, "%s: %s: %s", of, key, what);
}

static bool parse_number(const char *of, const char *n, guint64 most, const json_t *body,
			 int64_t *ret_n, GError **error)
{
	guint64 number = 0;

	if (!read_number_unsigned(n, 1, most, &number))
		return bad_request(error, of, "number", "must be a whole number from 1");
	if (!json_is_object(body))
		return bad_request(error, of, "body", "must be an object");
	*ret_n = (int64_t)number;
	return true;
}

/* The common part of all steps. */
static bool parse_step(const char *n, const json_t *body, struct task_operation *step,
		       GError **error)
{
	step->attempt = 1;
	return parse_number(STEP, n, STEPS_MAX, body, &step->n, error) &&
	       (!json_object_get(body, "try") ||
		json_get_integer(body, "try", STEP, 1, TRY_MAX, &step->attempt, error));
}

bool task_operation_parse_suspend(const char *n, const json_t *body,
				  struct task_operation *ret_operation, GError **error)
{
	struct task_operation step = {0};
	const char *keep = "auto";
	int word;

	if (!parse_step(n, body, &step, error))
		return false;
	if (json_object_get(body, "keep") && !json_get_string(body, "keep", STEP, &keep, error))
		return false;
	word = record_word_find(task_keep_names, keep);
	if (word < 0)
		return bad_request(error, STEP, "keep", "not known; give auto, memory or disk");
	step.keep = (enum config_keep)word;
	*ret_operation = step;
	return true;
}

bool task_operation_parse_nodes(const char *n, const json_t *body, uint32_t nodes,
				struct task_operation *ret_operation, GError **error)
{
	struct task_operation step = {0};

	if (!parse_step(n, body, &step, error) ||
	    !task_parse_nodes(body, STEP, nodes, &step.nodes, &step.count, error))
		return false;
	*ret_operation = step;
	return true;
}

bool task_operation_parse_share(const char *n, const json_t *body,
				struct task_operation *ret_operation, GError **error)
{
	struct task_operation share = {0};

	if (!parse_number(SHARE, n, SHARES_MAX, body, &share.n, error) ||
	    !json_get_number(body, "share", SHARE, &share.share, error))
		return false;
	if (!(share.share > 0 && share.share <= 1))
		return bad_request(error, SHARE, "share", "must be above 0 and at most 1");
	*ret_operation = share;
	return true;
}
