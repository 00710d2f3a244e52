/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/backend/remote_meter.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "common/read_number.h"

/*
 * So many samples are kept, and those of so many seconds: longer than any baseline, or interruption
 * that is bridged.
 */
#define SAMPLES_KEPT 4096
#define KEPT_S 3900.0

/* docs/reference/api.md: a gap is longer than three sampling intervals. */
#define GAP_INTERVALS 3.0

/* How much the last sample counts in the mean of how far samples are apart. */
#define APART_WEIGHT 0.125

struct remote_meter *remote_meter_new(const char *host, double interval_s)
{
	struct remote_meter *meter = g_new0(struct remote_meter, 1);

	meter->host = g_strdup(host);
	meter->interval_s = interval_s;
	meter->apart_s = interval_s;
	meter->kept = MAX(SAMPLES_KEPT, (guint)ceil(KEPT_S / interval_s));
	meter->samples = g_array_new(FALSE, FALSE, sizeof(struct wire_sample));
	return meter;
}

void remote_meter_free(struct remote_meter *meter)
{
	if (!meter)
		return;
	g_array_unref(meter->samples);
	g_free(meter->host);
	g_free(meter);
}

static const struct wire_sample *sample_at(const struct remote_meter *meter, guint i)
{
	return &g_array_index(meter->samples, struct wire_sample, i);
}

const struct wire_sample *remote_meter_last(const struct remote_meter *meter)
{
	return meter->samples->len ? sample_at(meter, meter->samples->len - 1) : NULL;
}

bool remote_meter_fresh(const struct remote_meter *meter, int64_t now_ns)
{
	const struct wire_sample *last = remote_meter_last(meter);

	return last && (double)(now_ns - last->t_ns) * 1e-9 <=
			       GAP_INTERVALS * MAX(meter->interval_s, meter->apart_s);
}

double remote_meter_sampling_s(const struct remote_meter *meter, int64_t now_ns)
{
	const struct wire_sample *last = remote_meter_last(meter);
	double longest_s = MAX(meter->interval_s, meter->longest_s);

	if (last && !remote_meter_fresh(meter, now_ns))
		longest_s = MAX(longest_s, (double)(now_ns - last->t_ns) * 1e-9);
	return longest_s;
}

void remote_meter_note_silence(struct remote_meter *meter, int64_t now_ns)
{
	meter->longest_s = MAX(meter->longest_s, remote_meter_sampling_s(meter, now_ns));
}

guint remote_meter_first_from(const struct remote_meter *meter, int64_t t_ns)
{
	guint low = 0;
	guint high = meter->samples->len;

	while (low < high) {
		guint middle = low + (high - low) / 2;

		if (sample_at(meter, middle)->t_ns < t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Extrapolates from a sample. mW x ns = 1e-12 J = 1e-6 uJ. */
static double held_uj(const struct wire_sample *sample, int64_t t_ns)
{
	return (double)sample->energy_uj +
	       (double)sample->mw * (double)(t_ns - sample->t_ns) * 1e-6;
}

double remote_meter_counter_uj(const struct remote_meter *meter, int64_t t_ns)
{
	guint i = remote_meter_first_from(meter, t_ns);
	const struct wire_sample *before;
	const struct wire_sample *after;

	if (!meter->samples->len)
		return 0;
	if (i == meter->samples->len)
		return held_uj(sample_at(meter, i - 1), t_ns);
	if (i == 0)
		return held_uj(sample_at(meter, 0), t_ns);
	before = sample_at(meter, i - 1);
	after = sample_at(meter, i);
	return (double)before->energy_uj +
	       (double)(after->energy_uj - before->energy_uj) *
		       ((double)(t_ns - before->t_ns) / (double)(after->t_ns - before->t_ns));
}

/* Keeps the counter at the start, since the oldest samples are discarded in long runs. */
static void fix_start(struct remote_meter *meter)
{
	const struct wire_sample *last = remote_meter_last(meter);

	if (!meter->start_ns || meter->start_known || !last || last->t_ns < meter->start_ns)
		return;
	meter->start_uj = remote_meter_counter_uj(meter, meter->start_ns);
	meter->start_known = true;
}

/*
 * The rule for gaps (docs/reference/api.md): the larger of the watts at both ends, over the whole
 * gap.
 */
static int64_t gap_end_uj(const struct wire_sample *last, const struct wire_sample *sample)
{
	struct wire_sample larger = *last;

	larger.mw = MAX(last->mw, sample->mw);
	return (int64_t)held_uj(&larger, sample->t_ns);
}

void remote_meter_rebase(struct remote_meter *meter)
{
	meter->rebase = true;
}

bool remote_meter_add(struct remote_meter *meter, const struct wire_sample *sample)
{
	const struct wire_sample *last = remote_meter_last(meter);
	struct wire_sample shifted = *sample;
	double between_s;

	if (last && sample->t_ns <= last->t_ns)
		return false;
	if (meter->rebase) {
		meter->shift_uj = last ? gap_end_uj(last, sample) - sample->energy_uj : 0;
		meter->rebase = false;
		shifted.gap = true;
	}
	shifted.energy_uj += meter->shift_uj;
	if (last && shifted.energy_uj < last->energy_uj)
		return false;
	if (meter->samples->len >= 2 * meter->kept)
		g_array_remove_range(meter->samples, 0, meter->kept);
	between_s = last ? (double)(shifted.t_ns - last->t_ns) * 1e-9 : 0;
	meter->longest_s = MAX(meter->longest_s, between_s);
	if (shifted.gap)
		meter->gap_s += between_s;
	else if (last)
		meter->apart_s += (between_s - meter->apart_s) * APART_WEIGHT;
	meter->max_mw = MAX(meter->max_mw, shifted.mw);
	g_array_append_val(meter->samples, shifted);
	fix_start(meter);
	return true;
}

bool remote_meter_mean_w(const struct remote_meter *meter, int64_t from_ns, int64_t to_ns,
			 double *ret_w)
{
	guint first = remote_meter_first_from(meter, from_ns);
	guint end = remote_meter_first_from(meter, to_ns + 1);
	const struct wire_sample *a;
	const struct wire_sample *b;

	if (end < first + 2)
		return false;
	a = sample_at(meter, first);
	b = sample_at(meter, end - 1);
	*ret_w = (double)(b->energy_uj - a->energy_uj) * 1e3 / (double)(b->t_ns - a->t_ns);
	return true;
}

static double overlap_s(int64_t a_ns, int64_t b_ns, int64_t from_ns, int64_t to_ns)
{
	int64_t start_ns = MAX(a_ns, from_ns);
	int64_t end_ns = MIN(b_ns, to_ns);

	return end_ns > start_ns ? (double)(end_ns - start_ns) * 1e-9 : 0;
}

double remote_meter_gap_s(const struct remote_meter *meter, int64_t from_ns, int64_t to_ns)
{
	const struct wire_sample *last = remote_meter_last(meter);
	double sum_s = 0;

	if (!last)
		return overlap_s(from_ns, to_ns, from_ns, to_ns);
	for (guint i = 1; i < meter->samples->len; i++)
		if (sample_at(meter, i)->gap)
			sum_s += overlap_s(sample_at(meter, i - 1)->t_ns, sample_at(meter, i)->t_ns,
					   from_ns, to_ns);
	if (!remote_meter_fresh(meter, to_ns))
		sum_s += overlap_s(last->t_ns, to_ns, from_ns, to_ns);
	return sum_s;
}

void remote_meter_start(struct remote_meter *meter, int64_t t_ns, double idle_w)
{
	meter->start_ns = t_ns;
	meter->start_known = false;
	meter->idle_w = idle_w;
	fix_start(meter);
}

double remote_meter_start_uj(const struct remote_meter *meter)
{
	return meter->start_known ? meter->start_uj
				  : remote_meter_counter_uj(meter, meter->start_ns);
}

double remote_meter_dynamic_j(const struct remote_meter *meter, int64_t t_ns)
{
	double total_j;

	if (!meter->start_ns || !meter->samples->len)
		return 0;
	total_j = (remote_meter_counter_uj(meter, t_ns) - remote_meter_start_uj(meter)) * 1e-6;
	return total_j - meter->idle_w * (double)(t_ns - meter->start_ns) * 1e-9;
}

double remote_meters_dynamic_j(GPtrArray *meters, int64_t t_ns)
{
	double sum_j = 0;

	for (guint i = 0; i < meters->len; i++)
		sum_j += remote_meter_dynamic_j(g_ptr_array_index(meters, i), t_ns);
	return sum_j;
}

int64_t remote_meters_covered_ns(GPtrArray *meters, int64_t now_ns)
{
	int64_t covered_ns = now_ns;

	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);

		if (remote_meter_fresh(meter, now_ns))
			covered_ns = MIN(covered_ns, remote_meter_last(meter)->t_ns);
	}
	return covered_ns;
}

int64_t remote_meters_known_ns(GPtrArray *meters, int64_t now_ns)
{
	int64_t known_ns = now_ns;

	for (guint i = 0; i < meters->len; i++) {
		const struct wire_sample *last = remote_meter_last(g_ptr_array_index(meters, i));

		known_ns = MIN(known_ns, last ? last->t_ns : 0);
	}
	return known_ns;
}

int64_t remote_meters_kept_ns(GPtrArray *meters)
{
	int64_t kept_ns = 0;

	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);

		if (meter->samples->len)
			kept_ns = MAX(kept_ns, sample_at(meter, 0)->t_ns);
	}
	return kept_ns;
}

bool remote_meters_crossing(GPtrArray *meters, double limit_j, int64_t from_ns, int64_t to_ns,
			    int64_t *ret_t_ns)
{
	int64_t low = from_ns;
	int64_t high = to_ns;

	if (to_ns <= from_ns || remote_meters_dynamic_j(meters, to_ns) < limit_j)
		return false;
	while (high - low > 1000) {
		int64_t middle = low + (high - low) / 2;

		if (remote_meters_dynamic_j(meters, middle) < limit_j)
			low = middle;
		else
			high = middle;
	}
	*ret_t_ns = high;
	return true;
}

/* The time between two samples. */

#define WHAT "usage of the local scheduler"

/* docs/reference/api.md: the maximum power of a sample */
#define MW_MAX INT32_MAX

/* Converts the times to our clock: not in the future, and so small that sums do not overflow. */
static bool convert_times(struct wire_usage *usage, const struct remote_clock *clock,
			  int64_t now_ns, GError **error)
{
	usage->length_ns = usage->to_ns - usage->from_ns;
	usage->from_ns = remote_clock_ours_ns(clock, usage->from_ns);
	usage->to_ns = remote_clock_ours_ns(clock, usage->to_ns);
	if (usage->from_ns > -WIRE_CLOCK_MAX_NS &&
	    usage->to_ns <= now_ns + REMOTE_CLOCK_AHEAD_MAX_NS)
		return true;
	return error_fail(error, JSON_ERROR, JSON_ERROR_KEY,
			  WHAT ": interval %" PRId64 " ends %.0f s from now", usage->seq,
			  ((double)usage->to_ns - (double)now_ns) * 1e-9);
}

/* mW x ns = 1e-6 uJ; 1 for rounding. */
static bool check_energy(const struct wire_usage *usage, GError **error)
{
	const int64_t uj = usage->to_uj - usage->from_uj;

	if ((double)uj <= MW_MAX * (double)usage->length_ns * 1e-6 + 1)
		return true;
	return error_fail(error, JSON_ERROR, JSON_ERROR_KEY,
			  WHAT ": interval %" PRId64 ": %.0f J in %.3f s is more than a host can "
			       "draw",
			  usage->seq, (double)uj * 1e-6, (double)usage->length_ns * 1e-9);
}

static bool read_one(struct wire_usage *usage, const json_t *object,
		     const struct remote_clock *clock, int64_t now_ns, GError **error)
{
	return record_from_json(&wire_usage_record, object, usage, error) &&
	       convert_times(usage, clock, now_ns, error) && check_energy(usage, error);
}

/* Skips a malformed interval, if it has a number; the first one is reported. */
static bool skip_interval(const json_t *object, int64_t *last, GError **ret_wrong, GError *why)
{
	int64_t seq;

	if (!json_get_integer(object, "seq", WHAT, 1, WIRE_SEQ_MAX, &seq, NULL))
		return false;
	*last = MAX(*last, seq);
	if (*ret_wrong)
		g_error_free(why);
	else
		*ret_wrong = why;
	return true;
}

GPtrArray *remote_usage_parse(const json_t *body, const struct remote_clock *clock, int64_t now_ns,
			      const char **ret_stream, int64_t *ret_last, GError **ret_wrong,
			      GError **error)
{
	g_autoptr(GPtrArray) list = record_list_new(&wire_usage_record);
	g_autoptr(GError) wrong = NULL;
	int64_t last = 0;
	json_t *intervals;

	if (!json_get_string(body, "stream", WHAT, ret_stream, error) ||
	    !json_get_array(body, "intervals", WHAT, &intervals, error))
		return NULL;
	for (size_t i = 0; i < json_array_size(intervals); i++) {
		const json_t *object = json_array_get(intervals, i);
		struct wire_usage *usage = record_new(&wire_usage_record);
		GError *why = NULL;

		if (read_one(usage, object, clock, now_ns, &why)) {
			last = MAX(last, usage->seq);
			g_ptr_array_add(list, usage);
			continue;
		}
		wire_usage_free(usage);
		if (!skip_interval(object, &last, &wrong, why)) {
			g_propagate_error(error, why);
			return NULL;
		}
	}
	*ret_last = last;
	*ret_wrong = g_steal_pointer(&wrong);
	return g_steal_pointer(&list);
}

/*
 * Digits only, as they are printed: no sign, space or leading zero, so that a task has only one id.
 */
static bool read_part(const char **text, uint32_t *ret_number)
{
	uint64_t number;
	const char *end = read_number_front_unsigned(*text, &number);
	const bool good = end && number <= UINT32_MAX && (**text != '0' || end == *text + 1);

	if (good) {
		*text = end;
		*ret_number = (uint32_t)number;
	}
	return good;
}

bool remote_usage_task_of(const char *experiment, int64_t run, const char *id, uint32_t *ret_task,
			  uint32_t *ret_attempt)
{
	g_autofree char *prefix = g_strdup_printf("%s-%" PRId64 "-", experiment, run);

	if (!g_str_has_prefix(id, prefix))
		return false;
	id += strlen(prefix);
	return read_part(&id, ret_task) && *id++ == '-' && read_part(&id, ret_attempt) && !*id;
}
