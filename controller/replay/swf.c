/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/replay/swf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "controller/replay/swf_input.h"

G_DEFINE_QUARK(swf-error-quark, swf_error)

/* Fields of a line, counted from 0. */
enum field {
	FIELD_ID = 0,
	FIELD_SUBMIT = 1,
	FIELD_RUN = 3,
	FIELD_USED_PROCS = 4,
	FIELD_USED_MEMORY = 6,
	FIELD_ASKED_PROCS = 7,
	FIELD_ASKED_TIME = 8,
	FIELD_ASKED_MEMORY = 9,
	FIELDS = 18,
};

/* Bytes of a field that a message quotes. */
#define QUOTE_MAX 20

/* Integers up to here are exact in a double; and times may be added without end. */
#define EXACT_MAX 9007199254740992.0

/* A trace being read. */
struct reader {
	const char *path;
	const struct swf_filter *filter;
	struct swf_trace *trace;
	uint64_t line; /* number, from 1 */
	double last_submit_s;
	GArray *jobs;
	GError **error;
};

G_GNUC_PRINTF(3, 4)
static bool refuse(const struct reader *reader, int code, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	if (code == SWF_ERROR_LINE)
		g_set_error(reader->error, SWF_ERROR, code, "%s:%" G_GUINT64_FORMAT ": %s",
			    reader->path, reader->line, text);
	else
		g_set_error(reader->error, SWF_ERROR, code, "%s: %s", reader->path, text);
	return false;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/*
 * Reads the number at *text and moves behind it. Most are short integers, which need no call of
 * strtod(). Returns false for anything else.
 */
static bool read_number(const char **text, double *ret_value)
{
	const char *at = *text;
	const bool negative = *at == '-';
	const char *digits = at += negative;
	int64_t value = 0;
	char *end;

	for (; *at >= '0' && *at <= '9' && at - digits < 15; at++)
		value = 10 * value + (*at - '0');
	if (at > digits && (is_blank(*at) || *at == '\0')) {
		*ret_value = (double)(negative ? -value : value);
		*text = at;
		return true;
	}
	if (at == digits && *at != '.')
		return false;
	*ret_value = g_ascii_strtod(*text, &end);
	if (end == *text || !(is_blank(*end) || *end == '\0') || !isfinite(*ret_value))
		return false;
	*text = end;
	return true;
}

static bool read_fields(const struct reader *reader, const char *line, double *ret_fields)
{
	const char *at = line;
	uint32_t count = 0;

	for (;;) {
		while (is_blank(*at))
			at++;
		if (*at == '\0')
			break;
		if (count == FIELDS)
			return refuse(reader, SWF_ERROR_LINE, "more than %d fields", FIELDS);
		if (!read_number(&at, &ret_fields[count]))
			return refuse(reader, SWF_ERROR_LINE, "field %u, \"%.*s\", is no number",
				      count + 1, (int)MIN(strcspn(at, " \t\r"), QUOTE_MAX), at);
		count++;
	}
	if (count < FIELDS)
		return refuse(reader, SWF_ERROR_LINE, "%u fields; a job has %d", count, FIELDS);
	return true;
}

/* A count of processors: a whole number. Not positive: 0. */
static bool read_procs(const struct reader *reader, const double *fields, double *ret_procs)
{
	const enum field field =
		fields[FIELD_ASKED_PROCS] > 0 ? FIELD_ASKED_PROCS : FIELD_USED_PROCS;

	*ret_procs = fmax(fields[field], 0);
	if (*ret_procs != floor(*ret_procs))
		return refuse(reader, SWF_ERROR_LINE, "field %d: %g is no number of processors",
			      field + 1, fields[field]);
	return true;
}

static bool check_times(const struct reader *reader, const double *fields)
{
	static const enum field times[] = { FIELD_SUBMIT, FIELD_RUN, FIELD_ASKED_TIME };

	if (fields[FIELD_SUBMIT] < 0)
		return refuse(reader, SWF_ERROR_LINE, "field 2: submitted at %g s, before 0",
			      fields[FIELD_SUBMIT]);
	for (size_t i = 0; i < G_N_ELEMENTS(times); i++)
		if (fields[times[i]] > EXACT_MAX)
			return refuse(reader, SWF_ERROR_LINE, "field %d: %g is no time in seconds",
				      times[i] + 1, fields[times[i]]);
	return true;
}

/*
 * The machine's size is needed before the first job can be judged; in the header it stands before
 * all jobs.
 */
static bool find_procs(const struct reader *reader)
{
	struct swf_trace *trace = reader->trace;
	const uint64_t header = trace->max_procs ? trace->max_procs : trace->max_nodes;

	trace->procs = reader->filter->procs;
	if (trace->procs > 0)
		return true;
	if (header == 0 || header > UINT32_MAX)
		return refuse(reader, SWF_ERROR_PROCS,
			      "the header does not say how many processors there are (MaxProcs); "
			      "give --procs");
	trace->procs = (uint32_t)header;
	return true;
}

static bool read_job(struct reader *reader, const char *line)
{
	struct swf_trace *trace = reader->trace;
	double fields[FIELDS];
	double procs;

	if (!read_fields(reader, line, fields) || !read_procs(reader, fields, &procs) ||
	    !check_times(reader, fields))
		return false;
	if (fabs(fields[FIELD_ID]) > EXACT_MAX || fields[FIELD_ID] != floor(fields[FIELD_ID]))
		return refuse(reader, SWF_ERROR_LINE, "field 1: %g is no job number",
			      fields[FIELD_ID]);
	if (trace->procs == 0 && !find_procs(reader))
		return false;
	trace->lines++;
	if (procs <= 0 || fields[FIELD_RUN] <= 0) {
		trace->skipped++;
		return true;
	}
	if (procs > trace->procs) {
		trace->refused++;
		return true;
	}
	if (reader->jobs->len >= INT32_MAX)
		return refuse(reader, SWF_ERROR_SIZE, "more than %d jobs", INT32_MAX);

	const struct swf_job job = {
		.id = (int64_t)fields[FIELD_ID],
		.submit_s = fields[FIELD_SUBMIT],
		.run_s = fields[FIELD_RUN],
		.estimate_s = fields[FIELD_ASKED_TIME] > 0 ? fields[FIELD_ASKED_TIME]
							   : fields[FIELD_RUN],
		.procs = (uint32_t)procs,
		.memory_kb =
			fmax(0, fmax(fields[FIELD_USED_MEMORY], fields[FIELD_ASKED_MEMORY])),
	};

	trace->unsorted += job.submit_s < reader->last_submit_s;
	reader->last_submit_s = job.submit_s;
	g_array_append_val(reader->jobs, job);
	return true;
}

/* "; Key: value" */
static void read_header(const struct reader *reader, const char *line)
{
	struct swf_trace *trace = reader->trace;
	const char *key = line + 1;
	const char *colon = strchr(line, ':');
	const struct {
		const char *key;
		uint64_t *value;
	} counts[] = {
		{ "MaxProcs:", &trace->max_procs },
		{ "MaxNodes:", &trace->max_nodes },
	};

	if (!colon)
		return;
	while (is_blank(*key) || *key == ';')
		key++;
	for (size_t i = 0; i < G_N_ELEMENTS(counts); i++)
		if (*counts[i].value == 0 && g_str_has_prefix(key, counts[i].key))
			*counts[i].value = (uint64_t)MAX(g_ascii_strtoll(colon + 1, NULL, 10), 0);
	if (g_str_has_prefix(key, "UnixStartTime:"))
		trace->unix_start_s = g_ascii_strtoll(colon + 1, NULL, 10);
}

static bool is_full(const struct reader *reader)
{
	return reader->filter->first > 0 && reader->jobs->len >= reader->filter->first;
}

static bool read_lines(struct reader *reader, struct swf_input *input)
{
	char *line;
	size_t length;
	int got;

	while (!is_full(reader) &&
	       (got = swf_input_line(input, &line, &length, reader->error)) != 0) {
		if (got < 0)
			return false;
		reader->line++;
		while (is_blank(*line)) {
			line++;
			length--;
		}
		if (strlen(line) != length)
			return refuse(reader, SWF_ERROR_LINE, "a zero byte; this is not a trace");
		if (*line == ';')
			read_header(reader, line);
		else if (*line != '\0' && !read_job(reader, line))
			return false;
	}
	return reader->trace->procs > 0 || find_procs(reader);
}

/* By submit time; g_qsort_with_data() keeps the order of equal ones. */
static int compare_jobs(gconstpointer left, gconstpointer right, gpointer data)
{
	const struct swf_job *a = left;
	const struct swf_job *b = right;

	return (a->submit_s > b->submit_s) - (a->submit_s < b->submit_s);
}

struct swf_trace *swf_read(const char *path, const struct swf_filter *filter, GError **error)
{
	g_autoptr(swf_trace_t) trace = g_new0(struct swf_trace, 1);
	struct swf_input *input = swf_input_open(path, error);
	struct reader reader = {
		.path = path,
		.filter = filter,
		.trace = trace,
		.last_submit_s = -INFINITY,
		.jobs = g_array_new(FALSE, FALSE, sizeof(struct swf_job)),
		.error = error,
	};
	const bool good = input && read_lines(&reader, input);

	swf_input_close(input);
	trace->jobs_count = reader.jobs->len;
	trace->jobs = (struct swf_job *)(void *)g_array_free(reader.jobs, FALSE);
	if (!good)
		return NULL;
	if (trace->unsorted > 0)
		g_qsort_with_data(trace->jobs, (gint)trace->jobs_count, sizeof(*trace->jobs),
				  compare_jobs, NULL);
	return g_steal_pointer(&trace);
}

void swf_free(struct swf_trace *trace)
{
	if (!trace)
		return;
	g_free(trace->jobs);
	g_free(trace);
}
