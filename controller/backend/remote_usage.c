/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/backend/remote_usage.h"

#include <inttypes.h>
#include <string.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "common/read_number.h"

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
