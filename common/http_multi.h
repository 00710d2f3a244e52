/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <curl/curl.h>
#include <glib.h>
#include <stdbool.h>

/*
 * libcurl on the GLib main loop, for common/http_client.c: libcurl says which sockets and which
 * timer to watch (curl_multi_socket_action()). All clients of a main context share one multi handle
 * and one GSource, since a main loop checks each of its sources in every turn, and a controller has
 * two clients for each of hundreds of local schedulers. The watched sockets are in an epoll
 * descriptor, which the source polls.
 */
struct http_multi;

/* A transfer; the caller embeds it in its own struct. */
struct http_multi_transfer {
	CURL *easy; /* with all its options but CURLOPT_PRIVATE; owned by the caller */
	/*
	 * Called once from the main loop, when `result` is set. May free the transfer, start and
	 * cancel others, leave the multi handle, and iterate the main loop recursively.
	 */
	void (*done)(struct http_multi_transfer *transfer);
	CURLcode result;
	bool finished; /* set by http_multi.c: libcurl has finished it */
};

/*
 * Joins the multi handle of `context`; the first caller creates it. Ends the process if there are
 * no file descriptors left.
 */
struct http_multi *http_multi_join(GMainContext *context);

/*
 * To be called by a user without transfers; the last one to leave frees the handle and closes all
 * connections.
 */
void http_multi_leave(struct http_multi *multi);

/*
 * Starts `transfer`, whose address must not change until it is done or cancelled. Never calls
 * done() before it returns.
 */
void http_multi_start(struct http_multi *multi, struct http_multi_transfer *transfer);

/*
 * Has libcurl do what is due without a main loop, until go_on(data) is false, at most `timeout_s`:
 * no done() is called. Transfers that libcurl finishes meanwhile are `finished`, and are done in the
 * next turn of the main loop, or by http_multi_deliver(), which go_on() may call. That is asked
 * before each step.
 */
void http_multi_settle(struct http_multi *multi, double timeout_s, bool (*go_on)(void *data),
		       void *data);

/* Calls done() of a transfer that is `finished`. */
void http_multi_deliver(struct http_multi *multi, struct http_multi_transfer *transfer);

/*
 * Cancels a transfer that is not done; done() is not called. Closes its connection, unless its
 * answer has arrived.
 */
void http_multi_cancel(struct http_multi *multi, struct http_multi_transfer *transfer);
