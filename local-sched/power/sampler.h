/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/config/config.h"
#include "common/platform.h"
#include "local-sched/power/energy_counter.h"
#include "local-sched/power/power_meter.h"

/*
 * Reads a host's meter at its interval, on the GLib main loop, and feeds its energy counter. A
 * meter without a reading for more than three intervals (the counter's gap limit) is lost, which is
 * reported once. It is asked further without end, and reported back at its next reading.
 *
 * A meter whose readings take longer than its interval is read as often as it answers: the gap
 * limit is three times what its readings take, by the mean of the last ones. A meter on its way to
 * its first reading is lost once a read of it has failed.
 */
struct sampler;
typedef struct sampler sampler_t;

/* The events of a sampler. All are required and come from the main loop. */
struct sampler_observer {
	/* A reading was counted; `counter` is its value just after it. */
	void (*sampled)(const struct power_reading *reading, enum energy_counter_step step,
			const struct energy_counter *counter, void *data);
	/*
	 * There was no reading for too long; `reason` (borrowed) is the failure of the last read.
	 */
	void (*lost)(const char *reason, void *data);
	/* A lost meter has a reading again. Comes before its sampled(). */
	void (*back)(void *data);
	/* As power_meter_place_f. */
	void (*place)(bool lost, const char *text, void *data);
};

/*
 * Begins to sample the meter `opened`, which is taken over, or, where that is NULL, the meter that
 * `config` describes, of `set`. `config`, `host` (its name) and `set` outlive the sampler. The
 * counter continues from `resume` (NULL: from zero). `observer` may be NULL. Returns NULL with
 * `error` if the meter cannot be opened.
 */
struct sampler *sampler_new(const struct platform *platform, const struct config_meter *config,
			    struct power_meter *opened, const char *host, struct meter_set *set,
			    const struct energy_counter *resume,
			    const struct sampler_observer *observer, void *data, GError **error);

/* Stops; NULL is allowed. Callbacks must not call it. */
void sampler_free(struct sampler *sampler);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(sampler_t, sampler_free)

/* The counter now. Borrowed. */
const struct energy_counter *sampler_counter(const struct sampler *sampler);

/* Whether the meter gave a reading since the start. */
bool sampler_answered(const struct sampler *sampler);
/* Whether the meter is lost: its counter is estimated until it gives readings again. */
bool sampler_lost(const struct sampler *sampler);

/* Why the last read failed (borrowed); NULL: it did not, or there was none yet. */
const char *sampler_reason(const struct sampler *sampler);

/*
 * How far a meter is on its way to its first reading; the caller frees. NULL: there was one, or it
 * cannot say.
 */
char *sampler_progress(const struct sampler *sampler);

/*
 * Whether a read has failed since the last reading. A meter that is still at what comes before its
 * first reading (POWER_METER_ERROR_NOT_YET), or whose first answer is late, has not.
 */
bool sampler_failed(const struct sampler *sampler);

/* power_meter_source() of its meter. */
const char *sampler_source(const struct sampler *sampler);

/* power_meter_mean_s() of its meter. */
double sampler_mean_s(const struct sampler *sampler);

/* power_meter_mean_unknown() of its meter. */
bool sampler_mean_unknown(const struct sampler *sampler);
