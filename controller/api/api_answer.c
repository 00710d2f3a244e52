/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <pwd.h>
#include <string.h>

#include "common/clock.h"
#include "common/error_fail.h"
#include "common/json.h"
#include "common/platform.h"
#include "controller/api/status_api_private.h"
#include "controller/run/run_utc.h"
#include "controller/service/run_service.h"

char *api_peer_name(struct http_request *request)
{
	const int64_t uid = http_request_peer_uid(request);
	const struct passwd *entry = uid >= 0 ? getpwuid((uid_t)uid) : NULL;

	if (entry && g_utf8_validate(entry->pw_name, -1, NULL))
		return g_strdup(entry->pw_name);
	return uid >= 0 ? g_strdup_printf("%" PRId64, uid) : NULL;
}

bool api_is_served(struct http_request *request, struct run_session *session)
{
	const bool serves = view_service(session) != NULL;

	if (!view_serves(session))
		http_request_fail(request, 409,
				  "this is an experiment, not a service (virtbed serve), "
				  "which tasks are submitted to");
	else if (!serves)
		http_request_fail(request, 503,
				  "the service is starting or ending; try again in a moment");
	return serves;
}

/* The bodies of requests to a service. */

bool api_check_keys(const json_t *body, const char *const *keys, GError **error)
{
	g_autofree char *known = g_strjoinv(", ", (char **)keys);
	const char *key;
	const json_t *value;

	json_object_foreach ((json_t *)body, key, value)
		if (!g_strv_contains(keys, key))
			return api_wrong(error, "unknown key '%.64s'; known: %s", key, known);
	return true;
}

const json_t *api_given(const json_t *body, const char *key)
{
	const json_t *value = json_object_get(body, key);

	return json_is_null(value) ? NULL : value;
}

bool api_get_text(const json_t *body, const char *key, char **ret_text, GError **error)
{
	const json_t *value = api_given(body, key);

	*ret_text = (char *)json_string_value(value);
	if (!value || (*ret_text && strlen(*ret_text) == json_string_length(value)))
		return true;
	return api_wrong(error, "%s: not a text", key);
}

void api_refuse(struct http_request *request, const GError *error)
{
	static const int statuses[] = {
		[RUN_SERVICE_ERROR_INPUT] = 400,
		[RUN_SERVICE_ERROR_REFUSED] = 409,
		[RUN_SERVICE_ERROR_STORE] = 503,
		[RUN_SERVICE_ERROR_FORBIDDEN] = 403,
	};

	if (error->domain == ENGINE_REFUSAL_ERROR)
		http_request_refuse(request, 409,
				    engine_refusal_word((enum engine_refusal)error->code), "%s",
				    error->message);
	else
		http_request_fail(request, statuses[error->code], "%s", error->message);
}

/* An answer about recorded facts, sent when they are on disk. */

struct safe_answer {
	struct http_request *request; /* NULL: the client disconnected */
	int status;
	json_t *body;
};

static void client_gone(struct http_request *request, void *data)
{
	((struct safe_answer *)data)->request = NULL;
}

static void is_safe(const GError *error, void *data)
{
	struct safe_answer *answer = data;
	struct http_request *request = answer->request;

	if (request)
		http_request_on_cancel(request, NULL, NULL);
	if (request && error)
		http_request_fail(request, 503, "the store cannot be written: %s", error->message);
	else if (request)
		http_request_reply(request, answer->status, json_incref(answer->body));
	json_decref(answer->body);
	g_free(answer);
}

void api_answer_safely(struct http_request *request, struct run_session *session, int status,
		       json_t *body)
{
	struct run_service *service = view_service(session);
	struct safe_answer *answer;

	if (!service) {
		http_request_reply(request, status, body);
		return;
	}
	answer = g_new(struct safe_answer, 1);
	*answer = (struct safe_answer){
		.request = request,
		.status = status,
		.body = body,
	};
	run_service_when_safe(service, is_safe, answer);
	http_request_on_cancel(request, client_gone, answer);
}

void api_reply_parts(struct http_request *request, GString *text, const json_t *rest)
{
	g_autofree char *rest_text = json_text(rest);
	g_autoptr(GBytes) answer = NULL;

	g_string_append_printf(text, ",%s", rest_text + 1);
	answer = g_string_free_to_bytes(text);
	http_request_reply_bytes(request, 200, "application/json", answer);
}

void api_reply_tagged(struct http_request *request, const char *tag, const char *cache,
		      const char *type, GBytes *bytes)
{
	const char *known = http_request_header(request, "If-None-Match");

	http_request_set_header(request, "ETag", tag);
	http_request_set_header(request, "Cache-Control", cache);
	if (g_strcmp0(known, tag) == 0)
		http_request_reply(request, 304, NULL);
	else
		http_request_reply_bytes(request, 200, type, bytes);
}

/* Times. */

double api_time_s(const struct run_session *session, int64_t t_ns)
{
	return clock_elapsed_s(view_start_ns(session) ?: platform_now_ns(view_platform(session)),
			       t_ns);
}

void api_set_time(json_t *object, const struct run_session *session, const char *name,
		  double time_s)
{
	const int64_t zero_us = view_start_utc_us(session);
	g_autofree char *seconds = g_strconcat(name, "_s", NULL);
	g_autofree char *clock = g_strconcat(name, "_utc", NULL);
	g_autofree char *text = zero_us ? run_utc_text(zero_us, time_s) : NULL;

	json_object_set_new(object, seconds, json_number_or_null(time_s));
	json_object_set_new(object, clock, json_string_or_null(text));
}
