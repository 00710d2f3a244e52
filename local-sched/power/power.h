/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/platform.h"
#include "local-sched/power/energy_counter.h"
#include "local-sched/power/power_meter.h"

/*
 * The power of a local scheduler's hosts: a sampler per host, one numbered list of samples, and a
 * journal that preserves both over a restart. Everything runs on the GLib main loop of the main
 * thread.
 */
struct power;
typedef struct power power_t;

/* A host and its meter (NULL, or of kind CONFIG_METER_NONE: none). Outlives the struct power. */
struct power_host {
	const char *name;
	const struct config_meter *meter;
	/*
	 * Opens the meter for `meter`, which power_new() takes over; NULL: it is opened by its
	 * kind.
	 */
	struct power_meter *(*open)(uint32_t host, void *data);
	void *open_data;
};

/* What happens to a meter. The event's text (borrowed) is what follows the colon. */
enum power_event {
	POWER_EVENT_LOST,        /* no reading for more than three intervals: the reason */
	POWER_EVENT_BACK,        /* a reading after that: NULL */
	POWER_EVENT_PLACE_LOST,  /* what it read is gone (power_meter_place_f): the reason */
	POWER_EVENT_PLACE_FOUND, /* what it reads after that: the place */
};

/* Called at `t_ns` of platform_now_ns() when something happens to the meter of `host`. */
typedef void (*power_event_f)(const char *host, enum power_event event, const char *text,
			      int64_t t_ns, void *data);

/*
 * Begins to sample `hosts` (`count` of them, the array is copied). `journal_path` is the journal,
 * created if missing; NULL: nothing is preserved. `on_event` is called from the main loop. Returns
 * NULL with `error` if a meter's configuration can never work or the journal is not usable.
 */
struct power *power_new(const struct platform *platform, const struct power_host *hosts,
			uint32_t count, const char *journal_path, power_event_f on_event,
			void *data, GError **error);

/* The platform that it was made with. */
const struct platform *power_platform(const struct power *power);

/* Called after a sample of the host at `index` was counted; `sample` is borrowed. */
struct sample_ring_entry;
typedef void (*power_sample_f)(uint32_t index, const struct sample_ring_entry *sample, void *data);

/* Calls `on_sample` (NULL: ends it) for every sample from now on, from the main loop. */
void power_watch(struct power *power, power_sample_f on_sample, void *data);

/*
 * From now on `runs_vm` is asked, from the main loop, whether a VM of ours runs on a host: a machine
 * with one is on, whatever its BMC says, and 0 W of it are no reading.
 */
void power_ask_vms(struct power *power, bool (*runs_vm)(const char *host, void *data), void *data);

/* Stops, and gives the sessions of BMCs back (meter_set_free()); NULL is allowed. */
void power_free(struct power *power);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(power_t, power_free)

/* How many samples are kept, of all hosts together: those of 65 minutes, if that is not too many. */
uint32_t power_samples_kept(const struct power *power);

/* The counter of the host named `host`, borrowed; NULL: unknown host, or no meter. */
const struct energy_counter *power_counter(const struct power *power, const char *host);

/*
 * The id of the counter of the host at `index`. A counter that begins again at 0, for example
 * because the journal is gone, has another id. Borrowed.
 */
const char *power_counter_id(const struct power *power, uint32_t index);

/*
 * The capability "meter" of docs/reference/api.md: the lowest of the hosts' sources, in the order
 * "none", "simulated", "model", "rapl", "amm", "command", "http", "snmp", "hwmon", "acpi", "raw",
 * "sensor", "sensors", "redfish", "dcmi".
 */
const char *power_source(const struct power *power);

/*
 * The longest time that readings of a host are means over, in seconds, now or earlier since the
 * start; 0: none, or not known.
 */
double power_mean_s(const struct power *power);

/* Whether readings of a host are, or were, means over an unknown time. */
bool power_mean_unknown(const struct power *power);

/* The response to GET /v1/energy, a new reference. Hosts without a meter are left out. */
json_t *power_energy_json(const struct power *power);

/* The response to GET /v1/samples?after=AFTER, a new reference: at most 10,000 samples. */
json_t *power_samples_json(const struct power *power, uint64_t after);
