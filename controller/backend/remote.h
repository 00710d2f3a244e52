/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "controller/backend/backend.h"
#include "controller/backend/remote_fleet.h"

/*
 * The backend of a measured run: actions go to local schedulers as requests, events come from their
 * event streams, energy from their counters, time from the boot clock.
 *
 * A task's id is EXPERIMENT-RUN-TASK-ATTEMPT, so a repeated request, even of a restarted
 * controller, never executes it twice. The execution time of a task counts from start() to the end
 * of its last rank, launch included. The time of ENERGY_LIMIT follows from the samples' counters,
 * so the event arrives up to a sampling interval and a polling interval later.
 *
 * In a cluster with shared hosts the nodes of start(), resume(), migrate() and of events are hosts:
 * one per VM, or, for policies that do not share, whole hosts over which the VMs are spread. The
 * backend chooses the node of a host that a VM takes. A host is down when all of its nodes are.
 */

/* The id of a task at the local schedulers; the caller frees it. */
char *remote_attempt_id(const char *experiment, int64_t run, uint32_t task, uint32_t attempt);

/* What a run needs; all borrowed for the life of the backend. */
struct remote_run {
	const char *experiment; /* id of the experiment, [A-Za-z0-9._-], at most 40 characters */
	int64_t run;            /* row id of the run; part of the ids of its tasks */
	int64_t t0_ns;          /* boot-clock reading at time 0 */
	/* execution times are being measured: deadlines do not follow from estimates */
	bool profile;
	/* Reports something to record; `kind` as in docs/how-to/run.md. May be NULL. */
	void (*note)(double time_s, const char *kind, const char *text, void *data);
	/* Reports a sample to store. May be NULL. */
	void (*sample)(double time_s, const struct remote_meter *meter,
		       const struct wire_sample *sample, void *data);
	/*
	 * Reports which tasks used the CPU time behind the energy of cluster `cluster` (elements:
	 * struct wire_usage), numbered in `stream`; only after remote_link_usage_from(). May be
	 * NULL.
	 */
	void (*usage)(uint32_t cluster, const char *stream, const GPtrArray *intervals, void *data);
	/* All ranks of a task execute, `launch_s` after start(). May be NULL. */
	void (*launched)(double time_s, uint32_t task, uint32_t attempt, double launch_s,
			 void *data);
	/*
	 * Adds the owner and the script of a task to the body of a PUT (docs/reference/api.md,
	 * Tasks). False with `error`: the task cannot be started. May be NULL: tasks have no owner.
	 * Called with describe_data.
	 */
	bool (*describe)(uint32_t task, json_t *body, void *data, GError **error);
	void *describe_data;
	/*
	 * On shared hosts: how much CPU the VMs of a running task get of their share. May be NULL.
	 */
	void (*delivered)(double time_s, uint32_t task, uint32_t attempt,
			  const struct task_share *share, void *data);
	void *data;
};

/*
 * Creates the backend of one run on `fleet` (borrowed); remote_meter_start() was called for its
 * meters before. One backend at a time.
 */
struct backend *remote_backend_new(struct remote_fleet *fleet, const struct remote_run *run);

/*
 * As backend_suspend(), with `keep` as the storage of the task's VMs: "memory", "disk", or "auto",
 * the default of backend_suspend() (docs/reference/api.md). `keep` must outlive the backend.
 */
void remote_backend_suspend(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n,
			    const char *keep);

/* The history on record of an attempt: how often SUSPENDED and RESUMED arrived. */
struct remote_past {
	uint32_t suspended;
	uint32_t resumed; /* equal to `suspended`, or one less */
	bool queued;      /* it was enqueued and BEGAN arrived */
	bool migrated;    /* a migration was requested at least once */
};

/*
 * Reattaches a task that an earlier controller started, or was about to start: repeats its request;
 * the result arrives as events. Its execution time counts from when the local scheduler first saw
 * it. `placed->nodes` are the nodes that it is on or is to go to. The caller repeats
 * backend_suspend(), backend_resume() and backend_migrate() where no result is on record; the
 * backend finds out whether each is under way or still has to be requested.
 */
void remote_backend_adopt(struct backend *backend, const struct sched_allocation *placed,
			  uint32_t attempt, const struct remote_past *past);

/*
 * Waits until the local schedulers have answered every request about a task, at most `timeout_s`.
 * For use after remote_backend_adopt(), so that tasks that ended meanwhile are known before the run
 * continues.
 */
void remote_backend_wait_asked(struct backend *backend, double timeout_s);

/*
 * Takes the first event that has arrived and whose time is at most `until_s` or now. False: there
 * is none. Events arrive while the main loop runs.
 */
bool remote_backend_take(struct backend *backend, double until_s, struct backend_event *ret_event);

/* Whether remote_backend_take() with `until_s` would return an event. O(1). */
bool remote_backend_has_event(struct backend *backend, double until_s);

/*
 * Runs the main loop until there is an event, or until `until_s`, and takes the event; NONE at
 * `until_s` if there is none. Does not run it if there is an event already, or `until_s` has
 * passed. For measurements, which have no engine.
 */
void remote_backend_wait(struct backend *backend, double until_s, struct backend_event *ret_event);

/*
 * Holds back the requests that are made from now on, until remote_backend_flush() sends them: more
 * may follow at once. Local schedulers on this machine would otherwise take the processors for the
 * first requests of a large plan while the controller makes the rest of it. Requests to one local
 * scheduler are sent in the order in which they were made.
 */
void remote_backend_hold(struct backend *backend);
void remote_backend_flush(struct backend *backend);

/*
 * At the end of a run, after kill() of what still runs: waits, some seconds at most, until the end
 * of each attempt is known. remote_backend_take() then returns the ENDED events of attempts that
 * ended before the kill.
 */
void remote_backend_settle(struct backend *backend);

/* Whether remote_backend_take() has returned every event that local schedulers reported. */
bool remote_backend_is_drained(const struct backend *backend);

/*
 * Kills the orphans of this run: attempts that local schedulers have under way and that were
 * neither started nor reattached here. It does so now and whenever a local scheduler comes back.
 * For a continued run, after every attempt on record was reattached; the lists of tasks arrive
 * while the main loop runs.
 */
void remote_backend_kill_orphans(struct backend *backend);

/*
 * Deadline of a type in a cluster, seconds: the longest time that its scripts may take; else
 * `task_deadline_s`; else 10 x its ETC; a day if there is no ETC, or in a `profile`, which measures
 * it.
 */
double remote_deadline_s(const struct config *config, uint32_t type, uint32_t cluster,
			 bool profile);
