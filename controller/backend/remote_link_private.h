/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * The insides of remote_link.h, for the files remote_link*.c alone.
 *
 * Five conversations with one local scheduler, each at most one request deep:
 *   who        GET /v1/capabilities: at first, after every silence, where numbers run backwards,
 * and now and then (libcurl quietly repeats a request over a new connection) events     the long
 * poll; numbers go on over a restart, so nothing is missed samples    once per metering interval
 *   usage      as samples, where somebody wants it
 *   nodes      every few seconds; the truth about nodes where an event was missed
 * and the requests of the run (remote_link_send()), which are repeated until answered.
 */
#include <glib.h>

#include "controller/backend/remote_clock.h"
#include "controller/backend/remote_link.h"

/* A node as it was said to be last. */
struct remote_node {
	bool up;
	char *host;
	char *state;
	char *reason;
	json_t *caps;
	int64_t changed_ns; /* theirs */
};

struct remote_link {
	const struct config_cluster *cluster;
	uint32_t index;
	const struct remote_listener *listener;
	char *address;
	const struct config_tls *tls; /* of the configuration; NULL: none */
	struct http_client *client;
	struct http_client *events_client; /* of its own: a long poll in vain can be dropped */
	struct remote_clock clock;
	GPtrArray *meters;
	struct remote_node *nodes;
	json_t *capabilities;
	bool identified, identifying;
	bool silent;    /* the last answer was none */
	char *trouble;  /* "does not answer: ..." since all was known of it last; NULL: it did */
	bool forgotten; /* remote_link_forget_peer() was called since it last said who it is */
	bool away;
	bool excused;    /* remote_link_excuse() */
	bool waited_for; /* remote_link_refresh() */
	json_int_t spares_booting;
	double away_s;
	int64_t last_good_ns;
	int64_t last_protocol_note_ns;
	int64_t events_after; /* -1: to be asked */
	int64_t events_seen;  /* up to there at the last remote_link_note_read(), when ... */
	uint64_t events_seen_at; /* ... so many requests had been made */
	int64_t events_read;  /* up to there, and all that was asked before is answered */
	int64_t events_taken; /* up to there all is on record for good; 0: nothing */
	bool events_pending, samples_pending, nodes_pending, energy_pending;
	int64_t samples_after; /* -1: to be asked */
	int64_t samples_asked_ns, samples_read_ns; /* when it was asked for some, and for those that were read last */
	int64_t nodes_asked_ns, identified_ns;
	int64_t usage_asked_ns, usage_told_ns; /* told: answered */
	/* When that was asked which told all of it; 0: there may be more, or it is not being kept yet. */
	int64_t usage_read_ns;
	bool nodes_outdated; /* what is pending was asked before the last remote_link_refresh() */
	bool sample_skipped; /* one was in the future, and people were told */
	bool usage_wanted, usage_pending;
	bool usage_skipped; /* some of it made no sense, and people were told */
	char *usage_stream; /* whose numbers usage_after is of; NULL: not known yet */
	int64_t usage_after;
	guint tick_source, events_source;
	GPtrArray *requests;
	GQueue turns;    /* those of them that wait for their turn; borrowed */
	guint under_way; /* those that are with the client */
	bool held;       /* nothing more is sent */
	uint64_t requests_made; /* ever, of remote_link_send() */
};

/* Seconds since a reading of our clock. */
double remote_link_seconds_since(int64_t then_ns);

/* Tells the listener of something worth recording. */
void remote_link_note(struct remote_link *link, const char *kind, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

/* An answer made no sense: a note, at most one in ten seconds. */
void remote_link_note_protocol_error(struct remote_link *link, const GError *error);

/* A node's state at `theirs_ns` of the peer's clock; tells the listener only what is new. */
void remote_link_set_node(struct remote_link *link, uint32_t index, bool up, int64_t theirs_ns,
			  const char *reason);

/* No answer, or none that made sense, as `error` says: after a while the peer is away. */
void remote_link_silence(struct remote_link *link, const GError *error);

/*
 * Sorts out the answer to one of the link's own questions; true when there is a body to read. A
 * refusal (status 400 and above) of a question that every local scheduler must answer is rubbish.
 */
bool remote_link_usable(struct remote_link *link, json_t *body, const GError *error);

/* After remote_link_usable(): the rest of the body made sense, or not. */
void remote_link_settle(struct remote_link *link, bool good, const GError *wrong);

/* A client of the local scheduler at `address`, as peer_tls_client(), of whose answers bad numbers spoil nothing else. */
struct http_client *remote_link_client(const struct config_tls *tls, const char *address, GError **error);

/* Tells the listener that what is known of its tasks may be wrong, and notes no events as read on that ground. */
void remote_link_resync(struct remote_link *link);

/*
 * Whether any of the first `count` requests (link->requests_made) is not answered yet that somebody waits for. A PUT
 * that waits since "not now" was the answer is answered in that: there was no such thing.
 */
bool remote_link_waits_for(const struct remote_link *link, uint64_t count);

/* It has no memory of before: numbers and counters start anew, tasks are gone. */
void remote_link_forget_peer(struct remote_link *link);

/* The questions; each does nothing while it is under way. */
void remote_link_identify(struct remote_link *link);
void remote_link_ask_events(struct remote_link *link);
void remote_link_ask_samples(struct remote_link *link);
void remote_link_ask_nodes(struct remote_link *link);
void remote_link_ask_usage(struct remote_link *link);

/* Frees an element of link->requests. */
void remote_link_request_free(void *request);
