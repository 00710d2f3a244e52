/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "controller/backend/remote.h"
#include "tests/unit/backend/scripted_scheduler.h"

/*
 * What tests of the remote backend begin with: a configuration of one cluster, "c1" with three
 * nodes of one core on host "b1", whose meter is read every SCRIPTED_INTERVAL_S, and of one type of
 * tasks; and a backend whose local scheduler is a scripted one.
 */
extern const struct config fixture_config;

/* Longest wait for what must come. */
#define FIXTURE_SOON_S 20.0

/* How long its link bears silence (remote_link_set_patience()). */
#define FIXTURE_PATIENCE_S 1.5

struct fixture {
	char *dir;
	char *address;
	struct scripted_scheduler *scheduler;
	struct remote_fleet *fleet; /* ready */
	struct backend *backend;    /* of run 1 of "test": a task's id is "test-1-TASK-ATTEMPT" */
	GString *notes;             /* kinds of what it noted, a space after each */
	guint samples;              /* that the backend reported */
	guint intervals;            /* of meters, where remote_link_usage_from() asks for them */
	int64_t usage_seq;          /* the last one's number */
};

/* For g_test_add(); `data` is the test's own. Whatever fails, fails the test. */
void fixture_set_up(struct fixture *fixture, gconstpointer data);
/* The same with another configuration, of one cluster; it outlives the fixture. */
void fixture_set_up_with(struct fixture *fixture, const struct config *config);
void fixture_tear_down(struct fixture *fixture, gconstpointer data);

/* Puts a backend for run `run` in place of `backend`, which is the caller's from then on. */
void fixture_open(struct fixture *fixture, int64_t run);

/* Replaces `fleet` and `backend` by those of a restarted controller; tasks that ran are killed. */
void fixture_reconnect(struct fixture *fixture);

/*
 * Destroys the backend of a controller that was killed, which hears of no end any more: the local
 * scheduler forgets all tasks, so that it need not wait for any.
 */
void fixture_bury(struct fixture *fixture, struct backend *killed);

/* Asks for a start of a task of one node. */
void fixture_start(struct fixture *fixture, uint32_t task, uint32_t attempt, uint32_t node);

/* The next event, and the next of a kind, where others are passed over. */
struct backend_event fixture_next(struct fixture *fixture);
struct backend_event fixture_next_of(struct fixture *fixture, enum backend_event_kind kind);

/* There is no event for `for_s`. */
void fixture_quiet(struct fixture *fixture, double for_s);

/*
 * The next event, and the last: the task ended while no controller listened, so long ago that its
 * outcome is no longer known.
 */
void fixture_ended_long_ago(struct fixture *fixture);

/* Energy counts from now on, beyond `idle_w` of every host. */
void fixture_start_accounts(struct fixture *fixture, double idle_w);
