/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * The insides of remote_link.h, for the files remote_link*.c alone.
 *
 * Five conversations with one local scheduler, each with at most one request under way:
 *  identity   GET /v1/capabilities: at first, after every silence, when numbers run backwards, and
 *             periodically (libcurl silently repeats a request over a new connection)
 *  events     the long poll; numbers continue after a restart, so no event is missed
 *  samples    once per metering interval
 *  usage      as samples, if remote_link_usage_from() was called
 *  nodes      every few seconds: the states of nodes even if an event was missed
 * and the requests of the run (remote_link_send()), which are repeated until answered.
 *
 * remote_link_peer.c has the identity and the state of the local scheduler, which the answers to
 * all requests change. remote_link_requests.c, remote_link_reads.c and remote_link_events.c depend
 * on it. remote_link.c is above them: its tick polls what is due.
 */
#include <glib.h>

#include "controller/backend/remote_clock.h"
#include "controller/backend/remote_link.h"

struct remote_link {
	const struct platform *platform;
	const struct config_cluster *cluster;
	uint32_t index;
	const struct remote_listener *listener;
	char *address;
	const struct config_tls *tls; /* of the configuration; NULL: none */
	struct http_client *client;
	/* a client of its own, so that an obsolete long poll can be dropped */
	struct http_client *events_client;
	struct remote_clock clock;
	GPtrArray *meters;
	const char **metered;    /* their hosts' names, in the same order; NULL-terminated */
	struct wire_node *nodes; /* as reported last; `state` is NULL while it is not known */
	json_t *capabilities;
	bool identified, identifying;
	bool silent;    /* the last request got no answer */
	char *trouble;  /* "does not answer: ..." since the link was last ready; NULL: no trouble */
	bool forgotten; /* remote_link_forget_peer() was called after the last identification */
	bool away;
	bool excused;    /* remote_link_excuse() */
	bool waited_for; /* remote_link_refresh() */
	json_int_t spares_booting;
	double away_s;
	int64_t last_good_ns;
	int64_t last_protocol_note_ns;
	int64_t events_after;    /* -1: to be requested */
	int64_t events_seen;     /* events read at the last remote_link_note_read() */
	uint64_t events_seen_at; /* the value of requests_made at that time */
	int64_t events_read;     /* read, and all requests made before are answered */
	int64_t events_taken;    /* on record for good; 0: none */
	bool events_pending, samples_pending, nodes_pending, energy_pending;
	int64_t samples_after; /* -1: to be requested */
	/* when samples were last requested, and when those last read were requested */
	int64_t samples_asked_ns, samples_read_ns;
	int64_t nodes_asked_ns, identified_ns;
	int64_t usage_asked_ns, usage_answered_ns; /* last requested, last answered */
	/*
	 * When usage_stream's last complete answer was requested; 0: there may be more, or the peer
	 * does not record usage yet.
	 */
	int64_t usage_read_ns;
	/* the pending request was sent before the last remote_link_refresh() */
	bool nodes_outdated;
	bool sample_skipped; /* a sample was in the future, and a note was made */
	bool usage_wanted, usage_pending;
	bool usage_skipped; /* an interval made no sense, and a note was made */
	char *usage_stream; /* the stream that usage_after numbers; NULL: not known yet */
	int64_t usage_after;
	guint tick; /* timer: polls what is due; a lower file makes it due to have that done now */
	guint events_source;
	GPtrArray *requests;
	GQueue turns;           /* elements of `requests` that wait for their turn; borrowed */
	guint under_way;        /* number of requests that the client is sending */
	bool held;              /* by remote_link_hold(): no request is sent */
	uint64_t requests_made; /* number of all remote_link_send() so far */
};

/* Seconds since a reading of our clock. */
double remote_link_seconds_since(const struct remote_link *link, int64_t then_ns);

/* Reports something to record to the listener. */
void remote_link_note(struct remote_link *link, const char *kind, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

/* Makes a note that an answer was malformed, at most once in ten seconds. */
void remote_link_note_protocol_error(struct remote_link *link, const GError *error);

/* Sets a node's state at `theirs_ns` of the peer's clock; reports only changes to the listener. */
void remote_link_set_node(struct remote_link *link, uint32_t index, bool up, int64_t theirs_ns,
			  const char *reason);

/* Counts a missing or malformed answer (`error`): after a while the peer is away. */
void remote_link_silence(struct remote_link *link, const GError *error);

/*
 * Judges the answer to one of the link's own requests; true if there is a body to read. A refusal
 * (status 400 and above) of a request that every local scheduler must answer is malformed.
 */
bool remote_link_usable(struct remote_link *link, json_t *body, const GError *error);

/*
 * To be called after remote_link_usable(): whether the rest of the body made sense (`good`), else
 * what is `wrong`.
 */
void remote_link_settle(struct remote_link *link, bool good, const GError *wrong);

/*
 * A client of the local scheduler at `address`, as peer_tls_client(). A bad number in an answer
 * does not make its other members unreadable.
 */
struct http_client *remote_link_client(const struct platform *platform,
				       const struct config_tls *tls, const char *address,
				       GError **error);

/*
 * Tells the listener to check its tasks, since what is known of them may be wrong; the present mark
 * of remote_link_note_read() is dropped.
 */
void remote_link_resync(struct remote_link *link);

/*
 * Whether any of the first `count` requests (link->requests_made) with a callback is not answered
 * yet. A PUT that waits after a 503 counts as answered: the peer had no such task.
 */
bool remote_link_waits_for(const struct remote_link *link, uint64_t count);

/* The peer lost its state: numbers and counters restart, tasks are gone. */
void remote_link_forget_peer(struct remote_link *link);

/* The link's own requests; each call has no effect while its request is under way. */
void remote_link_identify(struct remote_link *link);
void remote_link_poll_events(struct remote_link *link);
void remote_link_poll_samples(struct remote_link *link);
void remote_link_poll_nodes(struct remote_link *link);
void remote_link_poll_usage(struct remote_link *link);

/* Frees an element of link->requests. */
void remote_link_request_free(void *request);
