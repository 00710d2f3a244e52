/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The names of events are from Batsim 5's protocol.rst. Their members are from its src/protocol.cpp
 * and from PyBatsim 4 (events.py).
 */
#include "controller/plugin/batsim/batprotocol.h"

#include <math.h>
#include <string.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "controller/plugin/batsim/batsim_peer.h"

#define MS_PER_S 1000

/* The data of one event on the other side: a new reference, or NULL with `error`. */
typedef json_t *(*translate_f)(const json_t *data, GError **error);

/* A text of an object; "" where it is missing. */
static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* A number of an object; JSON of flatbuffers leaves out zeros. */
static double number_of(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static json_t *nothing(const json_t *data G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
	return json_object();
}

static json_t *begins_5(const json_t *data, GError **error G_GNUC_UNUSED)
{
	const json_t *count = json_object_get(data, "nb_compute_resources");

	if (!count)
		count = json_object_get(data, "nb_resources");
	return json_pack("{s:I}", "computation_host_number", json_integer_value(count));
}

static json_t *begins_4(const json_t *data, GError **error G_GNUC_UNUSED)
{
	const json_int_t count =
		json_integer_value(json_object_get(data, "computation_host_number"));

	return json_pack("{s:I, s:I}", "nb_resources", count, "nb_compute_resources", count);
}

static json_t *submitted_5(const json_t *data, GError **error G_GNUC_UNUSED)
{
	const json_t *job = json_object_get(data, "job");
	const char *id = text_of(data, "job_id");
	g_autofree char *profile =
		g_strdup_printf("%.*s!%s", (int)strcspn(id, "!"), id, text_of(job, "profile"));
	json_t *described =
		json_pack("{s:I, s:s}", "resource_request",
			  json_integer_value(json_object_get(job, "res")), "profile_id", profile);

	if (number_of(job, "walltime") > 0)
		json_object_set_new(described, "walltime", json_real(number_of(job, "walltime")));
	return json_pack("{s:s, s:o, s:f}", "job_id", id, "job", described, "submission_time",
			 number_of(job, "subtime"));
}

static json_t *submitted_4(const json_t *data, GError **error G_GNUC_UNUSED)
{
	const json_t *job = json_object_get(data, "job");
	const char *id = text_of(data, "job_id");
	const char *profile = text_of(job, "profile_id");
	const char *name = strchr(profile, '!');
	json_t *described =
		json_pack("{s:s, s:I, s:f, s:s}", "id", id, "res",
			  json_integer_value(json_object_get(job, "resource_request")), "subtime",
			  number_of(data, "submission_time"), "profile", name ? name + 1 : profile);

	if (number_of(job, "walltime") > 0)
		json_object_set_new(described, "walltime", json_real(number_of(job, "walltime")));
	return json_pack("{s:s, s:o}", "job_id", id, "job", described);
}

static json_t *completed_5(const json_t *data, GError **error G_GNUC_UNUSED)
{
	return json_pack("{s:s, s:s, s:I}", "job_id", text_of(data, "job_id"), "state",
			 text_of(data, "job_state"), "return_code",
			 json_integer_value(json_object_get(data, "return_code")));
}

static json_t *completed_4(const json_t *data, GError **error G_GNUC_UNUSED)
{
	return json_pack("{s:s, s:s, s:I}", "job_id", text_of(data, "job_id"), "job_state",
			 text_of(data, "state"), "return_code",
			 json_integer_value(json_object_get(data, "return_code")));
}

static json_t *requested_5(const json_t *data, GError **error G_GNUC_UNUSED)
{
	return json_pack("{s:s, s:b}", "call_me_later_id", text_of(data, "id"),
			 "last_periodic_call", 0);
}

static json_t *requested_4(const json_t *data, GError **error G_GNUC_UNUSED)
{
	return json_pack("{s:s}", "id", text_of(data, "call_me_later_id"));
}

static json_t *call_5(const json_t *data, GError **error G_GNUC_UNUSED)
{
	return json_pack("{s:s, s:s, s:{s:I, s:s}}", "call_me_later_id", text_of(data, "id"),
			 "when_type", "OneShot", "when", "time",
			 (json_int_t)ceil(number_of(data, "timestamp") * MS_PER_S), "time_unit",
			 "Millisecond");
}

static json_t *call_4(const json_t *data, GError **error)
{
	const json_t *when = json_object_get(data, "when");
	const double scale = strcmp(text_of(when, "time_unit"), "Millisecond") == 0 ? MS_PER_S : 1;

	if (strcmp(text_of(data, "when_type"), "OneShot") != 0)
		return error_null(error, BATSIM_ERROR, BATSIM_ERROR_MESSAGE,
				  "it asks for calls of type \"%s\"; virtbed only has OneShot",
				  text_of(data, "when_type"));
	return json_pack("{s:s, s:f}", "id", text_of(data, "call_me_later_id"), "timestamp",
			 number_of(when, "time") / scale);
}

static json_t *execute_5(const json_t *data, GError **error G_GNUC_UNUSED)
{
	return json_pack("{s:s, s:{s:s, s:s, s:{s:s}}}", "job_id", text_of(data, "job_id"),
			 "allocation", "host_allocation", text_of(data, "alloc"),
			 "executor_placement_type", "PredefinedExecutorPlacementStrategyWrapper",
			 "executor_placement", "strategy", "SpreadOverHostsFirst");
}

static json_t *execute_4(const json_t *data, GError **error G_GNUC_UNUSED)
{
	return json_pack("{s:s, s:s}", "job_id", text_of(data, "job_id"), "alloc",
			 text_of(json_object_get(data, "allocation"), "host_allocation"));
}

static json_t *job_id(const json_t *data, GError **error G_GNUC_UNUSED)
{
	return json_pack("{s:s}", "job_id", text_of(data, "job_id"));
}

static json_t *submission_over(const json_t *data G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
	return json_pack("{s:s}", "type", "no_more_static_job_to_submit");
}

static json_t *registration_over(const json_t *data G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
	return json_pack("{s:s}", "type", "registration_finished");
}

/* Events of the same meaning. */
static const struct event {
	const char *in_4;
	const char *notice; /* `type` of a NOTIFY of Batsim 4 */
	const char *in_5;
	translate_f to_5, to_4;
} table[] = {
	{"SIMULATION_BEGINS", NULL, "SimulationBeginsEvent", begins_5, begins_4},
	{"SIMULATION_ENDS", NULL, "SimulationEndsEvent", nothing, nothing},
	{"JOB_SUBMITTED", NULL, "JobSubmittedEvent", submitted_5, submitted_4},
	{"JOB_COMPLETED", NULL, "JobCompletedEvent", completed_5, completed_4},
	{"REQUESTED_CALL", NULL, "RequestedCallEvent", requested_5, requested_4},
	{"NOTIFY", "no_more_static_job_to_submit", "AllStaticJobsHaveBeenSubmittedEvent", nothing,
	 submission_over},
	{"EXECUTE_JOB", NULL, "ExecuteJobEvent", execute_5, execute_4},
	{"REJECT_JOB", NULL, "RejectJobEvent", job_id, job_id},
	{"CALL_ME_LATER", NULL, "CallMeLaterEvent", call_5, call_4},
	{"NOTIFY", "registration_finished", "FinishRegistrationEvent", nothing, registration_over},
};

static const struct event *find_4(const char *type, const json_t *data)
{
	for (size_t i = 0; i < G_N_ELEMENTS(table); i++)
		if (strcmp(table[i].in_4, type) == 0 &&
		    (!table[i].notice || strcmp(table[i].notice, text_of(data, "type")) == 0))
			return &table[i];
	return NULL;
}

static const struct event *find_5(const char *type)
{
	for (size_t i = 0; i < G_N_ELEMENTS(table); i++)
		if (strcmp(table[i].in_5, type) == 0)
			return &table[i];
	return NULL;
}

json_t *batprotocol_to_5(const json_t *message, GError **error)
{
	g_autoptr(json_t) events = json_array();
	json_t *list, *event;
	size_t i;

	if (!json_get_array(message, "events", "the message", &list, error))
		return NULL;
	json_array_foreach (list, i, event) {
		const json_t *data = json_object_get(event, "data");
		const char *type = text_of(event, "type");
		const struct event *known = find_4(type, data);
		json_t *translated;

		if (!known)
			return error_null(error, BATSIM_ERROR, BATSIM_ERROR_MESSAGE,
					  "Batsim 5 has no event for %s %s", type,
					  text_of(data, "type"));
		translated = known->to_5(data, error);
		if (!translated)
			return NULL;
		json_array_append_new(events, json_pack("{s:f, s:s, s:o}", "timestamp",
							number_of(event, "timestamp"), "event_type",
							known->in_5, "event", translated));
	}
	return json_pack("{s:f, s:O}", "now", number_of(message, "now"), "events", events);
}

json_t *batprotocol_to_4(const json_t *message, GError **error)
{
	g_autoptr(json_t) events = json_array();
	json_t *list, *event;
	size_t i;

	if (!json_get_array(message, "events", "the message", &list, error))
		return NULL;
	json_array_foreach (list, i, event) {
		const char *type = text_of(event, "event_type");
		const struct event *known = find_5(type);
		json_t *translated =
			known ? known->to_4(json_object_get(event, "event"), error) : json_object();

		if (!translated)
			return NULL;
		json_array_append_new(events,
				      json_pack("{s:f, s:s, s:o}", "timestamp",
						number_of(event, "timestamp"), "type",
						known ? known->in_4 : type, "data", translated));
	}
	return json_pack("{s:f, s:O}", "now", number_of(message, "now"), "events", events);
}

json_t *batprotocol_hello(const char *name, const char *version)
{
	return json_pack(
		"{s:f, s:[{s:f, s:s, s:{s:s, s:s, s:s, s:s, s:{s:b, s:b, s:b, s:b, s:b, s:b}}}]}",
		"now", 0.0, "events", "timestamp", 0.0, "event_type", "EDCHelloEvent", "event",
		"batprotocol_version", "1.0.0", "decision_component_name", name,
		"decision_component_version", version, "decision_component_commit", "",
		"requested_simulation_features", "dynamic_registration", 0, "profile_reuse", 0,
		"acknowledge_dynamic_jobs", 0, "forward_profiles_on_job_submission", 0,
		"forward_profiles_on_jobs_killed", 0, "forward_profiles_on_simulation_begins", 0);
}

static char *translate(const char *message, json_t *(*to)(const json_t *message, GError **error),
		       GError **error)
{
	g_autoptr(json_t) from = json_parse(message, strlen(message), "the message", error);
	g_autoptr(json_t) translated = from ? to(from, error) : NULL;

	return translated ? json_text(translated) : NULL;
}

char *batprotocol_text_to_5(const char *message, GError **error)
{
	return translate(message, batprotocol_to_5, error);
}

char *batprotocol_text_to_4(const char *message, GError **error)
{
	return translate(message, batprotocol_to_4, error);
}

/* 32 bits of this machine, and a text behind them. */
static GByteArray *prefixed(uint32_t number, const char *text)
{
	GByteArray *bytes = g_byte_array_new();

	g_byte_array_append(bytes, (const guint8 *)&number, sizeof(number));
	return g_byte_array_append(bytes, (const guint8 *)text, (guint)strlen(text));
}

GByteArray *batprotocol_init(const char *data)
{
	return prefixed((uint32_t)strlen(data), data);
}

GByteArray *batprotocol_init_answer(const json_t *hello)
{
	g_autofree char *text = json_text(hello);

	return prefixed(BATPROTOCOL_JSON, text);
}

bool batprotocol_is_init(const void *bytes, size_t size)
{
	uint32_t length;

	if (size < sizeof(length))
		return false;
	memcpy(&length, bytes, sizeof(length));
	return size - sizeof(length) == length;
}

bool batprotocol_read_init_answer(const char *name, const char *bytes, size_t size, GError **error)
{
	g_autofree char *hello = NULL;
	uint32_t flags;

	if (size < sizeof(flags))
		return error_fail(error, BATSIM_ERROR, BATSIM_ERROR_START,
				  "\"%s\" answers its initialisation with %zu bytes, and a "
				  "component of Batsim 5 with flags and a message",
				  name, size);
	memcpy(&flags, bytes, sizeof(flags));
	if (!(flags & BATPROTOCOL_JSON))
		return error_fail(error, BATSIM_ERROR, BATSIM_ERROR_START,
				  "\"%s\" speaks the binary format (flags 0x%x), and virtbed only "
				  "JSON (0x2); its initialisation data may choose, as in '%s'",
				  name, flags, "init={\"format_json\": true}");
	hello = batprotocol_text_to_4(bytes + sizeof(flags), error);
	return hello != NULL;
}
