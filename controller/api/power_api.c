/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/power_api.h"

#include <math.h>

#include "common/clock.h"
#include "controller/api/status_api_private.h"
#include "controller/api/window_api.h"
#include "controller/engine/engine.h"
#include "controller/run/run_service.h"

/* Points of the curve of energy. */
#define ENERGY_POINTS 200

static const struct remote_sample *sample_at(const struct remote_meter *meter, guint i)
{
	return &g_array_index(meter->samples, struct remote_sample, i);
}

static json_t *point(double time_s, double value)
{
	return json_pack("[f, f]", time_s, value);
}

/* Mean watts from one sample to the next of those that are shown, by their counters. */
static double mean_w(const struct remote_sample *from, const struct remote_sample *to)
{
	return (double)(to->energy_uj - from->energy_uj) * 1e-6 /
	       clock_elapsed_s(from->t_ns, to->t_ns);
}

static json_t *samples_json(const struct run_session *session, const struct remote_meter *meter,
			    double after_s)
{
	json_t *list = json_array();
	guint first = meter->samples->len;
	guint step;

	while (first > 0 && api_time_s(session, sample_at(meter, first - 1)->t_ns) > after_s)
		first--;
	step = 1 + (meter->samples->len - first) / POWER_API_POINTS;
	for (guint i = first + step - 1; i < meter->samples->len; i += step) {
		const struct remote_sample *one = sample_at(meter, i);
		const bool mean = step > 1 && i >= step;

		json_array_append_new(
			list, point(api_time_s(session, one->t_ns),
				    mean ? mean_w(sample_at(meter, i - step), one)
					 : (double)one->mw * 1e-3));
	}
	return list;
}

static json_t *host_json(const struct run_session *session, const struct config_cluster *cluster,
			 const struct remote_meter *meter, double after_s)
{
	const struct remote_sample *last = remote_meter_last(meter);
	const int64_t now_ns = clock_now_ns();

	return json_pack("{s:s, s:s, s:o, s:o, s:n, s:o, s:b, s:o}", "host", meter->host, "cluster",
			 cluster->name, "watts", api_number(last ? (double)last->mw * 1e-3 : (double)NAN),
			 "idle_w", meter->start_ns ? json_real(meter->idle_w) : json_null(),
			 "cap_w", "age_s",
			 api_number(last ? clock_elapsed_s(last->t_ns, now_ns) : (double)NAN),
			 "lost", !remote_meter_fresh(meter, now_ns), "samples",
			 samples_json(session, meter, after_s));
}

static json_t *hosts_json(const struct run_session *session, double after_s)
{
	json_t *hosts = json_array();

	for (uint32_t i = 0; i < session->config->clusters_count; i++) {
		GPtrArray *meters = remote_link_meters(remote_fleet_link(session->fleet, i));

		for (guint k = 0; k < meters->len; k++)
			json_array_append_new(hosts,
					      host_json(session, &session->config->clusters[i],
							g_ptr_array_index(meters, k), after_s));
	}
	return hosts;
}

/* From when on all meters have samples; INFINITY where one has none. */
static double metered_from_s(const struct run_session *session, GPtrArray *meters)
{
	double from_s = 0;

	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);

		if (!meter->samples->len || !meter->start_ns)
			return INFINITY;
		from_s = fmax(from_s, api_time_s(session, sample_at(meter, 0)->t_ns));
	}
	return meters->len ? from_s : INFINITY;
}

/*
 * The run's dynamic energy at evenly spaced times, and as far as it is told, when it is `energy_j`. The meters' accounts of a
 * service begin anew every minute: what went before is what they lack now. What its account lacks (it begins with the first whole
 * interval of a meter) would be below 0.
 */
static json_t *energy_json(const struct run_session *session, double energy_j)
{
	GPtrArray *meters = remote_fleet_meters(session->fleet);
	const double from_s = metered_from_s(session, meters);
	const double now_s = api_now_s(session);
	json_t *list = json_array();
	double before_j;

	if (!session->run || !(from_s < now_s) || isnan(energy_j))
		return list;
	before_j = energy_j - remote_meters_dynamic_j(meters, clock_now_ns());
	if (session->service)
		before_j += run_service_untold_j(session->service);
	for (int i = 1; i <= ENERGY_POINTS; i++) {
		const double time_s = from_s + (now_s - from_s) * i / ENERGY_POINTS;
		const int64_t t_ns = session->t0_ns + (int64_t)(time_s * 1e9);
		const double dynamic_j = before_j + remote_meters_dynamic_j(meters, t_ns);

		json_array_append_new(list,
				      point(time_s, session->service ? fmax(dynamic_j, 0) : dynamic_j));
	}
	return list;
}

void power_api_power(struct http_request *request, const char *const *arguments, json_t *body,
		     void *data)
{
	const struct run_session *session = ((struct status_api *)data)->session;
	const struct run_progress *progress;
	double after_s;

	if (!api_query_number(request, "after_s", -1e12, 1e12, -1e12, &after_s))
		return;
	progress = api_progress(session);
	http_request_reply(
		request, 200,
		json_pack("{s:I, s:f, s:o, s:o, s:o, s:o, s:o}", "run", (json_int_t)session->run, "now_s",
			  api_now_s(session), "hosts", hosts_json(session, after_s), "energy_j",
			  session->run ? api_number(progress->energy_j) : json_null(), "limit_j",
			  session->run && progress->limit_j > 0 ? api_number(progress->limit_j)
								: json_null(),
			  "window", window_api_json(session), "energy",
			  energy_json(session, progress->energy_j)));
}

/* What a task earned, and when. */
struct earning {
	double time_s;
	double utility;
};

static int compare_earnings(const void *a, const void *b)
{
	const struct earning *one = a;
	const struct earning *other = b;

	return (one->time_s > other->time_s) - (one->time_s < other->time_s);
}

static GArray *earnings_of(const struct run_session *session)
{
	GArray *earnings = g_array_new(FALSE, FALSE, sizeof(struct earning));

	for (uint32_t i = 0; session->engine && i < session->tasks_count; i++) {
		const struct engine_task *task = engine_task(session->engine, i);
		const struct earning one = {task->ended_s, task->utility};

		if (task->state == ENGINE_TASK_COMPLETED && isfinite(one.time_s))
			g_array_append_val(earnings, one);
	}
	g_array_sort(earnings, compare_earnings);
	return earnings;
}

void power_api_utility(struct http_request *request, const char *const *arguments, json_t *body,
		       void *data)
{
	const struct run_session *session = ((struct status_api *)data)->session;
	g_autoptr(GArray) earnings = NULL;
	json_t *points;
	double after_s;
	double sum = 0;

	if (!api_query_number(request, "after_s", -1e12, 1e12, -1e12, &after_s))
		return;
	earnings = earnings_of(session);
	points = json_array();
	for (guint i = 0; i < earnings->len; i++) {
		const struct earning *one = &g_array_index(earnings, struct earning, i);

		sum += one->utility;
		/* The first point is what had been earned by after_s. */
		if (one->time_s > after_s || i + 1 == earnings->len ||
		    g_array_index(earnings, struct earning, i + 1).time_s > after_s)
			json_array_append_new(points, point(one->time_s, sum));
	}
	http_request_reply(request, 200,
			   json_pack("{s:I, s:f, s:f, s:o}", "run", (json_int_t)session->run,
				     "now_s", api_now_s(session), "utility", sum, "points", points));
}
