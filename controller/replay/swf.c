/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/replay/swf.h"

#include <math.h>
#include <string.h>

#include "common/read_number.h"
#include "controller/replay/swf_input.h"

G_DEFINE_QUARK(swf_error_quark, swf_error)

const char *const swf_reason_texts[SWF_REASONS_COUNT] = {
	[SWF_REASON_SIZE] = "no positive number of processors",
	[SWF_REASON_TIME] = "no positive run time",
	[SWF_REASON_WIDE] = "wider than the machine",
	[SWF_REASON_PART] = "a part of a job, whose whole is another line",
	[SWF_REASON_BEFORE] = "before the jobs to replay",
};

/* Fields of a line, counted from 0. */
enum field {
	FIELD_ID = 0,
	FIELD_SUBMIT = 1,
	FIELD_WAIT = 2,
	FIELD_RUN = 3,
	FIELD_USED_PROCS = 4,
	FIELD_USED_MEMORY = 6,
	FIELD_ASKED_PROCS = 7,
	FIELD_ASKED_TIME = 8,
	FIELD_ASKED_MEMORY = 9,
	FIELD_STATUS = 10,
	FIELD_USER = 11,
	FIELDS = 18,
};

/* The last field that may be the power. */
#define POWER_FIELD_MAX 99

/* What programs on Windows write at the beginning of a text in UTF-8. */
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/* Bytes of a field that a message quotes. */
#define QUOTE_MAX 20

/* A trace being read. */
struct reader {
	const char *path;
	const struct swf_filter *filter;
	struct swf_trace *trace;
	uint64_t line; /* number, from 1 */
	GArray *jobs;
	GArray *wholes; /* int64_t: the jobs with a line of the whole job */
	GArray *parts;  /* int64_t: the job of each part */
	GArray *left_out;
	GError **error;
};

G_GNUC_PRINTF(3, 4)
static bool set_line_error(const struct reader *reader, int code, const char *format, ...)
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

/* Checks the completion code (SWF 2.2, field 11): -1 (not known) to 5. */
static bool check_status(const struct reader *reader, const double *fields)
{
	const double status = fields[FIELD_STATUS];

	return (status >= -1 && status <= 5 && status == floor(status)) ||
	       set_line_error(reader, SWF_ERROR_LINE,
			      "field %d: %g is not a completion code, a whole number from -1 to 5",
			      FIELD_STATUS + 1, status);
}

/*
 * Whether a line is a part of a job, by its completion code (SWF 2.2, field 11): to be continued,
 * completed, failed.
 */
static bool is_part(const double *fields)
{
	return fields[FIELD_STATUS] >= 2 && fields[FIELD_STATUS] <= 4;
}

/* The number of bytes of a text that a message quotes. */
static int quoted(const char *text)
{
	return (int)MIN(strcspn(text, " \t\r"), QUOTE_MAX);
}

static bool is_end(const char *at)
{
	return is_blank(*at) || *at == '\0' || *at == ';';
}

/* Lists a line that is not replayed, where that is asked for. Returns true. */
static bool leave_out(struct reader *reader, int64_t id, enum swf_reason reason)
{
	const struct swf_left_out line = {.line = reader->line, .id = id, .reason = reason};

	if (reader->filter->list)
		g_array_append_val(reader->left_out, line);
	return true;
}

/* Reads a field. A job's number is read exactly, as it identifies the job. */
static const char *read_field(const char *text, uint32_t field, int64_t *ret_id, double *ret_value)
{
	const char *end;

	if (field != FIELD_ID)
		return read_number_front(text, ret_value);
	end = read_number_front_integer(text, ret_id);
	*ret_value = end ? (double)*ret_id : 0;
	/* Some sites write all numbers with a fraction. */
	if (end && end[0] == '.' && end[1] == '0')
		end += 1 + strspn(end + 1, "0");
	return end;
}

/* Reads the fields of a job's line, and its power behind them, which is 0 where it is not known. */
static bool read_fields(struct reader *reader, const char *line, int64_t *ret_id,
			double *ret_fields, double *ret_power_w)
{
	const uint32_t power_field = reader->trace->power_field;
	const uint32_t fields = MAX((uint32_t)FIELDS, power_field);
	const char *at = line;
	uint32_t count = 0;
	bool longer = false;
	const char *end;

	*ret_power_w = 0;
	for (;;) {
		while (is_blank(*at))
			at++;
		if (*at == '\0' || *at == ';')
			break;
		if (count >= FIELDS && count + 1 != power_field) {
			longer = true;
			if (count >= fields)
				break;
			at += strcspn(at, " \t\r;");
			count++;
			continue;
		}
		end = read_field(at, count, ret_id,
				 count < FIELDS ? &ret_fields[count] : ret_power_w);
		if (!end || !is_end(end))
			return set_line_error(reader, SWF_ERROR_LINE,
					      "field %u, \"%.*s\", is no %s", count + 1, quoted(at),
					      at, count == FIELD_ID ? "job number" : "number");
		at = end;
		count++;
	}
	if (count < fields)
		return set_line_error(reader, SWF_ERROR_LINE, "%u fields; a job has %u%s", count,
				      fields, power_field > 0 ? " (PowerField)" : "");
	if (*ret_power_w > SWF_EXACT_MAX)
		return set_line_error(reader, SWF_ERROR_LINE,
				      "field %u: %g is not a power in watts", power_field,
				      *ret_power_w);
	*ret_power_w = fmax(*ret_power_w, 0);
	reader->trace->longer += longer;
	return true;
}

/* Reads a count of processors: a whole number; 0 if it is not positive. */
static bool read_procs(const struct reader *reader, const double *fields, double *ret_procs)
{
	const enum field field =
		fields[FIELD_ASKED_PROCS] > 0 ? FIELD_ASKED_PROCS : FIELD_USED_PROCS;

	*ret_procs = fmax(fields[field], 0);
	if (*ret_procs != floor(*ret_procs))
		return set_line_error(reader, SWF_ERROR_LINE,
				      "field %d: %g is not a number of processors", field + 1,
				      fields[field]);
	return true;
}

static bool check_times(const struct reader *reader, const double *fields)
{
	static const enum field times[] = {FIELD_SUBMIT, FIELD_RUN, FIELD_ASKED_TIME};

	if (fields[FIELD_SUBMIT] < 0)
		return set_line_error(reader, SWF_ERROR_LINE,
				      "field 2: submitted at %g s, before 0", fields[FIELD_SUBMIT]);
	for (size_t i = 0; i < G_N_ELEMENTS(times); i++)
		if (fields[times[i]] > SWF_EXACT_MAX)
			return set_line_error(reader, SWF_ERROR_LINE,
					      "field %d: %g is not a time in seconds", times[i] + 1,
					      fields[times[i]]);
	return true;
}

/*
 * Determines the size of the system, which is needed before the first job is checked; in the header
 * it stands before all jobs.
 */
static bool find_procs(const struct reader *reader)
{
	struct swf_trace *trace = reader->trace;
	const uint64_t header = trace->max_procs ? trace->max_procs : trace->max_nodes;

	trace->procs = reader->filter->procs;
	if (trace->procs > 0)
		return true;
	if (header > UINT32_MAX)
		return set_line_error(reader, SWF_ERROR_PROCS,
				      "the header says %" G_GUINT64_FORMAT
				      " processors (%s), which is out of range: more than "
				      "%u; give --procs",
				      header, trace->max_procs ? "MaxProcs" : "MaxNodes",
				      UINT32_MAX);
	if (header == 0)
		return set_line_error(reader, SWF_ERROR_PROCS,
				      "the header does not say how many processors there are "
				      "(MaxProcs); give --procs");
	trace->procs = (uint32_t)header;
	return true;
}

/* The number of the user; what is no number of a user is none. */
static int64_t user_of(const double *fields)
{
	const double user = fields[FIELD_USER];

	return user >= 0 && user <= SWF_EXACT_MAX && user == floor(user) ? (int64_t)user : -1;
}

static bool read_job(struct reader *reader, const char *line)
{
	struct swf_trace *trace = reader->trace;
	double fields[FIELDS];
	double procs;
	double power_w;
	int64_t id;

	if (!read_fields(reader, line, &id, fields, &power_w) || !check_status(reader, fields))
		return false;
	if (trace->procs == 0 && !find_procs(reader))
		return false;
	trace->lines++;
	g_array_append_val(is_part(fields) ? reader->parts : reader->wholes, id);
	if (is_part(fields))
		return leave_out(reader, id, SWF_REASON_PART);
	if (!read_procs(reader, fields, &procs) || !check_times(reader, fields))
		return false;
	if (procs <= 0 || fields[FIELD_RUN] <= 0) {
		trace->skipped++;
		return leave_out(reader, id, procs <= 0 ? SWF_REASON_SIZE : SWF_REASON_TIME);
	}
	if (procs > trace->procs) {
		trace->refused++;
		return leave_out(reader, id, SWF_REASON_WIDE);
	}
	if (trace->before < reader->filter->skip) {
		trace->before++;
		return leave_out(reader, id, SWF_REASON_BEFORE);
	}
	if (reader->jobs->len >= INT32_MAX)
		return set_line_error(reader, SWF_ERROR_SIZE, "more than %d jobs", INT32_MAX);

	const struct swf_job job = {
		.id = id,
		.submit_s = fields[FIELD_SUBMIT],
		.run_s = fields[FIELD_RUN],
		.estimate_s =
			fields[FIELD_ASKED_TIME] > 0 ? fields[FIELD_ASKED_TIME] : fields[FIELD_RUN],
		.procs = (uint32_t)procs,
		.wait_s = fields[FIELD_WAIT],
		.user = user_of(fields),
		.memory_kb = fmax(0, fmax(fields[FIELD_USED_MEMORY], fields[FIELD_ASKED_MEMORY])),
		.power_w = power_w,
	};

	g_array_append_val(reader->jobs, job);
	return true;
}

/*
 * Reads the value of a header line. -1 and an empty value mean unknown: 0. Words may follow a
 * number, but no digits: "1 024" is not 1.
 */
static bool read_header_value(const struct reader *reader, const char *key, const char *value,
			      int64_t *ret_value)
{
	const char *behind;

	while (is_blank(*value))
		value++;
	if (*value == '\0') {
		*ret_value = 0;
		return true;
	}
	behind = read_number_front_integer(value, ret_value);
	if (behind && is_end(behind)) {
		while (is_blank(*behind))
			behind++;
		if (!g_ascii_isdigit(*behind)) {
			*ret_value = MAX(*ret_value, 0);
			return true;
		}
	}
	behind = value + strspn(value, G_CSET_DIGITS);
	return set_line_error(reader, SWF_ERROR_LINE, "header: %s: \"%.*s\" is %s", key,
			      (int)MIN(strcspn(value, "\r"), QUOTE_MAX), value,
			      behind > value && *behind == '\0' ? "out of range; give --procs"
								: "no whole number");
}

/*
 * The value of a header line whose key is `key`, in any case and with blanks before the colon;
 * NULL: the key is another one.
 */
static const char *header_value(const char *line, const char *key)
{
	const size_t length = strlen(key);

	if (g_ascii_strncasecmp(line, key, length) != 0)
		return NULL;
	for (line += length; is_blank(*line); line++)
		;
	return *line == ':' ? line + 1 : NULL;
}

/*
 * Reads a header line "; Key: value" before the first job: the number of processors, which matters
 * only if none was given, and the field of the power.
 */
static bool read_header(const struct reader *reader, const char *line)
{
	struct swf_trace *trace = reader->trace;
	const char *key = line + 1;
	int64_t max_procs = (int64_t)trace->max_procs;
	int64_t max_nodes = (int64_t)trace->max_nodes;
	int64_t power_field = trace->power_field;
	const struct {
		const char *key;
		int64_t *value;
		bool matters;
	} lines[] = {
		{"MaxProcs", &max_procs, reader->filter->procs == 0 && max_procs == 0},
		{"MaxNodes", &max_nodes, reader->filter->procs == 0 && max_nodes == 0},
		{"PowerField", &power_field, power_field == 0},
	};

	if (trace->lines > 0)
		return true;
	while (is_blank(*key) || *key == ';' || *key == '#')
		key++;
	for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
		const char *value = header_value(key, lines[i].key);

		if (lines[i].matters && value &&
		    !read_header_value(reader, lines[i].key, value, lines[i].value))
			return false;
	}
	trace->max_procs = (uint64_t)max_procs;
	trace->max_nodes = (uint64_t)max_nodes;
	if (power_field != 0 && (power_field <= FIELDS || power_field > POWER_FIELD_MAX))
		return set_line_error(reader, SWF_ERROR_LINE,
				      "header: PowerField: %" G_GINT64_FORMAT
				      " is no field from %d to %d",
				      power_field, FIELDS + 1, POWER_FIELD_MAX);
	trace->power_field = (uint32_t)power_field;
	return true;
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
		if (reader->line++ == 0 && g_str_has_prefix(line, BYTE_ORDER_MARK)) {
			line += strlen(BYTE_ORDER_MARK);
			length -= strlen(BYTE_ORDER_MARK);
		}
		while (is_blank(*line)) {
			line++;
			length--;
		}
		if (strlen(line) != length)
			return set_line_error(reader, SWF_ERROR_LINE,
					      "a zero byte; this is not a trace");
		if (*line == ';' || *line == '#' ? !read_header(reader, line)
						 : *line != '\0' && !read_job(reader, line))
			return false;
	}
	return reader->trace->procs > 0 || find_procs(reader);
}

/* Orders by submit time; g_qsort_with_data() is stable. */
static int compare_jobs(gconstpointer left, gconstpointer right, gpointer data)
{
	const struct swf_job *a = left;
	const struct swf_job *b = right;

	return (a->submit_s > b->submit_s) - (a->submit_s < b->submit_s);
}

void swf_sort(struct swf_trace *trace)
{
	for (uint32_t i = 1; i < trace->jobs_count; i++)
		trace->unsorted += trace->jobs[i].submit_s < trace->jobs[i - 1].submit_s;
	if (trace->unsorted > 0)
		g_qsort_with_data(trace->jobs, (gint)trace->jobs_count, sizeof(*trace->jobs),
				  compare_jobs, NULL);
}

/* Counts the parts, and the jobs that have only parts. */
static void count_parts(const struct reader *reader)
{
	g_autoptr(GHashTable) known = NULL;
	struct swf_trace *trace = reader->trace;

	trace->parts = reader->parts->len;
	if (trace->parts == 0)
		return;
	known = g_hash_table_new(g_int64_hash, g_int64_equal);
	for (guint i = 0; i < reader->wholes->len; i++)
		g_hash_table_add(known, &g_array_index(reader->wholes, int64_t, i));
	for (guint i = 0; i < reader->parts->len; i++) {
		int64_t *id = &g_array_index(reader->parts, int64_t, i);

		if (g_hash_table_add(known, id) && trace->partial++ == 0)
			trace->partial_id = *id;
	}
}

struct swf_trace *swf_read(const char *path, const struct swf_filter *filter, GError **error)
{
	g_autoptr(swf_trace_t) trace = g_new0(struct swf_trace, 1);
	struct swf_input *input = swf_input_open(path, error);
	struct reader reader = {
		.path = path,
		.filter = filter,
		.trace = trace,
		.jobs = g_array_new(FALSE, FALSE, sizeof(struct swf_job)),
		.wholes = g_array_new(FALSE, FALSE, sizeof(int64_t)),
		.parts = g_array_new(FALSE, FALSE, sizeof(int64_t)),
		.left_out = g_array_new(FALSE, FALSE, sizeof(struct swf_left_out)),
		.error = error,
	};
	const bool good = input && read_lines(&reader, input);

	swf_input_close(input);
	count_parts(&reader);
	g_array_unref(reader.wholes);
	g_array_unref(reader.parts);
	trace->left_out_count = reader.left_out->len;
	trace->left_out =
		(struct swf_left_out *)(void *)g_array_free(reader.left_out, !filter->list);
	trace->jobs_count = reader.jobs->len;
	trace->jobs = (struct swf_job *)(void *)g_array_free(reader.jobs, FALSE);
	if (!good)
		return NULL;
	swf_sort(trace);
	return g_steal_pointer(&trace);
}

void swf_free(struct swf_trace *trace)
{
	if (!trace)
		return;
	g_free(trace->jobs);
	g_free(trace->left_out);
	g_free(trace);
}
