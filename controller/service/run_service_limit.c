/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The energy limit per window (controller/engine/window.c) of a service. Windows begin at multiples
 * of their length in UTC; a day's at midnight. The energy used in the present window is what
 * the ledger has (ledger.h), its provisional energy, and what the hosts' counters have counted
 * since. The engine counts by
 * monotonic time: when the clock is set, the present window keeps its end, and the next one is
 * aligned again.
 */
#include <math.h>

#include "common/clock.h"
#include "common/platform.h"
#include "controller/service/run_service_private.h"

/* Smaller differences come from steering the clock, and are followed once they have added up. */
#define CLOCK_SET_S 1.0

/* UTC in seconds, at the run's time 0. */
static double epoch_s(const struct run_service *service)
{
	return (double)platform_utc_us(service->session->platform) * 1e-6 -
	       run_session_now_s(service->session);
}

/* The time of the run at which UTC is a multiple of the window's length. */
static double in_step_s(const struct run_service *service, double window_s)
{
	return -fmod(epoch_s(service), window_s);
}

/* Whether all meters have samples, so that the energy used since a restart is known. */
static bool have_answered(const struct run_service *service)
{
	GPtrArray *meters = remote_fleet_meters(service->session->fleet);

	for (guint i = 0; i < meters->len; i++)
		if (!remote_meter_last(g_ptr_array_index(meters, i)))
			return false;
	return true;
}

double run_service_limit_begin_s(const struct run_service *service,
				 const struct config_service *config)
{
	const double step_s = in_step_s(service, config->energy_window_s);
	const double past_s = run_session_now_s(service->session) - step_s;

	return step_s + floor(past_s / config->energy_window_s) * config->energy_window_s;
}

bool run_service_limit_find(struct run_service *service, const struct config_service *config,
			    struct engine_window *ret_window, GError **error)
{
	struct engine_window window = {
		.limit_j = config->energy_limit_j,
		.length_s = config->energy_window_s,
		.begin_s = in_step_s(service, config->energy_window_s),
	};

	if (window.limit_j > 0 &&
	    !run_service_used_since(service, run_service_limit_begin_s(service, config),
				    &window.spent_j, error))
		return false;
	*ret_window = window;
	return true;
}

void run_service_limit_set(struct run_service *service, const struct engine_window *window)
{
	service->window_begin_s = window->begin_s;
	service->window_counted = have_answered(service);
	engine_set_window(service->engine, window);
}

bool run_service_limit_begin(struct run_service *service, GError **error)
{
	struct engine_window window;

	if (!run_service_limit_find(service, &service->config, &window, error))
		return false;
	run_service_limit_set(service, &window);
	return true;
}

/* Follows a clock that was set. */
static void follow_clock(struct run_service *service)
{
	const double length_s = service->config.energy_window_s;
	const double begin_s = in_step_s(service, length_s);
	const double off_s = remainder(begin_s - service->window_begin_s, length_s);

	if (fabs(off_s) < CLOCK_SET_S)
		return;
	service->window_begin_s = begin_s;
	engine_shift_window(service->engine, begin_s);
	run_session_note(
		service->session, "clock",
		"the clock was set: windows of energy begin %.0f s %s, from the next one on",
		fabs(off_s), off_s > 0 ? "later" : "earlier");
}

/*
 * The engine counts on by the meters; what the ledger has is what holds. A silent host has its
 * provisional energy there, and does not keep the others from being corrected.
 */
static bool follow_ledger(struct run_service *service, GError **error)
{
	const double begin_s = engine_window_begin_s(service->engine);
	const int64_t now_ns = platform_now_ns(service->session->platform);
	double used_j;

	if (!run_service_used_until(service, begin_s, now_ns, &used_j, error))
		return false;
	engine_window_correct(service->engine, clock_elapsed_s(service->session->t0_ns, now_ns),
			      used_j);
	return true;
}

bool run_service_limit_tick(struct run_service *service, GError **error)
{
	if (!(service->config.energy_limit_j > 0))
		return true;
	if (!service->window_counted && have_answered(service))
		return run_service_limit_begin(service, error);
	follow_clock(service);
	engine_window_settle(service->engine);
	return follow_ledger(service, error);
}

/* For the API. */

static char *utc_of(const struct run_service *service, double time_s)
{
	g_autoptr(GDateTime) then =
		g_date_time_new_from_unix_utc((gint64)llround(epoch_s(service) + time_s));

	return then ? g_date_time_format(then, "%Y-%m-%dT%H:%M:%SZ") : NULL;
}

bool run_service_limit(const struct run_session *session, struct run_service_limit *ret_limit)
{
	const struct run_service *service = session->service;
	GPtrArray *meters = remote_fleet_meters(session->fleet);
	const int64_t now_ns = platform_now_ns(session->platform);
	struct run_service_limit limit = {0};

	if (!service || !service->engine || !(service->config.energy_limit_j > 0))
		return false;
	limit.window = engine_window_now(service->engine);
	if (isnan(limit.window.limit_j))
		return false;
	limit.end_utc = utc_of(service, limit.window.end_s);
	limit.refresh_s = service->config.meter_refresh_s;
	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);

		limit.meters++;
		limit.silent += !remote_meter_fresh(meter, now_ns);
		limit.power_w += fmax(0, (double)meter->max_mw * 1e-3 - meter->idle_w);
		limit.sampling_s = fmax(limit.sampling_s, remote_meter_sampling_s(meter, now_ns));
	}
	limit.bound_j =
		limit.power_w * (limit.sampling_s + limit.refresh_s + limit.window.reaction_s);
	*ret_limit = limit;
	return true;
}
