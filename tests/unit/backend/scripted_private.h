/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * The insides of scripted_scheduler.h, for scripted_scheduler.c (its life, events, nodes),
 * scripted_tasks.c, scripted_energy.c, scripted_steps.c (suspensions and resumptions) and
 * scripted_moves.c (migrations and shares) alone.
 */
#include "common/http_server.h"
#include "common/peer_tls.h"
#include "local-sched/power/energy_counter.h"
#include "tests/unit/backend/scripted_scheduler.h"

struct scripted_scheduler {
	char *address;
	const struct config_tls *tls; /* borrowed; NULL: none */
	char *cluster;
	char *host;
	struct http_server *server;
	enum scripted_mood mood, task_mood;
	uint32_t nodes, refusals, starts, deletes, task_requests, incarnation;
	const char *cpu_cap, *caps_effective;
	bool *up;
	json_t *tasks;       /* id -> task object */
	json_t *past;        /* ids of tasks that are kept no more */
	json_t *held;        /* id -> when its ranks ended, not told yet */
	json_t *events;      /* array */
	json_t *spoilt;      /* members that the next event has instead of its own; NULL: none */
	json_t *spoilt_ends; /* id -> replacement, for tasks that end; NULL: none */
	int64_t taken;      /* up to there they are on record, as was said last; -1: was not said */
	json_t *samples;    /* array */
	json_t *intervals;  /* array: the intervals that are reported between them */
	char *stream;       /* whose numbers they have */
	GPtrArray *waiters; /* struct waiter */
	double watts, busy_w;
	double mean_s; /* of its meter, once there was a task */
	bool metering;
	struct energy_counter energy;
	guint sample_source;
	double (*duration_s)(const json_t *request, void *data);
	void *duration_data;
	const char *(*end)(const json_t *request, void *data);
	void *end_data;
	double boot_timeout_s;
	GHashTable *endings; /* of struct ending: tasks that are to end by themselves */
	GHashTable *steps;   /* of struct step: what is under way */
	double freeze_s, rest_s, late_s;
	uint32_t failures, suspends, resumes;
	uint32_t spares_booting, unsaid;
	bool hold_nodes;                   /* the next answer about nodes, ... */
	struct http_request *held_request; /* which is for this request; NULL: none is held */
	json_t *held_nodes;
	uint32_t moves, shares, share_failures;
	int log_fd; /* -1: none */
};

/* A task that ends by itself. */
struct ending {
	struct scripted_scheduler *scheduler;
	char *id;
	guint source;   /* 0: it is suspended */
	int64_t due_ns; /* when it ends, */
	double left_s;  /* or how long it has still to execute */
};

/* Answers with `body` and the time. */
void scripted_reply(struct http_request *request, int status, json_t *body);

/*
 * Answers with the task, as it is when the answer is sent: scripted_scheduler_set_late() later.
 */
void scripted_answer(struct scripted_scheduler *scheduler, struct http_request *request, int status,
		     json_t *task);

/* Whether the mood took care of the request. */
bool scripted_moody(struct scripted_scheduler *scheduler, struct http_request *request,
		    bool change);
/* As above for a request about tasks, which may be answered in another mood. */
bool scripted_task_moody(struct scripted_scheduler *scheduler, struct http_request *request,
			 bool change);

/* The task that is spoken of, or NULL when the request was answered: there is none. */
json_t *scripted_find_task(const struct scripted_scheduler *scheduler, struct http_request *request,
			   const char *id);

/* Adds an event and answers the requests that wait for one. */
void scripted_event(struct scripted_scheduler *scheduler, const char *kind, const char *task,
		    json_t *node, json_t *detail);

/* The task does not execute from now on, or does again: its pending end waits. */
void scripted_pause(struct scripted_scheduler *scheduler, const char *id);
void scripted_unpause(struct scripted_scheduler *scheduler, const char *id);

/* scripted_tasks.c */
void scripted_put_task(struct http_request *request, const char *const *arguments, json_t *body,
		       void *data);
void scripted_get_task(struct http_request *request, const char *const *arguments, json_t *body,
		       void *data);
void scripted_get_output(struct http_request *request, const char *const *arguments, json_t *body,
			 void *data);
void scripted_get_tasks(struct http_request *request, const char *const *arguments, json_t *body,
			void *data);
void scripted_delete_task(struct http_request *request, const char *const *arguments, json_t *body,
			  void *data);
/* Tasks that still run do not outlive their scheduler. */
void scripted_forget_endings(struct scripted_scheduler *scheduler);

/* scripted_energy.c */
/* No interval is a gap: a test machine may stall. */
#define SCRIPTED_NO_GAP_S 1e6
void scripted_get_energy(struct http_request *request, const char *const *arguments, json_t *body,
			 void *data);
void scripted_get_samples(struct http_request *request, const char *const *arguments, json_t *body,
			  void *data);
void scripted_get_usage(struct http_request *request, const char *const *arguments, json_t *body,
			void *data);
/* Reads the meter, once; as a GSourceFunc again and again. */
gboolean scripted_take_sample(gpointer scheduler);

/* scripted_steps.c */
void scripted_put_suspension(struct http_request *request, const char *const *arguments,
			     json_t *body, void *data);
void scripted_put_resumption(struct http_request *request, const char *const *arguments,
			     json_t *body, void *data);
/* scripted_moves.c */
void scripted_put_migration(struct http_request *request, const char *const *arguments,
			    json_t *body, void *data);
void scripted_put_share(struct http_request *request, const char *const *arguments, json_t *body,
			void *data);

/* scripted_steps.c */
/* Seconds between the task's stretches, of those that are over. */
double scripted_paused_s(const json_t *task);
/* Whether the task is off its nodes. */
bool scripted_is_suspended(const json_t *task);
/* Forgets what is under way. */
void scripted_forget_steps(struct scripted_scheduler *scheduler);
