/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/power.h"

#include <string.h>

#include "common/json.h"
#include "common/platform.h"
#include "common/wire/wire_report.h"
#include "local-sched/power/power_journal.h"
#include "local-sched/power/sample_ring.h"
#include "local-sched/power/sampler.h"

#define LOG_SUBSYSTEM "power"
#include "common/log.h"

/* For so long every sample is kept: a controller that was away for an hour misses none. */
#define KEPT_S 3900.0

enum {
	RING_MIN = 16384,   /* at least so many samples */
	RING_MAX = 1 << 20, /* at most, in 48 MiB */
	ANSWER_MAX = 10000,
};

/* A host with what its sampler's callbacks need. */
struct metered {
	struct power *power;
	uint32_t index;
	struct sampler *sampler; /* NULL: no meter */
	uint64_t last_seq;       /* of its last sample; 0: none */
};

struct power {
	const struct platform *platform;
	struct metered *metered;         /* count of them */
	const char **names;              /* the same order */
	struct energy_counter *counters; /* the same order, as the journal has them */
	char **ids;                      /* their ids, in the same order */
	uint32_t count;
	struct meter_set *meters;
	struct sample_ring *ring;
	struct power_journal *journal; /* or NULL */
	double mean_s;                 /* the longest of a reading since the start */
	bool mean_unknown;             /* that of a reading since the start was not known */
	power_event_f on_event;
	void *data;
	power_sample_f on_sample; /* or NULL */
	void *sample_data;
};

/* Another place of the watts, or another interval, may have another mean later. */
static void keep_mean(struct power *power, const struct sampler *sampler)
{
	power->mean_s = MAX(power->mean_s, sampler_mean_s(sampler));
	power->mean_unknown |= sampler_mean_unknown(sampler);
}

static void on_sampled(const struct power_reading *reading, enum energy_counter_step step,
		       const struct energy_counter *counter, void *data)
{
	struct metered *metered = data;
	struct power *power = metered->power;
	struct sample_ring_entry entry = {.host = metered->index,
					  .t_ns = reading->t_ns,
					  .mw = reading->mw,
					  .energy_uj = counter->energy_uj,
					  .gap = step == ENERGY_COUNTER_GAP};

	power->counters[metered->index] = *counter;
	keep_mean(power, metered->sampler);
	metered->last_seq = sample_ring_push(power->ring, &entry);
	if (power->journal)
		power_journal_append(power->journal);
	entry.seq = metered->last_seq;
	if (power->on_sample)
		power->on_sample(metered->index, &entry, power->sample_data);
}

static void on_lost(const char *reason, void *data)
{
	const struct metered *metered = data;
	const struct power *power = metered->power;
	const char *name = power->names[metered->index];

	log_warning_of(LOG_HOST(name),
		       "its meter is lost, its energy is estimated until it is back: %s", reason);
	power->on_event(name, POWER_EVENT_LOST, reason, platform_now_ns(power->platform),
			power->data);
}

static void on_back(void *data)
{
	const struct metered *metered = data;
	const struct power *power = metered->power;
	const char *name = power->names[metered->index];

	log_info_of(LOG_HOST(name), "its meter is back");
	power->on_event(name, POWER_EVENT_BACK, NULL, platform_now_ns(power->platform),
			power->data);
}

static void on_place(bool lost, const char *text, void *data)
{
	const struct metered *metered = data;
	const struct power *power = metered->power;

	power->on_event(power->names[metered->index],
			lost ? POWER_EVENT_PLACE_LOST : POWER_EVENT_PLACE_FOUND, text,
			platform_now_ns(power->platform), power->data);
}

static const struct sampler_observer observer = {
	.sampled = on_sampled,
	.lost = on_lost,
	.back = on_back,
	.place = on_place,
};

static bool start_samplers(struct power *power, const struct power_host *hosts, GError **error)
{
	for (uint32_t i = 0; i < power->count; i++) {
		const struct config_meter *meter = hosts[i].meter;

		if (!meter || meter->kind == CONFIG_METER_NONE)
			continue;
		power->metered[i].sampler =
			sampler_new(power->platform, meter,
				    hosts[i].open ? hosts[i].open(i, hosts[i].open_data) : NULL,
				    hosts[i].name, power->meters, &power->counters[i], &observer,
				    &power->metered[i], error);
		if (!power->metered[i].sampler)
			return false;
	}
	return true;
}

/* How many samples of all hosts are kept. */
static uint32_t ring_capacity(const struct power_host *hosts, uint32_t count)
{
	double samples = 0;

	for (uint32_t i = 0; i < count; i++)
		if (hosts[i].meter && hosts[i].meter->kind != CONFIG_METER_NONE)
			samples += KEPT_S / hosts[i].meter->interval_s;
	return (uint32_t)CLAMP(samples, RING_MIN, RING_MAX);
}

const struct platform *power_platform(const struct power *power)
{
	return power->platform;
}

struct power *power_new(const struct platform *platform, const struct power_host *hosts,
			uint32_t count, const char *journal_path, power_event_f on_event,
			void *data, GError **error)
{
	g_autoptr(power_t) power = g_new0(struct power, 1);
	const struct sample_ring_entry *entry = NULL;

	power->platform = platform;
	power->count = count;
	power->meters = meter_set_new(power->platform);
	power->on_event = on_event;
	power->data = data;
	power->metered = g_new0(struct metered, count);
	power->names = g_new0(const char *, count);
	power->counters = g_new0(struct energy_counter, count);
	power->ids = g_new0(char *, count + 1);
	power->ring = sample_ring_new(ring_capacity(hosts, count), 1);
	for (uint32_t i = 0; i < count; i++) {
		power->names[i] = hosts[i].name;
		power->ids[i] = platform_uuid(power->platform);
		power->metered[i] = (struct metered){.power = power, .index = i};
	}
	if (journal_path) {
		power->journal =
			power_journal_open(power->platform, journal_path, power->names, count,
					   power->ring, power->counters, power->ids, error);
		if (!power->journal)
			return NULL;
		while ((entry = sample_ring_after(power->ring, entry ? entry->seq : 0)))
			power->metered[entry->host].last_seq = entry->seq;
	}
	return start_samplers(power, hosts, error) ? g_steal_pointer(&power) : NULL;
}

void power_watch(struct power *power, power_sample_f on_sample, void *data)
{
	power->on_sample = on_sample;
	power->sample_data = data;
}

void power_ask_vms(struct power *power, bool (*runs_vm)(const char *host, void *data), void *data)
{
	power->meters->runs_vm = runs_vm;
	power->meters->data = data;
}

void power_free(struct power *power)
{
	if (!power)
		return;
	for (uint32_t i = 0; i < power->count; i++)
		sampler_free(power->metered[i].sampler);
	meter_set_free(power->meters);
	power_journal_close(power->journal);
	sample_ring_free(power->ring);
	g_free(power->metered);
	g_free(power->names);
	g_free(power->counters);
	g_strfreev(power->ids);
	g_free(power);
}

uint32_t power_samples_kept(const struct power *power)
{
	return sample_ring_capacity(power->ring);
}

const struct energy_counter *power_counter(const struct power *power, const char *host)
{
	for (uint32_t i = 0; i < power->count; i++)
		if (power->metered[i].sampler && strcmp(power->names[i], host) == 0)
			return &power->counters[i];
	return NULL;
}

const char *power_counter_id(const struct power *power, uint32_t index)
{
	return power->ids[index];
}

const char *power_source(const struct power *power)
{
	static const char *const order[] = {"none",    "simulated", "model", "rapl",
					    "amm",     "command",   "http",  "snmp",
					    "hwmon",   "acpi",      "raw",   "sensor",
					    "sensors", "redfish",   "dcmi",  NULL};
	int least = -1;

	for (uint32_t i = 0; i < power->count; i++) {
		const struct sampler *sampler = power->metered[i].sampler;
		const int rank =
			record_word_find(order, sampler ? sampler_source(sampler) : "none");

		least = least < 0 ? rank : MIN(least, rank);
	}
	return order[MAX(least, 0)];
}

double power_mean_s(const struct power *power)
{
	double mean_s = power->mean_s;

	for (uint32_t i = 0; i < power->count; i++)
		if (power->metered[i].sampler)
			mean_s = MAX(mean_s, sampler_mean_s(power->metered[i].sampler));
	return mean_s;
}

bool power_mean_unknown(const struct power *power)
{
	if (power->mean_unknown)
		return true;
	for (uint32_t i = 0; i < power->count; i++)
		if (power->metered[i].sampler && sampler_mean_unknown(power->metered[i].sampler))
			return true;
	return false;
}

static json_t *host_json(const struct power *power, uint32_t index)
{
	const struct energy_counter *counter = &power->counters[index];
	const uint64_t seq = power->metered[index].last_seq;
	const bool there = counter->has_last;
	const struct sampler *sampler = power->metered[index].sampler;
	g_autofree char *progress = sampler_progress(sampler);

	return json_pack("{s:s, s:s, s:f, s:b, s:I, s:I, s:I, s:I, s:o, s:I, s:o, s:b, s:b, s:o}",
			 "host", power->names[index], "source", sampler_source(sampler), "mean_s",
			 sampler_mean_s(sampler), "mean_unknown", sampler_mean_unknown(sampler),
			 "energy_uj", (json_int_t)counter->energy_uj, "gap_uj",
			 (json_int_t)counter->gap_uj, "covered_ns", (json_int_t)counter->covered_ns,
			 "gap_ns", (json_int_t)counter->gap_ns, "watts",
			 there ? json_real((double)counter->last_mw / 1e3) : json_null(),
			 "sample_seq", (json_int_t)seq, "sample_ns",
			 there ? json_integer(counter->last_ns) : json_null(), "lost",
			 sampler_lost(sampler), "failed", sampler_failed(sampler), "reason",
			 json_string_or_null(sampler_reason(sampler) ?: progress));
}

json_t *power_energy_json(const struct power *power)
{
	json_t *hosts = json_array();

	for (uint32_t i = 0; i < power->count; i++)
		if (power->metered[i].sampler)
			json_array_append_new(hosts, host_json(power, i));
	return json_pack("{s:o, s:I}", "hosts", hosts, "now_ns",
			 (json_int_t)platform_now_ns(power->platform));
}

json_t *power_samples_json(const struct power *power, uint64_t after)
{
	const struct sample_ring_entry *entry;
	json_t *samples = json_array();
	uint64_t last = sample_ring_last_seq(power->ring);

	for (int i = 0; i < ANSWER_MAX && (entry = sample_ring_after(power->ring, after)); i++) {
		const struct wire_sample sample = {.seq = (int64_t)entry->seq,
						   .t_ns = entry->t_ns,
						   .mw = entry->mw,
						   .energy_uj = (int64_t)entry->energy_uj,
						   .host = entry->host,
						   .gap = entry->gap};

		json_array_append_new(samples,
				      record_write(&wire_sample_record, &sample, 0, power->names));
		after = entry->seq;
	}
	/*
	 * `last` is the number after which the reader continues, so a full response names its own
	 * last sample.
	 */
	if (json_array_size(samples) == ANSWER_MAX)
		last = after;
	return json_pack("{s:o, s:I, s:I}", "samples", samples, "last", (json_int_t)last, "now_ns",
			 (json_int_t)platform_now_ns(power->platform));
}
