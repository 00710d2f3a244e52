/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/power_api.h"

#include <math.h>

#include "common/clock.h"
#include "common/decimal.h"
#include "common/json.h"
#include "common/platform.h"
#include "controller/api/status_api_private.h"
#include "controller/api/window_api.h"
#include "controller/backend/remote_curve.h"
#include "controller/service/run_service.h"

static const struct wire_sample *sample_at(const struct remote_meter *meter, guint i)
{
	return &g_array_index(meter->samples, struct wire_sample, i);
}

static json_t *point(double time_s, double value)
{
	return json_pack("[f, f]", time_s, value);
}

/*
 * Every watching client asks for the power of hundreds of hosts every two seconds, and all of it
 * changes. So the text is written directly, in a third of the time that a JSON tree takes.
 */

static void put_words(GString *text, const char *words)
{
	g_string_append(text, words);
}

/* Writes `value` millionths as a decimal number. */
static void put_millionths(GString *text, int64_t value)
{
	char digits[] = ".000000";
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;

	if (value < 0)
		g_string_append_c(text, '-');
	decimal_append(text, rest / 1000000);
	for (int i = 6; i > 0; i--) {
		digits[i] = (char)('0' + rest % 10);
		rest /= 10;
	}
	put_words(text, digits);
}

static int64_t millionths(double value)
{
	return llround(value * 1e6);
}

/* Microseconds since the start of the present run. */
static int64_t time_us(const struct run_session *session, int64_t t_ns)
{
	return millionths(api_time_s(session, t_ns));
}

static void put_point(GString *text, int64_t t_us, int64_t value)
{
	put_words(text, text->str[text->len - 1] == '[' ? "[" : ",[");
	put_millionths(text, t_us);
	put_words(text, ",");
	put_millionths(text, value);
	put_words(text, "]");
}

/* Mean watts between two samples, by their counters. */
static double mean_w(const struct wire_sample *from, const struct wire_sample *to)
{
	return (double)(to->energy_uj - from->energy_uj) * 1e-6 /
	       clock_elapsed_s(from->t_ns, to->t_ns);
}

static void put_samples(GString *text, const struct run_session *session,
			const struct remote_meter *meter, int64_t after_us)
{
	guint first = meter->samples->len;
	guint step;

	while (first > 0 && time_us(session, sample_at(meter, first - 1)->t_ns) > after_us)
		first--;
	step = 1 + (meter->samples->len - first) / POWER_API_POINTS;
	for (guint i = first + step - 1; i < meter->samples->len; i += step) {
		const struct wire_sample *one = sample_at(meter, i);
		const bool mean = step > 1 && i >= step;

		put_point(text, time_us(session, one->t_ns),
			  mean ? millionths(mean_w(sample_at(meter, i - step), one))
			       : one->mw * 1000);
	}
}

/* Names are letters, digits and dashes (common/config/config_check.c). */
static void put_host(GString *text, const struct run_session *session,
		     const struct config_cluster *cluster, const struct remote_meter *meter,
		     int64_t after_us)
{
	const struct wire_sample *last = remote_meter_last(meter);
	const int64_t now_ns = platform_now_ns(view_platform(session));

	g_string_append_printf(text,
			       "%s{\"host\":\"%s\",\"cluster\":\"%s\",\"lost\":%s,\"cap_w\":null",
			       text->str[text->len - 1] == '[' ? "" : ",", meter->host,
			       cluster->name, remote_meter_fresh(meter, now_ns) ? "false" : "true");
	if (meter->start_ns) {
		put_words(text, ",\"idle_w\":");
		put_millionths(text, millionths(meter->idle_w));
	} else {
		put_words(text, ",\"idle_w\":null");
	}
	if (last) {
		put_words(text, ",\"watts\":");
		put_millionths(text, last->mw * 1000);
		put_words(text, ",\"age_s\":");
		put_millionths(text, millionths(clock_elapsed_s(last->t_ns, now_ns)));
	} else {
		put_words(text, ",\"watts\":null,\"age_s\":null");
	}
	put_words(text, ",\"samples\":[");
	put_samples(text, session, meter, after_us);
	put_words(text, "]}");
}

static void put_hosts(GString *text, const struct run_session *session, int64_t after_us)
{
	const struct config *config = view_config(session);

	for (uint32_t i = 0; i < config->clusters_count; i++) {
		GPtrArray *meters = remote_link_meters(view_link(session, i));

		for (guint k = 0; k < meters->len; k++)
			put_host(text, session, &config->clusters[i], g_ptr_array_index(meters, k),
				 after_us);
	}
}

/* The time from which on all meters have samples; INFINITY where one has none. */
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

static double idle_w(GPtrArray *meters)
{
	double sum_w = 0;

	for (guint i = 0; i < meters->len; i++)
		sum_w += ((const struct remote_meter *)g_ptr_array_index(meters, i))->idle_w;
	return sum_w;
}

/*
 * Writes the run's dynamic energy over time. `energy_j` is the present value; earlier ones are less
 * by what the meters counted above idle since then. For a service this includes energy that its
 * account does not have yet. Values would be negative for energy that the account lacks, which
 * begins with the first whole interval of a meter.
 */
static void put_energy(GString *text, const struct status_api *api, double energy_j)
{
	const struct run_session *session = api->session;
	const bool serves = view_service(api->session) != NULL;
	GPtrArray *meters = view_meters(session);
	const double from_s = metered_from_s(session, meters);
	const int64_t now_ns = platform_now_ns(view_platform(session));
	const double sum_w = idle_w(meters);
	const struct remote_curve_point *points;
	const GArray *curve;

	if (!view_run(session) || !(from_s < api_time_s(session, now_ns)) || isnan(energy_j))
		return;
	energy_j += run_service_unreported_j(session);
	curve = remote_curve_read(api->curve, meters,
				  view_start_ns(session) + (int64_t)(from_s * 1e9), now_ns);
	points = (const struct remote_curve_point *)(const void *)curve->data;
	for (guint i = 0; i < curve->len; i++) {
		const double since_uj = points[curve->len - 1].sum_uj - points[i].sum_uj;
		const double then_j = energy_j - since_uj * 1e-6 +
				      sum_w * clock_elapsed_s(points[i].t_ns, now_ns);

		put_point(text, time_us(session, points[i].t_ns),
			  millionths(serves ? fmax(then_j, 0) : then_j));
	}
}

/* The hosts and the curve of energy come before the rest. */
void power_api_power(struct http_request *request, const char *const *arguments, json_t *body,
		     void *data)
{
	const struct run_session *session = api_session(data);
	const struct run_progress *progress = view_progress(session);
	const int64_t run = view_run(session);
	g_autoptr(json_t) rest = NULL;
	GString *text;
	double after_s;

	if (!http_request_query_real(request, "after_s", -1e12, 1e12, -1e12, &after_s))
		return;
	rest = json_pack("{s:I, s:o, s:o, s:o}", "run", (json_int_t)run, "energy_j",
			 run ? json_number_or_null(progress->energy_j) : json_null(), "limit_j",
			 run && progress->limit_j > 0 ? json_number_or_null(progress->limit_j)
						      : json_null(),
			 "window", window_api_json(session));
	api_set_time(rest, session, "now", run_session_now_s(session));
	text = g_string_new("{\"hosts\":[");
	put_hosts(text, session, millionths(after_s));
	put_words(text, "],\"energy\":[");
	put_energy(text, data, progress->energy_j);
	put_words(text, "]");
	api_reply_parts(request, text, rest);
}

/* The index of the first of `count` changes after a time. */
static uint32_t first_after(const struct engine_utility_change *earnings, uint32_t count,
			    double after_s)
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

/* The first point is the utility at after_s, the last one the present utility. */
static json_t *utility_json(const struct engine_utility_change *earnings, uint32_t count,
			    double after_s)
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
	const struct run_session *session = api_session(data);
	const struct engine_utility_change *earnings;
	uint32_t count;
	json_t *answer;
	double after_s;

	if (!http_request_query_real(request, "after_s", -1e12, 1e12, -1e12, &after_s))
		return;
	earnings = view_utility(session, &count);
	answer = json_pack("{s:I, s:f, s:o}", "run", (json_int_t)view_run(session), "utility",
			   count ? earnings[count - 1].sum : 0.0, "points",
			   utility_json(earnings, count, after_s));
	api_set_time(answer, session, "now", run_session_now_s(session));
	http_request_reply(request, 200, answer);
}
