/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/replay/replay_report.h"

/*
 * Input shaking (Tsafrir, Ouaknine and Feitelson, "Reducing performance evaluation sensitivity and
 * variability by input shaking", MASCOTS 2007): a replay is repeated under small perturbations of
 * its input, and the means count, so that a difference which one coincidence of the trace makes
 * does not pass for one of the policies.
 */

/*
 * A copy of the trace in which every submission is moved by a time that is uniform in [-most_s,
 * most_s], but not before 0, and jobs are sorted again. The times depend on the seed, the trial and
 * the job's place in the trace alone, so that every policy meets the same jobs. The caller frees it
 * by swf_free().
 */
struct swf_trace *replay_shake(const struct swf_trace *trace, double most_s, uint64_t seed,
			       uint32_t trial);

/*
 * The means of the summaries of `count` > 0 trials; counts are rounded. *ret_deviations: the
 * standard deviations of the real numbers over the trials, 0 for one; its counts are 0.
 */
void replay_summary_means(const struct replay_summary *summaries, uint32_t count,
			  struct replay_summary *ret_means, struct replay_summary *ret_deviations);

/*
 * Adds the deviations to a summary's JSON object (replay_summary_json()), as "NAME_deviation"; null
 * where the mean is null.
 */
void replay_summary_add_deviations(json_t *object, const struct replay_summary *deviations);
