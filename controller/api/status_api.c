/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/status_api.h"

#include <grp.h>
#include <math.h>
#include <string.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "common/visible.h"
#include "controller/api/access.h"
#include "controller/api/energy_api.h"
#include "controller/api/events_api.h"
#include "controller/api/fleet_api.h"
#include "controller/api/metrics_api.h"
#include "controller/api/nodes_api.h"
#include "controller/api/output_api.h"
#include "controller/api/page_api.h"
#include "controller/api/power_api.h"
#include "controller/api/status_api_private.h"
#include "controller/api/task_api.h"
#include "controller/api/task_texts.h"
#include "controller/api/task_visibility.h"
#include "controller/backend/remote_curve.h"
#include "controller/run/run_tls.h"
#include "controller/run/run_utc.h"
#include "controller/service/run_service.h"
#include "controller/store/store_reader.h"

/* The most bytes of a notice's kind and text. */
#define NOTICE_KIND_MAX 64
#define NOTICE_TEXT_MAX 4096

static void get_status(struct http_request *request, const char *const *arguments, json_t *body,
		       void *data)
{
	struct status_api *api = data;
	uint64_t after;
	json_t *status;

	if (!http_request_query_integer(request, "after", 0, INT64_MAX, 0, &after))
		return;
	status = run_progress_json(view_progress(api->session), after);
	task_visibility_leave_out_notices(request, json_object_get(status, "notices"));
	json_object_set_new(status, "directory",
			    json_string_or_null(http_request_role(request) == HTTP_ROLE_OPERATOR
							? view_directory(api->session)
							: NULL));
	http_request_reply(request, 200, status);
}

/* The end of a run in UTC, by the clock at its start; NULL: unknown. */
static char *ended_utc(const struct store_run *run)
{
	g_autoptr(GDateTime) start =
		run->started_utc ? g_date_time_new_from_iso8601(run->started_utc, NULL) : NULL;

	return start ? run_utc_text(g_date_time_to_unix(start) * G_USEC_PER_SEC +
					    g_date_time_get_microsecond(start),
				    run->ended_s)
		     : NULL;
}

static json_t *run_json(const struct store_run *run)
{
	g_autofree char *utc = ended_utc(run);

	return json_pack("{s:I, s:s, s:o, s:o, s:i, s:s?, s:s?, s:o, s:s?, s:o, s:o, s:i, s:i}",
			 "run", (json_int_t)run->run, "policy", run->policy, "limit",
			 json_number_or_null(run->limit), "limit_j",
			 json_number_or_null(run->limit_j), "repeat", (int)run->repeat,
			 "started_utc", run->started_utc, "ended_by", run->ended_by, "ended_s",
			 json_number_or_null(run->ended_s), "ended_utc", utc, "utility",
			 json_number_or_null(run->utility), "energy_j",
			 json_number_or_null(run->energy_j), "tasks_arrived",
			 (int)run->tasks_arrived, "tasks_completed", (int)run->tasks_completed);
}

static void get_runs(struct http_request *request, const char *const *arguments, json_t *body,
		     void *data)
{
	struct status_api *api = data;
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) runs = store_runs(view_store(api->session), &error);
	json_t *list;

	if (!runs) {
		http_request_fail(request, 503, "%s", error->message);
		return;
	}
	list = json_array();
	for (guint i = 0; i < runs->len; i++)
		json_array_append_new(list, run_json(g_ptr_array_index(runs, i)));
	http_request_reply(request, 200, json_pack("{s:o}", "runs", list));
}

/* Whether a text is a word for programs, as virtbed's own kinds are. */
static bool is_notice_kind(const char *kind)
{
	static const char good[] = G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "-_.";
	const size_t length = strlen(kind);

	return length >= 1 && length <= NOTICE_KIND_MAX && strspn(kind, good) == length;
}

/* Returns NULL, or what is wrong with the body of a notice; freed by the caller. */
static char *notice_fault(const json_t *body, const char **ret_kind, const char **ret_text)
{
	g_autoptr(GError) error = NULL;

	if (!json_get_string(body, "kind", "notice", ret_kind, &error) ||
	    !json_get_string(body, "text", "notice", ret_text, &error))
		return g_strdup(error->message);
	if (json_string_length(json_object_get(body, "text")) != strlen(*ret_text))
		return g_strdup("text: it holds a NUL");
	if (json_object_size(body) != 2)
		return g_strdup("notice: it has kind and text, and nothing else");
	if (!is_notice_kind(*ret_kind))
		return g_strdup_printf(
			"kind: give a word of 1 to %d letters, digits, '-', '_' and '.'",
			NOTICE_KIND_MAX);
	if (!**ret_text || strlen(*ret_text) > NOTICE_TEXT_MAX || !visible_ok(*ret_text))
		return g_strdup_printf(
			"text: give a line of 1 to %d bytes without control characters",
			NOTICE_TEXT_MAX);
	return NULL;
}

static void post_notice(struct http_request *request, const char *const *arguments, json_t *body,
			void *data)
{
	struct status_api *api = data;
	const char *kind;
	const char *text;
	g_autofree char *fault = notice_fault(body, &kind, &text);

	if (fault) {
		http_request_fail(request, 400, "%s", fault);
		return;
	}
	run_session_note(api->session, kind, "%s", text);
	http_request_reply(request, 201, json_object());
}

static void post_stop(struct http_request *request, const char *const *arguments, json_t *body,
		      void *data)
{
	struct status_api *api = data;

	run_session_stop(api->session, "stopped on request");
	http_request_reply(request, 202, json_object());
}

static const struct http_route routes[] = {
	{"GET", "/v1/status", get_status, HTTP_ROLE_VIEWER, NULL, "after"},
	{"GET", "/v1/runs", get_runs, HTTP_ROLE_VIEWER},
	{"GET", "/v1/tasks", task_api_list, HTTP_ROLE_VIEWER, NULL, "state user after ended limit"},
	{"GET", "/v1/tasks/*", task_api_get, HTTP_ROLE_VIEWER, task_visibility_authorize},
	{"POST", "/v1/tasks/*/suspend", task_api_ask, HTTP_ROLE_USER, task_visibility_authorize,
	 .what = TASK_API_SUSPEND},
	{"POST", "/v1/tasks/*/resume", task_api_ask, HTTP_ROLE_USER, task_visibility_authorize,
	 .what = TASK_API_RESUME},
	{"POST", "/v1/tasks/*/migrate", task_api_migrate, HTTP_ROLE_USER, task_visibility_authorize,
	 .takes_body = true},
	{"POST", "/v1/tasks", task_api_submit, HTTP_ROLE_USER, .takes_body = true},
	{"GET", "/v1/tasks/*/output", output_api_get, HTTP_ROLE_USER, task_visibility_authorize,
	 "from attempt wait_s"},
	{"GET", "/v1/tasks/*/files", output_api_files, HTTP_ROLE_USER, task_visibility_authorize},
	{"GET", "/v1/tasks/*/decisions", task_api_decisions, HTTP_ROLE_VIEWER,
	 task_visibility_authorize},
	{"POST", "/v1/tasks/*/cancel", task_api_request, HTTP_ROLE_USER, task_visibility_authorize,
	 .what = RUN_SERVICE_CANCEL},
	{"POST", "/v1/tasks/*/hold", task_api_request, HTTP_ROLE_USER, task_visibility_authorize,
	 .what = RUN_SERVICE_HOLD},
	{"POST", "/v1/tasks/*/release", task_api_request, HTTP_ROLE_USER, task_visibility_authorize,
	 .what = RUN_SERVICE_RELEASE},
	{"POST", "/v1/nodes/*/*/drain", nodes_api_drain, HTTP_ROLE_OPERATOR, .takes_body = true,
	 .what = NODES_API_DRAIN},
	{"POST", "/v1/nodes/*/*/undrain", nodes_api_drain, HTTP_ROLE_OPERATOR,
	 .what = NODES_API_UNDRAIN},
	{"POST", "/v1/notices", post_notice, HTTP_ROLE_OPERATOR, .takes_body = true},
	{"POST", "/v1/stop", post_stop, HTTP_ROLE_OPERATOR},
	{"GET", "/v1/clusters", fleet_api_clusters, HTTP_ROLE_VIEWER},
	{"GET", "/v1/nodes", nodes_api_get, HTTP_ROLE_VIEWER, NULL, "cluster"},
	{"GET", "/v1/power", power_api_power, HTTP_ROLE_VIEWER, NULL, "after_s"},
	{"GET", "/v1/energy", energy_api_get, HTTP_ROLE_VIEWER, NULL, "by"},
	{"GET", "/v1/utility", power_api_utility, HTTP_ROLE_VIEWER, NULL, "after_s"},
	{"GET", "/v1/events", events_api_get, HTTP_ROLE_VIEWER, NULL, "after wait_s"},
	{"GET", "/metrics", metrics_api_get, HTTP_ROLE_VIEWER},
	{"GET", "/openapi.json", page_api_get, HTTP_ROLE_ANYBODY, .what = PAGE_API_DOCUMENT},
	{"GET", "/", page_api_get, HTTP_ROLE_ANYBODY, .what = PAGE_API_INDEX},
	{"GET", "/page.css", page_api_get, HTTP_ROLE_ANYBODY, .what = PAGE_API_STYLE},
	{"GET", "/page.js", page_api_get, HTTP_ROLE_ANYBODY, .what = PAGE_API_SCRIPT},
	{"GET", "/charts.js", page_api_get, HTTP_ROLE_ANYBODY, .what = PAGE_API_CHARTS},
	{"GET", "/icon.svg", page_api_get, HTTP_ROLE_ANYBODY, .what = PAGE_API_ICON},
	{NULL},
};

/* The socket of a service may be open to a group. */
static bool share(struct status_api *api, GError **error)
{
	const struct config_service service = config_service_of(view_config(api->session));
	const struct group *group;

	if (!view_serves(api->session) || !service.group)
		return true;
	group = getgrnam(service.group);
	if (group)
		return http_server_share(api->server, group->gr_gid, error);
	return error_fail(error, RUN_ERROR, RUN_ERROR_INPUT,
			  "service.group: this machine has no group '%s'", service.group);
}

const struct http_route *status_api_routes(void)
{
	return routes;
}

struct status_api *status_api_new(const char *address, struct run_session *session, GError **error)
{
	struct status_api *api = g_new0(struct status_api, 1);

	api->session = session;
	api->server = http_server_new(view_platform(session), address, routes, api, error);
	if (!api->server || !share(api, error)) {
		http_server_free(api->server);
		g_free(api);
		return NULL;
	}
	http_server_guard(api->server, access_of_peer, NULL);
	http_server_limit(api->server, config_service_of(view_config(session)).user_requests_per_s);
	api->events = events_api_new(session);
	api->clusters = fleet_texts_new(session);
	api->nodes = nodes_api_new(session);
	api->texts = task_texts_new(session);
	api->curve = remote_curve_new();
	api->reader = store_reader_new();
	return api;
}

bool status_api_listen(struct status_api *api, const char *address, GError **error)
{
	struct http_tls tls;

	api->browsers = http_server_new_tls(view_platform(api->session), address,
					    run_tls(address, view_config(api->session), &tls),
					    routes, api, error);
	if (!api->browsers)
		return false;
	api->tokens = token_book_new(view_platform(api->session), view_directory(api->session));
	http_server_guard(api->browsers, access_of_token, api->tokens);
	http_server_limit(api->browsers,
			  config_service_of(view_config(api->session)).user_requests_per_s);
	run_session_note(api->session, "listening", "the controller's page is at %s/",
			 http_server_address(api->browsers));
	return true;
}

void status_api_free(struct status_api *api)
{
	if (!api)
		return;
	http_server_free(api->browsers);
	http_server_free(api->server);
	events_api_free(api->events);
	fleet_texts_free(api->clusters);
	nodes_api_free(api->nodes);
	task_texts_free(api->texts);
	remote_curve_free(api->curve);
	store_reader_free(api->reader);
	token_book_free(api->tokens);
	g_free(api);
}
