/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/platform.h"
#include "controller/backend/remote_meter.h"
#include "controller/backend/remote_task.h"

/*
 * One local scheduler as the controller sees it (docs/reference/api.md): its identity, nodes,
 * meters and stream of events, and requests that are repeated until they are answered. A link lives
 * as long as the controller; each run sets its own listener. All callbacks come from the default
 * main context.
 *
 * A local scheduler that does not answer for REMOTE_LINK_AWAY_S, or only with malformed answers, is
 * "away": its nodes are down and requests to it fail until it answers again.
 */
struct remote_link;

#define REMOTE_LINK_AWAY_S 30.0

/* The requests about a task whose failure a local scheduler reports by an event. */
enum remote_failure {
	REMOTE_FAILURE_SUSPENSION = 0,
	REMOTE_FAILURE_RESUMPTION,
	REMOTE_FAILURE_MIGRATION,
	REMOTE_FAILURE_SHARE,
	REMOTE_FAILURES,
};

/* Callbacks for what a link learns. All but `usage` are required. Times are on our clock. */
struct remote_listener {
	/* A description of a task; may repeat what is known. */
	void (*task)(struct remote_link *link, const struct task *task, void *data);
	/*
	 * A request about the task failed and was rolled back; of a migration task() has reported
	 * before where the VMs are, of a share at least one VM did not get it. `reason` may be
	 * NULL.
	 */
	void (*failed)(struct remote_link *link, const char *id, enum remote_failure what,
		       const char *reason, void *data);
	/* A node can take tasks from now on, or cannot. */
	void (*node)(struct remote_link *link, uint32_t node, bool up, int64_t t_ns,
		     const char *reason, void *data);
	/* A new sample of a host's meter. */
	void (*sample)(struct remote_link *link, const struct remote_meter *meter,
		       const struct wire_sample *sample, void *data);
	/*
	 * Intervals of its hosts' meters (struct wire_usage, oldest first), numbered in `stream`;
	 * only after remote_link_usage_from(). May be NULL.
	 */
	void (*usage)(struct remote_link *link, const char *stream, const GPtrArray *intervals,
		      void *data);
	/*
	 * Its tasks may be gone, since it was away or has lost its state. The listener should check
	 * each of them.
	 */
	void (*resync)(struct remote_link *link, void *data);
	/* Something to record: `kind` is a word (docs/how-to/run.md), `text` one line. */
	void (*note)(struct remote_link *link, const char *kind, const char *text, void *data);
	void *data;
};

/*
 * Starts to talk to the local scheduler of `cluster` (borrowed, as is `listener`, which
 * remote_link_listen() may change at any time) at `address`, with the identity that `tls` describes
 * (borrowed, may be NULL). Returns NULL with `error` for a bad address, or a key file that others
 * can read.
 */
struct remote_link *remote_link_new(const struct platform *platform,
				    const struct config_cluster *cluster, uint32_t index,
				    const char *address, const struct config_tls *tls,
				    GError **error);
/* Drops the requests under way. NULL is allowed. */
void remote_link_free(struct remote_link *link);

/* Sets the listener (borrowed); NULL: none. */
void remote_link_listen(struct remote_link *link, const struct remote_listener *listener);

/* The index of the cluster. */
uint32_t remote_link_index(const struct remote_link *link);
/* The configuration of the cluster, as it was given (borrowed). */
const struct config_cluster *remote_link_cluster(const struct remote_link *link);

/* The capabilities it reported last (borrowed), or NULL before it answered. */
const json_t *remote_link_capabilities(const struct remote_link *link);

/*
 * Whether it answers, has reported all capabilities of its cluster, all its nodes are ready for a
 * task and no spare VM boots beside them; else *ret_why (the caller frees) says what is missing.
 */
bool remote_link_ready(const struct remote_link *link, char **ret_why);

/*
 * Sets whether its nodes are needed; they are at first. For an excused link remote_link_ready() is
 * true in every state.
 */
void remote_link_excuse(struct remote_link *link, bool excused);

/*
 * How many nodes and spare VMs still have to get ready; before the first report, more than there
 * can be.
 */
uint32_t remote_link_unready(const struct remote_link *link);

/*
 * The caller begins to wait for remote_link_ready(): forgets the nodes' states until they are
 * reported again, and polls often until remote_link_unwait().
 */
void remote_link_refresh(struct remote_link *link);
/* Ends the wait: polls at the usual interval again. */
void remote_link_unwait(struct remote_link *link);

/*
 * The last report about node `node`, valid until the main loop runs again; what is not known is
 * NULL.
 */
const struct wire_node *remote_link_node(const struct remote_link *link, uint32_t node);

/* Whether node `node` can take a task. */
bool remote_link_node_up(const struct remote_link *link, uint32_t node);

/*
 * Takes the local scheduler to be away after `away_s` seconds of silence instead of
 * REMOTE_LINK_AWAY_S.
 */
void remote_link_set_patience(struct remote_link *link, double away_s);

/* That length of silence, in seconds. */
double remote_link_patience_s(const struct remote_link *link);

/* Whether it is away. */
bool remote_link_away(const struct remote_link *link);

/* Meters of the cluster's hosts: GPtrArray of struct remote_meter, owned by the link. */
GPtrArray *remote_link_meters(const struct remote_link *link);

/* Sum of the idle watts of the hosts that `nodes` are on, each host once. */
double remote_link_idle_w(const struct remote_link *link, const uint32_t *nodes, uint32_t count);

/* Whether it has answered and reported which of its nodes are up. */
bool remote_link_known(const struct remote_link *link);

/* Requests samples above `seq`, which an earlier controller has read already. */
void remote_link_samples_from(struct remote_link *link, int64_t seq);
/* The number of the last sample that was read; 0: none. */
int64_t remote_link_samples_seq(const struct remote_link *link);

/*
 * Acknowledges events, so that the local scheduler may forget tasks that ended. Two phases:
 * remote_link_note_read(), to be called when all events read so far are recorded, marks them;
 * remote_link_acknowledge(), to be called when they are committed, acknowledges the previous mark.
 * A mark is acknowledged only once all requests made before it are answered, so it takes two calls
 * of remote_link_note_read().
 */
void remote_link_note_read(struct remote_link *link);
void remote_link_acknowledge(struct remote_link *link);

/*
 * From now on polls which tasks used the CPU between samples: intervals above number `seq` of
 * `stream`, or all that there are (NULL).
 */
void remote_link_usage_from(struct remote_link *link, const char *stream, int64_t seq);

/*
 * Whether all intervals up to `since_ns` of our clock, and the samples that end them, were
 * reported, or none can be expected, since usage is not polled or the local scheduler does not
 * answer. Otherwise polls for them.
 */
bool remote_link_usage_complete(struct remote_link *link, int64_t since_ns);

/*
 * The answer to a request: `body` (borrowed, may be NULL), or `error` after the request was given
 * up: HTTP_ERROR_STATUS with `status`, HTTP_ERROR_BODY, or HTTP_ERROR_TRANSPORT if the local
 * scheduler went away.
 */
typedef void (*remote_link_done_f)(int status, json_t *body, const GError *error, void *data);

/*
 * Sends an idempotent request when its turn comes, and repeats it until it is answered or the local
 * scheduler is away; none is sent while it is away. The request is also given up if it alone is not
 * answered for as long, or if all its answers are unusable: malformed, or a status of 500 or above
 * (a PUT is given up at the first such status). Only "not now" (503), of which a note is made, is
 * repeated without limit. `body` is borrowed. The main loop calls `done` once, unless the link is
 * freed before or remote_link_forget() was called.
 */
void remote_link_send(struct remote_link *link, const char *method, const char *path, json_t *body,
		      remote_link_done_f done, void *data);

/*
 * Makes the body of a request when its turn comes; NULL with `error`: the request is not sent, and
 * done() gets status 400 and this error.
 */
typedef json_t *(*remote_link_make_f)(void *data, GError **error);

/* As remote_link_send(), with a body that `make` makes from `data` at that time. */
void remote_link_send_made(struct remote_link *link, const char *method, const char *path,
			   remote_link_make_f make, remote_link_done_f done, void *data);

/*
 * Sends a GET whose answer the local scheduler may delay until there is something to report. It
 * takes no turn from other requests, and remote_link_hold() does not stop it.
 */
void remote_link_poll(struct remote_link *link, const char *path, remote_link_done_f done,
		      void *data);

/* While `held`, requests wait for their turn, however few are under way. */
void remote_link_hold(struct remote_link *link, bool held);

/*
 * Drops the callbacks of all requests that were sent with `data`. A DELETE is still repeated until
 * it is answered, a GET is not, and a PUT, whether it arrived or not, is followed by a DELETE of
 * its task: a task without an owner must not remain.
 */
void remote_link_forget(struct remote_link *link, const void *data);

/*
 * Withdraws a PUT with `data` that waits, for its first turn or after a 503; its callback is
 * dropped. Returns whether there was one. An earlier try without an answer may have arrived.
 */
bool remote_link_withdraw(struct remote_link *link, const void *data);

/* Converts the task's times to our clock. */
void remote_link_translate(const struct remote_link *link, struct task *task);
