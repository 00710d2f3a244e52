/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wire_report.h"
#include "controller/backend/remote_clock.h"

/*
 * The energy counter of one host as the controller knows it: the local scheduler's samples, each
 * with the counter just after it. Between two samples the counter is taken to rise evenly; after
 * the last one at that sample's watts. The controller only takes differences of counters, since
 * their zero has no meaning.
 */

struct remote_meter {
	char *host;
	double interval_s; /* the sampling interval that the configuration asks for */
	double apart_s;    /* how far samples are apart, smoothed; a slow meter has no others */
	guint kept;        /* at least so many samples are kept */
	GArray *samples;   /* struct wire_sample by our clock, by time; the oldest are discarded */
	int64_t shift_uj;  /* added to the counters that arrive (remote_meter_rebase()) */
	bool rebase;       /* the next sample sets shift_uj */
	int64_t max_mw;    /* the highest of all samples */
	double longest_s;  /* the longest time ever between two samples, or in which none came */
	double gap_s;      /* total time before samples flagged as gaps */
	double idle_w;     /* measured baseline; 0 until remote_meter_start() */
	int64_t start_ns;  /* start of the run; 0: not set */
	bool start_known;  /* a sample after start_ns has come: start_uj is final */
	double start_uj;   /* counter at start_ns */
};

/* A meter without samples, to be freed by remote_meter_free(). */
struct remote_meter *remote_meter_new(const char *host, double interval_s);
void remote_meter_free(struct remote_meter *meter);

/*
 * Adds a sample. Returns false, and does not add it, if it is not newer than the last one or its
 * counter runs backwards (a faulty meter).
 */
bool remote_meter_add(struct remote_meter *meter, const struct wire_sample *sample);

/* Notes at `now_ns` how long the meter was silent; to be called before late samples are added. */
void remote_meter_note_silence(struct remote_meter *meter, int64_t now_ns);

/*
 * The counter restarts (a local scheduler without its state): the next sample continues the counter
 * after a gap and is flagged so.
 */
void remote_meter_rebase(struct remote_meter *meter);

/* The last sample, or NULL when there is none. Borrowed until the next remote_meter_add(). */
const struct wire_sample *remote_meter_last(const struct remote_meter *meter);

/*
 * Whether the last sample at `now_ns` is no older than three intervals. The interval is that of the
 * configuration, or the mean time between samples where that is longer.
 */
bool remote_meter_fresh(const struct remote_meter *meter, int64_t now_ns);

/*
 * A lower bound of the longest time between two samples: the maximum of interval_s, longest_s and,
 * for a silent meter, the time since its last one.
 */
double remote_meter_sampling_s(const struct remote_meter *meter, int64_t now_ns);

/* The index of the first sample at or after t_ns; the number of samples: there is none. O(log). */
guint remote_meter_first_from(const struct remote_meter *meter, int64_t t_ns);

/* The counter at `t_ns` in microjoules; 0 without samples. */
double remote_meter_counter_uj(const struct remote_meter *meter, int64_t t_ns);

/*
 * Mean watts between the first sample at or after `from_ns` and the last at or before `to_ns`.
 * Returns false if fewer than two samples lie there.
 */
bool remote_meter_mean_w(const struct remote_meter *meter, int64_t from_ns, int64_t to_ns,
			 double *ret_w);

/*
 * Seconds of [from_ns, to_ns] that no samples cover: times before samples flagged as gaps, and the
 * time after the last sample if that is older than three intervals.
 */
double remote_meter_gap_s(const struct remote_meter *meter, int64_t from_ns, int64_t to_ns);

/*
 * Sets the run's start to `t_ns`, now or (after a restart of the controller) in the past, and the
 * idle watts to subtract. The counter at the start is interpolated from the samples around it, once
 * there is one after it.
 */
void remote_meter_start(struct remote_meter *meter, int64_t t_ns, double idle_w);

/* The counter at the start of the run, microjoules. */
double remote_meter_start_uj(const struct remote_meter *meter);

/* Joules above idle since the start, at `t_ns`; 0 before remote_meter_start(). May be negative. */
double remote_meter_dynamic_j(const struct remote_meter *meter, int64_t t_ns);

/* Dynamic joules of a set of meters at `t_ns`: the run's energy. */
double remote_meters_dynamic_j(GPtrArray *meters, int64_t t_ns);

/*
 * Up to when samples cover the set: the earliest of the last samples of the meters that are fresh
 * at `now_ns`; `now_ns` if none is fresh (energy then rises by the last watts).
 */
int64_t remote_meters_covered_ns(GPtrArray *meters, int64_t now_ns);

/*
 * Up to when samples of all meters cover the set, silent ones included: at most `now_ns`; 0: a
 * meter has none.
 */
int64_t remote_meters_known_ns(GPtrArray *meters, int64_t now_ns);

/* From when on the samples of every meter are kept; 0: no meter has samples. */
int64_t remote_meters_kept_ns(GPtrArray *meters);

/*
 * When the set's dynamic energy first reached `limit_j` in (from_ns, to_ns], to the microsecond.
 * Returns false if it had not by `to_ns`.
 */
bool remote_meters_crossing(GPtrArray *meters, double limit_j, int64_t from_ns, int64_t to_ns,
			    int64_t *ret_t_ns);

/*
 * A local scheduler's reports about the time between two samples of a host's meter
 * (docs/reference/api.md, "Usage"), and the tasks that they name.
 */

/*
 * Reads the answer to GET /v1/usage at `now_ns` of our clock. *ret_stream (borrowed from `body`)
 * names the numbering of its intervals, *ret_last is the highest number (0: none). An impossible
 * interval (for example, if it ends more than some seconds from now, or has more energy than any
 * host draws) is left out; *ret_wrong, owned by the caller, says why for the first such interval
 * (NULL: there is none). Returns GPtrArray of struct wire_usage, oldest first, owned by the
 * caller and valid as long as `body`, with times on our clock; or NULL with `error` (JSON_ERROR).
 */
GPtrArray *remote_usage_parse(const json_t *body, const struct remote_clock *clock, int64_t now_ns,
			      const char **ret_stream, int64_t *ret_last, GError **ret_wrong,
			      GError **error);

/*
 * Parses a task's id, EXPERIMENT-RUN-TASK-ATTEMPT. False if it belongs to another experiment or
 * run, or is no id that the controller makes (numbers with leading zeros), so that no two ids name
 * the same attempt. The name of an experiment may end in such numbers itself.
 */
bool remote_usage_task_of(const char *experiment, int64_t run, const char *id, uint32_t *ret_task,
			  uint32_t *ret_attempt);
