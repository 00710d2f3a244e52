/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "controller/backend/remote_meter.h"
#include "controller/backend/remote_task.h"
#include "controller/backend/remote_usage.h"

/*
 * One local scheduler as the controller sees it (docs/reference/api.md): who it is, its nodes, its meters,
 * its stream of events, and requests that are repeated until they are answered. A link lives as
 * long as the controller; runs come and go and listen to it. Everything happens on the default main
 * context.
 *
 * A local scheduler that does not answer, or answers rubbish, for REMOTE_LINK_AWAY_S is "away": its
 * nodes are down and what is asked of it fails, until it answers again.
 */
struct remote_link;

#define REMOTE_LINK_AWAY_S 30.0

/* What a link tells its listener. All but `usage` are required. Times are on our clock. */
struct remote_listener {
	/* A task was said to be in this state; may be said again. */
	void (*task)(struct remote_link *link, const struct remote_task *task, void *data);
	/*
	 * Its suspension, or resumption (`resume`), failed at t_ns and was rolled back. `reason` may
	 * be NULL.
	 */
	void (*stayed)(struct remote_link *link, const char *id, bool resume, int64_t t_ns,
		       const char *reason, void *data);
	/* Its migration failed: where its VMs are was told before. `reason` may be NULL. */
	void (*unmoved)(struct remote_link *link, const char *id, int64_t t_ns, const char *reason,
			void *data);
	/* Its share was not given to all of its VMs. `reason` may be NULL. */
	void (*unshared)(struct remote_link *link, const char *id, const char *reason, void *data);
	/* A node can take tasks from now on, or cannot. */
	void (*node)(struct remote_link *link, uint32_t node, bool up, int64_t t_ns,
		     const char *reason, void *data);
	/* A new sample of a host's meter. */
	void (*sample)(struct remote_link *link, const struct remote_meter *meter,
		       const struct remote_sample *sample, void *data);
	/*
	 * Intervals of its hosts' meters (struct remote_usage, oldest first), numbered in `stream`; after
	 * remote_link_usage_from(). May be NULL.
	 */
	void (*usage)(struct remote_link *link, const char *stream, const GPtrArray *intervals,
		      void *data);
	/* Its tasks may be gone: it was away, or has lost its state. To be asked one by one. */
	void (*doubt)(struct remote_link *link, void *data);
	/* Something worth recording: `kind` is a word (docs/how-to/run.md), `text` one line. */
	void (*note)(struct remote_link *link, const char *kind, const char *text, void *data);
	void *data;
};

/*
 * Starts to talk to the local scheduler of `cluster` (borrowed, like `listener`, which may be
 * changed at any time through remote_link_listen()) at `address`, as whom `tls` says (borrowed, may be
 * NULL). Returns NULL with `error` for a bad address, or a key that is no secret.
 */
struct remote_link *remote_link_new(const struct config_cluster *cluster, uint32_t index,
				    const char *address, const struct config_tls *tls,
				    GError **error);
/* Drops what is under way. NULL is allowed. */
void remote_link_free(struct remote_link *link);

/* Sets who listens; NULL: nobody. Borrowed. */
void remote_link_listen(struct remote_link *link, const struct remote_listener *listener);

/* The index and the configuration of the cluster. */
uint32_t remote_link_index(const struct remote_link *link);
/* The configuration of the cluster, as it was given (borrowed). */
const struct config_cluster *remote_link_cluster(const struct remote_link *link);

/* The capabilities it reported last (borrowed), or NULL before it answered. */
const json_t *remote_link_capabilities(const struct remote_link *link);

/*
 * Whether it answers, has said all that its cluster can do, all its nodes are ready for a task and no spare VM
 * boots beside them; else *ret_why (the caller frees) says what is missing.
 */
bool remote_link_ready(const struct remote_link *link, char **ret_why);

/*
 * Whether its nodes are needed, as they are at first: of one that is excused remote_link_ready() holds, whatever
 * state it is in.
 */
void remote_link_excuse(struct remote_link *link, bool excused);

/* How many nodes and spare VMs are still to get ready; before it has told, more than there can be. */
uint32_t remote_link_unready(const struct remote_link *link);

/*
 * Somebody waits for remote_link_ready(): forgets what it knows of the nodes' states until it has
 * asked anew, and asks often until remote_link_unwait().
 */
void remote_link_refresh(struct remote_link *link);
/* Nobody waits any more: asks at the usual interval again. */
void remote_link_unwait(struct remote_link *link);

/* What was said of a node last; texts and `caps` (docs/reference/api.md) are borrowed, NULL: not known. */
struct remote_node_report {
	const char *host;
	const char *state;
	const char *reason;
	const json_t *caps;
};

/* Of node `node`, until the main loop runs again. */
struct remote_node_report remote_link_node(const struct remote_link *link, uint32_t node);

/* Whether node `node` can take a task. */
bool remote_link_node_up(const struct remote_link *link, uint32_t node);

/* Takes it to be away after `away_s` seconds of silence instead of REMOTE_LINK_AWAY_S. */
void remote_link_set_patience(struct remote_link *link, double away_s);

/* How long that is, in seconds. */
double remote_link_patience_s(const struct remote_link *link);

/* Whether it has been silent for so long. */
bool remote_link_away(const struct remote_link *link);

/* Meters of the cluster's hosts: GPtrArray of struct remote_meter, owned by the link. */
GPtrArray *remote_link_meters(const struct remote_link *link);

/* Idle watts of the hosts that `nodes` are on, each host once. */
double remote_link_idle_w(const struct remote_link *link, const uint32_t *nodes, uint32_t count);

/* Whether it has answered and said which of its nodes are up. */
bool remote_link_known(const struct remote_link *link);

/* Asks again for samples above `seq`: after a restart of the controller. */
void remote_link_samples_from(struct remote_link *link, int64_t seq);
/* The number of the last sample that was read; 0: none. */
int64_t remote_link_samples_seq(const struct remote_link *link);

/*
 * For a local scheduler to forget in time what nobody will ask for: notes how far its events were read, when all
 * that was read is recorded, and tells it that what was noted last is on record for good. It takes two notes: nothing
 * is said of events before all that had been asked when the first was made is answered.
 */
void remote_link_note_read(struct remote_link *link);
void remote_link_tell_taken(struct remote_link *link);

/*
 * From now on asks whose CPU time it was between samples: above number `seq` of `stream`, or all that
 * there is (NULL).
 */
void remote_link_usage_from(struct remote_link *link, const char *stream, int64_t seq);

/*
 * Whether all of that was told since `since_ns` of our clock, and the samples that it ends with, or nothing can be
 * expected: nobody asks, or nobody answers. Asks for it otherwise.
 */
bool remote_link_usage_told(struct remote_link *link, int64_t since_ns);

/*
 * The answer to a request: `body` (borrowed, may be NULL), or `error` after it was given up:
 * HTTP_ERROR_STATUS with `status`, HTTP_ERROR_BODY, or HTTP_ERROR_TRANSPORT when it went away.
 */
typedef void (*remote_link_done_f)(int status, json_t *body, const GError *error, void *data);

/*
 * Sends an idempotent request when its turn has come, and repeats it until it is answered or the local scheduler is
 * away: of one that is away nothing is asked. It is given up where it alone is not answered for as long, or all answers
 * are without use: rubbish, or, but for a PUT, which is given up at once, a status of 500 or above. Only "not now"
 * (503), which people are told of, is repeated as long as it is said. `body` is borrowed. `done` is called once, from
 * the main loop, unless the link is freed before or remote_link_forget() was called.
 */
void remote_link_send(struct remote_link *link, const char *method, const char *path, json_t *body,
		      remote_link_done_f done, void *data);

/*
 * Makes the body of a request when its turn has come; NULL with `error`: it is not sent, and done() is told so with
 * status 400.
 */
typedef json_t *(*remote_link_make_f)(void *data, GError **error);

/* The same with a body that is made then, by `make` with `data`. */
void remote_link_send_made(struct remote_link *link, const char *method, const char *path,
			   remote_link_make_f make, remote_link_done_f done, void *data);

/*
 * A GET that the local scheduler may hold until there is something to say: it takes no turn from others, nor is it
 * held.
 */
void remote_link_poll(struct remote_link *link, const char *path, remote_link_done_f done, void *data);

/* While it is held, requests wait for their turn, however few they are. */
void remote_link_hold(struct remote_link *link, bool held);

/*
 * Does not call back any request that was sent with `data`. A DELETE goes on to an answer, a GET is
 * not repeated, and a PUT, whether it arrived or not, is followed by a DELETE of its task: what is
 * made for nobody must not stay.
 */
void remote_link_forget(struct remote_link *link, const void *data);

/*
 * A PUT with `data` that waits, for its first turn or since "not now" was the answer, is sent no more, and not called
 * back. Returns whether there was one. An earlier try that was not answered may have arrived.
 */
bool remote_link_withdraw(struct remote_link *link, const void *data);

/* Translates the task's times to our clock. */
void remote_link_translate(const struct remote_link *link, struct remote_task *task);
