/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "controller/replay/swf.h"

/*
 * When the jobs of a trace are submitted.
 *
 * Open: at the times of the trace, however the system does.
 *
 * Semi-open (Zakay and Feitelson, "Semi-open trace based simulation for reliable evaluation of job
 * throughput and user productivity", CloudCom 2015; the structure of a user's work as in their
 * "Preserving user behavior characteristics in trace-based simulation of parallel job scheduling",
 * MASCOTS 2014): sessions begin at the times of the trace, and within a session a user reacts. By
 * the times in the trace, a job belongs to the batch of its user's job before it if it was
 * submitted before all of that batch had ended. Otherwise it begins a batch, and the time since the
 * end of the former is the think time. A batch after a think time of at most `think_most_s` belongs
 * to the same session: it is submitted that think time after the last job of the former batch has
 * ended in the replay. After a longer one a session begins. The jobs of a batch keep their
 * distances.
 *
 * A job without a user is a session of its own. A wait that the trace does not have counts as 0.
 */
struct replay_arrivals;

/* Open arrivals of a trace, which is borrowed. */
struct replay_arrivals *replay_arrivals_open(const struct swf_trace *trace);

/* Semi-open arrivals of a trace, which is borrowed; `think_most_s` >= 0. */
struct replay_arrivals *replay_arrivals_semi_open(const struct swf_trace *trace,
						  double think_most_s);

/* NULL is allowed. */
void replay_arrivals_free(struct replay_arrivals *arrivals);

/* Sessions, and batches that follow another one; of open arrivals as many as jobs, and 0. */
uint32_t replay_arrivals_sessions(const struct replay_arrivals *arrivals);
uint32_t replay_arrivals_followers(const struct replay_arrivals *arrivals);

/* When the next job is submitted, as far as known; INFINITY: none is. */
double replay_arrivals_next_s(const struct replay_arrivals *arrivals);

/* Takes the next job; there is one. Of jobs at one instant the first of the trace. */
uint32_t replay_arrivals_take(struct replay_arrivals *arrivals);

/* A job has ended: what its user submits next may be known now. */
void replay_arrivals_ended(struct replay_arrivals *arrivals, uint32_t job, double now_s);
