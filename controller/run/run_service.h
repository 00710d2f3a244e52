/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/task_script.h"
#include "controller/engine/engine.h"
#include "controller/run/run_session.h"
#include "controller/store/store_service.h"
#include "controller/store/store_sync.h"

/*
 * A service (`virtbed serve`): one run that never ends, whose tasks people submit while it is under
 * way. The store has all that is needed to go on, whatever died: what was submitted, and what
 * became of it. What a person was told is safe on disk before: run_service_when_safe().
 *
 * Times are seconds since the service first began; they go on over restarts and reboots, by the
 * boot clock within one boot and by UTC from one to the next.
 */
struct run_service;

#define RUN_SERVICE_ERROR (run_service_error_quark())
GQuark run_service_error_quark(void);
enum run_service_error {
	RUN_SERVICE_ERROR_INPUT = 1, /* makes no sense: unknown type, times that do not fit */
	RUN_SERVICE_ERROR_REFUSED,   /* cannot be done now; the message says why */
	RUN_SERVICE_ERROR_STORE,     /* could not be put on record: the service ends */
	RUN_SERVICE_ERROR_FORBIDDEN, /* not for who asks */
};

/* What one request may submit at most. */
#define RUN_SERVICE_COUNT_MAX 10000

/* What one task may be worth at most. */
#define RUN_SERVICE_UTILITY_MAX 1e6

/* Longest name, key and reason in bytes. */
#define RUN_SERVICE_TEXT_MAX 256

/*
 * Whether `config` can be served, by its service.policy: a policy that is known, goes by no energy
 * budget and gives nodes to tasks, on clusters that are not shared. Returns true, or false with
 * `error` (CONFIG_ERROR_MEANING), whose message begins with the key at fault.
 */
bool run_service_check(const struct config *config, GError **error);

/*
 * Serves: begins the run of the session's plan, or goes on with it, until the session is stopped.
 * Returns false with `error`: RUN_ERROR_STOPPED when it was stopped, or what went wrong. Sets
 * session->service meanwhile.
 */
bool run_service(struct run_session *session, GError **error);

/*
 * Reads what may change from the run directory's configuration again (run_reload.h), goes by it, and makes a
 * note ("reloaded") that says what it goes by now; or one ("not-reloaded") that says why all is as it was.
 * Where the session's service is not under way yet, as soon as it is.
 */
void run_service_reload(struct run_session *session);

/* What somebody wants done; borrowed. */
struct run_service_submit_request {
	const char *type;
	const struct task_script *script; /* for a type of scripts; NULL: none */
	uint32_t count;      /* so many tasks of it, 1 to RUN_SERVICE_COUNT_MAX */
	const char *name;    /* NULL: none */
	const char *key;     /* NULL: none; the same order again, by the same user, submits nothing, another one is refused */
	bool held;           /* to wait until they are released */
	double utility_max;  /* > 0 */
	/*
	 * Seconds after the arrival, NAN: not given. Worth utility_max until constant_s, from there
	 * on less and less until it is nothing at zero_s; or utility_max until deadline_s and
	 * nothing after; or, without any of them, utility_max for ever.
	 */
	double constant_s, zero_s, deadline_s;
	int32_t priority;    /* to SCHED_PRIORITY_MAX either way; above 0 only where `unbound` */
	bool unbound;        /* an operator's: service.user_tasks_max does not apply */
	const char *user;    /* NULL: not known */
	int64_t uid;         /* -1: not known */
};

/*
 * Submits order->count tasks, all or none. They are on record, and on disk, when run_service_when_safe() says so.
 * Returns true with their numbers *ret_first and the *ret_count - 1 next ones, or false with `error`
 * (RUN_SERVICE_ERROR).
 */
bool run_service_submit(struct run_service *service, const struct run_service_submit_request *order,
			uint32_t *ret_first, uint32_t *ret_count, GError **error);

/* What was submitted as this task; NULL: there is no such task. Borrowed until the next call. */
const struct store_submission *run_service_submission(const struct run_service *service,
						      uint32_t task);

/*
 * Calls `done` once, not before it returns, when all that was recorded until now is on disk: people are
 * answered then, many at once, and what they submitted in one turn of the main loop is one transaction. With an error
 * the service ends. Called at the end of the service, too.
 */
void run_service_when_safe(struct run_service *service, store_sync_done_f done, void *data);

/* What people can want of a task of a service. */
enum run_service_task_op {
	RUN_SERVICE_CANCEL = 0, /* it is to end: at once if it waits, else when it was killed */
	RUN_SERVICE_HOLD,       /* it is to wait until it is released */
	RUN_SERVICE_RELEASE,
};

/*
 * Does that for `user` (NULL: not known); it is on record when it returns, as above. `task` is there. False with
 * `error` as above.
 */
bool run_service_ask(struct run_service *service, enum run_service_task_op wish, uint32_t task,
		     const char *user, GError **error);

/*
 * Takes a node out of use, for new tasks, or (`drain` false) puts it back. `reason` and `user` may
 * be NULL. On record when it returns; false with `error` as above.
 */
bool run_service_drain(struct run_service *service, bool drain, uint32_t cluster, uint32_t node,
		       const char *reason, const char *user, GError **error);

/* A service's limit of energy, of the window under way. */
struct run_service_limit {
	struct engine_window_state window; /* limit_j NAN: there is none */
	char *end_utc;         /* when the window ends; the caller frees */
	/*
	 * By how much the limit can be exceeded at most: power_w x (sampling_s + refresh_s + reaction_s). The
	 * power is the most that all hosts were seen to draw above idle, each by itself; the sampling the longest
	 * time that lay between two samples of a meter, or its interval_s, or since the last one of a silent meter;
	 * the reaction the longest that was measured from the limit until a task stood still or was over, or the
	 * window was, or (of a task that is still to stand still) until now (0: none yet). Since the controller
	 * began: none of them falls with time, since window.overshoot_j, which is the largest since then, does not
	 * either, and a bound below it would be none. Of window.unknown windows it is not known.
	 */
	double power_w, sampling_s, refresh_s;
	double bound_j;
	uint32_t meters, silent; /* what silent ones count meanwhile is taken to be what they said last */
};
struct run_service_limit run_service_limit(const struct run_service *service);

/*
 * Joules above idle that the meters' samples show beyond what local schedulers have told of: of the last second or
 * two, unless one of them does not answer. What run_service's energy lacks now.
 */
double run_service_unreported_j(const struct run_service *service);
