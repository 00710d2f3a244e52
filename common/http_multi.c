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
	/* the longest time in which answers are delivered in a turn of the main loop */
	TURN_US = 2000,
	KEPT_PER_CLIENT = 4, /* number of idle connections */
	STEP_MS = 1000,      /* of http_multi_settle() */
};

struct http_multi {
	GSource source; /* first: callbacks cast back */
	uint32_t clients;
	CURLM *curl;
	int epoll;
	gpointer polled; /* the source's tag of the epoll descriptor */
	gint64 timer_us; /* when libcurl wants to be called, monotonic; -1: never */
	GQueue finished; /* struct http_multi_transfer elements in the order of delivery */
};

static void finish(struct http_multi *multi, struct http_multi_transfer *transfer, CURLcode result)
{
	transfer->result = result;
	transfer->finished = true;
	g_queue_push_tail(&multi->finished, transfer);
	g_source_set_ready_time(&multi->source, 0);
}

/* Moves the transfers that libcurl has finished to multi->finished. */
static void collect_finished(struct http_multi *multi)
{
	struct http_multi_transfer *transfer;
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(multi->curl, &left))) {
		const CURLcode result = message->data.result;
		CURL *easy = message->easy_handle;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
		curl_multi_remove_handle(multi->curl, easy); /* frees the message */
		finish(multi, transfer, result);
	}
}

/* Sets the time of the next dispatch without socket activity. */
static void set_alarm(struct http_multi *multi)
{
	g_source_set_ready_time(&multi->source,
				g_queue_is_empty(&multi->finished) ? multi->timer_us : 0);
}

static int on_timer_wanted(CURLM *curl, long timeout_ms, void *data)
{
	struct http_multi *multi = data;

	multi->timer_us = timeout_ms < 0 ? -1 : g_get_monotonic_time() + timeout_ms * 1000;
	set_alarm(multi);
	return 0;
}

static void run_timer(struct http_multi *multi)
{
	int running;

	if (multi->timer_us < 0 || g_get_monotonic_time() < multi->timer_us)
		return;
	multi->timer_us = -1;
	curl_multi_socket_action(multi->curl, CURL_SOCKET_TIMEOUT, 0, &running);
	collect_finished(multi);
}

static void run_sockets(struct http_multi *multi)
{
	struct epoll_event ready[SOCKETS_AT_ONCE];
	const int count = epoll_wait(multi->epoll, ready, SOCKETS_AT_ONCE, 0);
	int running;

	for (int i = 0; i < count; i++) {
		int events = 0;

		if (ready[i].events & (EPOLLIN | EPOLLHUP))
			events |= CURL_CSELECT_IN;
		if (ready[i].events & EPOLLOUT)
			events |= CURL_CSELECT_OUT;
		if (ready[i].events & EPOLLERR)
			events |= CURL_CSELECT_ERR;
		curl_multi_socket_action(multi->curl, ready[i].data.fd, events, &running);
	}
	collect_finished(multi);
}

/* libcurl wants `fd` watched for `what`; `socket_data` is set if it is watched already. */
static int on_socket_wanted(CURL *easy, curl_socket_t fd, int what, void *data, void *socket_data)
{
	struct http_multi *multi = data;
	struct epoll_event event = {.data = {.fd = fd}};

	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(multi->epoll, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	if (what & CURL_POLL_IN)
		event.events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		event.events |= EPOLLOUT;
	/*
	 * A descriptor that was closed meanwhile is not watched any more. Returning -1 would end
	 * all transfers.
	 */
	if ((!socket_data || epoll_ctl(multi->epoll, EPOLL_CTL_MOD, fd, &event) != 0) &&
	    epoll_ctl(multi->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
		log_error("a connection cannot be watched, and will time out: %s", strerror(errno));
	curl_multi_assign(multi->curl, fd, multi);
	return 0;
}

static gboolean dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
	struct http_multi *multi = (struct http_multi *)source;
	const gint64 until_us = g_get_monotonic_time() + TURN_US;
	struct http_multi_transfer *transfer;

	if (g_source_query_unix_fd(source, multi->polled))
		run_sockets(multi);
	run_timer(multi);
	while ((transfer = g_queue_pop_head(&multi->finished))) {
		set_alarm(multi); /* for a recursive main loop */
		transfer->done(transfer);
		if (g_get_monotonic_time() >= until_us)
			break;
	}
	set_alarm(multi);
	return G_SOURCE_CONTINUE;
}

static GSourceFuncs hub_funcs = {.dispatch = dispatch};

static gboolean nothing(gpointer data)
{
	return G_SOURCE_CONTINUE;
}

static struct http_multi *hub_new(GMainContext *context)
{
	GSource *source = g_source_new(&hub_funcs, sizeof(struct http_multi));
	struct http_multi *multi = (struct http_multi *)source;

	multi->curl = curl_multi_init();
	multi->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!multi->curl || multi->epoll < 0)
		g_error("libcurl cannot be set up: %s",
			multi->curl ? strerror(errno) : "no memory");
	multi->timer_us = -1;
	g_queue_init(&multi->finished);
	curl_multi_setopt(multi->curl, CURLMOPT_SOCKETFUNCTION, on_socket_wanted);
	curl_multi_setopt(multi->curl, CURLMOPT_SOCKETDATA, multi);
	curl_multi_setopt(multi->curl, CURLMOPT_TIMERFUNCTION, on_timer_wanted);
	curl_multi_setopt(multi->curl, CURLMOPT_TIMERDATA, multi);
	multi->polled = g_source_add_unix_fd(source, multi->epoll, G_IO_IN);
	/* a source without a callback is not found */
	g_source_set_callback(source, nothing, NULL, NULL);
	g_source_set_can_recurse(source, TRUE);
	g_source_attach(source, context);
	return multi;
}

/*
 * By default libcurl keeps four connections per transfer under way, and so none for clients that
 * make one request after another.
 */
static void set_kept(struct http_multi *multi)
{
	curl_multi_setopt(multi->curl, CURLMOPT_MAXCONNECTS,
			  (long)multi->clients * KEPT_PER_CLIENT);
}

struct http_multi *http_multi_join(GMainContext *context)
{
	struct http_multi *multi =
		(struct http_multi *)g_main_context_find_source_by_funcs_user_data(context,
										   &hub_funcs,
										   NULL);

	if (multi)
		g_source_ref(&multi->source);
	else
		multi = hub_new(context);
	multi->clients++;
	set_kept(multi);
	return multi;
}

void http_multi_leave(struct http_multi *multi)
{
	if (--multi->clients > 0) {
		set_kept(multi);
	} else {
		g_source_destroy(&multi->source);
		curl_multi_setopt(multi->curl, CURLMOPT_TIMERFUNCTION, NULL);
		curl_multi_cleanup(multi->curl);
		close(multi->epoll);
	}
	g_source_unref(&multi->source);
}

void http_multi_start(struct http_multi *multi, struct http_multi_transfer *transfer)
{
	transfer->finished = false;
	curl_easy_setopt(transfer->easy, CURLOPT_PRIVATE, transfer);
	if (curl_multi_add_handle(multi->curl, transfer->easy) != CURLM_OK)
		finish(multi, transfer, CURLE_FAILED_INIT);
}

/* Waits at most `us` for the sockets and timers of libcurl, and has it do what is due. */
static void advance(struct http_multi *multi, gint64 us)
{
	GPollFD poll = {.fd = multi->epoll, .events = G_IO_IN};

	if (multi->timer_us >= 0)
		us = CLAMP(multi->timer_us - g_get_monotonic_time(), 0, us);
	if (g_poll(&poll, 1, (int)MIN(us / 1000 + 1, STEP_MS)) > 0)
		run_sockets(multi);
	run_timer(multi);
}

void http_multi_settle(struct http_multi *multi, double timeout_s, bool (*go_on)(void *data),
		       void *data)
{
	const gint64 until_us = g_get_monotonic_time() + (gint64)(timeout_s * 1e6);

	while (go_on(data) && g_get_monotonic_time() < until_us)
		advance(multi, until_us - g_get_monotonic_time());
}

void http_multi_deliver(struct http_multi *multi, struct http_multi_transfer *transfer)
{
	g_queue_remove(&multi->finished, transfer);
	set_alarm(multi);
	transfer->done(transfer);
}

void http_multi_cancel(struct http_multi *multi, struct http_multi_transfer *transfer)
{
	if (transfer->finished)
		g_queue_remove(&multi->finished, transfer);
	else
		curl_multi_remove_handle(multi->curl, transfer->easy);
}
