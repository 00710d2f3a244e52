/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The transport of a platform (platform.h): what carries bytes and requests between programs. What
 * they mean is the product's: http_server.h stands on its first half, http_client.h on its second.
 * transport_machine is that of this machine: sockets, and libcurl for requests. A simulation may
 * have its own, in memory.
 *
 * Another implementation has these structs as first members of its own. All is called from the
 * thread of the main context that is the thread's default when a place or client is made, and calls
 * back there.
 */
struct platform;
struct transport_place;    /* where a server listens */
struct transport_client;   /* what requests share */
struct transport_exchange; /* a request without an answer yet */

/* Peers without a user id: any process, over a network; a process unknown to the kernel. */
#define TRANSPORT_PEER_ANYBODY (-1)
#define TRANSPORT_PEER_UNKNOWN (-2)

/* A request. All is borrowed for the call. */
struct transport_request {
	const char *method;
	const char *url;            /* "http://HOST:PORT/PATH" or "https://..." */
	const char *socket_path;    /* of the Unix socket to connect to; NULL: to the URL's host */
	const char *const *headers; /* "Name: value", NULL-terminated */
	const char *body;           /* JSON text; NULL: none */
	double timeout_s;           /* until the end of the answer, above 0 */
	double connect_s;           /* the part of it for a connection; 0: all */
	size_t largest;             /* bytes of the answer's body */
	bool compressed;            /* the answer may be compressed; the body is not */
	/* Identity, as in struct http_client_identity. */
	const char *ca_file;
	const char *certificate;
	const char *key;
	const char *user;
	const char *password;
	bool insecure;
};

/* What became of a request. */
enum transport_result {
	TRANSPORT_ANSWERED = 0,
	TRANSPORT_TOO_LARGE, /* the body was larger than allowed */
	TRANSPORT_UNTRUSTED, /* the server's certificate is not trusted */
	TRANSPORT_MISNAMED,  /* it is trusted, and for another name */
	TRANSPORT_FAILED,    /* refused, cut, or not in time */
};

/* The end of a request. All is borrowed for the callback. */
struct transport_answer {
	enum transport_result result;
	const char *reason;       /* why there is no answer; NULL if there is one */
	int status;               /* 0: no status line has arrived */
	const GString *body;      /* what has arrived of it */
	const char *content_type; /* NULL: none */
	const char *redirection;  /* the URL of a redirection, which is not followed; NULL: none */
};

/* May begin and cancel requests, leave the client, and iterate the main loop. */
typedef void (*transport_answered_f)(const struct transport_answer *answer, void *data);

/* All operations are required. */
struct platform_transport {
	/*
	 * Listens at an address, which is a GUnixSocketAddress (a stale socket file is replaced; the
	 * new one has mode 0600) or a GInetSocketAddress (port 0: any free port). NULL with `error`:
	 * G_IO_ERROR, or HTTP_ERROR_ADDRESS for a path that is no socket.
	 */
	struct transport_place *(*listen)(const struct platform *platform, GSocketAddress *where,
					  GError **error);
	/* Where it listens, with the actual port; the caller unreferences. */
	GSocketAddress *(*bound)(const struct transport_place *place, GError **error);
	/* Lets the members of a group connect to its socket file. */
	bool (*share)(struct transport_place *place, gid_t group, GError **error);
	/* A source that is ready while a connection can be accepted. Its callback is a GSourceFunc. */
	GSource *(*incoming)(struct transport_place *place);
	/*
	 * The next connection, which can be polled in both directions and is closed with its last
	 * reference. NULL with `error`: G_IO_ERROR_WOULD_BLOCK if there is none.
	 */
	GIOStream *(*accept)(struct transport_place *place, GError **error);
	/* Stops listening and removes the socket file. Connections stay open. */
	void (*close)(struct transport_place *place);

	/* Connections that were accepted. */

	/* Its addresses; NULL: the peer is gone. The caller unreferences. */
	GSocketAddress *(*remote)(GIOStream *connection);
	GSocketAddress *(*local)(GIOStream *connection);
	/* The user at the other end as it connected, or TRANSPORT_PEER_*. */
	int64_t (*peer_uid)(GIOStream *connection);
	/* From now on there is input once there are `count` bytes, or the end (SO_RCVLOWAT). */
	void (*want)(GIOStream *connection, size_t count);
	/* How many bytes can be read, of which up to `most` are copied to `bytes` and not taken. */
	size_t (*peek)(GIOStream *connection, void *bytes, size_t most);
	/* A source that is ready once the peer has closed its side. Its callback is a GSourceFunc. */
	GSource *(*hangup)(GIOStream *connection);
	/* Ends both directions, or output alone. */
	void (*shutdown)(GIOStream *connection, bool input);

	/* Requests. */

	/* Clients of one main context may share connections. Never NULL. */
	struct transport_client *(*join)(const struct platform *platform, GMainContext *context);
	/* Called when there are no exchanges left. */
	void (*leave)(struct transport_client *client);
	/* Sends a request. answered() is called once, from the main loop, and ends the exchange. */
	struct transport_exchange *(*send)(struct transport_client *client,
					   const struct transport_request *request,
					   transport_answered_f answered, void *data);
	/* Ends an exchange without an answer. */
	void (*cancel)(struct transport_exchange *exchange);
	/* Whether a part of the request itself, not only of its connection, has left. */
	bool (*is_sent)(const struct transport_exchange *exchange);
	/*
	 * Does what is due without a main loop, until go_on(data), which is asked before each step, is
	 * false, at most `timeout_s`: answered() is not called. Exchanges that end meanwhile are
	 * delivered by the next turn of the main loop, or by deliver(), which go_on() may call.
	 */
	void (*settle)(struct transport_client *client, double timeout_s, bool (*go_on)(void *data),
		       void *data);
	/* Whether it has ended, and answered() was not called yet. */
	bool (*has_ended)(const struct transport_exchange *exchange);
	/* Calls answered() of an exchange that has ended. */
	void (*deliver)(struct transport_exchange *exchange);
	/* A header of an answer during its callback (borrowed); NULL: it has none. */
	const char *(*header)(const struct transport_answer *answer, const char *name);
};

extern const struct platform_transport transport_machine;
