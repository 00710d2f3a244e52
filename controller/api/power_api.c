/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/power_api.h"

#include <math.h>

#include "common/clock.h"
#include "common/json.h"
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
			 cluster->name, "watts", json_number_or_null(last ? (double)last->mw * 1e-3 : (double)NAN),
			 "idle_w", meter->start_ns ? json_real(meter->idle_w) : json_null(),
			 "cap_w", "age_s",
			 json_number_or_null(last ? clock_elapsed_s(last->t_ns, now_ns) : (double)NAN),
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
			  session->run ? json_number_or_null(progress->energy_j) : json_null(), "limit_j",
			  session->run && progress->limit_j > 0 ? json_number_or_null(progress->limit_j)
								: json_null(),
			  "window", window_api_json(session), "energy",
			  energy_json(session, progress->energy_j)));
}

/* Of `count` earnings the first after a time. */
static uint32_t first_after(const struct engine_earning *earnings, uint32_t count, double after_s)
{
	uint32_t low = 0;

	while (low < count) {
		const uint32_t middle = low + (count - low) / 2;

		if (earnings[middle].time_s > after_s)
			count = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* The first point is what had been earned by after_s, the last one all. */
static json_t *utility_json(const struct engine_earning *earnings, uint32_t count, double after_s)
{
	const uint32_t after = first_after(earnings, count, after_s);
	const uint32_t first = after > 0 ? after - 1 : 0;
	const uint32_t step = 1 + (count - first) / POWER_API_POINTS;
	json_t *points = json_array();

	for (uint32_t i = first; i < count; i = i + 1 < count ? MIN(i + step, count - 1) : count)
		json_array_append_new(points, point(earnings[i].time_s, earnings[i].sum));
	return points;
}

void power_api_utility(struct http_request *request, const char *const *arguments, json_t *body,
		       void *data)
{
	const struct run_session *session = ((struct status_api *)data)->session;
	const struct engine_earning *earnings = NULL;
	uint32_t count = 0;
	double after_s;

	if (!api_query_number(request, "after_s", -1e12, 1e12, -1e12, &after_s))
		return;
	if (session->engine)
		earnings = engine_earnings(session->engine, &count);
	http_request_reply(request, 200,
			   json_pack("{s:I, s:f, s:f, s:o}", "run", (json_int_t)session->run,
				     "now_s", api_now_s(session), "utility",
				     count ? earnings[count - 1].sum : 0.0, "points",
				     utility_json(earnings, count, after_s)));
}
