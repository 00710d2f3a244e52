/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/http_multi.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define LOG_SUBSYSTEM "http"
#include "common/log.h"

enum {
	SOCKETS_AT_ONCE = 64,
	TURN_US = 2000,      /* answers are handed over for so long before others have their turn */
	KEPT_PER_CLIENT = 4, /* connections */
};

struct http_multi {
	GSource source; /* first: callbacks cast back */
	uint32_t clients;
	CURLM *multi;
	int epoll;
	gpointer polled; /* the source's tag of that */
	gint64 timer_us; /* when libcurl wants to be called, monotonic; -1: not */
	GQueue finished; /* struct http_multi_transfer, to be handed over in this order */
};

static void finish(struct http_multi *hub, struct http_multi_transfer *transfer, CURLcode result)
{
	transfer->result = result;
	transfer->finished = true;
	g_queue_push_tail(&hub->finished, transfer);
	g_source_set_ready_time(&hub->source, 0);
}

/* Moves what libcurl is done with to the finished ones. */
static void collect_finished(struct http_multi *hub)
{
	struct http_multi_transfer *transfer;
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(hub->multi, &left))) {
		const CURLcode result = message->data.result;
		CURL *easy = message->easy_handle;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
		curl_multi_remove_handle(hub->multi, easy); /* frees the message */
		finish(hub, transfer, result);
	}
}

/* When there is something to do without anything to read or write. */
static void set_alarm(struct http_multi *hub)
{
	g_source_set_ready_time(&hub->source, g_queue_is_empty(&hub->finished) ? hub->timer_us : 0);
}

static int on_timer_wanted(CURLM *multi, long timeout_ms, void *data)
{
	struct http_multi *hub = data;

	hub->timer_us = timeout_ms < 0 ? -1 : g_get_monotonic_time() + timeout_ms * 1000;
	set_alarm(hub);
	return 0;
}

static void run_timer(struct http_multi *hub)
{
	int running;

	if (hub->timer_us < 0 || g_get_monotonic_time() < hub->timer_us)
		return;
	hub->timer_us = -1;
	curl_multi_socket_action(hub->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	collect_finished(hub);
}

static void run_sockets(struct http_multi *hub)
{
	struct epoll_event ready[SOCKETS_AT_ONCE];
	const int count = epoll_wait(hub->epoll, ready, SOCKETS_AT_ONCE, 0);
	int running;

	for (int i = 0; i < count; i++) {
		int events = 0;

		if (ready[i].events & (EPOLLIN | EPOLLHUP))
			events |= CURL_CSELECT_IN;
		if (ready[i].events & EPOLLOUT)
			events |= CURL_CSELECT_OUT;
		if (ready[i].events & EPOLLERR)
			events |= CURL_CSELECT_ERR;
		curl_multi_socket_action(hub->multi, ready[i].data.fd, events, &running);
	}
	collect_finished(hub);
}

/* libcurl wants `fd` watched for `what`; `socket_data` is set where it is watched already. */
static int on_socket_wanted(CURL *easy, curl_socket_t fd, int what, void *data, void *socket_data)
{
	struct http_multi *hub = data;
	struct epoll_event event = {.data = {.fd = fd}};

	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(hub->epoll, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	if (what & CURL_POLL_IN)
		event.events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		event.events |= EPOLLOUT;
	/* One that was closed meanwhile is not watched any more. To say -1 would end all that is under way. */
	if ((!socket_data || epoll_ctl(hub->epoll, EPOLL_CTL_MOD, fd, &event) != 0) &&
	    epoll_ctl(hub->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
		log_error("a connection cannot be watched, and will time out: %s", strerror(errno));
	curl_multi_assign(hub->multi, fd, hub);
	return 0;
}

static gboolean dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
	struct http_multi *hub = (struct http_multi *)source;
	const gint64 until_us = g_get_monotonic_time() + TURN_US;
	struct http_multi_transfer *transfer;

	if (g_source_query_unix_fd(source, hub->polled))
		run_sockets(hub);
	run_timer(hub);
	while ((transfer = g_queue_pop_head(&hub->finished))) {
		set_alarm(hub); /* for a loop inside */
		transfer->done(transfer);
		if (g_get_monotonic_time() >= until_us)
			break;
	}
	set_alarm(hub);
	return G_SOURCE_CONTINUE;
}

static GSourceFuncs hub_funcs = { .dispatch = dispatch };

static gboolean nothing(gpointer data)
{
	return G_SOURCE_CONTINUE;
}

static struct http_multi *hub_new(GMainContext *context)
{
	GSource *source = g_source_new(&hub_funcs, sizeof(struct http_multi));
	struct http_multi *hub = (struct http_multi *)source;

	hub->multi = curl_multi_init();
	hub->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!hub->multi || hub->epoll < 0)
		g_error("libcurl cannot be set up: %s", hub->multi ? strerror(errno) : "no memory");
	hub->timer_us = -1;
	g_queue_init(&hub->finished);
	curl_multi_setopt(hub->multi, CURLMOPT_SOCKETFUNCTION, on_socket_wanted);
	curl_multi_setopt(hub->multi, CURLMOPT_SOCKETDATA, hub);
	curl_multi_setopt(hub->multi, CURLMOPT_TIMERFUNCTION, on_timer_wanted);
	curl_multi_setopt(hub->multi, CURLMOPT_TIMERDATA, hub);
	hub->polled = g_source_add_unix_fd(source, hub->epoll, G_IO_IN);
	g_source_set_callback(source, nothing, NULL, NULL); /* only those with one are found */
	g_source_set_can_recurse(source, TRUE);
	g_source_attach(source, context);
	return hub;
}

/* Left to itself libcurl keeps four connections for each request under way, so none for clients that ask in turn. */
static void set_kept(struct http_multi *hub)
{
	curl_multi_setopt(hub->multi, CURLMOPT_MAXCONNECTS, (long)hub->clients * KEPT_PER_CLIENT);
}

struct http_multi *http_multi_join(GMainContext *context)
{
	struct http_multi *hub =
		(struct http_multi *)g_main_context_find_source_by_funcs_user_data(context, &hub_funcs, NULL);

	if (hub)
		g_source_ref(&hub->source);
	else
		hub = hub_new(context);
	hub->clients++;
	set_kept(hub);
	return hub;
}

void http_multi_leave(struct http_multi *hub)
{
	if (--hub->clients > 0) {
		set_kept(hub);
	} else {
		g_source_destroy(&hub->source);
		curl_multi_setopt(hub->multi, CURLMOPT_TIMERFUNCTION, NULL);
		curl_multi_cleanup(hub->multi);
		close(hub->epoll);
	}
	g_source_unref(&hub->source);
}

void http_multi_start(struct http_multi *hub, struct http_multi_transfer *transfer)
{
	transfer->finished = false;
	curl_easy_setopt(transfer->easy, CURLOPT_PRIVATE, transfer);
	if (curl_multi_add_handle(hub->multi, transfer->easy) != CURLM_OK)
		finish(hub, transfer, CURLE_FAILED_INIT);
}

void http_multi_cancel(struct http_multi *hub, struct http_multi_transfer *transfer)
{
	if (transfer->finished)
		g_queue_remove(&hub->finished, transfer);
	else
		curl_multi_remove_handle(hub->multi, transfer->easy);
}
