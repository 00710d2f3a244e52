/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests to a local scheduler. Input: a line with what stands in the path (a task's id, or a
 * number), then the body. A task that is accepted reads back from what is stored of it; and the
 * body as the stored record of a task must do no harm.
 */
#include <string.h>

#include "common/json.h"
#include "common/platform.h"
#include "local-sched/launch/task.h"
#include "local-sched/launch/task_operation.h"
#include "tests/fuzz/fuzz.h"

#define NODES 8
#define CORES 2

/* A request of a task as it is stored. */
static const char stored_request[] =
	"{\"benchmark\":\"is\",\"class\":\"S\",\"deadline_s\":10.0,\"nodes\":[0,1],\"ranks\":4,"
	"\"repetitions\":1,\"type\":\"t\"}";

static void check_restored(const char *id, const char *request, const char *record)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(task_t) task =
		task_restore(id, request, record, platform_now_ns(&platform_machine), &error);

	fuzz_check_error(task, error);
	if (!task)
		return;

	g_autofree char *request_again = task_request_text(task);
	g_autoptr(json_t) record_again = task_to_json(task, platform_now_ns(&platform_machine));

	g_assert_cmpstr(request_again, ==, request);
	fuzz_check(record_again != NULL && task_state_names[task->state] != NULL);
	for (uint32_t i = 0; i < task->nodes_count; i++)
		fuzz_check(task_placed(task) != NULL);
}

static void check_task(const char *id, const json_t *body)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(task_t) task = task_parse_request(id, body, NODES, CORES, &error);

	fuzz_check_error(task, error);
	if (!task)
		return;

	g_autofree char *request = task_request_text(task);
	g_autoptr(json_t) object = task_to_json(task, platform_now_ns(&platform_machine));
	g_autofree char *record = json_text(object);

	fuzz_check(task->nodes_count > 0 && task->nodes_count <= NODES);
	check_restored(id, request, record);
}

static void check_steps(const char *n, const json_t *body)
{
	g_autoptr(GError) suspend_error = NULL;
	g_autoptr(GError) resume_error = NULL;
	g_autoptr(GError) share_error = NULL;
	struct task_operation suspend = {0};
	struct task_operation resume = {0};
	struct task_operation share = {0};
	bool good = task_operation_parse_suspend(n, body, &suspend, &suspend_error);

	fuzz_check_error(good, suspend_error);
	fuzz_check(!good ||
		   (suspend.n > 0 && suspend.attempt > 0 && task_keep_names[suspend.keep]));
	good = task_operation_parse_nodes(n, body, NODES, &resume, &resume_error);
	fuzz_check_error(good, resume_error);
	for (uint32_t i = 0; i < resume.count; i++)
		fuzz_check(resume.nodes[i] < NODES);
	g_free(resume.nodes);
	good = task_operation_parse_share(n, body, &share, &share_error);
	fuzz_check_error(good, share_error);
	fuzz_check(!good || (share.n > 0 && share.share > 0 && share.share <= 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = fuzz_text(data, size);
	char *body_text = memchr(text, '\n', size);
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) body = NULL;
	size_t length;

	if (!body_text)
		return 0;
	*body_text++ = '\0';
	length = size - (size_t)(body_text - text);
	body = length > 0 ? json_parse(body_text, length, "request body", &error) : NULL;
	fuzz_check_error(length == 0 || body, error);
	if (error)
		return 0;
	check_task(text, body);
	check_steps(text, body);
	check_restored("t", stored_request, body_text);
	return 0;
}
