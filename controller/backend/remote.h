/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "controller/backend/backend.h"
#include "controller/backend/remote_fleet.h"

/*
 * The backend of a measured run: actions go to local schedulers as requests, events come back from
 * their streams, energy from their counters, time from the boot clock.
 *
 * A task's id is EXPERIMENT-RUN-TASK-ATTEMPT, so that asking again, even from a controller that was
 * restarted, never runs it twice. The execution time of a task counts from start() to the end of
 * its last rank, launch included. Energy that reaches the limit does so at the time that follows
 * from the samples' counters, which is up to a sampling and a polling interval ago.
 *
 * Of a cluster whose hosts are shared the nodes of start(), resume() and migrate() are hosts, and so
 * are those that events speak of: one for each VM, or, for policies that do not share, whole hosts,
 * over which the VMs are spread. Which of a host's places a VM takes is the backend's to choose. A host
 * is down when all of its places are.
 */

/* What a run needs; all borrowed for the life of the backend. */
struct remote_run {
	const char *experiment; /* id of the experiment, [A-Za-z0-9._-], at most 40 characters */
	int64_t run;            /* row id of the run; in the ids of its tasks */
	int64_t t0_ns;          /* boot-clock reading at time 0 */
	bool profile;           /* what tasks take is being measured: no estimate makes a deadline */
	/* Something to record; `kind` as in docs/how-to/run.md. May be NULL. */
	void (*note)(double time_s, const char *kind, const char *text, void *data);
	/* A sample to store. May be NULL. */
	void (*sample)(double time_s, const struct remote_meter *meter,
		       const struct remote_sample *sample, void *data);
	/*
	 * Whose CPU time it was that the meters of cluster `cluster` counted (struct remote_usage), numbered
	 * in `stream`; after remote_link_usage_from(). May be NULL.
	 */
	void (*usage)(uint32_t cluster, const char *stream, const GPtrArray *intervals, void *data);
	/* All ranks of a task run, `launch_s` after start(). May be NULL. */
	void (*launched)(double time_s, uint32_t task, uint32_t attempt, double launch_s,
			 void *data);
	/*
	 * Adds to the body of a PUT (docs/reference/api.md, Tasks) whose the task is, and its script. False with
	 * `error`: it cannot be started. May be NULL: tasks are nobody's. It has data of its own.
	 */
	bool (*describe)(uint32_t task, json_t *body, void *data, GError **error);
	void *describe_data;
	/* On shared hosts: what the VMs of a task that runs make of their share. May be NULL. */
	void (*delivered)(double time_s, uint32_t task, uint32_t attempt,
			  const struct remote_share *share, void *data);
	void *data;
};

/*
 * Creates the backend of one run on `fleet` (borrowed), whose meters' accounts were started before
 * (remote_meter_start()). One at a time.
 */
struct backend *remote_backend_new(struct remote_fleet *fleet, const struct remote_run *run);

/*
 * As backend_suspend(), where the task's VMs are kept by `keep`: "memory", "disk", or "auto", which
 * backend_suspend() asks for (docs/reference/api.md). A string that lives as long as the backend.
 */
void remote_backend_suspend(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n,
			    const char *keep);

/* What is recorded of the suspensions of an attempt: how often SUSPENDED and RESUMED came of it. */
struct remote_past {
	uint32_t suspended;
	uint32_t resumed; /* as often, or once less */
	bool queued;      /* it was enqueued, and has begun */
	bool migrated; /* it was ever migrated, or was to be */
};

/*
 * Takes over a task that an earlier controller started, or was about to: asks for it again, and what
 * became of it arrives as events. Its execution time counts from when the local scheduler first saw
 * it. `start->nodes` are those that it is on, or is to go to. The caller calls backend_suspend() and
 * _resume() again where nothing is known to have come of them: whether they are under way, or have
 * still to be asked for, is found out; so with backend_migrate().
 */
void remote_backend_adopt(struct backend *backend, const struct backend_start *start,
			  const struct remote_past *past);

/*
 * Waits until the local schedulers have answered every request for a task, at most `timeout_s`:
 * after remote_backend_adopt(), so that what ended meanwhile is known before the run goes on.
 */
void remote_backend_wait_asked(struct backend *backend, double timeout_s);

/* Whether all that local schedulers told has come out of backend_wait(). */
bool remote_backend_is_drained(const struct backend *backend);

/*
 * Kills the attempts of this run that the local schedulers have under way and that were neither started
 * nor adopted here: now, and whenever a local scheduler comes back. For a run that went on, after all
 * that is on record was adopted; the lists come in while the backend waits.
 */
void remote_backend_kill_orphans(struct backend *backend);

/*
 * Deadline of a type in a cluster: the time that scripts of it may take; else `task_deadline_s`, or 10 x
 * its ETC, or a day where there is none, or in a `profile`, which is to find that out.
 */
double remote_deadline_s(const struct config *config, uint32_t type, uint32_t cluster, bool profile);
