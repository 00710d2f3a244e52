/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The transport of this machine: sockets for servers, libcurl for requests. */
#include "common/transport.h"

#include <curl/curl.h>
#include <errno.h>
#include <gio/gunixsocketaddress.h>
#include <glib-unix.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error_fail.h"
#include "common/http_error.h"

#define LOG_SUBSYSTEM "http"
#include "common/log.h"

/* Listening. */

enum { BACKLOG = 64 };

struct transport_place {
	GSocket *socket;
	char *path; /* of the socket file; NULL: none */
};

/* Removes a socket file without a listener. Returns false if a process listens there. */
static bool clear_stale_socket(const char *path, GSocketAddress *address, GError **error)
{
	g_autoptr(GSocket) probe = NULL;
	struct stat status;

	if (lstat(path, &status) < 0)
		return true;
	if (!S_ISSOCK(status.st_mode))
		return error_fail(error, HTTP_ERROR, HTTP_ERROR_ADDRESS,
				  "it exists and is no socket; remove it");
	probe = g_socket_new(G_SOCKET_FAMILY_UNIX, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_DEFAULT,
			     error);
	if (!probe)
		return false;
	if (g_socket_connect(probe, address, NULL, NULL))
		return error_fail(error, G_IO_ERROR, G_IO_ERROR_ADDRESS_IN_USE,
				  "another process does; stop it first");
	unlink(path);
	return true;
}

/* A socket bound to `where`; only this user may connect to a Unix socket. */
static GSocket *bind_socket(GSocketAddress *where, const char *path, GError **error)
{
	g_autoptr(GSocket) socket = NULL;

	if (path && !clear_stale_socket(path, where, error))
		return NULL;
	socket = g_socket_new(g_socket_address_get_family(where), G_SOCKET_TYPE_STREAM,
			      path ? G_SOCKET_PROTOCOL_DEFAULT : G_SOCKET_PROTOCOL_TCP, error);
	if (!socket)
		return NULL;
	/* Linux gives the file the mode of the socket, so others can never connect. */
	if (path)
		fchmod(g_socket_get_fd(socket), 0600);
	return g_socket_bind(socket, where, TRUE, error) ? g_steal_pointer(&socket) : NULL;
}

static void close_place(struct transport_place *place)
{
	g_socket_close(place->socket, NULL);
	g_object_unref(place->socket);
	if (place->path)
		unlink(place->path);
	g_free(place->path);
	g_free(place);
}

static struct transport_place *listen_at(const struct platform *platform, GSocketAddress *where,
					 GError **error)
{
	const char *path = G_IS_UNIX_SOCKET_ADDRESS(where)
				   ? g_unix_socket_address_get_path(G_UNIX_SOCKET_ADDRESS(where))
				   : NULL;
	g_autoptr(GError) reason = NULL;
	GSocket *socket = bind_socket(where, path, &reason);
	struct transport_place *place;

	if (!socket) {
		g_propagate_error(error, g_steal_pointer(&reason));
		return NULL;
	}
	place = g_new0(struct transport_place, 1);
	place->socket = socket;
	place->path = g_strdup(path);
	g_socket_set_blocking(socket, FALSE);
	g_socket_set_listen_backlog(socket, BACKLOG);
	if (g_socket_listen(socket, error))
		return place;
	close_place(place);
	return NULL;
}

static GSocketAddress *bound(const struct transport_place *place, GError **error)
{
	return g_socket_get_local_address(place->socket, error);
}

static bool share(struct transport_place *place, gid_t group, GError **error)
{
	const char *path = place->path ?: "";

	if (chown(path, (uid_t)-1, group) == 0 && chmod(path, 0660) == 0)
		return true;
	return error_fail(error, G_IO_ERROR, g_io_error_from_errno(errno),
			  "cannot let group %u use the socket \"%s\": %s", (unsigned)group, path,
			  g_strerror(errno));
}

static gboolean call_back(GSource *source, GSourceFunc callback, gpointer data)
{
	return callback(data);
}

static GSourceFuncs parent_funcs = {.dispatch = call_back};

/* A source that is ready when `child` is, which is taken over, with a callback of one type. */
static GSource *parent_of(GSource *child)
{
	GSource *source = g_source_new(&parent_funcs, sizeof(GSource));

	g_source_set_dummy_callback(child);
	g_source_add_child_source(source, child);
	g_source_unref(child);
	return source;
}

static GSource *incoming(struct transport_place *place)
{
	return parent_of(g_socket_create_source(place->socket, G_IO_IN, NULL));
}

static GIOStream *accept_next(struct transport_place *place, GError **error)
{
	g_autoptr(GSocket) socket = g_socket_accept(place->socket, NULL, error);

	if (!socket)
		return NULL;
	if (!place->path)
		g_socket_set_option(socket, IPPROTO_TCP, TCP_NODELAY, TRUE, NULL);
	return G_IO_STREAM(g_socket_connection_factory_create_connection(socket));
}

/* Connections. */

static GSocket *socket_of(GIOStream *connection)
{
	return g_socket_connection_get_socket(G_SOCKET_CONNECTION(connection));
}

static GSocketAddress *remote_address(GIOStream *connection)
{
	return g_socket_get_remote_address(socket_of(connection), NULL);
}

static GSocketAddress *local_address(GIOStream *connection)
{
	return g_socket_get_local_address(socket_of(connection), NULL);
}

static int64_t peer_uid(GIOStream *connection)
{
	GSocket *socket = socket_of(connection);
	const GSocketFamily family = g_socket_get_family(socket);
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (family == G_SOCKET_FAMILY_IPV4 || family == G_SOCKET_FAMILY_IPV6)
		return TRANSPORT_PEER_ANYBODY;
	if (getsockopt(g_socket_get_fd(socket), SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
		return TRANSPORT_PEER_UNKNOWN;
	return peer.uid;
}

static void want(GIOStream *connection, size_t count)
{
	g_socket_set_option(socket_of(connection), SOL_SOCKET, SO_RCVLOWAT, (gint)count, NULL);
}

static size_t peek(GIOStream *connection, void *bytes, size_t most)
{
	GSocket *socket = socket_of(connection);
	const gssize available = g_socket_get_available_bytes(socket);

	if (most > 0 && recv(g_socket_get_fd(socket), bytes, most, MSG_PEEK | MSG_DONTWAIT) < 0)
		return 0;
	return available > 0 ? (size_t)available : 0;
}

static GSource *hangup(GIOStream *connection)
{
	const GIOCondition closed = (GIOCondition)(POLLRDHUP | POLLHUP | POLLERR);

	return parent_of(g_unix_fd_source_new(g_socket_get_fd(socket_of(connection)), closed));
}

static void shut_down(GIOStream *connection, bool input)
{
	g_socket_shutdown(socket_of(connection), input, TRUE, NULL);
}

/* Requests. */

enum {
	SOCKETS_AT_ONCE = 64,
	/* the longest time in which answers are delivered in a turn of the main loop */
	TURN_US = 2000,
	KEPT_PER_CLIENT = 4, /* number of idle connections */
	STEP_MS = 1000,      /* of settle() */
};

/*
 * libcurl on the GLib main loop: libcurl says which sockets and which timer to watch
 * (curl_multi_socket_action()). All clients of a main context share one multi handle and one
 * source, since a main loop checks each of its sources in every turn, and a controller has two
 * clients for each of hundreds of local schedulers. The watched sockets are in an epoll descriptor,
 * which the source polls.
 */
struct transport_client {
	GSource source; /* first: callbacks cast back */
	uint32_t clients;
	CURLM *curl;
	int epoll;
	gpointer polled; /* the source's tag of the epoll descriptor */
	gint64 timer_us; /* when libcurl wants to be called, monotonic; -1: never */
	GQueue finished; /* struct transport_exchange elements in the order of delivery */
};

struct transport_exchange {
	struct transport_client *client;
	CURL *easy;
	struct curl_slist *headers;
	GString *body;
	size_t largest;
	bool too_large;
	bool by_socket;  /* to a Unix socket */
	bool finished;   /* libcurl has finished it */
	bool may_repeat; /* it is a GET */
	bool is_raw;     /* its body is taken as it is */
	CURLcode result;
	char reason[CURL_ERROR_SIZE];
	transport_answered_f answered;
	void *data;
};

/* An answer, and where its headers are. */
struct answer {
	struct transport_answer base; /* first: callbacks cast back */
	CURL *easy;
};

static void exchange_free(struct transport_exchange *exchange)
{
	curl_easy_cleanup(exchange->easy);
	curl_slist_free_all(exchange->headers);
	g_string_free(exchange->body, TRUE);
	g_free(exchange);
}

/*
 * Whether a certificate that is trusted is for another name than that of the server: libcurl says
 * "certificate problem" where it is not trusted.
 */
static bool is_of_another_name(const struct transport_exchange *exchange)
{
	return exchange->result == CURLE_PEER_FAILED_VERIFICATION &&
	       strstr(exchange->reason, "name") && !strstr(exchange->reason, "certificate problem");
}

/* Whether it failed because of the server's certificate, or of our list of trusted CAs. */
static bool is_trust(CURLcode result)
{
	return result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_CACERT_BADFILE ||
	       result == CURLE_SSL_ISSUER_ERROR;
}

/* Why there was no answer. libcurl reports a Unix socket as port 80 of its host. */
static char *reason_of(const struct transport_exchange *exchange)
{
	long number = 0;

	if (exchange->result == CURLE_COULDNT_CONNECT && exchange->by_socket) {
		curl_easy_getinfo(exchange->easy, CURLINFO_OS_ERRNO, &number);
		return g_strdup_printf("cannot connect to the socket%s%s", number ? ": " : "",
				       number ? g_strerror((int)number) : "");
	}
	return g_strdup(*exchange->reason ? exchange->reason
					  : curl_easy_strerror(exchange->result));
}

static enum transport_result result_of(const struct transport_exchange *exchange)
{
	if (exchange->too_large)
		return TRANSPORT_TOO_LARGE;
	if (exchange->result == CURLE_OK)
		return TRANSPORT_ANSWERED;
	if (is_of_another_name(exchange))
		return TRANSPORT_MISNAMED;
	return is_trust(exchange->result) ? TRANSPORT_UNTRUSTED : TRANSPORT_FAILED;
}

static void deliver(struct transport_exchange *exchange)
{
	const enum transport_result result = result_of(exchange);
	g_autofree char *reason = result == TRANSPORT_ANSWERED ? NULL : reason_of(exchange);
	struct answer answer = {
		.base = {.result = result, .reason = reason, .body = exchange->body},
		.easy = exchange->easy,
	};
	char *content_type = NULL;
	char *redirection = NULL;
	long status = 0;

	curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(exchange->easy, CURLINFO_CONTENT_TYPE, &content_type);
	curl_easy_getinfo(exchange->easy, CURLINFO_REDIRECT_URL, &redirection);
	answer.base.status = (int)status;
	answer.base.content_type = content_type;
	answer.base.redirection = redirection;
	exchange->answered(&answer.base, exchange->data);
	exchange_free(exchange);
}

static const char *answer_header(const struct transport_answer *answer, const char *name)
{
	CURL *easy = ((const struct answer *)answer)->easy;
	struct curl_header *header;

	return curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK
		       ? header->value
		       : NULL;
}

static void finish(struct transport_client *client, struct transport_exchange *exchange,
		   CURLcode result)
{
	exchange->result = result;
	exchange->finished = true;
	g_queue_push_tail(&client->finished, exchange);
	g_source_set_ready_time(&client->source, 0);
}

/*
 * Some firmware says "Content-Encoding: UTF-8", of bodies that are not encoded, which libcurl
 * refuses: asks again, and takes the body as it is. Returns false if that would not help.
 */
static bool take_raw(struct transport_client *client, struct transport_exchange *exchange)
{
	static const char *const charsets[] = {"utf-8", "utf8", "iso-8859-1", "us-ascii", NULL};
	struct curl_header *header;
	bool is_charset = false;

	if (exchange->is_raw || !exchange->may_repeat ||
	    curl_easy_header(exchange->easy, "Content-Encoding", 0, CURLH_HEADER, -1, &header) !=
		    CURLHE_OK)
		return false;
	for (gsize i = 0; charsets[i]; i++)
		is_charset |= g_ascii_strcasecmp(header->value, charsets[i]) == 0;
	if (!is_charset)
		return false;
	exchange->is_raw = true;
	g_string_truncate(exchange->body, 0);
	curl_easy_setopt(exchange->easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
	return curl_multi_add_handle(client->curl, exchange->easy) == CURLM_OK;
}

/* Moves the transfers that libcurl has finished to client->finished. */
static void collect_finished(struct transport_client *client)
{
	struct transport_exchange *exchange;
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(client->curl, &left))) {
		const CURLcode result = message->data.result;
		CURL *easy = message->easy_handle;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(easy, CURLINFO_PRIVATE, &exchange);
		curl_multi_remove_handle(client->curl, easy); /* frees the message */
		if (result == CURLE_BAD_CONTENT_ENCODING && take_raw(client, exchange))
			continue;
		finish(client, exchange, result);
	}
}

/* Sets the time of the next dispatch without socket activity. */
static void set_alarm(struct transport_client *client)
{
	g_source_set_ready_time(&client->source,
				g_queue_is_empty(&client->finished) ? client->timer_us : 0);
}

static int on_timer_wanted(CURLM *curl, long timeout_ms, void *data)
{
	struct transport_client *client = data;

	client->timer_us = timeout_ms < 0 ? -1 : g_get_monotonic_time() + timeout_ms * 1000;
	set_alarm(client);
	return 0;
}

static void run_timer(struct transport_client *client)
{
	int running;

	if (client->timer_us < 0 || g_get_monotonic_time() < client->timer_us)
		return;
	client->timer_us = -1;
	curl_multi_socket_action(client->curl, CURL_SOCKET_TIMEOUT, 0, &running);
	collect_finished(client);
}

static void run_sockets(struct transport_client *client)
{
	struct epoll_event ready[SOCKETS_AT_ONCE];
	const int count = epoll_wait(client->epoll, ready, SOCKETS_AT_ONCE, 0);
	int running;

	for (int i = 0; i < count; i++) {
		int events = 0;

		if (ready[i].events & (EPOLLIN | EPOLLHUP))
			events |= CURL_CSELECT_IN;
		if (ready[i].events & EPOLLOUT)
			events |= CURL_CSELECT_OUT;
		if (ready[i].events & EPOLLERR)
			events |= CURL_CSELECT_ERR;
		curl_multi_socket_action(client->curl, ready[i].data.fd, events, &running);
	}
	collect_finished(client);
}

/* libcurl wants `fd` watched for `what`; `socket_data` is set if it is watched already. */
static int on_socket_wanted(CURL *easy, curl_socket_t fd, int what, void *data, void *socket_data)
{
	struct transport_client *client = data;
	struct epoll_event event = {.data = {.fd = fd}};

	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(client->epoll, EPOLL_CTL_DEL, fd, NULL);
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
	if ((!socket_data || epoll_ctl(client->epoll, EPOLL_CTL_MOD, fd, &event) != 0) &&
	    epoll_ctl(client->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
		log_error("a connection cannot be watched, and will time out: %s", strerror(errno));
	curl_multi_assign(client->curl, fd, client);
	return 0;
}

static gboolean dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
	struct transport_client *client = (struct transport_client *)source;
	const gint64 until_us = g_get_monotonic_time() + TURN_US;
	struct transport_exchange *exchange;

	if (g_source_query_unix_fd(source, client->polled))
		run_sockets(client);
	run_timer(client);
	while ((exchange = g_queue_pop_head(&client->finished))) {
		set_alarm(client); /* for a recursive main loop */
		deliver(exchange);
		if (g_get_monotonic_time() >= until_us)
			break;
	}
	set_alarm(client);
	return G_SOURCE_CONTINUE;
}

static GSourceFuncs hub_funcs = {.dispatch = dispatch};

static gboolean nothing(gpointer data)
{
	return G_SOURCE_CONTINUE;
}

static struct transport_client *hub_new(GMainContext *context)
{
	GSource *source = g_source_new(&hub_funcs, sizeof(struct transport_client));
	struct transport_client *client = (struct transport_client *)source;

	client->curl = curl_multi_init();
	client->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!client->curl || client->epoll < 0)
		g_error("libcurl cannot be set up: %s",
			client->curl ? strerror(errno) : "no memory");
	client->timer_us = -1;
	g_queue_init(&client->finished);
	curl_multi_setopt(client->curl, CURLMOPT_SOCKETFUNCTION, on_socket_wanted);
	curl_multi_setopt(client->curl, CURLMOPT_SOCKETDATA, client);
	curl_multi_setopt(client->curl, CURLMOPT_TIMERFUNCTION, on_timer_wanted);
	curl_multi_setopt(client->curl, CURLMOPT_TIMERDATA, client);
	client->polled = g_source_add_unix_fd(source, client->epoll, G_IO_IN);
	/* a source without a callback is not found */
	g_source_set_callback(source, nothing, NULL, NULL);
	g_source_set_can_recurse(source, TRUE);
	g_source_attach(source, context);
	return client;
}

/*
 * By default libcurl keeps four connections per transfer under way, and so none for clients that
 * make one request after another.
 */
static void set_kept(struct transport_client *client)
{
	curl_multi_setopt(client->curl, CURLMOPT_MAXCONNECTS,
			  (long)client->clients * KEPT_PER_CLIENT);
}

static struct transport_client *join(const struct platform *platform, GMainContext *context)
{
	struct transport_client *client =
		(struct transport_client *)g_main_context_find_source_by_funcs_user_data(context,
											 &hub_funcs,
											 NULL);

	if (client)
		g_source_ref(&client->source);
	else
		client = hub_new(context);
	client->clients++;
	set_kept(client);
	return client;
}

/* The last one to leave closes all connections. */
static void leave(struct transport_client *client)
{
	if (--client->clients > 0) {
		set_kept(client);
	} else {
		g_source_destroy(&client->source);
		curl_multi_setopt(client->curl, CURLMOPT_TIMERFUNCTION, NULL);
		curl_multi_cleanup(client->curl);
		close(client->epoll);
	}
	g_source_unref(&client->source);
}

static size_t on_answer(char *bytes, size_t size, size_t count, void *data)
{
	struct transport_exchange *exchange = data;
	const size_t length = size * count;

	if (exchange->body->len + length > exchange->largest) {
		exchange->too_large = true;
		return 0; /* ends the transfer */
	}
	g_string_append_len(exchange->body, bytes, (gssize)length);
	return length;
}

static void set_identity(CURL *easy, const struct transport_request *request)
{
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (request->certificate) {
		curl_easy_setopt(easy, CURLOPT_SSLCERT, request->certificate);
		curl_easy_setopt(easy, CURLOPT_SSLKEY, request->key);
	}
	if (request->ca_file)
		curl_easy_setopt(easy, CURLOPT_CAINFO, request->ca_file);
	if (request->insecure) {
		curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	if (request->user) {
		curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		curl_easy_setopt(easy, CURLOPT_USERNAME, request->user);
		curl_easy_setopt(easy, CURLOPT_PASSWORD, request->password);
	}
}

/*
 * An empty "Expect": libcurl would wait a second for a "100 Continue" before large bodies, which
 * servers need not send.
 */
static void set_headers(struct transport_exchange *exchange,
			const struct transport_request *request)
{
	for (const char *const *header = request->headers; *header; header++)
		exchange->headers = curl_slist_append(exchange->headers, *header);
	exchange->headers = curl_slist_append(exchange->headers, "Expect:");
	curl_easy_setopt(exchange->easy, CURLOPT_HTTPHEADER, exchange->headers);
}

static void set_options(struct transport_exchange *exchange,
			const struct transport_request *request)
{
	CURL *easy = exchange->easy;

	curl_easy_setopt(easy, CURLOPT_PRIVATE, exchange);
	curl_easy_setopt(easy, CURLOPT_URL, request->url);
	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, exchange->reason);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_answer);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, exchange);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	/* 0 would mean no timeout. */
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, MAX((long)(request->timeout_s * 1e3), 1L));
	if (request->connect_s > 0)
		curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(request->connect_s * 1e3));
	if (request->compressed)
		curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip, deflate");
	if (request->socket_path)
		curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, request->socket_path);
	if (request->body) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
				 (curl_off_t)strlen(request->body));
		curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, request->body);
	}
	set_identity(easy, request);
	set_headers(exchange, request);
}

static struct transport_exchange *send_request(struct transport_client *client,
					       const struct transport_request *request,
					       transport_answered_f answered, void *data)
{
	struct transport_exchange *exchange = g_new0(struct transport_exchange, 1);

	exchange->client = client;
	exchange->easy = curl_easy_init();
	exchange->body = g_string_new(NULL);
	exchange->largest = request->largest;
	exchange->by_socket = request->socket_path != NULL;
	exchange->may_repeat = strcmp(request->method, "GET") == 0;
	exchange->answered = answered;
	exchange->data = data;
	set_options(exchange, request);
	if (curl_multi_add_handle(client->curl, exchange->easy) != CURLM_OK)
		finish(client, exchange, CURLE_FAILED_INIT);
	return exchange;
}

/* Closes its connection, unless its answer has arrived. */
static void cancel(struct transport_exchange *exchange)
{
	if (exchange->finished)
		g_queue_remove(&exchange->client->finished, exchange);
	else
		curl_multi_remove_handle(exchange->client->curl, exchange->easy);
	exchange_free(exchange);
}

static bool is_sent(const struct transport_exchange *exchange)
{
	long bytes = 0;

	curl_easy_getinfo(exchange->easy, CURLINFO_REQUEST_SIZE, &bytes);
	return bytes > 0;
}

/* Waits at most `us` for the sockets and timers of libcurl, and has it do what is due. */
static void advance(struct transport_client *client, gint64 us)
{
	GPollFD poll = {.fd = client->epoll, .events = G_IO_IN};

	if (client->timer_us >= 0)
		us = CLAMP(client->timer_us - g_get_monotonic_time(), 0, us);
	if (g_poll(&poll, 1, (int)MIN(us / 1000 + 1, STEP_MS)) > 0)
		run_sockets(client);
	run_timer(client);
}

static void settle(struct transport_client *client, double timeout_s, bool (*go_on)(void *data),
		   void *data)
{
	const gint64 until_us = g_get_monotonic_time() + (gint64)(timeout_s * 1e6);

	while (go_on(data) && g_get_monotonic_time() < until_us)
		advance(client, until_us - g_get_monotonic_time());
}

static bool has_ended(const struct transport_exchange *exchange)
{
	return exchange->finished;
}

static void deliver_ended(struct transport_exchange *exchange)
{
	g_queue_remove(&exchange->client->finished, exchange);
	set_alarm(exchange->client);
	deliver(exchange);
}

const struct platform_transport transport_machine = {
	.listen = listen_at,
	.bound = bound,
	.share = share,
	.incoming = incoming,
	.accept = accept_next,
	.close = close_place,
	.remote = remote_address,
	.local = local_address,
	.peer_uid = peer_uid,
	.want = want,
	.peek = peek,
	.hangup = hangup,
	.shutdown = shut_down,
	.join = join,
	.leave = leave,
	.send = send_request,
	.cancel = cancel,
	.is_sent = is_sent,
	.settle = settle,
	.has_ended = has_ended,
	.deliver = deliver_ended,
	.header = answer_header,
};
