/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/replay/replay_report.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file_names.h"
#include "common/json.h"

/* Room for a row of the CSV file, bytes. */
#define ROW_MAX 640
#define BUFFER_SIZE (256u << 10)

/* The numbers of a job's row. */
struct numbers {
	double submit_s;
	double start_s;
	double run_s;
	double wait_s;
	double turnaround_s;
	double estimate_s;
	double energy_j; /* 0: not known */
	bool killed;
};

static struct numbers job_numbers(const struct replay_setup *setup,
				  const struct replay_result *result, uint32_t i)
{
	const struct swf_job *job = &setup->trace->jobs[i];
	const bool perfect = setup->estimates == REPLAY_ESTIMATES_PERFECT;
	struct numbers numbers = {
		.submit_s = result->submit_s[i],
		.start_s = result->start_s[i],
		.run_s = job->run_s,
		.wait_s = result->start_s[i] - result->submit_s[i],
		.estimate_s = perfect ? job->run_s : job->estimate_s,
	};

	if (!setup->overrun && numbers.run_s > numbers.estimate_s) {
		numbers.run_s = numbers.estimate_s;
		numbers.killed = true;
	}
	numbers.turnaround_s = numbers.wait_s + numbers.run_s;
	numbers.energy_j = job->power_w * numbers.run_s;
	return numbers;
}

static double bounded_slowdown(const struct numbers *numbers, double threshold_s)
{
	return fmax(1, numbers->turnaround_s / fmax(numbers->run_s, threshold_s));
}

static void add_job(struct replay_summary *summary, const struct numbers *numbers)
{
	const double slowdown = numbers->turnaround_s / numbers->run_s;

	summary->mean_waiting_time_s += numbers->wait_s;
	summary->max_waiting_time_s = fmax(summary->max_waiting_time_s, numbers->wait_s);
	summary->mean_turnaround_time_s += numbers->turnaround_s;
	summary->max_turnaround_time_s =
		fmax(summary->max_turnaround_time_s, numbers->turnaround_s);
	summary->mean_slowdown += slowdown;
	summary->max_slowdown = fmax(summary->max_slowdown, slowdown);
	summary->mean_bounded_slowdown_10 += bounded_slowdown(numbers, 10);
	summary->mean_bounded_slowdown_30 += bounded_slowdown(numbers, 30);
}

/* A change of the power of all executing jobs. */
struct change {
	double time_s;
	double power_w; /* added; below 0 where a job ends */
};

/* Ends come before starts at one instant. */
static int compare_changes(const void *left, const void *right)
{
	const struct change *a = left;
	const struct change *b = right;

	if (a->time_s != b->time_s)
		return a->time_s < b->time_s ? -1 : 1;
	return (a->power_w > b->power_w) - (a->power_w < b->power_w);
}

/* The starts and ends of jobs in the order of time, two a job. The caller frees. */
static struct change *sort_changes(const struct replay_setup *setup,
				   const struct replay_result *result, size_t *ret_count)
{
	struct change *changes = g_new(struct change, 2 * (size_t)result->jobs_count + 1);

	*ret_count = 2 * (size_t)result->jobs_count;
	for (size_t i = 0; i < result->jobs_count; i++) {
		const double power_w = setup->trace->jobs[i].power_w;

		changes[2 * i] = (struct change){result->start_s[i], power_w};
		changes[2 * i + 1] = (struct change){result->end_s[i], -power_w};
	}
	qsort(changes, *ret_count, sizeof(*changes), compare_changes);
	return changes;
}

/* Follows the power of the executing jobs: its maximum, and when the energy limit is used up. */
static void follow_power(const struct replay_setup *setup, const struct replay_result *result,
			 struct replay_summary *summary)
{
	size_t count;
	g_autofree struct change *changes = sort_changes(setup, result, &count);
	double power_w = 0;
	double used_j = 0;
	double reached_s = (double)INFINITY;

	for (size_t i = 0; i < count; i++) {
		const double span_s = i > 0 ? changes[i].time_s - changes[i - 1].time_s : 0;
		const double left_j = setup->energy_limit_j - used_j;

		if (setup->energy_limit_j > 0 && isinf(reached_s) && power_w * span_s > left_j)
			reached_s = changes[i - 1].time_s + left_j / power_w;
		used_j += power_w * span_s;
		power_w = fmax(power_w + changes[i].power_w, 0);
		summary->max_power_w = fmax(summary->max_power_w, power_w);
	}
	for (uint32_t i = 0; i < result->jobs_count; i++)
		summary->within_limit += result->end_s[i] <= reached_s;
	summary->limit_reached_s = reached_s - result->begin_s;
	summary->mean_power_w =
		result->makespan_s > 0 ? summary->consumed_j / result->makespan_s : 0;
}

void replay_summarize(const struct replay_setup *setup, const struct replay_result *result,
		      struct replay_summary *ret_summary)
{
	const double count = result->jobs_count > 0 ? result->jobs_count : 1;
	struct replay_summary summary = {
		.nb_jobs = result->jobs_count + setup->trace->refused,
		.nb_jobs_finished = result->jobs_count,
		.nb_jobs_success = result->jobs_count - result->killed,
		.nb_jobs_killed = result->killed,
		.nb_jobs_rejected = setup->trace->refused,
		.nb_jobs_slipped = result->slipped,
		.skipped = setup->trace->skipped,
		.parts = setup->trace->parts,
		.partial = setup->trace->partial,
		.passes = result->passes,
		.makespan_s = result->makespan_s,
		.sessions = result->sessions,
		.followed = result->followed,
	};

	for (uint32_t i = 0; i < result->jobs_count; i++) {
		const struct numbers numbers = job_numbers(setup, result, i);

		add_job(&summary, &numbers);
		summary.consumed_j += numbers.energy_j;
		summary.without_power += !(setup->trace->jobs[i].power_w > 0);
		summary.nb_jobs_promised += isfinite(result->promised_s[i]);
		if (result->slip_s[i] > summary.max_slip_s) {
			summary.max_slip_s = result->slip_s[i];
			summary.max_slip_job = setup->trace->jobs[i].id;
		}
	}
	summary.mean_waiting_time_s /= count;
	summary.mean_turnaround_time_s /= count;
	summary.mean_slowdown /= count;
	summary.mean_bounded_slowdown_10 /= count;
	summary.mean_bounded_slowdown_30 /= count;
	if (result->makespan_s > 0)
		summary.utilization = result->used_s / (setup->procs * result->makespan_s);
	if (setup->trace->power_field > 0)
		follow_power(setup, result, &summary);
	*ret_summary = summary;
}

#define COUNT(name_, field_)                                                                       \
	{                                                                                          \
		.name = (name_), .type = RECORD_I64,                                               \
		.offset = offsetof(struct replay_summary, field_)                                  \
	}
#define REAL(name_, field_)                                                                        \
	{                                                                                          \
		.name = (name_), .type = RECORD_REAL,                                              \
		.offset = offsetof(struct replay_summary, field_)                                  \
	}

static const struct record_field summary_fields[] = {
	COUNT("nb_jobs", nb_jobs),
	COUNT("nb_jobs_finished", nb_jobs_finished),
	COUNT("nb_jobs_success", nb_jobs_success),
	COUNT("nb_jobs_killed", nb_jobs_killed),
	COUNT("nb_jobs_rejected", nb_jobs_rejected),
	COUNT("nb_jobs_skipped", skipped),
	COUNT("nb_parts_skipped", parts),
	COUNT("nb_jobs_partial", partial),
	COUNT("passes", passes),
	REAL("makespan", makespan_s),
	REAL("utilization", utilization),
	REAL("mean_waiting_time", mean_waiting_time_s),
	REAL("max_waiting_time", max_waiting_time_s),
	REAL("mean_turnaround_time", mean_turnaround_time_s),
	REAL("max_turnaround_time", max_turnaround_time_s),
	REAL("mean_slowdown", mean_slowdown),
	REAL("max_slowdown", max_slowdown),
	REAL("mean_bounded_slowdown_10", mean_bounded_slowdown_10),
	REAL("mean_bounded_slowdown_30", mean_bounded_slowdown_30),
	COUNT("nb_jobs_slipped", nb_jobs_slipped),
	REAL("max_slip", max_slip_s),
	COUNT("max_slip_job_id", max_slip_job),
	COUNT("nb_sessions", sessions),
	COUNT("nb_batches_followed", followed),
	REAL("consumed_joules", consumed_j),
	REAL("mean_power", mean_power_w),
	REAL("max_power", max_power_w),
	COUNT("nb_jobs_without_power", without_power),
	COUNT("nb_jobs_within_energy", within_limit),
	{.name = "energy_limit_reached",
	 .type = RECORD_REAL,
	 .offset = offsetof(struct replay_summary, limit_reached_s),
	 .null = RECORD_NULL_INFINITY},
	{NULL},
};
const struct record replay_summary_record = {.size = sizeof(struct replay_summary),
					     .fields = summary_fields};

json_t *replay_summary_json(const struct replay_setup *setup, const struct replay_summary *summary)
{
	static const char *const of_power[] = {
		"consumed_joules",
		"mean_power",
		"max_power",
		"nb_jobs_without_power",
	};
	g_autoptr(json_t) numbers = record_to_json(&replay_summary_record, summary);
	json_t *object =
		json_pack("{s:s, s:s, s:b, s:b, s:b, s:b, s:b, s:I}", "policy",
			  replay_policy_name(setup->policy), "estimates",
			  setup->estimates == REPLAY_ESTIMATES_PERFECT ? "perfect" : "user",
			  "overrun", setup->overrun, "keep_reservations", setup->keep, "rebuild",
			  setup->rebuild, "rlscheduler", setup->rlscheduler, "semi_open",
			  setup->semi_open, "nb_computing_machines", (json_int_t)setup->procs);

	json_object_update(object, numbers);
	if (summary->nb_jobs_promised == 0) {
		json_object_set_new(object, "nb_jobs_slipped", json_null());
		json_object_set_new(object, "max_slip", json_null());
	}
	if (!setup->semi_open) {
		json_object_set_new(object, "nb_sessions", json_null());
		json_object_set_new(object, "nb_batches_followed", json_null());
	}
	for (size_t i = 0; setup->trace->power_field == 0 && i < G_N_ELEMENTS(of_power); i++)
		json_object_set_new(object, of_power[i], json_null());
	if (!(setup->energy_limit_j > 0)) {
		json_object_set_new(object, "nb_jobs_within_energy", json_null());
		json_object_set_new(object, "energy_limit_reached", json_null());
	}
	if (summary->nb_jobs_slipped == 0)
		json_object_set_new(object, "max_slip_job_id", json_null());
	return object;
}

/* Writes an integer. printf() would take most of the time of a whole replay. */
static char *write_integer(char *at, uint64_t value)
{
	char digits[20];
	int count = 0;

	do
		digits[count++] = (char)('0' + value % 10);
	while (value /= 10);
	while (count > 0)
		*at++ = digits[--count];
	return at;
}

static char *put_signed(char *at, int64_t value)
{
	if (value < 0)
		*at++ = '-';
	return write_integer(at, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

/* Writes a time exactly. */
static char *write_time(char *at, double value)
{
	if (value == floor(value) && value >= 0 && value < 1e15)
		return write_integer(at, (uint64_t)value);
	g_ascii_dtostr(at, G_ASCII_DTOSTR_BUF_SIZE, value);
	return at + strlen(at);
}

/* Writes a ratio >= 0, rounded to 6 decimals. */
static char *write_ratio(char *at, double value)
{
	uint64_t fraction;

	if (!(value < 1e12)) {
		g_ascii_dtostr(at, G_ASCII_DTOSTR_BUF_SIZE, value);
		return at + strlen(at);
	}
	fraction = (uint64_t)llround(value * 1e6);
	at = write_integer(at, fraction / 1000000);
	fraction %= 1000000;
	*at++ = '.';
	for (int i = 5; i >= 0; i--, fraction /= 10)
		at[i] = (char)('0' + fraction % 10);
	return at + 6;
}

static char *put_text(char *at, const char *text)
{
	const size_t length = strlen(text);

	memcpy(at, text, length);
	return at + length;
}

static const char heading[] =
	"job_id,submission_time,requested_number_of_resources,requested_time,success,final_state,"
	"starting_time,execution_time,finish_time,waiting_time,turnaround_time,stretch,"
	"bounded_slowdown_10,bounded_slowdown_30,promised_time,slip,consumed_energy\n";

static char *put_job(char *at, const struct replay_setup *setup, const struct replay_result *result,
		     uint32_t i)
{
	const struct swf_job *job = &setup->trace->jobs[i];
	const struct numbers numbers = job_numbers(setup, result, i);
	const double times_s[] = {numbers.start_s, numbers.run_s, result->end_s[i], numbers.wait_s,
				  numbers.turnaround_s};
	const double ratios[] = {numbers.turnaround_s / numbers.run_s,
				 bounded_slowdown(&numbers, 10), bounded_slowdown(&numbers, 30)};

	at = put_signed(at, job->id);
	*at++ = ',';
	at = write_time(at, numbers.submit_s);
	*at++ = ',';
	at = write_integer(at, job->procs);
	*at++ = ',';
	at = write_time(at, numbers.estimate_s);
	at = put_text(at, numbers.killed ? ",0,COMPLETED_WALLTIME_REACHED"
					 : ",1,COMPLETED_SUCCESSFULLY");
	for (size_t t = 0; t < G_N_ELEMENTS(times_s); t++) {
		*at++ = ',';
		at = write_time(at, times_s[t]);
	}
	for (size_t r = 0; r < G_N_ELEMENTS(ratios); r++) {
		*at++ = ',';
		at = write_ratio(at, ratios[r]);
	}
	*at++ = ',';
	if (isfinite(result->promised_s[i]))
		at = write_time(at, result->promised_s[i]);
	*at++ = ',';
	if (isfinite(result->promised_s[i]))
		at = write_time(at, result->slip_s[i]);
	*at++ = ',';
	if (job->power_w > 0)
		at = write_time(at, numbers.energy_j);
	*at++ = '\n';
	return at;
}

/* Closes a file, and sets the error if that or what was done before (`good`) failed. */
static bool close_file(int fd, bool good, const char *path, GError **error)
{
	int code = errno;

	if (fd >= 0 && close(fd) < 0 && good) {
		code = errno;
		good = false;
	}
	if (!good)
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code),
			    "%s: cannot be written: %s", path, g_strerror(code));
	return good;
}

static int open_file(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

bool replay_write_csv(const struct replay_setup *setup, const struct replay_result *result,
		      const char *path, GError **error)
{
	const int fd = open_file(path);
	g_autofree char *buffer = g_malloc(BUFFER_SIZE);
	char *at = put_text(buffer, heading);
	bool good = fd >= 0;

	for (uint32_t i = 0; good && i < result->jobs_count; i++) {
		at = put_job(at, setup, result, i);
		if (at + ROW_MAX <= buffer + BUFFER_SIZE)
			continue;
		good = file_write_all(fd, buffer, (size_t)(at - buffer));
		at = buffer;
	}
	good = good && file_write_all(fd, buffer, (size_t)(at - buffer));
	return close_file(fd, good, path, error);
}

bool replay_write_left_out(const struct swf_trace *trace, const char *path, GError **error)
{
	const int fd = open_file(path);
	g_autoptr(GString) rows = g_string_new("line,job_id,reason\n");
	bool good = fd >= 0;

	for (uint32_t i = 0; i < trace->left_out_count; i++)
		g_string_append_printf(rows, "%" G_GUINT64_FORMAT ",%" G_GINT64_FORMAT ",\"%s\"\n",
				       trace->left_out[i].line, trace->left_out[i].id,
				       swf_reason_texts[trace->left_out[i].reason]);
	good = good && file_write_all(fd, rows->str, rows->len);
	return close_file(fd, good, path, error);
}
