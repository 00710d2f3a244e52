/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The far end of docs/reference/api.md for tests of the controller's side: a local scheduler
 * without VMs, in this process, whose tasks end when the test says so and which can misbehave on
 * command.
 */
struct scripted_scheduler;

/* How it answers. */
enum scripted_mood {
	SCRIPTED_FINE = 0,
	SCRIPTED_RUBBISH,   /* JSON, but not what was asked for */
	SCRIPTED_ELSEWHERE, /* as a proxy: 302 and no word about where */
	SCRIPTED_SILENT,    /* takes requests and never answers */
	SCRIPTED_BUSY,      /* 503 to every PUT and DELETE */
	SCRIPTED_BROKEN,    /* 500 */
};

/* Serves cluster `cluster` with `nodes` nodes and one host "b1" at `address`; all nodes are ready.
 */
struct scripted_scheduler *scripted_scheduler_new(const char *address, const char *cluster,
						  uint32_t nodes);

/* The same, by TLS where the address is one of https: as `tls` says, which is borrowed. */
struct config_tls;
struct scripted_scheduler *scripted_scheduler_new_tls(const char *address,
						      const struct config_tls *tls,
						      const char *cluster, uint32_t nodes);
void scripted_scheduler_free(struct scripted_scheduler *scheduler);

void scripted_scheduler_set_mood(struct scripted_scheduler *scheduler, enum scripted_mood mood);

/* How it answers what is asked of tasks, but for their steps, where its own mood is a fine one. */
void scripted_scheduler_set_task_mood(struct scripted_scheduler *scheduler,
				      enum scripted_mood mood);

/* How much was ever asked of tasks, but for their steps, answered or not. */
uint32_t scripted_scheduler_task_requests(const struct scripted_scheduler *scheduler);

/* Refuses the next `count` starts with 409. */
void scripted_scheduler_refuse(struct scripted_scheduler *scheduler, uint32_t count);

/* Dies and comes back at the same address: with its state, or without (a new incarnation). */
void scripted_scheduler_restart(struct scripted_scheduler *scheduler, bool keep_state);

/*
 * Watts that its host draws from now on, at once; sampled every `SCRIPTED_INTERVAL_S` and
 * integrated as the real one does it (local-sched/power/energy_counter.h).
 */
void scripted_scheduler_set_watts(struct scripted_scheduler *scheduler, double watts);
#define SCRIPTED_INTERVAL_S 0.1

/* Stops or continues to publish samples. */
void scripted_scheduler_set_metering(struct scripted_scheduler *scheduler, bool on);

/* Tells the last sample of its meter again, under the next number, as one of `t_ns`. */
void scripted_scheduler_misdate_sample(struct scripted_scheduler *scheduler, int64_t t_ns);

/*
 * Tells the last interval of its meter again, under the next number, with `key` set to `value`
 * (taken over).
 */
void scripted_scheduler_spoil_usage(struct scripted_scheduler *scheduler, const char *key,
				    json_t *value);

/* The number of the last interval of its meter. */
int64_t scripted_scheduler_last_interval(const struct scripted_scheduler *scheduler);

/* An event that is about no task and no node. */
void scripted_scheduler_tell(struct scripted_scheduler *scheduler, const char *kind);

/* Whether a request waits for the next event. */
bool scripted_scheduler_is_waited_for(const struct scripted_scheduler *scheduler);

/*
 * Up to which event the controller says that it has all on record, with its last question; -1: it
 * does not.
 */
int64_t scripted_scheduler_taken(const struct scripted_scheduler *scheduler);

/* Ends a task as `outcome` ("completed", ...). `repeat`: tells it twice. */
void scripted_scheduler_end_task(struct scripted_scheduler *scheduler, const char *id,
				 const char *outcome, bool repeat);

/*
 * What a task, once it has ended, or the next event says under `key` is `value` (taken over),
 * whatever that is.
 */
void scripted_scheduler_spoil_task(struct scripted_scheduler *scheduler, const char *id,
				   const char *key, json_t *value);
void scripted_scheduler_spoil_event(struct scripted_scheduler *scheduler, const char *key,
				    json_t *value);

/* Ends a task as failed because of `cause` ("stalled", ...) after `done` of `total` steps. */
void scripted_scheduler_fail_task(struct scripted_scheduler *scheduler, const char *id,
				  const char *cause, int64_t done, int64_t total);

/*
 * Of a task that has ended nothing is kept from now on but its name: it is answered 410. No event
 * tells of it.
 */
void scripted_scheduler_forget(struct scripted_scheduler *scheduler, const char *id);

/*
 * The task's ranks end well now. The scheduler reports the end only when a request to kill the task
 * arrives, as if its output took long to fetch.
 */
void scripted_scheduler_hold_end(struct scripted_scheduler *scheduler, const char *id);

/* Tasks end by themselves from now on, as completed, after what `duration_s` says of their request.
 */
void scripted_scheduler_set_auto(struct scripted_scheduler *scheduler,
				 double (*duration_s)(const json_t *request, void *data),
				 void *data);

/*
 * How tasks that end by themselves do so from now on, by what `end` says of their request:
 * "deadline" at the deadline that it has, with as many steps as fit, "stalled" after a tenth of
 * them, "failed" or "lost" at once; NULL: as completed.
 */
void scripted_scheduler_set_end(struct scripted_scheduler *scheduler,
				const char *(*end)(const json_t *request, void *data), void *data);
/*
 * What it says, after the first task has started, that its watts are means over (0 until then);
 * below 0: of a time that it does not know.
 */
void scripted_scheduler_set_mean(struct scripted_scheduler *scheduler, double mean_s);
/* What it says that a boot of a node may take (150 s until then). */
void scripted_scheduler_set_boot_timeout(struct scripted_scheduler *scheduler, double timeout_s);

/* Tasks that were to end by themselves have no more than `left_s` left to execute. */
void scripted_scheduler_hurry(struct scripted_scheduler *scheduler, double left_s);

/*
 * A suspension freezes after `freeze_s` and is over `rest_s` later; a resumption runs after
 * `rest_s` and is over `freeze_s` later (0.02 and 0.05 until then).
 */
void scripted_scheduler_set_steps(struct scripted_scheduler *scheduler, double freeze_s,
				  double rest_s);

/* The next `count` suspensions and resumptions fail where they would be over. */
void scripted_scheduler_fail_steps(struct scripted_scheduler *scheduler, uint32_t count);

/* Answers requests for steps `late_s` after it took them up: after their events, if long enough. */
void scripted_scheduler_set_late(struct scripted_scheduler *scheduler, double late_s);

/* How many suspensions, resumptions were ever taken up. */
uint32_t scripted_scheduler_suspends(const struct scripted_scheduler *scheduler);
uint32_t scripted_scheduler_resumes(const struct scripted_scheduler *scheduler);

/*
 * A migration is under way until the test says what comes of it: all VMs have moved (`reason`
 * NULL), or the first one has not, or, of a task of one VM, none has, and it is forgotten.
 */
void scripted_scheduler_settle_move(struct scripted_scheduler *scheduler, const char *id,
				    const char *reason);
/* The next `count` shares fail, after they were promised. */
void scripted_scheduler_fail_shares(struct scripted_scheduler *scheduler, uint32_t count);
/* How many migrations, shares were ever taken up. */
uint32_t scripted_scheduler_moves(const struct scripted_scheduler *scheduler);
uint32_t scripted_scheduler_shares(const struct scripted_scheduler *scheduler);
/* The share that a task was given last; 0: none. */
double scripted_scheduler_share(const struct scripted_scheduler *scheduler, const char *id);
/* The node that VM number `vm` of a task is on, or is to start on. */
uint32_t scripted_scheduler_place(const struct scripted_scheduler *scheduler, const char *id,
				  uint32_t vm);

/* A node goes down or comes up. */
void scripted_scheduler_set_node(struct scripted_scheduler *scheduler, uint32_t node, bool up);

/* Names its host, and has it draw `busy_w` more for each task that runs (0 until then). */
void scripted_scheduler_set_host(struct scripted_scheduler *scheduler, const char *name);
void scripted_scheduler_set_busy(struct scripted_scheduler *scheduler, double busy_w);

/* So many spare VMs boot, one less whenever it was asked for its nodes; and how many still do. */
void scripted_scheduler_set_spares_booting(struct scripted_scheduler *scheduler, uint32_t count);
uint32_t scripted_scheduler_spares_booting(const struct scripted_scheduler *scheduler);

/* Its next answer about its nodes is made as usual, and held until it is let go. */
void scripted_scheduler_hold_nodes(struct scripted_scheduler *scheduler);
bool scripted_scheduler_holds_nodes(const struct scripted_scheduler *scheduler);
void scripted_scheduler_let_nodes_go(struct scripted_scheduler *scheduler);

/*
 * It says in its next `answers` answers about itself that not all is known yet, as while its nodes
 * boot first.
 */
void scripted_scheduler_set_unsaid(struct scripted_scheduler *scheduler, uint32_t answers);

/* What it says of its hosts' caps from now on, both borrowed ("none" until then). */
void scripted_scheduler_set_caps(struct scripted_scheduler *scheduler, const char *cpu_cap,
				 const char *effective);

/*
 * Appends a line for each task that starts ("started ID") or ends ("ended ID OUTCOME") to the file:
 * what has really been executed, whatever a controller makes of it.
 */
void scripted_scheduler_set_log(struct scripted_scheduler *scheduler, const char *path);

/* How many tasks were ever started, how many DELETEs were answered, and whether `id` runs. */
uint32_t scripted_scheduler_starts(const struct scripted_scheduler *scheduler);
uint32_t scripted_scheduler_deletes(const struct scripted_scheduler *scheduler);
bool scripted_scheduler_runs(const struct scripted_scheduler *scheduler, const char *id);
