/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/replay/batsim_workload.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "common/read_file.h"
#include "common/read_number.h"
#include "common/visible.h"

/* A job takes 60 to 200 bytes. */
#define FILE_BYTES_MAX ((size_t)512 << 20)

/* How deep sequences may be in sequences. */
#define DEPTH_MAX 16

/* A workload being read. */
struct reading {
	const char *path;
	const struct swf_filter *filter;
	json_t *profiles;
	GHashTable *times; /* seconds (double *) of the sequences seen so far, by name; borrowed */
	struct swf_trace *trace;
	GArray *jobs; /* struct swf_job */
	GArray *left_out;
	GError **error;
};

G_GNUC_PRINTF(3, 4)
static bool refuse(const struct reading *reading, size_t job, const char *format, ...)
{
	g_autofree char *wrong = NULL;
	g_autofree char *visible = NULL;
	va_list arguments;

	va_start(arguments, format);
	wrong = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	visible = visible_text(wrong);
	g_set_error(reading->error, SWF_ERROR, SWF_ERROR_LINE, "%s: jobs[%zu]: %s", reading->path,
		    job, visible);
	return false;
}

/* The name of a profile's type in one of the versions. */
static bool is_type(const json_t *profile, const char *old, const char *new)
{
	const char *type = json_string_value(json_object_get(profile, "type"));

	return g_strcmp0(type, old) == 0 || g_strcmp0(type, new) == 0;
}

static bool profile_time(const struct reading *reading, size_t job, const char *name, int depth,
			 double *ret_s);

/* The sum over the profiles of a sequence, as often as it is repeated. */
static bool sequence_time(const struct reading *reading, size_t job, const char *name,
			  const json_t *profile, int depth, double *ret_s)
{
	const json_t *list = json_object_get(profile, "seq");
	/* Before version 4 it was "nb". */
	const json_t *repeat = json_object_get(profile, "repeat") ?: json_object_get(profile, "nb");
	const double times = repeat ? json_number_value(repeat) : 1;
	double sum_s = 0;
	json_t *part;
	const double *known = g_hash_table_lookup(reading->times, name);
	size_t i;

	if (known) {
		*ret_s = *known;
		return true;
	}
	if (depth >= DEPTH_MAX)
		return refuse(reading, job, "profile \"%s\": sequences in more than %d sequences",
			      name, DEPTH_MAX);
	if (!json_is_array(list) || !(times >= 0))
		return refuse(reading, job,
			      "profile \"%s\": a sequence needs seq, a list, and may "
			      "have repeat, a number",
			      name);
	json_array_foreach (list, i, part) {
		double part_s;

		if (!json_is_string(part))
			return refuse(reading, job, "profile \"%s\": seq[%zu] is no name", name, i);
		if (!profile_time(reading, job, json_string_value(part), depth + 1, &part_s))
			return false;
		sum_s += part_s;
	}
	*ret_s = sum_s * times;
	/* A sequence may be in many others, and these in many. */
	g_hash_table_insert(reading->times, (gpointer)name, g_memdup2(ret_s, sizeof(*ret_s)));
	return true;
}

/* How long a profile takes. */
static bool profile_time(const struct reading *reading, size_t job, const char *name, int depth,
			 double *ret_s)
{
	const json_t *profile = json_object_get(reading->profiles, name);
	const char *type = json_string_value(json_object_get(profile, "type"));
	const json_t *delay = json_object_get(profile, "delay");

	if (!profile)
		return refuse(reading, job, "there is no profile \"%s\"", name);
	if (is_type(profile, "composed", "SequentialCompositionProfile"))
		return sequence_time(reading, job, name, profile, depth, ret_s);
	if (!is_type(profile, "delay", "DelayProfile"))
		return refuse(reading, job,
			      "profile \"%s\" is of type \"%s\", whose run time depends on a "
			      "platform; replay knows delays and sequences of them",
			      name, type ? type : "");
	if (!json_is_number(delay) || !(json_number_value(delay) <= SWF_EXACT_MAX))
		return refuse(reading, job, "profile \"%s\": delay is no time in seconds", name);
	*ret_s = fmax(0, json_number_value(delay));
	return true;
}

/* Whether an id is a whole number, as a number or as a text. */
static bool read_id(const json_t *id, int64_t *ret_id)
{
	const char *text = json_string_value(id);
	const char *end;

	if (json_is_integer(id)) {
		*ret_id = json_integer_value(id);
		return true;
	}
	end = text ? read_number_front_integer(text, ret_id) : NULL;
	return end && *end == '\0';
}

static bool leave_out(struct reading *reading, size_t index, int64_t id, enum swf_reason reason)
{
	const struct swf_left_out line = {.line = index + 1, .id = id, .reason = reason};

	if (reading->filter->list)
		g_array_append_val(reading->left_out, line);
	return true;
}

/* Reads what Batsim requires of a job. */
static bool read_fields(const struct reading *reading, size_t index, const json_t *from,
			struct swf_job *ret_job)
{
	const json_t *submit = json_object_get(from, "subtime");
	const json_t *res = json_object_get(from, "res");
	const json_t *walltime = json_object_get(from, "walltime");
	const char *profile = json_string_value(json_object_get(from, "profile"));
	const double submit_s = json_number_value(submit);

	if (!json_is_number(submit) || !(submit_s >= 0 && submit_s <= SWF_EXACT_MAX))
		return refuse(reading, index, "subtime is no time in seconds, from 0");
	if (!json_is_integer(res) || json_integer_value(res) <= 0 ||
	    json_integer_value(res) > UINT32_MAX)
		return refuse(reading, index, "res is no number of resources, from 1");
	if (walltime && !json_is_null(walltime) &&
	    (!json_is_number(walltime) || !(json_number_value(walltime) <= SWF_EXACT_MAX)))
		return refuse(reading, index, "walltime is no time in seconds");
	if (!profile)
		return refuse(reading, index, "profile is no name");
	if (!profile_time(reading, index, profile, 0, &ret_job->run_s))
		return false;
	if (!(ret_job->run_s <= SWF_EXACT_MAX))
		return refuse(reading, index, "profile \"%s\" takes too long", profile);
	ret_job->submit_s = submit_s;
	ret_job->procs = (uint32_t)json_integer_value(res);
	/* Before version 4, -1: none. */
	ret_job->estimate_s = json_number_value(walltime);
	if (!(ret_job->estimate_s > 0))
		ret_job->estimate_s = ret_job->run_s;
	return true;
}

static bool read_job(struct reading *reading, size_t index, const json_t *from, bool ids)
{
	struct swf_trace *trace = reading->trace;
	struct swf_job job = {.id = (int64_t)index + 1, .wait_s = -1, .user = -1};

	if (ids)
		read_id(json_object_get(from, "id"), &job.id);
	if (!read_fields(reading, index, from, &job))
		return false;
	trace->lines++;
	if (job.run_s <= 0) {
		trace->skipped++;
		return leave_out(reading, index, job.id, SWF_REASON_TIME);
	}
	if (job.procs > trace->procs) {
		trace->refused++;
		return leave_out(reading, index, job.id, SWF_REASON_WIDE);
	}
	if (trace->before < reading->filter->skip) {
		trace->before++;
		return leave_out(reading, index, job.id, SWF_REASON_BEFORE);
	}
	g_array_append_val(reading->jobs, job);
	return true;
}

static bool read_jobs(struct reading *reading, const json_t *list)
{
	const uint32_t first = reading->filter->first;
	bool ids = true;
	int64_t id;
	json_t *job;
	size_t i;

	json_array_foreach (list, i, job)
		ids = ids && read_id(json_object_get(job, "id"), &id);
	json_array_foreach (list, i, job) {
		if (first > 0 && reading->jobs->len >= first)
			break;
		if (i >= INT32_MAX || !json_is_object(job))
			return refuse(reading, i, "is no job");
		if (!read_job(reading, i, job, ids))
			return false;
	}
	return true;
}

/* Determines the size of the system. */
static bool find_procs(const struct reading *reading, const json_t *document)
{
	const json_t *resources = json_object_get(document, "nb_res");
	const json_int_t count = json_integer_value(resources);
	struct swf_trace *trace = reading->trace;

	if (count > 0 && count <= UINT32_MAX)
		trace->max_procs = (uint64_t)count;
	trace->procs =
		reading->filter->procs > 0 ? reading->filter->procs : (uint32_t)trace->max_procs;
	if (trace->procs == 0)
		g_set_error(reading->error, SWF_ERROR, SWF_ERROR_PROCS,
			    "%s: nb_res does not say how many resources there are; give --procs",
			    reading->path);
	return trace->procs > 0;
}

static bool read_document(struct reading *reading, const json_t *document)
{
	const json_t *jobs = json_object_get(document, "jobs");

	reading->profiles = json_object_get(document, "profiles");
	if (!json_is_array(jobs) || !json_is_object(reading->profiles)) {
		g_set_error(reading->error, SWF_ERROR, SWF_ERROR_LINE,
			    "%s: a workload has jobs, a list, and profiles, an object",
			    reading->path);
		return false;
	}
	return find_procs(reading, document) && read_jobs(reading, jobs);
}

struct swf_trace *batsim_workload_read(const char *path, const struct swf_filter *filter,
				       GError **error)
{
	g_autoptr(swf_trace_t) trace = g_new0(struct swf_trace, 1);
	g_autoptr(GError) why = NULL;
	g_autoptr(json_t) document = NULL;
	g_autofree char *text = NULL;
	size_t length;
	struct reading reading = {.path = path, .filter = filter, .trace = trace, .error = error};
	bool good;

	text = read_file(path, FILE_BYTES_MAX, &length, &why);
	if (text)
		document = json_parse(text, length, path, &why);
	if (!document) {
		g_set_error_literal(error, SWF_ERROR, SWF_ERROR_READ, why->message);
		return NULL;
	}
	reading.times = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
	reading.jobs = g_array_new(FALSE, FALSE, sizeof(struct swf_job));
	reading.left_out = g_array_new(FALSE, FALSE, sizeof(struct swf_left_out));
	good = read_document(&reading, document);
	g_hash_table_unref(reading.times);
	trace->jobs_count = reading.jobs->len;
	trace->jobs = (struct swf_job *)(void *)g_array_free(reading.jobs, FALSE);
	trace->left_out_count = reading.left_out->len;
	trace->left_out =
		(struct swf_left_out *)(void *)g_array_free(reading.left_out, !filter->list);
	if (!good)
		return NULL;
	swf_sort(trace);
	return g_steal_pointer(&trace);
}
