/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/replay/replay_trials.h"

#include <math.h>
#include <string.h>

#include "common/random.h"

struct swf_trace *replay_shake(const struct swf_trace *trace, double most_s, uint64_t seed,
			       uint32_t trial)
{
	struct swf_trace *shaken = g_memdup2(trace, sizeof(*trace));
	struct random_stream random;

	random_stream_init(&random, seed, trial);
	shaken->jobs = g_memdup2(trace->jobs, trace->jobs_count * sizeof(*trace->jobs));
	shaken->left_out = NULL;
	shaken->left_out_count = 0;
	for (uint32_t i = 0; i < trace->jobs_count; i++) {
		const double shift_s = most_s * (2 * random_stream_uniform(&random) - 1);

		shaken->jobs[i].submit_s = fmax(0, shaken->jobs[i].submit_s + shift_s);
	}
	swf_sort(shaken);
	shaken->unsorted = trace->unsorted;
	return shaken;
}

/* The field of a summary. */
static void *field_of(const struct record_field *field, const struct replay_summary *summary)
{
	return (char *)summary + field->offset;
}

/* Mean and standard deviation of a field over the summaries. */
static void find_mean(const struct record_field *field, const struct replay_summary *summaries,
		      uint32_t count, double *ret_mean, double *ret_deviation)
{
	double sum = 0;
	double squares = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += field->type == RECORD_REAL
			       ? *(const double *)field_of(field, &summaries[i])
			       : (double)*(const int64_t *)field_of(field, &summaries[i]);
	*ret_mean = sum / count;
	for (uint32_t i = 0; i < count && field->type == RECORD_REAL; i++) {
		const double off = *(const double *)field_of(field, &summaries[i]) - *ret_mean;

		squares += off * off;
	}
	*ret_deviation = count > 1 ? sqrt(squares / (count - 1)) : 0;
}

void replay_summary_means(const struct replay_summary *summaries, uint32_t count,
			  struct replay_summary *ret_means, struct replay_summary *ret_deviations)
{
	struct replay_summary means = summaries[0];
	struct replay_summary deviations = {0};

	for (const struct record_field *field = replay_summary_record.fields; field->name;
	     field++) {
		double mean;
		double deviation;

		find_mean(field, summaries, count, &mean, &deviation);
		if (field->type == RECORD_REAL) {
			*(double *)field_of(field, &means) = mean;
			*(double *)field_of(field, &deviations) = deviation;
		} else if (strcmp(field->name, "max_slip_job_id") != 0) {
			*(int64_t *)field_of(field, &means) = llround(mean);
		}
	}
	*ret_means = means;
	*ret_deviations = deviations;
}

void replay_summary_add_deviations(json_t *object, const struct replay_summary *deviations)
{
	for (const struct record_field *field = replay_summary_record.fields; field->name;
	     field++) {
		g_autofree char *name = g_strconcat(field->name, "_deviation", NULL);
		const bool is_known = !json_is_null(json_object_get(object, field->name));

		if (field->type == RECORD_REAL)
			json_object_set_new(
				object, name,
				is_known ? json_real(*(const double *)field_of(field, deviations))
					 : json_null());
	}
}
