/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/sampler.h"

#include <math.h>

#include "common/clock.h"
#include "common/platform.h"

#define LOG_SUBSYSTEM "sampler"
#include "common/log.h"

/* The wait after a refused login; it doubles up to the maximum. */
#define LOGIN_RETRY_S 5.0
#define LOGIN_RETRY_MAX_S 60.0

struct sampler {
	const struct platform *platform;
	const char *host;
	struct power_meter *meter;
	const struct sampler_observer *observer;
	void *data;
	struct energy_counter counter;
	double interval_s; /* that the configuration asks for */
	double latency_s;  /* what a reading takes, smoothed */
	uint64_t readings; /* since the start */
	int64_t asked_ns;  /* when the read under way began, or the first of those that it joins */
	guint tick_id;
	bool reading; /* a read is under way; ticks have no effect */
	bool joins;   /* the last read ended with "not yet" */
	bool lost;
	bool failed;           /* a read has, since the last reading */
	int64_t since_ns;      /* the last reading, or the start */
	int64_t not_before_ns; /* no read before this time, after a refused login */
	double retry_s;        /* the wait after the next refused login */
	char *reason;          /* of the last failure, or NULL */
};

/* How much the last reading counts in the mean of what readings take. */
#define LATENCY_WEIGHT 0.25
/* By which factor one reading may exceed that mean, or the interval, and count. */
#define LATENCY_GROWTH 3.0

/*
 * Learns from a reading that began at asked_ns what readings take. A single long one counts within
 * bounds: a login or a search, which it may contain, says nothing about the others. A read begins
 * at a tick: a meter that answers just after one is read a whole interval later.
 */
static void learn_latency(struct sampler *sampler, int64_t t_ns)
{
	const double took_s = clock_elapsed_s(sampler->asked_ns, t_ns);
	const double most_s = sampler->readings > 0 ? LATENCY_GROWTH * MAX(sampler->latency_s,
									   sampler->interval_s)
						    : POWER_METER_DEADLINE_S;
	double apart_s;

	sampler->latency_s += (MIN(took_s, most_s) - sampler->latency_s) *
			      (sampler->readings > 0 ? LATENCY_WEIGHT : 1);
	sampler->readings++;
	apart_s = ceil(sampler->latency_s / sampler->interval_s) * sampler->interval_s;
	energy_counter_set_interval(&sampler->counter, MAX(sampler->interval_s, apart_s));
}

/* A meter that is on its way to its first reading, and has not failed, is not lost yet. */
static void notice_loss(struct sampler *sampler)
{
	const int64_t silent_ns = platform_now_ns(sampler->platform) - sampler->since_ns;

	if (sampler->readings == 0 && !sampler->failed)
		return;
	if (sampler->lost || silent_ns <= sampler->counter.gap_limit_ns)
		return;
	sampler->lost = true;
	if (!sampler->reason)
		sampler->reason = g_strdup_printf("host \"%s\": no answer for %.1f s",
						  sampler->host, (double)silent_ns / 1e9);
	if (sampler->observer)
		sampler->observer->lost(sampler->reason, sampler->data);
}

static void take_failure(struct sampler *sampler, const GError *error)
{
	const bool new_reason = g_strcmp0(sampler->reason, error->message) != 0;

	if (new_reason) {
		log_debug("%s", error->message);
		g_free(sampler->reason);
		sampler->reason = g_strdup(error->message);
	}
	if (error->code != POWER_METER_ERROR_NOT_YET)
		sampler->failed = true;
	if (error->code == POWER_METER_ERROR_LOGIN || error->code == POWER_METER_ERROR_SETUP) {
		sampler->not_before_ns =
			platform_now_ns(sampler->platform) + (int64_t)(sampler->retry_s * 1e9);
		sampler->retry_s = MIN(2 * sampler->retry_s, LOGIN_RETRY_MAX_S);
	}
	notice_loss(sampler);
}

static void take_reading(struct sampler *sampler, const struct power_reading *reading)
{
	const enum energy_counter_step step =
		energy_counter_add(&sampler->counter, reading->t_ns, reading->mw);

	learn_latency(sampler, reading->t_ns);
	g_clear_pointer(&sampler->reason, g_free);
	sampler->retry_s = LOGIN_RETRY_S;
	sampler->since_ns = reading->t_ns;
	sampler->failed = false;
	if (sampler->lost) {
		sampler->lost = false;
		if (sampler->observer)
			sampler->observer->back(sampler->data);
	}
	if (step != ENERGY_COUNTER_IGNORED && sampler->observer)
		sampler->observer->sampled(reading, step, &sampler->counter, sampler->data);
}

static void on_read(const struct power_reading *reading, const GError *error, void *data)
{
	struct sampler *sampler = data;

	sampler->reading = false;
	sampler->joins = error && error->code == POWER_METER_ERROR_NOT_YET;
	if (reading)
		take_reading(sampler, reading);
	else
		take_failure(sampler, error);
}

static gboolean on_tick(gpointer data)
{
	struct sampler *sampler = data;

	notice_loss(sampler);
	if (!sampler->reading && platform_now_ns(sampler->platform) >= sampler->not_before_ns) {
		sampler->reading = true;
		if (!sampler->joins)
			sampler->asked_ns = platform_now_ns(sampler->platform);
		power_meter_read(sampler->meter, on_read, sampler);
	}
	return G_SOURCE_CONTINUE;
}

struct sampler *sampler_new(const struct platform *platform, const struct config_meter *config,
			    struct power_meter *opened, const char *host, struct meter_set *set,
			    const struct energy_counter *resume,
			    const struct sampler_observer *observer, void *data, GError **error)
{
	struct power_meter *meter = opened ?: power_meter_open(platform, config, host, set, error);
	struct sampler *sampler;

	if (!meter)
		return NULL;
	sampler = g_new0(struct sampler, 1);
	sampler->platform = platform;
	sampler->host = host;
	sampler->meter = meter;
	sampler->observer = observer;
	sampler->data = data;
	if (observer)
		power_meter_watch(meter, observer->place, data);
	sampler->retry_s = LOGIN_RETRY_S;
	sampler->since_ns = platform_now_ns(sampler->platform);
	sampler->interval_s = config->interval_s;
	if (resume)
		sampler->counter = *resume;
	else
		energy_counter_init(&sampler->counter, config->interval_s);
	energy_counter_set_interval(&sampler->counter, config->interval_s);
	sampler->tick_id =
		platform_after_ms(sampler->platform, (guint)MAX(config->interval_s * 1e3, 1),
				  on_tick, sampler);
	on_tick(sampler);
	return sampler;
}

void sampler_free(struct sampler *sampler)
{
	if (!sampler)
		return;
	g_source_remove(sampler->tick_id);
	power_meter_close(sampler->meter);
	g_free(sampler->reason);
	g_free(sampler);
}

const struct energy_counter *sampler_counter(const struct sampler *sampler)
{
	return &sampler->counter;
}

bool sampler_answered(const struct sampler *sampler)
{
	return sampler->readings > 0;
}

bool sampler_lost(const struct sampler *sampler)
{
	return sampler->lost;
}

const char *sampler_reason(const struct sampler *sampler)
{
	return sampler->reason;
}

char *sampler_progress(const struct sampler *sampler)
{
	return sampler->readings == 0 && sampler->reading ? power_meter_progress(sampler->meter)
							  : NULL;
}

bool sampler_failed(const struct sampler *sampler)
{
	return sampler->failed;
}

const char *sampler_source(const struct sampler *sampler)
{
	return power_meter_source(sampler->meter);
}

double sampler_mean_s(const struct sampler *sampler)
{
	return power_meter_mean_s(sampler->meter);
}

bool sampler_mean_unknown(const struct sampler *sampler)
{
	return power_meter_mean_unknown(sampler->meter);
}
