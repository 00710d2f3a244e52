/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/task_script.h"
#include "controller/engine/engine.h"
#include "controller/run/run_service_check.h"
#include "controller/session/run_session.h"
#include "controller/store/store_service.h"
#include "controller/store/store_sync.h"

/*
 * A service (`virtbed serve`): one run that never ends, whose tasks users submit while it is under
 * way. The store has all that a restart needs after any crash: what was submitted, and its results.
 * What a user was told is safe on disk before: run_service_when_safe().
 *
 * Times are seconds since the service first began; they continue over restarts and reboots, by the
 * boot clock within one boot and by UTC from one boot to the next.
 */
struct run_service;

#define RUN_SERVICE_ERROR (run_service_error_quark())
GQuark run_service_error_quark(void);
enum run_service_error {
	RUN_SERVICE_ERROR_INPUT = 1, /* invalid: unknown type, times that do not fit */
	RUN_SERVICE_ERROR_REFUSED,   /* cannot be done now; the message says why */
	RUN_SERVICE_ERROR_STORE,     /* could not be stored: the service ends */
	RUN_SERVICE_ERROR_FORBIDDEN, /* the user may not do that */
};

/*
 * Serves: begins or continues the run of the session's plan, until the session is stopped. Returns
 * false with `error`: RUN_ERROR_STOPPED if it was stopped, or what went wrong. Sets
 * session->service meanwhile.
 */
bool run_service_work(struct run_session *session, GError **error);

/*
 * Reads the changeable keys of the run directory's configuration again (run_reload.h) and applies
 * them. Makes a note "reloaded" with the new values, or "not-reloaded" with the reason why all keys
 * keep their values. If the session's service has not begun yet, this happens when it begins.
 */
void run_service_reload(struct run_session *session);

/* A request to submit tasks; borrowed. */
struct run_service_submit_request {
	/*
	 * What the user says of each task: type, name, user, uid, held, utility_max > 0, priority
	 * (at most SCHED_PRIORITY_MAX in magnitude, above 0 only if `unbound`); count, from 1 to
	 * RUN_SERVICE_COUNT_MAX; key: the same request again by the same user submits nothing, a
	 * different one is refused. The utility is utility_max until constant_s after the arrival,
	 * and falls to 0 at zero_s; or it is utility_max until deadline_s and 0 after; or, without
	 * any of them, it stays utility_max.
	 */
	struct store_submission task;
	const struct task_script *script; /* for a type of scripts; NULL: none */
	bool unbound; /* from an operator: service.user_tasks_max does not apply */
};

/*
 * Submits order->task.count tasks, all or none. They are safe on disk when run_service_when_safe()
 * says so. Returns true with the numbers *ret_first and the *ret_count - 1 next ones, or false with
 * `error` (RUN_SERVICE_ERROR).
 */
bool run_service_submit(struct run_service *service, const struct run_service_submit_request *order,
			uint32_t *ret_first, uint32_t *ret_count, GError **error);

/*
 * Calls `done` once, not before this returns, when all that was recorded until now is on disk.
 * Users are answered then, many at once: what they submit in one turn of the main loop is one
 * transaction. On an error the service ends. Also called at the end of the service.
 */
void run_service_when_safe(struct run_service *service, store_sync_done_f done, void *data);

/* A user's request about a task of a service. */
enum run_service_task_op {
	RUN_SERVICE_CANCEL = 0, /* end it: at once if it waits, else when it was killed */
	RUN_SERVICE_HOLD,       /* keep it waiting until it is released */
	RUN_SERVICE_RELEASE,
};

/*
 * Carries out the request for `user` (NULL: not known); it is recorded when this returns, and safe
 * on disk as above. `task` must exist. False with `error`: ENGINE_REFUSAL_ERROR, or as above.
 */
bool run_service_request(struct run_service *service, enum run_service_task_op op, uint32_t task,
			 const char *user, GError **error);

/*
 * Drains a node, so that it gets no new tasks, or (`drain` false) undrains it. `reason` and `user`
 * may be NULL. It is recorded when this returns; false with `error`: ENGINE_REFUSAL_ERROR, or as
 * above.
 */
bool run_service_drain(struct run_service *service, bool drain, uint32_t cluster, uint32_t node,
		       const char *reason, const char *user, GError **error);

/* What the API asks about the service under way in `session`. */

/*
 * The request that submitted a task; NULL: there is no such task, or no service. Borrowed until the
 * next request.
 */
const struct store_submission *run_service_submission(const struct run_session *session,
						      uint32_t task);

/* A service's energy limit in the present window. */
struct run_service_limit {
	struct engine_window_state window;
	char *end_utc; /* when the window ends; the caller frees */
	/*
	 * By how much the limit can be exceeded at most: power_w x (sampling_s + refresh_s +
	 * reaction_s). power_w is the sum over hosts of the highest power seen above idle.
	 * sampling_s is the longest time between two samples of a meter, at least its interval_s,
	 * or in which none came, as between two controllers. The reaction (in the window's state)
	 * is the longest time from the limit until a task was suspended or over, or the window
	 * ended, or, for a task that is still to be suspended, until now (0: none yet). All are
	 * maxima since the controller began, as is window.overshoot_j: the bound must not fall
	 * below it. For window.unknown windows the overshoot is not known.
	 */
	double power_w, sampling_s, refresh_s;
	double bound_j;
	/* the energy of silent meters is extrapolated from their last power */
	uint32_t meters, silent;
};
/* False: there is no limit, or no service. */
bool run_service_limit(const struct run_session *session, struct run_service_limit *ret_limit);

/*
 * What a task that is under way has used so far, by the ledger: all of its attempts, as far as
 * reported. False: there is no service, the task has ended (its energy_j says it), it was never
 * started, or its hosts have no meters.
 */
bool run_service_task_energy(const struct run_session *session, const struct engine_task *task,
			     double *ret_j);

/*
 * Unreported energy: joules above idle that meters have counted and no energy account has yet. It
 * covers the last second or two, unless a local scheduler does not answer, and is missing in
 * run_service_energy_j() now. 0 without a service.
 */
double run_service_unreported_j(const struct run_session *session);
