/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/http_client.h"
#include "common/http_server.h"

/*
 * A server of a few routes on a Unix socket or on TCP, with what its handlers saw, and a client of
 * it, for g_test_add().
 */
struct http_fixture {
	char *directory;
	struct http_server *server;
	struct http_client *client;
	GQueue waiting; /* struct http_request of /v1/wait */
	int cancelled;
	int ok;       /* answers of /v1/ok */
	int answered; /* by http_fixture_answered() */
	int status;
	int code;                  /* of the error, 0 without */
	struct http_client *other; /* of the same server */
};

/* The routes of the server; their handlers take a struct http_fixture as their data. */
extern const struct http_route http_fixture_routes[];

/* Starts server and client. `address` of the server; NULL: a Unix socket in a new directory. */
void http_fixture_init(struct http_fixture *fixture, gconstpointer address);
/* Frees both, and checks that no socket file is left. */
void http_fixture_finish(struct http_fixture *fixture, gconstpointer address);

/*
 * An http_client_done_f: counts the answer in its data, a struct http_fixture, and keeps its status
 * and the code of its error.
 */
void http_fixture_answered(int status, json_t *body, const GError *error, void *data);

/* Registers a test over both kinds of address: /http/unix/NAME and /http/tcp/NAME. */
void http_fixture_add(const char *name, void (*test)(struct http_fixture *, gconstpointer));
