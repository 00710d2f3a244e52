/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <curl/curl.h>
#include <glib.h>
#include <stdbool.h>

/*
 * libcurl on the GLib main loop, for common/http_client.c: it says which sockets and which timer to watch
 * (curl_multi_socket_action()). All clients of a main context share one handle of it, and one GSource: a main loop
 * looks at each of its sources in every turn, and a controller has two clients for each of hundreds of local
 * schedulers. What is watched is in an epoll descriptor, which the source polls.
 */
struct http_multi;

/* A transfer of somebody's, who has it as a part of what else it knows of it. */
struct http_multi_transfer {
	CURL *easy; /* with all its options but CURLOPT_PRIVATE; its owner's */
	/*
	 * From the main loop, once, when `result` is there. May free the transfer, start and cancel others, leave the
	 * hub, and iterate the main loop, which may run inside itself.
	 */
	void (*done)(struct http_multi_transfer *transfer);
	CURLcode result;
	bool finished; /* the hub's: libcurl has done with it */
};

/* The hub of `context`, which is made for the first who joins. Ends the process where there are no descriptors left. */
struct http_multi *http_multi_join(GMainContext *context);

/* For who has no transfers in it any more; the last one to leave ends it, and closes all connections. */
void http_multi_leave(struct http_multi *multi);

/*
 * Starts `transfer`, which must stay where it is until it is done or cancelled. Never calls done() before it returns.
 */
void http_multi_start(struct http_multi *multi, struct http_multi_transfer *transfer);

/* Of a transfer that is not done: it never will be. Closes its connection, unless it has its answer. */
void http_multi_cancel(struct http_multi *multi, struct http_multi_transfer *transfer);
