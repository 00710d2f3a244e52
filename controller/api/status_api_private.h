/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"
#include "controller/access/token_book.h"
#include "controller/api/status_api.h"

/*
 * What the files of the API share, for them alone: every handler's `data` is a struct status_api, and
 * the table of status_api.c names the handlers of the other files.
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
	struct http_server *browsers; /* the same over TCP; NULL: not wanted */
	struct token_book *tokens;    /* that are good there */
	struct events_api *events;
	struct fleet_texts *clusters;
	struct nodes_api *nodes;
	struct task_texts *texts;
	struct remote_curve *curve;   /* of energy */
	struct store_reader *reader;  /* of what takes long to sum up */
};

/* Seconds since the start of the run under way, or of the last one; before the first one 0. */
double api_now_s(const struct run_session *session);
/* A reading of our clock on that scale. */
double api_time_s(const struct run_session *session, int64_t t_ns);

/*
 * Microseconds since 1970 at the start of that run; 0: none began, or the session knows no wall time. What was told with
 * it is to be told again when it changes: the clock was set.
 */
int64_t api_zero_us(const struct run_session *session);
/*
 * Sets "NAME_s" of `object` to a time of the run, and "NAME_utc" to what that is by the wall clock; null: not known.
 */
void api_set_time(json_t *object, const struct run_session *session, const char *name, double time_s);

/* The numbers of the run under way, brought up to date. */
const struct run_progress *api_progress(const struct run_session *session);
