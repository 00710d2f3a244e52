/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"
#include "controller/access/token_book.h"
#include "controller/api/status_api.h"

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
	struct remote_curve *curve;   /* of energy over time */
	struct store_reader *reader;  /* for queries that take long */
};

/* Seconds since the start of the present run, or of the last one; 0 before the first one. */
double api_now_s(const struct run_session *session);
/* A reading of clock_now_ns() in seconds of the present run. */
double api_time_s(const struct run_session *session, int64_t t_ns);

/*
 * Microseconds since 1970 at the start of that run; 0: no run began, or the session has no wall
 * time. Texts made with it become invalid when it changes, since the clock was set.
 */
int64_t api_zero_us(const struct run_session *session);
/*
 * Sets "NAME_s" of `object` to a time of the run, and "NAME_utc" to the same by the wall clock;
 * null: unknown.
 */
void api_set_time(json_t *object, const struct run_session *session, const char *name, double time_s);

/* The numbers of the present run, brought up to date. */
const struct run_progress *api_progress(const struct run_session *session);
