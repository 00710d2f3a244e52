/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"
#include "controller/access/token_book.h"
#include "controller/api/status_api.h"
#include "controller/session/view.h"

/*
 * The common part of the API's files, for them only: every handler's `data` is a struct status_api,
 * and the table of status_api.c names the handlers of the other files.
 */
struct events_api;
struct fleet_texts;
struct nodes_api;
struct remote_curve;
struct store_reader;
struct task_texts;

struct status_api {
	struct run_session *session;
	struct http_server *server;
	struct http_server *browsers; /* the server at the second address, over TCP; NULL: none */
	struct token_book *tokens;    /* that are valid there */
	struct events_api *events;
	struct fleet_texts *clusters;
	struct nodes_api *nodes;
	struct task_texts *texts;
	struct remote_curve *curve;  /* of energy over time */
	struct store_reader *reader; /* for queries that take long */
};

/* The session that a handler's `data` refers to. */
static inline const struct run_session *api_session(const void *data)
{
	return ((const struct status_api *)data)->session;
}

/* api_answer.c: what handlers share */

/* A reading of platform_now_ns() in seconds of the present run. */
double api_time_s(const struct run_session *session, int64_t t_ns);

/*
 * Sets "NAME_s" of `object` to a time of the run, and "NAME_utc" to the same by the wall clock;
 * null: unknown.
 */
void api_set_time(json_t *object, const struct run_session *session, const char *name,
		  double time_s);

/* The name or number of the user that sent a request; NULL: unknown. The caller frees it. */
char *api_peer_name(struct http_request *request);

/* Whether a service runs; else answers the request with 409 or 503. */
bool api_is_served(struct http_request *request, struct run_session *session);

/* As error_fail(), of a request to a service whose input is wrong. */
#define api_wrong(error_, ...)                                                                     \
	error_fail(error_, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_INPUT, __VA_ARGS__)

/* False with `error`: a key is none of `keys`. So a mistyped key is not ignored. */
bool api_check_keys(const json_t *body, const char *const *keys, GError **error);

/* The value of a key, borrowed, or NULL; null counts as absent, here and below. */
const json_t *api_given(const json_t *body, const char *key);

/* *ret_text is borrowed from the body; NULL: absent. */
bool api_get_text(const json_t *body, const char *key, char **ret_text, GError **error);

/* Answers with why a service refused the request (RUN_SERVICE_ERROR, ENGINE_REFUSAL_ERROR). */
void api_refuse(struct http_request *request, const GError *error);

/*
 * Answers with `body` (taken over), as soon as all that the service has recorded so far is on disk:
 * a service keeps what it acknowledged, whatever fails. Answers 503 where that is impossible. An
 * experiment answers at once.
 */
void api_answer_safely(struct http_request *request, struct run_session *session, int status,
		       json_t *body);

/*
 * Answers with an object whose first members were written as `text` (taken over), from its "{" on,
 * and whose other members are those of `rest`.
 */
void api_reply_parts(struct http_request *request, GString *text, const json_t *rest);

/*
 * Answers with `bytes` and their ETag, or with 304 to a client that has them: it sends the tag.
 * `cache` is the header Cache-Control.
 */
void api_reply_tagged(struct http_request *request, const char *tag, const char *cache,
		      const char *type, GBytes *bytes);
