/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/task_visibility.h"

#include <unistd.h>

#include "common/read_number.h"
#include "controller/api/status_api_private.h"
#include "controller/service/run_service.h"

/* Texts by the owner, and reasons that quote the task's programs. */
static const char *const private_keys[] = {"name", "reason"};

/*
 * The details of events that everyone may see. A detail added later is private until it is listed
 * here.
 */
static const char *const public_details[] = {
	"task",        "attempt",  "type",
	"user",        "count",    "held",
	"state",       "launch_s", /* of "refused": */ "tasks",
	"estimate_j",  "limit_j",  "spent_j",
	"committed_j", "left_j",   "window_end_s",
	NULL,
};

/*
 * Notices about the service itself. Other notices may quote a task and are private unless listed
 * here.
 */
static const char *const public_notices[] = {
	"clock",          "energy-older",    "energy-unknown",
	"reloaded",       "resumed",         "scheduler-away",
	"scheduler-back", "scheduler-reset", "scheduler-silent",
	"serving",        "unmetered",       NULL,
};

static bool is_owner(const struct run_session *session, uint32_t task, int64_t uid)
{
	const struct store_submission *submission = run_service_submission(session, task);

	if (uid < 0)
		return false;
	return view_serves(session) ? submission && submission->uid == uid
				    : uid == (int64_t)geteuid();
}

char *task_visibility_authorize(const char *const *arguments, int64_t uid, void *data)
{
	const struct run_session *session = api_session(data);
	guint64 task;

	if (!view_under_way(session) ||
	    (read_number_unsigned(arguments[0], 0, G_MAXUINT32, &task) &&
	     task < view_tasks_count(session) && is_owner(session, (uint32_t)task, uid)))
		return NULL;
	return g_strdup_printf(
		"you have no task '%.32s'; `virtbed queue` tells whose tasks are whose",
		arguments[0]);
}

bool task_visibility_shows(struct http_request *request, const struct run_session *session,
			   uint32_t task)
{
	return http_request_role(request) != HTTP_ROLE_USER ||
	       is_owner(session, task, http_request_peer_uid(request));
}

bool task_visibility_shows_notice(struct http_request *request, const char *kind)
{
	return http_request_role(request) != HTTP_ROLE_USER ||
	       g_strv_contains(public_notices, kind);
}

void task_visibility_leave_out_notices(struct http_request *request, json_t *notices)
{
	for (size_t i = json_array_size(notices); i-- > 0;) {
		const json_t *notice = json_array_get(notices, i);

		if (!task_visibility_shows_notice(
			    request, json_string_value(json_object_get(notice, "kind"))))
			json_array_remove(notices, i);
	}
}

void task_visibility_hide_task(json_t *task)
{
	for (gsize i = 0; i < G_N_ELEMENTS(private_keys); i++)
		json_object_set_new(task, private_keys[i], json_null());
	json_object_set_new(task, "hidden", json_true());
}

void task_visibility_hide_event(json_t *event)
{
	json_t *detail = json_object_get(event, "detail");
	const char *key;
	json_t *value;
	void *next;

	json_object_foreach_safe (detail, next, key, value)
		if (!g_strv_contains(public_details, key))
			json_object_del(detail, key);
	json_object_set_new(event, "hidden", json_true());
}
